"""Subspaces: the mean and the principal axes, in primal or dual coordinates. They turn points into projections and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from gramian._arrays import Array, blas_threads, row_chunks, single_blas_thread, thread_map
from gramian._checks import check_finite
from gramian.kernels.base import Kernel
from gramian.latent.gaussian import Projection

TILE_ROWS, TILE_COLUMNS = 512, 1024


class Subspace(Protocol):
    """What a latent model needs of its coordinates."""

    def project(self, X: Any) -> Projection: ...
    def embed(self, scores: Array) -> Array: ...


@dataclass(frozen=True)
class PrimalSubspace:
    """μ and orthonormal axes U as rows of ``components``; NaN entries of a point are what was not seen."""

    mean: Array  # (d,)
    components: Array  # (q, d)

    def project(self, X: Any) -> Projection:
        """t = Uₒᵀ(x - μ)ₒ, g = |(x - μ)ₒ|², and G = UₒᵀUₒ where entries are missing [2]."""
        d = len(self.mean)
        if sparse.issparse(X):
            scores = np.asarray(X @ self.components.T) - self.components @ self.mean
            squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
            norms = squares - 2 * np.asarray(X @ self.mean) + self.mean @ self.mean
            return Projection(scores, np.maximum(norms, 0.0), d)
        centred = np.asarray(X, dtype=np.float64) - self.mean
        if not np.isnan(centred.sum()):
            return Projection(centred @ self.components.T, np.einsum("nj,nj->n", centred, centred), d)
        seen = ~np.isnan(centred)
        centred = np.where(seen, centred, 0.0)
        overlap = overlaps(seen, self.components.T)
        return Projection(
            centred @ self.components.T, np.einsum("nj,nj->n", centred, centred), seen.sum(axis=1), overlap
        )

    def embed(self, scores: Array) -> Array:
        """μ + U t."""
        return scores @ self.components + self.mean


def overlaps(seen: Array, axes: Array) -> Array:
    """G = UₒᵀUₒ for every row of the mask ``seen``, one product for all: mask @ (U ⊗ U), upper half only."""
    q = axes.shape[1]
    upper = np.triu_indices(q)
    packed = seen.astype(np.float64) @ (axes[:, upper[0]] * axes[:, upper[1]])
    full = np.empty((seen.shape[0], q, q))
    full[:, upper[0], upper[1]] = packed
    full[:, upper[1], upper[0]] = packed
    return full


@dataclass(frozen=True)
class DualSubspace:
    """μ = Φ ``affine`` and U = Φ ``axes`` over training points, known only through the kernel [1].

    ``axes`` = J V L^-½; ``raw_mean`` = K₀ ``affine``. With the precomputed kernel, rows handed to `project` are kernel values.
    """

    kernel: Kernel
    points: Any  # training inputs; None with a precomputed kernel
    affine: Array  # s, or zeros when uncentred
    axes: Array  # (N, q)
    raw_mean: Array  # K₀ s, (N,)
    images: Array  # K₀ U-coefficients: K₀ axes, (N, q)
    dim: float

    @property
    def size(self) -> int:
        return len(self.affine)

    @property
    def mean_norm(self) -> float:
        """|μ|² = sᵀK₀s."""
        return float(self.affine @ self.raw_mean)

    def kernel_rows(self, X: Any) -> Array:
        """k(y, xᵢ), (n, N): the whole block, for callers that need it."""
        return (
            np.asarray(X, dtype=np.float64)
            if self.points is None
            else np.asarray(self.kernel(X, self.points), dtype=np.float64)
        )

    def project(self, X: Any, diagonal: Array | None = None) -> Projection:
        """t = Uᵀ(φ - μ) = axesᵀk_y - c and g = k(y,y) - 2sᵀk_y + sᵀK₀s, tile by tile [1]."""
        products = self.kernel_products(X, np.column_stack([self.axes, self.affine]))
        if diagonal is None:
            diagonal = self.kernel.diagonal(X)
        scores = products[:, :-1] - self.raw_mean @ self.axes
        norms = np.asarray(diagonal, dtype=np.float64) - 2 * products[:, -1] + self.mean_norm
        return Projection(scores, np.maximum(norms, 0.0), self.dim)

    def kernel_products(self, X: Any, coefficients: Array) -> Array:
        """k(X, points) @ coefficients, with no more than a tile of kernel values in memory a thread."""
        if self.points is None:
            return np.asarray(X, dtype=np.float64) @ coefficients
        n = X.shape[0]
        tile = self.kernel.tiles(X, self.points, np.float64)
        out = np.empty((n, coefficients.shape[1]))

        def fill(rows: slice) -> None:
            block = np.zeros((rows.stop - rows.start, coefficients.shape[1]))
            for columns in row_chunks(self.size, TILE_COLUMNS):
                block += tile(rows, columns) @ coefficients[columns]
            out[rows] = block

        threads = blas_threads() if n > TILE_ROWS else 1
        with single_blas_thread():
            thread_map(fill, row_chunks(n, TILE_ROWS), threads)
        return check_finite(out, "kernel values")

    def embed(self, scores: Array) -> Array:
        """The affine weights γ of μ + U t over the training points, (n, N): rows sum to one unless uncentred."""
        return scores @ self.axes.T + self.affine

    def kernel_values(self, scores: Array) -> Array:
        """K₀ γ for the same points: the exact uncentred kernel vector, without another product with K₀ [3]."""
        return scores @ self.images.T + self.raw_mean
