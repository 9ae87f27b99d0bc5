"""Gaps along a clock: which of the table, the values before and after, or both fill a column, hidden cells say."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.estimators.forecaster import RKMForecaster
from gramian.evidence import choose
from gramian.evidence.selection import clear_errors
from gramian.exceptions import NumericalWarning
from gramian.policy import LOOK
from gramian.series.gap_filling import gaps_of
from gramian.tables.clocks import Clock
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table

HIDDEN_GAPS = 30
"""Copies of a column's gaps that are hidden to judge its filling; no more than a quarter of its values."""
FEWEST = 12
"""A column with fewer values is no series."""
WAYS = ("table", "clock", "both")
"""Simplest first: what the other columns say, what the values before and after say, and the two weighed by their precision."""


@dataclass(frozen=True)
class GapTrial:
    """What a way said of hidden cells of a column: all truths, what was filled and how surely, which cells were hidden, the mean of the others."""

    truth: Array
    filled: Array
    spread: Array
    cells: Array
    mean: float


@dataclass
class TimeFilling:
    """Columns about whose gaps the clock says something, and the models that say it."""

    clock: Clock
    ways: dict[str, str] = field(default_factory=dict)  # of every column that was asked for
    forecasters: dict[str, RKMForecaster] = field(default_factory=dict)
    scales: dict[str, float] = field(default_factory=dict)  # by which the deviation of both is multiplied
    trials: dict[str, GapTrial] = field(default_factory=dict)  # of what the clock fills

    def fills(self, prepare: Preprocessing, X: Array) -> bool:
        """Whether there is nothing left for the other columns to fill."""
        rest = np.ones(X.shape[1], dtype=bool)
        rest[[feature_of(prepare, name) for name in self.named("clock")]] = False
        return not np.isnan(X[:, rest]).any()

    def said(self, table: Table) -> dict[str, tuple[Array, Array]]:
        """Values and standard deviations of the columns of rows along the clock, in units of the table."""
        return {name: model.impute(table[name], return_std=True) for name, model in self.forecasters.items()}

    def put(
        self,
        prepare: Preprocessing,
        said: Mapping[str, tuple[Array, Array]],
        rows: slice,
        full: Array,
        std: Array,
    ) -> tuple[Array, Array]:
        """The features of these rows, with what time says in place of what other columns say, or weighed with it."""
        full, std = np.array(full), np.array(std)
        for name, (values, spreads) in said.items():
            j = feature_of(prepare, name)
            by_time = (values[rows] - prepare.mean[j]) / prepare.scale[j], spreads[rows] / prepare.scale[j]
            scale = self.scales[name] if self.ways[name] == "both" else None
            full[:, j], std[:, j] = weave(*by_time, full[:, j], std[:, j], scale)
        return full, std

    def named(self, way: str) -> list[str]:
        """The columns that are filled in one of the :data:`WAYS`."""
        return [name for name, chosen in self.ways.items() if chosen == way]

    def notes(self) -> list[str]:
        """What was done, in words."""
        said = []
        if clock := self.named("clock"):
            said.append(
                f"{self.clock.words}: gaps of {_candidate(clock)} are filled from the values before and after them"
            )
        if both := self.named("both"):
            said.append(
                f"{self.clock.words}: gaps of {_candidate(both)} are filled from the values before and after them and from the other columns"
            )
        if table := self.named("table"):
            said.append(
                f"gaps of {_candidate(table)} are filled from the other columns: on hidden cells the clock {self.clock.name!r} "
                "was no better than those"
            )
        return said


def feature_of(prepare: Preprocessing, name: str) -> int:
    """The feature of a column of numbers."""
    return int(np.flatnonzero(prepare.owner == prepare.names.index(name))[0])


def weave(mean: Array, spread: Array, full: Array, std: Array, scale: float | None) -> tuple[Array, Array]:
    """What time says of a column, in place of what other columns say, or, with a scale of deviations, the two weighed where a cell was filled."""
    if scale is None:
        return mean, spread
    filled = std > 0
    both, width = weigh(mean, spread, full, std)
    return np.where(filled, both, mean), np.where(filled, scale * width, spread)


