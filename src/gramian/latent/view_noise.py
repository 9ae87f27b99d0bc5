"""A noise level for each view: ECM on complete rows, EM where rows miss views [8].

Views scaled by 1/σ_v have noise 1, so each round is the closed form of section 2 on the scaled views.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg

from gramian._arrays import Array, single_blas_thread, symmetrized
from gramian._progress import Progress
from gramian.exceptions import NumericalWarning
from gramian.latent.gaussian import LatentGaussian
from gramian.latent.model import LatentModel
from gramian.latent.views import ExplicitView, View, ViewPart, ViewSample, ViewSubspace, ViewTable, rotated, unrotation
from gramian.solvers.base import Solver
from gramian.solvers.spectrum import Spectrum, positive_signs

ROUNDS = 50
"""After so many ECM rounds a variance that still falls may be on its way to 0, not to an optimum."""
SMALLEST = 1e-9
"""A noise below this share of its view's mean variance is held there: the view is explained exactly."""
COLLAPSE = 0.05
"""A noise below this share of the held-out residual variance has collapsed: a component was spent on that view alone."""
PINNED = 2000
"""Below so many rows the rounds run on one BLAS thread."""
FEWEST_ROWS = 10
"""With fewer rows none is held out to see what a view's residual variance really is."""


@dataclass(frozen=True)
class NoiseFit:
    """A fitted model of scaled views, the noise of each view, and the path there."""

    model: LatentModel
    noise_variances: Array  # (V,), in units of each view's features
    log_likelihoods: Array  # mean per row, one per round
    n_iter: int
    settled: bool
    latents: Array  # H
    rotation: Array | None = None  # from H to the frame of an unrotated Stiefel solution


def scales_of(noise_variances: Array) -> Array:
    """1/σ_v; a view without variance is given no weight."""
    safe = np.where(noise_variances > 0, noise_variances, 1.0)
    return np.where(noise_variances > 0, 1.0 / np.sqrt(safe), 0.0)


def start_noises(table: ViewTable) -> Array:
    """σ²_v = tr K_v / D_v: from above, since small starts stall on a false plateau."""
    return table.traces / table.dims


def fit_view_noises(
    table: ViewTable,
    n_components: int,
    solver: Solver,
    space: str,
    *,
    tol: float = 1e-3,
    max_iter: int = ROUNDS,
    floors: Array | None = None,
    held: Array | None = None,
    names: Any = None,
    progress: Progress | None = None,
    working: ViewTable | None = None,
) -> NoiseFit:
    """The ECM of section 8: top q eigenpairs of Σ K_v/σ²_v, then σ²_v = [tr K_v - tr(BᵀK_vB)] / D_v with B = V((l-1)/l)^½.

    Stops when no log noise moves by more than ``tol``, or after ``max_iter`` rounds. With the rows to be ``held`` out (a mask), a
    noise that is still falling after 50 rounds, or has fallen below a twentieth of the view's residual variance on those rows, is
    bounded by that variance, with a `NumericalWarning` if the views have ``names``. The rounds run on the ``working`` table if there
    is one: the same rows, `factored`.
    """
    with pinned(len(table.weights)):
        return _fit_view_noises(
            table, n_components, solver, space, tol, max_iter, floors, held, names, progress, working
        )


def pinned(n_rows: int) -> AbstractContextManager[Any]:
    """One BLAS thread for rounds of decompositions of this size: on a busy machine more cost up to 40 times as much."""
    return single_blas_thread() if n_rows < PINNED else nullcontext()


