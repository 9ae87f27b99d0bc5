"""The Gaussian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.kernels._radial import Radial, clipped


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