def weigh(m: Array, s: Array, n: Array, t: Array) -> tuple[Array, Array]:
    """Means m and n weighed by their precisions 1/s² and 1/t², and the standard deviation that goes with them.

    >>> weigh(np.array([0.0]), np.array([1.0]), np.array([3.0]), np.array([0.5]))[0].round(9).tolist()
    [2.4]
    """
    s, t = np.maximum(s, np.finfo(float).eps), np.maximum(t, np.finfo(float).eps)
    share = t**2 / (s**2 + t**2)
    return share * m + (1 - share) * n, s * np.sqrt(share)


def fill_by_time(
    clock: Clock,
    whole: Table,
    prepare: Preprocessing,
    fill: Callable[[Array], Any],
    aside: Sequence[str] = (),
    seed: int = 0,
) -> TimeFilling:
    """Ask of every column of numbers that has gaps and enough values how it is filled best.

    Copies of its gaps are hidden, as wide as the gaps are over the other columns, and filled in each of the :data:`WAYS`. The clock must show twice that it
    helps, clearly and for all columns that are asked [10]: it fills better than the mean, which knows no order, and the simplest way that is as good as the best is taken.
    ``fill(X)`` gives the model of the columns that are not ``aside``.
    """
    filling = TimeFilling(clock)
    prepare = prepare.only([name for name in prepare.names if name not in aside]) if aside else prepare
    X = prepare.matrix(whole)
    series = {name: whole[name] for name in _series_of(clock, whole, prepare)}
    hidden = {name: hidden_in_stretch(column) for name, column in series.items()}
    n_errors = clear_errors(len(series))
    table: Any = None
    for name, column in series.items():
        filling.ways[name] = "table"
        stretch, gaps = hidden[name]
        if not gaps:
            continue
        column = column[stretch]
        seen = _without(column, gaps)
        j, mean = feature_of(prepare, name), float(np.nanmean(seen))
        try:
            by_clock, clock_std = (
                np.asarray(part) for part in _forecaster(clock, seed).fit(seen).impute(seen, return_std=True)
            )
        except ValueError:  # too few values left to learn from
            continue
        if _best(("mean", "clock"), (np.full(len(column), mean), by_clock), column, gaps, n_errors) == "mean":
            continue
        table = _fitted_table(prepare, X, hidden, fill) if table is None else table
        full, std = table.impute(_hidden_here(X[stretch], j, gaps), return_std=True)
        by_table, table_std = full[:, j] * prepare.scale[j] + prepare.mean[j], std[:, j] * prepare.scale[j]
        both, both_std = weigh(by_clock, clock_std, by_table, table_std)
        filling.ways[name] = _best(WAYS, (by_table, by_clock, both), column, gaps, n_errors)
        if filling.ways[name] == "table":
            continue
        cells = np.concatenate([np.arange(rows.start, rows.stop) for rows in gaps])
        deviations = (column - both)[cells] / both_std[cells]
        filling.scales[name] = max(1.0, float(np.sqrt(np.mean(deviations**2))))
        if filling.ways[name] == "clock":
            filling.trials[name] = GapTrial(column, by_clock, clock_std, cells, mean)
        else:
            filling.trials[name] = GapTrial(column, both, filling.scales[name] * both_std, cells, mean)
        filling.forecasters[name] = _forecaster(clock, seed).fit(series[name])
    return filling


def _best(names: Sequence[str], tried: Sequence[Array], column: Array, gaps: Sequence[slice], n_errors: float) -> str:
    """The simplest of these fillings of hidden gaps that is as good as the best."""
    misses = [[-float(np.square(one[rows] - column[rows]).mean()) for one in tried] for rows in gaps]
    lengths = np.array([rows.stop - rows.start for rows in gaps], dtype=float)
    return str(choose(names, np.array(misses), lengths, what="filling", score="error", n_errors=n_errors).chosen)