def _fit_view_noises(
    table: ViewTable,
    n_components: int,
    solver: Solver,
    space: str,
    tol: float,
    max_iter: int,
    floors: Array | None,
    held: Array | None,
    names: Any,
    progress: Progress | None,
    working: ViewTable | None,
) -> NoiseFit:
    start = start_noises(table)
    least = np.maximum(SMALLEST * start, 0.0 if floors is None else floors)
    rows, where = (table, space) if working is None else (working, "primal")
    noises = np.maximum(start, least)
    history: list[float] = []
    settled = False

    def climb(table: ViewTable, space: str, noises: Array, rounds: int) -> tuple[Array, bool]:
        noises, more, settled = _ecm(table, n_components, solver, space, noises, least, tol, rounds, progress)
        history.extend(more)
        return noises, settled

    noises, settled = climb(rows, where, noises, min(max_iter, ROUNDS))
    if held is not None and len(table.views) > 1:
        bounds = _collapse_bounds(table, n_components, solver, space, noises, start, settled, held)
        if (bounds > noises).any():
            if names is not None:
                _warn_collapse(noises, bounds, names)
            least = np.maximum(least, bounds)
            noises, settled = climb(rows, where, np.maximum(noises, least), min(max_iter, ROUNDS))
    if not settled and len(history) < max_iter:
        noises, settled = climb(rows, where, noises, max_iter - len(history))
    sample, spectrum = solve_scaled(table, n_components, solver, space, noises)
    model = LatentModel(sample.subspace(spectrum), LatentGaussian(spectrum.eigenvalues, 1.0, sample.dim), spectrum)
    latents = sample.latents(spectrum)
    signed = latents * positive_signs(latents)
    return NoiseFit(model, noises, np.array(history), len(history), settled, signed, unrotation(spectrum, latents))


def solve_scaled(table: ViewTable, q: int, solver: Solver, space: str, noises: Array) -> tuple[ViewSample, Spectrum]:
    """The top of the scaled spectrum above the noise, which is now 1."""
    sample = ViewSample(table, scales_of(noises), space)
    spectrum = solver.solve(sample.operator(), min(q, sample.max_components), dim=sample.dim, noise_variance=1.0)
    kept = int((spectrum.eigenvalues > 1.0).sum())
    if kept < len(spectrum.eigenvalues) and spectrum.gamma is not None:
        spectrum = replace(spectrum, eigenvectors=rotated(spectrum), gamma=None)  # only eigenvectors can be cut
    return sample, spectrum.leading(kept)


def _ecm(
    table: ViewTable,
    q: int,
    solver: Solver,
    space: str,
    noises: Array,
    least: Array,
    tol: float,
    rounds: int,
    progress: Progress | None,
) -> tuple[Array, list[float], bool]:
    history: list[float] = []
    for _ in range(rounds):
        sample, spectrum = solve_scaled(table, q, solver, space, noises)
        history.append(_mean_log_likelihood(table, sample.dim, spectrum, noises))
        moved = np.maximum((table.traces - _explained(sample, spectrum)) / table.dims, least)
        alive = (moved > 0) & (noises > 0)
        steps = np.abs(np.log(moved[alive] / noises[alive]))
        noises = np.where(noises > 0, moved, 0.0)
        if progress is not None:
            progress.step(log_likelihood=history[-1])
        if steps.max(initial=0.0) <= tol:
            return noises, history, True
    return noises, history, False


def _explained(sample: ViewSample, spectrum: Spectrum) -> Array:
    """tr(BᵀK_vB), one per view; from the axes alone where they are explicit: Σ (l - 1)|u_v|² / c_v²."""
    table = sample.table
    if sample.space == "primal":
        columns = np.square(rotated(spectrum)) @ (spectrum.eigenvalues - 1.0)
        ends = np.cumsum([0, *table.widths])
        sums = np.array([columns[start:stop].sum() for start, stop in pairwise(ends)])
        safe = np.where(sample.scales > 0, sample.scales, 1.0)
        return np.where(sample.scales > 0, sums / safe**2, 0.0)
    B = sample.latents(spectrum) * np.sqrt(1.0 - 1.0 / spectrum.eigenvalues)
    return np.array(
        [
            float(np.square(block.T @ B).sum()) if block is not None else float(np.vdot(B, table.grams[v] @ B))
            for v, block in enumerate(table.centred)
        ]
    )


def _mean_log_likelihood(table: ViewTable, dim: float, spectrum: Spectrum, noises: Array) -> float:
    """Mean log p a row at the closed form with noise 1, less Σ D_v log σ_v for the scaling [2, 8]."""
    alive = noises > 0
    trace = float((table.traces[alive] / noises[alive]).sum())
    values = spectrum.eigenvalues
    scaled = dim * np.log(2 * np.pi) + np.log(values).sum() + len(values) + trace - values.sum()
    return float(-0.5 * (scaled + (table.dims[alive] * np.log(noises[alive])).sum()))


