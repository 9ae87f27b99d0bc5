"""Rows that miss entries or whole views: the EM of holes with views as blocks of columns [5, 8].

A linear view is its own columns, NaN where nothing was seen; a view behind a feature map its features; a kernel view the columns F of its
Gram matrix K = FFᵀ on the rows that show it, as many as its noise has dimensions. Each block has a noise of its own, or all share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gramian._arrays import Array, lower_triangle, symmetrized
from gramian._progress import Progress
from gramian._types import RandomState
from gramian.latent.dimension import for_fraction
from gramian.latent.gaussian import LatentGaussian
from gramian.latent.masked_em import Parameters, row_posterior
from gramian.latent.masked_table import masked_chunk
from gramian.latent.missing import MissingFit, fit_missing
from gramian.latent.model import LatentModel
from gramian.latent.sample import DUAL_RANK
from gramian.latent.view_noise import NoiseFit
from gramian.latent.views import ExplicitView, View, ViewPart, ViewSubspace
from gramian.rows import Block
from gramian.solvers.spectrum import Spectrum, positive_signs

FLAT = 1e-10
"""Components that explain less than this share of the best one, in units of the noise, are left out."""


@dataclass(frozen=True)
class PartialView:
    """A view on the rows that show it: features (NaN where an entry of a linear view was not seen), or the Gram matrix of those rows."""

    view: View
    rows: Array  # indices into all rows
    weights: Array  # raw, one per row that shows it

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    @property
    def dim(self) -> float:
        """D, the dimension that the noise of this view lives in."""
        return self.view.dim(self.total)

    @cached_property
    def columns(self) -> Array:
        """The block of columns of the rows that show the view; of a kernel the eigenvectors of its Gram matrix times √eigenvalues."""
        if isinstance(self.view, ExplicitView):
            return self.view.features
        values, vectors = np.linalg.eigh(symmetrized(self.view.raw.to_dense()))
        kept = values > DUAL_RANK * float(values.max(initial=0.0))
        factor = vectors[:, kept] * np.sqrt(values[kept])
        width = max(factor.shape[1], round(self.dim))
        return np.pad(factor, ((0, 0), (0, width - factor.shape[1])))

    @cached_property
    def variance(self) -> float:
        """Mean variance of the columns over the entries that were seen."""
        seen = ~np.isnan(self.columns)
        counts = self.weights @ seen
        values = np.where(seen, self.columns, 0.0)
        safe = np.where(counts > 0, counts, 1.0)
        means = self.weights @ values / safe
        squares = self.weights @ (np.where(seen, values - means, 0.0) ** 2) / safe
        rounding = (64 * np.finfo(float).eps * float(np.abs(values).max(initial=0.0))) ** 2
        mean = float(squares.mean()) if squares.size else 0.0
        return mean if mean > rounding else 0.0


def fit_missing_views(
    partials: list[PartialView],
    weights: Array,
    n_components: int | float,
    *,
    shared: bool,
    tol: float,
    max_iter: int,
    random_state: RandomState = None,
    progress: Progress | None = None,
) -> NoiseFit:
    """Maximum likelihood of all that was seen. ``weights`` are raw; ``shared`` keeps one noise for all views.

    ``n_components`` is a count, or a fraction of the variance of the views with their means where nothing was seen.
    """
    scales = np.ones(len(partials))
    if not shared:  # every view in units of its own spread: the EM's floor for the noises is one for all
        scales = np.array([1.0 / np.sqrt(partial.variance) if partial.variance > 0 else 1.0 for partial in partials])
    table, blocks = _stacked(partials, scales, len(weights))
    q = n_components if isinstance(n_components, int) else _fraction(table, weights, n_components)
    found = fit_missing(
        table,
        q,
        weights=weights,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
        progress=progress,
        blocks=None if shared else blocks,
    )
    return _assembled(partials, found, table, blocks, scales, weights)


def _stacked(partials: list[PartialView], scales: Array, n: int) -> tuple[Array, Array]:
    """All views side by side, NaN where a row does not show one, and the view of each column."""
    parts = []
    for partial, scale in zip(partials, scales):
        block = np.full((n, partial.columns.shape[1]), np.nan)
        block[partial.rows] = scale * partial.columns
        parts.append(block)
    return np.hstack(parts), np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])


def _fraction(table: Array, weights: Array, fraction: float) -> int:
    """The number of components that explain a fraction of the variance, means in the place of what was not seen."""
    seen = ~np.isnan(table)
    means = weights @ np.where(seen, table, 0.0) / (weights @ seen)
    filled = np.where(seen, table - means, 0.0) * np.sqrt(weights)[:, None]
    gram = filled.T @ filled if filled.shape[1] <= filled.shape[0] else filled @ filled.T
    values = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0)
    return for_fraction(values, float(values.sum()), fraction) or 1


def _assembled(
    partials: list[PartialView], found: MissingFit, table: Array, blocks: Array, scales: Array, weights: Array
) -> NoiseFit:
    """The canonical model: views scaled by 1/σ_v, axes along the eigenvectors of Σ W_vᵀW_v/σ²_v."""
    q = found.loadings.shape[1]
    noises = np.broadcast_to(np.asarray(found.noise_variance, dtype=np.float64), len(partials))
    constant = np.array([partial.variance == 0 for partial in partials])
    safe = np.where(noises > 0, noises, 1.0)
    noise = noises if np.ndim(found.noise_variance) else noises[:1]
    parameters = Parameters(
        found.mean[None],
        found.loadings[None],
        np.maximum(noise, np.finfo(float).tiny)[None] if np.ndim(found.noise_variance) else np.maximum(noise, 1e-300),
        blocks if np.ndim(found.noise_variance) else None,
    )
    chunk = masked_chunk(Block(table, weights), np.zeros(table.shape[1]), 1.0, parameters.blocks)
    posterior = row_posterior(chunk, parameters)
    means = posterior.mean[:, 0].T
    loadings = [found.loadings[blocks == v] for v in range(len(partials))]
    total = sum((W.T @ W / s for W, s in zip(loadings, safe)), np.zeros((q, q)))
    values, rotation = np.linalg.eigh(symmetrized(total))
    values, rotation = values[::-1], rotation[:, ::-1]
    keep = values > FLAT * max(float(values.max(initial=0.0)), float(np.finfo(float).tiny))
    values, rotation = values[keep], rotation[:, keep]
    latents = means @ rotation * np.sqrt(weights / weights.sum())[:, None]
    signs = positive_signs(latents)
    rotation = rotation * signs
    parts = []
    for v, partial in enumerate(partials):
        scale = 0.0 if constant[v] else float(scales[v] / np.sqrt(safe[v]))
        turn = (
            rotation / np.sqrt(values) / np.sqrt(safe[v])
        )  # from W_v of the scaled columns to the axes of the scaled view
        view = partial.view
        if isinstance(view, ExplicitView) and (view.feature_map is None or view.points is None):
            mean = found.mean[blocks == v] / scales[v]
            axes = np.ascontiguousarray((loadings[v] @ turn).T)
            subspace = view.with_axes(mean, axes, np.empty((0, len(axes))), np.empty(0))
        else:
            coefficients = _coefficients(partial, means, posterior.covariance[:, 0])
            subspace = view.subspace(scales[v] * (coefficients[:, :-1] @ turn), coefficients[:, -1])
        parts.append(ViewPart.of(subspace, scale, partial.dim))
    dim = float(sum(partial.dim for partial in partials))
    history = np.array(found.log_likelihoods) + float(_entries(table, blocks, weights) @ np.log(scales))
    spectrum = Spectrum(
        values + 1.0,
        latents * signs,
        float(values.sum() + dim),
        n_iter=found.n_iter,
        converged=found.converged,
        log_likelihoods=history,
    )
    model = LatentModel(ViewSubspace(tuple(parts)), LatentGaussian(values + 1.0, 1.0, dim), spectrum)
    noise_variances = np.where(constant, 0.0, noises / scales**2)
    return NoiseFit(model, noise_variances, history, found.n_iter, found.converged, latents * signs)


def _coefficients(partial: PartialView, means: Array, covariances: Array) -> Array:
    """[B_v, b_v] with W_v = Φ_vᵀB_v and μ_v = Φ_vᵀb_v: the M-step of the dual, Z~ T⁻¹ over the rows that show the view [8]."""
    q = means.shape[1]
    Z = np.column_stack([means[partial.rows], np.ones(len(partial.rows))])
    weighted = partial.weights[:, None] * Z
    T = Z.T @ weighted
    lower, other = lower_triangle(q)
    packed = covariances[:, partial.rows] @ partial.weights
    spread = np.zeros((q, q))
    spread[lower, other] = packed
    spread[other, lower] = packed
    T[:q, :q] += spread
    return np.asarray(np.linalg.solve(T, weighted.T).T)


def _entries(table: Array, blocks: Array, weights: Array) -> Array:
    """Mean number of entries seen per row, one per view."""
    counts = weights @ ~np.isnan(table) / weights.sum()
    return np.bincount(blocks, counts)
