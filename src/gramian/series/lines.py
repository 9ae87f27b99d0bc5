"""Lines of past values beside smoothing: the last value, that of a season ago, and ridge regressions on windows, each with its law [8, 10].

A line is linear in its errors, so its law is exact: with ψ what a unit error leaves h steps later, the variance ahead is σ² Σ ψ².
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian.series.transform import Removed, SeriesTransform, bridge_gaps
from gramian.series.window_ridge import WindowRidge, fit_window_ridge


@dataclass(frozen=True)
class Line:
    """A regression on the last ``lags`` values of what a transformation leaves; without lags what was taken off goes on as it is."""

    transform: Annotated[SeriesTransform, ""]
    lags: Annotated[int, "count"]
    share: Annotated[float, "nonnegative"] = 1.0  # of the whole forecast

    def of(self, values: Array) -> LineLaw | None:
        """Its law after series (n, T), or one (T,), of one length with gaps at the same places; None where they are too short."""
        plain = replace(self.transform, log=False)
        found: list[tuple[WindowRidge, Array, Removed]] = []
        for row in np.atleast_2d(values):
            known = np.asarray(~np.isnan(row))
            x = np.log(row) if self.transform.log else np.array(row, dtype=np.float64)
            if len(x) < plain.lost + self.lags + 2 or known.sum() < 2:
                return None
            z, _ = plain.forward(x)
            history, removed = plain.forward(x if known.all() else bridge_gaps(x, plain.season))
            ridge = fit_window_ridge(z[plain.lost :], self.lags) if self.lags else _naive(z)
            if ridge is None:
                return None
            found.append((ridge, history[len(history) - self.lags :][None], removed.at(len(x), plain.season)))
        ridges, windows, starts = zip(*found)
        return LineLaw(plain, self.transform.log, ridges, windows, starts, self.share)


def _naive(z: Array) -> WindowRidge:
    """What was taken off goes on: z is forecast to be zero."""
    seen = z[~np.isnan(z)]
    deviation = float(np.sqrt(np.mean(np.square(seen)))) if len(seen) else 0.0
    return WindowRidge(0.0, np.empty(0), np.empty(0), deviation=deviation, degrees=float(max(len(seen), 2)))


@dataclass(frozen=True)
class LineLaw:
    """Where n series stand for a line: as a part of an `Outlook` with one member."""

    transform: SeriesTransform  # without the logarithm
    log: bool
    ridges: tuple[WindowRidge, ...]  # one per series, as what follows
    windows: tuple[Array, ...]  # (1, lags) each
    starts: tuple[Removed, ...]
    share: float

    @property
    def lags(self) -> int:
        return self.windows[0].shape[1]

    @cached_property
    def degrees(self) -> Array:
        return np.array([[ridge.degrees] for ridge in self.ridges])

    @cached_property
    def noise(self) -> Array:
        return np.array([[ridge.deviation] for ridge in self.ridges])

    def mean(self, steps: int, inputs: Array | None = None) -> Array:
        """(steps, n, 1), of logarithms where those were taken."""
        parts = zip(self.ridges, self.windows, self.starts)
        found = [self.transform.back(ridge.recursion(window, steps), start)[0] for ridge, window, start in parts]
        return np.stack(found, axis=1)[:, :, None]

    def echoes(self, ridge: WindowRidge, steps: int) -> Array:
        """ψ (steps,): what a unit error leaves."""
        season, lags = self.transform.season, self.lags
        shifted = replace(ridge, mean=0.0, window_mean=np.zeros(lags))
        unit = np.zeros((1, max(lags, 1)))
        unit[0, -1] = 1.0
        later = shifted.recursion(unit[:, :lags], steps - 1) if lags else np.zeros((1, steps - 1))
        return self.transform.back(np.hstack([np.ones((1, 1)), later]), Removed(np.zeros((1, season)), np.zeros(1)))[0]

    def deviations(self, steps: int, inputs: Array | None = None) -> Array:
        """(steps, n, 1)."""
        echoes = np.stack([self.echoes(ridge, steps) for ridge in self.ridges], axis=1)
        squares = np.cumsum(np.square(np.clip(echoes, -1e100, 1e100)), axis=0)
        return np.asarray((self.noise[:, 0] * np.sqrt(squares))[:, :, None])

    def draws(self, chosen: Array, steps: int, rng: Any) -> Array:
        """(len(chosen), steps), of the first series."""
        ridge = self.ridges[0]
        noise = ridge.deviation * np.sqrt(ridge.degrees / rng.chisquare(ridge.degrees, len(chosen)))
        errors = noise[:, None] * rng.standard_normal((len(chosen), steps))
        echoes = self.echoes(ridge, steps)
        later = np.arange(steps) - np.arange(steps)[:, None]
        return self.mean(steps)[:, 0, 0] + errors @ np.where(later >= 0, echoes[np.maximum(later, 0)], 0.0)
