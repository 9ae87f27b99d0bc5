"""Kernels that are an elementwise function of γ xᵀy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian._checks import check_number
from gramian._types import DType, Points
from gramian.kernels._rows import dense, kernel_rows, pair_of_rows, squared_norms
from gramian.kernels.base import Kernel, Tile


class DotProduct(Kernel):
    """k(x, y) = f(γ xᵀy); a subclass gives f as ``profile`` and f' as ``slope``."""

    differentiable: Any = True
    accepts_sparse: Any = True

    def rate(self, n_columns: int) -> float:
        """γ for rows of so many columns [1].

        Parameters
        ----------
        n_columns : int
            Columns of the rows.

        Returns
        -------
        float

        Examples
        --------
        >>> from gramian.kernels import Polynomial
        >>> Polynomial(degree=2).rate(4)
        0.25
        """
        return 1.0

    def slope(self, products: Array) -> Array:
        """f' at the products, in place [4].

        Parameters
        ----------
        products : ndarray
            Inner products; overwritten.

        Returns
        -------
        ndarray
            The same array.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.kernels import Polynomial
        >>> Polynomial(degree=2, gamma=1.0).slope(np.array([1.0, 2.0]))
        array([4., 6.])
        """
        products[...] = 1.0
        return products

    def diagonal(self, X: Points) -> Array:
        X = kernel_rows(self, X)
        with np.errstate(over="ignore", invalid="ignore"):  # callers look at the result: finite_gram
            return self.profile(self.rate(X.shape[1]) * squared_norms(X))

    def factors(self, X: Points, Y: Points, dtype: DType) -> tuple[Array, Array] | None:
        if sparse.issparse(X) or sparse.issparse(Y):
            return None
        # γ goes to one side, in float64: only then is it rounded once
        rate = self.rate(X.shape[1])
        right = np.asarray(Y, dtype=dtype) if rate == 1.0 else (rate * np.asarray(Y, dtype=np.float64)).astype(dtype)
        return np.asarray(X, dtype=dtype), right

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        pair = self.factors(X, Y, dtype)
        rate = self.rate(X.shape[1])

        def tile(rows: slice, columns: slice) -> Array:
            with np.errstate(over="ignore", invalid="ignore"):  # callers look at the result: finite_gram
                if pair is not None:
                    return self.profile(pair[0][rows] @ pair[1][columns].T)
                return self.profile(np.asarray(rate * dense(X[rows] @ Y[columns].T), dtype=dtype))

        return tile

    def gradient(self, X: Points, Y: Points, coefficients: Array) -> Array:
        X, Y = pair_of_rows(self, X, Y)
        rate = self.rate(X.shape[1])
        weights = np.asarray(coefficients) * self.slope(rate * dense(X @ Y.T).astype(np.float64))
        return rate * np.asarray(weights @ Y)

    def diagonal_gradient(self, X: Points) -> Array:
        X = kernel_rows(self, X)
        rate = self.rate(X.shape[1])
        return np.asarray(2.0 * rate * self.slope(rate * squared_norms(X))[:, None] * dense(X))


def check_rate(gamma: Any, n_columns: int) -> float:
    """γ as a positive number; None is 1 / (number of columns)."""
    return 1.0 / n_columns if gamma is None else check_number("gamma", gamma, 0.0, open_low=True)
