"""What the columns of rows show at their ends, found in one pass: enough to see codes, bounds and whole numbers, wherever the rows are [13]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian.rows.base import Block, Rows

AT_EACH_END = 3
"""Distinct values that are kept at each end of a column."""


@dataclass(frozen=True)
class ColumnEnds:
    """Of each column its smallest and largest values with their counts, one value that is not whole (NaN: none), and whether cells are missing.

    Merges with ``+``.
    """

    values: tuple[Array, ...]  # rising
    counts: tuple[Array, ...]
    fractions: Array  # (d,)
    holes: Array  # (d,)

    @classmethod
    def of(cls, block: Block) -> ColumnEnds:
        """The ends of one block; rows of zero weight are not there."""
        X = np.asarray(block.X[block.weights > 0], dtype=np.float64)
        values, counts = [], []
        fractions = np.full(X.shape[1], np.nan)
        for j, column in enumerate(X.T):
            found, count = np.unique(column[~np.isnan(column)], return_counts=True)
            broken = found[found != np.round(found)]
            fractions[j] = broken[0] if broken.size else np.nan
            kept = _ends(len(found))
            values.append(found[kept])
            counts.append(count[kept])
        return cls(tuple(values), tuple(counts), fractions, np.asarray(np.isnan(X).any(axis=0)))

    def __add__(self, other: ColumnEnds) -> ColumnEnds:
        values, counts = [], []
        for j, pair in enumerate(zip(self.values, other.values)):
            found, place = np.unique(np.concatenate(pair), return_inverse=True)
            count = np.bincount(place, np.concatenate([self.counts[j], other.counts[j]]), minlength=len(found))
            kept = _ends(len(found))
            values.append(found[kept])
            counts.append(count[kept].astype(int))
        fractions = np.where(np.isnan(self.fractions), other.fractions, self.fractions)
        return ColumnEnds(tuple(values), tuple(counts), fractions, self.holes | other.holes)

    @property
    def finite(self) -> bool:
        """Whether no cell is infinite."""
        return all(np.isfinite(values).all() for values in self.values)

    def table(self) -> Array:
        """A few rows that show what the columns show: their range, a value that is not whole, a hole; NaN where a column shows nothing."""
        out = np.full((2 * AT_EACH_END + 2, len(self.values)), np.nan)
        for j, values in enumerate(self.values):
            if values.size:
                out[:, j] = values[0]
                out[: len(values), j] = values
                out[-2, j] = self.fractions[j] if np.isfinite(self.fractions[j]) else values[0]
                out[-1, j] = np.nan if self.holes[j] else values[0]
        return out

    def beside(self, drawn: Array) -> list[Array]:
        """The columns of some rows with the ends that these do not hold; one that repeats is there twice at least."""
        columns = []
        for column, values, counts in zip(drawn.T, self.values, self.counts):
            there = np.array([np.count_nonzero(column == value) for value in values], dtype=int)
            columns.append(np.concatenate([column, np.repeat(values, np.maximum(np.minimum(counts, 2) - there, 0))]))
        return columns


def _ends(n: int) -> Array:
    return np.unique(np.concatenate([np.arange(min(AT_EACH_END, n)), np.arange(max(n - AT_EACH_END, 0), n)]))


def column_ends(rows: Rows) -> ColumnEnds:
    """The ends of the columns of all rows: one pass.

    >>> import numpy as np
    >>> from gramian.rows import as_rows
    >>> found = column_ends(as_rows(np.arange(20.0).reshape(10, 2)))
    >>> found.values[0].tolist(), bool(found.holes.any())
    ([0.0, 2.0, 4.0, 14.0, 16.0, 18.0], False)
    """
    return rows.fold(ColumnEnds.of)
