"""How far new rows lie off a principal subspace, where few rows were fitted: measured on rows that were held out [2, 10].

The rows that were fitted lie too near: their axes were turned towards them. Theory corrects for that while the chosen components are real; where
some of them only follow noise it does not, and only held-out rows tell.
"""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian._threads import single_blas_thread
from gramian.evidence.held_out import HeldOut, Part
from gramian.policy import LOOK

FEW_ROWS = 100
"""From this many rows on the correction of theory is enough."""


def held_out_distance(X: Array, weights: Array, n_components: int, center: bool = True) -> float | None:
    """Mean squared distance of held-out rows to the subspace of the others; None where nothing can be held out.

    ``X`` is complete. A fold that leaves no more rows than components says nothing, and is left out.
    """
    held_out = HeldOut.of(X, 2 * LOOK.folds, weights=weights)
    if X.shape[0] < X.shape[1]:  # the rows in coordinates of their own span: no distance changes
        X = np.asarray(np.linalg.qr((X - X[0] if center else X).T, mode="r")).T

    def distances(part: Part) -> Array:
        if len(part.kept) <= n_components + 1:
            return np.zeros((2, 0))
        share = weights[part.kept] / weights[part.kept].sum()
        mean = share @ X[part.kept] if center else np.zeros(X.shape[1])
        axes = _leading_axes((X[part.kept] - mean) * np.sqrt(share)[:, None], n_components)
        centred = X[part.held] - mean
        found = (centred**2).sum(axis=1) - ((centred @ axes) ** 2).sum(axis=1)
        return np.array([np.maximum(found, 0.0), weights[part.held]])

    with single_blas_thread():
        found, counted = np.hstack([np.zeros((2, 0)), *held_out.each(distances)])
    return float(found @ counted / counted.sum()) if counted.sum() > 0 else None


def _leading_axes(rows: Array, count: int) -> Array:
    """The leading right singular vectors, as columns."""
    return np.linalg.svd(rows, full_matrices=False)[2][:count].T
