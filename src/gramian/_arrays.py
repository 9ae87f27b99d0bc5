"""Arrays: of which kind they are, blocks of rows, and symmetric matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from threading import RLock
from typing import Any, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from gramian._threads import threads_for_size
from gramian.policy import SIZES

Array = np.ndarray[Any, Any]
Item = TypeVar("Item")
Result = TypeVar("Result")


def is_sparse(X: object) -> TypeGuard[Any]:
    """Whether X is a sparse matrix or array of SciPy, as a type checker understands it."""
    return bool(sparse.issparse(X))


def is_dask(X: object) -> bool:
    """Whether X is a Dask collection; needs no import of Dask."""
    return type(X).__module__.split(".")[0] == "dask" or hasattr(X, "__dask_graph__")


def on_dask(*given: object) -> bool:
    """Whether anything that was given is a Dask collection, or a list or dict that holds one."""
    for part in given:
        views = part.values() if isinstance(part, Mapping) else part if isinstance(part, list | tuple) else [part]
        if any(map(is_dask, views)):
            return True
    return False


def float_dtype(X: Any) -> np.dtype[Any]:
    """float32 is kept; everything else is computed and returned in float64."""
    return np.dtype(np.float32) if getattr(X, "dtype", None) == np.float32 else np.dtype(np.float64)


def fitted_array(values: Any, dtype: npt.DTypeLike) -> Any:
    """``values`` in the dtype of the data; what float32 cannot hold (overflow, nothing but zeros left) stays float64."""
    values = np.asarray(values)
    if np.dtype(dtype) != np.float32 or values.dtype == np.float32:
        return values
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    limits = np.finfo(np.float32)
    fits = largest == 0.0 or float(limits.tiny) <= largest <= float(limits.max)
    return values.astype(np.float32) if fits else values


def has_nan(X: Array) -> bool:
    """Whether any entry is NaN; the sum says no at once."""
    return bool(np.isnan(np.sum(X, dtype=np.float64))) and bool(np.isnan(X).any())


def row_chunks(n_rows: int, size: int = SIZES.block) -> Iterator[slice]:
    """Consecutive slices of at most ``size`` rows that cover ``range(n_rows)``."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def complete_first(X: Any) -> tuple[Array, Array] | None:
    """The positions of rows without holes and of those with some; None unless a dense table has both."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.ndim != 2:
        return None
    holes = np.isnan(X).any(axis=1)
    return (np.flatnonzero(~holes), np.flatnonzero(holes)) if holes.any() and not holes.all() else None


def symmetric_part(matrix: Array) -> Array:
    """The nearest symmetric matrix: rounding makes products only nearly so."""
    return 0.5 * (matrix + matrix.swapaxes(-1, -2))


@lru_cache(maxsize=64)
def lower_triangle(size: int) -> tuple[Array, Array]:
    """Rows and columns of the entries on and below the diagonal; kept, for loops over small matrices ask again and again."""
    return np.tril_indices(size)


_keeping = RLock()


def all_eigenpairs(matrix: Array) -> tuple[Array, Array]:
    """All eigenvalues, ascending, and eigenvectors of a symmetric matrix, which is overwritten; by divide and conquer."""
    driver = "evd" if len(matrix) > 1 else "ev"  # SciPy before 1.13 gives "evd" too little room for one number
    with threads_for_size(len(matrix)):
        values, vectors = linalg.eigh(matrix, driver=driver, overwrite_a=True, check_finite=False)
    return values, vectors


class Kept:
    """Values computed on first need and kept beside fitted state. Files, copies and pickles leave them out, so nothing that is
    looked at changes: they can always be made again, with the same numbers."""

    _transient = ("_values",)

    def get(self, name: str, make: Callable[[], Result]) -> Result:
        """``make()``, called once per name: one thread computes, the others wait."""
        values = self.__dict__.setdefault("_values", {})
        if name not in values:
            with _keeping:
                if name not in values:
                    values[name] = make()
        found: Result = values[name]
        return found

    def peek(self, name: str) -> Any:
        """What is there under the name, or None."""
        return self.__dict__.get("_values", {}).get(name)

    def __reduce__(self) -> Any:
        return Kept, ()


def deviation(values: Array, axis: int | None = None) -> Any:
    """The standard deviation, of numbers of any size: their squares are taken in units of the largest.

    >>> float(round(deviation(np.array([1e200, 3e200])) / 1e200, 9)), float(deviation(np.zeros(2)))
    (1.0, 0.0)
    """
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    return largest * np.std(values / largest, axis=axis)
