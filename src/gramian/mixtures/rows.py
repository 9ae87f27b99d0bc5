"""Training rows of a mixture of PPCA, only summed over: what complete rows and rows with holes have in common [6, 13]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_scale
from gramian._content import SmallestRows, row_hashes
from gramian._precision import HALF_DIGITS, SEEN
from gramian._types import Points
from gramian.latent.dimension import for_fraction
from gramian.latent.masked_em import Parameters, Statistics, maximization
from gramian.latent.masked_table import column_sums, masked_chunk
from gramian.latent.model import PrimalModel
from gramian.latent.primal import latent_model
from gramian.latent.squarem import leap
from gramian.latent.student import rescale
from gramian.mixtures.mixture import Seen, halve
from gramian.policy import LOOK
from gramian.rows import Block, Rows, as_rows
from gramian.rows.draws import smallest_rows

Responsibilities = Callable[[Block], Array]
"""Responsibilities (n, K) of the rows of a block: a start, or what fitted components say. Top-level classes, so that they travel."""


@dataclass(frozen=True)
class ScaledRows:
    """Complete rows in the units of the EM, and |x|² per row."""

    values: Array
    squares: Array


def scaled_block(block: Block, shift: Array, scale: float) -> ScaledRows:
    values = (block.X - shift) / scale  # float64, as the shift is
    return ScaledRows(values, np.einsum("nd,nd->n", values, values))


@dataclass(frozen=True)
class MixtureTable:
    """A weighted table, shifted and scaled once for all starts; its blocks are prepared as `ScaledRows`, or as `Chunk` with holes."""

    rows: Rows
    shift: Array
    scale: float
    complete: bool
    total: float  # the weight of all rows that show a value
    cells: float  # weighted number of observed cells
    still: Array  # (d,), which columns show one value

    @classmethod
    def of(
        cls, X: Points, weights: Array | None = None, start: Array | None = None, masked: bool = False
    ) -> MixtureTable:
        """The table of an array, or of rows wherever they live; ``start`` are responsibilities to go with the rows of an array.

        ``masked``: prepared as a table with holes, even if it has none.

        Raises ValueError if a column shows no value, if no column varies, or if squares would overflow.
        """
        rows = as_rows(X, weights, start)
        sums = rows.fold(column_sums)
        shift, scale = sums.location_and_scale()
        if not scale > 8 * np.finfo(float).eps * float(np.abs(sums.mean).max(initial=0.0)):
            drawn = smallest_rows(rows, 2).rows
            if len(drawn) == 2:  # they differ, but perhaps by so little that squares vanish
                check_scale(float(np.nanmax(np.abs(drawn[0] - drawn[1]), initial=0.0)))
            raise ValueError("All rows of X are identical: there is no variance to model. Give rows that differ.")
        check_scale(scale)
        cells = float(sums.counts.sum())
        complete = not masked and bool((sums.counts >= sums.weight * (1 - 1e-12)).all())
        rows = rows.prepare(scaled_block if complete else masked_chunk, shift, scale)
        return cls(rows, shift, scale, complete, sums.shown, cells, sums.scatter == 0)

    @property
    def dim(self) -> int:
        return self.rows.n_columns

    def drawn(self, limit: int) -> SmallestRows:
        """At most ``limit`` distinct rows, drawn by content, as they were given."""
        return smallest_rows(self.rows, limit)

    def scaled(self, X: Array) -> Array:
        """Rows in the units of the EM."""
        return np.asarray((X - self.shift) / self.scale)

    def parameters(self, models: Sequence[PrimalModel]) -> Parameters:
        """Fitted components of as many latents in the units of the EM."""
        return Parameters(
            self.scaled(np.array([model.subspace.mean for model in models])),
            np.array([model.subspace.loadings(model.gaussian.gains) for model in models]) / self.scale,
            np.array([model.gaussian.noise_variance for model in models]) / self.scale**2,
        )


@dataclass(frozen=True)
class ComponentRows:
    """Rows of each component, drawn by content; merges with ``+``."""

    parts: tuple[SmallestRows, ...]

    def __add__(self, other: ComponentRows) -> ComponentRows:
        return ComponentRows(tuple(one + two for one, two in zip(self.parts, other.parts)))


def component_rows(block: Block, responsibilities: Responsibilities, limit: int) -> ComponentRows:
    """Of each component the rows in which its share is at least half of the largest, with their share as weight."""
    shares, hashes = responsibilities(block), row_hashes(block.X)
    large = shares >= 0.5 * shares.max(axis=1, keepdims=True)
    weights = np.where(large, shares, 0.0) * block.weights[:, None]
    return ComponentRows(tuple(SmallestRows.of(block.X, column, limit, hashes) for column in weights.T))


def clear_rows(block: Block, responsibilities: Responsibilities, which: int, limit: int) -> SmallestRows:
    """Rows that belong to a component for the most part."""
    weights = np.where(responsibilities(block)[:, which] > 0.5, block.weights, 0.0)
    return SmallestRows.of(block.X, weights, limit)


def shares_of_block(block: Block, responsibilities: Responsibilities) -> Array:
    return responsibilities(block)


@dataclass(frozen=True)
class Divided:
    """Responsibilities after the rescue of ``empty``: it has the rows of ``donor`` beyond its mean along an axis [6]."""

    before: Responsibilities
    mean: Array
    axis: Array
    empty: int
    donor: int

    def __call__(self, block: Block) -> Array:
        values = block.prepared.values  # 0 in the holes: they say nothing of the side
        mask = getattr(block.prepared, "mask", None)
        scores = values @ self.axis - (self.mean @ self.axis if mask is None else mask @ (self.mean * self.axis))
        return halve(self.before(block), self.empty, self.donor, scores > 0.0)


@dataclass(frozen=True)
class Components:
    """μ, W and σ² of the components, and whether their next M-step is one of PX-EM instead of the closed form."""

    parameters: Parameters
    expand: bool = True


def _free(parameters: Parameters) -> list[Array]:
    return [parameters.mean, parameters.loadings, np.log(parameters.noise_variance)]


@dataclass(frozen=True)
class GaussianRows(ABC):
    """How the components of a mixture of PPCA see rows and are fitted to them, in sums over blocks."""

    table: MixtureTable
    counts: tuple[int, ...]  # q of each component
    shared: bool  # one noise for all
    floor: float  # the least noise, in scaled units
    rng: np.random.Generator
    em: bool = False  # whether the M-step of complete rows is one of EM in any case

    @property
    def n_clusters(self) -> int:
        return len(self.counts)

    @property
    def dim(self) -> int:
        return self.table.dim

    @property
    def total(self) -> float:
        return self.table.total

    @property
    def exact(self) -> bool:
        return False

    @property
    def leaps(self) -> bool:
        return False

    @abstractmethod
    def start(self, responsibilities: Responsibilities) -> tuple[Components, Array]:
        """The first components, from responsibilities alone, and the weight of each."""

    @abstractmethod
    def see(self, components: Components, mixing: Array) -> Seen:
        """The E-step, with the sums that the M-step needs."""

    @abstractmethod
    def refit(self, seen: Seen, components: Components) -> Components:
        """The M-step, of the components that are not empty."""

    @abstractmethod
    def view(self, components: Components, mixing: Array) -> Responsibilities:
        """The responsibilities of these components."""

    @abstractmethod
    def spectrum_of(self, drawn: SmallestRows) -> tuple[Array, float]:
        """Eigenvalues (largest first) and trace of the covariance of a component's rows."""

    def fraction_counts(self, responsibilities: Responsibilities, asked: list[int | float]) -> list[int]:
        """The q of each component: as asked, or the smallest that explains the fraction asked for."""
        if all(isinstance(q, int) for q in asked):
            return [int(q) for q in asked]
        parts = self.table.rows.fold(component_rows, responsibilities, LOOK.drawn).parts
        found = []
        for q, drawn in zip(asked, parts):
            if isinstance(q, int) or not len(drawn.rows):
                found.append(int(q))
                continue
            values, trace = self.spectrum_of(drawn)
            count = for_fraction(values, trace, q)
            found.append(min(self.dim - 1, len(values) if count is None else count))
        return found

    def leapt(self, points: Sequence[tuple[Components, Array]]) -> tuple[Components, Array] | None:
        """The leap of SQUAREM in means, loadings and the logarithms of noises and mixing weights; none with a noise at its floor [13]."""
        last = points[-1][0]
        if any(
            (m == 0.0).any() or (c.parameters.noise_variance <= self.floor * (1.0 + HALF_DIGITS)).any()
            for c, m in points
        ):
            return None
        found, _ = leap(*([*_free(c.parameters), np.log(m)] for c, m in points))
        if found is None:
            return None
        mean, loadings, log_noise, log_mixing = found
        with np.errstate(over="ignore"):
            noise, shares = np.exp(log_noise), np.exp(log_mixing - log_mixing.max())
        if not np.isfinite(noise).all():
            return None
        parameters = replace(
            last.parameters, mean=mean, loadings=loadings, noise_variance=np.maximum(noise, self.floor)
        )
        return replace(last, parameters=parameters), shares / shares.sum()

    def collapsed(self, seen: Seen, components: Components, mixing: Array) -> list[int]:
        """Components that are empty or rest on no more different rows than their subspace can hold exactly."""
        low = components.parameters.noise_variance <= self.floor * (1.0 + HALF_DIGITS)
        bad = np.flatnonzero(mixing == 0.0).tolist()
        if low.any():
            view = self.view(components, mixing)
            for k in np.flatnonzero(low & (mixing > 0.0)):
                enough = self.counts[k] + 2
                if len(self.table.rows.fold(clear_rows, view, int(k), enough).hashes) < enough:
                    bad.append(int(k))
        return sorted(bad)

    def divided(self, seen: Seen, components: Components, mixing: Array, empty: int, donor: int) -> Divided:
        found = components.parameters
        axis = np.linalg.svd(found.loadings[donor], full_matrices=False)[0][:, :1].sum(axis=1)
        if not found.loadings[donor].any():
            axis = self.rng.standard_normal(self.dim)
        return Divided(self.view(components, mixing), found.mean[donor], axis, empty, donor)

    def models(self, parameters: Parameters, shift: Any = 0.0, scale: float = 1.0) -> list[PrimalModel]:
        """The components as latent models; ``shift`` and ``scale`` bring them back to the units of the rows."""
        parts = zip(parameters.mean, parameters.loadings, parameters.noise_variance, self.counts)
        return [latent_model(shift + scale * mean, scale * W[:, :q], scale**2 * float(s)) for mean, W, s, q in parts]

    def nothing(self) -> Parameters:
        shape = (self.n_clusters, self.dim)
        return Parameters(np.zeros(shape), np.zeros((*shape, max(self.counts))), np.ones(self.n_clusters))

    def active(self, masses: Array) -> Array:
        """The components that are not empty."""
        return np.flatnonzero(masses > SEEN * masses.sum())

    def expanded_step(
        self, statistics: Statistics, parameters: Parameters, plain: tuple[Array, Array] | None = None
    ) -> Parameters:
        """The PX-EM step of the components that are not empty; the others stay [5].

        ``plain``: masses (K,) and cells (K, d) of the responsibilities alone, where the sums are weighted by those of a t too [14].
        """
        shape = (*statistics.second.shape[:2], self.dim)
        statistics = replace(statistics, second=np.broadcast_to(statistics.second, shape))
        active = self.active(statistics.totals[-1])
        found, cells = maximization(statistics[active], parameters[active]), statistics.cells
        if plain is not None:
            masses, cells = plain[0], plain[1].sum(axis=1)
            found = rescale(found, statistics[active], masses[active], plain[1][active], expand=not self.shared)
        found = self.bounded(found, cells[active])
        mean, loadings = parameters.mean.copy(), parameters.loadings.copy()
        noise = parameters.noise_variance.copy()
        if self.shared:
            noise[:] = found.noise_variance[0]
        mean[active], loadings[active], noise[active] = found.mean, found.loadings, found.noise_variance
        return Parameters(mean, loadings, noise)

    def bounded(self, parameters: Parameters, cells: Array) -> Parameters:
        """The noise shared if asked, and not below the floor: the maximum under that constraint."""
        noise = parameters.noise_variance
        if self.shared:
            noise = np.full_like(noise, (noise * cells).sum() / cells.sum())
        return replace(parameters, noise_variance=np.maximum(noise, self.floor))
