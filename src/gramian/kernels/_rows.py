"""Rows handed to a kernel: a finite 2-D float array or a CSR matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array, is_sparse
from gramian._checks import check_table
from gramian._types import Points


def kernel_rows(kernel: Any, X: Points, name: str = "X") -> Any:
    """X as the kernel can use it; float arrays in order are passed on without a copy."""
    if is_sparse(X):
        if not kernel.accepts_sparse:
            raise TypeError(
                f"Sparse data was passed for {name}, but {type(kernel).__name__} needs dense rows. "
                "Use '.toarray()' to convert to a dense numpy array."
            )
        if X.format == "csr" and X.dtype in (np.float32, np.float64) and np.isfinite(X.data).all():
            return X
        return check_table(None, X, reset=False, accept_sparse=True, name=name).tocsr()
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float32, np.float64) and X.size:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(X.sum()):  # a NaN or Inf anywhere would show; a mere overflow is looked at again below
                return X
    return check_table(None, X, reset=False, name=name)


def pair_of_rows(kernel: Any, X: Points, Y: Points) -> tuple[Any, Any]:
    """Both arguments of a kernel, with equally many columns; Y is X itself when omitted."""
    X = kernel_rows(kernel, X)
    Y = X if Y is None else kernel_rows(kernel, Y, "Y")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"{kernel!r} was given X with {X.shape[1]} columns and Y with {Y.shape[1]}. They must agree.")
    return X, Y


def common_dtype(X: Points, Y: Points) -> np.dtype[Any]:
    """float32 if both are, else float64."""
    return np.dtype(np.float32) if X.dtype == np.float32 and Y.dtype == np.float32 else np.dtype(np.float64)


def squared_norms(X: Points) -> Array:
    """|xᵢ|² in float64, of dense or sparse rows."""
    if is_sparse(X):
        wide = X.astype(np.float64)
        return np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
    X = np.asarray(X)
    return np.einsum("ij,ij->i", X, X, dtype=np.float64, casting="safe")


def dense(product: Any) -> Array:
    """A product of dense or sparse matrices as an array."""
    return product.toarray() if is_sparse(product) else np.asarray(product)
