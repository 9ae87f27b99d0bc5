"""What PPCA believes of a table: which cells are wild, how much each row counts [14]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.evidence.cells import CellChoice, choose_by_cells
from gramian.evidence.robustness import Robust, Trial
from gramian.latent.missing import MissingFit, fit_missing
from gramian.latent.student import StudentFit, fit_student
from gramian.latent.wild_cells import THRESHOLD, column_thresholds, find_wild_cells, first_flags

START_TOL = 1e-3
"""Of the model that the search for wild cells begins at."""


@dataclass(frozen=True)
class RobustFit:
    """The question: a table with NaN in the holes, its weights, and what was asked of PPCA."""

    X: Array
    weights: Array
    n_components: Any
    noise_variance: float | None
    center: bool

    def believed(self, kind: str) -> tuple[Robust, MissingFit]:
        """Flags or weights of ``kind`` "cells", "rows" or "auto", and a model of the cells that are not wild."""
        thresholds = column_thresholds(self.X, THRESHOLD)
        first = first_flags(self.X, self.weights, thresholds)
        shown = np.where(first, np.nan, self.X)
        q, choice = self._count(shown)
        options: dict[str, Any] = {
            "weights": self.weights,
            "noise_variance": self.noise_variance,
            "center": self.center,
        }
        start = fit_missing(shown, q, tol=START_TOL, **options)
        if kind == "auto":
            models = [] if choice is None else choice.models_of(q)
            trial = Trial(self.X, self.weights, first, start, models, self.noise_variance, self.center)
            found = trial.chosen(kind)
            if found.kind != "rows":
                return found, start
        wild = find_wild_cells(self.X, q, threshold=thresholds, first=first, start=start, **options)
        if kind == "cells":
            return Robust("cells", wild.flags, np.ones(len(self.X)), None, thresholds), wild.model
        fit = self.student(wild.model)
        none = np.zeros(self.X.shape, dtype=bool)
        return Robust("rows", none, fit.row_weights, fit.degrees_of_freedom), wild.model

    def student(self, start: MissingFit, **options: Any) -> StudentFit:
        """The t of the table."""
        given: dict[str, Any] = {"weights": self.weights, "noise_variance": self.noise_variance, "center": self.center}
        return fit_student(self.X, start, **given, **options)

    def restarted(self, q: int, row_weights: Array) -> MissingFit:
        """A model of q components to start from, with the rows counted by their weights."""
        options: dict[str, Any] = {"noise_variance": self.noise_variance, "center": self.center}
        return fit_missing(self.X, q, weights=self.weights * row_weights, tol=START_TOL, **options)

    def _count(self, shown: Array) -> tuple[int, CellChoice | None]:
        """q as given, or by hidden cells."""
        if isinstance(self.n_components, int):
            q = self.n_components
            return q, choose_by_cells(
                shown, self.weights, q, smallest=q, noise_variance=self.noise_variance, center=self.center
            )
        limit = max(1, min(len(shown) - int(self.center), shown.shape[1] - 1))
        choice = choose_by_cells(shown, self.weights, limit, noise_variance=self.noise_variance, center=self.center)
        return (1, None) if choice is None else (int(choice.selection.chosen), choice)
