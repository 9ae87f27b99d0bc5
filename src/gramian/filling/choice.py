"""Which model fills a table: its noise, its q, the cells and rows that are believed, and the laws of columns, all by hidden cells [10, 14, 15]."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import LARGEST, SMALLEST
from gramian.evidence.cell_choice import CellChoice, choose_by_cells, choose_noise_by_cells, with_column_noises
from gramian.evidence.cells import LOOSE_STEPS
from gramian.evidence.folds import as_folds
from gramian.evidence.margins import MarginTrial
from gramian.evidence.robustness import find_seer
from gramian.exceptions import NumericalWarning
from gramian.filling.columns import FilledColumns
from gramian.filling.told_rows import ToldRows
from gramian.kernels.units import standardizes
from gramian.latent.gaussian import NoiseAboveError
from gramian.latent.known_errors import Known
from gramian.latent.missing import MissingFit
from gramian.latent.units import Units
from gramian.latent.wild_cells import COLUMN_SHARE
from gramian.policy import FILLING, LOOK
from gramian.rows import Rows, as_rows
from gramian.rows.array import ArrayRows
from gramian.rows.draws import smallest_rows
from gramian.single.hole_fit import takes_holes
from gramian.single.robust_fit import RobustFit
from gramian.tables.margins import Margins


@dataclass(frozen=True)
class FilledFit:
    """The model that was asked for with what was open settled, how, the rows that were looked at, and all rows that it is fitted to."""

    model: Any
    choice: CellChoice | None
    scaled: Array
    weights: Array
    rows: Rows
    known: Known | None = None
    open: Any = None  # the model as it was asked for, where noise and q were to be settled

    @property
    def whole(self) -> bool:
        """Whether all rows were looked at."""
        return isinstance(self.rows, ArrayRows) and len(self.rows) == len(self.scaled)

    @property
    def start(self) -> MissingFit | None:
        """Where the fit to all cells begins: at the model of the choice, if there was one to make."""
        if self.choice is None or self.open is None:
            return None
        return self.choice.start(self.choice.selection.chosen)


class FillingChoice(FilledColumns):
    """A subclass has ``estimator_`` and ``_calibrate(found, scaled)``."""

    robust: Any
    n_folds: Any
    standardize: Any
    margins: Any
    estimator_: Annotated[Any, "fitted"]
    selection_: Any
    _spreads: Annotated[Array, "+ d"]  # the deviation of each column
    _calibrate: Any
    _near: MissingFit | None = None  # the model of a table that is nearly the same
    robust_: str | bool
    degrees_of_freedom_: float

    def _fit_gaussian(self, model: Any, rows: Rows, known: Known | None = None) -> FilledFit:
        """Fit to rows with NaN in what is to be filled, every row with a weight and a cell: first as they are, then in the laws of the columns.

        What is open is settled on the rows of smallest hash; ``known`` more of cells goes by rows, which are then in memory.
        """
        self._forget_beliefs()
        usual = rows
        if self.robust is not False and takes_holes(model.n_components) and (known is None or known.std is None):
            rows, usual = self._believed(model, rows)
            if known is None:
                kept = _some_cell(rows)
                rows, usual = _part(rows, kept), _part(usual, kept)
        found = self._fit_in_units(model, rows, usual, known)
        margins = self._chosen_margins(found, *looked_at(usual, known), known)
        if margins is not None and margins.own:
            self._margins = margins
            if known is not None and known.interval is not None:
                known = replace(known, interval=known.interval.mapped(margins.into))
            mapped = ToldRows(margins=margins)
            found = self._fit_in_units(model, mapped.of(rows), mapped.of(usual), known)
        found = self._with_column_noises(found)
        self._calibrate(
            None if found.choice is None else found.choice.said(found.choice.selection.chosen), found.scaled
        )
        return found

    def _fit_in_units(self, model: Any, rows: Rows, usual: Rows, known: Known | None) -> FilledFit:
        """The fit with noise and q chosen on hidden cells, in units of the columns without the cells that are not ``usual``."""
        self._settle_units(model, usual)
        rows = ToldRows(units=self._units).of(rows)
        if known is not None and self._units is not None:
            known = known.moved(self._units.mean, self._units.scale)
        scaled, weights = looked_at(rows, known)
        return self._fit_choice(
            FilledFit(model, self._choice(model, scaled, weights, known), scaled, weights, rows, known)
        )

    def _fit_choice(self, found: FilledFit) -> FilledFit:
        """With the model that its choice says, fitted."""
        choice = found.choice
        if open_to_choice(found.model):
            chosen = 0 if choice is None else choice.selection.chosen
            given = chosen if isinstance(chosen, dict) else {"n_components": int(chosen)}
            if given.get("noise_variance") == "per-column":
                given = given | {"max_iter": LOOSE_STEPS}  # what was judged: more steps make some columns exact
            found = replace(found, open=found.model, model=clone(found.model).set_params(**given))
            if choice is not None:
                self.selection_ = choice.selection
        begin = found.start or self._near
        with silence_unasked(choice, self._seer is not None):
            self.estimator_ = fit_above_noise(
                found.model, choice, lambda it: it._fit_rows(found.rows, begin, found.known)
            )
        return found

    def _with_column_noises(self, found: FilledFit) -> FilledFit:
        """Fitted again with a noise of each column, where that was open and hidden cells say so."""
        model, choice = found.open, found.choice
        if model is None or choice is None or found.known is not None or model._per_column or self.robust == "rows":
            return found
        limit = self._most_components(model, found.scaled)
        wider = with_column_noises(choice, found.scaled, found.weights, limit, **self._options(model, found.scaled))
        self.selection_ = wider.selection
        if wider.selection.chosen == choice.selection.chosen:
            return replace(found, choice=wider)
        return self._fit_choice(replace(found, model=model, choice=wider))

    def _forget_beliefs(self) -> None:
        """What an earlier fit has said of cells and rows."""
        for name in {"robust_", "flags_", "row_weights_", "degrees_of_freedom_"} & vars(self).keys():
            delattr(self, name)

    def _chosen_margins(self, found: FilledFit, table: Array, weights: Array, known: Known | None) -> Margins | None:
        """The law of each column, by hidden cells; None where none is looked for: columns that are told as they are, or a model that was given.

        Asked of the fitted model of columns as they are, before a noise of each column is.
        """
        told_as_is = self._units is None and self._coding is None
        if self.margins is None or self.n_folds is None or told_as_is or found.open is None or found.choice is None:
            return None
        n, d = table.shape
        if (
            n * d * max(self.estimator_.n_components_, 1) * LOOSE_STEPS > FILLING.noise_work
        ):  # a second fit would cost too much
            return None
        errors, cut = np.zeros(d, dtype=bool), np.zeros(d, dtype=bool)
        if known is not None and known.std is not None:
            errors = np.asarray(known.std.any(axis=0))
        if known is not None and known.interval is not None:
            cut = np.asarray(known.interval.cells.any(axis=0))
        ordinary = (self._spreads >= SMALLEST) & (self._spreads <= LARGEST)  # maps are made in the units of the table
        numbers = self._number_features(d) & ~errors & ordinary
        kinds = [(("log",) if cut[j] else ("log", "scores")) if numbers[j] else () for j in range(d)]
        fitted = self.estimator_
        noise = fitted.noise_variance
        return MarginTrial(
            table,
            weights,
            kinds,
            *self._feature_ends(d),
            MissingFit(fitted.mean_, fitted.loadings_, fitted.noise_variance_, [], 0, True),
            None if isinstance(noise, str) or noise == 0 else float(noise),
            fitted.center,
        ).chosen()

    def _believed(self, model: Any, rows: Rows) -> tuple[Rows, Rows]:
        """The rows that are fitted to, and those without wild cells; what is believed is kept, with what tells wild cells of other rows.

        A column of which more than its share would be wild is believed.
        """
        drawn = smallest_rows(rows, LOOK.rows)
        X = np.asarray(drawn.rows, dtype=np.float64)
        seer, _ = find_seer(drawn, "auto" if self.robust == "auto" else "cells", self._number_features(X.shape[1]))
        if seer is not None:
            much = drawn.weights @ seer.flags(X) > COLUMN_SHARE * (drawn.weights @ ~np.isnan(X))
            seer = replace(seer, able=seer.able & ~much)
        usual = rows if seer is None else ToldRows(seer=seer).of(rows)
        if self.robust == "rows":
            return self._counted(model, rows, usual)
        self.robust_, self._seer = False if seer is None else "cells", seer
        if isinstance(rows, ArrayRows) and isinstance(usual, ArrayRows):
            wild = np.asarray(np.isnan(usual.X).all(axis=1))
            self.flags_ = np.isnan(usual.X) & ~np.isnan(rows.X) & ~wild[:, None]
            self.row_weights_ = np.where(wild, 0.0, 1.0)
        return usual, usual

    def _counted(self, model: Any, rows: Rows, usual: Rows) -> tuple[Rows, Rows]:
        """The same rows by their weights in a multivariate t."""
        if not (isinstance(rows, ArrayRows) and isinstance(usual, ArrayRows)):
            raise ValueError("robust='rows' needs rows in memory. Give an array or a frame, or robust='cells'.")
        X = Units.of(usual).into(rows.X) if self._scales(model) else rows.X
        noise = None if isinstance(model.noise_variance, str) else float(model.noise_variance) or None
        wild = np.isnan(usual.X) & ~np.isnan(rows.X)
        found = RobustFit(X, rows.weights, model.n_components, noise, model.center).rows(wild)[0]
        assert found.degrees_of_freedom is not None
        self.degrees_of_freedom_ = found.degrees_of_freedom
        self.robust_, self.flags_, self.row_weights_ = found.kind, found.flags, found.row_weights
        weights = rows.weights * found.row_weights
        return replace(rows, weights=weights), replace(usual, weights=weights)

    def _settle_units(self, model: Any, usual: Any) -> None:
        """The units of the columns of the ``usual`` cells."""
        units = Units.of(usual)
        self._spreads = units.scale
        self._units = units if self._scales(model) else None

    def _scales(self, model: Any) -> bool:
        return self._coding is None and standardizes(self.standardize, getattr(model, "kernel", None))

    def _most_components(self, model: Any, scaled: Array) -> int:
        return max(min(len(scaled) - int(model.center), scaled.shape[1] - 1), 0)

    def _choice(self, model: Any, scaled: Array, weights: Array, known: Known | None = None) -> CellChoice | None:
        """q and noise, settled on hidden cells where they are open; where more is known of cells only q is chosen."""
        if known is not None:
            scaled = known.put_ends(scaled)
        limit, options = self._most_components(model, scaled), self._options(model, scaled)
        if model._per_column:
            options["blocks"] = np.arange(scaled.shape[1])
        if open_to_choice(model):
            if known is None and not model._per_column:
                return choose_noise_by_cells(scaled, weights, limit, **options)
            return choose_by_cells(scaled, weights, limit, smallest=0, by_error=True, **options)
        if self.n_folds is None or not isinstance(model.n_components, int):
            return None
        q = min(model.n_components, limit)
        noise = None if isinstance(model.noise_variance, str) else float(model.noise_variance)
        if noise == 0:
            return None
        return choose_by_cells(scaled, weights, q, smallest=q, noise_variance=noise, **options)

    def _options(self, model: Any, scaled: Array) -> dict[str, Any]:
        return {"center": model.center, "n_draws": as_folds(self.n_folds, scaled) or LOOK.folds}


def looked_at(rows: Rows, known: Known | None) -> tuple[Array, Array]:
    """The rows, and their weights, on which what is open is settled: all of few rows in memory, else those of smallest hash."""
    if isinstance(rows, ArrayRows) and (known is not None or len(rows) <= LOOK.rows):
        return np.asarray(rows.X, dtype=np.float64), rows.weights
    drawn = smallest_rows(rows, LOOK.rows)
    return np.asarray(drawn.rows, dtype=np.float64), drawn.weights


def _some_cell(rows: Rows) -> Array | None:
    """Which of few rows in memory show a cell."""
    if not isinstance(rows, ArrayRows) or len(rows) > LOOK.rows:
        return None
    return np.asarray(~np.isnan(rows.X).all(axis=1))


def _part(rows: Rows, kept: Array | None) -> Rows:
    if kept is None or not isinstance(rows, ArrayRows):
        return rows
    return as_rows(rows.X[kept], rows.weights[kept])


def open_to_choice(model: Any) -> bool:
    """Whether hidden cells settle the number of components and the noise."""
    return bool(model.n_components == "auto" and isinstance(model.noise_variance, str))


def fit_above_noise(model: Any, choice: CellChoice | None, fit: Callable[[Any], Any]) -> Any:
    """The fitted model; a noise chosen on hidden cells may lie above the last of the axes chosen with it, which are then left out."""
    try:
        return fit(model)
    except NoiseAboveError as told:
        if choice is None or not isinstance(choice.selection.chosen, dict):
            raise
        return fit(clone(model).set_params(n_components=told.above))


@contextmanager
def silence_unasked(choice: CellChoice | None, wild_rows: bool) -> Iterator[None]:
    """Rows that are wild as a whole show nothing. Exact structure leaves a model without a density, which an imputer does not need, or with fewer axes than were chosen, and noises of
    columns take the steps that were judged, none of which anybody asked for: nothing to warn of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The kept components explain all", category=NumericalWarning)
        if wild_rows:
            warnings.filterwarnings("ignore", message=".*show no value at all and are dropped from the fit")
        if choice is not None and len(choice.selection.candidates) > 1:
            warnings.filterwarnings(
                "ignore", message="n_components=.* exceeds the numerical rank", category=NumericalWarning
            )
            warnings.filterwarnings("ignore", message=f"PX-EM did not converge in max_iter={LOOSE_STEPS} steps")
        yield
