"""The sigmoid kernel: not positive semi-definite, kept for comparison."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import check_number
from gramian._types import Points
from gramian.kernels._dot import DotProduct, check_rate
from gramian.kernels._rows import kernel_rows


class Sigmoid(DotProduct):
    """k(x, y) = tanh(γ xᵀy + c), which is not positive semi-definite.

    Parameters
    ----------
    gamma : float, optional
        γ > 0; None stands for 1 / (number of columns) and is frozen in `fit`.
    coef0 : float, default=1
        c.

    Examples
    --------
    >>> from gramian.kernels import Sigmoid
    >>> Sigmoid(gamma=1.0, coef0=0.0)([[1.0], [0.5]]).round(4)
    array([[0.7616, 0.4621],
           [0.4621, 0.2449]])
    """

    positive_semidefinite: Any = False
    gamma: Annotated[float | None, "positive"]
    coef0: Annotated[float, "number"]

    def __init__(self, gamma: float | None = None, coef0: float = 1.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def resolve(self, X: Points) -> Sigmoid:
        X = kernel_rows(self, X)
        return clone(self).set_params(gamma=check_rate(self.gamma, X.shape[1]), coef0=check_number("coef0", self.coef0))

    def rate(self, n_columns: int) -> float:
        return check_rate(self.gamma, n_columns)

    def profile(self, products: Array) -> Array:
        products += check_number("coef0", self.coef0)
        return np.tanh(products, out=products)

    def slope(self, products: Array) -> Array:
        values = self.profile(products)
        return np.subtract(1.0, np.square(values, out=values), out=values)
