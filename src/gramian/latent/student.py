"""Wild rows: the multivariate t with the covariance of PPCA, holes allowed [14].

    x | u ~ N(μ, C / u),   u ~ Gamma(ν/2, ν/2),   C = WWᵀ + σ²I,   E[u | x_o] = (ν + |o|) / (ν + δ_o),

with δ_o the squared Mahalanobis distance of what was seen. A row far from all others counts for little. ν maximises the likelihood at
every step, so the EM is over μ, W and σ² alone; u is expanded too (PX), which for complete rows is PCA with the weights s E[u].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import optimize, special

from gramian._arrays import Array, row_chunks
from gramian._content import merged_copies
from gramian.latent.hole_em import FilledSums, covariance_of, refit
from gramian.latent.masked_em import LOG_2PI, Parameters, Statistics, maximization, row_posterior, row_statistics
from gramian.latent.masked_table import Chunk, block_indicator
from gramian.latent.missing import MissingFit, canonical_loadings
from gramian.latent.squarem import Squarem

LEAST_DEGREES, MOST_DEGREES = 2.0, 1e6
"""ν is kept between: below 2 there is no variance, and above a million the law is the Gaussian to six digits."""
LEAST_NOISE = 1e-10
"""Of the mean variance: rows in a subspace have a likelihood without bound."""


@dataclass(frozen=True)
class StudentFit:
    """The model, its degrees of freedom, and E[u] of each row."""

    model: MissingFit
    degrees_of_freedom: float
    row_weights: Array


def fit_student(
    X: Array,
    start: MissingFit,
    *,
    weights: Array | None = None,
    noise_variance: Any = None,
    center: bool = True,
    degrees_of_freedom: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    blocks: Array | None = None,
) -> StudentFit:
    """Maximum likelihood of the observed cells under the t, from a model that is near already.

    Parameters
    ----------
    X : array (n, d), NaN in the holes
    start : MissingFit
        Of as many components; a robust one: the t does not find back from a start that wild rows own.
    weights : raw row weights, ones when None
    noise_variance : None for maximum likelihood, or a fixed number > 0
    center : estimate the mean, or fix it at 0
    degrees_of_freedom : ν, estimated when None
    tol, max_iter : as in `fit_missing`
    blocks : array (d,), optional
        The block of each column: each has a noise of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.latent.missing import fit_missing
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 6)) + 0.1 * rng.standard_normal((300, 6))
    >>> X[:9] += 5.0 * rng.standard_normal((9, 6))
    >>> found = fit_student(X, fit_missing(X[9:], 2))
    >>> bool(found.row_weights[:9].max() < 0.05 < 0.3 < found.row_weights[9:].min()), round(found.model.noise_variance, 3)
    (True, 0.008)
    """
    raw = np.ones(len(X)) if weights is None else weights
    # shift and scale are those of the start: the mean of wild rows may be far from all others
    unit = float(np.sqrt(np.mean(start.noise_variance) + np.square(start.loadings).sum(axis=1).mean()))
    if unit == 0:  # its limit: rows at the one point that is believed count, and no others
        there = ((start.mean == X) | np.isnan(X)).all(axis=1)
        return StudentFit(
            start, MOST_DEGREES if degrees_of_freedom is None else degrees_of_freedom, there.astype(float)
        )
    shift = start.mean if center else np.zeros(X.shape[1])
    X = np.asarray(X, dtype=np.float64)
    first, raw, which = merged_copies(X, raw)  # where an EM ends hangs on the last digit of its sums
    chunk = Chunk.of((X[first] - shift) / unit, blocks)
    raw = raw * chunk.shown
    fixed = None if noise_variance is None else np.asarray(noise_variance, dtype=np.float64) / unit**2
    problem = _StudentProblem(chunk, raw, fixed, center, degrees_of_freedom)
    noise = np.asarray(start.noise_variance, dtype=np.float64)
    if blocks is not None and noise.ndim == 0:
        noise = np.full(int(blocks.max()) + 1, float(noise))
    begin = Parameters(
        ((start.mean - shift) / unit)[None], (start.loadings / unit)[None], noise[None] / unit**2, blocks
    )
    climbing: Squarem[Parameters, _StudentSums] = Squarem(
        problem.expectation,
        lambda sums: sums.level,
        problem.maximization,
        problem.coordinates,
        problem.at,
        problem.ends,
    )
    cells = float(raw @ chunk.mask.sum(axis=1))
    found = climbing.climb(
        problem.floored(begin), tolerance=tol / 1000 * cells, max_iter=max_iter, scale=cells, per_row=float(raw.sum())
    )
    last = problem.expectation(found.point)
    point = found.point
    levels = (np.asarray(found.levels) - cells * np.log(unit)) / float(raw.sum())
    noise = (
        unit**2 * point.noise_variance[0] if noise_variance is None else np.asarray(noise_variance, dtype=np.float64)
    )
    model = MissingFit(
        shift + unit * point.mean[0],
        unit * canonical_loadings(point.loadings[0]),
        float(noise) if blocks is None else noise,
        levels.tolist(),
        len(levels),
        found.converged,
    )
    return StudentFit(model, last.degrees, np.where(chunk.shown > 0, last.scales, 1.0)[which])


# ---------------------------------------------------------------- the law


def row_scales(distance: Array, counts: Array, degrees: float) -> Array:
    """E[u | x_o] = (ν + |o|) / (ν + δ_o); 1 for ν = ∞."""
    return np.ones_like(distance) if np.isinf(degrees) else (degrees + counts) / (degrees + distance)


def student_log_density(log_density: Array, distance: Array, counts: Array, degrees: float) -> Array:
    """log p of the t from that of the Gaussian of the same μ and C.

    The gamma functions come by way of lnB(ν/2, |o|/2), which keeps its digits when ν is large.

    >>> import numpy as np
    >>> gaussian, one = np.array([-1.4189385]), np.ones(1)  # of x = 1 in one dimension
    >>> student_log_density(gaussian, one, one, 3.0).round(4), student_log_density(gaussian, one, one, 1e12).round(4)
    (array([-1.5763]), array([-1.4189]))
    """
    if np.isinf(degrees):
        return log_density
    half = 0.5 * degrees
    seen = np.maximum(counts, 1.0)
    gammas = np.where(
        counts > 0, special.gammaln(0.5 * seen) - special.betaln(half, 0.5 * seen) - 0.5 * seen * np.log(half), 0.0
    )
    bends = 0.5 * distance - 0.5 * (degrees + counts) * np.log1p(distance / degrees)
    return np.asarray(log_density + gammas + bends)


def best_degrees(distance: Array, counts: Array, weights: Array) -> float:
    """ν of the largest likelihood between its bounds, from δ_o and |o| of the rows."""
    weights = weights / weights.sum()

    def slope(log_degrees: float) -> float:
        half = 0.5 * np.exp(log_degrees)
        ours = half + 0.5 * counts
        scales = ours / (half + 0.5 * distance)
        # psi(a + b) - ln(a + b) by itself keeps its digits where both are large
        rows = _psi_less_log(ours) + np.log(scales) - scales
        return float(weights @ rows + 1.0 - _psi_less_log(half))

    return _root(slope)


def degrees_given(average: float) -> float:
    """ν of the M-step, from the average of E ln u - E u over the rows: the root of ln(ν/2) - ψ(ν/2) + 1 + average.

    >>> degrees_given(-1.0), round(degrees_given(-1.1), 1)
    (inf, 10.3)
    """
    return _root(lambda log_degrees: 1.0 + average - float(_psi_less_log(0.5 * np.exp(log_degrees))))


def _root(slope: Callable[[float], float]) -> float:
    """ν between its bounds where the slope, as a function of ln ν, changes its sign."""
    low, high = np.log(LEAST_DEGREES), np.log(MOST_DEGREES)
    if slope(low) <= 0:
        return LEAST_DEGREES
    if slope(high) >= 0:
        return float("inf")
    return float(np.exp(optimize.brentq(slope, low, high, xtol=1e-10)))


def _psi_less_log(x: Any) -> Any:
    """ψ(x) - ln x; by its series where x is large."""
    x = np.asarray(x, dtype=np.float64)
    return np.where(x > 1e4, -0.5 / x - 1.0 / (12.0 * x**2), special.digamma(x) - np.log(x))


# ---------------------------------------------------------------- EM


def rescale(moved: Parameters, sums: Statistics, masses: Array, cells: Array, *, expand: bool) -> Parameters:
    """The M-step of the t from that of rows with the weights s u, for K Gaussians.

    ``masses`` (K,) and ``cells`` (K, d) are sums of s alone, by which the t divides. With ``expand`` u itself is expanded (PX), which a fixed
    or shared noise does not allow.
    """
    alpha = sums.totals[-1] / masses
    scaled, plain = sums.second[-1], cells
    if moved.blocks is None:
        share = scaled.sum(axis=1) / plain.sum(axis=1)
    else:
        indicator = block_indicator(moved.blocks)
        share = (scaled @ indicator) / (plain @ indicator)
        alpha = alpha[:, None]
    noise = moved.noise_variance * share
    if expand:
        return replace(moved, noise_variance=noise / alpha)
    return replace(moved, loadings=moved.loadings * np.sqrt(alpha).reshape(-1, 1, 1), noise_variance=noise)


@dataclass(frozen=True)
class _StudentSums:
    sums: Any  # Statistics, or FilledSums of complete rows
    level: float
    degrees: float
    scales: Array


@dataclass(frozen=True)
class _StudentProblem:
    """The t likelihood of rows in memory."""

    chunk: Chunk
    weights: Array
    fixed: Any
    center: bool
    degrees: float | None

    @property
    def counts(self) -> Array:
        return self.chunk.mask.sum(axis=1)

    @property
    def is_closed(self) -> bool:
        """Whether each step is PCA with weights: complete rows, not too wide, and a noise to be found."""
        n, d = self.chunk.mask.shape
        return self.fixed is None and self.chunk.counts.ndim == 1 and d <= n and bool(self.chunk.mask.all())

    def expectation(self, parameters: Parameters) -> _StudentSums:
        if self.is_closed:
            return self._closed(parameters)
        parts = [(rows, row_posterior(self.chunk[rows], parameters)) for rows in row_chunks(len(self.weights))]
        distance = np.concatenate([part.distance[0] for _, part in parts])
        density = np.concatenate([part.log_density[0] for _, part in parts])
        degrees, scales, level = self._law(distance, density)
        total: Statistics | None = None
        for rows, part in parts:
            found = row_statistics(self.chunk[rows], part, self.weights[rows], scales[rows])
            total = found if total is None else total + found
        return _StudentSums(total, level, degrees, scales)

    def _law(self, distance: Array, density: Array) -> tuple[float, Array, float]:
        degrees = best_degrees(distance, self.counts, self.weights) if self.degrees is None else self.degrees
        level = float(self.weights @ student_log_density(density, distance, self.counts, degrees))
        return degrees, row_scales(distance, self.counts, degrees), level

    def _closed(self, parameters: Parameters) -> _StudentSums:
        mean, d = parameters.mean[0], self.chunk.mask.shape[1]
        root = np.linalg.cholesky(covariance_of(parameters))
        residuals = self.chunk.values - mean
        whitened = np.linalg.solve(root, residuals.T)
        distance = np.einsum("dn,dn->n", whitened, whitened)
        density = -0.5 * (distance + d * LOG_2PI) - np.log(root.diagonal()).sum()
        degrees, scales, level = self._law(distance, density)
        weighted = (self.weights * scales)[:, None] * residuals
        mass = float(self.weights @ scales)
        return _StudentSums(
            FilledSums(weighted.sum(axis=0), weighted.T @ residuals, mass, level), level, degrees, scales
        )

    def maximization(self, found: _StudentSums, parameters: Parameters) -> Parameters:
        if isinstance(found.sums, FilledSums):
            return self.floored(refit(found.sums, parameters, self.center))
        moved = maximization(found.sums, parameters, noise_variance=self.fixed, center=self.center)
        masses, cells = np.full(1, self.weights.sum()), (self.weights @ self.chunk.mask)[None]
        scaled = rescale(moved, found.sums, masses, cells, expand=self.fixed is None)
        return self.floored(scaled if self.fixed is None else replace(scaled, noise_variance=moved.noise_variance))

    def floored(self, parameters: Parameters) -> Parameters:
        return replace(parameters, noise_variance=np.maximum(parameters.noise_variance, LEAST_NOISE))

    def coordinates(self, point: Parameters) -> list[Array]:
        parts = [point.loadings]
        if self.center:
            parts.append(point.mean)
        if self.fixed is None:
            parts.append(np.log(point.noise_variance))
        return parts

    def at(self, point: Parameters, parts: Any) -> Parameters:
        loadings, *others = parts
        mean = others.pop(0) if self.center else point.mean
        noise = np.exp(others.pop(0)) if others else point.noise_variance
        return self.floored(replace(point, mean=mean, loadings=loadings, noise_variance=noise))

    def ends(self, point: Parameters) -> bool:
        return self.fixed is None and bool((point.noise_variance <= LEAST_NOISE).all())
