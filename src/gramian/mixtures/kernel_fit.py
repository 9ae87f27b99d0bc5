"""Mixtures of kernel PPCA: the EM of `mixture` over rows in memory, from one start or from several [6].

The objective Σ w log Σ_i m_i exp(-L^_i/2) never falls. `kernel_component` says what a component is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self

import numpy as np

from gramian._arrays import Array
from gramian._precision import SEEN
from gramian._progress import Progress
from gramian.latent.model import LatentModel
from gramian.latent.subspace import Projecting
from gramian.mixtures.kernel_component import KernelRows, Kind
from gramian.mixtures.mixture import Ascent, MixtureFit, Seen, climb, halve, log_terms, nonempty, responsibilities_of
from gramian.policy import MIXTURES
from gramian.solvers.base import Solver


@dataclass(frozen=True)
class ComponentsAsked:
    """What every kernel mixture asks of its components: how many latents each (counts, or fractions), one noise, one solver."""

    asked: tuple[int | float, ...]
    noise_variance: float
    solver: Solver | None

    @property
    def n_clusters(self) -> int:
        return len(self.asked)

    @property
    def exact(self) -> bool:
        return self.n_clusters == 1

    @property
    def leaps(self) -> bool:
        return False

    def leapt(self, points: Sequence[tuple[Any, Array]]) -> None:
        return None

    def collapsed(self, seen: Seen, components: Any, mixing: Array) -> list[int]:
        return np.flatnonzero(mixing == 0.0).tolist()

    def sources(self, masses: Array) -> list[int]:
        """Whose rows each component starts from: its own; an empty one is that of the largest until it gets rows."""
        largest = int(masses.argmax())
        return [i if masses[i] > 0 else largest for i in range(self.n_clusters)]

    def settled(self, components: Sequence[LatentModel[Projecting]]) -> Self:
        """Fractions are settled on the start: a q that changed on the way could let the objective fall."""
        counts = (q if isinstance(q, int) else m.gaussian.n_components for q, m in zip(self.asked, components))
        return replace(self, asked=tuple(counts))


@dataclass(frozen=True)
class KernelMixtureRows(ComponentsAsked, Generic[Kind]):
    """Rows in memory, with weights, as the EM wants them; the state is the list of components."""

    rows: KernelRows[Kind]
    weights: Array

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    def nonempty(self, start: Array) -> Array:
        return nonempty(start)

    def view(self, ascent: Ascent) -> Array:
        """The responsibilities where an EM ended."""
        return np.asarray(ascent.seen.details)

    def start(self, responsibilities: Array) -> tuple[list[LatentModel[Kind]], Array]:
        masses = self.weights @ responsibilities
        shares = responsibilities[:, self.sources(masses)].T
        return [self._fitted(share, count, None) for share, count in zip(shares, self.asked)], masses

    def see(self, components: list[LatentModel[Kind]], mixing: Array) -> Seen:
        terms = log_terms(components, mixing, [self.rows.training(model) for model in components])
        responsibilities, values = responsibilities_of(terms)
        return Seen(float(self.weights @ values), self.weights @ responsibilities, responsibilities)

    def refit(self, seen: Seen, components: list[LatentModel[Kind]]) -> list[LatentModel[Kind]]:
        active = seen.masses > SEEN * self.total
        counts = self.settled(components).asked
        return [
            self._fitted(seen.details[:, i], counts[i], model) if active[i] else model
            for i, model in enumerate(components)
        ]

    def _fitted(self, shares: Array, count: int | float, before: LatentModel[Kind] | None) -> LatentModel[Kind]:
        return self.rows.component(self.weights * shares, count, self.noise_variance, self.solver, before)

    def divided(self, seen: Seen, components: list[LatentModel[Kind]], mixing: Array, empty: int, donor: int) -> Array:
        scores = self.rows.training(components[donor]).scores
        beyond = scores[:, 0] > 0.0 if scores.shape[1] else np.arange(self.rows.size) % 2 == 0
        return halve(seen.details, empty, donor, beyond)


def fit_kernel_mixture(
    rows: KernelRows[Kind],
    starts: Sequence[Array],
    weights: Array,
    n_components: Sequence[int | float],
    noise_variance: float,
    *,
    solver: Solver | None = None,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> MixtureFit[Kind]:
    """[ZH]'s EM from starting responsibilities (N, I), one or several: see `race` [6]."""
    weighted = KernelMixtureRows(tuple(n_components), noise_variance, solver, rows, weights)
    best = race(weighted, starts, tol=tol, max_iter=max_iter, progress=progress)
    history = np.array(best.levels) / weighted.total
    return MixtureFit(best.components, best.mixing, best.seen.details, history, best.converged, best.n_rescued)


def race(
    weighted: Any, starts: Sequence[Any], *, tol: float, max_iter: int, progress: Progress | None = None
) -> Ascent:
    """Where the best start ends. All run some steps, and one goes on: the first, unless another is clearly likelier.

    ``weighted`` are rows as `KernelMixtureRows` or `SummedFeatures`.
    """
    first = max_iter if len(starts) == 1 else min(max_iter, MIXTURES.race)
    best: Ascent | None = None
    for start in starts:
        found = climb(weighted, weighted.nonempty(start), tol=tol, max_iter=first, progress=progress)
        if best is None or found.levels[-1] > best.levels[-1] + MIXTURES.clear_gain * weighted.total:
            best = found
    assert best is not None
    if not best.converged and first < max_iter:
        weighted = weighted.settled(best.components)
        more = climb(weighted, weighted.view(best), tol=tol, max_iter=max_iter - first, progress=progress)
        best = replace(more, levels=best.levels + more.levels, n_rescued=best.n_rescued + more.n_rescued)
    return best
