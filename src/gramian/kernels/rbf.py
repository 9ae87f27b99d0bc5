"""The Gaussian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._types import Points
from gramian.kernels._radial import Radial, _Products, clip_products
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
        clip_products(products)
        return np.exp(products, out=products)

    def slope(self, products: Array) -> Array:
        return self.profile(products)

    def squared_radius(self, values: Array) -> Array:
        return -2.0 * np.log(values)

    def expected(self, X: Points, V: Array, Y: Points, W: Array) -> Array:
        scale = np.broadcast_to(check_length_scale(self.length_scale, X.shape[1]), X.shape[1])
        whole = slice(0, X.shape[0]), slice(0, Y.shape[0])
        holed = (V > 0).any(axis=0) | (W > 0).any(
            axis=0
        )  # far means of unsure cells would take the digits of the others
        exponents = clip_products(
            _Products(X[:, ~holed], Y[:, ~holed], scale[~holed], np.float64, sharp=False).tile(*whole)
        )
        shares = np.ones_like(exponents)  # Π l² / (l² + v + w)
        share, gap = np.empty_like(exponents), np.empty_like(exponents)
        for j in np.flatnonzero(holed):
            np.add.outer(1.0 + V[:, j] / scale[j] ** 2, W[:, j] / scale[j] ** 2, out=share)
            np.reciprocal(share, out=share)  # 1 where both rows know the column
            np.subtract.outer(X[:, j] / scale[j], Y[:, j] / scale[j], out=gap)
            np.square(gap, out=gap)
            shares *= share
            gap *= np.multiply(share, 0.5, out=share)
            exponents -= gap
        return np.asarray(np.exp(exponents) * np.sqrt(shares))
