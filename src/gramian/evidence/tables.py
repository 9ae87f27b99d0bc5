"""q of a complete table by held-out rows: from fold moments where it is tall, from one Gram matrix where it is wide [10]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian._checks import check_scale
from gramian._content import content_folds, row_hashes, smallest_positions
from gramian.evidence.dimension import choose_by_gram, choose_by_moments
from gramian.evidence.fold_stream import N_FOLDS
from gramian.evidence.selection import Selection
from gramian.latent.sample import MomentSample, TableSample
from gramian.operators.moments import Moments

GRAM_ROWS = 2000
"""Wide tables choose on at most so many distinct rows, those of smallest hash."""


def choose_for_moments(parts: Sequence[Moments], sample: MomentSample, smallest: int = 1) -> Selection:
    """From the moments of each fold, at the precision of the rows."""
    return choose_by_moments(
        parts,
        max(sample.n_rows, int(sample.moments.weight)),  # integer weights equal repeated rows
        sample.center,
        smallest=smallest,
        rank_tol=sample.rank_tol,
        rank_floor=sample.rank_floor,
    )


def choose_for_table(sample: TableSample, weights: Array, smallest: int = 1) -> Selection | None:
    """From the folds of one Gram matrix of a wide table; None where nothing can be held out. ``weights`` are raw."""
    X: Any = sample.X
    if X.shape[0] > GRAM_ROWS:
        rows = smallest_positions(row_hashes(X), GRAM_ROWS)
        X, weights = (X.tocsr()[rows] if sparse.issparse(X) else X[rows]), weights[rows]
    folds, fold = content_folds(X, N_FOLDS)
    if not folds:
        return None
    if sparse.issparse(X):
        gram = (X @ X.T).toarray().astype(np.float64)
    else:
        centred = X.astype(np.float64) - sample.mean
        check_scale(float(np.abs(centred).max(initial=0.0)))
        gram = centred @ centred.T
    n_rows = max(X.shape[0], int(weights.sum()))
    return choose_by_gram(gram, weights, fold, X.shape[1], n_rows, sample.center, smallest=smallest)
