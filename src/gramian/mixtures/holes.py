"""Rows with holes of a mixture of PPCA: densities and moments from what each row shows, exactly [5, 6]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import SmallestRows
from gramian._precision import EPS, TINY
from gramian.latent.masked_em import (
    LOG_2PI,
    Parameters,
    RowPosterior,
    Statistics,
    row_posterior,
    row_posteriors,
    row_statistics,
)
from gramian.latent.masked_start import covariance_start, pairwise_spectrum
from gramian.latent.masked_table import Chunk, MaskedTable
from gramian.mixtures.mixture import Seen, responsibilities_of
from gramian.mixtures.rows import Components, GaussianRows, Responsibilities, component_rows
from gramian.policy import DEFAULTS, LOOK, SIZES
from gramian.rows import Block

NO_SHARE = 2.0 * np.log(EPS) - 1.0
"""A component whose density is so far below another's has no share of a row; the last nat is for rounding."""


@dataclass(frozen=True)
class SeenColumns:
    """The weight of each component, and weighted sums and counts of the cells that its rows show, (K, d)."""

    masses: Array
    sums: Array
    counts: Array

    def __add__(self, other: SeenColumns) -> SeenColumns:
        return SeenColumns(self.masses + other.masses, self.sums + other.sums, self.counts + other.counts)

    @property
    def means(self) -> Array:
        """0 where the rows of a component show nothing."""
        return np.where(self.counts > 0, self.sums / np.where(self.counts > 0, self.counts, 1.0), 0.0)


@dataclass(frozen=True)
class HoleSums:
    """What an E-step adds up: the log-likelihood and the sums of PX-EM."""

    level: float
    statistics: Statistics

    def __add__(self, other: HoleSums) -> HoleSums:
        return HoleSums(self.level + other.level, self.statistics + other.statistics)


def seen_columns(block: Block, responsibilities: Responsibilities) -> SeenColumns:
    return _columns(block.prepared, shared_out(block, responsibilities(block)))


def shared_out(block: Block, shares: Array) -> Array:
    """The weight of each row for each component, (K, n); none for a row that shows nothing."""
    return np.asarray((shares * (block.weights * block.prepared.shown)[:, None]).T)


def _columns(chunk: Chunk, weights: Array) -> SeenColumns:
    return SeenColumns(weights.sum(axis=1), weights @ chunk.values, weights @ chunk.mask)


def hole_sums(block: Block, parameters: Parameters, mixing: Array) -> HoleSums:
    """The E-step of a block."""
    chunk: Chunk = block.prepared
    posteriors, terms = _posteriors(chunk, parameters, mixing)
    shares, totals = responsibilities_of(terms)
    weights = shared_out(block, shares)
    sums = [row_statistics(chunk[rows], part, weights[group, rows]) for part, group, rows in posteriors]
    return HoleSums(float(block.weights @ totals), join_statistics(sums))


