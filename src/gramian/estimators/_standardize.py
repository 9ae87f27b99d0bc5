"""Columns of unit variance on the way in: who gets them under ``standardize="auto"``, and how they are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_flag
from gramian.kernels import CallableKernel, GaussianProcessKernel, Kernel, Precomputed, as_kernel

SCALES = ("length_scale", "period")
"""Parameters of kernels that are in the units of the inputs."""
ROUNDING = 64 * float(np.finfo(float).eps)
"""A column whose deviation is below this share of its largest value is constant."""


def check_standardize(standardize: Any) -> Any:
    """``standardize`` if it is True, False or "auto"."""
    if isinstance(standardize, str):
        if standardize != "auto":
            raise ValueError(f"standardize={standardize!r} must be True, False or 'auto'.")
        return standardize
    return check_flag("standardize", standardize)


def speaks_of_units(kernel: Any) -> bool:
    """Whether a kernel, or a part of it, was given in the units of the inputs, or cannot be asked.

    A numeric length scale or period, a callable, a scikit-learn kernel, precomputed values.

    >>> from gramian.kernels import RBF, Linear
    >>> [speaks_of_units(k) for k in ("rbf", RBF(2.0), Linear() + RBF(2.0), RBF("median"))]
    [False, True, True, False]
    """
    found = as_kernel(kernel)
    values = found.get_params(deep=True)
    parts = [found, *(value for value in values.values() if isinstance(value, Kernel))]
    if any(isinstance(part, CallableKernel | GaussianProcessKernel | Precomputed) for part in parts):
        return True
    return any(name.rpartition("__")[2] in SCALES and not isinstance(value, str) for name, value in values.items())


def column_units(X: Array, weights: Array) -> tuple[Array, Array]:
    """(shift, scale): the mean and deviation of each column; 1 for the scale of a constant one."""
    values = np.asarray(X, dtype=np.float64)
    share = weights / weights.sum()
    shift = values[0] + share @ (values - values[0])
    size = np.abs(values).max(axis=0, initial=0.0)
    unit = np.where(size > 0, size, 1.0)  # squares of very large or small values leave the range of float64
    deviation = unit * np.sqrt(share @ np.square((values - shift) / unit))
    constant = deviation <= ROUNDING * size
    return shift, np.where(constant, 1.0, deviation)
