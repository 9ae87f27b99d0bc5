"""Views with holes from rows that are only summed over: the EM of holes, and the model it leads to [5, 8, 13]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.latent.masked_em import Parameters, row_posterior
from gramian.latent.masked_table import ColumnSums, column_sums, masked_chunk
from gramian.latent.missing import fit_missing
from gramian.latent.subspace import Subspace
from gramian.operators.moments import Moments
from gramian.rows import Block, Rows
from gramian.rows.converted import ConvertedRows, LaterBlock
from gramian.views.missing import CanonicalAxes, components_of_fraction, power_of_two, view_units
from gramian.views.moments import FarthestScores, MomentView, StackedViews
from gramian.views.noise import NoiseFit


@dataclass(frozen=True)
class ScaledViews:
    """All views of a block side by side, each in its own units."""

    features: StackedViews
    scales: Array  # one per column

    def __call__(self, block: Block) -> LaterBlock:
        return LaterBlock(block, self.values)

    def values(self, block: Block) -> Array:
        """NaN where nothing was seen."""
        return self.scales * self.features(block)


@dataclass(frozen=True)
class HoledViews:
    """Views of rows that miss entries, or whole views."""

    rows: Rows
    features: StackedViews
    views: tuple[MomentView, ...]
    largest: Array  # the largest magnitude of each view

    @property
    def width(self) -> int:
        return self.views[-1].columns.stop

    @property
    def blocks(self) -> Array:
        """The view of each column."""
        return np.repeat(np.arange(len(self.views)), [view.width for view in self.views])

    def scaled(self, scales: Array) -> ConvertedRows:
        """The rows with each view so scaled."""
        return ConvertedRows(self.rows, ScaledViews(self.features, scales[self.blocks]), self.width)

    @cached_property
    def sums(self) -> ColumnSums:
        return self.scaled(np.ones(len(self.views))).fold(column_sums)

    @cached_property
    def variances(self) -> Array:
        """Mean variance of the columns of each view over the entries that were seen; rounding of a constant view is none."""
        sums = self.sums
        spreads = np.where(sums.counts > 0, sums.scatter / np.where(sums.counts > 0, sums.counts, 1.0), 0.0)
        means = np.array([float(spreads[view.columns].mean()) for view in self.views])
        return np.where(means > (64 * np.finfo(float).eps * self.largest) ** 2, means, 0.0)

    def fit(self, n_components: int | float, *, shared: bool, **options: Any) -> NoiseFit:
        """As `fit_missing_views`; no latents of rows are kept."""
        units = view_units(self.variances, shared)
        scales = power_of_two(units)
        rows, blocks = self.scaled(scales), self.blocks
        q = n_components if isinstance(n_components, int) else self._fraction(self.scaled(units), n_components)
        found = fit_missing(rows, q, blocks=None if shared else blocks, **options)
        axes = CanonicalAxes.of(found, blocks, len(self.views))
        ends = rows.fold(farthest_latents, found.mean, axes.parameters, axes.rotation)

        def subspace(v: int, mean: Array, components: Array, _: Array) -> Subspace:
            return self.views[v].with_axes(mean, components)

        dims = [float(view.width) for view in self.views]
        entries = np.bincount(blocks, self.sums.counts / self.sums.shown)
        nothing = np.empty((0, len(axes.values)))
        return axes.turned(ends.signs).model(scales, self.variances == 0, dims, entries, nothing, subspace)

    @staticmethod
    def _fraction(rows: Rows, fraction: float) -> int:
        means = rows.fold(column_sums).mean
        return components_of_fraction(rows.fold(filled_moments, means).scatter, fraction)


def filled_moments(block: Block, means: Array) -> Moments:
    """About the means, which stand where nothing was seen: a task for `Rows.fold`."""
    offsets = block.X - means
    return Moments.of(np.where(np.isnan(offsets), 0.0, offsets), block.weights)


def farthest_latents(block: Block, mean: Array, parameters: Parameters, rotation: Array) -> FarthestScores:
    """Of the latents of a block along the axes, ``parameters`` about the mean: a task for `Rows.fold`."""
    chunk = masked_chunk(block, mean, 1.0, parameters.blocks)
    means = row_posterior(chunk, parameters).mean[:, 0].T
    return FarthestScores.of(np.sqrt(block.weights)[:, None] * (means @ rotation))


def largest_magnitudes(parts: Sequence[Array]) -> Array:
    """Of each view, from its features, holes left out."""
    return np.array([float(np.nanmax(np.abs(part), initial=0.0)) for part in parts])
