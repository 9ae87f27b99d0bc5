"""Probabilistic PCA of a table with holes: exact maximum likelihood of the observed cells by PX-EM with SQUAREM [5, 13]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_scale, starting_generator
from gramian._precision import HALF_DIGITS, ROUNDING
from gramian._progress import Progress
from gramian._types import Points, RandomState
from gramian.latent.hole_em import FilledSums, block_filled, covariance_of, refit
from gramian.latent.masked_em import Parameters, Statistics, block_statistics, maximization
from gramian.latent.masked_start import Spread, random_starts, rows_spread, start_from, with_random
from gramian.latent.masked_table import ColumnSums, column_sums, masked_chunk
from gramian.latent.squarem import Climbed, Squarem
from gramian.rows import Rows, as_rows
from gramian.rows.draws import merged_rows
from gramian.solvers.spectrum import positive_signs


@dataclass(frozen=True)
class MissingFit:
    """What the maximum likelihood of a table with holes found.

    Attributes
    ----------
    mean : array (d,)
    loadings : array (d, q)
        W, with orthogonal columns of falling length; the largest entry of each is positive.
    noise_variance : float, or array (B,) with a noise per block
    log_likelihoods : list of float
        Weighted mean over the rows that show a cell, at each accepted point; never falling.
    n_iter : int
    converged : bool
    """

    mean: Annotated[Array, "d"]
    loadings: Annotated[Array, "d q"]
    noise_variance: Any
    log_likelihoods: Annotated[list[float], "*: number"]
    n_iter: Annotated[int, "count"]
    converged: bool


def fit_missing(
    X: Points,
    n_components: int,
    *,
    weights: Array | None = None,
    noise_variance: Any = None,
    center: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    random_state: RandomState = None,
    progress: Progress | None = None,
    blocks: Array | None = None,
    start: MissingFit | None = None,
) -> MissingFit:
    """Maximum likelihood of the observed cells of ``X`` (NaN marks a hole), missing at random, by PX-EM [5].

    Parameters
    ----------
    X : array (n, d) of float64 or float32, NaN where not observed, or `Rows`
    n_components : int, q
    weights : raw row weights, ones when None; an integer weight equals repeated rows
    noise_variance : None for maximum likelihood, or a fixed number >= 0. At 0 there is no density to maximise (EM does
        not move): the subspace is then that of the maximum-likelihood noise, with W = U Λ^½. With ``blocks`` also one per block, NaN
        where it is to be estimated
    center : estimate the mean, or fix it at 0
    tol : stop when the gain still to come, extrapolated from the last steps, is below ``tol / 1000`` per
        observed cell: stricter than a change of ``tol`` in the log-likelihood, which a slow EM meets far from the end
    max_iter : at most so many accepted points, each of two steps of EM
    random_state : draws the further starts; None: always the same ones, so that a fit is reproducible unless told otherwise
    progress : a bar to step
    blocks : array (d,), optional
        The block 0, ..., B-1 of each column: each block has a noise of its own.
    start : MissingFit, optional
        A model of as many components that is near already, such as that of a part of the rows: no starts are raced.

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
    rows = as_rows(X, None if weights is None else np.asarray(weights, dtype=np.float64))
    problem = MissingProblem.of(rows, noise_variance=noise_variance, center=center, blocks=blocks)
    if problem.scale == 0.0:  # every column constant
        return problem.constant(n_components)
    rng = starting_generator(random_state)
    if start is not None:
        return problem.result(problem.climb(problem.scaled(start), tol, max_iter, progress))
    first = problem.start(n_components)
    others = problem.random_starts(n_components)
    before: list[float] = []
    if others and max_iter >= 24:  # a race takes most of that
        first, before = problem.race(with_random(first, others, rng))
    found = problem.climb(first, tol, max(max_iter - len(before), 1), progress)
    # a race holds the noise a little above 0, and a climb does not; and rounding is no loss
    raced = [level for level in np.maximum.accumulate(before).tolist() if level <= found.levels[0]] if before else []
    return problem.result(replace(found, levels=raced + found.levels))


