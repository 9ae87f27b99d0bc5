"""Kernel: a positive semi-definite function k(x, y) = <φ(x), φ(y)>, called as k(X, Y)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from gramian._arrays import Array, blas_threads, single_blas_thread, symmetrized, thread_map
from gramian._checks import is_real
from gramian.kernels._rows import as_rows, common_dtype, pair_of_rows

Tile = Callable[[slice, slice], Array]

TILE_ROWS = 512  # 512 x 512 doubles stay in the second-level cache through product and profile
ONE_TILE = 1 << 20  # below so many entries one product is quicker than a loop
LARGEST_VALUE = float(np.finfo(np.float64).max) ** 0.25  # eigenvalue formulas square the squares of kernel values


class Kernel(BaseEstimator):
    """What every kernel offers. A new one needs ``__call__`` (or ``factors`` and ``profile``) and ``diagonal``.

    Parameters are stored as given and checked by :meth:`resolve`, which `fit` calls once on the training rows.
    """

    positive_semidefinite: Any = True
    """Whether every Gram matrix is PSD; where it may not be, `fit` looks at the smallest eigenvalue."""

    stationary: Any = False
    """Whether k(x, y) depends on x - y only, so that its diagonal is constant."""

    isotropic: Any = False
    """Whether k(x, y) falls with the Euclidean |x - y| only, so that :meth:`squared_distance` exists."""

    differentiable: Any = False
    """Whether :meth:`gradient` and :meth:`diagonal_gradient` exist."""

    accepts_sparse: Any = False
    """Whether SciPy sparse rows may be given; they are never made dense."""

    search: Any = MappingProxyType({})
    """Parameters beside the length scale that `BayesSearch` looks at by default: name -> dimension in its short form."""

    __array_ufunc__ = None  # np.float64(2.0) * k is left to __rmul__

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """k(xᵢ, yⱼ), shape (len(X), len(Y)); Y is X when omitted. float32 rows give a float32 matrix."""
        X, Y = pair_of_rows(self, X, Y)
        dtype = common_dtype(X, Y)
        tile = self.tiles(X, Y, dtype)
        if Y is not X:
            return _assembled(tile, X.shape[0], Y.shape[0], dtype)
        gram = _symmetric(tile, X.shape[0], dtype)
        np.fill_diagonal(gram, self.diagonal(X))
        return gram

    def diagonal(self, X: Any) -> Array:
        """k(xᵢ, xᵢ) without the rest of the Gram matrix, in float64 also for float32 rows: squared norms cancel."""
        raise TypeError(f"{type(self).__name__} does not say how to evaluate its diagonal.")

    def resolve(self, X: Any) -> Kernel:
        """A clone whose parameters are checked and are numbers: "median" and None are settled on the rows of X."""
        return clone(self)

    def typical_distance(self, median: float, n_columns: int) -> float:
        """The length scale to search around, from the median Euclidean distance between rows."""
        return median

    def factors(self, X: Any, Y: Any, dtype: Any) -> tuple[Array, Array] | None:
        """Matrices with k(X, Y) = profile(left @ right.T), or None where that is not so, or not accurate."""
        return None

    def profile(self, products: Array) -> Array:
        """The elementwise function of ``left @ right.T`` that gives the kernel, in place; returns its argument."""
        return products

    def tiles(self, X: Any, Y: Any, dtype: Any = np.float64) -> Tile:
        """A function (rows, columns) -> k(X[rows], Y[columns]) that shares all preparation between tiles."""
        pair = self.factors(X, Y, dtype)
        if pair is not None:
            left, right = pair
            return lambda rows, columns: self.profile(left[rows] @ right[columns].T)
        if type(self).__call__ is Kernel.__call__:
            raise TypeError(
                f"{type(self).__name__} does not say how to evaluate itself: give it __call__, or factors and profile."
            )
        return lambda rows, columns: np.asarray(self(X[rows], Y[columns]), dtype=dtype)

    # ------------------------------------------------------------ for pre-images

    def gradient(self, X: Any, Y: Any, coefficients: Any) -> Array:
        """∂/∂xᵢ Σⱼ cᵢⱼ k(xᵢ, yⱼ), shape (n, d), for ``coefficients`` c, shape (n, len(Y)); where ``differentiable``."""
        raise TypeError(
            f"{self!r} offers no gradient. Use a smooth kernel such as RBF, or a pre-image that needs none."
        )

    def diagonal_gradient(self, X: Any) -> Array:
        """∂/∂xᵢ k(xᵢ, xᵢ), shape (n, d); where ``differentiable``."""
        raise TypeError(
            f"{self!r} offers no gradient. Use a smooth kernel such as RBF, or a pre-image that needs none."
        )

    def squared_distance(self, values: Any) -> Array:
        """|x - y|² from k(x, y): 0 at and above k(x, x), inf where the kernel cannot reach; where ``isotropic``."""
        raise TypeError(
            f"{self!r} is no function of |x - y| with one length scale, so distances cannot be read off it."
        )

    # ------------------------------------------------------------ algebra

    def __add__(self, other: Any) -> Kernel:
        algebra = import_module("gramian.kernels.algebra")
        if is_real(other):
            return self if other == 0 else algebra.Sum(self, algebra.Constant(float(other)))
        return algebra.Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    __radd__ = __add__

    def __mul__(self, other: Any) -> Kernel:
        algebra = import_module("gramian.kernels.algebra")
        if is_real(other):
            return algebra.Scaled(self, float(other))
        return algebra.Product(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__

    # ------------------------------------------------------------ explicit features

    def nystroem(self, X: Any, n_landmarks: int = 100, random_state: Any = None) -> Any:
        """:class:`gramian.features.Nystroem` features of this kernel, fitted on the rows of X."""
        return _explicit("nystroem")(self, n_landmarks, random_state=random_state).fit(X)

    def random_features(self, n_features: int = 100, random_state: Any = None, *, orthogonal: bool = False) -> Any:
        """:class:`gramian.features.RandomFourier` features of this kernel, ready to transform rows of any width."""
        return _explicit("rff")(self, n_features, orthogonal=orthogonal, random_state=random_state).seed()


EXPLICIT_FEATURES: dict[str, Callable[..., Any]] = {}
"""Explicit features of a kernel by their name. Kernels know none: `gramian.features` enters its own when it is imported."""


def _explicit(name: str) -> Callable[..., Any]:
    if name not in EXPLICIT_FEATURES:
        import_module("gramian").fill_tables()
    return EXPLICIT_FEATURES[name]


def finite_gram(values: Array, kernel: Any) -> Array:
    """``values`` if they can be computed with, else a `ValueError` that names the kernel.

    Finite values whose fourth powers overflow are refused too: variances of variances would be Inf.
    """
    largest = float(max(np.max(values, initial=0.0), -np.min(values, initial=0.0)))  # NaN survives both
    if not largest < LARGEST_VALUE:
        raise ValueError(
            f"kernel values not finite: {kernel!r} reaches {largest:.3g}, beyond what float64 can compute with "
            f"({LARGEST_VALUE:.1g}). Rescale the data, or use a smaller gamma or degree."
        )
    return values


def _blocks(n_rows: int) -> list[slice]:
    edges = [*range(0, n_rows, TILE_ROWS), n_rows]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _assembled(tile: Tile, n_rows: int, n_columns: int, dtype: Any) -> Array:
    if n_rows * n_columns <= ONE_TILE:
        return tile(slice(0, n_rows), slice(0, n_columns))
    values = np.empty((n_rows, n_columns), dtype=dtype)

    def fill(rows: slice) -> None:
        for columns in _blocks(n_columns):
            values[rows, columns] = tile(rows, columns)

    _run(fill, _blocks(n_rows))
    return values


def _symmetric(tile: Tile, n_rows: int, dtype: Any) -> Array:
    """The Gram matrix from its upper tiles, symmetric to the last bit."""
    if n_rows * n_rows <= ONE_TILE:
        return symmetrized(tile(slice(0, n_rows), slice(0, n_rows)))
    gram = np.empty((n_rows, n_rows), dtype=dtype)

    def fill(rows: slice) -> None:
        gram[rows, rows] = symmetrized(tile(rows, rows))
        for columns in _blocks(n_rows):
            if columns.start > rows.start:
                block = tile(rows, columns)
                gram[rows, columns] = block
                gram[columns, rows] = block.T

    _run(fill, _blocks(n_rows))
    return gram


def _run(fill: Callable[[slice], None], blocks: list[slice]) -> None:
    n_threads = blas_threads()
    with single_blas_thread():
        thread_map(fill, blocks, n_threads)


__all__ = ["Kernel", "Tile", "as_rows", "finite_gram"]
