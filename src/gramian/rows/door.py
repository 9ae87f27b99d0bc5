"""`as_rows`: the only door through which estimators get rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian._arrays import is_dask
from gramian.rows.array import ArrayRows
from gramian.rows.base import Rows
from gramian.rows.dask_rows import DaskRows

# (do rows like X live here?, make them): a further place is one file and one row
PLACES: list[tuple[Callable[[Any], bool], Callable[..., Rows]]] = [
    (is_dask, DaskRows.of),
]


def as_rows(X: Any, weights: Any = None, target: Any = None, *, missing: bool = True) -> Rows:
    """The rows of X, wherever they live. An array has been checked by the caller; rows already made are handed on.

    ``missing``: whether entries of rows that are read later may be missing.
    """
    if hasattr(X, "fold") and hasattr(X, "map"):
        return X
    for lives_here, rows_of in PLACES:
        if lives_here(X):
            return rows_of(X, weights, target, missing=missing)
    return ArrayRows(X, np.ones(X.shape[0]) if weights is None else weights, target)