@dataclass(frozen=True)
class MissingProblem:
    """The likelihood of the observed cells of some rows, shifted and scaled once for all starts and all q."""

    rows: Rows  # prepared by `masked_chunk`
    sums: ColumnSums
    shift: Array
    scale: float
    noise_variance: Any  # fixed, in units of the data: None, a number, or one per block with NaN
    center: bool
    blocks: Array | None
    leaps: bool = True

    @classmethod
    def of(
        cls, rows: Rows, *, noise_variance: Any = None, center: bool = True, blocks: Array | None = None
    ) -> MissingProblem:
        """Raises ValueError if a column shows no value, or if squares would overflow."""
        rows = merged_rows(rows)
        sums = rows.fold(column_sums)
        shift, scale = sums.location_and_scale(center)
        if not scale > 8 * np.finfo(float).eps * float(np.abs(sums.mean).max(initial=0.0)):
            scale = 0.0
        if scale > 0.0:
            check_scale(scale)
            rows = rows.prepare(masked_chunk, shift, scale, blocks)
        return cls(rows, sums, shift, scale, noise_variance, center, blocks)

    @property
    def cells(self) -> float:
        """Weighted number of observed cells."""
        return float(self.sums.counts.sum())

    @property
    def dim(self) -> int:
        return len(self.shift)

    @cached_property
    def fixed(self) -> Any:
        """The fixed noise in scaled units, None where it is estimated; a plain 0, or next to it, is estimated too."""
        if self.noise_variance is None or self.as_zero:
            return None
        fixed = np.asarray(self.noise_variance, dtype=np.float64) / self.scale**2
        return fixed if self.blocks is not None else float(fixed)

    @property
    def as_zero(self) -> bool:
        """Whether one noise is given, and is 0 beside the data."""
        given = self.noise_variance
        return (
            given is not None and np.ndim(given) == 0 and bool(given / self.scale**2 < 1e-100)
        )  # else the products of EM overflow

    # ------------------------------------------------------------ starts

    @cached_property
    def spread(self) -> Spread:
        return rows_spread(self.rows, self.shift, self.scale, 0)

    def start(self, q: int) -> Parameters:
        """From the covariance over pairs of observed cells."""
        return self.settled(start_from(self.spread, q, np.zeros(self.dim)))

    def settled(self, parameters: Parameters) -> Parameters:
        """With the blocks, and the fixed noise where there is one."""
        noise = parameters.noise_variance
        if self.blocks is not None and noise.ndim == 1:
            noise = np.repeat(noise[:, None], int(self.blocks.max()) + 1, axis=1)
        if self.fixed is not None:
            noise = np.where(np.isnan(self.fixed), noise, self.fixed)
        return replace(parameters, noise_variance=noise, blocks=self.blocks)

    def scaled(self, fit: MissingFit) -> Parameters:
        """A model in units of the data as a point of this problem; the inverse of `result`."""
        mean, loadings = (fit.mean - self.shift) / self.scale, fit.loadings / self.scale
        noise = np.asarray(fit.noise_variance, dtype=np.float64) / self.scale**2
        return self.settled(Parameters(mean[None], loadings[None], noise[None]))

    def random_starts(self, q: int) -> int:
        return random_starts(q, self.cells, int(self.sums.shown), self.dim)

    def race(
        self, parameters: Parameters, n_steps: int = 6, same_level: float = 1e-5
    ) -> tuple[Parameters, list[float]]:
        """The best of several starts: all run some steps, the better third goes on for twice as many, until one is left.

        With the log-likelihoods of the steps by which the best one came. Starts whose levels differ by less than ``same_level`` per
        observed cell have found the same maximum.
        """
        parameters = self.settled(parameters)
        levels = np.empty((0, len(parameters.mean)))
        while len(parameters.mean) > 1:
            statistics = self.expectation(parameters)
            for _ in range(n_steps):
                parameters = self.maximization(statistics, parameters)
                parameters = _with_noise(parameters)
                statistics = self.expectation(parameters)
                levels = np.vstack([levels, statistics.log_likelihood])
            best = _distinct(statistics.log_likelihood, same_level * self.cells)[: max(len(parameters.mean) // 3, 1)]
            parameters, levels = parameters[best], levels[:, best]
            n_steps *= 2
        return parameters, levels[:, 0].tolist()

    # ------------------------------------------------------------ steps

    def expectation(self, parameters: Parameters) -> Statistics:
        return self.rows.fold(block_statistics, parameters)

    def maximization(self, statistics: Statistics, parameters: Parameters) -> Parameters:
        found = maximization(statistics, parameters, noise_variance=self.fixed, center=self.center)
        if self.blocks is None:
            return found
        return replace(found, noise_variance=np.maximum(found.noise_variance, HALF_DIGITS))

    def climb(
        self, start: Parameters, tol: float, max_iter: int, progress: Progress | None = None
    ) -> Climbed[Parameters]:
        """To the maximum, from one starting point: by the holes while that is less work and there is noise, else by PX-EM."""
        options: dict[str, Any] = {
            "tolerance": tol / 1000.0 * self.cells,
            "scale": self.cells,
            "progress": progress,
            "per_row": self.sums.shown,
        }
        start = self.settled(start if self.fixed is not None else _with_noise(start))
        before: list[float] = []
        if self.by_holes(start):
            by_holes: Squarem[Parameters, FilledSums] = Squarem(
                lambda point: self.rows.fold(block_filled, point.mean[0], covariance_of(point)),
                lambda sums: sums.log_likelihood,
                lambda sums, point: refit(sums, point, self.center, self.fixed),
                self._coordinates,
                self._at,
                _has_little_noise,
                self.leaps,
            )
            found = by_holes.climb(start, max_iter=max_iter, **options)
            if not _has_little_noise(found.point) or self.ends(found.point) or len(found.levels) >= max_iter:
                return found
            start, before = found.point, found.levels
        by_latents: Squarem[Parameters, Statistics] = Squarem(
            self.expectation,
            lambda sums: float(sums.log_likelihood[0]),
            self.maximization,
            self._coordinates,
            self._at,
            self.ends,
            self.leaps,
        )
        found = by_latents.climb(start, max_iter=max_iter - len(before), **options)
        return replace(found, levels=before + found.levels)

    def by_holes(self, start: Parameters) -> bool:
        """Whether the rows have so few holes, of so few columns, that the holes are less work than q latents per row."""
        q = start.n_components
        if (
            self.blocks is not None
            or q >= self.dim
            or _has_little_noise(start)
            or (start.noise_variance > 1e6).any()  # the determinants of its inverse vanish
        ):
            return False
        holes = self.dim - self.cells / self.sums.shown
        # both ways cost the same at about 0.6 holes per latent (5,000 rows, 50 columns)
        return holes <= 0.55 * q and self.dim <= min(q**2, self.sums.n_shown)

    def _coordinates(self, point: Parameters) -> list[Array]:
        """What is free: mean, loadings, log noise."""
        parts = [point.loadings]
        if self.center:
            parts.append(point.mean)
        if self.fixed is None or np.isnan(self.fixed).any():
            parts.append(np.log(point.noise_variance))
        return parts

    def _at(self, point: Parameters, parts: Sequence[Array]) -> Parameters:
        loadings, *others = parts
        mean = others.pop(0) if self.center else point.mean
        noise = np.exp(others.pop(0)) if others else point.noise_variance
        return self.settled(replace(point, mean=mean, loadings=loadings, noise_variance=noise))

    def ends(self, point: Parameters) -> bool:
        """The noise is zero: nothing is left to maximise."""
        return self.fixed is None and self.blocks is None and bool(point.noise_variance[0] <= ROUNDING)

    # ------------------------------------------------------------ results

    def constant(self, q: int) -> MissingFit:
        """Every column constant."""
        noise = 0.0 if self.noise_variance is None else self.noise_variance
        return MissingFit(self.shift, np.zeros((self.dim, q)), noise, [], 1, True)

    def result(self, found: Climbed[Parameters]) -> MissingFit:
        """In units of the data, with loadings in their canonical form."""
        parameters = found.point
        scale = self.scale
        mean = self.shift + scale * parameters.mean[0]
        loadings = scale * canonical_loadings(parameters.loadings[0])
        if self.center:  # a column that shows one value has that mean and no loadings, to the last digit
            mean = np.where(self.sums.scatter > 0, mean, self.shift)
            loadings[self.sums.scatter == 0] = 0.0
        noise = parameters.noise_variance[0] * scale**2
        if self.ends(parameters):
            noise = np.zeros_like(noise)
        if self.blocks is None:
            noise = float(noise)
            if self.as_zero:
                lengths = np.sqrt(np.square(loadings).sum(axis=0))
                loadings = loadings * np.sqrt(1.0 + noise / np.where(lengths > 0, lengths, np.inf) ** 2)
            if self.noise_variance is not None:
                noise = float(self.noise_variance)
        levels = (np.asarray(found.levels) - self.cells * np.log(scale)) / self.sums.shown
        return MissingFit(mean, loadings, noise, levels.tolist(), len(found.levels), found.converged)


def canonical_loadings(loadings: Array) -> Array:
    """The same WWᵀ with orthogonal columns, longest first, the largest entry of each positive."""
    U, lengths, _ = np.linalg.svd(loadings, full_matrices=False)
    U = U[:, : loadings.shape[1]]
    out = np.zeros_like(loadings)
    out[:, : U.shape[1]] = U * positive_signs(U) * lengths
    return out


def _with_noise(point: Parameters) -> Parameters:
    """The same with a noise that can be divided by: a point without any (a model of fewer cells, say) is no start."""
    return replace(point, noise_variance=np.maximum(point.noise_variance, 10.0 * ROUNDING))


def _has_little_noise(point: Parameters) -> bool:
    return bool(point.noise_variance[0] <= HALF_DIGITS)


def _distinct(levels: Array, tolerance: float) -> Array:
    """Positions of the levels, highest first; of those that equal each other within the tolerance the first, whatever rounding says."""
    order = np.argsort(-levels, kind="stable")
    groups = [[order[0]]]
    for before, this in pairwise(order):
        if levels[before] - levels[this] > tolerance:
            groups.append([])
        groups[-1].append(this)
    return np.array([min(group) for group in groups])
