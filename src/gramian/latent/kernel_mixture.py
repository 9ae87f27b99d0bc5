"""Mixtures of kernel PPCA: every component is the latent Gaussian with its responsibilities as sample weights [6].

[ZH]'s noise lives in a space of unknown dimension D, whose constant (2πρ)^(-D/2) is the same for all components and is left out:
with D = 0 the log-density of `LatentGaussian` is exactly -L^/2, L^ = Mahalanobis + log|M| + q log(1/ρ) ([ZH] eq. 16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_finite
from gramian._progress import Progress
from gramian.latent.dimension import for_fraction
from gramian.latent.feature_subspace import NystroemSubspace
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.model import LatentModel
from gramian.latent.sample import DualSample, MomentSample, Sample
from gramian.latent.subspace import DualSubspace
from gramian.operators.gram import DenseGram
from gramian.operators.moments import Moments
from gramian.solvers.base import Solver
from gramian.solvers.spectrum import Spectrum

CONSTANT_FREE = 0.0
"""The D of components: the constant of the noise's space left out."""
NEGLIGIBLE = 1e-13
"""Rows whose weight is below this share of the largest take no part in a component: their variance is rounding."""
EMPTY = 1e-100
"""A component with a smaller share of the weight keeps its last parameters and a mixing weight of 0."""
CLEAR_GAIN = 0.02
"""In nats a row. Tops that differ by less differ in the few points where clusters touch: no reason to leave the first start."""


# ---------------------------------------------------------------- one component


def fit_component(sample: Sample, n_components: int | float, noise_variance: float, solver: Solver) -> Spectrum:
    """The leading eigenpairs above the noise (and above rounding), at most ``n_components`` or enough for a fraction.

    Where a single model would refuse a noise above its last eigenvalue, a component keeps the directions above it [6].
    """
    operator = sample.operator()
    most = sample.max_components
    count = min(n_components, most) if isinstance(n_components, int) else most
    if count == 0:  # a mean alone: nothing to decompose
        return Spectrum(np.empty(0), np.empty((operator.size, 0)), operator.trace())
    spectrum = solver.solve(operator, count, dim=operator.size, noise_variance=noise_variance or None)
    values = spectrum.eigenvalues
    largest = max(float(values[0]), 0.0) if values.size else 0.0
    floor = max(noise_variance, sample.rank_tol * largest, sample.rank_floor)
    kept = int((values > floor).sum())
    if not isinstance(n_components, int):
        trace = spectrum.trace if sample.positive_semidefinite else float(values[values > 0].sum())
        enough = for_fraction(values, trace, n_components)
        kept = kept if enough is None else min(kept, enough)
    return spectrum.leading(kept).signed()


class Rows(Protocol):
    """Training rows that components are fitted to, in dual or in explicit coordinates."""

    @property
    def size(self) -> int: ...
    def component(
        self, weights: Array, n_components: int | float, noise_variance: float, solver: Solver
    ) -> LatentModel: ...
    def training(self, model: LatentModel) -> Projection: ...


@dataclass(frozen=True)
class DualRows:
    """Rows known by one Gram matrix K₀, which all components share."""

    kernel: Any
    points: Any  # training inputs; None with a precomputed kernel
    gram: Array  # K₀

    @property
    def size(self) -> int:
        return len(self.gram)

    def component(
        self, weights: Array, n_components: int | float, noise_variance: float, solver: Solver
    ) -> LatentModel:
        """The component with these (unnormalised) weights; its axes are over all rows, zero where the weight is negligible."""
        kept = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
        part = self.gram if len(kept) == self.size else self.gram[np.ix_(kept, kept)]
        share = weights[kept] / weights[kept].sum()
        sample = DualSample(self.kernel, None, DenseGram(part), share, CONSTANT_FREE)
        spectrum = fit_component(sample, n_components, noise_variance, solver)
        near = sample.subspace(spectrum)
        axes = np.zeros((self.size, near.axes.shape[1]))
        affine = np.zeros(self.size)
        axes[kept], affine[kept] = near.axes, near.affine
        columns = self.gram[:, kept]
        subspace = DualSubspace(
            self.kernel, self.points, affine, axes, columns @ near.affine, columns @ near.axes, CONSTANT_FREE
        )
        return LatentModel(
            subspace, LatentGaussian(spectrum.eigenvalues, noise_variance, CONSTANT_FREE), _values_only(spectrum)
        )

    def training(self, model: LatentModel) -> Projection:
        """What the component sees of the training rows: no product with K₀ is left to do."""
        subspace = model.subspace
        norms = np.diagonal(self.gram) - 2 * subspace.raw_mean + subspace.mean_norm
        return Projection(subspace.images - subspace.raw_mean @ subspace.axes, np.maximum(norms, 0.0), CONSTANT_FREE)


