"""Rows that miss entries or whole views: the EM of holes with views as blocks of columns [5, 8].

A linear view is its own columns, NaN where nothing was seen; a view behind a feature map its features; a kernel view the columns F of its
Gram matrix K = FFᵀ on the rows that show it, as many as its noise has dimensions. Each block has a noise of its own, or all share one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array, lower_triangle, symmetric_part
from gramian._precision import ROUNDING, SEEN
from gramian.latent.dimension import for_fraction
from gramian.latent.gaussian import LatentGaussian, noise_or_zero
from gramian.latent.masked_em import Parameters, row_posterior
from gramian.latent.masked_table import masked_chunk
from gramian.latent.missing import MissingFit, fit_missing
from gramian.latent.model import LatentModel
from gramian.latent.subspace import Subspace
from gramian.rows import Block
from gramian.solvers.spectrum import Spectrum, positive_signs
from gramian.views.noise import NoiseFit
from gramian.views.view import ExplicitView, View, ViewPart, ViewSubspace


@dataclass(frozen=True)
class PartialView:
    """A view on the rows that show it: features (NaN where an entry of a linear view was not seen), or the Gram matrix of those rows."""

    view: Annotated[View, "object"]
    rows: Annotated[Array, "# n"]  # indices into all rows
    weights: Annotated[Array, "+ n"]  # raw, one per row that shows it

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
        values, vectors = np.linalg.eigh(symmetric_part(self.view.raw.to_dense()))
        kept = values > ROUNDING * float(values.max(initial=0.0))
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
    **options: Any,
) -> NoiseFit:
    """Maximum likelihood of all that was seen. ``weights`` are raw; ``shared`` keeps one noise for all views.

    ``n_components`` is a count, or a fraction of the variance of the views with their means where nothing was seen. Further options
    are those of `fit_missing`.
    """
    variances = np.array([partial.variance for partial in partials])
    units = view_units(variances, shared)
    scales = power_of_two(units)
    table, blocks = _stack(partials, scales, len(weights))
    q = (
        n_components
        if isinstance(n_components, int)
        else _fraction(table * (units / scales)[blocks], weights, n_components)
    )
    found = fit_missing(table, q, weights=weights, blocks=None if shared else blocks, **options)
    axes = CanonicalAxes.of(found, blocks, len(partials))
    chunk = masked_chunk(Block(table, weights), found.mean, 1.0, axes.parameters.blocks)
    posterior = row_posterior(chunk, axes.parameters)
    means = posterior.mean[:, 0].T
    latents = means @ axes.rotation * np.sqrt(weights / weights.sum())[:, None]
    signs = positive_signs(latents)

    def subspace(v: int, mean: Array, components: Array, turn: Array) -> Subspace:
        view = partials[v].view
        if isinstance(view, ExplicitView) and (view.feature_map is None or view.points is None or view.anchored):
            return view.with_axes(mean, components, np.empty((0, len(components))), np.empty(0))
        coefficients = _coefficients(partials[v], means, posterior.covariance[:, 0])
        return view.subspace(scales[v] * (coefficients[:, :-1] @ turn), coefficients[:, -1])

    dims = [partial.dim for partial in partials]
    entries = np.bincount(blocks, weights @ ~np.isnan(table) / weights.sum())
    return axes.turned(signs).model(scales, variances == 0, dims, entries, latents * signs, subspace)


def view_units(variances: Array, shared: bool) -> Array:
    """Every view in units of its own spread, or of the largest where they share a noise: the EM's floor for the noises is one for all."""
    units = np.full(len(variances), variances.max(initial=0.0)) if shared else variances
    return np.asarray(1.0 / np.sqrt(np.where(units > 0, units, 1.0)))


def power_of_two(units: Array) -> Array:
    """The nearest powers of two: by these a view is scaled there and back to the last digit, so that a column of one value keeps it."""
    return np.asarray(np.exp2(np.round(np.log2(units))))


def _stack(partials: list[PartialView], scales: Array, n: int) -> tuple[Array, Array]:
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
    return components_of_fraction(gram, fraction)


