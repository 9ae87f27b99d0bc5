"""Gaps along a clock: each column of numbers is filled from the values before and after its gaps, where hidden cells do not say otherwise."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.evidence import choose
from gramian.exceptions import NumericalWarning
from gramian.tables.clocks import Clock
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table

HIDDEN_GAPS = 12
"""Copies of a column's gaps that are hidden to judge its filling."""
FEWEST = 12
"""A column with fewer values is no series."""


@dataclass
class TimeFilling:
    """Columns that are filled along the clock: values and standard deviations of all rows, in units of the table."""

    clock: Clock
    values: dict[str, Array] = field(default_factory=dict)
    stds: dict[str, Array] = field(default_factory=dict)
    by_columns: list[str] = field(default_factory=list)  # gaps about which other columns say more

    def fills(self, prepare: Preprocessing, X: Array) -> bool:
        """Whether there is nothing left for the other columns to fill."""
        rest = np.ones(X.shape[1], dtype=bool)
        rest[[feature_of(prepare, name) for name in self.values]] = False
        return not np.isnan(X[:, rest]).any()

    def put(self, prepare: Preprocessing, rows: slice, full: Array, std: Array) -> tuple[Array, Array]:
        """The features of these rows with what time says in place of what other columns say."""
        full, std = np.array(full), np.array(std)
        for name, values in self.values.items():
            j = feature_of(prepare, name)
            full[:, j] = (values[rows] - prepare.mean[j]) / prepare.scale[j]
            std[:, j] = self.stds[name][rows] / prepare.scale[j]
        return full, std

    def notes(self) -> list[str]:
        """What was done, in words."""
        said = []
        if self.values:
            said.append(
                f"{self.clock.words}: gaps of {_listed(self.values)} are filled from the values before and after them"
            )
        if self.by_columns:
            said.append(
                f"gaps of {_listed(self.by_columns)} are filled from the other columns: hidden cells were nearer to what those say "
                f"than to what the clock {self.clock.name!r} says"
            )
        return said


def feature_of(prepare: Preprocessing, name: str) -> int:
    """The feature of a column of numbers."""
    return int(np.flatnonzero(prepare.owner == prepare.names.index(name))[0])


def fill_by_time(clock: Clock, whole: Table, prepare: Preprocessing, options: Mapping[str, Any]) -> TimeFilling:
    """Fill every column of numbers that has gaps and enough values along the clock.

    Where there are other columns, copies of its gaps are hidden in each such column. It is filled from the other columns if
    those come nearer to the hidden cells by more than one standard error [10].
    """
    filling = TimeFilling(clock)
    series = {name: whole[name] for name in _series_of(clock, whole, prepare)}
    alone = len(prepare.names) == 1
    hidden = {name: [] if alone else hidden_gaps(column) for name, column in series.items()}
    guesses = {} if alone else _by_columns(prepare, whole, series, hidden)
    for name, column in series.items():
        seen = _without(column, hidden[name])
        try:
            model = _forecaster(clock, options).fit(seen)
        except ValueError:  # too few values left to learn from
            filling.by_columns += [] if alone else [name]
            continue
        if hidden[name]:
            guess = np.asarray(model.impute(seen))
            misses = [
                [-float(np.abs(tried[rows] - column[rows]).mean()) for tried in (guess, guesses[name])]
                for rows in hidden[name]
            ]
            if choose(["time", "columns"], np.array(misses)).chosen == "columns":
                filling.by_columns.append(name)
                continue
        filling.values[name], filling.stds[name] = model.impute(column, return_std=True)
    return filling


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


def _forecaster(clock: Clock, options: Mapping[str, Any]) -> Any:
    from gramian import RKMForecaster

    model = RKMForecaster(random_state=options.get("seed", 0))
    model._usual_seasons = clock.seasons
    return model


def _by_columns(
    prepare: Preprocessing, whole: Table, series: Mapping[str, Array], hidden: Mapping[str, Sequence[slice]]
) -> dict[str, Array]:
    """What the other columns say of every row, with the hidden cells out of sight, in units of the table."""
    from gramian import LatentImputer

    X = np.array(prepare.matrix(whole))
    for name, gaps in hidden.items():
        for rows in gaps:
            X[rows, feature_of(prepare, name)] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)  # of rows that show nothing once their cells are hidden
        filled = LatentImputer(standardize=False).fit_transform(X)
    columns = {name: feature_of(prepare, name) for name in series}
    return {name: filled[:, j] * prepare.scale[j] + prepare.mean[j] for name, j in columns.items()}


def hidden_gaps(column: Array) -> list[slice]:
    """Stretches of known values as long as the column's gaps, spread over it; none touches a gap or another.

    >>> hidden_gaps(np.r_[np.nan, np.arange(6.0), np.nan, np.nan, np.arange(6.0)])
    [slice(5, 6, None), slice(12, 14, None)]
    """
    from gramian.series.gap_filling import gaps_of

    lengths = sorted(length for _, length in gaps_of(column))
    if len(lengths) > HIDDEN_GAPS:
        lengths = [lengths[i] for i in np.linspace(0, len(lengths) - 1, HIDDEN_GAPS).astype(int)]
    free = ~np.isnan(column)
    most = int(free.sum()) // 4  # of the values stay in sight, three in four at least
    found = []
    for share, length in zip((np.arange(len(lengths)) + 0.5) / len(lengths), lengths):
        if length > most:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(free, length + 2).all(axis=1)
        places = np.flatnonzero(windows)
        if not len(places):
            continue
        start = int(places[np.abs(places - share * len(column)).argmin()]) + 1
        found.append(slice(start, start + length))
        free[start - 1 : start + length + 1] = False
        most -= length
    return sorted(found, key=lambda rows: rows.start)


def _without(column: Array, gaps: Sequence[slice]) -> Array:
    out = np.array(column)
    for rows in gaps:
        out[rows] = np.nan
    return out


def _listed(names: Any) -> str:
    listed = [repr(name) for name in names]
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
