"""The linear kernel: kernel models with it are the primal ones."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian._types import Points
from gramian.kernels._dot import DotProduct


class Linear(DotProduct):
    """k(x, y) = xᵀy.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> Linear()([[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    """

    def expected(self, X: Points, V: Array, Y: Points, W: Array) -> Array:
        return np.asarray(np.asarray(X, dtype=np.float64) @ np.asarray(Y, dtype=np.float64).T)

    def expected_diagonal(self, X: Points, V: Array) -> Array:
        return self.diagonal(X) + np.asarray(V).sum(axis=1)
