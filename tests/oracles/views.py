"""The EM of rows that miss views, in the dual and written out view by view: the oracle of `gramian.views.missing` [8]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from gramian._arrays import Array, symmetric_part
from gramian.latent.gaussian import LatentGaussian
from gramian.latent.model import LatentModel
from gramian.solvers.spectrum import Spectrum, positive_signs
from gramian.views.noise import NoiseFit
from gramian.views.view import ExplicitView, View, ViewPart, ViewSubspace

SMALLEST = 1e-9


@dataclass(frozen=True)
class PartialView:
    """A view on the rows that show it: features, or the raw Gram matrix over those rows."""

    view: View
    rows: Array  # indices into all rows
    weights: Array  # raw, one per row that shows it

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    @cached_property
    def centred(self) -> Array:
        """Explicit features about their mean: coefficients sum to (0, ..., 0, 1), so any origin gives the same model."""
        assert isinstance(self.view, ExplicitView)
        return self.view.features - self.view.mean(self.weights / self.total)

    @property
    def dim(self) -> float:
        return self.view.dim(self.total)


@dataclass(frozen=True)
class _State:
    """Coefficients [B_v, b_v] over the rows that show a view (W_v = Φ_vᵀB_v, μ_v = Φ_vᵀb_v) and its noise."""

    coefficients: list[Array]
    noises: Array


@dataclass(frozen=True)
class _Seen:
    """What the E step needs of one view: Φ_v[B, b] and inner products."""

    scores: Array  # (φ_i - μ)ᵀW, (n_v, q)
    gram: Array  # WᵀW, (q, q)
    norms: Array  # |φ_i - μ|², (n_v,)


def fit_missing_views(
    partials: list[PartialView],
    seen: Array,
    weights: Array,
    n_components: Any,
    *,
    shared: bool,
    tol: float,
    max_iter: int,
) -> NoiseFit:
    """The EM of section 8 on the observed views of every row, with the PX step of section 5: monotone in the likelihood.

    ``weights`` are raw. ``shared`` keeps one noise for all views. ``n_components`` is a count or a fraction.
    """
    state, q = _start(partials, len(weights), weights, n_components, shared)
    patterns, inverse = np.unique(seen, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    history: list[float] = []
    converged = False
    for n_iter in range(1, max_iter + 1):
        views = [_seen(partial, coefficients) for partial, coefficients in zip(partials, state.coefficients)]
        means, covariances, log_likelihood = _expect(partials, views, state.noises, patterns, inverse, weights, q)
        history.append(log_likelihood)
        if n_iter > 1 and history[-1] - history[-2] <= tol * max(1.0, abs(history[-1])):
            converged = True
            break
        state = _maximise(partials, means, covariances, inverse, weights, shared)
    return _assembled(partials, state, seen, weights, np.array(history), len(history), converged, means)


def _start(partials: list[PartialView], n: int, weights: Array, n_components: Any, shared: bool) -> tuple[_State, int]:
    """Missing views at their mean: the spectrum of Σ K_v/σ²_v with zeros where a view was not seen."""
    K = np.zeros((n, n))
    traces, centred = [], []
    for partial in partials:
        s = partial.weights / partial.total
        raw = partial.view.gram(s).to_dense()
        mean = raw @ s
        raw = raw - mean[:, None] - mean[None, :] + s @ mean
        traces.append(float(s @ raw.diagonal()))
        centred.append(raw)
    dims = np.array([partial.dim for partial in partials])
    totals = np.array([partial.total for partial in partials])
    variances = np.maximum(np.array(traces), np.finfo(float).tiny)
    noises = variances / dims
    if shared:
        noises = np.full(len(dims), (totals * variances).sum() / (totals * dims).sum())
    for partial, raw, noise in zip(partials, centred, noises):
        K[np.ix_(partial.rows, partial.rows)] += raw / noise
    root = np.sqrt(weights / weights.sum())
    K *= root[:, None] * root[None, :]
    values, vectors = linalg.eigh(symmetric_part(K), check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = int((values > 1e-10 * values[0]).sum())
    if isinstance(n_components, int):
        q = min(n_components, rank)
    else:
        q = int(np.searchsorted(np.cumsum(values[:rank]), n_components * values[:rank].sum()) + 1)
    values, vectors = values[:q], vectors[:, :q]
    # W_v = Φ_v^T J V ((l-1)/l)^½, at least a trace of every component so that EM can grow it
    gains = np.sqrt(np.maximum(1 - 1 / np.maximum(values, 1.0), 1e-3))
    loadings = vectors * gains * root[:, None]
    coefficients = []
    for partial in partials:
        s = partial.weights / partial.total
        B = loadings[partial.rows]
        coefficients.append(np.column_stack([B - np.outer(s, B.sum(axis=0)), s]))
    return _State(coefficients, noises), q


def _products(partial: PartialView, coefficients: Array) -> tuple[Array, Array, Array]:
    """Φ[B, b] against the rows (n_v, q+1), [B, b]ᵀK[B, b] and |φ_i|²."""
    view = partial.view
    if isinstance(view, ExplicitView):
        features = partial.centred
        vectors = features.T @ coefficients
        return features @ vectors, vectors.T @ vectors, np.einsum("nd,nd->n", features, features)
    products = view.raw @ coefficients
    return products, coefficients.T @ products, view.raw.diagonal()


def _seen(partial: PartialView, coefficients: Array) -> _Seen:
    products, inner, norms = _products(partial, coefficients)
    scores = products[:, :-1] - inner[-1, :-1]
    squares = norms - 2 * products[:, -1] + inner[-1, -1]
    return _Seen(scores, symmetric_part(inner[:-1, :-1]), np.maximum(squares, 0.0))


def _expect(
    partials: list[PartialView],
    views: list[_Seen],
    noises: Array,
    patterns: Array,
    inverse: Array,
    weights: Array,
    q: int,
) -> tuple[Array, list[Array], float]:
    """E[z | o] of every row, Cov[z | o] of every pattern, and the mean observed-data log-likelihood."""
    n = len(weights)
    targets, distances, constants = np.zeros((n, q)), np.zeros(n), np.zeros(n)
    for partial, view, noise in zip(partials, views, noises):
        targets[partial.rows] += view.scores / noise
        distances[partial.rows] += view.norms / noise
        constants[partial.rows] += partial.dim * np.log(2 * np.pi * noise)
    means = np.zeros((n, q))
    covariances = []
    for k, pattern in enumerate(patterns):
        rows = inverse == k
        M = np.eye(q) + sum(
            (view.gram / noise for view, noise, here in zip(views, noises, pattern) if here), np.zeros((q, q))
        )
        covariance = np.linalg.inv(M)
        means[rows] = targets[rows] @ covariance
        constants[rows] += np.linalg.slogdet(M)[1]
        covariances.append(symmetric_part(covariance))
    explained = np.einsum("nq,nq->n", targets, means)
    log_likelihoods = -0.5 * (constants + distances - explained)
    return means, covariances, float(weights @ log_likelihoods / weights.sum())


def _maximise(
    partials: list[PartialView], means: Array, covariances: list[Array], inverse: Array, weights: Array, shared: bool
) -> _State:
    q = means.shape[1]
    coefficients, residuals, counts, sizes = [], [], [], []
    for partial in partials:
        w = partial.weights
        Z = np.column_stack([means[partial.rows], np.ones(len(partial.rows))])
        T = Z.T @ (w[:, None] * Z)
        for k, covariance in enumerate(covariances):
            T[:q, :q] += w[inverse[partial.rows] == k].sum() * covariance
        weighted = w[:, None] * Z
        C = np.linalg.solve(T, weighted.T).T
        products, _, norms = _products(partial, C)
        residuals.append(float(w @ norms - np.vdot(weighted, products)))
        counts.append(partial.total * partial.dim)
        sizes.append(max(float(w @ norms), float(np.finfo(float).tiny)))
        coefficients.append(C)
    residual, count = np.array(residuals), np.array(counts)
    least = SMALLEST * np.array(sizes) / count
    noises = np.maximum(residual / count, least)
    if shared:
        noises = np.full(len(noises), max(float(residual.sum() / count.sum()), float(least.max())))
    # PX step: the latents' own mean and covariance go into the loadings; the noise was settled before [5]
    total = weights.sum()
    center = weights @ means / total
    spread = (weights[:, None] * means).T @ means / total - np.outer(center, center)
    for k, covariance in enumerate(covariances):
        spread += weights[inverse == k].sum() / total * covariance
    lower = np.linalg.cholesky(symmetric_part(spread))
    moved = [np.column_stack([C[:, :q] @ lower, C[:, q] + C[:, :q] @ center]) for C in coefficients]
    return _State(moved, noises)


def _assembled(
    partials: list[PartialView],
    state: _State,
    seen: Array,
    weights: Array,
    history: Array,
    n_iter: int,
    converged: bool,
    means: Array,
) -> NoiseFit:
    """The canonical model: views scaled by 1/σ_v, axes along the eigenvectors of Σ W_vᵀW_v/σ²_v."""
    views = [_seen(partial, coefficients) for partial, coefficients in zip(partials, state.coefficients)]
    total = symmetric_part(sum(view.gram / noise for view, noise in zip(views, state.noises)))
    values, rotation = np.linalg.eigh(total)
    values, rotation = values[::-1], rotation[:, ::-1]
    keep = values > 1e-10 * max(float(values[0]), np.finfo(float).tiny)
    values, rotation = values[keep], rotation[:, keep]
    latents = means @ rotation * np.sqrt(weights / weights.sum())[:, None]
    signs = positive_signs(latents)
    rotation = rotation * signs
    parts = []
    for partial, coefficients, noise in zip(partials, state.coefficients, state.noises):
        scale = 1.0 / np.sqrt(noise)
        axes = scale * coefficients[:, :-1] @ rotation / np.sqrt(values)
        parts.append(ViewPart.of(partial.view.subspace(axes, coefficients[:, -1]), float(scale), partial.dim))
    dim = float(sum(partial.dim for partial in partials))
    spectrum = Spectrum(
        values + 1.0,
        latents * signs,
        float(values.sum() + dim),
        n_iter=n_iter,
        converged=converged,
        log_likelihoods=history,
    )
    model = LatentModel(ViewSubspace(tuple(parts)), LatentGaussian(values + 1.0, 1.0, dim), spectrum)
    return NoiseFit(model, state.noises, history, n_iter, converged, latents * signs)
