"""Explicit views known by their moments alone: what a fit on them needs of the rows is a sum, wherever the rows live [8, 13]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from gramian._arrays import Array, row_chunks
from gramian._checks import check_finite, check_scale
from gramian._content import Folds, SmallestRows, row_hashes
from gramian.latent.feature_subspace import MappedSubspace, RandomFeatureSubspace
from gramian.latent.subspace import PrimalSubspace
from gramian.operators.moments import Moments
from gramian.policy import LOOK, SIZES
from gramian.rows import Block
from gramian.rows.draws import FoldMoments
from gramian.solvers.spectrum import Spectrum
from gramian.views.subspace import ViewPart, ViewSubspace
from gramian.views.view import ExplicitView, ViewSample, rotate


@dataclass(frozen=True)
class FeatureSums:
    """The moments of explicit features, fold by fold, and the largest magnitude of each; merges with ``+``."""

    folds: FoldMoments
    largest: Array
    n_rows: int

    def __add__(self, other: FeatureSums) -> FeatureSums:
        return FeatureSums(
            self.folds + other.folds, np.maximum(self.largest, other.largest), self.n_rows + other.n_rows
        )


def feature_sums(
    block: Block,
    features: Callable[[Block], Array],
    folds: Folds,
    width: int,
    hashed: Array | None = None,
) -> FeatureSums:
    """The sums of a block, a piece at a time: a task for `Rows.fold`. Without folds all rows are in one.

    ``hashed`` names the columns that folds go by, in their order; None: as they are.
    """
    total: FeatureSums | None = None
    for part in row_chunks(len(block), max(256, SIZES.chunk // (8 * max(1, width)))):
        target = None if block.target is None else block.target[part]
        piece = Block(block.X[part], block.weights[part], target)
        made = check_finite(features(piece), "features")
        fold = (
            folds.assign(row_hashes(piece.X if hashed is None else piece.X[:, hashed]))
            if folds
            else np.zeros(len(piece), dtype=np.intp)
        )
        parts = []
        for index in range(max(folds.n_folds, 1)):
            mine = np.flatnonzero(fold == index)
            parts.append(Moments.of(made[mine], piece.weights[mine]) if len(mine) else None)
        found = FeatureSums(FoldMoments(tuple(parts)), np.abs(made).max(axis=0, initial=0.0), len(piece))
        total = found if total is None else total + found
    return total or FeatureSums(FoldMoments((None,) * max(folds.n_folds, 1)), np.zeros(width), 0)


@dataclass(frozen=True)
class StackedViews:
    """All views of a block side by side, behind their feature maps; NaN where a row does not show one."""

    columns: tuple[Array, ...]
    maps: tuple[Any, ...]  # None: the inputs themselves

    def __call__(self, block: Block) -> Array:
        return np.hstack([self.view(block.X, v) for v in range(len(self.columns))])

    def view(self, X: Array, v: int) -> Array:
        """The features of one view."""
        return self.of_inputs(np.asarray(X[:, self.columns[v]], dtype=np.float64), v)

    def of_inputs(self, inputs: Array, v: int) -> Array:
        """The features of inputs of one view."""
        feature_map = self.maps[v]
        if feature_map is None:
            return inputs
        shown = ~np.isnan(inputs).any(axis=1)
        if shown.all() and len(inputs):
            return np.asarray(feature_map.transform(inputs), dtype=np.float64)
        made = np.asarray(feature_map.transform(inputs[shown] if shown.any() else np.zeros((1, inputs.shape[1]))))
        features = np.full((len(inputs), made.shape[1]), np.nan)
        features[shown] = made[: int(shown.sum())]
        return features


@dataclass(frozen=True)
class FarthestScores:
    """The least and the greatest √w t of each component; merges with ``+``."""

    low: Array
    high: Array

    @classmethod
    def of(cls, scores: Array) -> FarthestScores:
        """Of some rows, or none."""
        return cls(scores.min(axis=0, initial=np.inf), scores.max(axis=0, initial=-np.inf))

    def __add__(self, other: FarthestScores) -> FarthestScores:
        return FarthestScores(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def signs(self) -> Array:
        """Those that make the score farthest from 0 positive."""
        return np.where(self.high >= -self.low, 1.0, -1.0)


def farthest_scores(block: Block, features: StackedViews, axes: Array, mean: Array) -> FarthestScores:
    """Of a block: a task for `Rows.fold`."""
    return FarthestScores.of(np.sqrt(block.weights)[:, None] * ((features(block) - mean) @ axes))


@dataclass(frozen=True)
class MomentView:
    """One view: its columns among all features, and the map behind them (None: the inputs themselves)."""

    columns: slice
    feature_map: Any = None
    anchors: ExplicitView | None = None  # the rows that inputs are found over, where the map has no inverse

    positive_semidefinite = True

    @property
    def points(self) -> Any:
        return None if self.anchors is None else self.anchors.points

    @property
    def width(self) -> int:
        return int(self.columns.stop - self.columns.start)

    def with_axes(self, mean: Array, components: Array) -> Any:
        """The subspace of axes in feature coordinates; no training rows are kept behind it."""
        primal = PrimalSubspace(mean, components)
        if self.feature_map is None:
            return primal
        if callable(getattr(self.feature_map, "inverse_transform", None)):
            return MappedSubspace(self.feature_map, primal)
        if self.anchors is not None:
            return self.anchors.anchored_axes(primal)
        q, width = components.shape
        nothing = np.empty((0, self.feature_map.n_features_in_))
        return RandomFeatureSubspace(
            self.feature_map, primal, nothing, np.empty((0, width)), np.empty(0), np.empty((0, q))
        )


def moment_views(maps: Sequence[Any], made: Sequence[Array], drawn: Sequence[SmallestRows]) -> tuple[MomentView, ...]:
    """Views side by side, behind their maps; ``made`` are features of some rows, ``drawn`` the rows drawn for each view."""
    ends = np.cumsum([0, *(part.shape[1] for part in made)])
    views = []
    for (start, stop), feature_map, few in zip(pairwise(ends), maps, drawn):
        anchors = None
        if feature_map is not None and not callable(getattr(feature_map, "inverse_transform", None)):
            points = np.asarray(few.rows[: LOOK.rows], dtype=np.float64)
            anchors = ExplicitView(np.asarray(feature_map.transform(points), dtype=np.float64), feature_map, points)
        views.append(MomentView(slice(int(start), int(stop)), feature_map, anchors))
    return tuple(views)


@dataclass(frozen=True)
class MomentTable:
    """As `ViewTable`, from sums over rows: all views side by side in one set of moments."""

    views: tuple[MomentView, ...]
    sums: FeatureSums
    signs: Callable[[Array, Array], Array]  # of axes (columns), given them and the mean

    explicit = True

    @cached_property
    def moments(self) -> Moments:
        return self.sums.folds.total

    @property
    def n_rows(self) -> int:
        return self.sums.n_rows

    @property
    def total_weight(self) -> float:
        return self.moments.weight

    @cached_property
    def widths(self) -> list[int]:
        """Features, one number per view."""
        return [view.width for view in self.views]

    @cached_property
    def dims(self) -> Array:
        """D_v, one per view."""
        return np.array(self.widths, dtype=np.float64)

    @cached_property
    def covariance(self) -> Array:
        """C of the unscaled concatenation."""
        return self.moments.covariance()

    @cached_property
    def traces(self) -> Array:
        """The variance of each view; rounding of a constant one is none."""
        spreads = np.diagonal(self.covariance)
        values = np.array([float(spreads[view.columns].sum()) for view in self.views])
        traces = np.maximum(check_finite(values, "variances of the views"), 0.0)
        check_scale(float(np.sqrt(traces.max(initial=0.0))))
        largest = [float(self.sums.largest[view.columns].max(initial=0.0)) * np.sqrt(view.width) for view in self.views]
        return np.where(traces > (64 * np.finfo(float).eps * np.array(largest)) ** 2, traces, 0.0)

    def sample(self, scales: Array, space: str) -> MomentViewSample:
        """The views so scaled."""
        return MomentViewSample(self, scales, space)  # type: ignore[arg-type]


@dataclass(frozen=True)
class MomentViewSample(ViewSample):
    """A `MomentTable` with a scale per view: a `Sample` in primal coordinates."""

    def latents(self, spectrum: Spectrum) -> Array:
        """None are kept: rows are only summed over."""
        return np.empty((0, len(spectrum.eigenvalues)))

    def subspace(self, spectrum: Spectrum, latents: Array | None = None) -> ViewSubspace:
        """The axes of every view."""
        table: Any = self.table
        axes = rotate(spectrum)
        columns = np.repeat(self.scales, table.widths)
        mean = table.moments.mean
        axes = axes * table.signs(columns[:, None] * axes, mean)
        parts = []
        for view, scale, dim in zip(table.views, self.scales, table.dims):
            components = np.ascontiguousarray(axes[view.columns].T)
            parts.append(ViewPart.of(view.with_axes(mean[view.columns], components), float(scale), float(dim)))
        return ViewSubspace(tuple(parts))
