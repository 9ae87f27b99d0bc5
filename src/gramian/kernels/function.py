"""A user's function as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from gramian._arrays import Array, row_chunks
from gramian._precision import HALF_DIGITS
from gramian._types import DType, Points
from gramian.kernels._rows import common_dtype, pair_of_rows
from gramian.kernels.base import Kernel, Tile

ADVICE = "Let it return a dense array, give dense rows (.toarray()), or use a kernel of gramian.kernels."


class CallableKernel(Kernel):
    """A function ``k(X, Y) -> array`` of shape (len(X), len(Y)) as a kernel; its values are checked at each call.

    Whether it is positive semi-definite is not known: `fit` looks at the smallest eigenvalue.

    Parameters
    ----------
    function : callable
        Takes two float arrays with equally many columns. It is called with two blocks of rows, never with one.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import CallableKernel
    >>> kernel = CallableKernel(lambda X, Y: np.minimum(X, Y.T))
    >>> kernel([[1.0], [2.0]])
    array([[1., 1.],
           [1., 2.]])
    """

    positive_semidefinite: Any = False
    accepts_sparse: Any = True
    function: Annotated[Any, "never"]

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    @property
    def name(self) -> str:
        """The function's own name, for messages."""
        return str(getattr(self.function, "__name__", repr(self.function)))

    def __call__(self, X: Points, Y: Points | None = None) -> Array:
        X, Y = pair_of_rows(self, X, Y)
        values = self._evaluate(X, Y)
        return self._symmetric(values) if Y is X else values

    def resolve(self, X: Points) -> Kernel:
        X, _ = pair_of_rows(self, X, None)
        self(X[:128])  # a wrong function should fail here, not in the middle of a solver
        return clone(self)

    def _symmetric(self, values: Array) -> Array:
        if values.size:
            asymmetry = float(np.abs(values - values.T).max())
            if asymmetry > max(HALF_DIGITS, 64 * float(np.finfo(values.dtype).eps)) * float(np.abs(values).max()):
                raise ValueError(
                    f"The callable kernel {self.name} is not symmetric: for the rows of one X its values, "
                    f"of shape {values.shape}, differ from their mirror images by up to {asymmetry:.3g}. "
                    "k(x, y) must equal k(y, x)."
                )
        return values

    def diagonal(self, X: Points) -> Array:
        X, _ = pair_of_rows(self, X, None)
        parts = [np.diagonal(self._evaluate(X[part], X[part])) for part in row_chunks(X.shape[0], 128)]
        return np.concatenate(parts, dtype=np.float64)

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        def tile(rows: slice, columns: slice) -> Array:
            values = self._evaluate(X[rows], Y[columns])
            if Y is X and rows == columns:
                self._symmetric(values)
            return values.astype(dtype, copy=False)

        return tile

    def _values(self, X: Points, Y: Points) -> Array:
        """What the function returns; of sparse rows, most fail or give another sparse matrix."""
        if not sparse.issparse(X):
            return np.asarray(self.function(X, Y))
        try:
            found = self.function(X, Y)
        except Exception as error:
            raise TypeError(f"The callable kernel {self.name} cannot take sparse rows ({error}). {ADVICE}") from error
        if sparse.issparse(found):
            raise TypeError(f"The callable kernel {self.name} returned a sparse matrix for sparse rows. {ADVICE}")
        return np.asarray(found)

    def _evaluate(self, X: Points, Y: Points) -> Array:
        values = self._values(X, Y)
        if values.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"The callable kernel {self.name} returned shape {values.shape} for {X.shape[0]} and {Y.shape[0]} "
                f"rows; {(X.shape[0], Y.shape[0])} is needed: k(X, Y)[i, j] = k(X[i], Y[j])."
            )
        if values.dtype.kind not in "fiub":
            raise ValueError(
                f"The callable kernel {self.name} returned an array of shape {values.shape} and dtype {values.dtype}; "
                "real numbers are needed."
            )
        if not np.isfinite(values).all():
            raise ValueError(
                f"The callable kernel {self.name}: kernel values not finite "
                f"(NaN or infinity in its result of shape {values.shape})."
            )
        return np.array(values, dtype=common_dtype(X, Y))  # a copy: tiles are worked on in place