def posterior_groups(chunk: Chunk, parameters: Parameters) -> list[tuple[RowPosterior, slice]]:
    """Posteriors of groups of components."""
    K = len(parameters.mean)
    together = max(1, SIZES.block // len(chunk.counts))
    groups = [slice(k, min(k + together, K)) for k in range(0, K, together)]
    return [(row_posterior(chunk, parameters[group]), group) for group in groups]


def _posteriors(
    chunk: Chunk, parameters: Parameters, mixing: Array
) -> tuple[list[tuple[RowPosterior, slice, Any]], Array]:
    """Posteriors of groups of components, for which rows, and log π_k + log p(x_o | k), (n, K).

    Components that a bound of their densities keeps from any share of a row are not asked of it: their terms are -inf.
    """
    K, n = len(mixing), len(chunk.counts)
    with np.errstate(divide="ignore"):
        log_mixing = np.log(mixing)
    if K > 1 and parameters.n_components >= SIZES.bounded:
        bounds = _density_bounds(chunk, parameters) + log_mixing
        highest = bounds.argmax(axis=1)
        likely = [np.flatnonzero(highest == k) for k in range(K)]
        first = row_posteriors([chunk[rows] for rows in likely], parameters)
        terms = np.full((n, K), -np.inf)
        for k, (rows, part) in enumerate(zip(likely, first)):
            terms[rows, k] = part.log_density[0] + log_mixing[k]
        others = bounds >= terms.max(axis=1, keepdims=True) + NO_SHARE
        others[np.arange(n), highest] = False
        if 2 * others.sum() <= (K - 1) * n:
            found: list[tuple[RowPosterior, slice, Any]] = []
            rest = [np.flatnonzero(column) for column in others.T]
            further = row_posteriors([chunk[rows] for rows in rest], parameters)
            for k, (rows, more) in enumerate(zip(likely, rest)):
                terms[more, k] = further[k].log_density[0] + log_mixing[k]
                found.append((first[k].beside(further[k]), slice(k, k + 1), np.concatenate([rows, more])))
            return found, terms
    groups = posterior_groups(chunk, parameters)
    terms = np.concatenate([part.log_density for part, _ in groups]).T + log_mixing
    return [(part, group, slice(None)) for part, group in groups], terms


def _density_bounds(chunk: Chunk, parameters: Parameters) -> Array:
    """No log p(x_o | k) is above these, (n, K).

    (x_o - μ_o)ᵀC_oo⁻¹(x_o - μ_o) is at least (vᵀ(x_o - μ_o))² / vᵀC_oo v for any v over the cells seen (Cauchy and Schwarz): here C⁻¹ of the row with its
    holes at the mean, which is exact without holes. And log|C_oo| is at least |o| log σ².
    """
    q, found = parameters.n_components, []
    for mean, W, noise in zip(parameters.mean, parameters.loadings, parameters.noise_variance):
        rest = chunk.values - chunk.mask * mean
        v = rest - rest @ W @ np.linalg.solve(W.T @ W + noise * np.eye(q), W.T)
        v *= chunk.mask
        products = np.einsum("nd,nd->n", v, rest)
        lengths = np.square(v @ W).sum(axis=1) + noise * np.einsum("nd,nd->n", v, v)
        distances = products**2 / np.maximum(lengths, TINY)
        found.append(-0.5 * (distances + chunk.counts * (LOG_2PI + np.log(noise))))
    return np.column_stack(found)


def join_statistics(parts: list[Statistics]) -> Statistics:
    """The sums of several groups of components as those of all."""
    return Statistics(
        np.concatenate([part.second for part in parts], axis=1),
        np.concatenate([part.first for part in parts], axis=1),
        np.concatenate([part.totals for part in parts], axis=1),
        np.concatenate([part.square for part in parts]),
        np.concatenate([part.log_likelihood for part in parts]),
    )


@dataclass(frozen=True)
class HoleView:
    """The responsibilities of fitted components for what rows show."""

    parameters: Parameters
    mixing: Array

    def __call__(self, block: Block) -> Array:
        return responsibilities_of(_posteriors(block.prepared, self.parameters, self.mixing)[1])[0]


@dataclass(frozen=True)
class RowsWithHoles(GaussianRows):
    """Rows with holes: the M-step is one of PX-EM."""

    @property
    def leaps(self) -> bool:
        return True

    def start(self, responsibilities: Responsibilities) -> tuple[Components, Array]:
        rows = self.table.rows
        seen = rows.fold(seen_columns, responsibilities)
        means = seen.means
        nothing = self.nothing()
        loadings, noise = nothing.loadings, nothing.noise_variance
        limit = max(LOOK.gram, 20 * (max(self.counts) + 1))
        for k, drawn in enumerate(rows.fold(component_rows, responsibilities, limit).parts):
            if not len(drawn.rows):
                continue
            table = MaskedTable.of(drawn.rows, self.table.shift, self.table.scale)
            part = covariance_start(table, drawn.weights, self.counts[k], self.rng, means[k])
            loadings[k, :, : self.counts[k]] = part.loadings[0]
            noise[k] = max(float(part.noise_variance[0]), DEFAULTS.noise_floor)
        return Components(self.bounded(Parameters(means, loadings, noise), seen.masses)), seen.masses

    def see(self, components: Components, mixing: Array) -> Seen:
        sums = self.table.rows.fold(hole_sums, components.parameters, mixing)
        return Seen(sums.level, sums.statistics.totals[-1], sums.statistics)

    def refit(self, seen: Seen, components: Components) -> Components:
        return Components(self.expanded_step(seen.details, components.parameters))

    def view(self, components: Components, mixing: Array) -> HoleView:
        return HoleView(components.parameters, mixing)

    def spectrum_of(self, drawn: SmallestRows) -> tuple[Array, float]:
        table = MaskedTable.of(drawn.rows, self.table.shift, self.table.scale)
        mean = reduce(add, (_columns(chunk, drawn.weights[None, rows]) for rows, chunk in table.chunks())).means[0]
        values, _, trace = pairwise_spectrum(table, drawn.weights, mean)
        return values, trace
