"""Length scales: their checks, and the median distance between rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian._checks import check_number
from gramian._content import row_hashes, smallest_positions
from gramian._types import Points
from gramian.kernels._rows import dense, squared_norms
from gramian.policy import LOOK

RULES = ("median", "local")


def check_length_scale(length_scale: Any, n_columns: int) -> float | Array:
    """A positive finite number, or an array with one for each column; "median" and "local" are refused here."""
    if isinstance(length_scale, str):
        if length_scale in RULES:
            raise ValueError(
                f'length_scale="{length_scale}" is settled on training rows, and this kernel has seen none. '
                "Call kernel.resolve(X) first, or give a number."
            )
        raise ValueError(
            f"length_scale={length_scale!r} is not known. Use a positive number, an array of them, 'median' or 'local'."
        )
    if np.ndim(length_scale) == 0:
        scale = length_scale.item() if isinstance(length_scale, np.ndarray) else length_scale
        return check_number("length_scale", scale, 0.0, open_low=True)
    scales = np.asarray(length_scale)
    if scales.dtype.kind not in "fiu" or scales.ndim != 1:
        raise ValueError(f"length_scale={length_scale!r} must be a positive number, a 1-D array of them, or 'median'.")
    if scales.shape[0] != n_columns:
        raise ValueError(
            f"length_scale has {scales.shape[0]} entries, but X has {n_columns} columns. Give one for each column."
        )
    scales = scales.astype(np.float64)
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise ValueError(f"length_scale={length_scale!r} must hold finite numbers above 0 only.")
    return scales


def resolved_length_scale(length_scale: Any, X: Points) -> float | Array:
    """The checked length scale, with "median" or "local" settled on the rows of X."""
    if isinstance(length_scale, str) and length_scale in RULES:
        return median_distance(X) if length_scale == "median" else local_distance(X)
    return check_length_scale(length_scale, X.shape[1])


def median_distance(X: Points) -> float:
    """The median Euclidean distance between distinct rows of X, or 1.0 when all are equal.

    Above 1000 distinct rows the 1000 of smallest hash are used: neither the order of the rows nor their repetition
    matters [13].
    """
    rows, unit = _drawn_rows(X)
    if rows.shape[0] < 2:
        return 1.0
    norms = squared_norms(rows)
    squares = np.add.outer(norms, norms) - 2.0 * dense(rows @ rows.T)
    pairs = squares[np.triu_indices(rows.shape[0], 1)]
    middle = float(
        np.median(np.sqrt(np.maximum(pairs, 0.0, out=pairs), out=pairs))
    )  # of distances: their squares have another one
    if middle**2 > 1e-4 * 2.0 * norms.max():
        return unit * middle
    distance = unit * float(np.median(_pair_distances(rows)))  # far outliers: products would have cancelled
    return distance if distance > 0 else 1.0


def local_distance(X: Points, neighbor: int = 10, factor: float = 2.0) -> float:
    """Twice (``factor``) the median distance to the 10th (``neighbor``) nearest of the other rows: a width that follows neighbours [10].

    The same rows as for the median are looked at. Fewer than 11 of them: the farthest counts.
    """
    rows, unit = _drawn_rows(X)
    if rows.shape[0] < 2:
        return 1.0
    from scipy.spatial.distance import squareform

    distances = squareform(_pair_distances(rows))
    rank = min(neighbor, rows.shape[0] - 1)  # place 0 is the row itself
    distance = unit * factor * float(np.median(np.partition(distances, rank, axis=1)[:, rank]))
    return distance if distance > 0 else 1.0


def _drawn_rows(X: Points) -> tuple[Any, float]:
    """At most 1000 distinct rows, centred where dense, over a power of two: squares of very large or small data would
    leave the range of float64."""
    rows = X[smallest_positions(row_hashes(X), LOOK.gram)]
    if not sparse.issparse(rows):
        if len(rows) < min(len(X), LOOK.gram):  # far from zero, hashes do not tell all rows apart
            rows = np.unique(X, axis=0)
            rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), LOOK.gram)).astype(np.intp)]
        else:  # another unit has other hashes, but the same sums in the same order
            rows = rows[np.lexsort(np.asarray(rows).T[::-1])]
        rows = np.asarray(rows, dtype=np.float64) - np.mean(rows, axis=0, dtype=np.float64)
    largest = abs(rows).max() if rows.shape[0] > 1 else 0.0
    if not largest > 0:
        return rows[:1], 1.0
    unit = float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))
    return rows / unit, unit


def _pair_distances(rows: Any) -> Array:
    from scipy.spatial.distance import pdist  # 60 ms of import that most calls do not need

    return np.asarray(pdist(dense(rows)))
