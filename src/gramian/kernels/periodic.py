"""The periodic kernel: a Gaussian kernel on the circle."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_number
from gramian._types import DType, Points
from gramian.kernels._radial import Stationary
from gramian.kernels._rows import pair_of_rows
from gramian.kernels._scales import check_length_scale
from gramian.kernels.base import Kernel, Tile
from gramian.kernels.rbf import RBF


class Periodic(Stationary):
    """k(x, y) = exp(-2 Σⱼ sin²(π (xⱼ - yⱼ) / period) / ℓⱼ²).

    With u(x) = (cos 2πx/period, sin 2πx/period), |u(x) - u(y)|² = 4 sin²(π (x - y) / period): the RBF kernel of u.

    Parameters
    ----------
    length_scale : float, array of shape (d,), "median" or "local", default=1.0
        ℓ, one for all columns or one for each; "median" is the median distance between distinct training rows,
        "local" twice the distance to near neighbours.
    period : float, default=1.0
        The same shift of any column leaves the kernel as it is.

    Examples
    --------
    >>> from gramian.kernels import Periodic
    >>> Periodic(1.0, period=2.0)([[0.0], [1.0], [2.0]]).round(4)
    array([[1.    , 0.1353, 1.    ],
           [0.1353, 1.    , 0.1353],
           [1.    , 0.1353, 1.    ]])
    """

    differentiable: Any = True
    period: Annotated[float, "positive"]

    def __init__(self, length_scale: Any = 1.0, period: float = 1.0) -> None:
        self.length_scale = length_scale
        self.period = period

    def resolve(self, X: Points) -> Kernel:
        return super().resolve(X).set_params(period=self._period())

    def factors(self, X: Points, Y: Points, dtype: DType) -> tuple[Array, Array] | None:
        return self._on_circle(X).factors(*self._circles(X, Y), dtype)

    def profile(self, products: Array) -> Array:
        return RBF().profile(products)

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        return self._on_circle(X).tiles(*self._circles(X, Y), dtype)

    def gradient(self, X: Points, Y: Points, coefficients: Array) -> Array:
        X, Y = pair_of_rows(self, X, Y)
        circle, other = self._circles(X, Y)
        by_cosine, by_sine = np.hsplit(self._on_circle(X).gradient(circle, other, coefficients), 2)
        cosine, sine = np.hsplit(circle, 2)
        return (2.0 * np.pi / self._period()) * (by_sine * cosine - by_cosine * sine)

    def _on_circle(self, X: Points) -> RBF:
        scale = check_length_scale(self.length_scale, X.shape[1])
        return RBF(scale if np.ndim(scale) == 0 else np.tile(scale, 2))

    def _circles(self, X: Points, Y: Points) -> tuple[Array, Array]:
        circle = self._circle(X)
        return circle, circle if Y is X else self._circle(Y)

    def _circle(self, X: Points) -> Array:
        turns = np.asarray(X, dtype=np.float64) / self._period()
        angle = 2.0 * np.pi * (turns - np.rint(turns))  # whole turns go first: π is not exact
        return np.hstack([np.cos(angle), np.sin(angle)])

    def _period(self) -> float:
        return check_number("period", self.period, 0.0, open_low=True)
