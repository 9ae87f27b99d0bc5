"""Which cells of a table are wild, whatever the model that the table is for: each cell by the others of its row, in units of its column's own tails [14]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.latent.missing import MissingFit, fit_missing
from gramian.latent.tails import Tails
from gramian.latent.units import Units
from gramian.latent.wild_cells import CellModel, column_thresholds, find_wild_cells, first_flags, medians, updated_flags
from gramian.policy import ROBUST

START_TOL, START_STEPS = 1e-3, 20
"""Of the model that the search begins at; so few steps race no starts."""
STEPS = 2
"""Of flags and models in turns at each threshold: the next one goes on."""


@dataclass(frozen=True)
class CellSeer:
    """The tails of the columns, a model of the believed cells in their units, the spread of each column in it, which columns are ``able`` to hold wild cells, and
    in which most cells hold one value, so that others are ``rare``.

    The noise of the model is fixed and not small, so that one noise does for all columns, and all axes that the rows can tell are there.
    """

    tails: Tails
    mean: Array
    loadings: Array
    spread: Array
    able: Array
    rare: Array

    @classmethod
    def of(cls, X: Array, weights: Array, able: Array | None = None, *, bold: bool = False) -> CellSeer:
        """From a table with NaN in the holes, farthest cells first: tails and model are told again without those before the next.

        ``able`` says which columns can hold wild cells. Those of two values cannot; where one value fills half of a column the others are rare by nature, and wild only far beyond.
        A ``bold`` one believes in heavy tails only where they are clear, and in no rare values.

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = np.exp(rng.standard_normal((200, 1)) + 0.2 * rng.standard_normal((200, 5)))
        >>> X[3, 1] *= 10.0
        >>> np.argwhere(CellSeer.of(X, np.ones(200)).flags(X)).tolist()
        [[3, 1]]
        """
        n, d = X.shape
        able = np.isfinite(column_thresholds(X, 1.0)) & (True if able is None else able)
        rare = weights @ (medians(X, weights)[0] == X) >= 0.5 * (weights @ ~np.isnan(X))
        rare, doubt = (np.zeros(d, dtype=bool), ROBUST.doubt) if bold else (rare, 0.0)
        limits = _limits(able, rare)
        q = max(min(d - 1, n // ROBUST.rows_per_component, ROBUST.components), 0)
        flags, share = np.zeros(X.shape, dtype=bool), ROBUST.share
        model: MissingFit | None = None
        options: dict[str, Any] = {"weights": weights, "noise_variance": ROBUST.noise}
        for threshold in ROBUST.thresholds:
            tails = Tails.of(np.where(flags, np.nan, X), weights, share, doubt)
            rows = tails.into(X)
            first = flags | first_flags(rows, weights, threshold * limits)
            tails = tails.told_over(Units.of(np.where(first, np.nan, rows), weights).scale)
            rows = tails.into(X)
            if model is None:
                shown = np.where(first, np.nan, rows)
                model = fit_missing(shown, q, tol=START_TOL, max_iter=START_STEPS, **options)
            spread = CellModel.of(model.mean, model.loadings, ROBUST.noise).spreads(rows, weights, first)
            last = cls(tails, model.mean, model.loadings, np.maximum(spread, ROBUST.spread), able, rare)
            if not first.any() and not last.flags(X).any():
                return last
            limit = threshold * limits
            wild = find_wild_cells(
                rows, q, threshold=limit, first=first, start=model, spread=last.spread, rounds=STEPS, **options
            )
            model, share = wild.model, 0.0
            flags = wild.flags | (wild.rows[:, None] & ~np.isnan(X))
            last = replace(last, mean=model.mean, loadings=model.loadings)
        return last

    def flags(self, X: Array, weights: Array | None = None) -> Array:
        """The wild cells of rows, each row by itself; with ``weights`` at most a quarter of a column."""
        rows, none = self.tails.into(np.asarray(X, dtype=np.float64)), np.zeros(X.shape, dtype=bool)
        given = np.zeros(len(X)) if weights is None else weights
        seer = self.seer
        with np.errstate(over="ignore", invalid="ignore"):  # the squares of cells that are wild enough leave float64
            return updated_flags(seer, rows, given, none, self.limits, seer.penalty(self.limits))

    @property
    def seer(self) -> CellModel:
        return CellModel.of(self.mean, self.loadings, ROBUST.noise, self.spread)

    @property
    def limits(self) -> Array:
        """The last threshold for columns that can hold wild cells, (d,)."""
        return ROBUST.thresholds[-1] * _limits(self.able, self.rare)

    @property
    def model(self) -> MissingFit:
        """The model of the believed cells, in the units of the tails."""
        return MissingFit(self.mean, self.loadings, ROBUST.noise, [], 0, True)


def _limits(able: Array, rare: Array) -> Array:
    """By what the thresholds of each column are multiplied."""
    return np.where(able, np.where(rare, ROBUST.rare, 1.0), np.inf)
