"""Mixtures of kernel PPCA: every component is the latent Gaussian with its responsibilities as sample weights [6].

[ZH]'s noise lives in a space of unknown dimension D, whose constant (2πρ)^(-D/2) is the same for all components and is left out:
with D = 0 the log-density of `LatentGaussian` is exactly -L^/2, L^ = Mahalanobis + log|M| + q log(1/ρ) ([ZH] eq. 16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_finite
from gramian._progress import Progress
from gramian.latent.dimension import for_fraction
from gramian.latent.feature_subspace import NystroemSubspace
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.mixture import (
    EMPTY,
    Ascent,
    MixtureFit,
    Seen,
    climb,
    halved,
    log_terms,
    nonempty,
    responsibilities_of,
)
from gramian.latent.model import LatentModel
from gramian.latent.sample import DualSample, MomentSample, Sample
from gramian.latent.subspace import DualSubspace
from gramian.operators.gram import DenseGram
from gramian.operators.moments import Moments
from gramian.solvers.base import Solver
from gramian.solvers.continued import continued_pairs
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum

CONSTANT_FREE = 0.0
"""The D of components: the constant of the noise's space left out."""
NEGLIGIBLE = 1e-13
"""Rows whose weight is below this share of the largest take no part in a component: their variance is rounding."""
CLEAR_GAIN = 0.02
"""In nats per row. Tops that differ by less differ in the few points where clusters touch: no reason to leave the first start."""
RACE_STEPS = 8
"""EM from several starts: each runs so many steps, and the best goes on alone."""
DENSE_ROWS = 300
"""Components of at most so many rows are decomposed whole ..."""
DENSE_SHARE = 6
"""... and so are those whose rows are fewer than this multiple of the eigenpairs asked for."""


# ---------------------------------------------------------------- one component


def fit_component(
    sample: Sample,
    n_components: int | float,
    noise_variance: float,
    solver: Solver | None = None,
    start: Array | None = None,
) -> Spectrum:
    """The leading eigenpairs above the noise (and above rounding), at most ``n_components`` or enough for a fraction.

    Where a single model would refuse a noise above its last eigenvalue, a component keeps the directions above it [6]. Without a
    ``solver`` small components are decomposed whole; the eigenpairs of large ones are continued from ``start``, those of the last step.
    """
    operator = sample.operator()
    most = sample.max_components
    count = min(n_components, most) if isinstance(n_components, int) else most
    if count == 0:  # a mean alone: nothing to decompose
        return Spectrum(np.empty(0), np.empty((operator.size, 0)), operator.trace())
    if solver is not None:
        spectrum = solver.solve(operator, count, dim=operator.size, noise_variance=noise_variance or None)
    elif operator.size <= max(DENSE_ROWS, DENSE_SHARE * count):
        spectrum = Eigh().solve(operator, count)
    else:
        spectrum = continued_pairs(operator, count, np.empty((operator.size, 0)) if start is None else start)
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
        self,
        weights: Array,
        n_components: int | float,
        noise_variance: float,
        solver: Solver | None = None,
        before: LatentModel | None = None,
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
        self,
        weights: Array,
        n_components: int | float,
        noise_variance: float,
        solver: Solver | None = None,
        before: LatentModel | None = None,
    ) -> LatentModel:
        """The component with these (unnormalised) weights; its axes are over all rows, zero where the weight is negligible.

        ``before`` is the component of the last step, to continue from.
        """
        kept = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
        part = self.gram if len(kept) == self.size else self.gram[np.ix_(kept, kept)]
        share = weights[kept] / weights[kept].sum()
        sample = DualSample(self.kernel, None, DenseGram(part), share, CONSTANT_FREE)
        start = None if before is None else np.sqrt(share)[:, None] * self.training(before).scores[kept]
        spectrum = fit_component(sample, n_components, noise_variance, solver, start)
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
        self,
        weights: Array,
        n_components: int | float,
        noise_variance: float,
        solver: Solver | None = None,
        before: LatentModel | None = None,
    ) -> LatentModel:
        """The component with these (unnormalised) weights."""
        kept = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
        share = weights[kept] / weights[kept].sum()
        sample = MomentSample(Moments.of(self.features[kept], share), len(kept))
        spectrum = fit_component(sample, n_components, noise_variance, solver or Eigh())
        gaussian = LatentGaussian(spectrum.eigenvalues, noise_variance, CONSTANT_FREE)
        return self.behind(LatentModel(sample.subspace(spectrum), gaussian, spectrum))

    def behind(self, model: LatentModel) -> LatentModel:
        """A component of features as one of the rows behind them."""
        subspace = NystroemSubspace(self.feature_map, model.subspace, self.points, self.point_features)
        return LatentModel(subspace, model.gaussian, _values_only(model.spectrum))

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


# ---------------------------------------------------------------- the EM of the mixture


