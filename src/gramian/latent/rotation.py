"""Rotations of loadings: factors that are easier to name, of the same model [20]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian.solvers.spectrum import positive_signs

ROTATIONS = ("varimax", "promax", "oblimin")
"""What ``rotation=`` accepts beside None."""


@dataclass(frozen=True)
class Rotation:
    """Latents u = Tᵀz in the place of z, so that loadings are W T⁻ᵀ and Cov[u] = TᵀT = Φ, with ones on its diagonal.

    An orthogonal T leaves Φ = I. The law of the rows is the same: W T⁻ᵀ u = W z.

    >>> import numpy as np
    >>> turn = Rotation(np.array([[0.6, -0.8], [0.8, 0.6]]))
    >>> W = np.array([[3.0, 4.0], [-4.0, 3.0]])
    >>> bool(np.allclose(turn.loadings(W), 5 * np.eye(2)))
    True
    """

    matrix: Array

    @property
    def correlations(self) -> Array:
        """Φ: of the factors."""
        return np.asarray(self.matrix.T @ self.matrix)

    def loadings(self, W: Array) -> Array:
        """W T⁻ᵀ."""
        return np.asarray(np.linalg.solve(self.matrix, W.T).T)

    def factors(self, latents: Array) -> Array:
        """u = Tᵀz of latents z, one per row."""
        return np.asarray(latents @ self.matrix)

    def latents(self, factors: Array) -> Array:
        """z = T⁻ᵀu of factors u, one per row."""
        return np.asarray(np.linalg.solve(self.matrix.T, factors.T).T)


def rotation_of(loadings: Array, method: str, *, tol: float = 1e-10, max_iter: int = 1000) -> Rotation:
    """The rotation of loadings (d, q) by a name of :data:`ROTATIONS`, on rows of unit length (Kaiser's normalisation).

    Factors come in the order of the variance that they carry, each with its largest loading positive.

    "varimax" is orthogonal: squared loadings of a factor vary as much as they can. "oblimin" lets factors correlate and makes
    Σ_{j<k} Σᵢ λᵢⱼ²λᵢₖ² small (direct quartimin). "promax" turns varimax towards its own fourth powers.

    >>> import numpy as np
    >>> simple = np.kron(np.eye(2), np.ones((3, 1)))
    >>> mixed = simple @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> np.abs(rotation_of(mixed, "varimax").loadings(mixed)).round(9).sum(axis=1).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    W = np.asarray(loadings, dtype=np.float64)
    q = W.shape[1]
    if q < 2 or not W.any():
        return Rotation(np.eye(q))
    length = np.linalg.norm(W, axis=1, keepdims=True)
    rows = W / np.where(length > 0, length, 1.0)
    turned = {"varimax": _varimax, "promax": _promax, "oblimin": _oblimin}[method](rows, tol, max_iter)
    found = turned.loadings(W)
    order = np.argsort(-(found @ turned.correlations * found).sum(axis=0), kind="stable")
    return Rotation(turned.matrix[:, order] * positive_signs(found[:, order]))


def _varimax(A: Array, tol: float, max_iter: int) -> Rotation:
    """Two factors at a time, each time by the best angle (Kaiser 1958), until no angle is worth turning."""
    turned, T, d = np.array(A), np.eye(A.shape[1]), len(A)
    pairs = [(j, k) for j in range(A.shape[1]) for k in range(j)]
    for _ in range(max_iter):
        largest = 0.0
        for j, k in pairs:
            x, y = turned[:, j], turned[:, k]
            u, v = x**2 - y**2, 2 * x * y
            above = 2 * (u @ v - u.sum() * v.sum() / d)
            below = u @ u - v @ v - (u.sum() ** 2 - v.sum() ** 2) / d
            angle = float(np.arctan2(above, below)) / 4
            largest = max(largest, abs(angle))
            c, s = np.cos(angle), np.sin(angle)
            plane = np.array([[c, -s], [s, c]])
            turned[:, [j, k]], T[:, [j, k]] = turned[:, [j, k]] @ plane, T[:, [j, k]] @ plane
        if largest <= tol:
            break
    return Rotation(T)


def _promax(A: Array, tol: float, max_iter: int, power: int = 4) -> Rotation:
    """Least squares from varimax loadings to their powers, with factors of variance 1."""
    first = _varimax(A, tol, max_iter)
    turned = first.loadings(A)
    towards = np.linalg.lstsq(turned, turned * np.abs(turned) ** (power - 1), rcond=None)[0]
    if np.linalg.matrix_rank(towards) < len(towards):
        return first
    lengths = np.sqrt(np.diag(np.linalg.inv(towards.T @ towards)))
    inverse = first.matrix @ towards * lengths  # T⁻ᵀ: loadings are A times this
    return Rotation(np.linalg.inv(inverse).T)


def _oblimin(A: Array, tol: float, max_iter: int) -> Rotation:
    """Gradient projection (Jennrich 2002) from varimax: T keeps columns of length 1, steps halve until they fall."""

    def criterion(loadings: Array) -> tuple[float, Array]:
        squares = loadings**2
        others = squares.sum(axis=1, keepdims=True) - squares
        return float((squares * others).sum() / 4), loadings * others

    return Rotation(_projected_descent(A, criterion, _varimax(A, tol, max_iter).matrix, tol, max_iter))


def _projected_descent(
    A: Array, criterion: Callable[[Array], tuple[float, Array]], T: Array, tol: float, max_iter: int
) -> Array:
    def at(matrix: Array) -> tuple[float, Array, Array]:
        inverse = np.linalg.inv(matrix)
        loadings = A @ inverse.T
        value, slope = criterion(loadings)
        return value, matrix, -(loadings.T @ slope @ inverse).T

    value, T, gradient = at(T)
    step = 1.0
    for _ in range(max_iter):
        direction = gradient - T * (T * gradient).sum(axis=0)
        size = float((direction**2).sum())
        if size <= tol**2 * max(value, 1.0):
            break
        step *= 2
        while step > tol:
            moved = T - step * direction
            trial = at(moved / np.linalg.norm(moved, axis=0))
            if trial[0] < value - 0.5 * step * size:
                value, T, gradient = trial
                break
            step /= 2
        else:
            break
    return T


__all__ = ["ROTATIONS", "Rotation", "rotation_of"]
