"""What error to expect of a prediction, from the residuals of held-out rows [8, 12]."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from gramian._arrays import Array

INTERVAL = 0.9
"""The level at which standard deviations are calibrated: 1.645 of them cover 90 % of the held-out residuals."""
OPTIMISM = 4.0
"""Kernel and ridge were chosen on the residuals that calibrate: standard deviations are raised by the factor 1 + OPTIMISM / N."""


def raised(std: Array, total_weight: float) -> Array:
    """Standard deviations, raised: residuals on which choices were made are a little too small."""
    return std * (1.0 + OPTIMISM / total_weight)


def conformal_level(n_residuals: float) -> float:
    """The share of ``n_residuals`` that must lie inside for 90 % of new rows to: the new row counts too.

    >>> conformal_level(9), conformal_level(90)
    (1.0, 0.91)
    """
    return min(1.0, INTERVAL * (1.0 + 1.0 / n_residuals))


def calibrated_std(residuals: Array, leverages: Array, weights: Array, total_weight: float) -> Array:
    """s such that the 90 % normal interval with s√(1 + |z|²/N) covers 90 % of the held-out residuals (conformally)."""
    scaled = np.abs(residuals) / np.sqrt(1.0 + leverages)[:, None]
    level = conformal_level(total_weight)
    return np.array([weighted_quantile(column, weights, level) for column in scaled.T]) / float(
        ndtri(0.5 + INTERVAL / 2)
    )


def weighted_quantile(values: Array, weights: Array, level: float) -> float:
    """The smallest value with at least ``level`` of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(share, level - 1e-9)), len(values) - 1)])
