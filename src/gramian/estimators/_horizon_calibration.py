"""How wide paths must be, step by step, so that held-out stretches lie inside their intervals as often as promised [8, 12]."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian.latent.target_calibration import INTERVAL, weighted_quantile

NEIGHBOURS = 1.5
"""A step is judged together with the steps up to this factor nearer and farther."""
BELIEF = 3.0
"""The model's own width counts as so many independent held-out stretches."""
NARROWEST, WIDEST = 0.7, 4.0
"""Factors are held between these."""


def spread_factors(errors: Array, widths: Array) -> Array:
    """Factors (h, d) for the distance of paths to their middle.

    Parameters
    ----------
    errors : array of shape (n, h, d)
        Held-out errors, NaN where the truth is not known.
    widths : array of shape (h, d)
        Half of the model's own 90 % interval.
    """
    _, steps, d = errors.shape
    scaled = np.abs(errors) / np.where(widths > 0, widths, np.inf)
    ahead = np.arange(1, steps + 1)
    factors = np.ones((steps, d))
    for h in range(steps):
        near = (ahead >= ahead[h] / NEIGHBOURS) & (ahead <= ahead[h] * NEIGHBOURS)
        for j in range(d):
            own = scaled[:, near, j]
            seen = own[~np.isnan(own)]
            if not len(seen):
                continue
            independent = max(1.0, (~np.isnan(scaled[:, h, j])).sum() / (1.0 + h))
            level = min(1.0, INTERVAL * (1.0 + 1.0 / independent))
            ratio = weighted_quantile(seen, np.ones(len(seen)), level)
            squared = (BELIEF + independent * ratio**2) / (BELIEF + independent)
            factors[h, j] = np.clip(np.sqrt(squared), NARROWEST, WIDEST)
    return factors
