"""The Gaussian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._types import Points
from gramian.kernels._radial import Radial, _Products, clipped
from gramian.kernels._scales import check_length_scale


class RBF(Radial):
    """k(x, y) = exp(-|x - y|² / 2ℓ²), with ℓ the ``length_scale``.

    Parameters
    ----------
    length_scale : float, array of shape (d,), "median" or "local", default=1.0
        ℓ, one for all columns or one for each; "median" is the median distance between distinct training rows,
        "local" twice the distance to near neighbours.

    Examples
    --------
    >>> from gramian.kernels import RBF
    >>> RBF(2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> RBF("median").resolve([[0.0], [1.0], [3.0]])
    RBF(length_scale=2.0)
    """

    def __init__(self, length_scale: Any = 1.0) -> None:
        self.length_scale = length_scale

    def profile(self, products: Array) -> Array:
        clipped(products)
        return np.exp(products, out=products)

    def slope(self, products: Array) -> Array:
        return self.profile(products)

    def squared_radius(self, values: Array) -> Array:
        return -2.0 * np.log(values)

    def expected(self, X: Points, V: Array, Y: Points, W: Array) -> Array:
        scale = np.broadcast_to(check_length_scale(self.length_scale, X.shape[1]), X.shape[1])
        whole = slice(0, X.shape[0]), slice(0, Y.shape[0])
        exponents = clipped(_Products(X, Y, scale, np.float64, sharp=False).tile(*whole))
        shares = np.ones_like(exponents)  # Π l² / (l² + v + w)
        every = np.arange(Y.shape[0])
        for j in range(X.shape[1]):
            unknown = V[:, j] > 0
            others = np.flatnonzero(W[:, j] > 0)
            # pairs in which one of the rows does not know the column: rows that do not with all, then the rest with others that do not
            for rows, columns in ((np.flatnonzero(unknown), every), (np.flatnonzero(~unknown), others)):
                if not (rows.size and columns.size):
                    continue
                block = np.ix_(rows, columns)
                share = 1.0 / (1.0 + np.add.outer(V[rows, j], W[columns, j]) / scale[j] ** 2)
                gap = np.subtract.outer(X[rows, j], Y[columns, j]) / scale[j]
                exponents[block] += 0.5 * gap**2 * (1.0 - share)
                shares[block] *= share
        return np.asarray(np.exp(clipped(exponents)) * np.sqrt(shares))
