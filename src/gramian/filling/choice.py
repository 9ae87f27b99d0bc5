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
from gramian.evidence.robustness import believe_cells
from gramian.exceptions import NumericalWarning
from gramian.filling.columns import FilledColumns
from gramian.latent.gaussian import NoiseAboveError
from gramian.latent.known_errors import Known
from gramian.latent.missing import MissingFit
from gramian.latent.units import Units
from gramian.policy import FILLING, LOOK
from gramian.rows import as_rows
from gramian.single.hole_fit import takes_holes
from gramian.single.robust_fit import RobustFit
from gramian.single.standardizing import standardizes
from gramian.tables.margins import Margins


@dataclass(frozen=True)
class FilledFit:
    """The model that was asked for with what was open settled, how, and the rows and weights that it saw."""

    model: Any
    choice: CellChoice | None
    scaled: Array
    weights: Array
    fit: Callable[[Any, MissingFit | None], Any]  # of a model, from where its EM begins, to all rows
    plain: bool = True  # whether nothing more is known of cells
    open: Any = None  # the model as it was asked for, where noise and q were to be settled

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

    def _fit_linear(self, model: Any, table: Array, weights: Array, known: Known | None) -> FilledFit:
        """Fit to floats with NaN in what is to be filled, every row with a weight and a cell: first as they are, then in the laws of the columns."""
        self._forget_beliefs()
        usual = table
        if self.robust is not False and takes_holes(model.n_components) and (known is None or known.std is None):
            usual = self._believed(model, table, weights)
            if self.robust_ == "rows":
                weights = weights * self.row_weights_
            else:
                table = usual
            if known is None:  # what more is known goes by rows
                kept = ~np.isnan(table).all(axis=1)
                table, usual, weights = table[kept], usual[kept], weights[kept]
        found = self._fit_in_units(model, table, usual, weights, known)
        margins = self._chosen_margins(found, usual, weights, known)
        if margins is not None and margins.own:
            self._margins = margins
            if known is not None and known.interval is not None:
                known = replace(known, interval=known.interval.mapped(margins.into))
            found = self._fit_in_units(model, margins.into(table), margins.into(usual), weights, known)
        found = self._with_column_noises(found)
        self._calibrate(
            None if found.choice is None else found.choice.said(found.choice.selection.chosen), found.scaled
        )
        return found

    def _fit_in_units(self, model: Any, table: Array, usual: Array, weights: Array, known: Known | None) -> FilledFit:
        """The fit with noise and q chosen on hidden cells, in units of the columns without the cells that are not ``usual``."""
        scaled = self._in_units(model, table, usual, weights)
        if known is not None and self._units is not None:
            known = known.moved(self._units.mean, self._units.scale)

        def fit(it: Any, begin: MissingFit | None) -> Any:
            return it._fit(scaled, weights, begin, known=known)

        return self._fit_choice(
            FilledFit(model, self._choice(model, scaled, weights, known), scaled, weights, fit, known is None)
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
        with silence_unasked(choice):
            self.estimator_ = fit_above_noise(found.model, choice, lambda it: found.fit(it, found.start or self._near))
        return found

    def _with_column_noises(self, found: FilledFit) -> FilledFit:
        """Fitted again with a noise of each column, where that was open and hidden cells say so."""
        model, choice, known_more = found.open, found.choice, not found.plain
        if model is None or choice is None or known_more or model._per_column or self.robust == "rows":
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

    def _believed(self, model: Any, table: Array, weights: Array) -> Array:
        """The table without wild cells; which cells and rows are believed is kept, with what tells wild cells of other rows."""
        kind = "auto" if self.robust == "auto" else "cells"
        found = believe_cells(table, weights, kind, self._number_features(table.shape[1]))
        wild = found.all_flags(table)
        usual = np.where(wild, np.nan, table) if wild.any() else table
        if self.robust == "rows":
            rows = Units.of(usual, weights).into(table) if self._scales(model) else table
            noise = None if isinstance(model.noise_variance, str) else float(model.noise_variance) or None
            found = RobustFit(rows, weights, model.n_components, noise, model.center).rows(wild)[0]
            assert found.degrees_of_freedom is not None
            self.degrees_of_freedom_ = found.degrees_of_freedom
        self.robust_, self.flags_, self.row_weights_ = found.kind, found.flags, found.row_weights
        self._seer = found.seer
        return usual

    def _in_units(self, model: Any, table: Array, usual: Array, weights: Array) -> Array:
        """The table in the units of its columns, those of the ``usual`` cells, which are kept."""
        units = Units.of(as_rows(usual, weights))
        self._spreads = units.scale
        self._units = units if self._scales(model) else None
        return table if self._units is None else self._units.into(table)

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
def silence_unasked(choice: CellChoice | None) -> Iterator[None]:
    """Exact structure leaves a model without a density, which an imputer does not need, or with fewer axes than were chosen, and noises of
    columns take the steps that were judged, none of which anybody asked for: nothing to warn of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The kept components explain all", category=NumericalWarning)
        if choice is not None and len(choice.selection.candidates) > 1:
            warnings.filterwarnings(
                "ignore", message="n_components=.* exceeds the numerical rank", category=NumericalWarning
            )
            warnings.filterwarnings("ignore", message=f"PX-EM did not converge in max_iter={LOOSE_STEPS} steps")
        yield
