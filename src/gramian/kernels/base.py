"""Kernel: a positive semi-definite function k(x, y) = <φ(x), φ(y)>, called as k(X, Y)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from gramian._arrays import Array

Tile = Callable[[slice, slice], Array]


class Kernel(BaseEstimator):
    """What every kernel offers. A new one needs ``__call__`` (or ``factors`` and ``profile``) and ``diagonal``.

    Parameters are stored as given and checked by :meth:`resolve`, which `fit` calls once on the training rows.
    """

    positive_semidefinite = True
    """Whether every Gram matrix is PSD; where it may not be, `fit` looks at the smallest eigenvalue."""

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """k(xᵢ, yⱼ), shape (len(X), len(Y)); Y is X when omitted."""
        raise TypeError(f"{type(self).__name__} does not say how to evaluate itself.")

    def diagonal(self, X: Any) -> Array:
        """k(xᵢ, xᵢ) without the rest of the Gram matrix."""
        raise TypeError(f"{type(self).__name__} does not say how to evaluate its diagonal.")

    def resolve(self, X: Any) -> Kernel:
        """A clone whose parameters are checked and are numbers: "median" and None are settled on the rows of X."""
        return clone(self)

    def factors(self, X: Any, Y: Any, dtype: Any) -> tuple[Array, Array] | None:
        """Matrices (left, right) with k(X, Y) = profile(left @ right.T), or None for kernels of no such form."""
        return None

    def profile(self, products: Array) -> Array:
        """The elementwise function of ``left @ right.T`` that gives the kernel; works in place and returns its argument."""
        return products

    def tiles(self, X: Any, Y: Any, dtype: Any = np.float64) -> Tile:
        """A function (rows, columns) -> k(X[rows], Y[columns]) that shares all preparation between tiles."""
        pair = self.factors(X, Y, dtype)
        if pair is None:
            return lambda rows, columns: np.asarray(self(X[rows], Y[columns]), dtype=dtype)
        left, right = pair
        return lambda rows, columns: self.profile(left[rows] @ right[columns].T)
