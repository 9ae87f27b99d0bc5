"""Sums, products and multiples of kernels: what ``+`` and ``*`` make."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import check_number
from gramian._types import DType, Points
from gramian.kernels._rows import kernel_rows, pair_of_rows
from gramian.kernels.base import Kernel, Tile


class _Pair(Kernel):
    """Two kernels of the same rows; ``kernel__k1__length_scale`` reaches the first."""

    k1: Kernel
    k2: Kernel

    def __init__(self, k1: Kernel, k2: Kernel) -> None:
        self.k1 = k1
        self.k2 = k2

    @property
    def positive_semidefinite(self) -> bool:
        return bool(self.k1.positive_semidefinite and self.k2.positive_semidefinite)

    @property
    def stationary(self) -> bool:
        return bool(self.k1.stationary and self.k2.stationary)

    @property
    def differentiable(self) -> bool:
        return bool(self.k1.differentiable and self.k2.differentiable)

    @property
    def accepts_sparse(self) -> bool:
        return bool(self.k1.accepts_sparse and self.k2.accepts_sparse)

    def resolve(self, X: Points) -> Kernel:
        return type(self)(self.k1.resolve(X), self.k2.resolve(X))


class Sum(_Pair):
    """k(x, y) = k₁(x, y) + k₂(x, y); also written ``k1 + k2``.

    Examples
    --------
    >>> from gramian.kernels import RBF, Linear
    >>> kernel = RBF(1.0) + 0.5 * Linear()
    >>> kernel.diagonal([[2.0]])
    array([3.])
    >>> kernel.set_params(k1__length_scale=3.0).k1
    RBF(length_scale=3.0)
    """

    def diagonal(self, X: Points) -> Array:
        return self.k1.diagonal(X) + self.k2.diagonal(X)

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        first, second = self.k1.tiles(X, Y, dtype), self.k2.tiles(X, Y, dtype)

        def tile(rows: slice, columns: slice) -> Array:
            values = first(rows, columns)
            values += second(rows, columns)
            return values

        return tile

    def expected(self, X: Points, V: Array, Y: Points, W: Array) -> Array:
        return self.k1.expected(X, V, Y, W) + self.k2.expected(X, V, Y, W)

    def expected_diagonal(self, X: Points, V: Array) -> Array:
        return self.k1.expected_diagonal(X, V) + self.k2.expected_diagonal(X, V)

    def gradient(self, X: Points, Y: Points, coefficients: Array) -> Array:
        return self.k1.gradient(X, Y, coefficients) + self.k2.gradient(X, Y, coefficients)

    def diagonal_gradient(self, X: Points) -> Array:
        return self.k1.diagonal_gradient(X) + self.k2.diagonal_gradient(X)


class Product(_Pair):
    """k(x, y) = k₁(x, y) k₂(x, y); also written ``k1 * k2``.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> (Linear() * Linear())([[2.0], [3.0]])
    array([[16., 36.],
           [36., 81.]])
    """

    def diagonal(self, X: Points) -> Array:
        return self.k1.diagonal(X) * self.k2.diagonal(X)

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        first, second = self.k1.tiles(X, Y, dtype), self.k2.tiles(X, Y, dtype)

        def tile(rows: slice, columns: slice) -> Array:
            values = first(rows, columns)
            values *= second(rows, columns)
            return values

        return tile

    def gradient(self, X: Points, Y: Points, coefficients: Array) -> Array:
        for_first, for_second = coefficients * self.k2(X, Y), coefficients * self.k1(X, Y)
        return self.k1.gradient(X, Y, for_first) + self.k2.gradient(X, Y, for_second)

    def diagonal_gradient(self, X: Points) -> Array:
        first, second = self.k1.diagonal(X)[:, None], self.k2.diagonal(X)[:, None]
        return first * self.k2.diagonal_gradient(X) + second * self.k1.diagonal_gradient(X)


class Scaled(Kernel):
    """k(x, y) = scale · kernel(x, y); also written ``2.0 * k``.

    Parameters
    ----------
    kernel : Kernel
        What is multiplied; ``kernel__length_scale`` reaches its parameters.
    scale : float, default=1.0
        A number above 0: a negative multiple is no kernel.

    Examples
    --------
    >>> from gramian.kernels import RBF
    >>> (2.0 * RBF(1.0)).diagonal([[5.0]])
    array([2.])
    """

    scale: Annotated[float, "number"]

    def __init__(self, kernel: Kernel, scale: float = 1.0) -> None:
        self.kernel = kernel
        self.scale = scale

    @property
    def positive_semidefinite(self) -> bool:
        return bool(self.kernel.positive_semidefinite)

    @property
    def stationary(self) -> bool:
        return bool(self.kernel.stationary)

    @property
    def isotropic(self) -> bool:
        return bool(self.kernel.isotropic)

    @property
    def differentiable(self) -> bool:
        return bool(self.kernel.differentiable)

    @property
    def accepts_sparse(self) -> bool:
        return bool(self.kernel.accepts_sparse)

    def resolve(self, X: Points) -> Kernel:
        return Scaled(self.kernel.resolve(X), self._scale())

    def diagonal(self, X: Points) -> Array:
        return self.kernel.diagonal(X) * self._scale()

    def factors(self, X: Points, Y: Points, dtype: DType) -> tuple[Array, Array] | None:
        return self.kernel.factors(X, Y, dtype)

    def profile(self, products: Array) -> Array:
        values = self.kernel.profile(products)
        values *= self._scale()
        return values

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        scale, inner = self._scale(), self.kernel.tiles(X, Y, dtype)

        def tile(rows: slice, columns: slice) -> Array:
            values = inner(rows, columns)
            values *= scale
            return values

        return tile

    def expected(self, X: Points, V: Array, Y: Points, W: Array) -> Array:
        return self._scale() * self.kernel.expected(X, V, Y, W)

    def expected_diagonal(self, X: Points, V: Array) -> Array:
        return self._scale() * self.kernel.expected_diagonal(X, V)

    def gradient(self, X: Points, Y: Points, coefficients: Array) -> Array:
        return self._scale() * self.kernel.gradient(X, Y, coefficients)

    def diagonal_gradient(self, X: Points) -> Array:
        return self._scale() * self.kernel.diagonal_gradient(X)

    def squared_distance(self, values: Any) -> Array:
        return self.kernel.squared_distance(np.asarray(values, dtype=np.float64) / self._scale())

    def _scale(self) -> float:
        return check_number("scale", self.scale, 0.0, open_low=True)


class Constant(Kernel):
    """k(x, y) = value; ``k + 1.0`` adds one.

    Examples
    --------
    >>> from gramian.kernels import Constant
    >>> Constant(0.5)([[1.0], [2.0]])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    stationary: Any = True
    differentiable: Any = True
    accepts_sparse: Any = True
    value: Annotated[float, "nonnegative"]

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def resolve(self, X: Points) -> Kernel:
        return clone(self).set_params(value=self._value())

    def diagonal(self, X: Points) -> Array:
        X = kernel_rows(self, X)
        return np.full(X.shape[0], self._value())

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        value, n_rows, n_columns = self._value(), X.shape[0], Y.shape[0]
        return lambda rows, columns: np.full(
            (len(range(*rows.indices(n_rows))), len(range(*columns.indices(n_columns)))), value, dtype=dtype
        )

    def expected(self, X: Points, V: Array, Y: Points, W: Array) -> Array:
        return np.full((X.shape[0], Y.shape[0]), self._value())

    def gradient(self, X: Points, Y: Points, coefficients: Array) -> Array:
        return np.zeros(pair_of_rows(self, X, Y)[0].shape)

    def diagonal_gradient(self, X: Points) -> Array:
        return np.zeros(kernel_rows(self, X).shape)

    def _value(self) -> float:
        return check_number("value", self.value, 0.0)
