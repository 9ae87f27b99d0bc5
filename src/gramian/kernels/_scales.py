"""Length scales: their checks, and the median distance between rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist

from gramian._arrays import Array
from gramian._checks import check_number
from gramian.kernels._rows import dense, distinct_rows, squared_norms

MEDIAN_ROWS = 1000


def check_length_scale(length_scale: Any, n_columns: int) -> float | Array:
    """A positive finite number, or an array with one for each column; "median" is refused here."""
    if isinstance(length_scale, str):
        if length_scale == "median":
            raise ValueError(
                'length_scale="median" is settled on training rows, and this kernel has seen none. '
                "Call kernel.resolve(X) first, or give a number."
            )
        raise ValueError(
            f"length_scale={length_scale!r} is not known. Use a positive number, an array of them, or 'median'."
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


def resolved_length_scale(length_scale: Any, X: Any) -> float | Array:
    """The checked length scale, with "median" settled on the rows of X."""
    if isinstance(length_scale, str) and length_scale == "median":
        return median_distance(X)
    return check_length_scale(length_scale, X.shape[1])


def median_distance(X: Any) -> float:
    """The median Euclidean distance between distinct rows of X, or 1.0 when all are equal.

    Above 1000 distinct rows a fixed random 1000 of them are used; neither the order of the rows nor their repetition
    matters.
    """
    first, _ = distinct_rows(X)
    if first.shape[0] > MEDIAN_ROWS:
        first = first[np.random.default_rng(0).permutation(first.shape[0])[:MEDIAN_ROWS]]
    rows = X[first]
    if rows.shape[0] < 2:
        return 1.0
    if not sparse.issparse(rows):
        rows = np.asarray(rows, dtype=np.float64) - np.mean(rows, axis=0, dtype=np.float64)
    # a power of two, so that nothing is rounded: squares of very large or small data leave the range of float64
    unit = float(np.ldexp(1.0, int(np.frexp(abs(rows).max())[1]) - 1))
    rows = rows / unit
    norms = squared_norms(rows)
    squares = np.add.outer(norms, norms) - 2.0 * dense(rows @ rows.T)
    middle = float(np.median(squares[np.triu_indices(rows.shape[0], 1)]))
    if middle > 1e-4 * 2.0 * norms.max():
        return unit * float(np.sqrt(middle))
    distance = unit * float(np.median(pdist(dense(rows))))  # far outliers: products would have cancelled
    return distance if distance > 0 else 1.0
