"""Moments of explicit features, streamed over the rows: a table of features never exists whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gramian._arrays import Array, blas_threads, row_chunks, single_blas_thread, thread_map
from gramian.features import Nystroem
from gramian.kernels import finite_gram
from gramian.operators.moments import Moments

CHUNK_BYTES = 16_000_000
FIRST_ROWS = 256
LONG = 16_384
"""From so many rows on, float32 is worth its rounding."""
UNSEEN = 1e-10
"""Rounding of float64 that does not show in the moments, over their trace."""


def precision(feature_map: Any, X: Any, tol: float) -> Any:
    """The dtype of kernel values that the moments can be gathered from; None if they need the features themselves.

    Rounding ε of kernel values becomes at most about ε k(x, x) / λ_min(K_mm) in the moments of Nyström features, over their trace
    (measured: 0.03 to 1 of it). Long tables are gathered in float32 where that is below the tolerance.
    """
    if not isinstance(feature_map, Nystroem):
        return None
    magnified = feature_map.magnification
    coarse = X.dtype == np.float32 or (X.shape[0] >= LONG and feature_map.kernel_.stationary)
    if coarse and np.finfo(np.float32).epsneg * magnified <= tol:
        return np.float32
    return np.float64 if np.finfo(np.float64).epsneg * magnified <= UNSEEN else None


def feature_moments(feature_map: Any, X: Any, weights: Array, tol: float = 0.0) -> Moments:
    """The weighted moments of φ̂(x) over the rows of X, on as many threads as BLAS may use, good to ``tol``.

    Nyström features are linear in the kernel values k_m(x). Where L^-½ magnifies rounding little, the moments of those
    are gathered and mapped once, which saves the larger half of the work.
    """
    dtype = precision(feature_map, X, tol)
    linear = dtype is not None
    weighted = bool((weights != 1.0).any())

    # about a point near their mean, kernel values lose no digits, and need no further shift
    shift = feature_map.kernel_values(X[:FIRST_ROWS], dtype).mean(axis=0) if linear else np.zeros(0)

    def one(rows: slice) -> Moments:
        if linear:
            values = feature_map.kernel_values(X[rows], dtype)
            own = feature_map.kernel_.stationary  # a user's function may keep what it returns
            block = np.subtract(values, shift, out=values if own else None)
        else:
            block = np.asarray(feature_map.transform(X[rows]), dtype=np.float64)
        part = Moments.of(block, weights[rows] if weighted else None)
        if linear and not np.isfinite(np.trace(part.scatter)):
            finite_gram(block, feature_map.kernel_)  # says what is wrong
        return part

    width = feature_map.landmarks_.shape[0] if linear else feature_map.dim
    chunks = list(row_chunks(X.shape[0], max(256, CHUNK_BYTES // (width * np.dtype(dtype or np.float64).itemsize))))
    n_threads = blas_threads()
    moments: Moments | None = None
    with single_blas_thread():
        for start in range(0, len(chunks), n_threads):  # not all at once: their scatters are matrices
            for part in thread_map(one, chunks[start : start + n_threads], n_threads):
                moments = part if moments is None else moments.merge(part)
    assert moments is not None
    if not linear:
        return moments
    return replace(moments, mean=moments.mean + shift).mapped(feature_map.normalization_)
