"""q of a complete table by held-out rows: from fold moments where it is tall, from one Gram matrix where it is wide [10]."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian._content import content_folds, row_hashes, smallest_positions
from gramian.choosing.dimension import choose_by_gram, choose_by_moments, merged
from gramian.choosing.fold_moments import N_FOLDS, FoldMoments
from gramian.choosing.selection import Selection
from gramian.latent.sample import STORED_LIMIT, MomentSample, TableSample, moment_sample
from gramian.operators.moments import Moments

GRAM_ROWS = 2000
"""Wide tables choose on at most so many distinct rows, those of smallest hash."""


def fold_sample(X: Any, weights: Array, center: bool) -> tuple[MomentSample | TableSample, FoldMoments | None]:
    """The sample of a table with the moments of its folds beside it; those are None where the table is wide."""
    n, d = X.shape
    if d <= n and d <= STORED_LIMIT:
        folds = FoldMoments().add(X, weights)
        return moment_sample(merged(folds.moments()), X, center), folds
    return TableSample(X, weights / weights.sum(), center), None


def choose_by_folds(folds: FoldMoments, sample: MomentSample, smallest: int = 1) -> Selection | None:
    """From the moments of each fold; None where nothing can be held out."""
    parts: list[Moments] = folds.moments()
    if not folds.folds:
        return None
    return choose_by_moments(
        parts,
        len(folds.distinct),
        sample.center,
        smallest=smallest,
        rank_tol=sample.rank_tol,
        rank_floor=sample.rank_floor,
    )


def choose_wide(X: Any, weights: Array, center: bool, smallest: int = 1) -> Selection | None:
    """From the folds of one Gram matrix; None where nothing can be held out."""
    rows = smallest_positions(row_hashes(X), GRAM_ROWS) if X.shape[0] > GRAM_ROWS else np.arange(X.shape[0])
    X, weights = (X.tocsr()[rows] if sparse.issparse(X) else X[rows]), weights[rows]
    hashes = row_hashes(X)
    folds, fold = content_folds(X, N_FOLDS, hashes)
    if not folds:
        return None
    if sparse.issparse(X):
        gram = (X @ X.T).toarray().astype(np.float64)
    else:
        shares = weights / weights.sum()
        dense = X.astype(np.float64)
        dense -= shares @ dense if center else 0.0
        gram = dense @ dense.T
    return choose_by_gram(gram, weights, fold, X.shape[1], len(np.unique(hashes)), center, smallest=smallest)