def components_of_fraction(gram: Array, fraction: float) -> int:
    """The number of leading eigenvalues that make up a fraction of the trace; at least one."""
    values = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0)
    return for_fraction(values, float(values.sum()), fraction) or 1


@dataclass(frozen=True)
class CanonicalAxes:
    """The maximum of the likelihood as a model of views: scaled by 1/σ_v, axes along the eigenvectors of Σ W_vᵀW_v/σ²_v."""

    found: MissingFit
    blocks: Array  # the view of each column
    noises: Array  # one per view, of the scaled columns
    values: Array  # the eigenvalues, falling
    rotation: Array

    @classmethod
    def of(cls, found: MissingFit, blocks: Array, n_views: int) -> CanonicalAxes:
        noises = np.broadcast_to(np.asarray(found.noise_variance, dtype=np.float64), n_views)
        q = found.loadings.shape[1]
        axes = cls(found, blocks, noises, np.empty(0), np.empty((q, 0)))
        total = sum((W.T @ W / s for W, s in zip(axes.loadings, axes.safe)), np.zeros((q, q)))
        values, rotation = np.linalg.eigh(symmetric_part(total))
        values, rotation = values[::-1], rotation[:, ::-1]
        keep = values > SEEN * max(float(values.max(initial=0.0)), float(np.finfo(float).tiny))
        return replace(axes, values=values[keep], rotation=rotation[:, keep])

    @property
    def safe(self) -> Array:
        return np.where(self.noises > 0, self.noises, 1.0)

    @property
    def loadings(self) -> list[Array]:
        """W_v of the scaled columns."""
        return [self.found.loadings[self.blocks == v] for v in range(len(self.noises))]

    @property
    def parameters(self) -> Parameters:
        """As the E-step takes them, of rows about their mean; a noise of 0 is the largest that counts as none."""
        found, single = self.found, np.ndim(self.found.noise_variance) == 0
        least = ROUNDING * float(np.square(found.loadings).sum() / len(found.mean)) or 1.0
        noise = np.maximum(self.noises[:1] if single else self.noises[None], least)
        return Parameters(np.zeros((1, len(found.mean))), found.loadings[None], noise, None if single else self.blocks)

    def turned(self, signs: Array) -> CanonicalAxes:
        """With these signs of the axes."""
        return replace(self, rotation=self.rotation * signs)

    def model(
        self,
        scales: Array,
        constant: Array,
        dims: Sequence[float],
        entries: Array,
        latents: Array,
        subspace: Callable[[int, Array, Array, Array], Subspace],
    ) -> NoiseFit:
        """The model. ``subspace(v, mean, components, turn)`` is that of view v; ``entries`` are those seen per row, on average.

        Views are in units of their noises, which are then 1. Where they share one and the components leave none of it, they stay in
        those of the data, and the noise is 0.
        """
        found, safe, parts = self.found, self.safe, []
        exact = not self.noises.any() and not constant.all()
        unit = noise_or_zero(0.0, 1.0, told=True) if exact else 1.0
        values = self.values / scales.max() ** 2 if exact else self.values
        for v, loadings in enumerate(self.loadings):
            # from W_v of the scaled columns to the axes of the scaled view
            turn = self.rotation / np.sqrt(self.values) / np.sqrt(safe[v])
            mean, components = found.mean[self.blocks == v] / scales[v], np.ascontiguousarray((loadings @ turn).T)
            scale = 0.0 if constant[v] else 1.0 if exact else float(scales[v] / np.sqrt(safe[v]))
            parts.append(ViewPart.of(subspace(v, mean, components, turn), scale, float(dims[v])))
        dim = float(sum(dims))
        history = np.array(found.log_likelihoods) + float(entries @ np.log(scales))
        spectrum = Spectrum(
            values + unit,
            latents,
            float(values.sum() + unit * dim),
            n_iter=found.n_iter,
            converged=found.converged,
            log_likelihoods=history,
        )
        model = LatentModel(ViewSubspace(tuple(parts)), LatentGaussian(values + unit, unit, dim), spectrum)
        noise_variances = np.where(constant, 0.0, self.noises / scales**2)
        return NoiseFit(model, noise_variances, history, found.n_iter, found.converged, latents)


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
