"""All monomials up to a degree, weighted so that their inner product is the polynomial kernel."""

from __future__ import annotations

import os
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import Annotated

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_count, check_number
from gramian._types import Points
from gramian.features.base import FeatureMap
from gramian.kernels._dot import check_rate


class Polynomial(FeatureMap):
    """φ with φ(x)ᵀφ(y) = (γ xᵀy + c)^p exactly: the monomials of z = (√γ x, √c) of degree p, times √(p!/α!).

    Parameters
    ----------
    degree : int, default=3
        p, at least 1.
    gamma : float, optional
        γ > 0; None stands for 1 / (number of columns), as in the kernel.
    coef0 : float, default=1
        c >= 0.

    Attributes
    ----------
    gamma_ : float
        γ.
    powers_ : array of shape (dim, p)
        The columns of z that are multiplied for each feature; column d is √c.
    multinomials_ : array of shape (dim,)
        √(p!/α!).
    dim : int
        binom(d + p, p), or binom(d + p - 1, p) for c = 0. More than fits into memory is a `MemoryError`.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import features, kernels
    >>> X = np.array([[1.0, 2.0], [0.0, 1.0]])
    >>> F = features.Polynomial(degree=2).fit_transform(X)
    >>> bool(np.allclose(F @ F.T, kernels.Polynomial(degree=2)(X)))
    True
    """

    n_features_in_: Annotated[int, "=d"]
    powers_: Annotated[Array, "#=d r *"]
    multinomials_: Annotated[Array, "% r"]
    gamma_: Annotated[float, "number"]

    def __init__(self, degree: int = 3, gamma: float | None = None, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    @property
    def n_drawn(self) -> int:
        return 1  # the number of columns is all that counts

    @property
    def dim(self) -> int:
        check_is_fitted(self)
        return int(self.powers_.shape[0])

    def _fit(self, X: Points, weights: Array) -> None:
        degree = check_count("degree", self.degree, 1)
        coef0 = check_number("coef0", self.coef0, 0.0)
        gamma = check_rate(self.gamma, X.shape[1])
        n_columns = X.shape[1] + (1 if coef0 > 0 else 0)
        dim = comb(n_columns + degree - 1, degree)
        _refuse(dim, X.shape[1], degree, 8 * dim * (degree + 1))
        columns = combinations_with_replacement(range(n_columns), degree)
        powers = np.fromiter((c for row in columns for c in row), dtype=np.int64, count=dim * degree)
        self.gamma_ = gamma
        self.powers_ = powers.reshape(dim, degree)
        self.multinomials_ = _root_multinomials(self.powers_)

    def _features(self, X: Points) -> Array:
        _refuse(self.dim, X.shape[1], self.powers_.shape[1], 16 * self.dim * X.shape[0])
        extended = np.empty((X.shape[0], X.shape[1] + 1))
        np.multiply(X, np.sqrt(self.gamma_), out=extended[:, :-1])
        extended[:, -1] = np.sqrt(self.coef0)
        features = extended[:, self.powers_[:, 0]]
        for column in self.powers_.T[1:]:
            features *= extended[:, column]
        features *= self.multinomials_
        return features


def _root_multinomials(powers: Array) -> Array:
    """√(p!/Πα!) for rows of sorted column numbers: α counts how often each occurs."""
    dim, degree = powers.shape
    runs = np.ones(dim)  # the length of the run of equal columns that ends here
    repeats = np.ones(dim)  # Πα!, built as 1·2·3.. along each run
    for previous, current in zip(powers.T[:-1], powers.T[1:]):
        runs = np.where(previous == current, runs + 1.0, 1.0)
        repeats *= runs
    return np.sqrt(factorial(degree) / repeats)


def _refuse(dim: int, n_columns: int, degree: int, n_bytes: int) -> None:
    limit = physical_memory()
    if n_bytes > limit:
        raise MemoryError(
            f"Polynomial features of degree {degree} of {n_columns} columns are {dim} features and need "
            f"{n_bytes / 1e9:.3g} GB here; this machine has {limit / 1e9:.3g} GB. Use the polynomial kernel, or Nystroem features of it."
        )


def physical_memory() -> int:
    """Bytes of memory in this machine (8 GB where it does not say)."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8_000_000_000
