"""The polynomial kernel."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import check_count, check_number
from gramian._types import Points
from gramian.kernels._dot import DotProduct, check_rate
from gramian.kernels._rows import kernel_rows


class Polynomial(DotProduct):
    """k(x, y) = (γ xᵀy + c)^p.

    Parameters
    ----------
    degree : int, default=3
        p, at least 1.
    gamma : float, optional
        γ > 0; None stands for 1 / (number of columns) and is frozen in `fit`.
    coef0 : float, default=1
        c; with c < 0 the kernel need not be positive semi-definite.

    Examples
    --------
    >>> from gramian.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0)([[1.0, 2.0], [0.0, 1.0]])
    array([[36.,  9.],
           [ 9.,  4.]])
    """

    degree: Annotated[int, "count"]
    gamma: Annotated[float | None, "positive"]
    coef0: Annotated[float, "number"]

    search = MappingProxyType({"degree": (1, 5), "coef0": ("log", 1e-2, 1e2)})

    def __init__(self, degree: int = 3, gamma: float | None = None, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    @property
    def positive_semidefinite(self) -> bool:
        return bool(self.coef0 >= 0)

    def resolve(self, X: Points) -> Polynomial:
        X = kernel_rows(self, X)
        return clone(self).set_params(
            degree=check_count("degree", self.degree, 1),
            gamma=check_rate(self.gamma, X.shape[1]),
            coef0=check_number("coef0", self.coef0),
        )

    def rate(self, n_columns: int) -> float:
        return check_rate(self.gamma, n_columns)

    def profile(self, products: Array) -> Array:
        return self._power(products, check_count("degree", self.degree, 1))

    def slope(self, products: Array) -> Array:
        degree = check_count("degree", self.degree, 1)
        values = self._power(products, degree - 1)
        values *= degree
        return values

    def _power(self, products: Array, degree: int) -> Array:
        """(products + c)^degree in place, by repeated squaring: `**` takes a logarithm for each entry."""
        products += check_number("coef0", self.coef0)
        if degree == 0:
            products[...] = 1.0
            return products
        digits = f"{degree:b}"[1:]
        base = products.copy() if "1" in digits else products
        with np.errstate(over="ignore", invalid="ignore"):  # callers look at the result: finite_gram
            for digit in digits:
                products *= products
                if digit == "1":
                    products *= base
        return products

    def expected(self, X: Points, V: Array, Y: Points, W: Array) -> Array:
        degree, rate = check_count("degree", self.degree, 1), self.rate(X.shape[1])
        if degree > 3:  # up to here the moments of xᵀy are closed form
            return super().expected(X, V, Y, W)
        spread = V @ np.square(Y).T + np.square(X) @ W.T + V @ W.T
        return self._moment(degree, rate * (X @ Y.T), rate**2 * spread, rate**3 * 6.0 * ((X * V) @ (Y * W).T))

    def expected_diagonal(self, X: Points, V: Array) -> Array:
        degree, rate = check_count("degree", self.degree, 1), self.rate(X.shape[1])
        if degree > 3:  # up to here the moments of xᵀy are closed form
            return super().expected_diagonal(X, V)
        spread = (4.0 * X**2 * V + 2.0 * V**2).sum(axis=1)
        skew = (24.0 * X**2 * V**2 + 8.0 * V**3).sum(axis=1)
        return self._moment(degree, rate * (X**2 + V).sum(axis=1), rate**2 * spread, rate**3 * skew)

    def _moment(self, degree: int, mean: Array, variance: Array, skew: Array) -> Array:
        """E (u + c)^degree from the mean and the central moments of u."""
        mean = mean + check_number("coef0", self.coef0)
        moments = (mean, mean**2 + variance, mean**3 + 3.0 * mean * variance + skew)
        return np.asarray(moments[degree - 1])
