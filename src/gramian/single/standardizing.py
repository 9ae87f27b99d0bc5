"""``standardize``: whether columns are brought to unit variance, or left as they are."""

from __future__ import annotations

from typing import Any

from gramian._checks import check_flag
from gramian.kernels.units import in_data_units


def check_standardize(standardize: Any) -> Any:
    """``standardize`` if it is True, False or "auto"."""
    if isinstance(standardize, str):
        if standardize != "auto":
            raise ValueError(f"standardize={standardize!r} must be True, False or 'auto'.")
        return standardize
    return check_flag("standardize", standardize)


def standardizes(standardize: Any, spec: Any = None) -> bool:
    """Whether columns are brought to unit variance; "auto": unless the kernel (or the model that holds one) has parameters in units of the data."""
    if isinstance(check_standardize(standardize), str):
        return spec is None or not in_data_units(spec)
    return bool(standardize)
