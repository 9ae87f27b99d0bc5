"""The rational quadratic kernel: a mixture of Gaussian kernels of many widths."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_number
from gramian._types import Points
from gramian.kernels._radial import Radial, clip_products
from gramian.kernels.base import Kernel


class RationalQuadratic(Radial):
    """k(x, y) = (1 + |x - y|² / 2αℓ²)^-α.

    Parameters
    ----------
    length_scale : float, array of shape (d,), "median" or "local", default=1.0
        ℓ, one for all columns or one for each; "median" is the median distance between distinct training rows,
        "local" twice the distance to near neighbours.
    alpha : float, default=1.0
        α > 0: small means many widths together, large means nearly RBF.

    Examples
    --------
    >>> from gramian.kernels import RationalQuadratic
    >>> RationalQuadratic(1.0, alpha=1.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3333],
           [0.3333, 1.    ]])
    """

    alpha: Annotated[float, "positive"]

    search = MappingProxyType({"alpha": ("log", 0.1, 10.0)})

    def __init__(self, length_scale: Any = 1.0, alpha: float = 1.0) -> None:
        self.length_scale = length_scale
        self.alpha = alpha

    def resolve(self, X: Points) -> Kernel:
        return super().resolve(X).set_params(alpha=self._alpha())

    def profile(self, products: Array) -> Array:
        return self._power(products, -self._alpha())

    def slope(self, products: Array) -> Array:
        return self._power(products, -self._alpha() - 1.0)

    def squared_radius(self, values: Array) -> Array:
        alpha = self._alpha()
        with np.errstate(over="ignore"):  # a tiny value at a small alpha is out of reach: inf
            return 2.0 * alpha * np.expm1(-np.log(values) / alpha)

    def _power(self, products: Array, exponent: float) -> Array:
        """(1 - products/α)^exponent, through log1p: accurate also for large α, where it tends to exp."""
        clip_products(products)
        products /= -self._alpha()
        np.log1p(products, out=products)
        products *= exponent
        return np.exp(products, out=products)

    def _alpha(self) -> float:
        return check_number("alpha", self.alpha, 0.0, open_low=True)
