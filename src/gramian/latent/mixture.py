"""Mixtures of PPCA: EM in which every component is the latent Gaussian with its responsibilities as sample weights [6].

Complete rows are seen by all components through one matrix product, and each component's probability is that of
`LatentGaussian`. Its M-step is the closed form of the weighted covariance where that is small, and otherwise a step of
PX-EM, which never forms d x d. Rows with holes are seen through the systems of `masked_em`, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array, blas_threads, single_blas_thread
from gramian._progress import Progress
from gramian.latent.mixture_complete import ClosedRows, ExpandedRows
from gramian.latent.mixture_masked import MaskedRows
from gramian.latent.mixture_rows import EMPTY, MixtureRows, MixtureTable
from gramian.latent.model import LatentModel
from gramian.latent.noise import ZERO_NOISE
from gramian.latent.primal import latent_model

CLOSED_SIZE = 64
"""Up to this many columns (or rows) the M-step is the closed form, whatever q."""


@dataclass(frozen=True)
class MixtureFit:
    """What EM found.

    Attributes
    ----------
    components : list of LatentModel
    mixing : array (K,)
    responsibilities : array (n, K)
    log_likelihoods : list of float
        Weighted mean over the rows after each step, never falling.
    converged : bool
    n_rescued : int
        How often an empty component, or one of too few rows, was given a part of another.
    at_floor : list of int
        The components whose noise is held at the floor.
    noise_floor : float
    """

    components: list[LatentModel]
    mixing: Array
    responsibilities: Array
    log_likelihoods: list[float]
    converged: bool
    n_rescued: int
    at_floor: list[int]
    noise_floor: float


def mixture_rows(table: MixtureTable, counts: Sequence[int], *, shared: bool, rng: np.random.Generator) -> MixtureRows:
    """The rows ready for components of these numbers of latents: with holes, small (closed form) or large (PX-EM)."""
    counts = tuple(counts)
    parts = (table, counts, shared, ZERO_NOISE, rng, blas_threads())
    if table.masked is not None:
        return MaskedRows(*parts)
    if len(counts) == 1 or min(table.X.shape) <= max(CLOSED_SIZE, 8 * (max(counts) + 1)):
        return ClosedRows(*parts)
    return ExpandedRows(*parts)


def fit_mixture(
    rows: MixtureRows,
    start: Array,
    *,
    mixing: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    progress: Progress | None = None,
) -> MixtureFit:
    """EM from responsibilities ``start`` (n, K), rows summing to one; ``mixing`` replaces their means in the first step.

    Stops when the mean log-likelihood changes by less than ``tol``, relatively. A component that is empty, or that has
    closed in on too few different rows, is given half of a larger one, and the history starts anew.
    """
    with single_blas_thread():
        ascent = _Ascent(rows, start, mixing)
        converged = False
        for _ in range(max_iter - 1):
            bad = ascent.collapsed()
            if bad and ascent.n_rescued < 2 * rows.n_clusters:
                ascent.rescue(bad)
                continue
            gain = ascent.step()
            level = ascent.levels[-1]
            if progress is not None:
                progress.step(log_likelihood=level / float(rows.weights.sum()))
            total = float(rows.weights.sum())
            if gain <= tol * max(abs(level), total):
                converged = gain > -1e-9 * max(abs(level), total)
                break
        else:
            converged = rows.n_clusters == 1 and isinstance(rows, ClosedRows)
    return ascent.result(converged)


class _Ascent:
    """The state of one EM."""

    def __init__(self, rows: MixtureRows, start: Array, mixing: Array | None) -> None:
        self.rows = rows
        self.n_rescued = 0
        self._begin(nonempty(start), mixing)

    def _begin(self, responsibilities: Array, mixing: Array | None = None) -> None:
        self.parameters = self.rows.start(responsibilities)
        self.mixing = self._mixing(responsibilities) if mixing is None else mixing
        gather = self.rows.gathers(responsibilities)
        self.evaluation = self.rows.expectation(self.parameters, self.mixing, gather)
        self.levels = [self.evaluation.level]

    def _mixing(self, responsibilities: Array) -> Array:
        masses = self.rows.weights @ responsibilities
        masses = np.where(masses > EMPTY * masses.sum(), masses, 0.0)
        return np.asarray(masses / masses.sum())

    def step(self) -> float:
        """One M- and E-step; its gain. A loss, which only rounding can bring, is not taken."""
        parameters = self.rows.maximization(self.evaluation, self.parameters)
        mixing = self._mixing(self.evaluation.responsibilities)
        gather = self.rows.gathers(self.evaluation.responsibilities)
        evaluation = self.rows.expectation(parameters, mixing, gather)
        gain = evaluation.level - self.levels[-1]
        if gain >= 0.0:
            self.parameters, self.mixing, self.evaluation = parameters, mixing, evaluation
            self.levels.append(evaluation.level)
        return gain

    def collapsed(self) -> list[int]:
        """Components that are empty or rest on no more different rows than their subspace can hold exactly.

        None if all are so: then there is no larger one to divide.
        """
        low = self.parameters.noise_variance <= self.rows.floor * (1.0 + 1e-9)
        bad = [
            k
            for k, q in enumerate(self.rows.counts)
            if self.mixing[k] == 0.0 or (low[k] and self._n_distinct(k, q + 1) <= q + 1)
        ]
        return bad if len(bad) < self.rows.n_clusters else []

    def _n_distinct(self, k: int, enough: int) -> int:
        """The number of different rows of a component, counted no further than needed."""
        rows = np.flatnonzero(self.evaluation.responsibilities[:, k] > 0.5)
        return len(np.unique(self.rows.table.X[rows[: 50 * (enough + 1)]], axis=0))

    def rescue(self, bad: list[int]) -> None:
        """Give the first of the collapsed components half of a larger one, cut at its mean along its first axis."""
        k = bad[0]
        shares = self.evaluation.responsibilities.copy()
        shares[:, k] = 0.0
        masses = self.rows.weights @ shares
        masses[bad] = -1.0
        donors = np.argsort(-masses)[: self.rows.n_clusters - len(bad)]
        donor = int(donors[self.n_rescued % len(donors)])
        lost = shares.sum(axis=1) < 1e-12
        shares[lost, donor] = 1.0
        shares /= shares.sum(axis=1, keepdims=True)
        side = self.rows.first_scores(self.parameters, donor) > 0.0
        shares[side, k] = shares[side, donor]
        shares[side, donor] = 0.0
        self.n_rescued += 1
        self._begin(nonempty(shares))

    def result(self, converged: bool) -> MixtureFit:
        rows, found = self.rows, self.parameters
        scale = rows.table.scale
        components = [
            latent_model(
                rows.table.shift + scale * found.mean[k],
                scale * found.loadings[k][:, : rows.counts[k]],
                scale**2 * float(found.noise_variance[k]),
            )
            for k in range(rows.n_clusters)
        ]
        levels = (np.asarray(self.levels) - rows.cells() * np.log(scale)) / rows.weights.sum()
        low = found.noise_variance <= rows.floor * (1.0 + 1e-9)
        return MixtureFit(
            components,
            self.mixing,
            self.evaluation.responsibilities,
            levels.tolist(),
            converged,
            self.n_rescued,
            np.flatnonzero(low).tolist(),
            rows.floor * scale**2,
        )


def nonempty(start: Array) -> Array:
    """The start with rows that sum to one; where a component would be empty, all get a share of every row."""
    start = start / start.sum(axis=1, keepdims=True)
    if (start.sum(axis=0) <= EMPTY * len(start)).any():
        start = 0.9 * start + 0.1 / start.shape[1]
    return start
