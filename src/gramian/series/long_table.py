"""Reading many series at once: a long table, a dict or a list of them, with inputs, laid out after each other on one clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian.series.panel import Panel
from gramian.series.time_index import describe_index, is_pandas, last_index

NIXTLA = ("unique_id", "ds", "y")
"""Columns of a long table that need not be named."""


@dataclass(frozen=True)
class PanelNames:
    """The columns of ids, times, values and inputs of a long table, where they were named."""

    id: str | None = None
    time: str | None = None
    value: str | None = None
    inputs: Annotated[tuple[str, ...], "*"] = ()

    @classmethod
    def of(cls, id: str | None, time: str | None, value: str | None, X: Any) -> PanelNames:
        names = isinstance(X, list | tuple) and all(isinstance(name, str) for name in X)
        return cls(id, time, value, tuple(X) if names else ())


@dataclass(frozen=True)
class _Rows:
    """One row per series and time: keys, times, values (N,) and inputs (N, k)."""

    keys: Array
    times: Any
    values: Array
    inputs: Array
    names: tuple[str, str]
    container: str


def is_panel(y: Any, named: bool) -> bool:
    """Whether ``y`` holds many series: a dict, a list of series, a table with named columns or Nixtla's, or with an index (id, time)."""
    if named or isinstance(y, Mapping):
        return True
    if isinstance(y, list | tuple) and len(y):
        sizes = [len(row) for row in y if hasattr(row, "__len__") and not isinstance(row, str)]
        series = all(getattr(row, "ndim", 0) == 1 for row in y)
        return len(sizes) == len(y) and (series or len(set(sizes)) > 1)
    if is_pandas(y) and getattr(y.index, "nlevels", 1) >= 2:
        return True
    return _has_columns(y, NIXTLA)


def _has_columns(y: Any, names: Sequence[str]) -> bool:
    columns = getattr(y, "column_names", getattr(y, "columns", None))
    return columns is not None and all(isinstance(name, str) for name in columns) and set(names) <= set(columns)


def as_panel(y: Any, names: PanelNames, X: Any = None, clock: Panel | None = None) -> Panel:
    """The panel in ``y``, with inputs in its own columns or in ``X``; with ``clock`` on the clock of another, as new rows of it."""
    rows = _of_many(y, X, names, clock) if isinstance(y, Mapping | list | tuple) else _long(y, names, True)
    return _laid_out(rows, names, clock)


def future_inputs(X: Any, panel: Panel, names: PanelNames, steps: int) -> Array:
    """Inputs (n, steps, k) of the steps ahead of each series, NaN where they were not given."""
    k = panel.inputs.shape[1]
    out = np.full((len(panel.ids), steps, k), np.nan)
    if X is None:
        return out
    if isinstance(X, Mapping | list | tuple):
        for key, part in X.items() if isinstance(X, Mapping) else enumerate(X):
            table = np.asarray(part, dtype=np.float64).reshape(len(part), -1)
            if key not in panel.ids or table.shape[1] != k:
                raise ValueError(
                    f"X of series {key!r} has {table.shape[1]} columns; {k} inputs of a known series are needed."
                )
            out[panel.ids.index(key), : min(steps, len(table))] = table[:steps]
        return out
    rows = _long(X, names, False)
    if rows.inputs.shape[1] != k:
        raise ValueError(f"X must have the columns of ids and times and the inputs {', '.join(panel.input_names)}.")
    index = panel.index(steps)
    places = np.asarray(index.get_indexer(_parse(rows.times)))
    number = {key: i for i, key in enumerate(panel.ids)}
    ends = panel.firsts + panel.lengths
    for key, place, values in zip(rows.keys, places, rows.inputs):
        i = number.get(_plain(key))
        if i is not None and 0 <= place - ends[i] < steps:
            out[i, place - ends[i]] = values
    return out


