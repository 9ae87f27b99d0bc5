"""What a mixture of PPCA believes of a table: which cells are wild, how much each row counts [14].

A cell is wild if the whole mixture explains what is left of its row better without it: the flags and the components maximise one penalised
likelihood in turns, as those of one PPCA do. The start is a mixture of multivariate t, which a wild cell cannot own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import row_hashes
from gramian.evidence.cells import hidden_cells
from gramian.evidence.robustness import Robust, choose_by_hidden_cells
from gramian.latent.masked_em import LOG_2PI
from gramian.latent.primal import predictive
from gramian.latent.subspace import PrimalSubspace
from gramian.latent.wild_cells import (
    COLUMN_SHARE,
    ROUNDS,
    THRESHOLD,
    CellModel,
    column_thresholds,
    first_flags,
    medians,
    split_rows,
    updated_flags,
)
from gramian.mixtures.mixture import MixtureFit, climb, log_terms, responsibilities_of
from gramian.mixtures.ppca_fit import gaussian_rows, mixture_fit
from gramian.mixtures.rows import Components, MixtureTable
from gramian.policy import LOOK

Fit = Callable[[Array, Array, Any], MixtureFit[PrimalSubspace]]
"""The mixture of a table (NaN in the holes) and its weights; of multivariate t where the third is "auto"."""


@dataclass(frozen=True)
class MixtureWithoutCells:
    """The flags (n, d), the rows that are wild as a whole (n,), the mixture of the other cells, and the penalised log-likelihood after each change; it never falls."""

    flags: Array
    rows: Array
    fit: MixtureFit[PrimalSubspace]
    levels: list[float]


@dataclass(frozen=True)
class RobustMixture:
    """The question: a table with NaN in the holes, its weights, how it is fitted, and what a warm start needs to know."""

    X: Array
    weights: Array
    fit: Fit
    shared: bool
    rng: np.random.Generator
    tol: float = 1e-6
    max_iter: int = 200

    def believed(self, kind: str) -> tuple[Robust, MixtureFit[PrimalSubspace] | None]:
        """Flags or weights of ``kind`` "cells", "rows" or "auto", and the mixture; none where everything is believed: it is fitted as ever."""
        chosen = self._trial() if kind == "auto" else kind
        if chosen is False:
            return Robust(False, np.zeros(self.X.shape, dtype=bool), np.ones(len(self.X))), None
        return self._of(chosen)

    def _of(self, kind: Any) -> tuple[Robust, MixtureFit[PrimalSubspace]]:
        ones, none = np.ones(len(self.X)), np.zeros(self.X.shape, dtype=bool)
        if kind is False:
            return Robust(False, none, ones), self.fit(self.X, self.weights, None)
        if kind == "rows":
            fit = self.fit(self.X, self.weights, "auto")
            assert fit.row_weights is not None
            return Robust("rows", none, fit.row_weights, fit.degrees_of_freedom), fit
        found = self.without_cells()
        return Robust("cells", found.flags, np.where(found.rows, 0.0, 1.0)), found.fit

    def _trial(self) -> Any:
        """What hidden cells prefer, by those that somebody predicts."""
        candidates: tuple[Any, ...] = (False, "cells", "rows")
        hashes = row_hashes(self.X)
        deviation = medians(self.X, self.weights)[1]
        unit = np.where(deviation > 0, deviation, 1.0)
        errors: list[list[Array]] = [[] for _ in candidates]
        weights = []
        for draw in range(LOOK.draws):
            hidden = hidden_cells(self.X, draw, hashes)
            if not hidden.any():
                continue
            table = replace(self, X=np.where(hidden, np.nan, self.X))
            for found, (believed, fit) in zip(errors, map(table._of, candidates)):
                found.append(((self.X - _fill(fit, table.X, believed.flags)) / unit)[hidden])
            weights.append(np.broadcast_to(self.weights[:, None], hidden.shape)[hidden])
        return choose_by_hidden_cells(candidates, errors, weights).chosen if weights else False

    def without_cells(self, threshold: float = THRESHOLD) -> MixtureWithoutCells:
        """The wild cells, and the mixture of the others."""
        X, weights = self.X, self.weights
        limits = column_thresholds(X, threshold)
        # clusters may lie far from the median of a column: only what lies absurdly far is flagged before the clusters are known
        flags = first_flags(X, weights, column_thresholds(X, 4 * threshold))
        fit = self.fit(np.where(flags, np.nan, X), weights, "auto")
        seers = [_seer(model) for model in fit.components]
        variances = fit.mixing @ np.array([seer.log_variances() for seer in seers])
        penalty = limits**2 + variances
        levels: list[float] = []
        for _ in range(ROUNDS):
            updated = mixture_flags(fit, X, weights, flags, limits, penalty)
            levels.append(float(weights @ _levels(fit, X, updated, penalty)))
            if levels[1:] and (updated == flags).all():
                break
            flags = updated
            fit = self._climbed(fit, np.where(flags, np.nan, X))
            levels.append(float(weights @ _levels(fit, X, flags, penalty)))
        return MixtureWithoutCells(*split_rows(X, flags), fit, levels)

    def _climbed(self, before: MixtureFit[PrimalSubspace], X: Array) -> MixtureFit[PrimalSubspace]:
        """The mixture of Gaussians of a table, from a near one."""
        table = MixtureTable.of(X, self.weights, masked=True)
        counts = [model.gaussian.n_components for model in before.components]
        rows = gaussian_rows(table, counts, shared=self.shared, rng=self.rng)
        begin = rows.nothing()
        for k, model in enumerate(before.components):
            begin.mean[k] = (model.subspace.mean - table.shift) / table.scale
            loadings = model.subspace.components.T * model.gaussian.gains
            begin.loadings[k][:, : loadings.shape[1]] = loadings / table.scale
            begin.noise_variance[k] = max(model.gaussian.noise_variance / table.scale**2, rows.floor)
        ascent = climb(rows, None, begin=(Components(begin), before.mixing), tol=self.tol, max_iter=self.max_iter)
        return mixture_fit(rows, ascent)


def mixture_flags(
    fit: MixtureFit[PrimalSubspace], X: Array, weights: Array, flags: Array, threshold: Array, penalty: Array
) -> Array:
    """The flags as the mixture has them: of each row those of the component that explain it best, where that is better than before."""
    found, best = flags.copy(), _levels(fit, X, flags, penalty)
    before = best.copy()
    for k in np.flatnonzero(fit.mixing > 0):
        # rows without weight here: what a column can spare is settled below, over all components
        trial = updated_flags(_seer(fit.components[k]), X, np.zeros(len(X)), flags, threshold, penalty)
        changed = (trial != found).any(axis=1)
        level = np.full(len(X), -np.inf)
        level[changed] = _levels(fit, X[changed], trial[changed], penalty)
        better = level > best
        found[better], best[better] = trial[better], level[better]
    return _spare(found, flags, best - before, weights, COLUMN_SHARE * (weights @ ~np.isnan(X)))


def _spare(found: Array, before: Array, gains: Array, weights: Array, most: Array) -> Array:
    """The new flags of the rows that gain most, as far as no column loses more than it can spare; the other rows keep theirs."""
    if (weights @ found <= most).all():
        return found
    out = before.copy()
    fewer = np.asarray(~(found & ~before).any(axis=1))
    out[fewer] = found[fewer]
    room = most - weights @ out
    for row in np.argsort(-gains, kind="stable"):
        if fewer[row]:
            continue
        change = weights[row] * (found[row].astype(float) - before[row])
        if (change <= np.maximum(room, 0.0)).all():
            out[row], room = found[row], room - change
    return out


def _seer(model: Any) -> CellModel:
    loadings = model.subspace.components.T * model.gaussian.gains
    return CellModel.of(model.subspace.mean, loadings, model.gaussian.noise_variance)


def _levels(fit: MixtureFit[PrimalSubspace], X: Array, flags: Array, penalty: Array) -> Array:
    """The penalised log-likelihood of each row."""
    seen = ~np.isnan(X) & ~flags
    price = np.where(np.isfinite(penalty), penalty + LOG_2PI, 0.0)
    with np.errstate(divide="ignore"):
        terms = np.column_stack([_seer(model).log_densities(X, seen) for model in fit.components]) + np.log(fit.mixing)
    return np.asarray(responsibilities_of(terms)[1] - 0.5 * (flags @ price))


def _fill(fit: MixtureFit[PrimalSubspace], X: Array, flags: Array) -> Array:
    """The mean of every cell given what is believed of its row."""
    seen = [model.subspace.project(np.where(flags, np.nan, X)) for model in fit.components]
    shares = responsibilities_of(log_terms(fit.components, fit.mixing, seen))[0]
    parts = [share[:, None] * predictive(model, part)[0] for share, model, part in zip(shares.T, fit.components, seen)]
    return np.asarray(sum(parts))
