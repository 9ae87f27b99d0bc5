"""How far new rows lie off a principal subspace, where few rows were fitted: measured on rows that were held out [2, 10].

The rows that were fitted lie too near: their axes were turned towards them. Theory corrects for that while the chosen components are real; where
some of them only follow noise it does not, and only held-out rows tell.
"""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian._content import content_folds
from gramian._threads import single_blas_thread

FEW_ROWS = 100
"""From this many rows on the correction of theory is enough."""
LIMIT_FOLDS = 10


def held_out_distance(X: Array, weights: Array, n_components: int, center: bool = True) -> float | None:
    """Mean squared distance of held-out rows to the subspace of the others; None where nothing can be held out.

    ``X`` is complete. A fold that leaves no more rows than components says nothing, and is left out.
    """
    folds, fold = content_folds(X, LIMIT_FOLDS)
    total, seen = 0.0, 0.0
    with single_blas_thread():
        if X.shape[0] < X.shape[1]:  # the rows in coordinates of their own span: no distance changes
            X = np.asarray(np.linalg.qr((X - X[0] if center else X).T, mode="r")).T
        for held in range(folds.n_folds):
            kept, out = fold != held, fold == held
            if kept.sum() <= n_components + 1:
                continue
            share = weights[kept] / weights[kept].sum()
            mean = share @ X[kept] if center else np.zeros(X.shape[1])
            axes = _leading_axes((X[kept] - mean) * np.sqrt(share)[:, None], n_components)
            centred = X[out] - mean
            distances = (centred**2).sum(axis=1) - ((centred @ axes) ** 2).sum(axis=1)
            total += float(weights[out] @ np.maximum(distances, 0.0))
            seen += float(weights[out].sum())
    return total / seen if seen > 0 else None


def _leading_axes(rows: Array, count: int) -> Array:
    """The leading right singular vectors, as columns."""
    return np.linalg.svd(rows, full_matrices=False)[2][:count].T
