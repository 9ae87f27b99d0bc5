"""Standard deviations of filled cells, held to what they promise on hidden cells [10, 12]."""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import row_hashes
from gramian.evidence.cell_scales import LEAST_STD, column_scales, corrected_deviations, likeness
from gramian.evidence.cells import HiddenPredictions, hidden_cells
from gramian.filling.columns import FilledColumns, ShownRows
from gramian.single.primal_stream import PrimalStream

REFITS = 2
"""Draws of hidden cells on which an estimator other than PPCA is fitted again, to calibrate its standard deviations."""


class FilledLaws(FilledColumns):
    """The law of every cell given the others of its row. A subclass has ``estimator_``."""

    n_folds: Any
    estimator_: Any
    std_scales_: Annotated[Array, "+ d"]
    _spreads: Array

    @property
    def _least_std(self) -> Any:
        return LEAST_STD * (1.0 if self._units is not None else self._spreads)

    def _calibrate(self, found: HiddenPredictions | None, scaled: Array) -> None:
        self.std_scales_ = np.ones(scaled.shape[1])
        if self.n_folds is None or found is None:
            return
        # by the law that will be told, that of all cells: its factor for small samples is then held to what hidden cells say as well
        law = self.estimator_._small_sample()
        deviations = corrected_deviations(found.values, found.means, found.variances, law, found.columns, found.latents)
        distinct = scaled[np.unique(row_hashes(scaled), return_index=True)[1]]  # copies say nothing more
        gaps = np.isnan(distinct)
        means = self.estimator_._filled(distinct, None, None)[0]
        like = likeness(found.means, found.columns, means[gaps], gaps.nonzero()[1])
        self.std_scales_ = column_scales(deviations, found.columns, scaled.shape[1], weights=like)

    def _calibrate_by_refits(self, model: Any, scaled: Array, weights: Array, given: dict[str, Any]) -> None:
        """Models other than PPCA are fitted again without the hidden cells of some draws."""
        d = scaled.shape[1]
        self.std_scales_ = np.ones(d)
        if self.n_folds is None:
            return
        hashes = row_hashes(scaled)
        deviations, columns = [], []
        for draw in range(REFITS):
            hidden = hidden_cells(scaled, draw, hashes)
            if not hidden.any():
                continue
            table = np.where(hidden, np.nan, scaled)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit on all cells has said it
                filled, std = filled_by(clone(model).fit(table, **given), table)
            std = np.maximum(std, self._least_std)
            at = hidden
            deviations.append((scaled - filled)[at] / std[at])
            columns.append(at.nonzero()[1])
        if deviations:
            self.std_scales_ = column_scales(np.concatenate(deviations), np.concatenate(columns), d)

    def _features(self, model: Any, told: ShownRows) -> tuple[Array, Array]:
        """Means and deviations that a model gives to rows, in its own units."""
        if isinstance(model, PrimalStream):
            return model._filled(told.scaled, model._small_sample(), told.known)
        return filled_by(model, told.scaled)

    def _law(self, told: ShownRows) -> tuple[Array, Array]:
        """Mean and calibrated deviation of every cell, in the images of the columns: there they are normal."""
        filled, std = self._features(self.estimator_, told)
        std = np.maximum(std * self.std_scales_, self._least_std)
        return (filled, std) if self._units is None else (self._units.back(filled), std * self._units.scale)

    def _moments(self, told: ShownRows) -> tuple[Array, Array]:
        """The rows with their holes filled by means, and deviations, 0 where nothing was missing; in the units of the table."""
        mean, std = self._law(told)
        at = np.isnan(told.table)
        margins = self._margins_of_law(told)
        if margins is not None:
            mean, std = margins.moments(mean, std)
        return np.where(at, mean, told.table), np.where(at, std, 0.0)


def filled_by(model: Any, table: Array) -> tuple[Array, Array]:
    """The table filled by a model, and standard deviations: its own, or 1 where it has none to give (held-out cells settle them)."""
    if hasattr(model, "impute"):
        filled, std = model.impute(table, return_std=True)
        return np.asarray(filled, dtype=np.float64), np.asarray(std, dtype=np.float64)
    rebuilt = model.reconstruct(table)
    if isinstance(rebuilt, dict):
        whole = np.empty(table.shape)
        names = getattr(model, "feature_names_in_", None)
        for name, part in rebuilt.items():
            spec = model.views[name]
            whole[:, _positions(spec, table.shape[1], names)] = part
        rebuilt = whole
    holes = np.isnan(table)
    return np.where(holes, rebuilt, table), holes.astype(np.float64)


def _positions(spec: Any, n_columns: int, names: Any) -> Array:
    """The columns of a view by position."""
    columns = np.arange(n_columns)
    if isinstance(spec, slice):
        return columns[spec]
    wanted = list(spec) if isinstance(spec, list | tuple | np.ndarray) else [spec]
    known = {} if names is None else {str(name): j for j, name in enumerate(names)}
    return np.array([known[name] if isinstance(name, str) else columns[name] for name in wanted])
