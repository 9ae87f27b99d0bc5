"""What held-out rows say of a model of views: one small summary per fold answers every question about it [8, 10, 13].

A question is "view v from the views o". With U, l of the rows that were kept, the held-out rows enter by their scores t_v = U_vᵀ(φ - μ)_v:
their mean products t_v t_wᵀ, the overlaps U_vᵀU_v and the mean squared norms |(φ - μ)_v|² give the error of every question, for every
number of components and every ridge. Folds come from moments (`moment_folds`: explicit features, sums over rows) or from the rows
of each fold (`row_folds`: kernels and wide views).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from gramian._arrays import Array, symmetric_part
from gramian._precision import SEEN
from gramian.evidence.held_out import HeldOut, Part
from gramian.latent.feature_subspace import MappedSubspace
from gramian.latent.gaussian import LatentGaussian, Projection, noise_of_each_q
from gramian.latent.subspace import PrimalSubspace, Subspace
from gramian.operators.covariance import Stored
from gramian.operators.moments import Moments
from gramian.policy import LOOK
from gramian.rows import ArrayRows, Block
from gramian.rows.draws import FoldMoments
from gramian.solvers.base import Solver
from gramian.solvers.spectrum import Spectrum
from gramian.views.noise import view_inputs
from gramian.views.subspace import ViewPart, ViewSubspace, ridges_up_to, with_trust
from gramian.views.view import ExplicitView, View, ViewSample, ViewTable, factor_views

Question = tuple[tuple[int, ...], int]
"""Positions of the views shown, and of the view they predict."""


@dataclass(frozen=True)
class ViewFold:
    """One fold: the spectrum of the rows kept, and how the rows held out lie in its axes, view by view."""

    held: Array  # positions of the rows held out
    kept: Array
    subspace: ViewSubspace  # of the rows kept
    eigenvalues: Array  # l, (r,)
    trace: float
    dim: float
    products: Array  # mean over the held-out rows of t_v t_wᵀ, (V, V, r, r)
    norms: Array  # mean of |(φ - μ)_v|², (V,)
    weight: float  # total raw weight of the held-out rows

    @cached_property
    def overlaps(self) -> Array:
        """U_vᵀU_v, (V, r, r)."""
        return np.array([part.overlap for part in self.subspace.parts])

    def noise(self, q: int) -> float:
        """The maximum-likelihood noise of q components [2]."""
        return float(noise_of_each_q(self.eigenvalues[:q], self.trace, self.dim)[-1])

    def errors(self, question: Question, q: int, ridges: Array, noise_variance: float) -> Array:
        """Mean squared error of the view asked for, predicted as W_v(W_oᵀW_o + ridge I)⁻¹W_oᵀφ_o; one per ridge [8].

        With W_oᵀW_o = QΘQᵀ, A = W_oᵀS_oW_o, R = W_oᵀS_ovW_v and V = W_vᵀW_v, all turned by Q:
        tr S_v - 2 Σ_i R_ii / (θ_i + κ) + Σ_ij V_ij A_ij / ((θ_i + κ)(θ_j + κ)).
        """
        given, target = list(question[0]), question[1]
        gains = np.sqrt(np.maximum(self.eigenvalues[:q] - noise_variance, 0.0))
        both = np.outer(gains, gains)
        q = len(gains)
        overlaps = self.overlaps[:, :q, :q]

        def turned(matrix: Array) -> Array:
            return np.asarray(axes.T @ (matrix[:q, :q] * both) @ axes)

        shown = overlaps[given].sum(axis=0) * both
        values, axes = np.linalg.eigh(symmetric_part(shown))
        spread = turned(self.products[given][:, given].sum(axis=(0, 1)))
        joint = np.diagonal(turned(self.products[given, target].sum(axis=0)))
        loads = turned(overlaps[target])
        seen = values > SEEN * float(values.max(initial=0.0))
        weights = seen / np.where(seen, values + ridges[:, None], 1.0)
        quadratic = ((weights @ (loads * spread)) * weights).sum(axis=1)
        return np.asarray(np.maximum(self.norms[target] - 2 * weights @ joint + quadratic, 0.0))

    def projections(self, table: ViewTable) -> list[Projection]:
        """Every view of the rows held out, each by itself."""
        parts = self.subspace.without_maps().parts
        return [part.project(view_inputs(view, self.held, self.kept)) for part, view in zip(parts, table.views)]

    def latents(self, seen: list[Projection], given: Sequence[int], ridge: float, noise_variance: float) -> Array:
        """E[z | the views given] of the rows held out, with the noise of those views at ``ridge``: 0 where that is infinite."""
        scores = np.sum([seen[v].scores for v in given], axis=0)
        if not np.isfinite(ridge):
            return np.zeros_like(scores)
        shown = Projection(scores, np.zeros(len(scores)), 0.0, self.overlaps[list(given)].sum(axis=0))
        gaussian = LatentGaussian(self.eigenvalues, noise_variance, self.dim)
        return gaussian.posterior(with_trust(shown, noise_variance / ridge)).mean


def ridges_of_folds(folds: Sequence[ViewFold]) -> Array:
    """The ridges that folds are asked about."""
    return ridges_up_to(max((float(fold.eigenvalues[0]) for fold in folds if fold.eigenvalues.size), default=1.0))


# ---------------------------------------------------------------- from moments


def block_moments(block: Block, n_folds: int) -> FoldMoments:
    """The moments of a block of rows whose target is the number of their fold."""
    assert block.target is not None
    parts: list[Moments | None] = []
    for fold in range(n_folds):
        rows = np.flatnonzero(block.target == fold)
        parts.append(Moments.of(block.X[rows], block.weights[rows]) if len(rows) else None)
    return FoldMoments(tuple(parts))


def fold_moments(features: Array, weights: Array, fold: Array) -> FoldMoments:
    """The moments of each fold: one pass over the rows, a sum over blocks [13]."""
    return ArrayRows(features, weights, fold).fold(block_moments, int(fold.max()) + 1)


def moment_folds(folded: FoldedViews, scales: Array, most: int, solver: Solver) -> list[ViewFold]:
    """Folds of explicit views: kept is total minus fold, one decomposition per fold [13]."""
    assert folded.moments is not None
    widths = folded.table.widths
    columns = np.repeat(scales, widths)
    both = np.outer(columns, columns)
    stops = np.cumsum([0, *widths])
    views = [slice(start, stop) for start, stop in pairwise(stops)]
    dims = folded.table.dims
    moments = folded.moments

    def path(part: Part) -> ViewFold:
        kept, held = moments.without(part.number), moments.parts[part.number]
        assert held is not None
        operator = Stored(kept.covariance() * both)
        spectrum = _kept_components(solver.solve(operator, min(most, operator.size)))
        gap = held.mean - kept.mean
        scatter = (held.scatter / held.weight + np.outer(gap, gap)) * both
        axes = [spectrum.eigenvectors[view] for view in views]
        subspace = ViewSubspace(
            tuple(
                ViewPart.of(_map_axes(view, kept.mean[columns], U, folded.way_back(part)), float(scale), float(dim))
                for view, columns, U, scale, dim in zip(folded.table.views, views, axes, scales, dims)
            )
        )
        return ViewFold(
            part.held,
            part.kept,
            subspace,
            spectrum.eigenvalues,
            operator.trace(),
            float(dims.sum()),
            np.array([[U.T @ (scatter[v, w] @ V) for w, V in zip(views, axes)] for v, U in zip(views, axes)]),
            np.array([np.trace(scatter[view, view]) for view in views]),
            held.weight,
        )

    return folded.held_out.each(path)


def _map_axes(view: View, mean: Array, axes: Array, rows: Array | None) -> Subspace:
    """The axes of an explicit view, behind its map where that leads back to inputs, or where ``rows`` do."""
    primal = PrimalSubspace(mean, np.ascontiguousarray(axes.T))
    if not isinstance(view, ExplicitView) or view.feature_map is None:
        return primal
    if view.points is None:
        return MappedSubspace(view.feature_map, primal)
    return primal if rows is None else view.take(rows).anchors.anchored_axes(primal)


# ---------------------------------------------------------------- from rows


def row_folds(folded: FoldedViews, scales: Array, most: int, solver: Solver) -> list[ViewFold]:
    """Folds of views of any kind: one decomposition of the rows kept per fold, in the dual where features outnumber them."""
    table = folded.table
    space = "primal" if table.explicit and sum(table.widths) <= len(table.weights) else "dual"

    def path(part: Part) -> ViewFold:
        held, kept = part.held, part.kept
        sample = ViewSample(table.take(kept), scales, space)
        operator = sample.operator()
        spectrum = _kept_components(solver.solve(operator, min(most, sample.max_components), dim=sample.dim))
        subspace = sample.subspace(spectrum)
        seen = []
        for own, view in zip(subspace.without_maps().parts, table.views):
            inputs = view_inputs(view, held, kept)
            if isinstance(view, ExplicitView):
                seen.append(own.project(inputs))
            else:
                shown = own.subspace.project(inputs, diagonal=view.raw.diagonal()[held])
                seen.append(Projection(own.scale * shown.scores, own.scale**2 * shown.squared_norm, own.dim))
        weights = table.weights[held]
        shares = weights / weights.sum()
        scores = [shown.scores for shown in seen]
        return ViewFold(
            held,
            kept,
            subspace,
            spectrum.eigenvalues,
            operator.trace(),
            sample.dim,
            np.array([[(shares[:, None] * t).T @ u for u in scores] for t in scores]),
            np.array([shares @ shown.squared_norm for shown in seen]),
            float(table.total_weight * weights.sum()),
        )

    return folded.held_out.each(path)


def _kept_components(spectrum: Spectrum) -> Spectrum:
    """The components of the kept rows that are above rounding."""
    largest = float(spectrum.eigenvalues.max(initial=0.0))
    return spectrum.leading(int((spectrum.eigenvalues > SEEN * largest).sum()))


# ---------------------------------------------------------------- rows dealt into folds


@dataclass(frozen=True)
class FoldedViews:
    """Complete rows of all views, each with the number of its fold; with the moments of each fold where features are few."""

    table: ViewTable
    fold: Array
    moments: FoldMoments | None
    looked_at: Array | None = None  # which rows pre-images may be made of

    @classmethod
    def of(cls, table: ViewTable, fold: Array, *, exact: bool = False) -> FoldedViews:
        """Kernel views stand for their factors where those are short, unless ``exact``: then every view keeps its way back to inputs."""
        working = table if exact or table.explicit else factor_views(table) or table
        rows = exact and any(view.points is not None and view.n_rows <= LOOK.rows for view in working.views)
        if rows or not working.explicit or sum(working.widths) > len(fold):
            return cls(working, fold, None)
        features = np.hstack([view.features for view in working.views if isinstance(view, ExplicitView)])
        return cls(working, fold, fold_moments(features, table.weights * table.total_weight, fold))

    @cached_property
    def held_out(self) -> HeldOut:
        """The rows by their folds."""
        n_folds = int(self.fold.max()) + 1 if self.moments is None else len(self.moments.parts)
        return HeldOut(self.fold, np.bincount(self.fold, minlength=n_folds), self.table.weights)

    def way_back(self, part: Part) -> Array | None:
        """Positions of the kept rows that pre-images are made of; None: inputs are not asked for."""
        return None if self.looked_at is None else part.kept[self.looked_at[part.kept]]

    def folds(self, scales: Array, most: int, solver: Solver) -> list[ViewFold]:
        """The folds of the views so scaled, with at most ``most`` components."""
        return (row_folds if self.moments is None else moment_folds)(self, scales, most, solver)
