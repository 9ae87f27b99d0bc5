"""Digits that an offset of the data costs: no shift of the rows leaves a polynomial or sigmoid kernel as it is."""

from __future__ import annotations

import numpy as np

from gramian.exceptions import NumericalWarning, warn
from gramian.kernels.base import Kernel
from gramian.kernels.precomputed import Precomputed

HALF_THE_DIGITS = float(np.sqrt(np.finfo(np.float64).eps))
"""Centred values below this share of the uncentred ones keep less than half of their digits."""


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
        "k(x, x), and more than half of the digits are lost. Take the mean off the columns first, for example with "
        "sklearn.preprocessing.StandardScaler.",
        NumericalWarning,
    )
    return True
