"""From held-out values to limits: quantiles, calibrated deviations, p-values and thresholds [8, 10, 12]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtri

from gramian._arrays import Array
from gramian.policy import DEFAULTS

COVERING = float(ndtri(0.5 + DEFAULTS.cover / 2))
"""So many standard deviations of a normal law cover the level at which deviations are calibrated: 1.645 of them 90 %."""


def less_optimistic(std: Array, total_weight: float, optimism: float = 4.0) -> Array:
    """Standard deviations times 1 + ``optimism`` / N: residuals on which kernel and ridge were chosen are a little too small."""
    return std * (1.0 + optimism / total_weight)


def covering_rank(n_values: int) -> int:
    """Which of n sorted sizes (from 1) covers 90 % of new ones, the new one counted too; above n where they are too few.

    >>> covering_rank(9), covering_rank(8)
    (9, 9)
    """
    return int(np.ceil((n_values + 1) * DEFAULTS.cover))


def conformal_level(n_residuals: float) -> float:
    """The share of ``n_residuals`` that must lie inside for 90 % of new rows to: the new row counts too.

    >>> conformal_level(9), conformal_level(90)
    (1.0, 0.91)
    """
    return min(1.0, DEFAULTS.cover * (1.0 + 1.0 / n_residuals))


def calibrated_std(residuals: Array, leverages: Array, weights: Array, total_weight: float) -> Array:
    """s such that the 90 % normal interval with s√(1 + |z|²/N) covers 90 % of the held-out residuals (conformally)."""
    scaled = np.abs(residuals) / np.sqrt(1.0 + leverages)[:, None]
    level = conformal_level(total_weight)
    return np.array([weighted_quantile(column, weights, level) for column in scaled.T]) / COVERING


def weighted_quantile(values: Array, weights: Array, level: float) -> float:
    """The smallest value with at least ``level`` of the weight at or below it."""
    equal = bool((weights == weights[0]).all())  # then one order statistic is enough
    order = None if equal else np.argsort(values, kind="stable")
    share = np.cumsum(weights if order is None else weights[order]) / weights.sum()
    place = min(int(np.searchsorted(share, level - 1e-9)), len(values) - 1)
    return float(np.partition(values, place)[place] if order is None else values[order[place]])


def threshold(scores: Array, weights: Array, share: float) -> float:
    """Halfway between the last score of the lowest ``share`` of the weight and the next: ties fall on one side."""
    values, inverse = np.unique(scores[weights > 0], return_inverse=True)
    below = np.cumsum(np.bincount(inverse, weights[weights > 0]))
    last = int(np.searchsorted(below, share * below[-1] * (1 - 1e-12)))
    return float((values[last] + values[min(last + 1, len(values) - 1)]) / 2)


def log_share_beyond(times: Any, total: float) -> Any:
    """The log of the share of new rows beyond ``times`` the largest of ``total`` exponential values.

    The largest is a draw itself: E exp(-c L) = Γ(c+1) Γ(N+1) / Γ(N+c+1) lies above (N+1)^-c, what L at its usual place would give.

    >>> import numpy as np
    >>> np.exp(log_share_beyond(np.array([1.0, 2.0]), 20.0)).round(5)
    array([0.04762, 0.00433])
    """
    return gammaln(times + 1.0) + gammaln(total + 1.0) - gammaln(total + times + 1.0)


@dataclass(frozen=True)
class Tally:
    """Held-out values of a distance: its p-values and limits, with the tail of a chi-squared law beyond the largest."""

    values: Array  # rising
    above: Array  # weight of the values at or above each
    freedom: float

    @classmethod
    def of(cls, values: Array, weights: Array, freedom: float | None = None) -> Tally:
        if not 1.0 + weights.sum() > 1.0:  # less than a rounding of one row: nothing is known
            values, weights = values[:0], weights[:0]
        order = np.argsort(values)
        values, weights = values[order], weights[order]
        if freedom is None and len(values):  # Box: the chi-squared law of the same mean and variance
            mean = np.average(values, weights=weights)
            spread = np.average((values - mean) ** 2, weights=weights)
            freedom = float(np.clip(2 * mean**2 / spread, 1.0, 1e6)) if spread > 0 else 1.0
        return cls(values, np.cumsum(weights[::-1])[::-1], max(float(freedom or 1.0), 1.0))

    @property
    def total(self) -> float:
        return float(self.above[0]) if len(self.above) else 0.0

    def p_values(self, found: Array) -> Array:
        """The share of held-out rows, and of the row itself, at or above; beyond them all, by the tail."""
        if not len(self.values):
            return np.ones_like(found)
        place = np.searchsorted(self.values, found, side="left")
        rest = np.append(self.above, 0.0)[place]
        shares = (1.0 + rest) / (1.0 + self.total)
        largest = self.values[-1]
        if not largest > 0:
            return np.where(found > largest, 0.0, shares)
        law = _chi_squared(self.freedom)
        times = law.logsf(found / largest * law.isf(1.0 / (1.0 + self.total))) / -np.log1p(self.total)
        beyond = np.exp(log_share_beyond(np.minimum(times, 1e6), self.total))
        return np.where(place == len(self.values), np.minimum(beyond, shares), shares)

    def exceeded(self, found: Array, level: float) -> bool:
        """Whether values are together larger than those of new rows, beyond what chance explains at this level.

        By the one-sided test of Kolmogorov and Smirnov, whose statistic exceeds √(-log(1 - level) (1/n + 1/N) / 2) with a chance of 1 - level at most.

        >>> import numpy as np
        >>> tally = Tally.of(np.linspace(0.0, 1.0, 200), np.ones(200))
        >>> tally.exceeded(np.array([0.2, 0.7, 1.5]), 0.99), tally.exceeded(np.linspace(0.5, 0.9, 50), 0.99)
        (False, True)
        """
        if not len(found) or not self.total > 0:
            return False
        ahead = np.arange(1, len(found) + 1) / len(found) - np.sort(self.p_values(found))
        return bool(ahead.max() > np.sqrt(-np.log(1.0 - level) * (1.0 / len(found) + 1.0 / self.total) / 2.0))

    def limit(self, level: float) -> float:
        """The value that a share ``1 - level`` of new rows exceeds."""
        if not len(self.values):
            return float("inf")
        alpha, smallest = 1.0 - level, 1.0 / (1.0 + self.total)
        if alpha < smallest:
            from scipy.optimize import brentq

            law = _chi_squared(self.freedom)
            far = 1.0
            while log_share_beyond(far, self.total) > np.log(alpha) and far < 1e6:
                far *= 2.0
            times = brentq(lambda c: log_share_beyond(c, self.total) - np.log(alpha), 1.0, far) if far < 1e6 else far
            return float(self.values[-1] * law.isf(smallest**times) / law.isf(smallest))
        passed = (1.0 + self.above) / (1.0 + self.total) <= alpha
        return float(self.values[passed.argmax()] if passed.any() else self.values[-1])


def _chi_squared(freedom: float) -> Any:
    from scipy.stats import chi2  # a slow import that few need

    return chi2(freedom)
