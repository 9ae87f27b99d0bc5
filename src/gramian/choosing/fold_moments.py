"""The moments of the rows of each fold, of a table or a stream; folds by content, so batches never matter [10, 13]."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian._content import RANKED_ROWS, ContentFolds, DistinctHashes, row_hashes
from gramian.operators.moments import Moments

N_FOLDS = 5
"""Folds of the held-out choices, where nothing else is said."""


@dataclass(frozen=True)
class FoldMoments:
    """One `Moments` per fold of all rows so far, and how many distinct rows there are.

    Up to `RANKED_ROWS` distinct rows, folds are dealt by rank, which only the last row settles: until then rows wait in ``kept``.
    """

    n_folds: int = N_FOLDS
    distinct: Array = field(default_factory=lambda: np.empty(0, dtype=np.uint64))  # at most RANKED_ROWS + 1 hashes
    kept: list[tuple[Any, Array]] = field(default_factory=list)  # (rows, weights) not yet summed
    parts: list[Moments | None] = field(default_factory=list)

    def add(self, X: Any, weights: Array) -> FoldMoments:
        """With the rows of one batch, all of positive weight."""
        hashes = row_hashes(X)
        distinct = (DistinctHashes(self.distinct) + DistinctHashes.of(hashes)).hashes
        waiting = replace(self, distinct=distinct, kept=[*self.kept, (X, weights)])
        return waiting if len(distinct) <= RANKED_ROWS else waiting._summed()

    @property
    def folds(self) -> ContentFolds:
        return ContentFolds.of(DistinctHashes(self.distinct), self.n_folds)

    def _summed(self) -> FoldMoments:
        folds = self.folds
        parts = list(self.parts) or [None] * max(folds.n_folds, 1)
        for X, weights in self.kept:
            fold = folds.assign(row_hashes(X)) if folds else np.zeros(len(weights), dtype=np.intp)
            for f in range(len(parts)):
                rows = np.flatnonzero(fold == f)
                if rows.size:
                    uniform = bool((weights[rows] == 1).all())
                    found = Moments.of(_taken(X, rows, len(fold)), None if uniform else weights[rows])
                    before = parts[f]
                    parts[f] = found if before is None else before.merge(found)
        return replace(self, kept=[], parts=parts)

    def moments(self) -> list[Moments]:
        """Those of each fold; a single one where nothing can be held out."""
        return [part for part in self._summed().parts if part is not None]


def _taken(X: Any, rows: Array, n_rows: int) -> Any:
    if len(rows) == n_rows:
        return X
    return X.tocsr()[rows] if sparse.issparse(X) else X[rows]