def _of_many(y: Any, X: Any, names: PanelNames, clock: Panel | None) -> _Rows:
    """A dict or a list of series, with inputs likewise."""
    parts = list(y.items()) if isinstance(y, Mapping) else list(enumerate(y))
    if X is not None and (not isinstance(X, Mapping | list | tuple) or len(X) != len(parts)):
        raise ValueError("X of a dict or a list of series must be one of as many tables, one per series.")
    keys: list[Any] = []
    times: list[Any] = []
    values: list[Array] = []
    inputs: list[Array] = []
    for key, series in parts:
        row = np.asarray(series, dtype=np.float64)
        if row.ndim != 1 or not len(row):
            raise ValueError(f"Series {key!r} has shape {row.shape}; give one-dimensional series with values.")
        table = np.empty((len(row), 0)) if X is None else np.asarray(X[key], dtype=np.float64).reshape(len(X[key]), -1)
        if len(table) != len(row):
            raise ValueError(f"X of series {key!r} has {len(table)} rows, but the series has {len(row)} values.")
        known = is_pandas(series)
        first = 0
        if clock is not None and not known and key in clock.ids:
            place = clock.ids.index(key)
            first = int(clock.firsts[place] + clock.lengths[place])
        keys += [key] * len(row)
        times += list(series.index) if known else list(range(first, first + len(row)))
        values.append(row)
        inputs.append(table)
    if len({table.shape[1] for table in inputs}) > 1:
        raise ValueError("X has tables of unequal numbers of columns. Give each series the same inputs.")
    shown = clock.names if clock is not None else (names.id or "id", names.time or "time")
    objects = np.empty(len(keys), dtype=object)
    objects[:] = keys
    return _Rows(objects, times, np.concatenate(values), np.concatenate(inputs), shown, "pandas")


def _long(y: Any, names: PanelNames, with_values: bool) -> _Rows:
    """A long table: an index of (id, time), or columns."""
    container = type(y).__module__.split(".")[0]
    if is_pandas(y) and getattr(y.index, "nlevels", 1) >= 2 and names.id is None:
        levels = y.index.nlevels
        keys = y.index.droplevel(-1) if levels > 2 else y.index.get_level_values(0)
        shown = [str(name) for name in (y.index.names[0] or "id", y.index.names[-1] or "time")]
        columns = None if not hasattr(y, "columns") else y
        wanted = names.value or next((c for c in getattr(y, "columns", ()) if c not in names.inputs), None)
        values = np.asarray(y if columns is None else columns[wanted], float) if with_values else np.empty(len(y))
        inputs = _matrix([np.asarray(y[name], float) for name in names.inputs], len(y))
        objects = np.empty(len(keys), dtype=object)
        objects[:] = list(keys)
        return _Rows(objects, list(y.index.get_level_values(-1)), values, inputs, (shown[0], shown[1]), "pandas")
    id, time, value = (given or usual for given, usual in zip((names.id, names.time, names.value), NIXTLA))
    needed = (id, time, *((value,) if with_values else ()), *names.inputs)
    if not _has_columns(y, needed):
        said = f"id={id!r}, time={time!r}" + (f" and value={value!r}" if with_values else "")
        more = f", and the inputs {', '.join(names.inputs)}" if names.inputs else ""
        raise ValueError(f"A long table of series needs the columns {said}{more}.")
    values = np.asarray(_column(y, value), dtype=np.float64) if with_values else np.empty(len(y))
    inputs = _matrix([np.asarray(_column(y, name), dtype=np.float64) for name in names.inputs], len(values))
    if container not in ("pandas", "polars", "pyarrow"):
        container = "pandas"
    return _Rows(_column(y, id), _column(y, time), values, inputs, (id, time), container)


def _matrix(columns: list[Array], length: int) -> Array:
    return np.column_stack(columns) if columns else np.empty((length, 0))


def _column(y: Any, name: str) -> Any:
    column = y[name]
    if hasattr(column, "to_pylist"):
        return np.array(column.to_pylist(), dtype=object)
    return column.to_numpy()


def _plain(key: Any) -> Any:
    return key.item() if hasattr(key, "item") else key


