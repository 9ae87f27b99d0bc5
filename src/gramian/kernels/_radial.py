"""Kernels that are an elementwise function of the scaled squared distance, from one matrix product a tile."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from gramian._arrays import Array, row_chunks
from gramian._types import DType, Points
from gramian.kernels._rows import dense, kernel_rows, pair_of_rows, squared_norms
from gramian.kernels._scales import check_length_scale, resolved_length_scale
from gramian.kernels.base import Kernel, Tile
from gramian.policy import SIZES

NEAR = 1e-4
"""Where rounding shows, pairs nearer than this fraction of hₓ + h_y are computed again from x - y."""


def _plain(largest: float, dtype: DType = np.float64) -> bool:
    """Whether the rounding error eps (hₓ + h_y) of a product, h = |x|²/2ℓ², does not show in the kernel: 1e-13, in float32 1e-6."""
    return largest <= (4.0 if dtype == np.float32 else 500.0)


class Stationary(Kernel):
    """A kernel of x - y with a ``length_scale``: a number, an array with one for each column, or "median"."""

    stationary: Any = True
    length_scale: Annotated[Any, "scales"]

    def resolve(self, X: Points) -> Kernel:
        X = kernel_rows(self, X)
        return clone(self).set_params(length_scale=resolved_length_scale(self.length_scale, X))

    def diagonal(self, X: Points) -> Array:
        X = kernel_rows(self, X)
        check_length_scale(self.length_scale, X.shape[1])
        return np.ones(X.shape[0])

    def diagonal_gradient(self, X: Points) -> Array:
        return np.zeros(kernel_rows(self, X).shape)

    def expected_diagonal(self, X: Points, V: Array) -> Array:
        return self.diagonal(X)


class Radial(Stationary):
    """k(x, y) = f(-|x - y|²/2ℓ²); a subclass gives f as ``profile``, f' as ``slope`` and -2 f⁻¹ as ``squared_radius``.

    One product gives the argument of f for a whole tile, [x/ℓ, -h, 1] [y/ℓ, 1, -h]ᵀ with h = |x|²/2ℓ² and both sides
    centred on the mean of X. Where its rounding error, eps (hₓ + h_y), could be seen in the kernel, the product is
    taken in float64 and the pairs of nearly equal rows are computed again from their difference.
    """

    differentiable: Any = True
    accepts_sparse: Any = True
    sharp: Any = False
    """Whether f has a root at 0, where the smallest rounding of the distance shows."""

    @property
    def isotropic(self) -> bool:
        return bool(np.ndim(self.length_scale) == 0)

    def slope(self, products: Array) -> Array:
        """f' at the products, in place [4].

        Parameters
        ----------
        products : ndarray
            -|x - y|²/2ℓ²; overwritten.

        Returns
        -------
        ndarray
            The same array.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.kernels import RBF
        >>> RBF(1.0).slope(np.array([0.0]))
        array([1.])
        """
        raise TypeError(f"{self!r} offers no gradient.")

    def squared_radius(self, values: Array) -> Array:
        """|x - y|²/ℓ² from kernel values in (0, 1) [4].

        Parameters
        ----------
        values : ndarray
            Kernel values in (0, 1).

        Returns
        -------
        ndarray of the same shape

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.kernels import RBF
        >>> RBF(1.0).squared_radius(np.array([np.exp(-2.0)])).round(6)
        array([4.])
        """
        raise TypeError(f"{self!r} does not give distances.")

    def factors(self, X: Points, Y: Points, dtype: DType) -> tuple[Array, Array] | None:
        if self.sharp or sparse.issparse(X) or sparse.issparse(Y):
            return None
        products = _Products(X, Y, check_length_scale(self.length_scale, X.shape[1]), dtype, sharp=False)
        return (products.left, products.right) if products.plain else None

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        scale = check_length_scale(self.length_scale, X.shape[1])
        kind = _SparseProducts if sparse.issparse(X) or sparse.issparse(Y) else _Products
        products = kind(X, Y, scale, dtype, sharp=self.sharp)
        return lambda rows, columns: self.profile(products.tile(rows, columns))

    def gradient(self, X: Points, Y: Points, coefficients: Array) -> Array:
        X, Y = (dense(rows) for rows in pair_of_rows(self, X, Y))
        scale = check_length_scale(self.length_scale, X.shape[1])
        products = _Products(X, Y, scale, np.float64, sharp=True)
        weights = np.asarray(coefficients) * self.slope(products.tile(slice(0, X.shape[0]), slice(0, Y.shape[0])))
        # Σⱼ wᵢⱼ (yⱼ - xᵢ) / ℓ², about the mean of Y so that an offset of the data does not cancel
        center = Y.mean(axis=0, dtype=np.float64)
        return np.asarray((weights @ (Y - center) - weights.sum(axis=1)[:, None] * (X - center)) / np.square(scale))

    def squared_distance(self, values: Any) -> Array:
        if not self.isotropic:
            return super().squared_distance(values)
        scale = check_length_scale(self.length_scale, 1)
        values = np.asarray(values, dtype=np.float64)
        squares = np.where(values > 0, 0.0, np.inf)
        inside = (values > 0) & (values < 1)
        squares[inside] = np.square(scale) * self.squared_radius(values[inside])
        return squares


def clip_products(products: Array) -> Array:
    """-|x - y|²/2ℓ² is never positive, but its rounded value may be."""
    return np.minimum(products, 0.0, out=products)


class _Products:
    """-|x - y|²/2ℓ² for tiles of dense rows."""

    def __init__(self, X: Points, Y: Points, scale: float | Array, dtype: DType, *, sharp: bool) -> None:
        self.X, self.Y, self.scale, self.dtype = X, Y, scale, np.dtype(dtype)
        single = self.dtype == np.float32
        largest = np.inf
        if single and not sharp:
            largest = self._prepare(np.float32)
        self.plain = _plain(largest, np.float32)
        if not self.plain:
            largest = self._prepare(np.float64)
            self.plain = not (single or sharp) and _plain(largest)
        self.repair = sharp or not _plain(largest)

    def _prepare(self, dtype: DType) -> float:
        """Set the factors; the largest h."""
        X, Y = self.X, self.Y
        with np.errstate(over="ignore", invalid="ignore"):
            center = np.mean(X, axis=0, dtype=np.float64) if X.shape[0] else 0.0
            self.left = _augment(X, center, self.scale, dtype)
            self.right = _swap(self.left if Y is X else _augment(Y, center, self.scale, dtype))
        self.left_half, self.right_half = -self.left[:, -2], -self.right[:, -1]
        return _largest(self.left_half, self.right_half)

    def tile(self, rows: slice, columns: slice) -> Array:
        products = self.left[rows] @ self.right[columns].T
        if self.repair:
            self._repair(products, rows, columns)
        if self.X is self.Y:
            _zero_diagonal(products, rows, columns, self.X.shape[0])
        return products.astype(self.dtype, copy=False)

    def _repair(self, products: Array, rows: slice, columns: slice) -> None:
        left, right = self.left_half[rows], self.right_half[columns]
        # one comparison with a number first: most tiles have few candidates
        i, j = np.nonzero(products > -NEAR * (left.max(initial=0) + right.max(initial=0)))
        near = products[i, j] > -NEAR * (left[i] + right[j])
        i, j = i[near], j[near]
        X, Y = self.X[rows], self.Y[columns]
        for part in row_chunks(i.shape[0], max(1, SIZES.chunk // (16 * X.shape[1]))):
            difference = np.subtract(X[i[part]], Y[j[part]], dtype=np.float64) / self.scale
            products[i[part], j[part]] = -0.5 * squared_norms(difference)


class _SparseProducts:
    """-|x - y|²/2ℓ² for tiles of sparse rows: float64, about the origin, since centring would fill them."""

    def __init__(self, X: Points, Y: Points, scale: float | Array, dtype: DType, *, sharp: bool) -> None:
        self.dtype = np.dtype(dtype)
        self.left = _scale(X, scale)
        self.right = self.left if Y is X else _scale(Y, scale)
        self.left_half = 0.5 * squared_norms(self.left)
        self.right_half = 0.5 * squared_norms(self.right)
        self.repair = sharp or not _plain(_largest(self.left_half, self.right_half))

    def tile(self, rows: slice, columns: slice) -> Array:
        left, right = self.left_half[rows], self.right_half[columns]
        sums = np.add.outer(left, right)
        products = dense(self.left[rows] @ self.right[columns].T) - sums
        if self.repair:
            i, j = np.nonzero(products > -NEAR * sums)
            for part in row_chunks(i.shape[0], SIZES.chunk >> 10):
                difference = self.left[rows][i[part]] - self.right[columns][j[part]]
                products[i[part], j[part]] = -0.5 * squared_norms(difference)
        if self.left is self.right:
            _zero_diagonal(products, rows, columns, self.left.shape[0])
        return products.astype(self.dtype, copy=False)


def _largest(left_half: Array, right_half: Array) -> float:
    largest = float(max(left_half.max(initial=0), right_half.max(initial=0)))
    if not np.isfinite(largest):
        raise ValueError(
            "Squared distances leave the range of float64: the data are too large for this length_scale. "
            "rescale them, or use length_scale='median'."
        )
    return largest


def _augment(X: Points, center: Any, scale: float | Array, dtype: DType) -> Array:
    """[(x - center)/ℓ, -h, 1], prepared in float64 whatever its dtype."""
    n_rows, n_columns = X.shape
    augmented = np.empty((n_rows, n_columns + 2), dtype=dtype)
    for part in row_chunks(n_rows):
        block = np.subtract(X[part], center, dtype=np.float64)
        block /= scale
        augmented[part, :n_columns] = block
        augmented[part, n_columns] = -0.5 * squared_norms(augmented[part, :n_columns])
    augmented[:, n_columns + 1] = 1.0
    return augmented


def _swap(augmented: Array) -> Array:
    """[y, 1, -h] from [y, -h, 1]."""
    swapped = augmented.copy()
    swapped[:, -2:] = augmented[:, :-3:-1]
    return swapped


def _scale(X: Points, scale: float | Array) -> Any:
    wide = sparse.csr_array(X, dtype=np.float64)
    return wide / scale if np.ndim(scale) == 0 else sparse.csr_array(wide.multiply(1.0 / np.asarray(scale)[None, :]))


def _zero_diagonal(products: Array, rows: slice, columns: slice, n_rows: int) -> None:
    """A row is at distance 0 from itself, to the last bit."""
    first, last, _ = rows.indices(n_rows)
    start, stop, _ = columns.indices(n_rows)
    same = np.arange(max(first, start), min(last, stop))
    products[same - first, same - start] = 0.0
