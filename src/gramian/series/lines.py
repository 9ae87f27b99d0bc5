"""Lines of past values beside smoothing: the last value, that of a season ago, and ridge regressions on windows, each with its law [8, 10].

A line is linear in its errors, so its law is exact: with ψ what a unit error leaves h steps later, the variance ahead is σ² Σ ψ².
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.series.transform import Removed, SeriesTransform, bridge_gaps
from gramian.series.window_ridge import WindowRidge, fit_window_ridge


@dataclass(frozen=True)
class Line:
    """A regression on the last ``lags`` values of what a transformation leaves; without lags what was taken off goes on as it is."""

    transform: SeriesTransform
    lags: int
    share: float = 1.0  # of the whole forecast

    def of(self, values: Array) -> LineLaw | None:
        """Its law after a series (T,) with gaps; None where that is too short."""
        plain = replace(self.transform, log=False)
        known = np.asarray(~np.isnan(values))
        x = np.log(values) if self.transform.log else np.array(values, dtype=np.float64)
        if len(x) < plain.lost + self.lags + 2 or known.sum() < 2:
            return None
        z, _ = plain.forward(x)
        history, removed = plain.forward(x if known.all() else bridge_gaps(x, plain.season))
        ridge = fit_window_ridge(z[plain.lost :], self.lags) if self.lags else _naive(z)
        if ridge is None:
            return None
        window = history[len(history) - self.lags :][None]
        return LineLaw(plain, self.transform.log, ridge, window, removed.at(len(x), plain.season), self.share)


def _naive(z: Array) -> WindowRidge:
    """What was taken off goes on: z is forecast to be zero."""
    seen = z[~np.isnan(z)]
    deviation = float(np.sqrt(np.mean(np.square(seen)))) if len(seen) else 0.0
    return WindowRidge(0.0, np.empty(0), np.empty(0), deviation=deviation, degrees=float(max(len(seen), 2)))


@dataclass(frozen=True)
class LineLaw:
    """Where one series stands for a line: as a part of an `Outlook` with one member."""

    transform: SeriesTransform  # without the logarithm
    log: bool
    ridge: WindowRidge
    window: Array  # (1, lags)
    start: Removed
    share: float

    @property
    def degrees(self) -> float:
        return self.ridge.degrees

    @cached_property
    def noise(self) -> Array:
        return np.full((1, 1), self.ridge.deviation)

    def mean(self, steps: int, inputs: Array | None = None) -> Array:
        """(steps, 1, 1), of logarithms where those were taken."""
        return self.transform.back(self.ridge.recursion(self.window, steps), self.start)[0][:, None, None]

    def echoes(self, steps: int) -> Array:
        """ψ (steps,): what a unit error leaves."""
        season = self.transform.season
        shifted = replace(self.ridge, mean=0.0, window_mean=np.zeros(len(self.ridge.coefficients)))
        lags = len(self.ridge.coefficients)
        unit = np.zeros((1, max(lags, 1)))
        unit[0, -1] = 1.0
        later = shifted.recursion(unit[:, :lags], steps - 1) if lags else np.zeros((1, steps - 1))
        return self.transform.back(np.hstack([np.ones((1, 1)), later]), Removed(np.zeros((1, season)), np.zeros(1)))[0]

    def deviations(self, steps: int, inputs: Array | None = None) -> Array:
        """(steps, 1, 1)."""
        squares = np.cumsum(np.square(np.clip(self.echoes(steps), -1e100, 1e100)))
        return np.asarray(self.ridge.deviation * np.sqrt(squares)[:, None, None])

    def draws(self, chosen: Array, steps: int, rng: Any) -> Array:
        """(len(chosen), steps)."""
        noise = self.ridge.deviation * np.sqrt(self.degrees / rng.chisquare(self.degrees, len(chosen)))
        errors = noise[:, None] * rng.standard_normal((len(chosen), steps))
        echoes = self.echoes(steps)
        later = np.arange(steps) - np.arange(steps)[:, None]
        return self.mean(steps)[:, 0, 0] + errors @ np.where(later >= 0, echoes[np.maximum(later, 0)], 0.0)
