"""Normal laws cut to intervals: what a cell is that is known to lie between two ends [15]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from gramian._arrays import Array
from gramian.latent.masked_em import LOG_2PI


@dataclass(frozen=True)
class Interval:
    """The ends between which the true cells lie, (n, d); NaN in ``high`` for cells that are not such."""

    low: Array
    high: Array

    @property
    def cells(self) -> Array:
        return ~np.isnan(self.high)

    @property
    def everywhere(self) -> Interval:
        """With the whole line for cells that are in no interval."""
        return Interval(np.where(self.cells, self.low, -np.inf), np.where(self.cells, self.high, np.inf))

    def mapped(self, into: Callable[[Array], Array]) -> Interval:
        """In other coordinates, which rise with these."""
        return Interval(into(self.low), into(self.high))

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of normal laws of all cells, cut to their intervals.

        >>> import numpy as np
        >>> mean, variance = Interval(np.array([[-np.inf]]), np.array([[0.0]])).moments(np.zeros((1, 1)), np.ones((1, 1)))
        >>> mean.round(4).item(), variance.round(4).item()
        (-0.7979, 0.3634)
        """
        std = np.sqrt(variance)
        with np.errstate(invalid="ignore"):
            a, b = (self.low - mean) / std, (self.high - mean) / std
        flip = np.where(
            a > -b, -1.0, 1.0
        )  # the end nearer to the tail is the upper one: its logarithms keep their digits
        a, b = np.where(flip < 0, -b, a), np.where(flip < 0, -a, b)
        top, bottom = log_ndtr(b), log_ndtr(a)
        mass = top + np.log(-np.expm1(np.minimum(bottom - top, -np.finfo(float).eps)))
        upper, lower = (np.exp(-0.5 * (LOG_2PI + np.square(end)) - mass) for end in (b, a))
        shift = lower - upper
        with np.errstate(invalid="ignore"):
            bend = np.where(np.isinf(a), 0.0, a * lower) - np.where(np.isinf(b), 0.0, b * upper)
        left = np.clip(1.0 + bend - shift**2, np.finfo(float).eps, 1.0)
        return np.clip(mean + std * flip * shift, self.low, self.high), variance * left

    def draws(self, mean: Array, std: Array, rng: np.random.Generator) -> Array:
        """Of normal laws cut to the intervals."""
        low, high = ndtr((self.low - mean) / std), ndtr((self.high - mean) / std)
        found = mean + std * ndtri(np.clip(low + (high - low) * rng.random(mean.shape), 1e-300, 1 - 1e-16))
        return np.clip(found, self.low, self.high)

    def __getitem__(self, rows: Any) -> Interval:
        return Interval(self.low[rows], self.high[rows])
