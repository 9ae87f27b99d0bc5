"""Many series at once: a long table, a dict or a list of them; one law of rates for all, a level, slope and season for each [8, 12].

The prior of the members of :mod:`gramian.series.smoothing` is learned over the panel, so that short series borrow from the others; what is left of
a series is found anew from its values. So new series are forecast as those that were fitted, and nothing is kept but values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.series.paths import spread_factors
from gramian.series.smoothing import Smoothing, weights
from gramian.series.time_index import describe_index, future_index, is_pandas, last_index

NIXTLA = ("unique_id", "ds", "y")
"""Columns of a long table that need not be named."""
OWN_LAW = 100.0
"""The prior that came with the grid counts as so many series of a panel."""
JUDGED = 100
"""Series, at most, whose last values judge the width of intervals."""
N_PATHS = 400
"""Paths behind the interval of a series."""


@dataclass(frozen=True)
class Panel:
    """Series laid out after each other, on one clock; NaN where nothing was seen between the first and the last value."""

    ids: list[Any]
    values: Array
    lengths: Array
    firsts: Array  # the place of each first value on the clock
    clock: dict[str, Any] | None  # the last time and the step; None: places are times
    n_times: int  # places on the clock
    names: tuple[str, str]  # of the columns of ids and times
    container: str  # "pandas" or "polars" or "pyarrow"

    def __iter__(self) -> Iterator[Array]:
        """The values of each series."""
        return iter(np.split(self.values, np.cumsum(self.lengths)[:-1]))

    def groups(self) -> list[tuple[list[int], Array]]:
        """Series of one length, gaps at the same places and of one sign, as tables: which they are, and their values (n, T)."""
        found: dict[tuple[int, bytes, bool], list[int]] = {}
        rows = list(self)
        for i, row in enumerate(rows):
            holes = np.isnan(row)
            key = (len(row), holes.tobytes() if holes.any() else b"", bool((row[~holes] > 0).all()))
            found.setdefault(key, []).append(i)
        return [(group, np.stack([rows[i] for i in group])) for group in found.values()]

    def shortened(self, steps: int) -> tuple[Panel, Array]:
        """The panel without the last values of its series, and those (n, steps); only of series that can spare them."""
        rows = [
            (i, row) for i, row in enumerate(self) if len(row) >= 2 * steps + 4 and not np.isnan(row[-steps:]).all()
        ]
        kept = rows[:: max(1, len(rows) // JUDGED)][:JUDGED]
        pasts = [row[:-steps] for _, row in kept]
        truths = np.array([row[-steps:] for _, row in kept]).reshape(len(kept), steps)
        parts: dict[str, Any] = {
            "ids": [self.ids[i] for i, _ in kept],
            "values": np.concatenate([np.empty(0), *pasts]),
            "lengths": np.array([len(past) for past in pasts], dtype=int),
            "firsts": self.firsts[[i for i, _ in kept]],
        }
        return replace(self, **parts), truths

    def joined(self, other: Panel) -> Panel:
        """The panel with newer values of its series, and new series; both are on the same clock."""
        rows = dict(zip(self.ids, zip(self.firsts, self)))
        for key, first, row in zip(other.ids, other.firsts, other):
            if key not in rows:
                rows[key] = first, row
                continue
            begin, known = rows[key]
            if first < begin + len(known):
                raise ValueError(f"The new values of series {key!r} do not come after those that are known.")
            gap = np.full(int(first - begin) - len(known), np.nan)
            rows[key] = begin, np.concatenate([known, gap, row])
        return replace(
            self,
            ids=list(rows),
            values=np.concatenate([row for _, row in rows.values()]),
            lengths=np.array([len(row) for _, row in rows.values()]),
            firsts=np.array([first for first, _ in rows.values()], dtype=int),
            clock=other.clock,
            n_times=other.n_times,
        )

    def frame(self, steps: Array, columns: Mapping[str, Array]) -> Any:
        """A long table of answers (n, steps) by name, in the container of the panel."""
        ends = self.firsts + self.lengths
        places = (ends[:, None] - 1 + steps).ravel()
        times: Any = places
        if self.clock is not None:
            ahead = int(places.max()) - self.n_times + 1
            index = last_index(self.clock, self.n_times)
            if ahead > 0:
                index = index.append(future_index(self.clock, np.arange(1, ahead + 1)))
            times = index[places]
        table = {
            self.names[0]: np.repeat(np.array(self.ids, dtype=object), len(steps)),
            self.names[1]: times,
            **{name: np.asarray(values).ravel() for name, values in columns.items()},
        }
        import pandas as pd

        found = pd.DataFrame(table).infer_objects()
        if self.container == "pandas":
            return found
        plain = {name: found[name].to_numpy() for name in found}
        plain[self.names[0]] = found[self.names[0]].tolist()
        if self.container == "polars":
            import polars as pl

            return pl.DataFrame(plain)
        import pyarrow as pa

        return pa.table(plain)


# ---------------------------------------------------------------- reading


def is_panel(y: Any, named: bool) -> bool:
    """Whether ``y`` holds many series: a dict, a list of series, a table with named columns or Nixtla's, or with an index (id, time)."""
    if named or isinstance(y, Mapping):
        return True
    if isinstance(y, list | tuple) and len(y):
        sizes = [len(row) for row in y if hasattr(row, "__len__") and not isinstance(row, str)]
        series = all(getattr(row, "ndim", 0) == 1 for row in y)
        return len(sizes) == len(y) and (series or len(set(sizes)) > 1)
    if is_pandas(y) and getattr(y.index, "nlevels", 1) == 2:
        return True
    return _has_columns(y, NIXTLA)


