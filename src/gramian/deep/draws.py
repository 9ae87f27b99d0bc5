"""Which rows are held out of training: drawn by what they show, never by where they stand [13]."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian._content import cell_uniforms, row_hashes


def hashes_of_views(views: list[Array], seen: Array) -> Array:
    """The hash of a row over all views; a view that it does not show adds nothing."""
    start, total = 0, np.zeros(len(seen), dtype=np.uint64)
    for v, view in enumerate(views):
        total += np.where(seen[:, v], row_hashes(view, start), np.uint64(v + 1))
        start += view.shape[1]
    return total


def held_out_rows(hashes: Array, fraction: float, min_rows: int = 5) -> Array:
    """Positions of the held-out rows: a share of the distinct rows, with all their copies, drawn by content; none of fewer than ``min_rows``."""
    distinct, inverse = np.unique(hashes, return_inverse=True)
    if len(distinct) < min_rows:
        return np.empty(0, dtype=np.intp)
    uniforms = cell_uniforms(distinct, 1, 16)[:, 0]
    chosen = np.zeros(len(distinct), dtype=bool)
    chosen[np.argsort(uniforms, kind="stable")[: max(1, round(fraction * len(distinct)))]] = True
    return np.flatnonzero(chosen[inverse])
