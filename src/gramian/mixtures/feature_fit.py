"""Mixtures of kernel PPCA on explicit features of rows that are only summed over: batches, Dask [6, 13].

The EM of `mixture` in sums over blocks: a pass is one E-step, with the weighted moments of every component that the M-step needs.
Responsibilities stay in their block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import row_hashes
from gramian._precision import ROUNDING, SEEN
from gramian.features.base import FeatureMap
from gramian.latent.gaussian import LatentGaussian
from gramian.latent.model import LatentModel, PrimalModel
from gramian.latent.sample import MomentSample
from gramian.mixtures.kernel_component import CONSTANT_FREE, fit_component
from gramian.mixtures.kernel_fit import ComponentsAsked
from gramian.mixtures.kernel_kmeans import nearest_points
from gramian.mixtures.mixture import Ascent, Seen, halve, log_terms, responsibilities_of
from gramian.mixtures.rows import Responsibilities
from gramian.mixtures.start import WithEveryone
from gramian.operators.moments import Moments
from gramian.rows import Block, Rows
from gramian.rows.draws import FoldMoments
from gramian.solvers.eigh import Eigh


def block_features(block: Block, feature_map: FeatureMap) -> Array:
    """φ̂(x) of a block: the task of ``rows.prepare``."""
    return np.asarray(feature_map.transform(block.X), dtype=np.float64)


@dataclass(frozen=True)
class OfNearestPoint:
    """Each row belongs where the landmark nearest to it in feature space does."""

    point_features: Array  # (m, r)
    shares: Array  # of the landmarks, (m, K)

    def __call__(self, block: Block) -> Array:
        return self.shares[nearest_points(block.prepared, self.point_features)]


@dataclass(frozen=True)
class OfComponents:
    """Responsibilities by fitted components, whose subspaces are of features."""

    components: tuple[PrimalModel, ...]
    mixing: Array

    def terms(self, block: Block) -> Array:
        seen = [model.subspace.project(block.prepared) for model in self.components]
        return log_terms(self.components, self.mixing, seen)

    def __call__(self, block: Block) -> Array:
        return responsibilities_of(self.terms(block))[0]


@dataclass(frozen=True)
class Halved:
    """Responsibilities after the rescue of ``empty``: it has the rows of ``donor`` beyond its mean along its first axis."""

    before: OfComponents
    empty: int
    donor: int

    def __call__(self, block: Block) -> Array:
        scores = self.before.components[self.donor].subspace.project(block.prepared).scores
        beyond = scores[:, 0] > 0.0 if scores.shape[1] else row_hashes(block.X) % np.uint64(2) == 0
        return halve(self.before(block), self.empty, self.donor, beyond)


@dataclass(frozen=True)
class ComponentSums:
    """What a pass finds: the weighted log-likelihood, and of each component its weight, number of rows and moments; adds up."""

    level: float
    masses: Array  # (K,)
    counts: Array  # (K,)
    moments: FoldMoments

    def __add__(self, other: ComponentSums) -> ComponentSums:
        return ComponentSums(
            self.level + other.level,
            self.masses + other.masses,
            self.counts + other.counts,
            self.moments + other.moments,
        )


def sums_of_start(block: Block, start: Responsibilities) -> ComponentSums:
    return _sums(block, start(block), 0.0)


def sums_of_step(block: Block, view: OfComponents) -> ComponentSums:
    shares, values = responsibilities_of(view.terms(block))
    return _sums(block, shares, float(block.weights @ values))


def _sums(block: Block, shares: Array, level: float) -> ComponentSums:
    parts: list[Moments | None] = []
    for share in shares.T:
        mine = np.flatnonzero(share > ROUNDING)
        parts.append(Moments.of(block.prepared[mine], (block.weights * share)[mine]) if len(mine) else None)
    return ComponentSums(level, block.weights @ shares, (shares > ROUNDING).sum(axis=0), FoldMoments(tuple(parts)))


@dataclass(frozen=True)
class SummedFeatures(ComponentsAsked):
    """Rows whose blocks carry their features, as the EM wants them."""

    rows: Rows
    total: float

    def nonempty(self, start: Responsibilities) -> Responsibilities:
        """The start, or one in which everyone has a share of every row where a component would be empty."""
        masses = self.rows.fold(sums_of_start, start).masses
        return WithEveryone(start) if (masses <= SEEN * self.total).any() else start

    def start(self, responsibilities: Responsibilities) -> tuple[tuple[PrimalModel, ...], Array]:
        sums = self.rows.fold(sums_of_start, responsibilities)
        sources = self.sources(sums.masses)
        return tuple(self._fitted(sums, c, count) for c, count in zip(sources, self.asked)), sums.masses

    def see(self, components: tuple[PrimalModel, ...], mixing: Array) -> Seen:
        sums = self.rows.fold(sums_of_step, OfComponents(components, mixing))
        return Seen(sums.level, sums.masses, sums)

    def refit(self, seen: Seen, components: tuple[PrimalModel, ...]) -> tuple[PrimalModel, ...]:
        active = seen.masses > SEEN * self.total
        counts = self.settled(components).asked
        return tuple(
            self._fitted(seen.details, i, counts[i]) if active[i] else model for i, model in enumerate(components)
        )

    def _fitted(self, sums: ComponentSums, which: int, count: int | float) -> PrimalModel:
        moments = sums.moments.parts[which]
        assert moments is not None
        sample = MomentSample(moments, int(sums.counts[which]))
        spectrum = fit_component(sample, count, self.noise_variance, self.solver or Eigh())
        gaussian = LatentGaussian(spectrum.eigenvalues, self.noise_variance, CONSTANT_FREE)
        return LatentModel(sample.subspace(spectrum), gaussian, spectrum)

    def divided(self, seen: Seen, components: Any, mixing: Array, empty: int, donor: int) -> Halved:
        return Halved(OfComponents(components, mixing), empty, donor)

    def view(self, ascent: Ascent) -> OfComponents:
        """The responsibilities where an EM ended."""
        return OfComponents(ascent.components, ascent.mixing)
