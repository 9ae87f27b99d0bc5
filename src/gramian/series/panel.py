"""Many series at once: values laid out after each other on one clock, and their forecasts [8].

A level, slope and season of each series are found anew from its values; what all of them share is learned in :mod:`gramian.series.panel_law`. So new
series are forecast as those that were fitted, and nothing is kept but values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from gramian import policy
from gramian._arrays import Array
from gramian.series.smoothing import Outlook, Smoothing
from gramian.series.time_index import future_index, last_index


def _nothing() -> Array:
    return np.empty((0, 0))


@dataclass(frozen=True)
class Panel:
    """Series laid out after each other, on one clock; NaN where nothing was seen between the first and the last value."""

    ids: Annotated[list[Any], "n"]
    values: Annotated[Array, "~ *"]
    lengths: Annotated[Array, "# n"]
    firsts: Annotated[Array, "# n"]  # the place of each first value on the clock
    clock: dict[str, Any] | None  # the last time and the step
    n_times: Annotated[int, "count"]  # places on the clock
    names: Annotated[tuple[str, str], "*"]  # of the columns of ids and times
    container: str  # "pandas" or "polars" or "pyarrow"
    inputs: Annotated[Array, "~ * *"] = field(default_factory=_nothing)
    input_names: Annotated[tuple[str, ...], "*"] = ()

    def __iter__(self) -> Iterator[Array]:
        """The values of each series."""
        return iter(np.split(self.values, np.cumsum(self.lengths)[:-1]))

    @property
    def tables(self) -> list[Array | None]:
        """The inputs of each series; None without inputs."""
        if not self.inputs.size:
            return [None] * len(self.ids)
        return list(np.split(self.inputs, np.cumsum(self.lengths)[:-1]))

    def outlooks(self, smoothing: Smoothing) -> Iterator[tuple[list[int], Outlook]]:
        """Series of one length and gaps at the same places, followed together; those with inputs one by one."""
        rows = list(self)
        if self.inputs.size:
            for i, (row, table) in enumerate(zip(rows, self.tables)):
                yield [i], smoothing.outlook(row[None], table)
            return
        found: dict[tuple[int, bytes, bool], list[int]] = {}
        for i, row in enumerate(rows):
            holes = np.isnan(row)
            key = (len(row), holes.tobytes() if holes.any() else b"", bool((row[~holes] > 0).all()))
            found.setdefault(key, []).append(i)
        for group in found.values():
            most = max(1, 2**21 // len(rows[group[0]]) ** 2)  # errors of a group stay within some hundred megabytes
            for first in range(0, len(group), most):
                some = group[first : first + most]
                yield some, _of_length(smoothing, len(rows[some[0]])).outlook(np.stack([rows[i] for i in some]))

    def shortened(self, steps: int) -> tuple[Panel, Array, Array]:
        """The panel without the last values of its series, those (n, steps), and their inputs (n, steps, k); only of series that can spare them."""
        k = self.inputs.shape[1]
        pairs = [(row, np.empty((len(row), k)) if table is None else table) for row, table in zip(self, self.tables)]
        spare = [
            i for i, (row, _) in enumerate(pairs) if len(row) >= 2 * steps + 4 and not np.isnan(row[-steps:]).all()
        ]
        kept = spare[:: max(1, len(spare) // policy.LOOK.rows)][: policy.LOOK.rows]
        parts: dict[str, Any] = {
            "ids": [self.ids[i] for i in kept],
            "values": np.concatenate([np.empty(0), *(pairs[i][0][:-steps] for i in kept)]),
            "lengths": np.array([len(pairs[i][0]) - steps for i in kept], dtype=int),
            "firsts": self.firsts[kept],
            "inputs": np.concatenate([np.empty((0, k)), *(pairs[i][1][:-steps] for i in kept)]),
        }
        truths = np.array([pairs[i][0][-steps:] for i in kept]).reshape(len(kept), steps)
        return (
            replace(self, **parts),
            truths,
            np.array([pairs[i][1][-steps:] for i in kept]).reshape(len(kept), steps, k),
        )

    def joined(self, other: Panel) -> Panel:
        """The panel with newer values of its series, and new series; both are on the same clock."""
        k = self.inputs.shape[1]
        if other.inputs.shape[1] != k:
            raise ValueError(f"The new rows have {other.inputs.shape[1]} inputs, but the known ones have {k}.")
        rows = {key: (first, row, table) for key, first, row, table in zip(self.ids, self.firsts, self, self.tables)}
        for key, first, row, table in zip(other.ids, other.firsts, other, other.tables):
            if key not in rows:
                rows[key] = first, row, table
                continue
            begin, known, before = rows[key]
            if first < begin + len(known):
                raise ValueError(f"The new values of series {key!r} do not come after those that are known.")
            gap = int(first - begin) - len(known)
            whole = None
            if before is not None and table is not None:
                whole = np.concatenate([before, np.full((gap, k), np.nan), table])
            rows[key] = begin, np.concatenate([known, np.full(gap, np.nan), row]), whole
        tables = [np.empty((0, k)), *(table for _, _, table in rows.values() if table is not None)]
        return replace(
            self,
            ids=list(rows),
            values=np.concatenate([row for _, row, _ in rows.values()]),
            lengths=np.array([len(row) for _, row, _ in rows.values()]),
            firsts=np.array([first for first, _, _ in rows.values()], dtype=int),
            clock=other.clock,
            n_times=other.n_times,
            inputs=np.concatenate(tables),
        )

    def index(self, ahead: int) -> Any:
        """All times of the clock, and so many more."""
        assert self.clock is not None
        index = last_index(self.clock, self.n_times)
        return index.append(future_index(self.clock, np.arange(1, ahead + 1))) if ahead > 0 else index

    def frame(self, steps: Array, columns: Mapping[str, Array]) -> Any:
        """A long table of answers (n, steps) by name, in the container of the panel."""
        import pandas as pd

        ends = self.firsts + self.lengths
        places = (ends[:, None] - 1 + steps).ravel()
        times = self.index(int(places.max()) - self.n_times + 1)[places]
        ids = np.empty(len(self.ids), dtype=object)
        ids[:] = self.ids
        table = {
            self.names[0]: np.repeat(ids, len(steps)),
            self.names[1]: times,
            **{name: np.asarray(values).ravel() for name, values in columns.items()},
        }
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


def _of_length(smoothing: Smoothing, length: int) -> Smoothing:
    """Without regressions where a series is too short for them."""
    if length >= policy.WINDOWS.fewest:
        return smoothing
    return replace(smoothing, lines=tuple(line for line in smoothing.lines if not line.lags))


# ---------------------------------------------------------------- forecasts


@dataclass(frozen=True)
class PanelForecasts:
    """Means (n, steps) and, where levels were wanted, quantiles (n_levels, n, steps)."""

    means: Array
    quantiles: Array


def panel_forecasts(
    panel: Panel, smoothing: Smoothing, steps: int, levels: Array, spread: Array, future: Array | None = None
) -> PanelForecasts:
    """Forecasts of each series; quantiles lie as far from them as ``spread`` (h, 1) says. Inputs ahead (n, steps, k) that are NaN are forecast."""
    means, quantiles = np.empty((len(panel.ids), steps)), np.empty((len(levels), len(panel.ids), steps))
    factors = spread[np.minimum(np.arange(steps), len(spread) - 1), 0]
    tables = panel.tables
    for group, outlook in panel.outlooks(smoothing):
        known = None
        if future is not None and tables[group[0]] is not None:
            known = inputs_ahead(tables[group[0]], future[group[0]], smoothing)
        middle = outlook.forecast(steps, known)
        means[group] = middle
        if len(levels):
            ends = outlook.quantiles(steps, levels, known)
            quantiles[:, group] = outlook.held(middle + factors * (ends - middle))
    return PanelForecasts(means, quantiles)


def inputs_ahead(past: Any, future: Array, smoothing: Smoothing) -> Array:
    """The inputs (steps, k) of a series; those that are not known ahead are forecast as series of their own."""
    out = np.array(future)
    for j in np.flatnonzero(np.isnan(future).any(axis=0)):
        column = past[:, j]
        own = np.full(len(out), np.nan)
        if (~np.isnan(column)).any():
            own = Smoothing(smoothing.seasons, None).forecast(column[None], len(out))[0]
        out[:, j] = np.where(np.isnan(future[:, j]), own, future[:, j])
    return out
