"""Kernel values that were computed elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array, row_chunks
from gramian._precision import HALF_DIGITS
from gramian._types import DType, Points, Table
from gramian.kernels._rows import kernel_rows
from gramian.kernels.base import Kernel, Tile


class Precomputed(Kernel):
    """The "rows" are kernel values themselves: k(xᵢ, yⱼ) over the training points yⱼ, one column each.

    Called with one matrix it returns it; with two, the first holds the values and the second has one row for each of
    its columns. :meth:`resolve` refuses a training matrix that is not square, finite and symmetric, or has a negative
    diagonal.

    Examples
    --------
    >>> from gramian.kernels import Precomputed
    >>> Precomputed().diagonal([[2.0, 1.0], [1.0, 3.0]])
    array([2., 3.])
    """

    positive_semidefinite: Any = False

    def __call__(self, X: Points, Y: Points | None = None) -> Array:
        X = kernel_rows(self, X)
        if Y is not None and X.shape[1] != len(Y):
            raise ValueError(
                f"The precomputed kernel has {X.shape[1]} columns, but there are {len(Y)} training points. "
                "Give k(x, y) for each of them, in their order."
            )
        return np.array(X)

    def diagonal(self, X: Points) -> Array:
        X = kernel_rows(self, X)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed kernel of shape {X.shape} has no diagonal of its own. Give k(y, y) as diagonal=."
            )
        return np.diagonal(X).astype(np.float64)

    def resolve(self, X: Points) -> Precomputed:
        check_gram(kernel_rows(self, X))
        return clone(self)

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        return lambda rows, columns: np.array(X[rows, columns], dtype=dtype)


def check_square(K: Array) -> Array:
    """K if it has a column per row."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"The precomputed kernel must be a square matrix, got shape {K.shape}.")
    return K


def check_gram(K: Array) -> Array:
    """K if it can be a Gram matrix: square, symmetric, no negative diagonal (finite was checked at the door)."""
    check_square(K)
    # by rows: the difference as a whole would be a second matrix
    asymmetry = max(float(np.abs(K[part] - K.T[part]).max()) for part in row_chunks(K.shape[0], 256))
    largest = float(max(K.max(), -K.min()))
    if asymmetry > max(HALF_DIGITS, 16 * float(np.finfo(K.dtype).eps)) * largest:
        raise ValueError(
            f"The precomputed kernel is not symmetric: max |K - K.T| = {asymmetry:.3g}. "
            "Use (K + K.T) / 2 if that is rounding; otherwise it is no kernel."
        )
    diagonal = np.diagonal(K)
    if (diagonal < 0).any():
        raise ValueError(
            f"The precomputed kernel has a negative diagonal (smallest {float(diagonal.min()):.3g}): "
            "k(x, x) is a squared norm."
        )
    return K


def check_diagonal(diagonal: Table | None, n_rows: int, method: str, *, precomputed: bool) -> Array | None:
    """k(y, y) of new rows, which go with a precomputed kernel and with no other; None where the kernel knows them itself."""
    if not precomputed:
        if diagonal is not None:
            raise ValueError("diagonal= goes with kernel='precomputed' only.")
        return None
    if diagonal is None:
        raise ValueError(f"{method} with kernel='precomputed' needs diagonal=, the values k(y, y) of the rows.")
    values = np.asarray(diagonal, dtype=np.float64).ravel()
    if len(values) != n_rows:
        raise ValueError(f"diagonal has {len(values)} values, but X has {n_rows} rows.")
    if not np.isfinite(values).all():
        raise ValueError("diagonal contains NaN or infinity.")
    return values
