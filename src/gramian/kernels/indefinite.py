"""The one rule for kernels that may be indefinite: when negative eigenvalues are more than rounding, and what is said of them."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian._types import DType
from gramian.exceptions import NumericalWarning, warn

WHOLE_SIZE = 3000
"""Up to this size a kernel that may be indefinite is decomposed whole, to see its negative eigenvalues."""
INDEFINITE = 1e-8
"""A least eigenvalue below minus this share of the largest makes a kernel indefinite ..."""
ROUNDINGS = 16
"""... if it is also below minus so many roundings of the mean k(x, x), in the precision of what was given."""


def negative_limit(largest: float, mean_diagonal: float, dtype: DType) -> float:
    """How negative an eigenvalue may be before the kernel is called indefinite.

    Entries kᵢⱼ that are rounded by ε √(kᵢᵢ kⱼⱼ) move no eigenvalue of the weighted Gram matrix by more than ε Σᵢ sᵢ kᵢᵢ.

    >>> negative_limit(1.0, 1.0, "float64"), round(negative_limit(1.0, 1.0, "float32"), 8)
    (1e-08, 1.91e-06)
    """
    rounding = ROUNDINGS * float(np.finfo(dtype).eps) * max(mean_diagonal, 0.0)
    return max(INDEFINITE * max(largest, 0.0), rounding)


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
