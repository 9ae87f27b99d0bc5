"""Columns of their own law: a monotone map per column, in whose image a Gaussian lives [15].

Every map keeps the mean and the deviation of its column, so that columns weigh what they weighed before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from scipy.special import ndtri

from gramian._arrays import Array
from gramian.policy import LOOK, MARGINS


@lru_cache(maxsize=4)
def _normal_nodes(count: int) -> tuple[Array, Array]:
    """Nodes and weights of a mean over a standard normal law."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


@dataclass(frozen=True)
class Margin:
    """A monotone map of one column: the line (``kind`` "identity"), a logarithm, or normal scores by ``knots``.

    y = shift + scale ln(x - origin), or the line between knots, with the slopes of the outermost ones beyond. ``inner`` are the knots
    on the way in, one per value; ``knots`` those on the way back, where a value that stands often has a step of its own width.
    """

    kind: str = "identity"
    shift: Annotated[float, "number"] = 0.0
    scale: Annotated[float, "positive"] = 1.0
    origin: Annotated[float, "number"] = 0.0
    inner: Annotated[Array | None, "* k"] = None  # values and their scores
    knots: Annotated[Array | None, "* m"] = None  # scores and values
    slopes: Annotated[Array | None, "+ *"] = None  # of values over scores, below and above

    def into(self, x: Array) -> Array:
        """Where values are told to the model; NaN stays."""
        if self.kind == "log":
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.asarray(self.shift + self.scale * np.log(np.maximum(x - self.origin, np.finfo(float).tiny)))
        if self.inner is None or self.slopes is None:
            return x
        values, scores = self.inner
        found = np.interp(x, values, scores)
        for end, slope, beyond in ((0, self.slopes[0], x < values[0]), (-1, self.slopes[1], x > values[-1])):
            if slope > 0:
                found = np.where(beyond, scores[end] + (x - values[end]) / slope, found)
        return np.where(np.isnan(x), np.nan, found)

    def back(self, y: Array) -> Array:
        """The values that scores stand for."""
        if self.kind == "log":
            with np.errstate(over="ignore"):
                return np.asarray(np.exp(np.minimum((y - self.shift) / self.scale, 700.0)) + self.origin)
        if self.knots is None or self.slopes is None:
            return y
        scores, values = self.knots
        found = np.interp(y, scores, values)
        found = np.where(y < scores[0], values[0] + (y - scores[0]) * self.slopes[0], found)
        return np.where(y > scores[-1], values[-1] + (y - scores[-1]) * self.slopes[1], found)

    def moments(self, mean: Array, std: Array, low: float = -np.inf, high: float = np.inf) -> tuple[Array, Array]:
        """Mean and deviation of values whose scores are normal, cut to what the column may hold: by quadrature.

        >>> import numpy as np
        >>> Margin("log").moments(np.array([0.0]), np.array([0.5]))[0].round(3)  # exp(1 / 8)
        array([1.133])
        """
        if self.kind == "identity":
            return mean, std
        nodes, weights = _normal_nodes(MARGINS.nodes)
        values = np.clip(self.back(mean[..., None] + std[..., None] * nodes), low, high)
        found = values @ weights
        apart = values - found[..., None]
        size = np.maximum(
            np.abs(apart).max(axis=-1, keepdims=True), np.finfo(float).tiny
        )  # squares of large ones overflow
        return found, size[..., 0] * np.sqrt(np.maximum(np.square(apart / size) @ weights, 0.0))


IDENTITY = Margin()


def log_margin(column: Array, origin: float = 0.0) -> Margin | None:
    """The logarithm of what lies above ``origin``; None where some of it does not.

    >>> import numpy as np
    >>> margin = log_margin(np.geomspace(1.0, 100.0, 40))
    >>> margin.back(margin.into(np.array([5.0]))).round(6), log_margin(np.arange(40.0))
    (array([5.]), None)
    """
    seen = column[~np.isnan(column)]
    if len(seen) < LOOK.fewest or seen.min() <= origin:
        return None
    logs = np.log(seen - origin)
    if logs.min() == logs.max() or seen.min() == seen.max():  # their deviations may be rounding
        return None
    scale = float(seen.std() / logs.std())
    return Margin("log", float(seen.mean() - scale * logs.mean()), scale, origin)


def score_margin(column: Array) -> Margin | None:
    """Normal scores of the values; beyond them the Gaussian goes on with the slope of the outermost ones.

    A value that stands c times has the scores of c ranks: a step on the way back. So zeros of a count come back as zeros, and
    rounded numbers as rounded ones.

    >>> import numpy as np
    >>> margin = score_margin(np.r_[np.zeros(50), np.arange(1.0, 51.0)])
    >>> float(margin.back(margin.into(np.array([0.0]))).item()), bool(margin.back(np.array([-1e3])) == 0)
    (0.0, True)
    """
    seen = column[~np.isnan(column)]
    values, counts = np.unique(seen, return_counts=True)
    if len(seen) < LOOK.fewest or len(values) < 3:
        return None
    ends = np.cumsum(counts)
    if len(values) > LOOK.rows:
        kept = np.unique(np.linspace(0, len(values) - 1, LOOK.rows).astype(int))
        values, counts, ends = values[kept], counts[kept], ends[kept]
    n = len(seen)
    first, last = ndtri((ends - counts + 0.5) / n), ndtri((ends - 0.5) / n)
    middle = ndtri((ends - counts / 2) / n)
    scale = float(seen.std() / np.interp(seen, values, middle).std())
    shift = float(seen.mean() - scale * np.interp(seen, values, middle).mean())
    scores = shift + scale * np.column_stack([first, last]).ravel()
    twice = np.repeat(values, 2)
    outermost = max(1, round(np.sqrt(n)))
    sorted_scores, sorted_values = shift + scale * ndtri((np.arange(n) + 0.5) / n), np.sort(seen)
    slopes = [
        (sorted_values[b] - sorted_values[a]) / (sorted_scores[b] - sorted_scores[a])
        for a, b in ((0, outermost), (n - 1 - outermost, n - 1))
    ]
    return Margin(
        "scores",
        inner=np.stack([values, shift + scale * middle]),
        knots=np.stack([scores, twice]),
        slopes=np.array(slopes),
    )


@dataclass(frozen=True)
class Margins:
    """One map per column, and what each column may hold."""

    columns: Annotated[tuple[Margin, ...], "filled"]
    low: Array
    high: Array

    @property
    def own(self) -> list[int]:
        """The columns whose map is not the line."""
        return [j for j, margin in enumerate(self.columns) if margin.kind != "identity"]

    def into(self, X: Array) -> Array:
        """Rows as the model is told of them."""
        return self._mapped(X, [margin.into for margin in self.columns])

    def back(self, Y: Array) -> Array:
        """Rows as they are, each column within what it may hold where its map is not the line."""
        found = self._mapped(Y, [margin.back for margin in self.columns])
        for j in self.own:
            found[..., j] = np.clip(found[..., j], self.low[j], self.high[j])
        return found

    def moments(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Mean and deviation of every cell whose image is normal."""
        if not self.own:
            return mean, std
        mean, std = mean.copy(), std.copy()
        for j in self.own:
            mean[:, j], std[:, j] = self.columns[j].moments(mean[:, j], std[:, j], self.low[j], self.high[j])
        return mean, std

    def _mapped(self, X: Array, maps: Sequence[Any]) -> Array:
        own = self.own
        if not own:
            return X
        found = np.array(X, dtype=np.float64)
        for j in own:
            found[..., j] = maps[j](found[..., j])
        return found
