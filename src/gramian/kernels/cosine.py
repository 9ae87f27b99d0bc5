"""The cosine kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian._types import DType, Points
from gramian.kernels._rows import dense, kernel_rows, pair_of_rows, squared_norms
from gramian.kernels.base import Kernel, Tile


class Cosine(Kernel):
    """k(x, y) = xᵀy / |x||y|, and 0 where either is zero.

    Examples
    --------
    >>> from gramian.kernels import Cosine
    >>> Cosine()([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]])
    array([[1. , 0.6, 0. ],
           [0.6, 1. , 0. ],
           [0. , 0. , 0. ]])
    """

    differentiable: Any = True
    accepts_sparse: Any = True

    def diagonal(self, X: Points) -> Array:
        X = kernel_rows(self, X)
        return (_largest(X) > 0).astype(np.float64)

    def factors(self, X: Points, Y: Points, dtype: DType) -> tuple[Array, Array] | None:
        if sparse.issparse(X) or sparse.issparse(Y):
            return None
        left = _directions(X)[0].astype(dtype, copy=False)
        return left, left if Y is X else _directions(Y)[0].astype(dtype, copy=False)

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        if not (sparse.issparse(X) or sparse.issparse(Y)):
            return super().tiles(X, Y, dtype)
        left = _directions(X)[0]
        right = left if Y is X else _directions(Y)[0]
        return lambda rows, columns: dense(left[rows] @ right[columns].T).astype(dtype, copy=False)

    def gradient(self, X: Points, Y: Points, coefficients: Array) -> Array:
        """Σⱼ cᵢⱼ (ŷⱼ - k(xᵢ, yⱼ) x̂ᵢ) / |xᵢ|; 0 at xᵢ = 0, where there is none."""
        X, Y = (dense(rows) for rows in pair_of_rows(self, X, Y))
        (left, norms), (right, _) = _directions(X), _directions(Y)
        coefficients = np.asarray(coefficients, dtype=np.float64)
        cosines = np.einsum("ij,ij->i", coefficients, left @ right.T)
        across = coefficients @ right - cosines[:, None] * left
        return np.where(norms[:, None] > 0, across / np.where(norms > 0, norms, 1.0)[:, None], 0.0)

    def diagonal_gradient(self, X: Points) -> Array:
        return np.zeros(kernel_rows(self, X).shape)


def _directions(X: Points) -> tuple[Any, Array]:
    """x/|x| (0 stays 0) in float64, and |x|; by way of x/max|xⱼ|, whose square neither overflows nor vanishes."""
    largest = _largest(X)
    units = _divide(X, largest)
    norms = np.sqrt(squared_norms(units))
    return _divide(units, norms), largest * norms


def _largest(X: Points) -> Array:
    largest = abs(X).max(axis=1)
    return np.asarray(largest.toarray() if sparse.issparse(largest) else largest, dtype=np.float64).ravel()


def _divide(X: Points, divisors: Array) -> Any:
    divisors = np.where(divisors > 0, divisors, 1.0)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(1.0 / divisors) @ X)
    return np.asarray(X, dtype=np.float64) / divisors[:, None]
