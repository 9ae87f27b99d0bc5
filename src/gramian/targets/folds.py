"""Folds of rows: which rows a model of the cross-validation has not seen [10, 13]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian._content import GivenFolds, content_folds, row_hashes
from gramian._types import Points

FEWEST_ROWS = 10
"""Below so many distinct rows nothing is held out."""


@dataclass(frozen=True)
class Folds:
    """A fold for every row, and how many distinct rows each fold has: repeated rows count once, as weights do."""

    numbers: Array  # (n,)
    distinct: Array  # one per fold

    @property
    def usable(self) -> bool:
        return len(self.distinct) > 1 and int(self.distinct.sum()) >= FEWEST_ROWS

    @property
    def fewest_kept(self) -> int:
        """The distinct rows left when the largest fold is held out."""
        return int(self.distinct.sum() - self.distinct.max())

    @property
    def kept_share(self) -> float:
        """The share of the rows that a model of the cross-validation sees."""
        return 1.0 - 1.0 / len(self.distinct)


def dealt_folds(X: Points, n_folds: int | GivenFolds, hashes: Array | None = None) -> Folds:
    """Folds of the rows of X (or of their hashes) by content: equal rows are in one, and neither order nor repetition matters [13]."""
    hashes = row_hashes(X) if hashes is None else hashes
    folds, numbers = content_folds(X, n_folds, hashes)
    first = np.unique(hashes, return_index=True)[1]
    return Folds(numbers, np.bincount(numbers[first], minlength=max(folds.n_folds, 1)))


def block_folds(n_rows: int, n_folds: int) -> Folds:
    """Consecutive blocks of rows, for series."""
    numbers = np.arange(n_rows) * min(n_folds, n_rows) // max(n_rows, 1)
    return Folds(numbers, np.bincount(numbers))
