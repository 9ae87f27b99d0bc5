"""What can be wrong with a Gram matrix: overflow, no structure, an offset that costs digits, negative eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._precision import HALF_DIGITS, SEEN
from gramian._types import DType
from gramian.exceptions import NumericalWarning, warn
from gramian.kernels.base import Kernel
from gramian.kernels.precomputed import Precomputed

LARGEST_VALUE = float(np.finfo(np.float64).max) ** 0.25
"""Eigenvalue formulas square the squares of kernel values."""
HALF_THE_DIGITS = float(np.sqrt(np.finfo(np.float64).eps))
"""Centred values below this share of the uncentred ones keep less than half of their digits."""


def finite_gram(values: Array, kernel: Any) -> Array:
    """``values`` if they can be computed with, else a `ValueError` that names the kernel [1].

    Finite values whose fourth powers overflow are refused too: variances of variances would be Inf.

    Parameters
    ----------
    values : ndarray
        Kernel values.
    kernel : object
        What to name in the message.

    Returns
    -------
    ndarray
        ``values``.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import finite_gram
    >>> finite_gram(np.eye(2), "rbf").shape
    (2, 2)
    """
    largest = float(max(np.max(values, initial=0.0), -np.min(values, initial=0.0)))  # NaN survives both
    if not largest < LARGEST_VALUE:
        raise ValueError(
            f"kernel values not finite: {kernel!r} reaches {largest:.3g}, beyond what float64 can compute with "
            f"({LARGEST_VALUE:.1g}). Rescale the data, or use a smaller gamma or degree."
        )
    return values


def warn_without_structure(gram: Array) -> bool:
    """A kernel that sees every row as the same, or no row as like another, has nothing to model. Whether it warned."""
    n = len(gram)
    if n < 4:
        return False
    negligible = SEEN * float(gram.max())
    for seen in (gram[:256, :256], gram):  # what a few rows show need not be sought in all
        off = seen - np.diag(np.diagonal(seen))
        alone, same = np.abs(off).max() <= negligible, np.ptp(seen) <= negligible
        if not (alone or same):
            return False
    warn_of_scale(too_small=bool(alone))
    return True


def warn_of_scale(*, too_small: bool) -> None:
    """Say that a kernel matrix is the identity, or constant."""
    extent = "too small: every point resembles only itself" if too_small else "too large: all points look the same"
    warn(
        f"The kernel matrix carries no structure; its length scale is probably {extent}.",
        NumericalWarning,
    )


def warn_of_offset(kernel: Kernel, mean_diagonal: float, variance: float) -> bool:
    """Warn if centring costs a kernel that sees the origin more than half of the digits; whether it did.

    ``mean_diagonal`` is the mean k(x, x) = |φ|² and ``variance`` the mean |φ - μ|². Stationary kernels do not see where the
    origin is, and what is behind a precomputed one is not known.
    """
    if kernel.stationary or isinstance(kernel, Precomputed) or not mean_diagonal > 0:
        return False
    share = max(variance, 0.0) / mean_diagonal
    if share >= HALF_THE_DIGITS:
        return False
    warn(
        f"{kernel!r} sees an offset that is far larger than the spread of the data: the variance is {share:.1g} of the mean "
        f"k(x, x), and {'all' if share < np.finfo(float).eps else 'more than half'} of the digits are lost. Take the mean off the columns first, for example with "
        "sklearn.preprocessing.StandardScaler.",
        NumericalWarning,
    )
    return True


def negative_limit(largest: float, mean_diagonal: float, dtype: DType) -> float:
    """How negative an eigenvalue may be before the kernel is called indefinite.

    Entries kᵢⱼ that are rounded by ε √(kᵢᵢ kⱼⱼ) move no eigenvalue of the weighted Gram matrix by more than ε Σᵢ sᵢ kᵢᵢ.

    >>> negative_limit(1.0, 1.0, "float64"), round(negative_limit(1.0, 1.0, "float32"), 8)
    (1e-08, 1.91e-06)
    """
    rounding = 16 * float(np.finfo(dtype).eps) * max(mean_diagonal, 0.0)
    return max(HALF_DIGITS * max(largest, 0.0), rounding)


def warn_of_negative(values: Array, mean_diagonal: float, dtype: DType) -> bool:
    """Warn if the eigenvalues (all, in any order) hold negative ones beyond rounding; whether they did."""
    if not values.size:
        return False
    least, largest = float(values.min()), float(values.max())
    if least >= -negative_limit(largest, mean_diagonal, dtype):
        return False
    lost = float(-values[values < 0].sum() / np.abs(values).sum())
    warn(
        f"The kernel is indefinite on these data: its smallest eigenvalue is {least:.3g}, the largest {largest:.3g}. "
        f"Negative eigenvalues ({lost:.1%} of the sum of magnitudes) are treated as no variance.",
        NumericalWarning,
    )
    return True
