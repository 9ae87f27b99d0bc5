"""Covariance operators of explicit features: stored, or applied through the rows without being formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian.operators.base import SelfAdjoint
from gramian.operators.centering import Centering


@dataclass(frozen=True)
class Stored(SelfAdjoint):
    """A symmetric matrix held in memory."""

    matrix: Array

    @property
    def size(self) -> int:
        return int(self.matrix.shape[0])

    def __matmul__(self, block: Array) -> Array:
        return self.matrix.astype(block.dtype, copy=False) @ block

    def trace(self) -> float:
        return float(np.trace(self.matrix))

    def to_dense(self) -> Array:
        return self.matrix


@dataclass(frozen=True)
class FactoredCovariance(SelfAdjoint):
    """C = XᵀJJᵀX (``side="primal"``, d x d) or K = JᵀXXᵀJ (``side="dual"``, N x N), applied through X [1].

    For tables too large for either matrix, dense or sparse: two products with X a block, centring implicit.
    """

    X: Any
    centering: Centering
    side: str = "primal"

    @property
    def size(self) -> int:
        return int(self.X.shape[1] if self.side == "primal" else self.X.shape[0])

    def _spread(self, block: Array) -> Array:
        """Jᵀ X V: (d, m) -> (N, m)."""
        return self.centering.transpose(np.asarray(self.X @ block))

    def _gather(self, block: Array) -> Array:
        """Xᵀ J V: (N, m) -> (d, m)."""
        return np.asarray(self.X.T @ self.centering.apply(block))

    def __matmul__(self, block: Array) -> Array:
        return self._gather(self._spread(block)) if self.side == "primal" else self._spread(self._gather(block))

    def trace(self) -> float:
        s = self.centering.weights
        mean = np.asarray(self.X.T @ self.centering.affine)
        if sparse.issparse(self.X):
            squares = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
            return float(s @ squares - mean @ mean)
        return float(
            sum(s[i : i + 4096] @ ((self.X[i : i + 4096] - mean) ** 2).sum(axis=1) for i in range(0, len(s), 4096))
        )
