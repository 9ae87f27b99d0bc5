"""Rows of a mixture of multivariate t: a row counts for a component by r_nk E[u_nk] [6, 14].

One ν serves all components, so that a small one does not have to know its tails. It is found by the M-step from sums over the rows, as
all else is: E ln u = ψ((ν + |o|) / 2) - ln((ν + δ_o) / 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import digamma

from gramian._arrays import Array
from gramian.latent.masked_em import Parameters, Statistics, row_statistics
from gramian.latent.masked_table import Chunk
from gramian.latent.student import LEAST_DEGREES, degrees_given, row_scales, student_log_density
from gramian.mixtures.holes import RowsWithHoles, join_statistics, posterior_groups, shared_out
from gramian.mixtures.mixture import Seen, responsibilities_of
from gramian.mixtures.rows import Components, Responsibilities
from gramian.rows import Block


@dataclass(frozen=True)
class StudentComponents(Components):
    """Components that are multivariate t of ``degrees`` ν."""

    degrees: float = LEAST_DEGREES


@dataclass(frozen=True)
class StudentSums:
    """What an E-step adds up: the log-likelihood, the sums of PX-EM weighted by r E[u], and those of r alone."""

    level: float
    statistics: Statistics
    masses: Array  # (K,), Σ r
    cells: Array  # (K, d), Σ r m
    log_scales: Array  # (K,), Σ r E ln u

    def __add__(self, other: StudentSums) -> StudentSums:
        return StudentSums(
            self.level + other.level,
            self.statistics + other.statistics,
            self.masses + other.masses,
            self.cells + other.cells,
            self.log_scales + other.log_scales,
        )


def student_terms(chunk: Chunk, parameters: Parameters, mixing: Array, degrees: float) -> tuple[Any, Array, Array]:
    """Posteriors of groups of components, log π_k + log p(x_o | k) (n, K), and δ_o (K, n)."""
    posteriors = posterior_groups(chunk, parameters)
    distance = np.concatenate([part.distance for part, _ in posteriors])
    density = np.concatenate([part.log_density for part, _ in posteriors])
    with np.errstate(divide="ignore"):
        terms = student_log_density(density, distance, chunk.counts, degrees).T + np.log(mixing)
    return posteriors, terms, distance


def student_sums(block: Block, parameters: Parameters, mixing: Array, degrees: float) -> StudentSums:
    """The E-step of a block."""
    chunk: Chunk = block.prepared
    posteriors, terms, distance = student_terms(chunk, parameters, mixing, degrees)
    shares, totals = responsibilities_of(terms)
    weights = shared_out(block, shares)
    scales = row_scales(distance, chunk.counts, degrees)
    sums = [row_statistics(chunk, part, weights[group], scales[group]) for part, group in posteriors]
    logs = np.zeros_like(distance)
    if np.isfinite(degrees):
        logs = digamma(0.5 * (degrees + chunk.counts)) - np.log(0.5 * (degrees + distance))
    return StudentSums(
        float(block.weights @ totals),
        join_statistics(sums),
        weights.sum(axis=1),
        weights @ chunk.mask,
        np.einsum("kn,kn->k", weights, logs),
    )


@dataclass(frozen=True)
class StudentView:
    """The responsibilities of fitted components for what rows show."""

    parameters: Parameters
    mixing: Array
    degrees: float

    def __call__(self, block: Block) -> Array:
        return responsibilities_of(self._terms(block)[1])[0]

    def weights(self, block: Block) -> Array:
        """Σ_k r_nk E[u_nk] of each row; 1 of a row that shows nothing."""
        _, terms, distance = self._terms(block)
        scales = row_scales(distance, block.prepared.counts, self.degrees)
        counted = np.einsum("nk,kn->n", responsibilities_of(terms)[0], scales)
        return np.where(block.prepared.shown > 0, counted, 1.0)

    def _terms(self, block: Block) -> tuple[Any, Array, Array]:
        return student_terms(block.prepared, self.parameters, self.mixing, self.degrees)


def weights_of_block(block: Block, view: StudentView) -> Array:
    return view.weights(block)


@dataclass(frozen=True)
class StudentRows(RowsWithHoles):
    """Rows of components that are multivariate t; ``degrees`` None is found."""

    degrees: float | None = None

    def start(self, responsibilities: Responsibilities) -> tuple[StudentComponents, Array]:
        found, masses = super().start(responsibilities)
        degrees = LEAST_DEGREES if self.degrees is None else self.degrees  # the heaviest tails trust the start least
        return StudentComponents(found.parameters, degrees=degrees), masses

    def see(self, components: Components, mixing: Array) -> Seen:
        assert isinstance(components, StudentComponents)
        sums = self.table.rows.fold(student_sums, components.parameters, mixing, components.degrees)
        return Seen(sums.level, sums.masses, sums)

    def refit(self, seen: Seen, components: Components) -> StudentComponents:
        found: StudentSums = seen.details
        moved = self.expanded_step(found.statistics, components.parameters, (found.masses, found.cells))
        if self.degrees is not None:
            return StudentComponents(moved, degrees=self.degrees)
        active = self.active(found.masses)
        masses, scaled = found.masses[active], found.statistics.totals[-1, active]
        # u is expanded with the rest: then its mean is 1 in every component
        gap = -scaled.sum() if self.shared else -masses @ (np.log(scaled / masses) + 1.0)
        return StudentComponents(moved, degrees=degrees_given((found.log_scales[active].sum() + gap) / masses.sum()))

    def leapt(self, points: Sequence[tuple[Components, Array]]) -> tuple[Components, Array] | None:
        """In ln ν by the same stretch as twice its last change: a leap that goes too far is not taken."""
        found = super().leapt(points)
        before, last = points[-2][0], points[-1][0]
        assert isinstance(before, StudentComponents)
        assert isinstance(last, StudentComponents)
        if found is None or self.degrees is not None or not np.isfinite([before.degrees, last.degrees]).all():
            return found
        degrees = max(LEAST_DEGREES, last.degrees**2 / before.degrees)
        return replace(found[0], degrees=degrees), found[1]  # type: ignore[call-arg]

    def view(self, components: Components, mixing: Array) -> StudentView:  # type: ignore[override]
        assert isinstance(components, StudentComponents)
        return StudentView(components.parameters, mixing, components.degrees)