# ---------------------------------------------------------------- collapse


def _collapse_bounds(
    table: ViewTable,
    q: int,
    solver: Solver,
    space: str,
    noises: Array,
    start: Array,
    settled: bool,
    held: Array,
) -> Array:
    """The held-out residual variance of the views whose noise collapsed; 0 for the others."""
    bounds = np.zeros(len(noises))
    suspects = [
        v
        for v, view in enumerate(table.views)
        if isinstance(view, ExplicitView)
        and table.dims[v] < q
        and start[v] > 0
        and (not settled or noises[v] < COLLAPSE * start[v])
    ]
    if not suspects or len(table.weights) < FEWEST_ROWS:
        return bounds
    residuals = held_out_residuals(table, q, solver, space, noises, held)
    for v in suspects:
        if noises[v] < (residuals[v] if not settled else COLLAPSE * residuals[v]):
            bounds[v] = min(residuals[v], start[v])  # a view is never noisier than it varies
    return bounds


def held_out_residuals(table: ViewTable, q: int, solver: Solver, space: str, noises: Array, mask: Array) -> Array:
    """Mean squared residual per coordinate of every explicit view, predicted from the others on the rows of the mask."""
    held, kept = np.flatnonzero(mask), np.flatnonzero(~mask)
    sample, spectrum = solve_scaled(table.take(kept), q, solver, space, noises)
    subspace = sample.subspace(spectrum)
    gaussian = LatentGaussian(spectrum.eigenvalues, 1.0, sample.dim)
    inputs = [view_inputs(view, held, kept) for view in table.views]
    weights = table.weights[held] / table.weights[held].sum()
    out = np.zeros(len(table.views))
    for v, view in enumerate(table.views):
        if not isinstance(view, ExplicitView):
            continue
        others = [None if w == v else X for w, X in enumerate(inputs)]
        z = gaussian.posterior(_projected(subspace, others)).mean
        residual = view.features[held] - subspace.parts[v].decoded(gaussian.decode(z))
        out[v] = float(weights @ np.square(residual).mean(axis=1))
    return out


def view_inputs(view: View, held: Array, kept: Array) -> Array:
    """Rows in the form that `_projected` takes: features, or kernel values over the kept rows."""
    return view.features[held] if isinstance(view, ExplicitView) else view.raw.columns(kept, rows=held)


def _projected(subspace: ViewSubspace, inputs: list[Any]) -> Any:
    """As `ViewSubspace.project`, from features and kernel rows instead of inputs."""
    return bare(subspace).project(inputs)


def bare(subspace: ViewSubspace) -> ViewSubspace:
    """The same without feature maps and kernels: it projects features, and kernel values over the training rows."""
    parts = []
    for part in subspace.parts:
        inner = part.subspace
        if hasattr(inner, "primal"):
            inner = inner.primal
        elif hasattr(inner, "points"):
            inner = replace(inner, points=None)
        parts.append(replace(part, subspace=inner))
    return ViewSubspace(tuple(parts))


def _warn_collapse(noises: Array, bounds: Array, names: Any) -> None:
    for v in np.flatnonzero(bounds > noises):
        name = names[v]
        warnings.warn(
            f"The noise variance of view {name!r} was falling towards 0 ({noises[v]:.3g}): components were spent on that view "
            f"alone. It is bounded by its residual variance on held-out rows, {bounds[v]:.3g}. Lower n_components.",
            NumericalWarning,
            stacklevel=5,
        )


# ---------------------------------------------------------------- rows that miss views


@dataclass(frozen=True)
class PartialView:
    """A view on the rows that show it: features, or the raw Gram matrix over those rows."""

    view: View
    rows: Array  # indices into all rows
    weights: Array  # raw, one a row that shows it

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
    progress: Progress | None = None,
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
        if progress is not None:
            progress.step(log_likelihood=log_likelihood)
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
    values, vectors = linalg.eigh(symmetrized(K), check_finite=False)
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
    return _Seen(scores, symmetrized(inner[:-1, :-1]), np.maximum(squares, 0.0))


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
        covariances.append(symmetrized(covariance))
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
    lower = np.linalg.cholesky(symmetrized(spread))
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
    total = symmetrized(sum(view.gram / noise for view, noise in zip(views, state.noises)))
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
