"""Held-out stretches inside a series, on which forecasts are judged [10]."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gramian._arrays import Array

N_STRETCHES = 4
"""Stretches, each forecast by one model of what came before it."""


@dataclass(frozen=True)
class Stretch:
    """A model sees ``end`` values; forecasts begin after each of ``origins`` values, and what came is known."""

    end: int
    origins: Array


def held_out_stretches(
    length: int, horizon: int, fewest: int, *, share: float = 0.6, horizons: int = 12, most: int = 16
) -> list[Stretch]:
    """Stretches over the last part of a series, none of which begins before ``fewest`` values; none where it is too short.

    At most this ``share`` of the series, and so many ``horizons``, is forecast: what is older says little; from at most so many origins per stretch.
    Origins near the end have fewer than ``horizon`` values to be judged on.
    """
    first = max(fewest, int((1.0 - share) * length), length - horizons * horizon)
    last = length - max(1, horizon // 2)  # the last origin is judged on half a horizon
    if first >= last:
        return []
    ends = np.unique(np.linspace(first, last + 1, N_STRETCHES + 1).astype(int))
    found = []
    for begin, stop in pairwise(ends):
        count = min(most, stop - begin)
        found.append(Stretch(int(begin), np.unique(np.linspace(begin, stop - 1, count).astype(int))))
    return found


def usual_horizon(length: int, seasons: list[int]) -> int:
    """How far ahead forecasts are judged where nobody said: the longest season, at least 8, and at most a sixth of the series."""
    return max(1, min(max([*seasons, 8]), length // 6))