def _has_columns(y: Any, names: Sequence[str]) -> bool:
    columns = getattr(y, "column_names", getattr(y, "columns", None))
    return columns is not None and all(isinstance(name, str) for name in columns) and set(names) <= set(columns)


def as_panel(y: Any, id: str | None, time: str | None, value: str | None, clock: Panel | None = None) -> Panel:
    """The panel in ``y``; with ``clock`` on the clock of another, as new rows of it."""
    if isinstance(y, Mapping):
        parts = list(y.items())
    elif isinstance(y, list | tuple):
        parts = list(enumerate(y))
    else:
        return _long(y, id, time, value, clock)
    keys: list[Any] = []
    times: list[Any] = []
    values: list[Array] = []
    for key, series in parts:
        row = np.asarray(series, dtype=np.float64)
        if row.ndim != 1 or not len(row):
            raise ValueError(f"Series {key!r} has shape {row.shape}; give one-dimensional series with values.")
        known = is_pandas(series)
        first = 0
        if clock is not None and not known and key in clock.ids:
            place = clock.ids.index(key)
            first = int(clock.firsts[place] + clock.lengths[place])
        keys += [key] * len(row)
        times += list(series.index) if known else list(range(first, first + len(row)))
        values.append(row)
    names = clock.names if clock is not None else (id or "id", time or "time")
    return _laid_out(np.array(keys, dtype=object), times, np.concatenate(values), names, "pandas", clock)


def _long(y: Any, id: str | None, time: str | None, value: str | None, clock: Panel | None) -> Panel:
    container = type(y).__module__.split(".")[0]
    if is_pandas(y) and getattr(y.index, "nlevels", 1) == 2 and id is None:
        names = [str(name) if name is not None else usual for name, usual in zip(y.index.names, ("id", "time"))]
        column = y if not hasattr(y, "columns") else y[value or y.columns[0]]
        keys, times = (np.asarray(y.index.get_level_values(level)) for level in (0, 1))
        return _laid_out(
            keys, list(y.index.get_level_values(1)), np.asarray(column, float), (names[0], names[1]), "pandas", clock
        )
    names3 = tuple(given or usual for given, usual in zip((id, time, value), NIXTLA))
    if not _has_columns(y, names3):
        raise ValueError(
            f"A long table of series needs the columns id={names3[0]!r}, time={names3[1]!r} and value={names3[2]!r}."
        )
    keys, times, values = (_column(y, name) for name in names3)
    if container not in ("pandas", "polars", "pyarrow"):
        container = "pandas"
    return _laid_out(keys, times, np.asarray(values, dtype=np.float64), (names3[0], names3[1]), container, clock)


def _column(y: Any, name: str) -> Any:
    column = y[name]
    if hasattr(column, "to_pylist"):
        return np.array(column.to_pylist(), dtype=object)
    return column.to_numpy()