@dataclass(frozen=True)
class _WeightedRows:
    """Rows with weights and the components asked of them, as the EM wants them; the state is the list of components."""

    rows: Rows
    weights: Array
    asked: tuple[int | float, ...]
    noise_variance: float
    solver: Solver | None

    @property
    def n_clusters(self) -> int:
        return len(self.asked)

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    @property
    def exact(self) -> bool:
        return self.n_clusters == 1

    @property
    def leaps(self) -> bool:
        return False

    def leapt(self, points: Sequence[tuple[Any, Array]]) -> None:
        return None

    def nonempty(self, start: Array) -> Array:
        return nonempty(start)

    def view(self, ascent: Ascent) -> Array:
        """The responsibilities where an EM ended."""
        return np.asarray(ascent.seen.details)

    def start(self, responsibilities: Array) -> tuple[list[LatentModel], Array]:
        masses = self.weights @ responsibilities
        largest = int(masses.argmax())
        # an empty component is that of the largest until it gets rows
        columns = [i if masses[i] > 0 else largest for i in range(self.n_clusters)]
        return [self._fitted(responsibilities[:, c], i, None) for i, c in enumerate(columns)], masses

    def see(self, components: list[LatentModel], mixing: Array) -> Seen:
        terms = log_terms(components, mixing, [self.rows.training(model) for model in components])
        responsibilities, values = responsibilities_of(terms)
        return Seen(float(self.weights @ values), self.weights @ responsibilities, responsibilities)

    def refit(self, seen: Seen, components: list[LatentModel]) -> list[LatentModel]:
        active = seen.masses > EMPTY * self.total
        return [
            self._fitted(seen.details[:, i], i, model) if active[i] else model for i, model in enumerate(components)
        ]

    def _fitted(self, shares: Array, which: int, before: LatentModel | None) -> LatentModel:
        """Fractions are settled on the start: a q that changed on the way could let the objective fall."""
        asked = self.asked[which]
        count = asked if before is None or isinstance(asked, int) else before.gaussian.n_components
        return self.rows.component(self.weights * shares, count, self.noise_variance, self.solver, before)

    def collapsed(self, seen: Seen, components: list[LatentModel], mixing: Array) -> list[int]:
        return np.flatnonzero(mixing == 0.0).tolist()

    def divided(self, seen: Seen, components: list[LatentModel], mixing: Array, empty: int, donor: int) -> Array:
        scores = self.rows.training(components[donor]).scores
        beyond = scores[:, 0] > 0.0 if scores.shape[1] else np.arange(self.rows.size) % 2 == 0
        return halved(seen.details, empty, donor, beyond)


def fit_kernel_mixture(
    rows: Rows,
    start: Array,
    weights: Array,
    n_components: Sequence[int | float],
    noise_variance: float,
    *,
    solver: Solver | None = None,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> MixtureFit:
    """[ZH]'s EM from starting responsibilities (N, I); the objective Σ w log Σ_i m_i exp(-L^_i/2) never falls [6]."""
    return fit_from_starts(
        rows,
        [start],
        weights,
        n_components,
        noise_variance,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        progress=progress,
    )


def fit_from_starts(
    rows: Rows,
    starts: Sequence[Array],
    weights: Array,
    n_components: Sequence[int | float],
    noise_variance: float,
    *,
    solver: Solver | None = None,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> MixtureFit:
    """The same from several starts: all run some steps, and one goes on: the first, unless another is clearly likelier."""
    weighted = _WeightedRows(rows, weights, tuple(n_components), noise_variance, solver)
    best = raced(weighted, starts, tol=tol, max_iter=max_iter, progress=progress)
    history = np.array(best.levels) / weighted.total
    return MixtureFit(best.components, best.mixing, best.seen.details, history, best.converged, best.n_rescued)


def raced(
    weighted: Any, starts: Sequence[Any], *, tol: float, max_iter: int, progress: Progress | None = None
) -> Ascent:
    """Where the best start ends, of rows as `_WeightedRows` or `SummedFeatures`."""
    race = max_iter if len(starts) == 1 else min(max_iter, RACE_STEPS)
    best: Ascent | None = None
    for start in starts:
        found = climb(weighted, weighted.nonempty(start), tol=tol, max_iter=race, progress=progress)
        if best is None or found.levels[-1] > best.levels[-1] + CLEAR_GAIN * weighted.total:
            best = found
    assert best is not None
    if not best.converged and race < max_iter:
        counts = tuple(
            q if isinstance(q, int) else m.gaussian.n_components for q, m in zip(weighted.asked, best.components)
        )
        weighted = replace(weighted, asked=counts)
        more = climb(weighted, weighted.view(best), tol=tol, max_iter=max_iter - race, progress=progress)
        best = replace(more, levels=best.levels + more.levels, n_rescued=best.n_rescued + more.n_rescued)
    return best
