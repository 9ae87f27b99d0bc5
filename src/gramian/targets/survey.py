"""What one pass over inputs and targets tells: how they spread, which rows are drawn by content, and how folds are dealt [10, 13]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import DistinctHashes, Folds, row_hashes
from gramian.evidence.held_out import HeldOut
from gramian.latent.units import FARTHEST, ColumnSpread, column_spread
from gramian.policy import LOOK
from gramian.rows import Block
from gramian.targets.squash import Squash


@dataclass(frozen=True)
class TargetCoding:
    """The target as a matrix: numbers as they are, or one column per class."""

    classes: Array | None = None

    def __call__(self, target: Any) -> Array:
        """(n, m)."""
        if self.classes is not None:
            return np.asarray(np.eye(len(self.classes))[np.searchsorted(self.classes, np.asarray(target))])
        values = np.asarray(target, dtype=np.float64)
        return values[:, None] if values.ndim == 1 else values


@dataclass(frozen=True)
class InputReading:
    """Inputs as the model sees them: far values drawn in, then columns in units; None leaves that out."""

    squash: Squash | None = None
    shift: Array | None = None
    scale: Any = None

    def __call__(self, X: Any) -> Array:
        X = np.asarray(X, dtype=np.float64)
        if self.squash is not None:
            X = self.squash(X)
        if self.shift is None:
            return X
        with np.errstate(over="ignore"):
            return np.asarray(np.clip((X - self.shift) / self.scale, -FARTHEST, FARTHEST))


@dataclass(frozen=True)
class DrawnPairs:
    """The at most ``limit`` distinct pairs of inputs and target of smallest hash (of the inputs, then of the target).

    ``weights`` is the total raw weight of all copies of a pair. Merges with ``+``.
    """

    limit: int
    hashes: Array  # of the inputs, rising
    ties: Array  # hashes of the target
    X: Array
    Y: Array
    weights: Array

    @classmethod
    def of(cls, X: Array, Y: Array, weights: Array, limit: int, hashes: Array) -> DrawnPairs:
        """The draw from one block, as far as ``limit`` goes."""
        return cls(limit, hashes, row_hashes(Y), X, Y, weights)._cut()

    def __add__(self, other: DrawnPairs) -> DrawnPairs:
        if len(self.hashes) == self.limit:
            other = other._take(np.flatnonzero(other.hashes <= self.hashes[-1]))
        if not len(other.hashes):
            return self
        pairs = zip(self._columns(), other._columns())
        return DrawnPairs(self.limit, *(np.concatenate(pair) for pair in pairs))._cut()

    @property
    def first(self) -> Array:
        """Positions of the first pair of each distinct row of inputs, by rising hash."""
        return np.unique(self.hashes, return_index=True)[1]

    def of_rows(self, limit: int) -> DrawnPairs:
        """The pairs of the ``limit`` distinct inputs of smallest hash."""
        first = self.first
        return self if len(first) <= limit else self._take(np.arange(first[limit]))

    def _columns(self) -> tuple[Array, ...]:
        return self.hashes, self.ties, self.X, self.Y, self.weights

    def _take(self, rows: Array) -> DrawnPairs:
        return DrawnPairs(self.limit, *(column[rows] for column in self._columns()))

    def _cut(self) -> DrawnPairs:
        """Sorted, copies merged, no more than the limit."""
        order = np.lexsort((self.ties, self.hashes))
        hashes, ties = self.hashes[order], self.ties[order]
        new = np.append(True, (hashes[1:] != hashes[:-1]) | (ties[1:] != ties[:-1]))
        totals = np.bincount(np.cumsum(new) - 1, self.weights[order])
        first = order[new][: self.limit]
        kept = self._take(first)
        return DrawnPairs(self.limit, kept.hashes, kept.ties, kept.X, kept.Y, totals[: self.limit])


@dataclass(frozen=True)
class TargetSurvey:
    """How inputs and target spread, the drawn pairs, and the distinct rows as far as folds must know them."""

    n_rows: int
    total_weight: float
    target_ndim: int
    inputs: ColumnSpread
    target: ColumnSpread
    low: Array  # of inputs and target side by side
    high: Array
    distinct: DistinctHashes
    drawn: DrawnPairs

    def __add__(self, other: TargetSurvey) -> TargetSurvey:
        if (self.target_ndim, self.drawn.Y.shape[1]) != (other.target_ndim, other.drawn.Y.shape[1]):
            raise ValueError(
                f"y has {other.drawn.Y.shape[1]} columns in one block of rows, but {self.drawn.Y.shape[1]} in another. Give the "
                "same targets for all rows."
            )
        return TargetSurvey(
            self.n_rows + other.n_rows,
            self.total_weight + other.total_weight,
            self.target_ndim,
            self.inputs + other.inputs,
            self.target + other.target,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.distinct + other.distinct,
            self.drawn + other.drawn,
        )

    @property
    def target_range(self) -> tuple[Array, Array]:
        """The least and the greatest value of each column of the target."""
        d = self.drawn.X.shape[1]
        return self.low[d:], self.high[d:]

    @property
    def input_range(self) -> tuple[Array, Array]:
        """The least and the greatest value of each input."""
        d = self.drawn.X.shape[1]
        return self.low[:d], self.high[:d]

    def folds(self, n_folds: int | Folds) -> tuple[Folds, HeldOut]:
        """Which fold a row is in by its hash, and the folds of the drawn pairs."""
        content = n_folds if isinstance(n_folds, Folds) else Folds.of(self.distinct, n_folds)
        counts = np.bincount(content.assign(self.distinct.hashes), minlength=max(content.n_folds, 1))
        return content, HeldOut(content.assign(self.drawn.hashes), counts, self.drawn.weights)


def survey_target(block: Block, coding: TargetCoding) -> TargetSurvey:
    """The survey of a block: a task for `Rows.fold`."""
    X, Y = np.asarray(block.X), checked_target(block, coding)
    hashes = row_hashes(X)
    both = np.hstack([X, Y])
    return TargetSurvey(
        len(block),
        float(block.weights.sum()),
        np.asarray(block.target).ndim if coding.classes is None else 1,
        column_spread(block),
        column_spread(Block(Y, block.weights)),
        both.min(axis=0),
        both.max(axis=0),
        DistinctHashes.of(hashes),
        DrawnPairs.of(X, Y, block.weights, LOOK.drawn, hashes),
    )


def checked_target(block: Block, coding: TargetCoding) -> Array:
    """The target of a block as a matrix, finite."""
    assert block.target is not None
    Y = coding(block.target)
    if Y.ndim != 2:
        raise ValueError(f"y has {Y.ndim} dimensions. Give one number, or one row of numbers, per row of X.")
    if not np.isfinite(Y).all():
        raise ValueError("Input y contains NaN or infinity. Leave out rows whose target is not known.")
    return Y


@dataclass(frozen=True)
class ClassLabels:
    """The distinct labels met; merges with ``+``."""

    labels: Array

    def __add__(self, other: ClassLabels) -> ClassLabels:
        return ClassLabels(np.unique(np.concatenate([self.labels, other.labels])))


def class_labels(block: Block) -> ClassLabels:
    """The labels of a block: a task for `Rows.fold`."""
    return ClassLabels(np.unique(np.ravel(np.asarray(block.target))))
