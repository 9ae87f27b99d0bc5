"""Drift: charts of T² and SPE that add up over rows, so that small shifts show which no single row tells [21].

Chances p of a row become normal scores u = Φ⁻¹(1 - p), which are N(0, 1) while nothing has changed. Both charts are
s ← max(0, a s + b u - c): the moving average (EWMA) with a = 1 - λ, b = λ, c = 0, and the sum (CUSUM) with a = b = 1, c = k. Their limits follow
from the mean number of rows until a false alarm, by the integral equation of that number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from gramian._answers import Answer, Shown
from gramian._arrays import Array

CHARTS = ("ewma_t2", "ewma_spe", "cusum_t2", "cusum_spe")


@dataclass(frozen=True)
class Chart:
    """s ← max(0, keep · s + gain · u - slack), from s = 0, with an alarm above a limit."""

    keep: float
    gain: float
    slack: float

    def path(self, scores: Array) -> Array:
        """s after each row.

        >>> Chart(1.0, 1.0, 0.5).path(np.array([1.0, -2.0, 3.0])).tolist()
        [0.5, 0.0, 2.5]
        """
        out, s = np.empty(len(scores)), 0.0
        for i, u in enumerate(scores.tolist()):
            s = max(0.0, self.keep * s + self.gain * u - self.slack)
            out[i] = s
        return out

    def run_length(self, limit: float, nodes: int = 96) -> float:
        """The mean number of rows until s exceeds the limit, while u ~ N(0, 1), by Gauss-Legendre quadrature of
        L(s) = 1 + P(s' = 0) L(0) + ∫₀ʰ L(x) f(x | s) dx.

        >>> round(Chart(1.0, 1.0, 0.5).run_length(4.0), 1)
        335.4
        """
        x, w = np.polynomial.legendre.leggauss(nodes)
        x, w = np.append(0.0, limit * (x + 1) / 2), np.append(0.0, limit * w / 2)
        u = (x - self.keep * x[:, None] + self.slack) / self.gain  # from each state, the score that leads to each other
        steps = w * np.exp(-(u**2) / 2) / (np.sqrt(2 * np.pi) * self.gain)
        steps[:, 0] = ndtr(u[:, 0])
        return float(np.linalg.solve(np.eye(len(x)) - steps, np.ones(len(x)))[0])

    def limit(self, run_length: float) -> float:
        """The limit with this mean number of rows until a false alarm."""
        return _limit(self, float(run_length))


@lru_cache(maxsize=64)
def _limit(chart: Chart, run_length: float) -> float:
    unit = chart.gain / np.sqrt(1 - chart.keep**2) if chart.keep < 1 else 1.0  # deviations of s, or one of u
    high = unit
    while chart.run_length(high) < run_length:
        high += unit
    return float(
        brentq(lambda limit: np.log(chart.run_length(limit) / run_length), unit * 1e-3, high, xtol=1e-6 * unit)
    )


@dataclass(frozen=True, repr=False)
class Drift(Answer):
    """Four charts over rows in their order, and the limits that an alarm exceeds.

    ``ewma_t2``, ``ewma_spe``, ``cusum_t2``, ``cusum_spe`` have one entry per row; ``limit_ewma`` and ``limit_cusum`` one for both quantities.
    ``run_length`` is the mean number of rows until a false alarm of each chart.
    """

    ewma_t2: Array
    ewma_spe: Array
    cusum_t2: Array
    cusum_spe: Array
    limit_ewma: float
    limit_cusum: float
    run_length: float

    @classmethod
    def of(cls, p_t2: Array, p_spe: Array, smoothing: float, shift: float, run_length: float) -> Drift:
        """The charts of chances of rows: λ = ``smoothing``, and k = ``shift`` / 2, which finds such a shift soonest."""
        ewma, cusum = Chart(1 - smoothing, smoothing, 0.0), Chart(1.0, 1.0, shift / 2)
        t2, spe = normal_scores(p_t2), normal_scores(p_spe)
        limits = {
            "limit_ewma": ewma.limit(run_length),
            "limit_cusum": cusum.limit(run_length),
            "run_length": run_length,
        }
        return cls(ewma.path(t2), ewma.path(spe), cusum.path(t2), cusum.path(spe), **limits)

    @property
    def alarms(self) -> Array:
        """Rows at which any chart is beyond its limit."""
        return np.any([getattr(self, name) > self.limit_of(name) for name in CHARTS], axis=0)

    def limit_of(self, name: str) -> float:
        """The limit of one of the charts."""
        return self.limit_ewma if name.startswith("ewma") else self.limit_cusum

    @property
    def first(self) -> int | None:
        """The row of the first alarm, None without one."""
        alarms = np.flatnonzero(self.alarms)
        return int(alarms[0]) if len(alarms) else None

    def _shown(self) -> Shown:
        """When the first alarm was, and of which charts."""
        ordinary = f"a false alarm per chart every {self.run_length:g} rows on average"
        if self.first is None:
            return Shown(f"no alarm in {len(self.ewma_t2)} rows ({ordinary})")
        charts = [name for name in CHARTS if getattr(self, name)[self.first] > self.limit_of(name)]
        where = f"drift: the first alarm is at row {self.first} of {len(self.ewma_t2)} ({', '.join(charts)})"
        return Shown(f"{where}; {int(self.alarms.sum())} rows beyond a limit ({ordinary})")


def normal_scores(chances: Array) -> Array:
    """Φ⁻¹(1 - p), held within the range of float64; 0 where a row says nothing (p = 1).

    >>> normal_scores(np.array([0.05, 1.0, 0.0])).round(1).tolist()
    [1.6, 0.0, 37.5]
    """
    p = np.asarray(chances, dtype=np.float64)
    return np.asarray(np.where(p < 1.0, -ndtri(np.maximum(p, np.finfo(float).tiny)), 0.0))
