"""The Matérn kernels of half-integer order."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import is_real
from gramian._types import Points
from gramian.kernels._radial import Radial, clip_products
from gramian.kernels.base import Kernel


class Matern(Radial):
    """k(x, y) = p(t) exp(-t), t = √(2ν) |x - y| / ℓ, with p = 1, 1 + t or 1 + t + t²/3 for ν = 1/2, 3/2, 5/2.

    Parameters
    ----------
    length_scale : float, array of shape (d,), "median" or "local", default=1.0
        ℓ, one for all columns or one for each; "median" is the median distance between distinct training rows,
        "local" twice the distance to near neighbours.
    nu : {0.5, 1.5, 2.5}, default=1.5
        ν: draws of a Gaussian process with this kernel are ν - 1/2 times differentiable.

    Examples
    --------
    >>> from gramian.kernels import Matern
    >>> Matern(2.0, nu=0.5)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    nu: Annotated[float, "positive"]

    def __init__(self, length_scale: Any = 1.0, nu: float = 1.5) -> None:
        self.length_scale = length_scale
        self.nu = nu

    @property
    def sharp(self) -> bool:
        return bool(self.nu == 0.5)

    @property
    def differentiable(self) -> bool:
        return bool(self.nu != 0.5)

    def resolve(self, X: Points) -> Kernel:
        return super().resolve(X).set_params(nu=self._order())

    def profile(self, products: Array) -> Array:
        order = self._order()
        minus_t = _minus_root(products, 4.0 * order)
        if order == 0.5:
            return np.exp(minus_t, out=products)
        factor = 1.0 - minus_t
        if order == 2.5:
            factor += minus_t * minus_t / 3.0
        np.exp(minus_t, out=products)
        products *= factor
        return products

    def slope(self, products: Array) -> Array:
        order = self._order()
        if order == 0.5:
            return super().slope(products)
        minus_t = _minus_root(products, 4.0 * order)
        factor = 3.0 if order == 1.5 else (5.0 / 3.0) * (1.0 - minus_t)
        np.exp(minus_t, out=products)
        products *= factor
        return products

    def squared_radius(self, values: Array) -> Array:
        order = self._order()
        minus_log = -np.log(values)
        if order == 0.5:
            return minus_log**2
        # t - log p(t) = -log k, by Newton steps from above: the left side is convex, so they never overshoot
        t = minus_log + 2.0 * np.sqrt(minus_log) + 2.0
        for _ in range(60):
            excess, rise = (t, t) if order == 1.5 else (t + t**2 / 3.0, t * (1.0 + t) / 3.0)  # p - 1, p - p'
            step = (t - np.log1p(excess) - minus_log) * (1.0 + excess) / rise
            t = np.maximum(t - step, 0.25 * t)  # near k = 1 rounding alone could step past 0, where there is no slope
        return t**2 / (2.0 * order)

    def _order(self) -> float:
        if not is_real(self.nu) or float(self.nu) not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu={self.nu!r} must be one of 0.5, 1.5, 2.5. For nu to infinity use RBF.")
        return float(self.nu)


def _minus_root(products: Array, factor: float) -> Array:
    """-t = -√(-factor · products), in place."""
    clip_products(products)
    products *= -factor
    np.sqrt(products, out=products)
    return np.negative(products, out=products)
