"""What a forecaster may choose from: seasons, differences, the logarithm and lags, from the index and the series itself [10]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import is_auto
from gramian.series.transform import SeriesTransform, bridge_gaps

PLAIN_LAGS = 10
"""Lags of the plain model."""


@dataclass(frozen=True)
class SeriesOptions:
    """The forecaster's parameters as they were given, and what the index says of seasons."""

    lags: Any
    season: Any
    difference: Any
    transform: Any
    kernel: Any
    horizon: int | None
    usual_seasons: tuple[int, ...]
    n_members: int

    @property
    def any_open(self) -> bool:
        """Whether anything is left to choose."""
        return any(map(is_auto, (self.lags, self.season, self.difference, self.transform, self.kernel)))


@dataclass(frozen=True)
class Candidate:
    """A transformation with the lags and the kernel of the model behind it."""

    transform: SeriesTransform
    lags: int
    kernel: Any = "linear"

    def told(self) -> dict[str, Any]:
        """As a row of ``selection_``."""
        return {
            "lags": self.lags,
            "season": self.transform.season or None,
            "difference": self.transform.difference,
            "transform": "log" if self.transform.log else None,
            "rates": (self.transform.season_rate, self.transform.level_rate),
            "kernel": self.kernel if isinstance(self.kernel, str) else " ".join(repr(self.kernel).split()),
        }

    @property
    def structure(self) -> tuple[int, int, bool]:
        return self.transform.season, self.transform.difference, self.transform.log


def seasons_to_try(y: Array, usual: Sequence[int], longest: int) -> list[int]:
    """The usual seasons of the index, and the lag at which the differences repeat themselves, up to ``longest``."""
    found = [season for season in usual if 2 <= season <= longest]
    repeated = repeating_lag(y, longest)
    if repeated and repeated not in found:
        found.append(repeated)
    return found


def repeating_lag(y: Array, longest: int, *, peak: float = 0.3, in_step: float = 0.7) -> int:
    """The first clear peak of the autocorrelation of the differences if it comes back at twice its lag; 0 where there is none.

    A peak is an autocorrelation above ``peak``; the share ``in_step`` of it must be left after a second season, where a cycle drifts away.

    >>> repeating_lag(np.tile([1.0, 5.0, 2.0, 2.5], 20), 20)
    4
    """
    steps = np.diff(bridge_gaps(np.asarray(y, dtype=np.float64), 0))
    n = len(steps)
    longest = min(longest, (n - 2) // 2)
    steps = steps - steps.mean()
    power = float(steps @ steps)
    if longest < 3 or power <= 0:
        return 0
    size = 1 << int(np.ceil(np.log2(2 * n)))
    spectrum = np.square(np.abs(np.fft.rfft(steps, size)))
    reach = 2 * longest + 1
    correlation = np.fft.irfft(spectrum, size)[:reach] / power
    lags = np.arange(2, longest + 1)
    peaks = lags[(correlation[lags] >= correlation[lags - 1]) & (correlation[lags] >= correlation[lags + 1])]
    peaks = peaks[correlation[peaks] > max(peak, 2.0 / np.sqrt(n))]
    if not len(peaks):
        return 0
    lag = int(peaks[correlation[peaks] >= 0.9 * correlation[peaks].max()][0])
    unbiased = correlation * n / (n - np.arange(reach))
    return lag if unbiased[2 * lag] >= in_step * unbiased[lag] else 0


def spread_grows(y: Array, *, correlation: float = 0.5, span: float = 1.5) -> bool:
    """Whether a positive series moves more where it is higher, so that its logarithm is worth a try.

    The correlation of spread and level over stretches must be above the first, and levels must differ by the second as a factor.
    """
    seen = y[~np.isnan(y)]
    if len(seen) < 12 or seen.min() <= 0:
        return False
    parts = np.array_split(seen, max(4, len(seen) // 12))
    levels = np.log([part.mean() for part in parts])
    spreads = np.array([np.abs(np.diff(part)).mean() for part in parts])
    if np.ptp(levels) < np.log(span) or (spreads <= 0).any():
        return False
    return bool(np.corrcoef(levels, np.log(spreads))[0, 1] > correlation)


def transforms_to_try(
    y: Array, season: Any, difference: Any, transform: Any, seasons: Sequence[int]
) -> list[SeriesTransform]:
    """Every transformation that the parameters leave open, the plainest first; a given number is taken at its word."""
    logs = ([False, True] if spread_grows(y) else [False]) if transform == "auto" else [transform == "log"]
    offered = [0, *seasons] if season == "auto" else [season or 0]
    levels = (0, 1) if difference == "auto" else (difference,)
    return [SeriesTransform(s, level, log) for log in logs for s in offered for level in levels]


def lags_to_try(lags: Any, seasons: Sequence[int], most: int) -> list[int]:
    """Numbers of lags."""
    if lags != "auto":
        return [int(lags)]
    longest = max(seasons, default=0)
    offered = {4, PLAIN_LAGS, longest + 1, 2 * longest + 1} if longest else {3, PLAIN_LAGS, 2 * PLAIN_LAGS}
    return sorted(count for count in offered if count <= most) or [max(1, min(most, PLAIN_LAGS))]
