"""Probabilistic PCA of a table with holes: exact maximum likelihood of the observed cells by PX-EM [5]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gramian._arrays import Array, blas_threads, single_blas_thread
from gramian._checks import check_random_state
from gramian._progress import Progress
from gramian.latent.masked_em import Parameters, Statistics, expectation, maximization
from gramian.latent.masked_start import starting_points
from gramian.latent.masked_table import MaskedTable, observed_rows
from gramian.latent.noise import ZERO_NOISE
from gramian.solvers.spectrum import positive_signs

RACE_STEPS = 15
SAME_LEVEL = 1e-5  # per observed cell: starts so close have found the same maximum


@dataclass(frozen=True)
class MissingFit:
    """What the maximum likelihood of a table with holes found.

    Attributes
    ----------
    mean : array (d,)
    loadings : array (d, q)
        W, with orthogonal columns of falling length; the largest entry of each is positive.
    noise_variance : float
    log_likelihoods : list of float
        Weighted mean over the rows after each step, never falling.
    n_iter : int
    converged : bool
    """

    mean: Array
    loadings: Array
    noise_variance: float
    log_likelihoods: list[float]
    n_iter: int
    converged: bool


def fit_missing(
    X: Array,
    n_components: int,
    *,
    weights: Array | None = None,
    noise_variance: float | None = None,
    center: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    random_state: Any = None,
    progress: Progress | None = None,
) -> MissingFit:
    """Maximum likelihood of the observed cells of ``X`` (NaN marks a hole), missing at random, by PX-EM [5].

    Parameters
    ----------
    X : array (n, d) of float64 or float32, NaN where not observed
    n_components : int, q
    weights : raw row weights, ones when None; an integer weight equals repeated rows
    noise_variance : None for maximum likelihood, or a fixed number >= 0. At 0 there is no density to maximise (EM does
        not move): the subspace is then that of the maximum-likelihood noise, with W = U Λ^½
    center : estimate the mean, or fix it at 0
    tol : stop when the gain still to come, extrapolated from the last steps (Aitken), is below ``tol / 1000`` per
        observed cell: stricter than a change of ``tol`` in the log-likelihood, which a slow EM meets far from the end
    max_iter : at most so many steps
    random_state : draws the further starts, and the rows of the start where there are too many to use all; None: always
        the same ones, so that a fit is reproducible unless told otherwise
    progress : a bar to step

    Returns
    -------
    MissingFit

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.latent.missing import fit_missing
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 0.1 * rng.standard_normal((200, 6))
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> fit = fit_missing(X, 2)
    >>> fit.converged, round(fit.noise_variance, 2)
    (True, 0.01)
    """
    weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    total_weight = float(weights.sum())
    keep = observed_rows(X) & (weights > 0)
    if not keep.all():  # a row without a cell has the likelihood 1 and moves nothing
        X, weights = X[keep], weights[keep]
    q = n_components
    table = MaskedTable.standardized(X, weights, center)
    shift, scale = table.shift, table.scale
    if scale == 0.0:  # every column constant
        return MissingFit(shift, np.zeros((X.shape[1], q)), noise_variance or 0.0, [], 1, True)
    fixed = None if noise_variance is None else noise_variance / scale**2
    rng = check_random_state(0 if random_state is None else random_state)
    n_threads = blas_threads()
    with single_blas_thread():
        ascend = _Ascend(table, weights, fixed or None, center, n_threads)
        starts = starting_points(table, weights, q, rng, n_threads)
        start, levels = ascend.race(starts if max_iter >= 20 * RACE_STEPS else starts[:1])
        found = ascend(start, levels, tol, max_iter, progress)
    mean = shift + scale * found.parameters.mean[0]
    loadings = scale * canonical_loadings(found.parameters.loadings[0])
    noise = float(found.parameters.noise_variance[0]) * scale**2
    if noise_variance == 0:
        lengths = np.sqrt(np.square(loadings).sum(axis=0))
        loadings = loadings * np.sqrt(1.0 + noise / np.where(lengths > 0, lengths, np.inf) ** 2)
    levels = (np.asarray(found.levels) - found.cells * np.log(scale)) / total_weight
    return MissingFit(
        mean,
        loadings,
        noise if noise_variance is None else float(noise_variance),
        levels.tolist(),
        found.n_iter,
        found.converged,
    )


def canonical_loadings(loadings: Array) -> Array:
    """The same WWᵀ with orthogonal columns, longest first, the largest entry of each positive."""
    U, lengths, _ = np.linalg.svd(loadings, full_matrices=False)
    U = U[:, : loadings.shape[1]]
    out = np.zeros_like(loadings)
    out[:, : U.shape[1]] = U * positive_signs(U) * lengths
    return out


@dataclass(frozen=True)
class _Ascent:
    parameters: Parameters
    levels: list[float]  # the weighted log-likelihood (not its mean) of the scaled table after each step
    n_iter: int
    converged: bool
    cells: float  # weighted number of observed cells


@dataclass(frozen=True)
class _Ascend:
    """PX-EM on one table."""

    table: MaskedTable
    weights: Array
    noise_variance: float | None
    center: bool
    n_threads: int

    def __call__(
        self, parameters: Parameters, levels: list[float], tol: float, max_iter: int, progress: Progress | None
    ) -> _Ascent:
        """Go on after ``levels`` until the gain still to come is negligible, or the noise is zero."""
        parameters = self._with_noise(parameters)
        statistics = self._expectation(parameters)
        cells = float(statistics.cells[0])
        n_before = len(levels)
        levels = levels or [float(statistics.log_likelihood[0])]
        converged = False
        for _ in range(max_iter - n_before):
            candidate = self._maximization(statistics, parameters)
            if self.noise_variance is None and candidate.noise_variance[0] <= ZERO_NOISE:
                parameters, converged = replace(candidate, noise_variance=np.zeros(1)), True
                break
            new = self._expectation(candidate)
            gain = float(new.log_likelihood[0]) - levels[-1]
            if not gain >= 0.0:  # rounding is all that is left
                converged = gain > -1e-9 * max(abs(levels[-1]), cells)
                break
            parameters, statistics = candidate, new
            levels.append(levels[-1] + gain)
            if progress is not None:
                progress.step(log_likelihood=levels[-1] / float(self.weights.sum()))
            converged = gain_to_come(levels) <= tol / 1000.0 * cells
            if converged:
                break
        levels = levels if n_before else levels[1:] or levels  # the start is no step
        return _Ascent(parameters, levels, len(levels), converged, cells)

    def race(self, parameters: Parameters) -> tuple[Parameters, list[float]]:
        """The best of several starts, and its levels: all run some steps, the better third goes on, until one is left."""
        parameters = self._with_noise(parameters)
        levels = np.empty((0, len(parameters.mean)))
        n_steps = RACE_STEPS
        while len(parameters.mean) > 1:
            statistics = self._expectation(parameters)
            for _ in range(n_steps):
                parameters = self._maximization(statistics, parameters)
                floor = np.maximum(parameters.noise_variance, 10.0 * ZERO_NOISE)
                parameters = replace(parameters, noise_variance=floor)
                statistics = self._expectation(parameters)
                levels = np.vstack([levels, statistics.log_likelihood])
            best = _distinct(levels[-1], SAME_LEVEL * float(statistics.cells[0]))
            best = best[: max(len(parameters.mean) // 3, 1)]
            parameters, levels = parameters[best], levels[:, best]
            n_steps *= 2
        return parameters, np.maximum.accumulate(levels[:, 0]).tolist()  # at the maximum rounding goes up and down

    def _with_noise(self, parameters: Parameters) -> Parameters:
        if self.noise_variance is None:
            return parameters
        return replace(parameters, noise_variance=np.full_like(parameters.noise_variance, self.noise_variance))

    def _expectation(self, parameters: Parameters) -> Statistics:
        return expectation(self.table, self.weights, parameters, self.n_threads)

    def _maximization(self, statistics: Statistics, parameters: Parameters) -> Parameters:
        return maximization(statistics, parameters, noise_variance=self.noise_variance, center=self.center)


def _distinct(levels: Array, tolerance: float) -> Array:
    """Positions of the levels, highest first, leaving out those that equal a higher one within the tolerance."""
    order = np.argsort(-levels, kind="stable")
    chosen = [order[0]]
    chosen += [this for before, this in pairwise(order) if levels[before] - levels[this] > tolerance]
    return np.array(chosen)


def gain_to_come(levels: list[float]) -> float:
    """How much an EM may still gain, from the last levels of its log-likelihood (Aitken): Δ ρ / (1 - ρ).

    ρ is the largest ratio of consecutive gains among the last three, so that one lucky step ends nothing; infinite while
    there are too few steps to tell (three, or two of which the second is a tenth of the first).
    """
    gains = np.diff(levels[-5:])
    if gains.size and gains[-1] <= 1e-14 * abs(levels[-1]):
        return 0.0
    if gains.size < 2 or (gains[:-1] <= 0).any():
        return float("inf")
    ratio = float((gains[1:] / gains[:-1]).max())
    if gains.size < 3 and ratio > 0.1:
        return float("inf")
    return float(gains[-1]) * ratio / (1.0 - ratio) if ratio < 1.0 else float("inf")
