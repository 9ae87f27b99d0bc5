"""Eigenvalues of a dense matrix, and a few columns turned into its eigenvectors, which are not formed themselves [13]."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from gramian._arrays import Array

FEWEST_ROWS = 64
"""Smaller matrices are decomposed whole: the calls would cost more than they save."""


def turned(matrix: Array, block: Array) -> tuple[Array, Array]:
    """Eigenvalues l of a symmetric matrix, largest first, and VᵀB for its eigenvectors V and the ``block`` B (n, m); the matrix is spent.

    A = Q T Qᵀ by Householder reflections with T tridiagonal, T = Z L Zᵀ, so VᵀB = Zᵀ(QᵀB): the product QZ, a third of the work of a
    decomposition, is left out. Only the lower triangle of the matrix is read.

    >>> import numpy as np
    >>> values, found = turned(np.diag([1.0, 3.0]), np.array([[5.0], [7.0]]))
    >>> values.tolist(), np.abs(found).tolist()
    ([3.0, 1.0], [[7.0], [5.0]])
    """
    n = len(matrix)
    if n < FEWEST_ROWS:
        values, vectors = linalg.eigh(matrix, check_finite=False)
        return values[::-1], vectors[:, ::-1].T @ block
    work = int(lapack.dsytrd_lwork(n, lower=1)[0])
    # the transposed view is in Fortran's order: no copy, and its lower triangle is the upper one of the matrix, the same to rounding
    reduced, diagonal, beside, scales, info = lapack.dsytrd(matrix.T, lower=1, lwork=work, overwrite_a=True)
    if info != 0:
        raise np.linalg.LinAlgError(f"A matrix of {n} rows could not be made tridiagonal (LAPACK's dsytrd: {info}).")
    reflected = np.array(block, dtype=np.float64, order="F")
    reflected[1:] = _reflected(reduced[1:, :-1], scales, reflected[1:])
    values, axes = _tridiagonal_pairs(diagonal, beside)
    return values[::-1], axes[:, ::-1].T @ reflected


def _reflected(reflections: Array, scales: Array, block: Array) -> Array:
    """QᵀB."""
    a, c = np.asfortranarray(reflections), np.asfortranarray(block)
    size = int(lapack.dormqr("L", "T", a, scales, c, -1)[1][0])
    found: Any = lapack.dormqr("L", "T", a, scales, c, size)
    return np.asarray(found[0])


def _tridiagonal_pairs(diagonal: Array, beside: Array) -> tuple[Array, Array]:
    """By divide and conquer where SciPy offers it."""
    if hasattr(lapack, "dstevd"):
        values, axes, info = lapack.dstevd(diagonal, beside)
        if info == 0:
            return values, axes
    found: tuple[Array, Array] = linalg.eigh_tridiagonal(diagonal, beside, check_finite=False)
    return found
