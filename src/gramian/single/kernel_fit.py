"""What fits on a stored Gram matrix share: distinct rows, the resolved kernel, a matrix that fits in memory and is finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array, is_sparse
from gramian._checks import check_scale
from gramian._memory import memory_budget, require_memory
from gramian.kernels import Kernel, Precomputed, as_kernel, finite_gram


def distinct_rows(X: Array, weights: Array, groups: Array | None = None) -> tuple[Array, Array, Array]:
    """(first, inverse, weights): distinct rows (within a group) in sorted order, where each row went, and summed weights.

    After it neither the order of the rows nor whether one is repeated or weighted can matter, and repeated rows cost nothing.
    """
    keyed = X if groups is None else np.column_stack([groups.astype(X.dtype), X])
    _, first, inverse = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    return first, inverse, np.bincount(inverse, weights=weights, minlength=len(first))


def resolved_kernel(kernel: Any, X: Any) -> Kernel:
    """The kernel that a name or an object stands for, its parameters settled on the training rows."""
    found = as_kernel(kernel)
    if not isinstance(found, Precomputed):
        far = abs(X).max() if is_sparse(X) else np.abs(X - X.mean(axis=0, dtype=np.float64)).max(initial=0.0)
        check_scale(float(far))
    return found.resolve(X)


def stored_gram(kernel: Kernel, X: Array, advice: str) -> Array:
    """K₀ in float64; refused before the allocation where it would not fit, and where the kernel overflows."""
    n = len(X)
    require_memory(24 * n * n, memory_budget(None, 24 * n * n), f"The Gram matrix of {n} rows", advice)
    if isinstance(kernel, Precomputed):
        gram = np.asarray(X, dtype=np.float64)
        gram = 0.5 * (gram + gram.T)
    else:
        gram = np.asarray(kernel(X.astype(np.float64)), dtype=np.float64)
    return finite_gram(gram, kernel)
