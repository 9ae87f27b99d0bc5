"""Tables of many rows, in memory, in batches or on Dask: what is open is settled on the rows of smallest hash, then all rows are fitted [10, 13].

Batches of few rows are gathered and fitted as a table in memory; larger tables go this way wherever they are. So the same rows give the same model.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.evidence.robustness import find_seer
from gramian.filling.choice import FilledFit, FillingChoice
from gramian.latent.cell_seer import CellSeer
from gramian.latent.missing import MissingFit
from gramian.latent.units import Units
from gramian.latent.wild_cells import COLUMN_SHARE, split_rows
from gramian.policy import LOOK
from gramian.rows import Rows, as_rows
from gramian.rows.array import ArrayRows
from gramian.rows.base import Block
from gramian.rows.column_ends import column_ends
from gramian.rows.converted import ConvertedRows, LaterBlock, rows_in_units
from gramian.rows.draws import smallest_rows
from gramian.single.hole_fit import takes_holes
from gramian.tables.codes import Code, check_keep_codes, count_codes, find_codes, warn_of_codes, without_codes
from gramian.tables.margins import Margins


@dataclass(frozen=True)
class ToldCells:
    """Rows as a model is told of them: without codes, only some columns, without wild cells, in the laws of their columns."""

    codes: tuple[Code, ...] = ()
    columns: Array | None = None
    seer: CellSeer | None = None
    margins: Margins | None = None

    def __call__(self, block: Block) -> LaterBlock:
        return LaterBlock(block, self.values)

    def values(self, block: Block) -> Array:
        """Of all rows of the block."""
        X = without_codes(block.X, self.codes)
        X = X if self.columns is None else X[:, self.columns]
        if self.seer is not None:
            flags, whole = split_rows(X, self.seer.flags(X))
            X = np.where(flags | whole[:, None], np.nan, X)
        return X if self.margins is None else self.margins.into(X)

    def rows(self, rows: Rows) -> Rows:
        """The same of rows wherever they are; of an array at once, else whenever a block is read."""
        if isinstance(rows, ArrayRows):
            return as_rows(self.values(Block(rows.X, rows.weights)), rows.weights)
        width = rows.n_columns if self.columns is None else len(self.columns)
        return ConvertedRows(rows, self, width)


class ManyRows(FillingChoice):
    """How `LatentImputer` is fitted to more rows than are looked at."""

    def _settle_rows(self, rows: Rows) -> Rows:
        """Codes, bounds and the columns that show something, of rows that are not in memory; the rows without codes, those columns alone."""
        ends = column_ends(rows)
        if not ends.finite:
            raise ValueError("Input X contains infinity or a value too large for dtype('float64').")
        drawn = smallest_rows(rows, LOOK.rows)
        found = find_codes(ends.beside(np.asarray(drawn.rows, dtype=np.float64)), check_keep_codes(self.keep_codes))
        self.codes_ = count_codes(rows, found)
        warn_of_codes(self.codes_, "keep_codes=[{}]")
        told = ToldCells(tuple(self.codes_))
        shown = column_ends(told.rows(rows)).table() if self.codes_ else ends.table()
        self._settle_columns(shown, shown)
        if not self.codes_ and self._shown_columns is None:
            return rows
        return replace(told, columns=self._shown_columns).rows(rows)

    def _fit_many(self, model: Any, rows: Rows) -> None:
        """Fit to rows with NaN in what is to be filled: first as they are, then in the laws of the columns."""
        self._forget_beliefs()
        drawn = smallest_rows(rows, LOOK.rows)
        if self.robust is not False and takes_holes(model.n_components):
            if self.robust == "rows":
                raise ValueError("robust='rows' needs rows in memory. Give an array or a frame, or robust='cells'.")
            self._seer = self._find_seer(np.asarray(drawn.rows, dtype=np.float64), drawn)
            self.robust_ = False if self._seer is None else "cells"
            if self._seer is not None:
                rows = ToldCells(seer=self._seer).rows(rows)
                drawn = smallest_rows(rows, LOOK.rows)
        found = self._fit_looked_at(model, rows)
        margins = self._chosen_margins(found, np.asarray(drawn.rows, dtype=np.float64), drawn.weights, None)
        if margins is not None and margins.own:
            self._margins = margins
            found = self._fit_looked_at(model, ToldCells(margins=margins).rows(rows))
        found = self._with_column_noises(found)
        self.estimator_.__dict__.pop("feature_names_in_", None)  # it is handed arrays, in units of the columns
        self._calibrate(
            None if found.choice is None else found.choice.said(found.choice.selection.chosen), found.scaled
        )

    def _find_seer(self, X: Array, drawn: Any) -> CellSeer | None:
        """What tells wild cells, each row by itself; a column of which it would take more than its share is believed."""
        seer, _ = find_seer(drawn, "auto" if self.robust == "auto" else "cells", self._number_features(X.shape[1]))
        if seer is None:
            return None
        much = drawn.weights @ seer.flags(X) > COLUMN_SHARE * (drawn.weights @ ~np.isnan(X))
        return replace(seer, able=seer.able & ~much)

    def _find_flags(self, table: Array) -> None:
        """``flags_`` and ``row_weights_`` of a table in memory."""
        if "robust_" in vars(self):
            flags = np.zeros(table.shape, dtype=bool) if self._seer is None else self._seer.flags(table)
            self.flags_, wild = split_rows(table, flags)
            self.row_weights_ = np.where(wild, 0.0, 1.0)

    def _fit_looked_at(self, model: Any, rows: Rows) -> FilledFit:
        """The fit to all rows in units of their columns, with noise and q chosen on hidden cells of the rows of smallest hash."""
        units = Units.of(rows)
        self._spreads = units.scale
        self._units = units if self._scales(model) else None
        if self._units is not None:
            rows = rows_in_units(rows, self._units.mean, self._units.scale)
        drawn = smallest_rows(rows, LOOK.rows)
        shown = ~np.isnan(drawn.rows).all(axis=1)
        scaled, weights = drawn.rows[shown].astype(np.float64), drawn.weights[shown]

        def fit(it: Any, begin: MissingFit | None) -> Any:
            with warnings.catch_warnings():
                if self._seer is not None:  # rows that are wild as a whole
                    warnings.filterwarnings("ignore", message=".*show no value at all and are dropped from the fit")
                return it._fit_rows(rows, begin)

        return self._fit_choice(FilledFit(model, self._choice(model, scaled, weights), scaled, weights, fit))