def _laid_out(rows: _Rows, names: PanelNames, clock: Panel | None) -> Panel:
    """Rows sorted by series and time, on one clock."""
    if np.isinf(rows.values).any() or np.isinf(rows.inputs).any():
        raise ValueError("y or X contains infinity. Replace those values by NaN.")
    places, described, n_times = _places(rows.times, clock)
    ids = list(dict.fromkeys(map(_plain, rows.keys)))
    number = {key: i for i, key in enumerate(ids)}
    owners = np.array([number[_plain(key)] for key in rows.keys])
    order = np.lexsort((places, owners))
    owners, places, values, inputs = owners[order], places[order], rows.values[order], rows.inputs[order]
    twice = np.flatnonzero((np.diff(owners) == 0) & (np.diff(places) == 0))
    if len(twice):
        raise ValueError(f"Series {ids[owners[twice[0]]]!r} has two values at one time. Keep one value per time.")
    series, tables, firsts = [], [], []
    for i, key in enumerate(ids):
        own = slice(*np.searchsorted(owners, [i, i + 1]))
        seen = np.flatnonzero(~np.isnan(values[own]))
        if not len(seen):
            raise ValueError(f"Series {key!r} has no observed value. Leave it out.")
        at = places[own]
        begin, end = int(at[seen[0]]), int(at[seen[-1]])
        inside = (at >= begin) & (at <= end)
        row, table = np.full(end - begin + 1, np.nan), np.full((end - begin + 1, inputs.shape[1]), np.nan)
        row[at[inside] - begin], table[at[inside] - begin] = values[own][inside], inputs[own][inside]
        series.append(row)
        tables.append(table)
        firsts.append(begin)
    lengths = np.array([len(row) for row in series])
    shown = names.inputs or tuple(f"x{j}" for j in range(inputs.shape[1]))
    return Panel(
        ids,
        np.concatenate(series),
        lengths,
        np.array(firsts, dtype=int),
        described,
        n_times,
        rows.names,
        rows.container,
        np.concatenate(tables),
        shown,
    )


def _parse(times: Any) -> Any:
    """Times as an index: dates of texts, periods of periods."""
    import pandas as pd

    index = pd.Index(times)
    if index.dtype == object or index.dtype.kind in "UT" or str(index.dtype).startswith("str"):
        return pd.PeriodIndex(index) if isinstance(index[0], pd.Period) else pd.Index(pd.to_datetime(index))
    return index


def _places(times: Any, clock: Panel | None) -> tuple[Array, dict[str, Any] | None, int]:
    """The clock of all times, and the place of each on it."""
    import pandas as pd

    index = _parse(times)
    whole = index.unique().sort_values()
    if clock is not None and clock.clock is not None:
        whole = last_index(clock.clock, clock.n_times).union(whole).sort_values()
    kind = whole.dtype.kind if hasattr(whole.dtype, "kind") else "O"
    if isinstance(whole, pd.PeriodIndex):
        full: Any = pd.period_range(whole[0], whole[-1], freq=whole.freq)
    elif kind in "iuf":
        steps = np.diff(np.asarray(whole, dtype=float))
        step = float(steps.min()) if len(steps) else 1.0
        count = round(float(whole[-1] - whole[0]) / step) + 1
        full = pd.Index(whole[0] + (np.arange(count) * step).astype(whole.dtype))
    else:
        freq = pd.infer_freq(whole) if len(whole) > 2 else None
        if freq is None and clock is not None and clock.clock is not None:
            freq = clock.clock["freq"]
        if freq is None:
            freq = _usual_step(whole)
        full = pd.date_range(whole[0], whole[-1], freq=freq)
    places = np.asarray(full.get_indexer(index))
    if (places < 0).any():
        raise ValueError(
            f"The times are irregular: {index[int(np.flatnonzero(places < 0)[0])]} is not on the steps of the others. Average to even "
            "steps first, as in frame.groupby(...).resample('D').mean()."
        )
    return places, describe_index(pd.Series(0.0, index=full)), len(full)


def _usual_step(whole: Any) -> Any:
    """The step of dates of which some are missing: months, quarters or years where all are at their beginning or end, else the smallest step."""
    import pandas as pd

    if len(whole) < 2:
        return "D"
    for freq in ("YS", "YE", "QS", "QE", "MS", "ME"):
        if len(pd.DatetimeIndex(whole).difference(pd.date_range(whole[0], whole[-1], freq=freq))) == 0:
            return freq
    return pd.Timedelta(int(np.diff(whole.as_unit("ns").asi8).min()), unit="ns")
