"""Names for what callers may hand over: they say more than ``Any`` where a value is checked before use, or passed on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian._arrays import Array

DType: TypeAlias = npt.DTypeLike
"""What ``np.dtype`` understands."""
RandomState: TypeAlias = int | np.integer | np.random.Generator | np.random.RandomState | ModuleType | None
"""Where randomness comes from (the module is ``np.random`` itself); see `gramian._checks.check_random_state`."""
Points: TypeAlias = Array | sparse.spmatrix | sparse.sparray
"""Checked rows: a dense table, or a sparse one where the callee takes those."""
Table: TypeAlias = npt.ArrayLike | sparse.spmatrix | sparse.sparray
"""Rows as users give them: arrays, lists, frames, Arrow and Dask tables, sparse matrices; see `gramian._checks.check_table`."""
Views: TypeAlias = Table | Sequence[Table | None] | Mapping[Any, Table | None]
"""Several tables of the same rows, in a list or a dict; or one table; see `gramian.views.tables.ViewLayout`."""
Weights: TypeAlias = npt.ArrayLike | None
"""Sample weights as users give them; see `gramian._checks.check_weights`."""
Batches: TypeAlias = Iterable[Any] | Callable[[], Iterable[Any]]
"""Pieces of a table, in something that can be iterated (again), or a function that opens an iterator; see `gramian.rows.BatchRows`."""
