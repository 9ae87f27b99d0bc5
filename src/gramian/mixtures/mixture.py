"""One EM for every mixture of latent Gaussians: complete rows, rows with holes, rows known by a kernel or by features [6].

The EM knows its rows by three verbs: `start` makes the first components from responsibilities, `see` is the E-step, and `refit` the
M-step. When it stops, when an empty component is rescued and what counts as empty is said here, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

import numpy as np

from gramian._arrays import Array
from gramian._precision import EPS, HALF_DIGITS, SEEN
from gramian._progress import Progress
from gramian._threads import single_blas_thread
from gramian.latent.gaussian import Projection
from gramian.latent.model import LatentModel
from gramian.latent.subspace import Projecting, Space


@dataclass(frozen=True)
class Seen:
    """What an E-step found: the weighted log-likelihood (a sum), the weight of each component, and what its rows refit from."""

    level: float
    masses: Array  # (K,)
    details: Any


class MixtureRows(Protocol):
    """Training rows of a mixture, and how its components see them and are fitted to them."""

    @property
    def n_clusters(self) -> int: ...
    @property
    def total(self) -> float:
        """The weight of all rows."""
        ...

    @property
    def exact(self) -> bool:
        """Whether one step from any start is the maximum: a single component in closed form."""
        ...

    @property
    def leaps(self) -> bool:
        """Whether the EM of such rows is slow enough for leaps along its steps to pay [13]."""
        ...

    def start(self, responsibilities: Any) -> tuple[Any, Array]:
        """The first components from responsibilities alone, and the weight of each."""
        ...

    def see(self, components: Any, mixing: Array) -> Seen:
        """The E-step."""
        ...

    def refit(self, seen: Seen, components: Any) -> Any:
        """The M-step of the components that are not empty; the others stay."""
        ...

    def leapt(self, points: Sequence[tuple[Any, Array]]) -> tuple[Any, Array] | None:
        """Components and mixing weights beyond three consecutive points of the EM, or None where the third is as far as it goes [13]."""
        ...

    def collapsed(self, seen: Seen, components: Any, mixing: Array) -> list[int]:
        """Components that are empty, or that rest on too few rows to be fitted."""
        ...

    def divided(self, seen: Seen, components: Any, mixing: Array, empty: int, donor: int) -> Any:
        """Responsibilities in which ``empty`` has the rows of ``donor`` beyond its mean along its first axis."""
        ...


@dataclass(frozen=True)
class Ascent:
    """Where an EM ended. ``levels`` are weighted sums over the rows, one per step, never falling."""

    components: Any
    mixing: Array
    seen: Seen
    levels: list[float]
    converged: bool
    n_rescued: int


@dataclass(frozen=True)
class MixtureFit(Generic[Space]):
    """A fitted mixture.

    Attributes
    ----------
    components : list of LatentModel
    mixing : array (K,)
    responsibilities : array (n, K)
        Of the training rows; empty where they were not asked for.
    log_likelihoods : array
        Weighted mean over the rows after each step, never falling.
    converged : bool
    n_rescued : int
        How often an empty component, or one of too few rows, was given a part of another.
    at_floor : list of int
        The components whose noise is held at the floor.
    noise_floor : float
    degrees_of_freedom : float or None
        ν of components that are multivariate t.
    row_weights : array (n,) or None
        Σ_k r_nk E[u_nk] of the training rows, where responsibilities were asked for.
    """

    components: list[LatentModel[Space]]
    mixing: Array
    responsibilities: Array
    log_likelihoods: Array
    converged: bool
    n_rescued: int = 0
    at_floor: list[int] = field(default_factory=list)
    noise_floor: float = 0.0
    degrees_of_freedom: float | None = None
    row_weights: Array | None = None

    @property
    def objective(self) -> float:
        return float(self.log_likelihoods[-1])


def climb(
    rows: MixtureRows,
    start: Any,
    *,
    mixing: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    progress: Progress | None = None,
    begin: tuple[Any, Array] | None = None,
) -> Ascent:
    """EM from starting responsibilities; ``mixing`` replaces their means in the first step. ``begin``: from these components and mixing weights.

    It stops when a step changes the mean log-likelihood by less than ``tol``, relatively. A component that is empty, or that has closed in on
    too few different rows, is given half of a larger one, and the history starts anew.
    """
    n_rescued, converged = 0, rows.exact
    with single_blas_thread():
        now = _Point.first(rows, start, mixing) if begin is None else _Point(*begin, rows.see(*begin))
        levels = [now.seen.level]
        for _ in range(max_iter - 1):
            bad = rows.collapsed(now.seen, now.components, now.mixing)
            # An EM rescues collapsed components at most so often per cluster.
            if 0 < len(bad) < rows.n_clusters and n_rescued < 2 * rows.n_clusters:
                now = now.rescued(rows, bad, n_rescued)
                levels = [now.seen.level]
                n_rescued += 1
                continue
            new = now.stepped(rows)
            gain = new.seen.level - levels[-1]
            if gain >= 0.0:  # only rounding can bring a loss: it is not taken
                now = new.beyond(rows, now)
                levels.append(now.seen.level)
            if progress is not None:
                progress.step(log_likelihood=levels[-1] / rows.total)
            unit = max(abs(levels[-1]), rows.total)
            if gain <= tol * unit:
                converged = gain > -HALF_DIGITS * unit
                break
    return Ascent(now.components, now.mixing, now.seen, levels, converged, n_rescued)


@dataclass(frozen=True)
class _Point:
    """Components, their mixing weights, and what they see."""

    components: Any
    mixing: Array
    seen: Seen

    @classmethod
    def first(cls, rows: MixtureRows, start: Any, mixing: Array | None = None) -> _Point:
        components, masses = rows.start(start)
        mixing = shares_of_weight(masses) if mixing is None else mixing
        return cls(components, mixing, rows.see(components, mixing))

    def stepped(self, rows: MixtureRows) -> _Point:
        """After one M- and E-step."""
        components = rows.refit(self.seen, self.components)
        mixing = shares_of_weight(self.seen.masses)
        return _Point(components, mixing, rows.see(components, mixing))

    def beyond(self, rows: MixtureRows, before: _Point) -> _Point:
        """This point, or one that is not below it: a leap along what this step and the next have in common, else the next step [13]."""
        if not rows.leaps:
            return self
        after = rows.refit(self.seen, self.components), shares_of_weight(self.seen.masses)
        points = [(before.components, before.mixing), (self.components, self.mixing), after]
        leapt = rows.leapt(points)
        for components, mixing in (after,) if leapt is None else (leapt, after):
            with np.errstate(all="ignore"):  # a leap may go too far: its level says so
                found = _Point(components, mixing, rows.see(components, mixing))
            if found.seen.level >= self.seen.level:
                return found
        return self

    def rescued(self, rows: MixtureRows, bad: list[int], attempt: int) -> _Point:
        """The first of the collapsed components gets half of one of the largest others, of another one at every attempt."""
        masses = self.seen.masses.copy()
        masses[bad] = -1.0
        donors = np.argsort(-masses, kind="stable")[: rows.n_clusters - len(bad)]
        donor = int(donors[attempt % len(donors)])
        return _Point.first(rows, rows.divided(self.seen, self.components, self.mixing, bad[0], donor))


def shares_of_weight(masses: Array) -> Array:
    """Mixing weights: those of empty components are exactly 0."""
    kept = np.where(masses > SEEN * masses.sum(), masses, 0.0)
    return np.asarray(kept / kept.sum())


def nonempty(start: Array) -> Array:
    """Starting responsibilities with rows that sum to one; where a component would be empty, all get a share of every row."""
    start = start / start.sum(axis=1, keepdims=True)
    if (start.sum(axis=0) <= SEEN * len(start)).any():
        start = 0.9 * start + 0.1 / start.shape[1]
    return start


def halve(shares: Array, empty: int, donor: int, beyond: Array) -> Array:
    """Responsibilities after a rescue: ``empty`` has what ``donor`` had of the rows ``beyond``; who belonged to ``empty`` goes back."""
    shares = shares.copy()
    shares[:, empty] = 0.0
    shares[shares.sum(axis=1) < 1e-12, donor] = 1.0
    shares /= shares.sum(axis=1, keepdims=True)
    shares[beyond, empty] = shares[beyond, donor]
    shares[beyond, donor] = 0.0
    return shares


# ---------------------------------------------------------------- densities of all components


def log_terms(models: Sequence[LatentModel[Projecting]], mixing: Array, seen: Sequence[Projection]) -> Array:
    """log π_k + log p(x | k), (n, K) ([ZH] eqs. 14-16); -inf where a component is empty."""
    densities = np.column_stack([model.gaussian.log_density(part) for model, part in zip(models, seen)])
    with np.errstate(divide="ignore"):
        return densities + np.log(mixing)


def responsibilities_of(terms: Array) -> tuple[Array, Array]:
    """r_nk ∝ exp(terms) with rows that sum to one, and log Σ exp(terms), in the log domain ([ZH] eq. 17)."""
    highest = terms.max(axis=1, keepdims=True)
    shares = terms - highest
    np.exp(shares, out=shares)
    totals = shares.sum(axis=1, keepdims=True)
    shares /= totals
    np.copyto(shares, 0.0, where=shares < EPS**2)
    return shares, (highest + np.log(totals))[:, 0]
