"""The front door of estimators: a frame of numbers goes in as it is, any other frame through a :class:`Preprocessing`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian.exceptions import DataWarning, warn
from gramian.tables.clocks import Clock
from gramian.tables.frames import (
    as_table,
    dates_with_holes,
    frame_of,
    holds_only_numbers,
    like,
    of_whole_days,
    orders_of,
    with_cells,
    with_types_of,
)
from gramian.tables.preprocessing import Preprocessing, Roles
from gramian.tables.table import Table


class TakesFrames:
    """For estimators whose rows may be data frames with categories, texts, booleans and dates beside numbers.

    `gramian._checks.check_table` asks ``_coded``. A frame with such columns is coded as the command line codes files: numbers in units of
    their columns, categories as contrasts of the same total weight, ordered ones as ranks; free text and complete dates take no part, dates
    that miss some are numbers, so that they can be filled. Arrays and frames of numbers are not touched.
    """

    _coding: Preprocessing | None = None
    feature_names_in_: Any
    n_features_in_: Annotated[int, "=d"]
    flags_: Any
    row_weights_: Array

    def _coded(self, X: Any, reset: bool, missing: bool) -> Array | None:
        """The features of the rows of a frame; None where X is numbers and nothing but numbers were fitted."""
        if reset:
            vars(self).pop("_coding", None)
            return self._code(X)
        coding = self._coding
        return None if coding is None else coding.matrix(self._table(X), unknown="missing" if missing else "error")

    def _code(self, X: Any) -> Array | None:
        """Settle what every column is, and keep it."""
        frame = frame_of(X)
        if frame is None or holds_only_numbers(frame):
            return None
        moments = tuple(dates_with_holes(X))
        table = self._without_codes(as_table(X, moments), reset=True)
        coding = Preprocessing.fit([table], Roles(orders=orders_of(X)))
        coding.moments = moments
        coding.days = tuple(name for name in moments if of_whole_days(table[name]))
        self._coding = coding
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        return coding.matrix(table)

    def _without_codes(self, table: Table, reset: bool = False) -> Table:
        """The table with numbers that stand for missing as missing, in estimators that look for them."""
        return table

    def _table(self, X: Any) -> Table:
        """New rows as a table; an array has the columns of the fit in their order."""
        assert self._coding is not None
        table = as_table(X, self._coding.moments)
        if frame_of(X) is None and not isinstance(X, dict | Table):
            if len(table.names) != self.n_features_in_:
                raise ValueError(
                    f"X has {len(table.names)} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input."
                )
            table.names = [str(name) for name in self.feature_names_in_]
        return self._without_codes(table)

    @property
    def _feature_names(self) -> Any:
        """The names of what the model sees: of the columns, or of the features that they are coded by; None without names."""
        return getattr(self, "feature_names_in_", None) if self._coding is None else self._coding.features

    def _flags_of_columns(self, flags: Array) -> Array:
        """Flags of features as flags of the columns of X; a column that takes no part in the model has none."""
        coding = self._coding
        if coding is None:
            return flags
        found, at = np.zeros((len(flags), self.n_features_in_), dtype=bool), self.feature_names_in_.tolist()
        for feature, j in zip(flags.T, coding.owner):
            found[:, at.index(coding.names[j])] |= feature
        return found

    def _keep_beliefs(self, n_rows: int, kept: Array, flags: Array, row_weights: Array) -> None:
        """``flags_`` and ``row_weights_`` of all rows that were given; those that were not ``kept`` are believed."""
        every, self.row_weights_ = np.zeros((n_rows, flags.shape[1]), dtype=bool), np.ones(n_rows)
        every[kept], self.row_weights_[kept] = flags, row_weights
        self.flags_ = self._flags_of_columns(every)

    def _with_filled(self, X: Any, features: Array) -> Any:
        """X in its container with the holes of its columns filled from complete features."""
        if self._coding is None:
            return with_types_of(X, like(X, features))
        columns = self._filled_columns(features)
        unknown = {self._coding.names[j] for j in self._coding.owner[np.isnan(features).any(axis=0)]}
        return filled_like(X, self._table(X), {name: columns[name] for name in columns if name not in unknown})

    def _filled_columns(self, features: Array) -> dict[str, Array]:
        """The columns of the frame that complete features stand for."""
        assert self._coding is not None
        return dict(zip(self._coding.names, self._coding.columns(features)))

    def _with_spread(self, X: Any, std: Array) -> Any:
        """Standard deviations of features as a table of the columns of X, 0 where nothing was missing."""
        if self._coding is None:
            return like(X, std)
        table = self._table(X)
        spread = dict(zip(self._coding.names, self._coding.spread(std)))
        nothing = np.zeros(table.n_rows)
        columns = [np.where(holes(table[name]), spread.get(name, nothing), 0.0) for name in table.names]
        return like(X, np.column_stack(columns))


def clock_of(X: Any, table: Table) -> Clock | None:
    """The clock of a data frame: a column, or the index of pandas; none where rows run backwards."""
    index: Any = getattr(X, "index", None)
    try:
        found = Clock.of(table)
        if found is None and type(index).__name__ in ("DatetimeIndex", "PeriodIndex"):
            cells = index.to_timestamp() if type(index).__name__ == "PeriodIndex" else index
            found = Clock.of(as_table({"index": cells}))
    except ValueError:
        return None
    return found


def features_of(estimator: Any, columns: Array) -> Array:
    """The features of the columns of a frame, given by position."""
    coding: Preprocessing | None = getattr(estimator, "_coding", None)
    if coding is None:
        return columns
    wanted = {str(estimator.feature_names_in_[j]) for j in columns}
    return np.flatnonzero([coding.names[j] in wanted for j in coding.owner])


def holes(column: Array) -> Array:
    """Which cells of a column of a table are missing."""
    return np.array([cell is None for cell in column.tolist()]) if column.dtype == object else np.isnan(column)


def filled_like(X: Any, table: Table, columns: dict[str, Array], without: Sequence[str] = ()) -> Any:
    """X in its container with the holes of columns filled; what takes no part in the model stays missing, which is said,
    unless it is to be left out (``without``)."""
    cells = {}
    for name in table.names:
        at = holes(table[name])
        if name in columns:
            cells[name] = (at, columns[name][at].tolist())
        elif at.any() and name not in without:
            warn(
                f"column {name!r} takes no part in the model (it holds dates, free text, row names or one value only): "
                f"{int(at.sum())} missing cell(s) stay missing.",
                DataWarning,
            )
    if frame_of(X) is not None:
        return with_cells(X, cells)
    out = np.array(X, dtype=object)
    for j, name in enumerate(table.names):
        if name in cells:
            out[cells[name][0], j] = cells[name][1]
    return out
