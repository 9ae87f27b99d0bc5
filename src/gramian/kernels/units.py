"""Whether a kernel is told in units of the data: then the data must not be put into others behind its back."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._checks import check_flag, is_real
from gramian.kernels import CallableKernel, GaussianProcessKernel, Kernel, Precomputed, as_kernel

SCALES = ("length_scale", "period")


def in_data_units(spec: Any) -> bool:
    """Whether the kernel, any part of it, or of an object that holds one (a feature map, an estimator), has a numeric length scale
    or period, is a callable, a scikit-learn kernel or precomputed.

    >>> from gramian.kernels import RBF, Linear
    >>> in_data_units("rbf"), in_data_units(RBF(2.0) + Linear()), in_data_units(Linear())
    (False, True, False)
    """
    if isinstance(spec, str):
        return False if spec == "auto" else in_data_units(as_kernel(spec))
    if isinstance(spec, list | tuple):
        return any(in_data_units(part) for part in spec)
    if isinstance(spec, dict):
        return any(in_data_units(part) for part in spec.values())
    if isinstance(spec, CallableKernel | GaussianProcessKernel | Precomputed):
        return True
    if not hasattr(spec, "get_params"):
        return callable(spec)
    if not isinstance(spec, Kernel) and callable(spec):  # a scikit-learn kernel
        return True
    params = spec.get_params(deep=False)
    if any(_is_number(params.get(name)) for name in SCALES):
        return True
    return any(in_data_units(value) for value in params.values() if _holds_kernel(value))


def _is_number(value: Any) -> bool:
    return (
        value is not None
        and not isinstance(value, str)
        and (is_real(value) or isinstance(value, np.ndarray | list | tuple))
    )


def _holds_kernel(value: Any) -> bool:
    return isinstance(value, Kernel) or hasattr(value, "get_params")


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