def _series_of(clock: Clock, whole: Table, prepare: Preprocessing) -> list[str]:
    found = []
    for name, values in zip(prepare.names, prepare.categories):
        column = whole[name]
        if values or name in clock.names or column.dtype == object:
            continue
        holes = np.isnan(column)
        if holes.any() and (~holes).sum() >= FEWEST:
            found.append(name)
    return found


def _forecaster(clock: Clock, seed: int) -> RKMForecaster:
    model = RKMForecaster(random_state=seed)
    model._usual_seasons = clock.seasons
    return model


def _fitted_table(
    prepare: Preprocessing,
    X: Array,
    hidden: Mapping[str, tuple[slice, Sequence[slice]]],
    fill: Callable[[Array], Any],
) -> Any:
    """The model of the columns that has not seen the hidden cells."""
    X = np.array(X)
    for name, (stretch, gaps) in hidden.items():
        for rows in gaps:
            X[stretch][rows, feature_of(prepare, name)] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)  # of rows that show nothing once their cells are hidden
        return fill(X)


def _hidden_here(X: Array, j: int, gaps: Sequence[slice]) -> Array:
    """The table with the gaps of one column hidden; where a real gap of that length lies across other columns, so does its copy."""
    out = np.array(X)
    turns: dict[int, Any] = {}
    for length in {length for _, length in gaps_of(X[:, j])}:
        turns[length] = cycle([start for start, long in gaps_of(X[:, j]) if long == length])
    for rows in gaps:
        length = rows.stop - rows.start
        start = next(turns[length])
        out[rows] = np.where(np.isnan(X[start : start + length]), np.nan, X[rows])
    return out


def hidden_in_stretch(column: Array) -> tuple[slice, list[slice]]:
    """The stretch of a column that its filling is judged on, all of it or the rows of a long one that show most gaps, and the gaps hidden there."""
    n, size = len(column), LOOK.few
    starts = range(0, n - size // 2, size // 2) if n > size else (0,)
    stretches = [slice(start, min(start + size, n)) for start in starts]
    stretch = max(stretches, key=lambda rows: len(gaps_of(column[rows])))
    return stretch, hidden_gaps(column[stretch])


def hidden_gaps(column: Array) -> list[slice]:
    """Stretches of known values as long as the column's gaps, spread over it; none touches a gap or another.

    >>> hidden_gaps(np.r_[np.nan, np.arange(6.0), np.nan, np.nan, np.arange(6.0)])
    [slice(5, 6, None), slice(12, 14, None)]
    """
    free = ~np.isnan(column)
    most = int(free.sum()) // 4  # of the values stay in sight, three in four at least
    lengths = sorted(length for _, length in gaps_of(column) if length <= most)
    if not lengths:
        return []
    if len(lengths) > HIDDEN_GAPS:
        lengths = [lengths[i] for i in np.linspace(0, len(lengths) - 1, HIDDEN_GAPS).astype(int)]
    lengths = list(islice(cycle(lengths), HIDDEN_GAPS))  # few gaps are copied often: more to judge by
    lengths = lengths[: max(1, int(np.searchsorted(np.cumsum(lengths), most, side="right")))]
    found = []
    for share, length in zip((np.arange(len(lengths)) + 0.5) / len(lengths), lengths):
        windows = np.lib.stride_tricks.sliding_window_view(free, length + 2).all(axis=1)
        places = np.flatnonzero(windows)
        if not len(places):
            continue
        start = int(places[np.abs(places - share * len(column)).argmin()]) + 1
        found.append(slice(start, start + length))
        free[start - 1 : start + length + 1] = False
    return sorted(found, key=lambda rows: rows.start)


def _without(column: Array, gaps: Sequence[slice]) -> Array:
    out = np.array(column)
    for rows in gaps:
        out[rows] = np.nan
    return out


def _candidate(names: Any) -> str:
    listed = [repr(name) for name in names]
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
