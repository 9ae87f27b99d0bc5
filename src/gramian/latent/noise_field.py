"""The isotropic noise of feature space, seen through the kernel: draws of Φᵀε with covariance σ²K₀, without an N³ of eigenpairs [3]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import linalg

from gramian._arrays import Array
from gramian._precision import SEEN
from gramian.policy import SIZES


@dataclass(frozen=True)
class UnitNoise:
    """Draws of unit noise ε of feature space: ``weights`` c with ε = Φc, ``values`` Φᵀε, ``centred`` (Φ - μ1ᵀ)ᵀε, each (n, N).

    ``scores`` are Uᵀε, (n, q), where a subspace has drawn them. Weights do not give them: they need not sum to zero. Weights are
    computed when they are asked for, by ``weigh()``: they cost more than all the rest, and pre-images that look at scores need none.
    """

    weigh: Callable[[], Array]
    values: Array
    centred: Array
    scores: Array | None = None

    @property
    def weights(self) -> Array:
        return self.weigh()


@dataclass(frozen=True)
class NoiseField:
    """K₀ ≈ F Fᵀ by pivoted Cholesky: unit noise ξ in R^r is the feature vector Φ c with K₀ c = F ξ.

    What the factor leaves out (``rest``, its diagonal) is added to kernel values as independent noise, so variances stay right.
    """

    factor: Annotated[Array, "n r"]  # F
    pivots: Annotated[Array, "r"]
    rest: Annotated[Array, "n"]

    def draw(self, n_draws: int, rng: np.random.Generator, affine: Array) -> UnitNoise:
        """``n_draws`` unit noise vectors; ``affine`` are the coefficients of the mean."""
        size, rank = self.factor.shape
        unit = rng.standard_normal((n_draws, rank))
        values = unit @ self.factor.T + np.sqrt(self.rest) * rng.standard_normal((n_draws, size))
        return UnitNoise(lambda: self._weights(unit), values, values - (values @ affine)[:, None])

    def _weights(self, unit: Array) -> Array:
        """c with K₀ c = F ξ, (n, N)."""
        weights = np.zeros((len(unit), len(self.factor)))
        triangle = self.factor[self.pivots]  # L with K₀[pivots, pivots] = L Lᵀ
        weights[:, self.pivots] = linalg.solve_triangular(triangle, unit.T, lower=True, trans="T").T
        return weights


def noise_field(raw: Any, share: float = SEEN, max_rank: int = 2000) -> NoiseField:
    """The noise field of a Gram operator (``size``, ``diagonal()``, ``columns(indices)``, ``to_dense()``).

    Pivoting stops when this ``share`` of the trace is left, or (by columns) at ``max_rank``.
    """
    if raw.size <= SIZES.factored:
        return _dense(raw.to_dense(), share)
    return _by_columns(raw, share, max_rank)


def _dense(matrix: Array, share: float) -> NoiseField:
    diagonal = matrix.diagonal().copy()
    tolerance = share * float(diagonal.mean())
    factor, order, rank, _ = linalg.lapack.dpstrf(matrix, lower=1, tol=tolerance)
    pivots = order[:rank] - 1
    lower = np.tril(factor)[:, :rank]
    rows = np.empty_like(lower)
    rows[order - 1] = lower
    return NoiseField(rows, pivots, np.maximum(diagonal - np.einsum("ij,ij->i", rows, rows), 0.0))


def _by_columns(raw: Any, share: float, max_rank: int) -> NoiseField:
    rest = raw.diagonal().copy()
    stop = share * float(rest.sum())
    rank = min(raw.size, max_rank)
    factor = np.zeros((raw.size, rank))
    pivots = []
    for step in range(rank):
        pivot = int(rest.argmax())
        if rest.sum() <= stop or rest[pivot] <= 0:
            break
        column = raw.columns(np.array([pivot]))[:, 0] - factor[:, :step] @ factor[pivot, :step]
        factor[:, step] = column / np.sqrt(rest[pivot])
        rest = np.maximum(rest - factor[:, step] ** 2, 0.0)
        rest[pivot] = 0.0
        pivots.append(pivot)
    return NoiseField(factor[:, : len(pivots)], np.array(pivots, dtype=int), rest)
