"""Components of kernel mixtures: the latent Gaussian with responsibilities as sample weights, in dual or feature coordinates [6].

[ZH]'s noise lives in a space of unknown dimension D, whose constant (2πρ)^(-D/2) is the same for all components and is left out:
with D = 0 the log-density of `LatentGaussian` is exactly -L^/2, L^ = Mahalanobis + log|M| + q log(1/ρ) ([ZH] eq. 16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from gramian._arrays import Array, Kept
from gramian._content import row_hashes, smallest_positions
from gramian._precision import ROUNDING
from gramian._types import Points
from gramian.features import approximation_of
from gramian.latent.dimension import for_fraction
from gramian.latent.feature_subspace import AnchoredSubspace, NystroemSubspace
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.model import DualModel, KernelModel, LatentModel, PrimalModel
from gramian.latent.sample import DualSample, MomentSample, Sample
from gramian.latent.subspace import DualSubspace, KernelSubspace
from gramian.operators.gram import DenseGram
from gramian.operators.moments import Moments
from gramian.solvers.base import Solver
from gramian.solvers.continued import continued_pairs
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum

CONSTANT_FREE = 0.0
"""The D of components: the constant of the noise's space left out."""
DENSE_ROWS = 300
"""Components of at most so many rows are decomposed whole ..."""
DENSE_SHARE = 6
"""... and so are those whose rows are fewer than this multiple of the eigenpairs asked for."""

FeatureModel = LatentModel[NystroemSubspace | AnchoredSubspace]
Kind = TypeVar("Kind", bound=KernelSubspace)


def fit_component(
    sample: Sample[Any],
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


class KernelRows(Protocol[Kind]):
    """Training rows in memory that components are fitted to, in dual or in explicit coordinates."""

    @property
    def size(self) -> int: ...
    @property
    def mean_diagonal(self) -> float:
        """The mean k(x, x)."""
        ...

    def gram_of(self, positions: Array) -> Array:
        """K₀ of some of the rows."""
        ...

    def component(
        self,
        weights: Array,
        n_components: int | float,
        noise_variance: float,
        solver: Solver | None = None,
        before: LatentModel[Kind] | None = None,
    ) -> LatentModel[Kind]: ...
    def training(self, model: LatentModel[Kind]) -> Projection: ...


@dataclass(frozen=True)
class DualRows:
    """Rows known by one Gram matrix K₀, which all components share."""

    kernel: Any
    points: Any  # training inputs; None with a precomputed kernel
    gram: Array  # K₀
    kept: Kept = field(
        default_factory=Kept, compare=False, repr=False
    )  # the factor behind noise, one for all components

    @property
    def size(self) -> int:
        return len(self.gram)

    @property
    def mean_diagonal(self) -> float:
        return float(np.diagonal(self.gram).mean())

    def gram_of(self, positions: Array) -> Array:
        return self.gram[np.ix_(positions, positions)]

    def component(
        self,
        weights: Array,
        n_components: int | float,
        noise_variance: float,
        solver: Solver | None = None,
        before: DualModel | None = None,
    ) -> DualModel:
        """The component with these (unnormalised) weights; its axes are over all rows, zero where the weight is negligible.

        ``before`` is the component of the last step, to continue from.
        """
        kept = np.flatnonzero(weights > ROUNDING * weights.max())
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
            self.kernel,
            self.points,
            affine,
            axes,
            columns @ near.affine,
            columns @ near.axes,
            CONSTANT_FREE,
            kept=self.kept,
        )
        return LatentModel(
            subspace, LatentGaussian(spectrum.eigenvalues, noise_variance, CONSTANT_FREE), _values_only(spectrum)
        )

    def training(self, model: DualModel) -> Projection:
        """What the component sees of the training rows: no product with K₀ is left to do."""
        subspace = model.subspace
        norms = np.diagonal(self.gram) - 2 * subspace.raw_mean + subspace.mean_norm
        return Projection(subspace.point_scores(), np.maximum(norms, 0.0), CONSTANT_FREE)


@dataclass(frozen=True)
class FeatureRows:
    """Rows known by explicit features of a kernel: components are primal, and cost N r² instead of N³."""

    feature_map: Any
    features: Array  # φ̂(x), (N, r)
    points: Any  # the landmarks, or rows of smallest hash
    point_features: Array  # φ̂(points)

    @classmethod
    def of(
        cls, name: str, kernel: Any, X: Any, count: int, weights: Array | None = None, random_state: Any = None
    ) -> FeatureRows:
        """The features of that name with ``count`` landmarks (or random features), fitted to the rows of X."""
        feature_map = approximation_of(name, kernel, count, random_state).fit(X, sample_weight=weights)
        points = getattr(feature_map, "landmarks_", None)
        points = X[smallest_positions(row_hashes(X), count)] if points is None else points
        made = (np.asarray(feature_map.transform(rows), dtype=np.float64) for rows in (X, points))
        features, point_features = made
        return cls(feature_map, features, points, point_features)

    @property
    def size(self) -> int:
        return len(self.features)

    @property
    def mean_diagonal(self) -> float:
        return float(np.einsum("nr,nr->n", self.features, self.features).mean())

    def gram_of(self, positions: Array) -> Array:
        return self.features[positions] @ self.features[positions].T

    def component(
        self,
        weights: Array,
        n_components: int | float,
        noise_variance: float,
        solver: Solver | None = None,
        before: FeatureModel | None = None,
    ) -> FeatureModel:
        """The component with these (unnormalised) weights."""
        kept = np.flatnonzero(weights > ROUNDING * weights.max())
        share = weights[kept] / weights[kept].sum()
        sample = MomentSample(Moments.of(self.features[kept], share), len(kept))
        spectrum = fit_component(sample, n_components, noise_variance, solver or Eigh())
        gaussian = LatentGaussian(spectrum.eigenvalues, noise_variance, CONSTANT_FREE)
        return self.behind(LatentModel(sample.subspace(spectrum), gaussian, spectrum))

    def behind(self, model: PrimalModel) -> FeatureModel:
        """A component of features as one of the rows behind them."""
        kind = NystroemSubspace if hasattr(self.feature_map, "landmarks_") else AnchoredSubspace
        subspace = kind(self.feature_map, model.subspace, self.points, self.point_features)
        return LatentModel(subspace, model.gaussian, _values_only(model.spectrum))

    def training(self, model: FeatureModel) -> Projection:
        """What the component sees of the training rows."""
        return model.subspace.primal.project(self.features)


def _values_only(spectrum: Spectrum) -> Spectrum:
    """The subspace holds the axes already; a mixture need not keep them twice."""
    return Spectrum(
        spectrum.eigenvalues, np.empty((0, len(spectrum.eigenvalues))), spectrum.trace, spectrum.residual_norm
    )


# ---------------------------------------------------------------- all components of new rows


def project_rows(models: Sequence[KernelModel], X: Points, diagonal: Array | None = None) -> list[Projection]:
    """What each component sees of the rows of X; kernel values (or features) are computed once for all of them.

    ``diagonal`` is k(y, y) of the rows, which a precomputed kernel cannot know: see `least_diagonal`.
    """
    first, *others = (model.subspace for model in models)
    return first.project_with(others, X, diagonal)


def least_diagonal(models: Sequence[DualModel], X: Points) -> Array:
    """The least k(y, y) for which no component sees more than there is of a row.

    The true value of a precomputed kernel is not known, but it is the same for all components, and cancels between them.
    """
    first, *others = (model.subspace for model in models)
    parts = first.scores_and_gaps(others, X)
    return np.max([np.einsum("nq,nq->n", scores, scores) - gap for scores, gap in parts], axis=0)
