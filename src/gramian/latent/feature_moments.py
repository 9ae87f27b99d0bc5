"""Moments of explicit features, streamed over the rows: a table of features never exists whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array, blas_threads, row_chunks, single_blas_thread, thread_map
from gramian.features import Nystroem
from gramian.kernels import finite_gram
from gramian.operators.moments import Moments

CHUNK_BYTES = 16_000_000
MAGNIFIED = {np.dtype(np.float64): 1e6, np.dtype(np.float32): 1e3}
"""Up to this condition of the landmarks' Gram matrix, rounding of kernel values does not show in the moments."""


def feature_moments(feature_map: Any, X: Any, weights: Array) -> Moments:
    """The weighted moments of φ̂(x) over the rows of X, on as many threads as BLAS may use.

    Nyström features are linear in the kernel values k_m(x). Where L^-½ magnifies rounding little, the moments of those
    are gathered and mapped once, which saves the larger half of the work.
    """
    linear = isinstance(feature_map, Nystroem) and feature_map.condition <= MAGNIFIED.get(X.dtype, 0.0)
    weighted = bool((weights != 1.0).any())

    def one(rows: slice) -> Moments:
        if linear:
            block = finite_gram(feature_map.kernel_values(X[rows]), feature_map.kernel_)
        else:
            block = np.asarray(feature_map.transform(X[rows]), dtype=np.float64)
        return Moments.of(block, weights[rows] if weighted else None)

    width = feature_map.landmarks_.shape[0] if linear else feature_map.dim
    chunks = list(row_chunks(X.shape[0], max(256, CHUNK_BYTES // (8 * width))))
    n_threads = blas_threads()
    moments: Moments | None = None
    with single_blas_thread():
        for start in range(0, len(chunks), n_threads):  # not all at once: their scatters are matrices
            for part in thread_map(one, chunks[start : start + n_threads], n_threads):
                moments = part if moments is None else moments.merge(part)
    assert moments is not None
    return moments.mapped(feature_map.normalization_) if linear else moments