@dataclass(frozen=True)
class FeatureRows:
    """Rows known by explicit (Nyström) features: components are primal, and cost N r² instead of N³."""

    feature_map: Any
    features: Array  # φ̂(x), (N, r)
    points: Any  # the landmarks
    point_features: Array  # φ̂(landmarks)

    @property
    def size(self) -> int:
        return len(self.features)

    def component(
        self, weights: Array, n_components: int | float, noise_variance: float, solver: Solver
    ) -> LatentModel:
        """The component with these (unnormalised) weights."""
        kept = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
        share = weights[kept] / weights[kept].sum()
        sample = MomentSample(Moments.of(self.features[kept], share), len(kept))
        spectrum = fit_component(sample, n_components, noise_variance, solver)
        subspace = NystroemSubspace(self.feature_map, sample.subspace(spectrum), self.points, self.point_features)
        return LatentModel(
            subspace, LatentGaussian(spectrum.eigenvalues, noise_variance, CONSTANT_FREE), _values_only(spectrum)
        )

    def training(self, model: LatentModel) -> Projection:
        """What the component sees of the training rows."""
        return model.subspace.primal.project(self.features)


def _values_only(spectrum: Spectrum) -> Spectrum:
    """The subspace holds the axes already; a mixture need not keep them twice."""
    return Spectrum(
        spectrum.eigenvalues, np.empty((0, len(spectrum.eigenvalues))), spectrum.trace, spectrum.residual_norm
    )


# ---------------------------------------------------------------- all components of new rows


def project_rows(models: Sequence[LatentModel], X: Any, diagonal: Array | None = None) -> list[Projection]:
    """What each component sees of the rows of X; kernel values (or features) are computed once for all of them.

    ``diagonal`` is k(y, y) of the rows, which a precomputed kernel cannot know: see `least_diagonal`.
    """
    first = models[0].subspace
    if isinstance(first, NystroemSubspace):
        features = check_finite(np.asarray(first.feature_map.transform(X), dtype=np.float64), "features")
        return [model.subspace.primal.project(features) for model in models]
    at_home = np.asarray(first.kernel.diagonal(X) if diagonal is None else diagonal, dtype=np.float64)
    parts = _scores_and_gaps(models, X)
    return [Projection(scores, np.maximum(at_home + gap, 0.0), CONSTANT_FREE) for scores, gap in parts]


def least_diagonal(models: Sequence[LatentModel], X: Any) -> Array:
    """The least k(y, y) for which no component sees more than there is of a row.

    The true value of a precomputed kernel is not known, but it is the same for all components, and cancels between them.
    """
    return np.max([np.einsum("nq,nq->n", scores, scores) - gap for scores, gap in _scores_and_gaps(models, X)], axis=0)


def _scores_and_gaps(models: Sequence[LatentModel], X: Any) -> list[tuple[Array, Array]]:
    """Scores t and |φ - μ|² - k(y, y) of every component, by one product with the kernel values."""
    blocks = [np.column_stack([model.subspace.axes, model.subspace.affine]) for model in models]
    products = models[0].subspace.kernel_products(X, np.column_stack(blocks))
    ends = np.cumsum([block.shape[1] for block in blocks])
    found = []
    for part, model in zip(np.split(products, ends[:-1], axis=1), models):
        subspace = model.subspace
        found.append((part[:, :-1] - subspace.raw_mean @ subspace.axes, subspace.mean_norm - 2 * part[:, -1]))
    return found


