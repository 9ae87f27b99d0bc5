"""How much each column of the inputs counts for a target: slopes of the regression, found without the rows that judge them [10].

A chain of regressions belongs to the rows kept of each fold, and one to all rows. Each regression of a chain sees the columns multiplied by
their relevance, which is the root mean square slope of the one before along them, over the largest. All chains go on at the width and
the ridge that the rows held out of the folds prefer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian._precision import ROUNDING
from gramian.evidence.held_out import HeldOut
from gramian.policy import TARGETS
from gramian.targets.axes import Decomposition, FeatureInputs
from gramian.targets.design import Design, families
from gramian.views.subspace import ridges_up_to


@dataclass(frozen=True)
class TargetTable:
    """Inputs and a target, the weights of the rows (their sum is 1) and their hashes."""

    X: Array
    Y: Array
    weights: Array
    hashes: Array

    def models(self, kept: Array, relevance: Array, kind: int, widths: Sequence[float]) -> list[RidgePath]:
        """Ridge regressions of the rows kept on columns multiplied by their relevance, with a kernel of a family at each width."""
        X, s = self.X * relevance, self.weights[kept] / self.weights[kept].sum()
        designs = families(X, self.weights, self.hashes, tuple(widths) if kind else (), kept)[kind]
        rows = np.arange(len(kept))
        parts = [FeatureInputs(one.features[kept], self.Y[kept], s, None, ROUNDING).decomposed(rows) for one in designs]
        return [RidgePath(X, kept, s, design, found) for design, found in zip(designs, parts)]


@dataclass(frozen=True)
class RidgePath:
    """Ridge regressions on one design, fitted to some rows: those for all ridges from one decomposition."""

    X: Array
    kept: Array
    weights: Array  # of the rows kept
    design: Design
    parts: Decomposition

    @property
    def largest(self) -> float:
        """The largest variance along an axis."""
        return float(self.parts.axes.values.max(initial=0.0))

    def squares(self, held: Array, table: TargetTable, ridges: Array) -> Array:
        """The weighted sum of squared errors of the rows held out, for each ridge."""
        axes, features = self.parts.axes, self.design.features
        scores = (features[held] - self.weights @ features[self.kept]) @ self.parts.coefficients
        slopes = axes.cross[:, None, :] / (axes.values[:, None] + ridges)[:, :, None]  # (k, r, m')
        found = np.einsum("nk,krm,am->nra", scores, slopes, axes.directions, optimize=True)
        errors = (table.Y[held] - axes.mean)[:, None, :] - found
        return np.einsum("n,nra->r", table.weights[held], np.square(errors))

    def slopes(self, ridge: float) -> Array:
        """Root mean square slope along each column as this model sees it."""
        axes = self.parts.axes
        coefficients = self.parts.coefficients @ (axes.cross / (axes.values + ridge)[:, None]) @ axes.directions.T
        return self.design.slopes(self.X[self.kept], self.weights, coefficients)


@dataclass(frozen=True)
class Weighed:
    """Relevances from all rows, the kernel for the columns multiplied by them, and what such chains lost on the rows held out."""

    relevance: Array
    design: Design
    ridge: float
    squares: Array  # (folds,), weighted sums


def weighed_columns(
    table: TargetTable, folds: HeldOut, kind: int, width: float, ridge: float, rounds: Sequence[Sequence[float]]
) -> Iterator[Weighed]:
    """One round after the other, as far as slopes are numbers; ``rounds`` are the widths tried in each, as multiples of the one before.

    ``kind`` says which of `families` the kernel is from; ``width`` and ``ridge`` are those of the model that the slopes of the first round are taken of.
    """
    parts = list(folds)
    kept = [*(part.kept for part in parts), np.arange(len(table.X))]
    relevances = [np.ones(table.X.shape[1])] * len(kept)
    models = [table.models(rows, one, kind, [width])[0] for rows, one in zip(kept, relevances)]
    for widths in rounds:
        found = [one * model.slopes(ridge) for one, model in zip(relevances, models)]
        largest = [float(slopes.max()) for slopes in found]
        if not all(0 < one < np.inf for one in largest):
            return
        relevances = [np.maximum(slopes / one, TARGETS.relevance) for slopes, one in zip(found, largest)]
        tried = [width * factor for factor in widths] if kind else [1.0]
        paths = [table.models(part.kept, one, kind, tried) for part, one in zip(parts, relevances)]
        ridges = ridges_up_to(paths[0][0].largest)
        squares = np.array([[one.squares(p.held, table, ridges) for one in path] for p, path in zip(parts, paths)])
        w, r = np.unravel_index(squares.sum(axis=0).argmin(), squares.shape[1:])
        width, ridge = tried[int(w)], float(ridges[r])
        last = table.models(kept[-1], relevances[-1], kind, [width])[0]
        models = [*(path[int(w)] for path in paths), last]
        yield Weighed(relevances[-1], last.design, ridge, squares[:, w, r])
