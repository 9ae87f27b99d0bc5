"""Subspaces of explicit features, behind the map that makes them.

`MappedSubspace` keeps no rows: its map inverts itself. The others know their points as weights over some rows (landmarks, anchors, training
rows), as the dual does, so that pre-images and kernel-space methods need not know the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Self

import numpy as np

from gramian._arrays import Array, Kept
from gramian._checks import check_finite
from gramian._types import Points
from gramian.latent.gaussian import Projection
from gramian.latent.noise_field import UnitNoise
from gramian.latent.subspace import PrimalSubspace


@dataclass(frozen=True)
class MappedSubspace:
    """A primal subspace behind a feature map that inverts itself: no training rows are kept."""

    feature_map: Annotated[Any, "map"]
    primal: Annotated[PrimalSubspace, "its r=d q"]

    @property
    def kernel(self) -> None:
        return None

    @property
    def sees_entries(self) -> bool:
        return False

    @property
    def takes_kernel_values(self) -> bool:
        return False

    def features(self, X: Points) -> Array:
        """φ̂(x), finite, in float64."""
        return check_finite(np.asarray(self.feature_map.transform(X), dtype=np.float64), "features")

    def project(self, X: Points, diagonal: Array | None = None) -> Projection:
        """Scores and squared norm of φ̂(x): the model lives in the space of the features."""
        return self.primal.project(self.features(X))

    def embed(self, scores: Array) -> Array:
        """μ + U t, in features."""
        return self.primal.embed(scores)

    def coordinates(self, scores: Array) -> Array:
        """μ + U t, in features."""
        return self.primal.embed(scores)

    def inputs(self, scores: Array) -> Array | None:
        """By the map's own inverse."""
        return np.asarray(self.feature_map.inverse_transform(self.primal.embed(scores)), dtype=np.float64)

    def overlap(self) -> Array:
        """UᵀU."""
        return self.primal.overlap()

    def loadings(self, gains: Array) -> Array:
        """W = U diag(gains) in features."""
        return self.primal.loadings(gains)

    def take(self, n_components: int) -> Self:
        """The same with the first axes only."""
        return replace(self, primal=self.primal.take(n_components))

    def without_map(self) -> PrimalSubspace:
        """The axes in features."""
        return self.primal

    def without_rows(self) -> Self:
        """Projections need what is kept."""
        return self


@dataclass(frozen=True)
class FeatureSubspace(MappedSubspace):
    """A subspace of features whose points are weights over some rows, ``points``."""

    points: Annotated[Any, "maybe ~ m *"]
    point_features: Annotated[Array, "m r"]  # φ̂(points)

    @property
    def size(self) -> int:
        return int(self.point_features.shape[0])

    @property
    def gram(self) -> None:
        return None

    @property
    def spans_kernel_space(self) -> bool:
        return False

    def project_with(self, others: Sequence[Self], X: Points, diagonal: Array | None = None) -> list[Projection]:
        """The same by several subspaces behind the same map."""
        features = self.features(X)
        return [subspace.primal.project(features) for subspace in [self, *others]]

    def inputs(self, scores: Array) -> Array | None:
        """Only a pre-image leads back."""
        return None

    def embed(self, scores: Array) -> Array:
        """Weights γ over the points with Φγ = μ + Ut."""
        return self.noise_weights(self.primal.embed(scores))

    def kernel_values(self, scores: Array) -> Array:
        """<φ̂(points), μ + Ut>."""
        return self.primal.embed(scores) @ self.point_features.T

    def point_scores(self) -> Array:
        """The scores of the points."""
        return self.primal.project(self.point_features).scores

    def center_rows(self, X: Points) -> Array:
        """<φ̂(pointᵢ) - μ, φ̂(y) - μ>."""
        return (np.asarray(self.feature_map.transform(X)) - self.primal.mean) @ self.centred_points().T

    def center_scores(self, scores: Array) -> Array:
        """<φ̂(pointᵢ) - μ, U t>."""
        return scores @ self.primal.components @ self.centred_points().T

    def unit_noise(self, n_draws: int, rng: np.random.Generator) -> UnitNoise:
        """Unit noise drawn in R^r: no N³ [3]."""
        noise = rng.standard_normal((n_draws, self.point_features.shape[1]))
        values, centred = noise @ self.point_features.T, noise @ self.centred_points().T
        return UnitNoise(lambda: self.noise_weights(noise), values, centred, noise @ self.primal.components.T)

    def noise_weights(self, noise: Array) -> Array:
        """Weights over the points of a vector of R^r."""
        raise TypeError(f"{type(self).__name__} does not say how to weight its points.")

    def centred_points(self) -> Array:
        """φ̂(points) - μ."""
        return self.point_features - self.primal.mean


@dataclass(frozen=True)
class NystroemSubspace(FeatureSubspace):
    """Features k_m(x) K_mm^-½: every feature point is an affine-free combination of the m landmarks."""

    @property
    def spans_kernel_space(self) -> bool:
        return True

    def noise_weights(self, noise: Array) -> Array:
        """Weights over the landmarks of a vector of R^r."""
        return np.asarray(self.feature_map.landmark_weights(noise))


@dataclass(frozen=True)
class AnchoredSubspace(FeatureSubspace):
    """Any explicit features: points are told by weights over a few anchors, the nearest in the least-squares sense."""

    kept: Kept = field(default_factory=Kept, compare=False, repr=False)

    @property
    def _inverse(self) -> Array:
        """(r, m): from R^r to weights over the anchors."""
        return self.kept.get("inverse", lambda: np.linalg.pinv(self.point_features, rcond=1e-10))

    def embed(self, scores: Array) -> Array:
        """Weights γ over the anchors with Φγ = μ + Ut: the axes are turned into weights, not every point."""
        return scores @ (self.primal.components @ self._inverse) + self.primal.mean @ self._inverse

    def noise_weights(self, noise: Array) -> Array:
        """Weights over the anchors of a vector of R^r, by least squares."""
        return noise @ self._inverse


@dataclass(frozen=True)
class RandomFeatureSubspace(FeatureSubspace):
    """Random features: points are decoded over the training rows through the bridge axes = J V L^-½ [1]."""

    affine: Annotated[Array, "m"]
    axes: Annotated[Array, "m q"]

    def embed(self, scores: Array) -> Array:
        """Affine weights γ over the training rows."""
        return scores @ self.axes.T + self.affine

    def noise_weights(self, noise: Array) -> Array:
        """Weights over the training rows of a vector of R^r, by least squares."""
        return np.linalg.lstsq(self.point_features.T, noise.T, rcond=1e-10)[0].T

    def take(self, n_components: int) -> RandomFeatureSubspace:
        """The same with the first axes only."""
        return replace(self, primal=self.primal.take(n_components), axes=self.axes[:, :n_components])

    def without_rows(self) -> RandomFeatureSubspace:
        """The same without the training rows, which only pre-images need."""
        return replace(
            self,
            points=self.points[:0],
            point_features=self.point_features[:0],
            affine=self.affine[:0],
            axes=self.axes[:0],
        )
