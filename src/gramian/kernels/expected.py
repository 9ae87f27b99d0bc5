"""Kernels of rows that are not fully known: E k(x, y) under the laws of two rows [18]."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import row_hashes
from gramian._types import DType, Points
from gramian.kernels.base import Kernel, Tile


def as_laws(means: Array, variances: Array | None = None) -> Array:
    """Rows as laws, (n, 2d): means, then variances; 0 where a cell is known."""
    means = np.asarray(means, dtype=np.float64)
    return np.hstack([means, np.zeros_like(means) if variances is None else variances])


def law_parts(laws: Array) -> tuple[Array, Array]:
    """Means and variances of rows that are laws."""
    laws = np.asarray(laws, dtype=np.float64)
    d = laws.shape[1] // 2
    return laws[:, :d], laws[:, d:]


class Expected(Kernel):
    """K(x, y) = E k(x, y) of rows that are laws: columns are the means of the cells, then their variances [18].

    Two rows are independent, a row and itself (or a copy of it, so that weights equal repeated rows) are not: their value is E k(x, x). What
    is known for certain has variance 0.

    Parameters
    ----------
    kernel : Kernel
        The kernel of known rows; ``kernel__length_scale`` reaches its parameters.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> from gramian.kernels.expected import Expected
    >>> Expected(Linear())([[1.0, 0.5], [2.0, 0.0]])
    array([[1.5, 2. ],
           [2. , 4. ]])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @property
    def positive_semidefinite(self) -> bool:
        return bool(self.kernel.positive_semidefinite)

    def resolve(self, X: Points) -> Kernel:
        return Expected(self.kernel.resolve(law_parts(X)[0]))

    def diagonal(self, X: Points) -> Array:
        return self.kernel.expected_diagonal(*law_parts(X))

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        left = law_parts(X)
        right = left if Y is X else law_parts(Y)
        own = self.kernel.expected_diagonal(*left)
        names = _names(X, left[1])
        others = names if Y is X else _names(Y, right[1])

        def tile(rows: slice, columns: slice) -> Array:
            values = self.kernel.expected(*(part[rows] for part in left), *(part[columns] for part in right))
            i, j = np.nonzero(np.equal.outer(names[rows], others[columns]) & (names[rows] != 0)[:, None])
            values[i, j] = own[rows][i]
            return values.astype(dtype, copy=False)

        return tile


def _names(laws: Array, variances: Array) -> Array:
    """A number per row by which it is known again, from what it holds; 0 for rows without holes, which need none.

    Far from zero the digits of a hash are the same for all rows: of cells that are known all digits count, of means that were computed those of a hash.
    """
    means = np.asarray(laws)[:, : variances.shape[1]]
    with np.errstate(over="ignore", invalid="ignore"):
        rest = means - means.astype(np.float32)
    rest = np.where((variances == 0) & np.isfinite(rest), rest, 0.0)
    return np.where(variances.any(axis=1), row_hashes(np.hstack([laws, rest])), np.uint64(0))


__all__: list[Any] = ["Expected", "as_laws", "law_parts"]
