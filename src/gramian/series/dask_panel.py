"""Many series in a Dask frame: the law is judged on some of them, and each partition is forecast where it is [13]."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from gramian import policy
from gramian._arrays import Array
from gramian.series.long_table import NIXTLA, PanelNames


def _id(names: PanelNames) -> str:
    return names.id or NIXTLA[0]


def count_of_series(frame: Any, names: PanelNames) -> int:
    """How many series there are."""
    if _id(names) not in getattr(frame, "columns", ()):
        raise ValueError(
            f"A Dask frame of many series needs a column of ids: id={_id(names)!r} is not one of its columns."
        )
    return int(frame[_id(names)].nunique().compute())


def some_series(frame: Any, names: PanelNames) -> Any:
    """All rows of so many series as are looked at, in memory: those of the first ids."""
    ids = frame[_id(names)].drop_duplicates().compute().sort_values()
    kept = ids.iloc[:: max(1, len(ids) // policy.LOOK.rows)].iloc[: policy.LOOK.rows]
    return frame[frame[_id(names)].isin(list(kept))].compute()


def lazy_answer(
    model: Any, steps: Array, X: Any, frame: Any, names: PanelNames, levels: dict[str, float] | None
) -> Any:
    """A Dask frame of forecasts, one partition per group of series; rows travel once, to the partition of their series."""
    plain = copy(model)
    plain._lazy = None
    known = model._panel
    nothing = {name: np.zeros((len(known.ids), 1)) for name in levels or ("mean",)}
    meta = known.frame(np.array([1]), nothing).iloc[:0]
    return frame.shuffle(on=_id(names)).map_partitions(_answer, plain, steps.tolist(), X, levels, meta, meta=meta)


def _answer(part: Any, model: Any, steps: list[int], X: Any, levels: dict[str, float] | None, nothing: Any) -> Any:
    return model._panel_answer(steps, X, part, levels) if len(part) else nothing
