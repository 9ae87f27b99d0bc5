"""What is drawn from rows by content, and sums per fold: the same whatever the blocks, their order and where they are [13]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gramian._arrays import Array, has_nan
from gramian._content import DistinctHashes, Folds, SmallestRows, merged_copies, row_hashes
from gramian.operators.moments import Moments
from gramian.policy import SIZES
from gramian.rows.array import ArrayRows, prepared_bytes
from gramian.rows.base import Block, Rows


def dealt_folds(rows: Rows, n_folds: int) -> Folds:
    """The folds of all rows of positive weight: one pass."""
    return Folds.of(rows.fold(_distinct), n_folds)


def smallest_rows(rows: Rows, limit: int) -> SmallestRows:
    """The at most ``limit`` distinct rows of smallest hash, with the weight of all their copies: one pass."""
    return rows.fold(_smallest, limit)


def rows_if_few(rows: Rows, limit: int) -> tuple[Array, Array] | None:
    """All rows of positive weight and their weights, where there are at most ``limit``; else None: one pass."""
    found = rows.fold(gather_block, limit)
    return None if found.X is None else (found.X, found.weights)


@dataclass(frozen=True)
class GatheredRows:
    """All rows, as long as there are at most ``limit``; merges with ``+``."""

    limit: int
    X: Array | None
    weights: Array

    def __add__(self, other: GatheredRows) -> GatheredRows:
        if self.X is None or other.X is None or len(self.X) + len(other.X) > self.limit:
            return GatheredRows(self.limit, None, np.empty(0))
        return GatheredRows(
            self.limit, np.concatenate([self.X, other.X]), np.concatenate([self.weights, other.weights])
        )


def gather_block(block: Block, limit: int) -> GatheredRows:
    kept = block.weights > 0
    if np.count_nonzero(kept) > limit:
        return GatheredRows(limit, None, np.empty(0))
    return GatheredRows(limit, np.array(block.X[kept]), np.asarray(block.weights[kept]))


def merged_rows(rows: Rows) -> Rows:
    """Rows in memory with holes: equal ones as one with the weight of all, in an order that follows from what they hold. Others as they are.

    Where an EM ends hangs on the last digit of its sums: so these are the same to the bit for any order of the rows, and for copies and weights.
    """
    if (
        not isinstance(rows, ArrayRows)
        or rows.target is not None
        or rows.preparation
        or prepared_bytes(rows.X.size) > SIZES.kept
        or not has_nan(rows.X)
    ):
        return rows
    first, weights, _ = merged_copies(rows.X, rows.weights)
    return replace(rows, X=rows.X[first], weights=weights)


def exact_rows(rows: Rows, limit: int) -> Array:
    """At most ``limit`` distinct rows, told apart by every digit, where hashes see those of a float32: one pass."""
    return rows.fold(_exact, limit).rows


@dataclass(frozen=True)
class ExactRows:
    """The first of the distinct rows in their order; merges with ``+``."""

    limit: int
    rows: Array

    def __add__(self, other: ExactRows) -> ExactRows:
        return ExactRows(self.limit, np.unique(np.concatenate([self.rows, other.rows]), axis=0)[: self.limit])


def _exact(block: Block, limit: int) -> ExactRows:
    shown = (block.weights > 0) & ~np.isnan(block.X).all(axis=1)
    return ExactRows(limit, np.unique(block.X[shown], axis=0)[:limit])


def _distinct(block: Block) -> DistinctHashes:
    return DistinctHashes.of(row_hashes(block.X[block.weights > 0]))


def _smallest(block: Block, limit: int) -> SmallestRows:
    return SmallestRows.of(block.X, block.weights, limit)


def block_moments(block: Block) -> Moments:
    """The moments of a block's rows: a task for `Rows.fold`."""
    return Moments.of(block.X, block.weights)


@dataclass(frozen=True)
class FoldMoments:
    """The moments of each fold; None where a fold has no rows yet."""

    parts: tuple[Moments | None, ...]

    def __add__(self, other: FoldMoments) -> FoldMoments:
        return FoldMoments(tuple(_merge(a, b) for a, b in zip(self.parts, other.parts)))

    @property
    def total(self) -> Moments:
        """The moments of all rows."""
        return self._without(None)

    def without(self, fold: int) -> Moments:
        """The moments of all rows but those of a fold: merged, not subtracted, so that no digits are lost."""
        return self._without(fold)

    def _without(self, fold: int | None) -> Moments:
        merged: Moments | None = None
        for index, part in enumerate(self.parts):
            merged = merged if index == fold else _merge(merged, part)
        if merged is None:
            raise ValueError("No rows are left outside the fold.")
        return merged


def _merge(first: Moments | None, second: Moments | None) -> Moments | None:
    return second if first is None else first if second is None else first.merge(second)


def fold_moments(block: Block, folds: Folds, hashes: Array | None = None) -> FoldMoments:
    """The moments of a block's rows, fold by fold: a task for `Rows.fold`. ``hashes`` of its rows, where they are known."""
    hashes = row_hashes(block.X) if hashes is None else hashes
    seen = block.weights > 0
    X, weights = (block.X, block.weights) if seen.all() else (block.X[seen], block.weights[seen])
    fold = folds.assign(hashes if seen.all() else hashes[seen])
    parts = []
    for index in range(folds.n_folds):
        mine = fold == index
        parts.append(Moments.of(X[mine], weights[mine]) if mine.any() else None)
    return FoldMoments(tuple(parts))
