"""q of a complete table by held-out rows: from fold moments where it is tall, from one Gram matrix where it is wide [10]."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian._checks import check_scale
from gramian._content import DistinctHashes, Folds, SmallestRows, row_hashes, smallest_positions
from gramian._precision import ROUNDING
from gramian.evidence.dimension import GramFamily, JudgedMoments, MomentFamily, choose_by_gram, choose_by_moments
from gramian.evidence.held_out import HeldOut
from gramian.evidence.selection import Selection
from gramian.latent.sample import MomentSample, TableSample
from gramian.policy import DEFAULTS, LOOK
from gramian.rows.base import Block
from gramian.rows.draws import fold_moments


def choose_for_moments(judged: JudgedMoments, sample: MomentSample) -> Selection:
    """From the moments of each fold, at the precision of the rows."""
    family = MomentFamily(judged, sample.center, rank_tol=sample.rank_tol, rank_floor=sample.rank_floor)
    n_rows = max(sample.n_rows, int(sample.moments.weight))  # integer weights equal repeated rows
    return choose_by_moments(family, n_rows)


def choose_for_table(sample: TableSample, weights: Array) -> Selection | None:
    """From the folds of one Gram matrix of a wide table; None where nothing can be held out. ``weights`` are raw."""
    mean = None if sparse.issparse(sample.X) else sample.mean
    return _choose_for_wide(sample.X, weights, mean, sample.center, LOOK.folds, row_hashes(sample.X))


def choose_for_detector(X: Array, n_folds: int | Folds, hashes: Array) -> Selection | None:
    """q of complete rows of which some may not belong, 0 included; the noise never falls below its floor. None where nothing can be held out."""
    check_scale(float(np.ptp(X, axis=0).max(initial=0.0)))
    weights = np.ones(len(X))
    if X.shape[1] > min(len(X), LOOK.rows):
        return _choose_for_wide(
            X, weights, X.mean(axis=0), True, n_folds, hashes, smallest=0, floor=DEFAULTS.noise_floor
        )
    judged = judged_moments(X, weights, n_folds, hashes, LOOK.rows)
    if judged is None or not X.shape[1]:
        return None
    return choose_by_moments(MomentFamily(judged, floor=DEFAULTS.noise_floor), len(X), smallest=0)


def judged_moments(X: Any, weights: Array, n_folds: int | Folds, hashes: Array, most: int) -> JudgedMoments | None:
    """The moments of the folds of a table and the at most so many rows that vote; None where nothing can be held out. ``weights`` are raw."""
    drawn = SmallestRows.of(X, weights, most, hashes)
    distinct = DistinctHashes(drawn.hashes) if len(hashes) <= most else DistinctHashes.of(hashes)
    folds = n_folds if isinstance(n_folds, Folds) else Folds.of(distinct, n_folds)
    return JudgedMoments.of(fold_moments(Block(X, weights), folds, hashes).parts, folds, drawn) if folds else None


def _choose_for_wide(
    X: Any,
    weights: Array,
    mean: Array | None,
    center: bool,
    n_folds: int | Folds,
    hashes: Array,
    *,
    smallest: int = 1,
    floor: float = ROUNDING,
) -> Selection | None:
    if X.shape[0] > LOOK.rows:
        rows = smallest_positions(hashes, LOOK.rows)
        X, weights = (X.tocsr()[rows] if sparse.issparse(X) else X[rows]), weights[rows]
        hashes = hashes[rows]
    held_out = HeldOut.of(None, n_folds, hashes=hashes, weights=weights)
    if not held_out:
        return None
    if mean is None:
        gram = (X @ X.T).toarray().astype(np.float64)
    else:
        centred = X.astype(np.float64) - mean
        check_scale(float(np.abs(centred).max(initial=0.0)))
        gram = centred @ centred.T
    n_rows = max(X.shape[0], int(weights.sum()))
    family = GramFamily(gram, weights, center, X.shape[1], floor)
    return choose_by_gram(family, held_out, n_rows, smallest=smallest)
