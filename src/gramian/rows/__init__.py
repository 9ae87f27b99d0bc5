"""Rows, wherever they live: a fit asks them for sums, never for a length, an index or an order [13].

`as_rows` is the only door. ``rows.fold(task, *common)`` adds up ``task(block, *common)`` over blocks of rows, and
``rows.map(task, *common)`` lists it per block. A new place where rows live is one file with `fold` and `map`, and one row in `as_rows`.
"""

from gramian._arrays import is_dask
from gramian.rows.array import ArrayRows
from gramian.rows.base import Block, Rows, Summary
from gramian.rows.batches import BatchRows, is_one_shot
from gramian.rows.dask_rows import DaskRows, side_by_side
from gramian.rows.door import as_rows
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
