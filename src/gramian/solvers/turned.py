"""A dense symmetric matrix decomposed as far as it is needed: its eigenvectors are applied, or the leading ones formed [13].

A = Q T Qᵀ by Householder reflections with T tridiagonal, and T = Z L Zᵀ: the eigenvectors are V = QZ, and that product is a third of
the work of a decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from gramian._arrays import Array


def turn_block(matrix: Array, block: Array) -> tuple[Array, Array]:
    """Eigenvalues l of a symmetric matrix, largest first, and VᵀB for its eigenvectors V and the ``block`` B (n, m); the matrix is spent.

    >>> import numpy as np
    >>> values, found = turn_block(np.diag([1.0, 3.0]), np.array([[5.0], [7.0]]))
    >>> values.tolist(), np.abs(found).tolist()
    ([3.0, 1.0], [[7.0], [5.0]])
    """
    parts = Reflected.of(matrix)
    return parts.values, parts.turned(block)


@dataclass(frozen=True)
class Reflected:
    """The parts of V = QZ, with the eigenvalues; in float32 where the matrix was.

    >>> import numpy as np
    >>> parts = Reflected.of(np.diag([1.0, 3.0, 2.0]))
    >>> parts.values.tolist(), np.abs(parts.leading(1)).tolist()
    ([3.0, 2.0, 1.0], [[0.0], [1.0], [0.0]])
    """

    values: Array  # l, largest first
    axes: Array  # Z, in rising order of l
    reflections: Array | None  # below the first row; None where Z is V itself
    scales: Array | None

    @classmethod
    def of(cls, matrix: Array) -> Reflected:
        """Decompose a symmetric matrix, which is spent; only its upper triangle is read."""
        n = len(matrix)
        if n < 64:  # the calls would cost more than they save
            values, vectors = linalg.eigh(matrix, lower=False, check_finite=False)
            return cls(values[::-1], vectors, None, None)
        work = int(_routine("sytrd_lwork", matrix)(n, lower=1)[0])
        # the transposed view is in Fortran's order: no copy, and its lower triangle is the upper one of the matrix
        reduced, diagonal, beside, scales, info = _routine("sytrd", matrix)(
            matrix.T, lower=1, lwork=work, overwrite_a=True
        )
        if info != 0:
            raise np.linalg.LinAlgError(f"A matrix of {n} rows could not be made tridiagonal (LAPACK's sytrd: {info}).")
        values, axes = _tridiagonal_pairs(diagonal, beside)
        return cls(values[::-1], axes, np.asfortranarray(reduced[1:, :-1]), scales)

    def turned(self, block: Array, count: int | None = None) -> Array:
        """VᵀB = Zᵀ(QᵀB), rows in the order of the values; the first ``count`` alone cost less."""
        axes = self.axes if count is None else self.axes[:, len(self.axes) - count :]
        return np.asarray((axes.T @ self._reflected(block, "T"))[::-1])

    def __matmul__(self, block: Array) -> Array:
        """VB = Q(ZB), for a block with one row for each of the largest eigenvalues, as many as it has."""
        return self._reflected(self.axes[:, len(self.axes) - len(block) :] @ block[::-1], "N")

    def leading(self, count: int) -> Array:
        """The eigenvectors of the ``count`` largest eigenvalues, as columns."""
        return self._reflected(self.axes[:, : -count - 1 : -1], "N")

    def _reflected(self, block: Array, transposed: str) -> Array:
        """QB, or QᵀB."""
        found = np.array(block, dtype=self.axes.dtype, order="F")
        if self.reflections is None:
            return found
        apply, below = _routine("ormqr", self.axes), np.asfortranarray(found[1:])
        size = int(apply("L", transposed, self.reflections, self.scales, below, -1)[1][0])
        found[1:] = apply("L", transposed, self.reflections, self.scales, below, size)[0]
        return found


def _routine(name: str, matrix: Array) -> Any:
    return getattr(lapack, ("s" if matrix.dtype == np.float32 else "d") + name)


def _tridiagonal_pairs(diagonal: Array, beside: Array) -> tuple[Array, Array]:
    """By divide and conquer where SciPy offers it."""
    if hasattr(lapack, "dstevd"):
        values, axes, info = _routine("stevd", diagonal)(diagonal, beside)
        if info == 0:
            return values, axes
    found: tuple[Array, Array] = linalg.eigh_tridiagonal(diagonal, beside, check_finite=False)
    return found
