"""Held-out stretches inside a series: where models end, from where they forecast, and how far off they are [10]."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gramian._arrays import Array
from gramian.estimators._series_transform import Ground, SeriesTransform

N_STRETCHES = 4
"""Stretches, each forecast by one model of what came before it."""
HELD_SHARE = 0.6
"""The share of the series, at most, that is forecast."""
MOST_ORIGINS = 16
"""Origins per stretch."""
MOST_HELD = 12
"""At most so many horizons are forecast: what is older says little."""


@dataclass(frozen=True)
class Stretch:
    """A model sees ``end`` values; forecasts begin after each of ``origins`` values, and what came is known."""

    end: int
    origins: Array


def held_out_stretches(length: int, horizon: int, fewest: int) -> list[Stretch]:
    """Stretches over the last part of a series, none of which begins before ``fewest`` values; none where it is too short.

    Origins near the end have fewer than ``horizon`` values to be judged on.
    """
    first = max(fewest, int((1.0 - HELD_SHARE) * length), length - MOST_HELD * horizon)
    last = length - max(1, horizon // 2)  # the last origin is judged on half a horizon
    if first >= last:
        return []
    ends = np.unique(np.linspace(first, last + 1, N_STRETCHES + 1).astype(int))
    found = []
    for begin, stop in pairwise(ends):
        count = min(MOST_ORIGINS, stop - begin)
        found.append(Stretch(int(begin), np.unique(np.linspace(begin, stop - 1, count).astype(int))))
    return found


def usual_horizon(length: int, seasons: list[int]) -> int:
    """How far ahead forecasts are judged where nobody said: a season, or a tenth of the series."""
    return max(1, min(max([*seasons, 8]), length // 6))


def windows_at(z: Array, origins: Array, lags: int) -> Array:
    """The last ``lags`` rows of z before each origin, (n, lags) or (n, lags, d)."""
    return z[origins[:, None] - np.arange(lags, 0, -1)]


def values_at(y: Array, origins: Array, steps: int) -> Array:
    """The ``steps`` rows from each origin on, NaN beyond the end."""
    padded = np.concatenate([y, np.full((steps, *y.shape[1:]), np.nan)])
    return padded[origins[:, None] + np.arange(steps)]


def back_at(transform: SeriesTransform, ground: Ground, paths: Array, origins: Array) -> Array:
    """Forecasts (n_origins, steps) of the series from forecasts of z."""
    return transform.back(paths, ground.at(origins, transform.season))