def log_terms(models: Sequence[LatentModel], mixing: Array, seen: Sequence[Projection]) -> Array:
    """log m_i - L^_i(x)/2, (n, I) ([ZH] eqs. 14-16); -inf where a component is empty."""
    densities = np.column_stack([model.gaussian.log_density(part) for model, part in zip(models, seen)])
    with np.errstate(divide="ignore"):
        return densities + np.log(mixing)


def responsibilities_of(terms: Array) -> tuple[Array, Array]:
    """r_ni ∝ exp(terms) with rows that sum to one, and log Σ exp(terms), in the log domain ([ZH] eq. 17)."""
    highest = terms.max(axis=1, keepdims=True)
    shares = np.exp(terms - highest)
    totals = shares.sum(axis=1, keepdims=True)
    shares /= totals
    return shares, (highest + np.log(totals))[:, 0]


# ---------------------------------------------------------------- the EM of the mixture


@dataclass(frozen=True)
class KernelMixtureFit:
    """What EM found: components, mixing weights, responsibilities, and the objective (mean a row) of every step."""

    components: list[LatentModel]
    mixing: Array
    responsibilities: Array
    log_likelihoods: Array
    converged: bool

    @property
    def objective(self) -> float:
        return float(self.log_likelihoods[-1])


def fit_kernel_mixture(
    rows: Rows,
    start: Array,
    weights: Array,
    n_components: Sequence[int | float],
    noise_variance: float,
    *,
    solver: Solver,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> KernelMixtureFit:
    """[ZH]'s EM from starting responsibilities (N, I); the objective Σ w log Σ_i m_i exp(-L^_i/2) never falls [6].

    Fractions in ``n_components`` are settled on the start: a q that changed on the way could let the objective fall.
    """
    total = float(weights.sum())
    responsibilities = _filled(start)
    counts: list[int | float] = list(n_components)
    components: list[LatentModel] = []
    history: list[float] = []
    converged = False
    mixing = np.zeros(len(counts))
    for _ in range(max_iter):
        masses = weights @ responsibilities
        mixing = np.where(masses > EMPTY * total, masses, 0.0)
        mixing = mixing / mixing.sum()
        components = [
            rows.component(weights * responsibilities[:, i], counts[i], noise_variance, solver)
            if mixing[i] > 0
            else components[i]
            for i in range(len(counts))
        ]
        counts = [c if isinstance(c, int) else m.gaussian.n_components for c, m in zip(counts, components)]
        terms = log_terms(components, mixing, [rows.training(model) for model in components])
        responsibilities, values = responsibilities_of(terms)
        history.append(float(weights @ values) / total)
        if progress is not None:
            progress.step(objective=history[-1])
        if len(history) > 1 and abs(history[-1] - history[-2]) <= tol * max(abs(history[-1]), 1e-10):
            converged = True
            break
    return KernelMixtureFit(components, mixing, responsibilities, np.array(history), converged or len(counts) == 1)


def fit_from_starts(rows: Rows, starts: Sequence[Array], *args: Any, **options: Any) -> KernelMixtureFit:
    """EM from the first start, and from the others in case it was a wrong one: they must be clearly likelier."""
    best = fit_kernel_mixture(rows, starts[0], *args, **options)
    for start in starts[1:]:
        found = fit_kernel_mixture(rows, start, *args, **options)
        if found.objective > best.objective + CLEAR_GAIN:
            best = found
    return best


def _filled(start: Array) -> Array:
    """The start with rows that sum to one; where a component would be empty, all get a share of every row."""
    start = start / start.sum(axis=1, keepdims=True)
    if (start.sum(axis=0) <= 1e-12 * len(start)).any():
        start = 0.9 * start + 0.1 / start.shape[1]
    return start