def _laid_out(
    keys: Array, times: Any, values: Array, names: tuple[str, str], container: str, clock: Panel | None
) -> Panel:
    """Rows sorted by series and time, on one clock."""
    if np.isinf(values).any():
        raise ValueError("y contains infinity. Replace those values by NaN.")
    places, described, n_times = _placed(times, clock)
    ids = list(dict.fromkeys(key.item() if hasattr(key, "item") else key for key in keys))
    number = {key: i for i, key in enumerate(ids)}
    owners = np.array([number[key.item() if hasattr(key, "item") else key] for key in keys])
    order = np.lexsort((places, owners))
    owners, places, values = owners[order], places[order], values[order]
    twice = np.flatnonzero((np.diff(owners) == 0) & (np.diff(places) == 0))
    if len(twice):
        raise ValueError(f"Series {ids[owners[twice[0]]]!r} has two values at one time. Keep one value per time.")
    rows, firsts, kept = [], [], []
    for i, key in enumerate(ids):
        own = slice(*np.searchsorted(owners, [i, i + 1]))
        seen = np.flatnonzero(~np.isnan(values[own]))
        if not len(seen):
            raise ValueError(f"Series {key!r} has no observed value. Leave it out.")
        at = places[own][seen]
        row = np.full(int(at[-1] - at[0]) + 1, np.nan)
        row[at - at[0]] = values[own][seen]
        rows.append(row)
        firsts.append(int(at[0]))
        kept.append(key)
    return Panel(
        kept,
        np.concatenate(rows),
        np.array([len(row) for row in rows]),
        np.array(firsts, dtype=int),
        described,
        n_times,
        names,
        container,
    )


def _placed(times: Any, clock: Panel | None) -> tuple[Array, dict[str, Any] | None, int]:
    """The clock of all times, and the place of each on it."""
    import pandas as pd

    index = pd.Index(times)
    if index.dtype == object or index.dtype.kind in "UT" or str(index.dtype).startswith("str"):
        index = pd.Index(pd.to_datetime(index)) if not isinstance(index[0], pd.Period) else pd.PeriodIndex(index)
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
            finer = freq
            break
    else:
        return pd.Timedelta(int(np.diff(whole.as_unit("ns").asi8).min()), unit="ns")
    return finer


# ---------------------------------------------------------------- one law for all


def learned(panel: Panel, smoothing: Smoothing) -> Smoothing:
    """The smoothing with the prior of its members learned over a panel: the mean of their weights, and what came with the grid."""
    keys = smoothing.keys
    sums: dict[tuple[int, bool], Any] = dict.fromkeys(keys, 0.0)
    counts = dict.fromkeys(keys, 0)
    for _, table in panel.groups():
        blocks = smoothing.blocks(table)
        shares = weights([block.beginnings(table.shape[1])[1] for block in blocks])
        end = 0
        for block in blocks:
            begin, end = end, end + len(block.prior)
            sums[block.key] = sums[block.key] + shares[:, begin:end].sum(axis=0)
            counts[block.key] += len(table)
    priors = tuple((sums[key] + OWN_LAW * smoothing.prior(key)) / (counts[key] + OWN_LAW) for key in keys)
    return replace(smoothing, priors=priors)


def panel_forecast(panel: Panel, smoothing: Smoothing, steps: int) -> Array:
    """(n, steps)."""
    out = np.empty((len(panel.ids), steps))
    for group, table in panel.groups():
        out[group] = smoothing.forecast(table, steps)
    return out


def panel_quantiles(panel: Panel, smoothing: Smoothing, steps: int, levels: Array, spread: Array, seed: int) -> Array:
    """(n_levels, n, steps); paths are spread around the forecast by ``spread`` (h, 1)."""
    middle = panel_forecast(panel, smoothing, steps)
    factors = spread[np.minimum(np.arange(steps), len(spread) - 1), 0]
    out = np.empty((len(levels), len(panel.ids), steps))
    for i, row in enumerate(panel):
        drawn = smoothing.paths(row, steps, N_PATHS, np.random.default_rng((seed, i)))
        spreaded = middle[i] + factors * (drawn - middle[i])
        if np.nanmin(row) >= 0:
            spreaded = np.maximum(spreaded, 0.0)
        out[:, i] = np.quantile(spreaded, levels, axis=0)
    return out


def panel_spread(panel: Panel, smoothing: Smoothing, horizon: int, seed: int) -> Array:
    """Factors (h, 1) of the distance of paths to their middle, from the last values of series, pooled over them [12]."""
    past, truth = panel.shortened(horizon)
    if len(truth) < 2:
        return np.ones((1, 1))
    low, high = panel_quantiles(past, smoothing, horizon, np.array([0.05, 0.95]), np.ones((1, 1)), seed)
    widths = 0.5 * np.maximum(high - low, np.finfo(float).tiny)
    errors = ((truth - panel_forecast(past, smoothing, horizon)) / widths)[:, :, None]
    return spread_factors(errors, np.ones((horizon, 1)))
