"""How good answers are beside the truth: for rows that were held out, and for rows whose truth is in the table.

Tallies are sums over pieces of rows: a file that does not fit leaves nothing of its length behind.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from gramian._arrays import Array

CELLS = 4096
"""So many numbers are known exactly, more of them by neighbours together."""


class Digest:
    """Numbers in cells of neighbours, each with its count and its sum.

    Sums of |x - c| and of max(x, c) may be asked for any c afterwards: exact but for the few cells on both sides of c.

    Examples
    --------
    >>> digest = Digest()
    >>> digest.add(np.array([1.0, 2.0])), digest.add(np.array([6.0]))
    (None, None)
    >>> digest.distance(3.0), digest.at_least(2.0)
    (6.0, 10.0)
    """

    def __init__(self) -> None:
        self.counts, self.sums = np.empty(0), np.empty(0)

    def add(self, numbers: Array) -> None:
        """More numbers, in any order."""
        counts = np.concatenate([self.counts, np.ones(len(numbers))])
        sums = np.concatenate([self.sums, numbers])
        if len(counts) > CELLS:
            order = np.argsort(sums / counts, kind="stable")
            counts, sums = counts[order], sums[order]
            cell = ((np.cumsum(counts) - counts / 2) * (CELLS / counts.sum())).astype(np.intp)
            counts, sums = np.bincount(cell, counts), np.bincount(cell, sums)
            counts, sums = counts[counts > 0], sums[counts > 0]
        self.counts, self.sums = counts, sums

    def distance(self, center: float) -> float:
        """Σ |x - c|."""
        return float(np.abs(self.sums - self.counts * center).sum())

    def at_least(self, least: float) -> float:
        """Σ max(x, c)."""
        return float(np.maximum(self.sums, self.counts * least).sum())


Facts = dict[str, float]
MOST_GROUPS = 10_000
"""A column of more values than this, of all clusters together, has no groups to compare clusters with."""


def share_inside(level: float) -> str:
    """The name of a coverage: what share of the truth lies inside its intervals."""
    return f"share inside {100 * level:g} % intervals"


def class_sets(chances: Array, level: float) -> Array:
    """Which classes are in the smallest set of probability ``level``, one row per row.

    Examples
    --------
    >>> class_sets(np.array([[0.7, 0.25, 0.05]]), 0.9).tolist()
    [[True, True, False]]
    """
    order = np.argsort(-chances, axis=1, kind="stable")
    before = np.cumsum(np.take_along_axis(chances, order, axis=1), axis=1)
    before = np.concatenate([np.zeros((len(chances), 1)), before[:, :-1]], axis=1)
    inside = np.empty(chances.shape, dtype=bool)
    np.put_along_axis(inside, order, before < level - 1e-12, axis=1)
    return inside


class ValueTally:
    """Numbers beside their truth: R2, the mean absolute error beside that of the plain mean, and the coverage of intervals.

    What is missing does not count.
    """

    def __init__(self, level: float) -> None:
        self.level = level
        self.n = self.mean = self.spread = self.errors = self.squares = self.inside = 0.0
        self.truth = Digest()

    def add(self, truth: Array, mean: Array, lower: Array, upper: Array) -> None:
        """A piece."""
        known = ~np.isnan(truth)
        if not known.any():
            return
        truth, mean, lower, upper = truth[known], mean[known], lower[known], upper[known]
        here, center = float(len(truth)), float(truth.mean())
        gap, n = center - self.mean, self.n + here
        self.spread += float(np.sum((truth - center) ** 2)) + gap**2 * self.n * here / n  # Chan's update
        self.mean, self.n = self.mean + gap * here / n, n
        self.errors += float(np.abs(truth - mean).sum())
        self.squares += float(np.sum((truth - mean) ** 2))
        self.inside += float(np.sum((lower <= truth) & (truth <= upper)))
        self.truth.add(truth)

    @property
    def facts(self) -> Facts:
        """The comparison; nothing of fewer than two numbers."""
        if self.n < 2:
            return {}
        return {
            "R2": 1 - self.squares / self.spread if self.spread > 0 else float("nan"),
            "mean error": self.errors / self.n,
            "mean error of the plain mean": self.truth.distance(self.mean) / self.n,
            share_inside(self.level): self.inside / self.n,
        }


class ClassTally:
    """Probabilities of classes beside the true ones: accuracy, log-loss, and how often the smallest sets hold the truth."""

    def __init__(self, labels: Array, level: float) -> None:
        self.labels, self.level = labels, level
        self.n = 0
        self.right = self.inside = self.logs = 0.0
        self.low = Digest()
        self.counts: Counter[str] = Counter()

    def add(self, truth: Array, chances: Array) -> None:
        """A piece: the names of the true classes, and the probabilities (n, C)."""
        hit = self.labels[None, :] == truth[:, None]
        logs = np.log(np.maximum((chances * hit).sum(axis=1), np.finfo(float).tiny))
        self.n += len(truth)
        low = logs < self.least
        self.low.add(logs[low])
        self.logs += float(logs[~low].sum())
        self.right += float(np.sum(self.labels[chances.argmax(axis=1)] == truth))
        self.inside += float((class_sets(chances, self.level) & hit).any(axis=1).sum())
        self.counts.update(truth.tolist())

    @property
    def least(self) -> float:
        """The logarithm of the least probability that counts, a tenth of a row: it falls as rows come in, and what was above stays so."""
        return float(-np.log(10 * self.n))

    @property
    def facts(self) -> Facts:
        """The comparison; nothing without rows."""
        if not self.n:
            return {}
        return {
            "accuracy": self.right / self.n,
            "accuracy of the commonest class": max(self.counts.values()) / self.n,
            "log-loss": -(self.logs + self.low.at_least(self.least)) / self.n,
            f"share inside {100 * self.level:g} % sets": self.inside / self.n,
        }


class GroupTally:
    """How clusters and the values of a column go together: the adjusted Rand index."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[str, str]] = Counter()

    def add(self, labels: Any, column: Array) -> None:
        """A piece; what is missing does not count."""
        if len(self.pairs) <= MOST_GROUPS:
            both = zip(np.asarray(labels).tolist(), column.tolist())
            self.pairs.update((str(label), str(value)) for label, value in both if not _is_missing(value))

    @property
    def agreement(self) -> float | None:
        """1 where they are the same groups, 0 by chance; None where the column has too many values to be groups."""
        if len(self.pairs) > MOST_GROUPS:
            return None
        sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        for pair, count in self.pairs.items():
            for side, name in zip(sides, pair):
                side[name] += count
        n = sum(self.pairs.values())
        both = sum(count**2 for count in self.pairs.values()) - n  # ordered pairs of rows, together in both
        first, second = (sum(count**2 for count in side.values()) - n for side in sides)
        every = n * (n - 1)
        if both == first == second:
            return 1.0
        chance = first * second / every
        return (both - chance) / ((first + second) / 2 - chance)


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def of_values(truth: Array, mean: Array, lower: Array, upper: Array, level: float) -> Facts:
    """R2, the mean absolute error beside that of the plain mean, and the coverage, of rows at once.

    Examples
    --------
    >>> truth = np.arange(4.0)
    >>> of_values(truth, truth + 0.5, truth - 1, truth + 1, 0.9)["R2"]
    0.8
    """
    tally = ValueTally(level)
    tally.add(truth, mean, lower, upper)
    return tally.facts


def of_classes(truth: Array, labels: Array, chances: Array, level: float) -> Facts:
    """Accuracy beside that of the commonest class, log-loss, and how often the smallest sets of classes hold the truth.

    Examples
    --------
    >>> labels, chances = np.array(["u", "v"]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> round(of_classes(np.array(["u", "v", "v"]), labels, chances, 0.9)["accuracy"], 3)
    0.667
    """
    tally = ClassTally(labels, level)
    tally.add(truth, chances)
    return tally.facts


def agreement(labels: Any, column: Array) -> float | None:
    """The adjusted Rand index of clusters and the values of a column, of rows at once."""
    tally = GroupTally()
    tally.add(labels, column)
    return tally.agreement
