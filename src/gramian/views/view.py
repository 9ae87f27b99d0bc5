"""Views: several descriptions of the same rows as one concatenated feature point, φ = [φ₁; ...; φ_V] [8].

A view is scaled by c = √β/σ (its weight and its noise), and then all of `LatentGaussian` applies: seeing only the views o is
the overlap G = Σ_{v ∈ o} UᵥᵀUᵥ, and there is no second Gaussian.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy.linalg import lapack

from gramian._arrays import Array, symmetric_part
from gramian._checks import check_finite, check_same_rows, check_scale
from gramian._content import row_hashes, smallest_positions
from gramian._precision import ROUNDING
from gramian.latent.feature_subspace import AnchoredSubspace, MappedSubspace, RandomFeatureSubspace
from gramian.latent.subspace import DualSubspace, PrimalSubspace, Subspace
from gramian.operators.base import SelfAdjoint
from gramian.operators.centering import Centering
from gramian.operators.covariance import FactoredCovariance, Stored
from gramian.operators.gram import CenteredGram, DenseGram, LazyGram, RawGram, SumGram
from gramian.policy import LOOK, SIZES
from gramian.solvers.spectrum import Spectrum, positive_signs
from gramian.views.stack import stack_views
from gramian.views.subspace import ViewPart, ViewSubspace, with_trust

__all__ = [
    "ExplicitView",
    "FactoredView",
    "KernelView",
    "View",
    "ViewPart",
    "ViewSample",
    "ViewSubspace",
    "ViewTable",
    "check_same_rows",
    "factor_views",
    "rotate",
    "stack_views",
    "unrotation",
    "with_trust",
]


# ---------------------------------------------------------------- training rows


@dataclass(frozen=True)
class ExplicitView:
    """A view with explicit features; ``feature_map`` is None where they are the inputs themselves (a linear view)."""

    features: Annotated[Array, "~ n r"]
    feature_map: Annotated[Any, "maybe map"] = None
    points: Any = None  # the inputs behind a feature map, for pre-images; None where the map inverts itself

    positive_semidefinite = True

    @property
    def n_rows(self) -> int:
        return int(self.features.shape[0])

    def dim(self, total_weight: float) -> float:
        """D, the dimension that the noise of this view lives in."""
        return float(self.features.shape[1])

    def take(self, rows: Array) -> ExplicitView:
        """The same for some of the rows."""
        return replace(self, features=self.features[rows], points=None if self.points is None else self.points[rows])

    @property
    def anchors(self) -> ExplicitView:
        """The rows that inputs are found over: all, or of many the distinct ones of smallest hash."""
        if not self.anchored:
            return self
        return self.take(smallest_positions(row_hashes(self.points), LOOK.rows))

    @property
    def anchored(self) -> bool:
        """Whether the way back to inputs goes by some of the rows."""
        return self.points is not None and self.n_rows > LOOK.rows

    def mean(self, weights: Array) -> Array:
        """Σ s x, from a point of the data on, so that a large offset costs no digits."""
        shift = self.features[0]
        return shift + weights @ (self.features - shift)

    def gram(self, weights: Array) -> RawGram:
        """The Gram matrix of the centred features, stored where it may be."""
        centred = self.features - self.mean(weights)
        if self.n_rows <= SIZES.stored:
            return DenseGram(centred @ centred.T)
        from gramian.kernels import Linear

        return LazyGram(Linear(), centred)

    def subspace(self, coefficients: Array, affine: Array) -> Subspace:
        """μ = Φᵀ affine and U = Φᵀ coefficients, in feature coordinates."""
        shift = self.features[0]
        total = float(affine.sum())
        mean = total * shift + affine @ (self.features - shift)
        axes = (self.features - shift).T @ coefficients + np.outer(shift, coefficients.sum(axis=0))
        return self.with_axes(mean, np.ascontiguousarray(axes.T), coefficients, affine)

    def with_axes(self, mean: Array, components: Array, coefficients: Array, affine: Array) -> Subspace:
        """The subspace of axes that are already known in feature coordinates."""
        primal = PrimalSubspace(mean, components)
        if self.feature_map is None:
            return primal
        if self.points is None:
            return MappedSubspace(self.feature_map, primal)
        if self.anchored:
            return self.anchors.anchored_axes(primal)
        return RandomFeatureSubspace(self.feature_map, primal, self.points, self.features, affine, coefficients)

    def anchored_axes(self, primal: PrimalSubspace) -> AnchoredSubspace:
        """Axes in feature coordinates, whose points are told by weights over these rows."""
        return AnchoredSubspace(self.feature_map, primal, self.points, self.features)


@dataclass(frozen=True)
class FactoredView(ExplicitView):
    """A kernel view as features F with FFᵀ = K₀ to rounding, for decompositions that repeat; its noise lives in N dimensions."""

    def dim(self, total_weight: float) -> float:
        """D = N, as for the kernel."""
        return float(total_weight)


@dataclass(frozen=True)
class KernelView:
    """A view known through its kernel only."""

    kernel: Annotated[Any, "Kernel"]
    points: Any  # None: precomputed
    raw: Annotated[RawGram, "object"]

    @property
    def positive_semidefinite(self) -> bool:
        return bool(self.kernel.positive_semidefinite)

    @property
    def n_rows(self) -> int:
        return self.raw.size

    def dim(self, total_weight: float) -> float:
        """D = N, the number of rows (with raw weights, their sum)."""
        return float(total_weight)

    @property
    def anchors(self) -> KernelView:
        return self

    def take(self, rows: Array) -> KernelView:
        """The same for some of the rows."""
        points = None if self.points is None else self.points[rows]
        return KernelView(self.kernel, points, DenseGram(self.raw.columns(rows, rows=rows)))

    def gram(self, weights: Array) -> RawGram:
        return self.raw

    def subspace(self, coefficients: Array, affine: Array) -> DualSubspace:
        """μ = Φ affine and U = Φ coefficients, over the training points."""
        products = self.raw @ np.column_stack([coefficients, affine])
        return DualSubspace(
            self.kernel,
            self.points,
            affine,
            np.ascontiguousarray(coefficients),
            np.ascontiguousarray(products[:, -1]),
            np.ascontiguousarray(products[:, :-1]),
            float(self.n_rows),
        )


View = ExplicitView | KernelView


@dataclass(frozen=True)
class ViewTable:
    """Complete training rows of all views, with what every fit on them shares: Gram matrices, means, traces."""

    views: tuple[View, ...]
    weights: Array  # normalised
    total_weight: float

    @property
    def n_rows(self) -> int:
        return len(self.weights)

    @cached_property
    def centering(self) -> Centering:
        return Centering(self.weights)

    @cached_property
    def grams(self) -> tuple[CenteredGram, ...]:
        """K_v = JᵀK₀ᵥJ, one per view."""
        return tuple(CenteredGram(view.gram(self.weights), self.centering) for view in self.views)

    @cached_property
    def explicit(self) -> bool:
        return all(isinstance(view, ExplicitView) for view in self.views)

    @cached_property
    def centred(self) -> tuple[Array | None, ...]:
        """√s (φ - μ) of the explicit views, one row per point."""
        root = np.sqrt(self.weights)[:, None]
        return tuple(
            root * (view.features - view.mean(self.weights)) if isinstance(view, ExplicitView) else None
            for view in self.views
        )

    @cached_property
    def covariance(self) -> Array:
        """C of the unscaled concatenation; explicit views only."""
        return self.stacked.T @ self.stacked

    @property
    def stacked(self) -> Array:
        """√s (φ - μ) of all views side by side; explicit views only."""
        return np.hstack([block for block in self.centred if block is not None])

    @cached_property
    def dims(self) -> Array:
        """D_v, one per view."""
        return np.array([view.dim(self.total_weight) for view in self.views])

    @cached_property
    def widths(self) -> list[int]:
        """Explicit dimensions, one per view (0 where there is none)."""
        return [view.features.shape[1] if isinstance(view, ExplicitView) else 0 for view in self.views]

    @cached_property
    def traces(self) -> Array:
        """tr K_v, the variance of each view."""
        values = [
            float(np.einsum("ij,ij->", block, block)) if block is not None else self.grams[v].trace()
            for v, block in enumerate(self.centred)
        ]
        traces = np.maximum(check_finite(np.array(values), "variances of the views"), 0.0)
        check_scale(float(np.sqrt(traces.max(initial=0.0))))
        # rounding of a constant view's mean, or of the products of a kernel, is no variance
        rounding = 64 * np.finfo(float).eps
        floors = [
            (rounding if isinstance(view, ExplicitView) else np.sqrt(rounding)) * _magnitude(view)
            for view in self.views
        ]
        return np.where(traces > np.square(floors), traces, 0.0)

    def sample(self, scales: Array, space: str) -> ViewSample:
        """The views so scaled, in primal or in dual coordinates."""
        return ViewSample(self, scales, space)

    def take(self, rows: Array) -> ViewTable:
        """The same for some of the rows."""
        weights = self.weights[rows]
        share = float(weights.sum())
        return ViewTable(tuple(view.take(rows) for view in self.views), weights / share, self.total_weight * share)


def factor_views(table: ViewTable) -> ViewTable | None:
    """The same rows with kernel views as features of their numerical rank; None where that would save little.

    A pivoted Cholesky factorisation costs a small part of one eigendecomposition, and all later ones are then of the rank.
    """
    n = len(table.weights)
    views: list[View] = []
    for view in table.views:
        if isinstance(view, ExplicitView):
            views.append(view)
            continue
        if not view.positive_semidefinite or not isinstance(view.raw, DenseGram):
            return None
        gram = view.raw.to_dense()
        tol = 32 * float(np.finfo(float).eps) * float(gram.diagonal().max(initial=0.0))
        some = n // 2 + 1
        if lapack.dpstrf(gram[:some, :some], tol=tol, lower=1)[2] == some:  # an eighth of the work says no
            return None
        lower, pivots, rank, _ = lapack.dpstrf(gram, tol=tol, lower=1)
        features = np.zeros((n, rank))
        features[pivots - 1] = np.tril(lower)[:, :rank]
        views.append(FactoredView(features))
    width = sum(view.features.shape[1] for view in views if isinstance(view, ExplicitView))
    return ViewTable(tuple(views), table.weights, table.total_weight) if 2 * width <= n else None


def _magnitude(view: View) -> float:
    if isinstance(view, ExplicitView):
        return float(np.abs(view.features).max(initial=0.0)) * np.sqrt(view.features.shape[1])
    return float(np.sqrt(np.abs(view.raw.diagonal()).max(initial=0.0)))


@dataclass(frozen=True)
class ViewSample:
    """A `ViewTable` with one scale per view, to be decomposed in primal or in dual coordinates: a `Sample` [8]."""

    table: ViewTable
    scales: Array  # c_v = √β_v / σ_v
    space: str  # "primal" or "dual"

    @property
    def dim(self) -> float:
        return float(self.table.dims.sum())

    @property
    def max_components(self) -> int:
        most = self.table.n_rows - 1
        return min(most, sum(self.table.widths)) if self.table.explicit else most

    @property
    def rank_tol(self) -> float:
        if not self.table.explicit or any(isinstance(view, FactoredView) for view in self.table.views):
            return ROUNDING
        rows = min(self.table.n_rows, LOOK.drawn)
        return 8 * max(rows, sum(self.table.widths)) * float(np.finfo(float).eps)

    @property
    def rank_floor(self) -> float:
        return 0.0

    @property
    def positive_semidefinite(self) -> bool:
        return all(view.positive_semidefinite for view in self.table.views)

    @cached_property
    def _operator(self) -> SelfAdjoint:
        table = self.table
        if self.space == "dual":
            raw = SumGram([gram.raw for gram in table.grams], [float(c) ** 2 for c in self.scales])
            return CenteredGram(raw, table.centering)
        columns = np.repeat(self.scales, table.widths)
        if len(columns) <= SIZES.stored:
            return Stored(table.covariance * np.outer(columns, columns))
        uniform = np.full(len(table.weights), 1.0)  # the rows carry √s already
        return FactoredCovariance(table.stacked * columns, Centering(uniform, center=False), "primal")

    def operator(self) -> SelfAdjoint:
        return self._operator

    def latents(self, spectrum: Spectrum) -> Array:
        """H, the dual eigenvectors (HᵀH = I), in either space: H = √s (φ - μ)ᵀ U L^-½."""
        vectors = rotate(spectrum)
        if self.space == "dual":
            return vectors
        columns = np.repeat(self.scales, self.table.widths)
        return (self.table.stacked @ (columns[:, None] * vectors)) / np.sqrt(spectrum.eigenvalues)

    def subspace(self, spectrum: Spectrum, latents: Array | None = None) -> ViewSubspace:
        """The axes of every view; signs make the largest |entry| of each column of H positive. ``latents`` where they are there already."""
        latents = self.latents(spectrum) if latents is None else latents
        signs = positive_signs(latents)
        # row order: what a model file gives back is row-ordered too, and products then round alike
        coefficients = self.table.centering.apply(np.ascontiguousarray(latents * signs)) / np.sqrt(spectrum.eigenvalues)
        axes = rotate(spectrum) * signs if self.space == "primal" else None
        stops = np.cumsum([0, *self.table.widths])
        parts = []
        for i, view in enumerate(self.table.views):
            scale = float(self.scales[i])
            if axes is not None and isinstance(view, ExplicitView):
                components = np.ascontiguousarray(axes[stops[i] : stops[i + 1]].T)
                mean = view.mean(self.table.weights)
                subspace = view.with_axes(mean, components, scale * coefficients, self.table.weights)
            else:
                subspace = view.subspace(scale * coefficients, self.table.weights)
            parts.append(ViewPart.of(subspace, scale, float(self.table.dims[i])))
        return ViewSubspace(tuple(parts))


def rotate(spectrum: Spectrum) -> Array:
    """The eigenvectors, also where a Stiefel frame A came unrotated: A O with Γ = O Λ Oᵀ."""
    if spectrum.gamma is None:
        return spectrum.eigenvectors
    rotation = np.linalg.eigh(symmetric_part(spectrum.gamma))[1]
    return spectrum.eigenvectors @ rotation[:, ::-1]


def unrotation(spectrum: Spectrum, latents: Array) -> Array | None:
    """R with H' = H R, from the rotated, signed latents H to those of the frame as Cayley-Adam left it; None if rotated."""
    if spectrum.gamma is None:
        return None
    rotation = np.linalg.eigh(symmetric_part(spectrum.gamma))[1][:, ::-1]
    turned = positive_signs(latents)[:, None] * rotation.T
    return turned * positive_signs(latents * positive_signs(latents) @ turned)
