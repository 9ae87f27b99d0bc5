"""The columns of a table that is filled: which take part, what they may hold, what is known of their cells, and the way back to the container given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype
from gramian._checks import check_flag, check_table
from gramian.exceptions import DataWarning, warn
from gramian.filling.cells_known import Limits, check_censored
from gramian.filling.told_rows import ToldRows
from gramian.latent.cell_seer import CellSeer
from gramian.latent.interval import Interval
from gramian.latent.known_errors import Known
from gramian.latent.units import Units
from gramian.policy import LOOK
from gramian.rows import Rows
from gramian.rows.column_ends import column_ends
from gramian.rows.draws import smallest_rows
from gramian.single.noisy_fit import check_errors
from gramian.tables.bounds import Bounds, check_bounds
from gramian.tables.codes import Code, check_keep_codes, count_codes, find_codes, warn_of_codes, without_codes
from gramian.tables.frames import as_table, chosen_columns, frame_of, like, with_columns, without_words
from gramian.tables.front_door import TakesFrames, filled_like, holes
from gramian.tables.margins import Margins


@dataclass(frozen=True)
class ShownRows:
    """Rows as the model is told of them: with NaN in what is to be filled, the same in units of the model, what is known beside values, and what a clock
    says of features (values, deviations, and by how much those of both are multiplied; None where the clock stands alone)."""

    table: Array
    scaled: Array
    known: Known | None = None
    timed: dict[int, tuple[Array, Array, float | None]] = field(default_factory=dict)
    limits: Array | None = None  # cells are at most this, in the units of the table; NaN where nothing is known

    def below_limits(self, features: Array) -> Array:
        """Features in the units of the table, not above a limit by rounding."""
        return features if self.limits is None else np.fmin(features, self.limits)


class FilledColumns(TakesFrames):
    """The outer shell of `LatentImputer`: rows in, filled tables out."""

    bounds: Any
    censored: Any
    keep_codes: Any
    add_indicator: Any
    keep_empty_features: Any
    _calibrated: Any
    _units: Annotated[Units | None, "its d"] = None
    codes_: list[Code] = []  # noqa: RUF012 (of models fitted to batches)
    _of_frame: bool = False  # whether the rows of the fit were a data frame
    _shown_columns: Annotated[Array | None, "# d"] = None  # positions of the columns with a value, where some have none
    _bounds: Bounds | None = None
    _limits: Limits | None = None
    _numbers: tuple[str, ...] = ()  # the columns of numbers of a frame, in whose order codes and limits are kept
    _margins: Margins | None = None
    _seer: CellSeer | None = None  # where wild cells are not believed
    _indicated: Annotated[Array | None, "# *"] = None

    # ------------------------------------------------------------ at fit

    def _check_columns(self) -> None:
        check_bounds(self.bounds)
        check_censored(self.censored)
        check_flag("add_indicator", self.add_indicator)
        check_flag("keep_empty_features", self.keep_empty_features)

    def _settle_columns(self, X: Any, table: Array) -> Array:
        """Which columns take part and what values they may take; the table without those that show nothing."""
        self._of_frame = frame_of(X) is not None
        empty = np.flatnonzero(np.isnan(table).all(axis=0))
        if empty.size == table.shape[1]:
            raise ValueError(
                "All cells of X are missing: nothing to fit. Give at least one observed cell in every column."
            )
        missing = self._holes_of(X, table)
        self._indicated = np.flatnonzero(missing.any(axis=0)) if self.add_indicator else None
        if empty.size:
            names = self._feature_names
            told = ", ".join(repr(str(names[j])) if names is not None else str(j) for j in empty[:10])
            what = (
                "are filled with 0"
                if self.keep_empty_features
                else "are left out of the filled table (keep_empty_features=True keeps them)"
            )
            warn(f"X has no observed value in column(s) {told}, which {what}.", DataWarning)
            self._shown_columns = np.setdiff1d(np.arange(table.shape[1]), empty)
            table = table[:, self._shown_columns]
        if self._coding is None:
            names = range(self.n_features_in_) if self._feature_names is None else self._feature_names
            kept = names if self._shown_columns is None else [names[j] for j in self._shown_columns]
            self._settle_bounds(dict(zip(kept, table.T)))
        else:
            full = self._table(X)
            self._settle_bounds({name: full[name] for name in self._coding.numbers})
        return table

    def _settle_rows(self, rows: Rows) -> Rows:
        """Codes, bounds and the columns that show something, of rows that are not in memory; the rows without codes, those columns alone."""
        ends = column_ends(rows)
        if not ends.finite:
            raise ValueError("Input X contains infinity or a value too large for dtype('float64').")
        drawn = smallest_rows(rows, LOOK.rows)
        found = find_codes(ends.beside(np.asarray(drawn.rows, dtype=np.float64)), check_keep_codes(self.keep_codes))
        self.codes_ = count_codes(rows, found)
        warn_of_codes(self.codes_, "keep_codes=[{}]")
        told = ToldRows(tuple(self.codes_))
        shown = column_ends(told.of(rows)).table() if self.codes_ else ends.table()
        self._settle_columns(shown, shown)
        if not self.codes_ and self._shown_columns is None:
            return rows
        return replace(told, columns=self._shown_columns).of(rows)

    def _settle_bounds(self, columns: dict[Any, Array]) -> None:
        """What values columns of numbers may take."""
        self._bounds = Bounds.of(list(columns.values()), list(columns), self.bounds)

    def _number_features(self, width: int) -> Array:
        """Which features are numbers, not coordinates of categories, (width,)."""
        if self._coding is None:
            return np.ones(width, dtype=bool)
        return np.array([not self._coding.categories[j] for j in self._coding.owner])

    def _feature_ends(self, width: int) -> tuple[Array, Array, Array]:
        """Of each feature, in its own units: the least and the largest that it may be, and where 0 is."""
        low, high, origin = np.full(width, -np.inf), np.full(width, np.inf), np.zeros(width)
        at = self._number_features(width)
        if self._bounds is not None:
            low[at], high[at] = self._bounds.low, self._bounds.high
        if self._coding is None:
            return low, high, origin
        shift, scale = self._coding.mean, self._coding.scale
        return (low - shift) / scale, (high - shift) / scale, (origin - shift) / scale

    # ------------------------------------------------------------ rows and numbers

    def _seen(self, columns: Array, names: Any, reset: bool = False) -> Array:
        """Numbers (n, k) without the codes of missing and without cells below limits; ``reset`` looks for both, and says so."""
        if reset:
            self._limits = Limits.of(list(columns.T), names, self.censored)
        if self._limits is not None:
            columns = np.where(np.isnan(self._limits.of_rows(list(columns.T))), columns, np.nan)
        if reset:
            self.codes_ = find_codes(list(columns.T), check_keep_codes(self.keep_codes))
            warn_of_codes(self.codes_, "keep_codes=[{}]")
        return without_codes(columns, self.codes_)

    def _without_codes(self, table: Any, reset: bool = False) -> Any:
        numbers = {name: column for name, column in zip(table.names, table.columns) if column.dtype.kind == "f"}
        if reset:
            self._numbers = tuple(numbers)
        if not self._numbers:
            return table
        nothing = np.full(table.n_rows, np.nan)
        fitted = np.column_stack([numbers.get(name, nothing) for name in self._numbers])
        found = dict(zip(self._numbers, self._seen(fitted, self._numbers, reset).T))
        columns = [found[n] if n in found and n in numbers else c for n, c in zip(table.names, table.columns)]
        return replace(table, columns=columns)

    def _checked_rows(self, X: Any) -> Array:
        table = check_table(self, X, reset=False, missing=True)
        return table if self._coding is not None else self._seen(table, ())

    def _rows_of(self, X: Any) -> Array:
        """The rows as the model sees them."""
        table = self._checked_rows(X)
        return table if self._shown_columns is None else table[:, self._shown_columns]

    def _holes_of(self, X: Any, table: Array) -> Array:
        """Which cells of X are missing, one column per column of X."""
        if self._coding is None:
            return np.isnan(table)
        full = self._table(X)
        return np.column_stack([holes(full[str(name)]) for name in self.feature_names_in_])

    def _known_of(self, X: Any, table: Array, X_std: Any = None) -> Known | None:
        """What is known of the cells of rows beside their values, in the units of the features."""
        std = None if X_std is None else self._kept(check_errors(X_std, self._checked_rows(X), self))
        limits = None
        if self._limits is not None and self._coding is None:
            limits = self._kept(self._limits.of_rows(list(check_table(self, X, reset=False, missing=True).T)))
        elif self._limits is not None and self._coding is not None:
            raw = as_table(X, self._coding.moments)
            found = dict(zip(self._numbers, self._limits.of_rows([raw[name] for name in self._numbers]).T))
            limits = self._feature_limits(found, len(table))
        return self._known(std, limits)

    def _feature_limits(self, limits: dict[str, Array], n_rows: int) -> Array:
        """Limits of cells of columns as limits of features."""
        assert self._coding is not None
        nothing = np.full(n_rows, np.nan)
        raw = np.column_stack([limits.get(self._coding.names[j], nothing) for j in self._coding.owner])
        return np.asarray((raw - self._coding.mean) / self._coding.scale)

    def _known(self, std: Array | None, limits: Array | None) -> Known | None:
        """Cells below limits lie above the least that their column may hold."""
        if limits is None:
            return Known.of(std, None)
        least = self._feature_ends(limits.shape[1])[0]
        with np.errstate(invalid="ignore"):
            return Known.of(std, Interval(np.where(least < limits, least, -np.inf), limits))

    def _keep_beliefs_of_rows(self, kept: Array) -> None:
        """``flags_`` and ``row_weights_`` of all rows and columns that were given, those too that took no part in the fit."""
        if "flags_" not in vars(self):
            return
        found, shown = self.flags_, self._shown_columns
        if shown is not None:
            found = np.zeros((len(found), self.n_features_in_), dtype=bool)
            found[:, shown] = self.flags_
        self._keep_beliefs(len(kept), kept, found, self.row_weights_)

    def _kept(self, columns: Array) -> Array:
        """Of all columns those that show a value."""
        return columns if self._shown_columns is None else columns[:, self._shown_columns]

    def _told(self, X: Any, X_std: Any = None) -> ShownRows:
        table = self._rows_of(X)
        return self._told_of(table, self._known_of(X, table, X_std))

    def _without_wild_cells(self, table: Array) -> Array:
        return table if self._seer is None else np.where(self._seer.flags(table), np.nan, table)

    def _told_of(self, table: Array, known: Known | None = None) -> ShownRows:
        """The same from features; cells that the others of their row contradict are not told."""
        scaled = self._without_wild_cells(table)
        scaled = scaled if self._margins is None else self._margins.into(scaled)
        limits = None if known is None or known.interval is None else known.interval.high
        if known is not None and known.interval is not None and self._margins is not None:
            known = replace(known, interval=known.interval.mapped(self._margins.into))
        if self._units is None:
            return ShownRows(table, scaled, known, limits=limits)
        known = None if known is None else known.moved(self._units.mean, self._units.scale)
        return ShownRows(table, self._units.into(scaled), known, limits=limits)

    def _margins_of_law(self, told: ShownRows) -> Margins | None:
        """The maps in whose images the law of a cell is normal."""
        return self._margins

    def _unscaled(self, features: Array) -> Array:
        """Features in units of the model as those of the table."""
        features = features if self._units is None else self._units.back(features)
        return features if self._margins is None else self._margins.back(features)

    # ------------------------------------------------------------ the way back

    def _columns_of(self, features: Array, texts: dict[str, Array], rounded: Any = np.round) -> dict[str, Array]:
        """The columns of a frame that complete features stand for: possible values; ``texts`` are its categories."""
        assert self._coding is not None
        columns = self._filled_columns(features)
        for j, name in enumerate(self._coding.numbers) if self._bounds is not None else ():
            columns[name] = self._bounds.held(j, columns[name], rounded)  # type: ignore[union-attr]
        return columns | texts

    def _completed(
        self, X: Any, table: Array, features: Array, texts: dict[str, Array], rounded: Any = np.round
    ) -> Any:
        """X in its container with the holes filled by possible values."""
        if self._coding is None:
            full = np.array(features, dtype=float_dtype(table))
            at = np.isnan(table)
            for j in np.flatnonzero(at.any(axis=0)).tolist() if self._bounds is not None else ():
                full[at[:, j], j] = self._bounds.held(j, full[at[:, j], j], rounded)  # type: ignore[union-attr]
            if X is None or frame_of(X) is None:
                return self._with_empty(full)
            frame, columns = as_table(X), {}
            kept = range(len(frame.names)) if self._shown_columns is None else self._shown_columns
            for k, j in enumerate(kept):
                frame.columns[j], columns[frame.names[j]] = table[:, k], full[:, k]
        else:
            frame, columns = self._table(X), self._columns_of(features, texts, rounded)
        empty = self._empty_columns(frame.names)
        for name in without_words(X, empty) if self.keep_empty_features else ():
            columns[name] = np.zeros(frame.n_rows)
        out = filled_like(X, frame, columns, without=() if self.keep_empty_features else empty)
        if self.keep_empty_features or not empty:
            return out
        shown = [name not in empty for name in frame.names]
        return out[:, shown] if frame_of(out) is None else chosen_columns(out, list(compress(frame.names, shown)))

    def _spread_like(self, X: Any, std: Array) -> Any:
        """Standard deviations in the container of X, 0 where nothing was missing; a category's is the largest of its indicators."""
        if self._coding is not None:
            out = self._with_spread(X, std)
        elif self._shown_columns is None:
            return like(X, std)
        else:
            whole = np.zeros((len(std), self.n_features_in_), dtype=std.dtype)
            whole[:, self._shown_columns] = std
            out = like(X, whole)
        if self.keep_empty_features:
            return out
        if frame_of(X) is None:
            return std if self._coding is None else out
        names = [str(name) for name in as_table(X).names]
        empty = self._empty_columns(names)
        return chosen_columns(out, [name for name in names if name not in empty]) if empty else out

    def _empty_columns(self, names: list[str]) -> list[str]:
        """The columns that showed no value at fit."""
        if self._coding is not None:
            return [name for name in self._coding.empty if name in names]
        return (
            []
            if self._shown_columns is None
            else [names[j] for j in np.setdiff1d(np.arange(len(names)), self._shown_columns)]
        )

    def _with_empty(self, full: Array) -> Array:
        """Arrays of kept columns, with zeros for those that showed nothing where these are to be kept."""
        if self._shown_columns is None or not self.keep_empty_features:
            return full
        out = np.zeros((len(full), self.n_features_in_), dtype=full.dtype)
        out[:, self._shown_columns] = full
        return out

    def _with_indicators(self, X: Any, out: Any) -> Any:
        if self._indicated is None:
            return out
        flags = self._holes_of(X, self._checked_rows(X))[:, self._indicated]
        if frame_of(out) is None:
            return np.hstack([out, flags.astype(out.dtype)])
        return with_columns(out, dict(zip(self._indicator_names(), flags.T)))

    def _indicator_names(self) -> list[str]:
        names = self._input_names()
        return [f"missingindicator_{names[j]}" for j in (() if self._indicated is None else self._indicated)]

    def _input_names(self) -> list[str]:
        found = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if found is None else [str(name) for name in found]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns of the filled table [15].

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns, where the fit knew none; must be those of the fit otherwise.

        Returns
        -------
        ndarray of str

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import LatentImputer
        >>> X = np.random.default_rng(0).standard_normal((30, 3))
        >>> X[0, 1] = np.nan
        >>> LatentImputer(add_indicator=True).fit(X).get_feature_names_out().tolist()
        ['x0', 'x1', 'x2', 'missingindicator_x1']
        """
        check_is_fitted(self)
        from sklearn.utils.validation import _check_feature_names_in

        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        gone = () if self.keep_empty_features else self._empty_columns(names)
        indicators = [f"missingindicator_{names[j]}" for j in (() if self._indicated is None else self._indicated)]
        return np.array([name for name in names if name not in gone] + indicators, dtype=object)
