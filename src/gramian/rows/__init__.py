"""Rows, wherever they live: a fit asks them for sums, never for a length, an index or an order [13].

`as_rows` is the only door. ``rows.fold(task, *common)`` adds up ``task(block, *common)`` over blocks of rows, and
``rows.map(task, *common)`` lists it per block. A new place where rows live is one file with `fold` and `map`, and one row in `PLACES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian._arrays import is_dask
from gramian.rows.array import ArrayRows
from gramian.rows.base import Block, Rows, Summary
from gramian.rows.batches import BatchRows, is_one_shot
from gramian.rows.dask_rows import DaskRows, side_by_side
from gramian.rows.lazy import lazily, views_lazily

__all__ = [
    "ArrayRows",
    "BatchRows",
    "Block",
    "DaskRows",
    "Rows",
    "Summary",
    "as_rows",
    "is_dask",
    "is_one_shot",
    "lazily",
    "side_by_side",
    "views_lazily",
]

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
