"""How wide paths must be, step by step, so that held-out stretches lie inside their intervals as often as promised [8, 12]."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.estimators._forecast_paths import ForecastPaths
from gramian.latent.target_calibration import INTERVAL, weighted_quantile

NEIGHBOURS = 1.5
"""A step is judged together with the steps up to this factor nearer and farther."""
BELIEF = 3.0
"""The model's own width counts as so many independent held-out stretches."""
WIDTH_PATHS = 200
"""Paths behind the model's own width."""
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
            ratio = weighted_quantile(seen, np.ones(len(seen)), INTERVAL)
            squared = (BELIEF + independent * ratio**2) / (BELIEF + independent)
            factors[h, j] = np.clip(np.sqrt(squared), NARROWEST, WIDEST)
    return factors


def calibrated_spread(paths: ForecastPaths, errors: Array, rng: Any) -> Array:
    """Factors (h, d) of the distance of paths to their middle, from held-out errors (n, h, d) on the scale on which they spread."""
    steps = errors.shape[1]
    future = None if paths.inputs is None else np.repeat(_last_known(paths.inputs)[None], steps, axis=0)
    drawn = paths.spreading(paths.drawn(steps, future, None, WIDTH_PATHS, rng))
    middle = paths.spreading(paths.middle(steps, future)[None])
    return spread_factors(errors, np.quantile(np.abs(drawn - middle), INTERVAL, axis=0))


def _last_known(inputs: Array) -> Array:
    """The last known value of each input: what widths are judged at."""
    seen = [column[~np.isnan(column)] for column in inputs.T]
    return np.array([column[-1] if len(column) else np.nan for column in seen])
