"""What is taken off a series before it is modelled, and put back exactly: the logarithm, its season, its level [8].

With x = log y or y, the season keeps a profile p of one value per phase and the model sees x - p; then the level l is kept
and the model sees the distance to it. After each value p moves by ``season_rate`` of the distance, l by ``level_rate`` of it.
Rates of 1 are the plain differences x_t - x_(t-s) and x_t - x_(t-1); smaller rates remember more than one season or value, as
exponential smoothing does. Either way the way back is exact: a path of the model's values is a path of the series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.signal import lfilter

from gramian._arrays import Array

LARGEST_LOG = 700.0
"""Logarithms are held at this: beyond it numbers are not finite."""


@dataclass(frozen=True)
class Removed:
    """What was taken off a series, time by time: the profile after each value, and the level after each."""

    profiles: Array  # (T,), of the phase of each time; empty without a season
    levels: Array  # (T,), empty without a level

    def at(self, origins: Any, season: int) -> Removed:
        """Where the series stands after each of ``origins`` values: profiles (n, season), the next phase first, and levels (n,)."""
        ends = np.atleast_1d(np.asarray(origins, dtype=int))
        profiles = self.profiles[ends[:, None] - np.arange(season, 0, -1)] if season else np.empty((len(ends), 0))
        return Removed(profiles, self.levels[ends - 1] if len(self.levels) else np.zeros(len(ends)))


@dataclass(frozen=True)
class SeriesTransform:
    """What one series is freed from.

    >>> plain = SeriesTransform(season=2, difference=1)
    >>> z, removed = plain.forward(np.array([1.0, 5.0, 2.0, 7.0, 3.0]))
    >>> z
    array([nan, nan, nan,  1., -1.])
    >>> plain.back(np.array([[0.0, 1.0]]), removed.at(5, 2))
    array([[8., 5.]])
    """

    season: Annotated[int, "count"] = 0
    difference: Annotated[int, "count"] = 0
    log: bool = False
    season_rate: Annotated[float, "number"] = 1.0
    level_rate: Annotated[float, "number"] = 1.0

    @property
    def is_plain(self) -> bool:
        """Whether nothing is taken off."""
        return not (self.season or self.difference or self.log)

    @property
    def lost(self) -> int:
        """Values at the beginning that have nothing to be compared with."""
        return self.season + self.difference

    def forward(self, y: Array) -> tuple[Array, Removed]:
        """z (T,), NaN where y or what it is compared with is not known, and what was taken off.

        Gaps are bridged for what later values are compared with.
        """
        x = np.log(np.where(y > 0, y, np.nan)) if self.log else np.array(y, dtype=np.float64)
        blurred = np.isnan(x)
        z = bridge_gaps(x, self.season) if blurred.any() and (self.season or self.difference) else x
        profiles = levels = np.empty(0)
        if self.season:
            z, profiles = self._off_season(z)
            blurred = _after_holes(blurred, self.season, self.season_rate)
        if self.difference:
            z, levels = self._off_level(z)
            blurred = _after_holes(blurred, 1, self.level_rate)
        return np.where(blurred, np.nan, z), Removed(profiles, levels)

    def _off_season(self, x: Array) -> tuple[Array, Array]:
        s, T = self.season, len(x)
        table = np.append(x, np.zeros(-T % s)).reshape(-1, s)
        profiles = smooth(table, self.season_rate).ravel()[:T]
        z = np.full(T, np.nan)
        z[s:] = x[s:] - profiles[:-s]
        return z, profiles

    def _off_level(self, x: Array) -> tuple[Array, Array]:
        first = self.season
        levels = np.full(len(x), np.nan)
        levels[first:] = smooth(x[first:], self.level_rate)
        z = np.full(len(x), np.nan)
        z[first + 1 :] = x[first + 1 :] - levels[first:-1]
        return z, levels

    def back(self, paths: Array, start: Removed) -> Array:
        """Paths (n, h) of the series from paths of z; ``start`` is where one, or each, of them begins."""
        if not (self.season or self.difference):
            return self._values(paths)
        n, steps = paths.shape
        profile = np.array(np.broadcast_to(start.profiles, (n, self.season)))
        level = np.broadcast_to(start.levels, (n,))
        out = np.empty((n, steps))
        for h in range(steps):
            x = paths[:, h]
            if self.difference:
                x, level = level + x, level + self.level_rate * x
            out[:, h] = x
            if self.season:
                phase = h % self.season
                out[:, h] += profile[:, phase]
                profile[:, phase] += self.season_rate * x
        return self._values(out)

    def _values(self, x: Array) -> Array:
        return np.exp(np.clip(x, -LARGEST_LOG, LARGEST_LOG)) if self.log else x

    def words(self) -> str:
        """What is taken off, for people."""
        parts = ["logarithm"] if self.log else []
        if self.season:
            parts.append(f"season of {self.season}" + _smooth(self.season_rate))
        if self.difference:
            parts.append("level" + _smooth(self.level_rate))
        return ", ".join(parts) or "nothing"


def _smooth(rate: float) -> str:
    return " (difference)" if rate == 1.0 else f" (smoothed, rate {rate:g})"


def _after_holes(holes: Array, step: int, rate: float) -> Array:
    """Where z is blurred by a hole: at the hole, and where it is compared with it. A smoothed value is blurred less: it passes."""
    blurred = holes.copy()
    if rate == 1.0:
        blurred[step:] |= holes[:-step] if step else holes
    return blurred


def bridge_gaps(x: Array, season: int) -> Array:
    """The series with straight lines over its gaps, after the mean of each phase was taken off where there is a season."""
    T = len(x)
    usual = np.zeros(T)
    if season and 2 * season <= T:
        padded = np.full(-(-T // season) * season, np.nan)
        padded[:T] = x - _drift(x)
        table = padded.reshape(-1, season)
        counts = (~np.isnan(table)).sum(axis=0)
        met = np.flatnonzero(counts)
        means = np.nansum(table, axis=0)[met] / counts[met]
        # a phase that was never seen lies between those beside it
        usual = np.tile(np.interp(np.arange(season), met, means, period=season), len(table))[:T]
    seen = np.flatnonzero(~np.isnan(x))
    rest = np.interp(np.arange(T), seen, (x - usual)[seen])
    return np.where(np.isnan(x), rest + usual, x)


def _drift(x: Array) -> Array:
    """The straight line through a series with gaps."""
    seen = np.flatnonzero(~np.isnan(x))
    if len(seen) < 2:
        return np.zeros(len(x))
    times = np.arange(len(x), dtype=np.float64)
    centred = seen - seen.mean()
    slope = float(centred @ x[seen] / (centred @ centred))
    return slope * (times - seen.mean())


def smooth(x: Array, rate: float) -> Array:
    """s_t = s_(t-1) + rate (x_t - s_(t-1)) along the first axis, from s_0 = x_0."""
    if rate == 1.0 or not len(x):
        return x
    return np.asarray(lfilter([rate], [1.0, rate - 1.0], x, axis=0, zi=(1.0 - rate) * x[:1])[0])


def forward_table(transforms: Sequence[SeriesTransform], series: Array) -> tuple[Array, tuple[Removed, ...]]:
    """`SeriesTransform.forward` of every column."""
    found = [transform.forward(column) for transform, column in zip(transforms, series.T)]
    return np.column_stack([z for z, _ in found]), tuple(removed for _, removed in found)


def back_table(transforms: Sequence[SeriesTransform], paths: Array, starts: Sequence[Removed]) -> Array:
    """`SeriesTransform.back` of paths (n, h, d)."""
    columns = [transform.back(paths[:, :, j], starts[j]) for j, transform in enumerate(transforms)]
    return np.stack(columns, axis=2)
