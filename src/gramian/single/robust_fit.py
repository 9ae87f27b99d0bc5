"""What PPCA believes of a table: which cells are wild, how much each row counts [14]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import merged_copies
from gramian.evidence.cell_choice import choose_by_cells
from gramian.evidence.robustness import Robust, believe_cells
from gramian.latent.missing import MissingFit, fit_missing
from gramian.latent.student import StudentFit, fit_student

START_TOL = 1e-3
"""Of the model that the t begins at."""


@dataclass(frozen=True)
class RobustFit:
    """The question: a table with NaN in the holes, its weights, and what was asked of PPCA."""

    X: Array
    weights: Array
    n_components: Any
    noise_variance: float | None
    center: bool

    def believed(self, kind: str) -> tuple[Robust, MissingFit | None]:
        """What is believed by ``kind`` "cells", "rows" or "auto"; with "rows" also the model that the t began at."""
        found = believe_cells(self.X, self.weights, "auto" if kind == "auto" else "cells")
        return (found, None) if kind != "rows" else self.rows(found.all_flags(self.X))

    def rows(self, wild: Array) -> tuple[Robust, MissingFit]:
        """The weights of rows, and the model of the cells that are not ``wild`` that the t begins at: it does not find back from one that wild rows own."""
        shown = np.where(wild, np.nan, self.X)
        some = ~np.isnan(shown).all(axis=1)
        start = self._model(shown[some], self.weights[some])
        fit = self.student(start)
        none = np.zeros(self.X.shape, dtype=bool)
        return Robust("rows", none, fit.row_weights, fit.degrees_of_freedom), start

    def student(self, start: MissingFit, **options: Any) -> StudentFit:
        """The t of the table."""
        return fit_student(self.X, start, weights=self.weights, **self._options, **options)

    def restarted(self, q: int, row_weights: Array) -> MissingFit:
        """A model of q components to start from, with the rows counted by their weights."""
        return self._rough(self.X, self.weights * row_weights, q)

    @property
    def _options(self) -> dict[str, Any]:
        return {"noise_variance": self.noise_variance, "center": self.center}

    def _model(self, shown: Array, weights: Array) -> MissingFit:
        """With q as given, or by hidden cells."""
        q = self.n_components
        if not isinstance(q, int):
            limit = max(1, min(len(shown) - int(self.center), shown.shape[1] - 1))
            choice = choose_by_cells(shown, weights, limit, **self._options)
            q = 1 if choice is None else int(choice.selection.chosen)
        return self._rough(shown, weights, q)

    def _rough(self, shown: Array, weights: Array, q: int) -> MissingFit:
        """A model to start from; complete rows too are taken in an order that follows from what they hold."""
        first, totals, _ = merged_copies(shown, weights)
        return fit_missing(shown[first], q, weights=totals, tol=START_TOL, **self._options)
