"""Whether cells or rows of a table are wild, decided on hidden cells by a loss that wild cells cannot own [10, 14].

The candidates are to believe everything, to flag cells beyond c deviations from what the others say of them, from gross to fine, and to
weigh rows as the t does. A wild cell that is hidden is predicted by nobody: cells that no candidate comes near to do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import SmallestRows, cell_uniforms, row_hashes
from gramian.evidence.cells import LOOSE, LOOSE_STEPS, MOST_ROWS, SHARE, CellDraw, HiddenPredictions, hidden_cells
from gramian.evidence.selection import Selection, choose
from gramian.latent.missing import MissingFit
from gramian.latent.student import StudentFit, fit_student
from gramian.latent.wild_cells import CellModel, WildCells, column_thresholds, find_wild_cells

THRESHOLDS = (16.0, 8.0, 4.0)
"""c of the candidates: codes and slips stand far out, where heavy tails are left alone; finer ones cost real data if those have heavy tails."""
USUAL = 6.0
"""A hidden cell counts if some candidate comes nearer to it than so many median errors."""
STEPS = 2
"""Cycles of EM after a change of flags or weights, in a trial."""


def check_robust(robust: Any) -> Any:
    """``robust`` if it is False, "rows", "cells" or "auto"."""
    if robust is False or robust in ("rows", "cells", "auto"):
        return robust
    raise ValueError(f"robust={robust!r} must be False, 'rows', 'cells' or 'auto'.")


@dataclass(frozen=True)
class Robust:
    """What is believed of a table: ``kind`` False, "cells" or "rows", with the flags (n, d) and the weights (n,) of that.

    ``selection`` and ``predictions`` (of hidden cells) are there where there was a trial.
    """

    kind: Any
    flags: Array
    row_weights: Array
    degrees_of_freedom: float | None = None
    threshold: Array | None = None  # of each column
    selection: Selection | None = None
    predictions: HiddenPredictions | None = None


@dataclass(frozen=True)
class Trial:
    """A table in units that wild cells do not own, its first flags, and the models of what was settled without those cells.

    ``model`` is that of all rows, ``draws`` those of each draw of hidden cells; ``noise_variance`` None is estimated.
    """

    X: Array
    weights: Array
    first: Array
    model: MissingFit
    draws: list[MissingFit]
    noise_variance: float | None
    center: bool = True

    def chosen(self, kind: str) -> Robust:
        """``kind`` "auto", "cells" or "rows" on this table."""
        candidates = list(self._candidates(kind))
        if kind == "auto" and len(candidates) == 1:
            return self.believed(False)
        found = self._predictions(candidates)
        if not found:
            return self.believed(candidates[0] if kind != "auto" else False)
        selection = _chosen(candidates, found)
        best = self.believed(selection.chosen)
        return replace(best, selection=selection, predictions=reduce(add, found[selection.index]))

    def believed(self, candidate: Any) -> Robust:
        """What a candidate believes of all rows."""
        ones, none = np.ones(len(self.X)), np.zeros(self.X.shape, dtype=bool)
        if candidate is False:
            return Robust(False, none, ones)
        if candidate == "rows":
            fit = self._student(self.X, self.weights, self.model)
            return Robust("rows", none, fit.row_weights, fit.degrees_of_freedom)
        return Robust("cells", self._wild(candidate).flags, ones, None, column_thresholds(self.X, candidate))

    def _wild(self, threshold: float) -> WildCells:
        return find_wild_cells(
            self.X,
            self.model.loadings.shape[1],
            weights=self.weights,
            noise_variance=self.noise_variance,
            center=self.center,
            threshold=column_thresholds(self.X, threshold),
            first=self.first,
            start=self.model,
        )

    def _student(self, X: Array, weights: Array, start: MissingFit, **options: Any) -> StudentFit:
        return fit_student(X, start, weights=weights, center=self.center, **options)

    def _candidates(self, kind: str) -> Iterator[Any]:
        """Simplest first; thresholds that flag nothing, or what the one before flags, are none."""
        if kind in ("auto", "rows"):
            if kind == "auto":
                yield False
            else:
                yield "rows"
                return
        before = np.zeros(self.X.shape, dtype=bool)
        seer = CellModel.of(self.model.mean, self.model.loadings, self.model.noise_variance)
        for threshold in THRESHOLDS:
            flags = seer.updated(self.X, self.weights, self.first, column_thresholds(self.X, threshold))
            if (flags != before).any():
                yield threshold
            before = flags
        if kind == "cells" and not before.any():
            yield THRESHOLDS[-1]
        if kind == "auto" and before.any():
            yield "rows"

    def _predictions(self, candidates: Sequence[Any]) -> list[list[HiddenPredictions]]:
        """What the models of each candidate, one per draw, say of the hidden cells."""
        d = self.X.shape[1]
        shown = np.where(self.first, np.nan, self.X)
        drawn = SmallestRows.of(np.hstack([self.X, self.first]), self.weights, MOST_ROWS, row_hashes(shown))
        X, first, weights = drawn.rows[:, :d], drawn.rows[:, d:] > 0, drawn.weights
        shown = np.where(first, np.nan, X)
        found: list[list[HiddenPredictions]] = [[] for _ in candidates]
        for number, model in enumerate(self.draws):
            hidden = hidden_cells(shown, number, drawn.hashes)
            hidden |= first & (cell_uniforms(drawn.hashes, d, number) < SHARE)
            if not hidden.any():
                return []
            for candidate, parts in zip(candidates, found):
                parts.append(self._prediction(candidate, X, first, hidden, weights, number, model))
        return found if len(self.draws) > 1 else []

    def _prediction(
        self, candidate: Any, X: Array, first: Array, hidden: Array, weights: Array, number: int, model: MissingFit
    ) -> HiddenPredictions:
        table, counted, steps = np.where(hidden, np.nan, X), weights, LOOSE_STEPS
        if candidate == "rows":
            counted = weights * self._student(table, weights, model, tol=LOOSE, max_iter=STEPS).row_weights
        elif candidate is not False:
            for _ in range(2):
                seer = CellModel.of(model.mean, model.loadings, model.noise_variance)
                flags = seer.updated(table, weights, first & ~hidden, column_thresholds(self.X, candidate))
                believed = np.where(flags, np.nan, table)
                draw = CellDraw.of(X, hidden, believed, weights, number, self.noise_variance, self.center)
                found = draw.beginning_at(model, STEPS)
                assert draw.model is not None
                model, first = draw.model, flags
            return found
        draw = CellDraw.of(X, hidden, table, weights, number, self.noise_variance, self.center, counted=counted)
        return draw.beginning_at(model, steps)


def _chosen(candidates: Sequence[Any], found: list[list[HiddenPredictions]]) -> Selection:
    """By the squared error of the cells that some candidate comes near to."""
    errors = [[np.abs(part.values - part.means) for part in parts] for parts in found]
    least = [np.min(parts, axis=0) for parts in zip(*errors)]
    near = USUAL * float(np.median(np.concatenate(least)))
    weights = [np.where(error <= near, part.weights, 0.0) for error, part in zip(least, found[0])]
    scores = [[-np.average(error**2, weights=weight) for error, weight in zip(each, weights)] for each in errors]
    sizes = np.array([weight.sum() for weight in weights])
    names = [f"cells beyond {c:g}" if isinstance(c, float) else c for c in candidates]
    told = choose(
        names, np.array(scores).T, sizes, what="robust", score="squared error of hidden cells that can be predicted"
    )
    return replace(told, candidates=list(candidates), chosen=candidates[told.index])
