"""Kernel: a positive semi-definite function k(x, y) = <φ(x), φ(y)>, called as k(X, Y)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from gramian._arrays import Array, symmetric_part
from gramian._checks import is_real
from gramian._threads import single_blas_thread, thread_count, thread_map
from gramian._types import DType, Points, RandomState
from gramian.kernels._rows import common_dtype, pair_of_rows
from gramian.policy import SIZES

Tile = Callable[[slice, slice], Array]


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

    def __call__(self, X: Points, Y: Points | None = None) -> Array:
        """k(xᵢ, yⱼ), shape (len(X), len(Y)); Y is X when omitted. float32 rows give a float32 matrix."""
        X, Y = pair_of_rows(self, X, Y)
        dtype = common_dtype(X, Y)
        tile = self.tiles(X, Y, dtype)
        if Y is not X:
            return _assemble(tile, X.shape[0], Y.shape[0], dtype)
        gram = _symmetric(tile, X.shape[0], dtype)
        np.fill_diagonal(gram, self.diagonal(X))
        return gram

    def diagonal(self, X: Points) -> Array:
        """k(xᵢ, xᵢ) without the rest of the Gram matrix, in float64 also for float32 rows: squared norms cancel [1].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import Linear
        >>> np.allclose(Linear().diagonal(X), (X**2).sum(axis=1))
        True
        """
        raise TypeError(f"{type(self).__name__} does not say how to evaluate its diagonal.")

    def resolve(self, X: Points) -> Kernel:
        """A clone whose parameters are checked and are numbers: "median" and None are settled on the rows of X [10].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        Kernel

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> bool(RBF("median").resolve(X).length_scale > 0)
        True
        """
        return clone(self)

    def typical_distance(self, median: float, n_columns: int) -> float:
        """The length scale to search around, from the median Euclidean distance between rows [10].

        Parameters
        ----------
        median : float
            Median Euclidean distance between rows.
        n_columns : int
            Columns of the rows.

        Returns
        -------
        float

        Examples
        --------
        >>> from gramian.kernels import RBF
        >>> RBF().typical_distance(2.0, 5)
        2.0
        """
        return median

    def factors(self, X: Points, Y: Points, dtype: DType) -> tuple[Array, Array] | None:
        """Matrices with k(X, Y) = profile(left @ right.T), or None where that is not so, or not accurate [1].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        Y : array-like of shape (m, d)
            Other rows.
        dtype : NumPy dtype
            Of the values: float32 or float64.

        Returns
        -------
        (left, right), or None

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import Linear
        >>> left, right = Linear().factors(X, X, np.float64)
        >>> np.allclose(left @ right.T, Linear()(X))
        True
        """
        return None

    def profile(self, products: Array) -> Array:
        """The elementwise function of ``left @ right.T`` that gives the kernel, in place; returns its argument [1].

        Parameters
        ----------
        products : ndarray
            ``left @ right.T`` of `factors`; overwritten.

        Returns
        -------
        ndarray
            The same array.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.kernels import Linear
        >>> Linear().profile(np.array([[1.0, 2.0]]))
        array([[1., 2.]])
        """
        return products

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        """A function (rows, columns) -> k(X[rows], Y[columns]) that shares all preparation between tiles [1].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        Y : array-like of shape (m, d)
            Other rows.
        dtype : NumPy dtype
            Of the values: float32 or float64.

        Returns
        -------
        callable
            ``tile(rows, columns)`` with two slices.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> tile = RBF(2.0).tiles(X, X)
        >>> tile(slice(0, 4), slice(4, 12)).shape
        (4, 8)
        """
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

    def gradient(self, X: Points, Y: Points, coefficients: Array) -> Array:
        """∂/∂xᵢ Σⱼ cᵢⱼ k(xᵢ, yⱼ), shape (n, d), for ``coefficients`` c, shape (n, len(Y)); where ``differentiable`` [4].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        Y : array-like of shape (m, d)
            Other rows.
        coefficients : array-like of shape (n, m)
            Weights of the kernel values.

        Returns
        -------
        ndarray of shape (n, d)

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> RBF(2.0).gradient(X, X, np.ones((12, 12))).shape
        (12, 3)
        """
        raise TypeError(
            f"{self!r} offers no gradient. Use a smooth kernel such as RBF, or a pre-image that needs none."
        )

    def diagonal_gradient(self, X: Points) -> Array:
        """∂/∂xᵢ k(xᵢ, xᵢ), shape (n, d); where ``differentiable`` [4].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, d)

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import Linear
        >>> np.allclose(Linear().diagonal_gradient(X), 2 * X)
        True
        """
        raise TypeError(
            f"{self!r} offers no gradient. Use a smooth kernel such as RBF, or a pre-image that needs none."
        )

    def squared_distance(self, values: Any) -> Array:
        """|x - y|² from k(x, y): 0 at and above k(x, x), inf where the kernel cannot reach; where ``isotropic`` [4].

        Parameters
        ----------
        values : array-like
            Kernel values.

        Returns
        -------
        ndarray of the same shape

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.kernels import RBF
        >>> float(RBF(2.0).squared_distance(np.exp(-9.0 / 8.0)).round(6))
        9.0
        """
        raise TypeError(
            f"{self!r} is no function of |x - y| with one length scale, so distances cannot be read off it."
        )

    # ------------------------------------------------------------ rows that are not fully known

    def expected(self, X: Points, V: Array, Y: Points, W: Array) -> Array:
        """E k(x, y) of independent rows with means X, Y and independent Gaussian cells of variances V, W [18].

        Closed for RBF, linear and polynomial kernels up to degree 3, and for sums and multiples of them. For any other kernel the mean over
        a few draws, the same for all rows: a Gram matrix of means, so that it stays positive semi-definite.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Means of the rows.
        V : array-like of shape (n, d)
            Variances of their cells; 0 where a cell is known.
        Y : array-like of shape (m, d)
            Means of other rows.
        W : array-like of shape (m, d)
            Variances of theirs.

        Returns
        -------
        ndarray of shape (n, m)

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.kernels import RBF
        >>> zero, one = np.zeros((1, 1)), np.ones((1, 1))
        >>> RBF(1.0).expected(zero, one, zero, zero).round(4)
        array([[0.7071]])
        """
        left, right = _drawn_rows(X, V), _drawn_rows(Y, W)
        values = np.asarray(self(left[0], right[0]), dtype=np.float64)
        return _average(_average(values, left[1]).T, right[1]).T

    def expected_diagonal(self, X: Points, V: Array) -> Array:
        """E k(x, x) of rows with means X and independent Gaussian cells of variances V [18].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Means of the rows.
        V : array-like of shape (n, d)
            Variances of their cells.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.kernels import Linear
        >>> Linear().expected_diagonal(np.array([[1.0, 2.0]]), np.array([[0.0, 0.5]]))
        array([5.5])
        """
        rows, counts = _drawn_rows(X, V)
        return _average(np.asarray(self.diagonal(rows), dtype=np.float64)[:, None], counts)[:, 0]

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

    def nystroem(self, X: Points, n_landmarks: int = 100, random_state: RandomState = None) -> Any:
        """:class:`gramian.features.Nystroem` features of this kernel, fitted on the rows of X [3].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        n_landmarks : int, default=100
            Rows that the features are built on.
        random_state : None, int, Generator or RandomState

        Returns
        -------
        Nystroem

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> RBF(2.0).nystroem(X, 5).transform(X).shape
        (12, 5)
        """
        return _explicit("nystroem")(self, n_landmarks, random_state=random_state).fit(X)

    def random_features(
        self, n_features: int = 100, random_state: RandomState = None, *, orthogonal: bool = False
    ) -> Any:
        """:class:`gramian.features.RandomFourier` features of this kernel, ready to transform rows of any width [3].

        Parameters
        ----------
        n_features : int, default=100
            How many.
        random_state : None, int, Generator or RandomState
        orthogonal : bool, default=False
            Draw orthogonal frequencies, which spread less.

        Returns
        -------
        RandomFourier

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> RBF(2.0).random_features(50, random_state=0).transform(X).shape
        (12, 50)
        """
        return _explicit("rff")(self, n_features, orthogonal=orthogonal, random_state=random_state).seed()


EXPLICIT_FEATURES: dict[str, Callable[..., Any]] = {}
"""Explicit features of a kernel by their name. Kernels know none: `gramian.features` enters its own when it is imported."""


def _explicit(name: str) -> Callable[..., Any]:
    if name not in EXPLICIT_FEATURES:
        import_module("gramian").fill_tables()
    return EXPLICIT_FEATURES[name]


def _drawn_rows(X: Points, V: Array, n_draws: int = 8) -> tuple[Array, Array]:
    """Draws z and -z of every row that is not fully known, the others as they are, in order; and how many of each."""
    X, V = np.asarray(X, dtype=np.float64), np.asarray(V, dtype=np.float64)
    counts = np.where((V > 0).any(axis=1), n_draws, 1)
    half = np.random.default_rng(0).standard_normal((n_draws // 2, X.shape[1]))
    half /= np.sqrt(np.square(half).mean(axis=0))  # few as they are, their mean and variance are right
    draws = np.vstack([half, -half])
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(X, counts, axis=0) + np.sqrt(np.repeat(V, counts, axis=0)) * draws[place], counts


def _average(values: Array, counts: Array) -> Array:
    """The mean over the draws of each row."""
    starts = np.cumsum(counts) - counts
    return np.asarray(np.add.reduceat(values, starts, axis=0) / counts[:, None])


def _blocks(n_rows: int) -> list[slice]:
    edges = [*range(0, n_rows, SIZES.tile), n_rows]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _assemble(tile: Tile, n_rows: int, n_columns: int, dtype: DType) -> Array:
    if n_rows * n_columns <= (2 * SIZES.tile) ** 2:
        return tile(slice(0, n_rows), slice(0, n_columns))
    values = np.empty((n_rows, n_columns), dtype=dtype)

    def fill(rows: slice) -> None:
        for columns in _blocks(n_columns):
            values[rows, columns] = tile(rows, columns)

    _run(fill, _blocks(n_rows))
    return values


def _symmetric(tile: Tile, n_rows: int, dtype: DType) -> Array:
    """The Gram matrix from its upper tiles, symmetric to the last bit."""
    if n_rows <= 2 * SIZES.tile:
        return symmetric_part(tile(slice(0, n_rows), slice(0, n_rows)))
    gram = np.empty((n_rows, n_rows), dtype=dtype)

    def fill(rows: slice) -> None:
        gram[rows, rows] = symmetric_part(tile(rows, rows))
        for columns in _blocks(n_rows):
            if columns.start > rows.start:
                block = tile(rows, columns)
                gram[rows, columns] = block
                gram[columns, rows] = block.T

    _run(fill, _blocks(n_rows))
    return gram


def _run(fill: Callable[[slice], None], blocks: list[slice]) -> None:
    n_threads = thread_count()
    with single_blas_thread():
        thread_map(fill, blocks, n_threads)
