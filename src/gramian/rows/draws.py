"""What is drawn from rows by content, and sums per fold: the same whatever the blocks, their order and where they are [13]."""

from __future__ import annotations

from dataclasses import dataclass

from gramian._arrays import Array
from gramian._content import ContentFolds, DistinctHashes, GivenFolds, SmallestRows, row_hashes
from gramian.operators.moments import Moments
from gramian.rows.base import Block, Rows


def dealt_folds(rows: Rows, n_folds: int) -> ContentFolds:
    """The folds of all rows of positive weight: one pass."""
    return ContentFolds.of(rows.fold(_distinct), n_folds)


def smallest_rows(rows: Rows, limit: int) -> SmallestRows:
    """The at most ``limit`` distinct rows of smallest hash, with the weight of all their copies: one pass."""
    return rows.fold(_smallest, limit)


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
        return FoldMoments(tuple(_merged(a, b) for a, b in zip(self.parts, other.parts)))

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
            merged = merged if index == fold else _merged(merged, part)
        if merged is None:
            raise ValueError("No rows are left outside the fold.")
        return merged


def _merged(first: Moments | None, second: Moments | None) -> Moments | None:
    return second if first is None else first if second is None else first.merge(second)


def fold_moments(block: Block, folds: ContentFolds | GivenFolds, hashes: Array | None = None) -> FoldMoments:
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
