"""Probabilistic PCA of a table with holes: exact maximum likelihood of the observed cells by PX-EM [5].

Row i shows the cells o_i. With V = W / σ its posterior is one small symmetric system,

    M_i = I + V_oᵀV_o,   b_i = V_oᵀ(x_o - μ_o) / σ,   E[z | x_o] = M_i⁻¹ b_i,   Cov[z | x_o] = M_i⁻¹,

and M_i, b_i and g_i = |x_o - μ_o|² / σ² of all rows of a chunk come from two matrix products (the mask and the data,
each with a small table made of V and μ), whatever the patterns of the holes are. The systems are kept as a structure of
arrays, one vector over the rows an entry, so that the elimination is vectorised over rows. Several Gaussians go through
the same products together: the components of a mixture, or the starts of a fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gramian._arrays import Array, blas_threads, row_chunks, single_blas_thread, symmetrized, thread_map
from gramian._checks import check_random_state, check_scale
from gramian._progress import Progress
from gramian.latent.noise import ZERO_NOISE
from gramian.solvers.spectrum import positive_signs

CACHE_BYTES = 2**29  # prepared tables above this are made anew, chunk by chunk, in each step
PAIRWISE_COLUMNS = 1000  # up to so many columns the start sees every pair of them
SAMPLE_ROWS = 2000  # above, it sees so many rows
FEW_HOLES = 0.15
MANY_CELLS = 150.0
RANDOM_STARTS = 26
RACE_STEPS = 15
SAME_LEVEL = 1e-5  # per observed cell: starts so close have found the same maximum
LOG_2PI = float(np.log(2.0 * np.pi))


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


@dataclass(frozen=True)
class Parameters:
    """μ (K, d), W (K, d, q) and σ² > 0 (K,) of K Gaussians; shorter W are padded with columns of 0, which EM leaves."""

    mean: Array
    loadings: Array
    noise_variance: Array

    @property
    def n_components(self) -> int:
        return int(self.loadings.shape[2])

    def __getitem__(self, which: Any) -> Parameters:
        """Some of the Gaussians."""
        return Parameters(self.mean[which], self.loadings[which], self.noise_variance[which])


@dataclass(frozen=True)
class Chunk:
    """Some rows, ready for products: values with 0 in the holes, 1 and 0 for seen and not, |x_o|² and |o| a row."""

    values: Array
    mask: Array
    squares: Array
    counts: Array


@dataclass(frozen=True)
class MaskedTable:
    """The rows of a table with holes, shifted and scaled, in chunks. ``cache`` holds them if they are small enough."""

    X: Array
    shift: Array
    scale: float
    cache: list[Chunk] | None = None

    @classmethod
    def of(cls, X: Array, shift: Array, scale: float = 1.0) -> MaskedTable:
        table = cls(X, shift, scale)
        small = 16 * X.shape[0] * X.shape[1] <= CACHE_BYTES
        return replace(table, cache=[table._chunk(rows) for rows in table.rows()]) if small else table

    def rows(self) -> list[slice]:
        return list(row_chunks(self.X.shape[0]))

    def _chunk(self, rows: slice) -> Chunk:
        values = self.X[rows] - self.shift  # float64, as the shift is
        values /= self.scale
        holes = np.isnan(values)
        np.copyto(values, 0.0, where=holes)
        mask = np.subtract(1.0, holes)
        return Chunk(values, mask, np.einsum("ij,ij->i", values, values), mask.sum(axis=1))

    def chunk(self, index: int, rows: slice) -> Chunk:
        return self.cache[index] if self.cache is not None else self._chunk(rows)

    def chunks(self) -> Iterator[tuple[slice, Chunk]]:
        for index, rows in enumerate(self.rows()):
            yield rows, self.chunk(index, rows)


@dataclass(frozen=True)
class RowPosterior:
    """z | x_o of each row of a chunk under each of K Gaussians, and log p(x_o) (K, n).

    ``mean`` is (q, K, n); ``covariance`` (q (q + 1) / 2, K, n) holds the lower triangle, row by row.
    """

    mean: Array
    covariance: Array
    log_density: Array


@dataclass(frozen=True)
class Statistics:
    """Weighted sums of the E-step that the M-step needs; those of two sets of rows add up.

    ``second`` (q (q + 1) / 2 + q + 1, K, d): Σ s_i m_ij of E[zzᵀ] (lower triangle), E[z] and 1. ``first`` (q + 1, K, d):
    Σ s_i x_ij of E[z] and 1. ``totals``: Σ s_i of E[zzᵀ], E[z] and 1. ``square`` (K,): Σ s_i |x_o|². ``log_likelihood``
    (K,): Σ s_i log p(x_o).
    """

    second: Array
    first: Array
    totals: Array
    square: Array
    log_likelihood: Array

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.second + other.second,
            self.first + other.first,
            self.totals + other.totals,
            self.square + other.square,
            self.log_likelihood + other.log_likelihood,
        )

    def __getitem__(self, which: Any) -> Statistics:
        """Those of some of the Gaussians."""
        return Statistics(
            self.second[:, which],
            self.first[:, which],
            self.totals[:, which],
            self.square[which],
            self.log_likelihood[which],
        )

    @property
    def cells(self) -> Array:
        """Weighted number of observed cells, (K,)."""
        return self.second[-1].sum(axis=-1)


# ---------------------------------------------------------------- the E-step


def row_posterior(chunk: Chunk, parameters: Parameters) -> RowPosterior:
    """E[z | x_o], Cov[z | x_o] and log p(x_o) of the rows of a chunk [2, partial; 5, E]."""
    q, noise = parameters.n_components, parameters.noise_variance
    size = q * (q + 1) // 2
    lower, other = np.tril_indices(q)
    sigma = np.sqrt(noise)
    V = np.moveaxis(parameters.loadings, 2, 0) / sigma[:, None]  # (q, K, d)
    shifted = parameters.mean / sigma[:, None]
    by_mask = np.concatenate([V[lower] * V[other], -V * shifted, shifted[None] ** 2])
    by_value = np.concatenate([V, -2.0 * shifted[None]]) / sigma[:, None]
    systems = _product(by_mask, chunk.mask.T)  # the lower triangle of [[M - I, b], [bᵀ, g]], (size + q + 1, K, n)
    systems[size:] += _product(by_value, chunk.values.T)
    systems[-1] += chunk.squares / noise[:, None]
    for k in range(q):
        systems[k * (k + 3) // 2] += 1.0
    log_determinant = _eliminate(systems, q)
    distance = np.maximum(systems[-1], 0.0)
    log_density = -0.5 * (chunk.counts * (LOG_2PI + np.log(noise))[:, None] + log_determinant + distance)
    return RowPosterior(systems[size:-1], -systems[:size], log_density)


def _product(left: Array, right: Array) -> Array:
    """(a, K, b) by (b, c), as one matrix product."""
    return (left.reshape(-1, left.shape[2]) @ right).reshape(*left.shape[:2], right.shape[1])


def _eliminate(systems: Array, q: int) -> Array:
    """Sweep the first q pivots of packed symmetric systems in place; return log|M|.

    [[M, b], [bᵀ, g]] becomes [[-M⁻¹, M⁻¹b], [bᵀM⁻¹, g - bᵀM⁻¹b]]. Every pivot is at least 1, so none needs a search.
    """
    starts = [i * (i + 1) // 2 for i in range(q + 1)]
    log_determinant = np.zeros(systems.shape[1:])
    product = np.ones(systems.shape[1:])
    for k in range(q):
        positions = [starts[max(i, k)] + min(i, k) for i in range(q + 1)]
        column = systems[positions]
        pivot = column[k].copy()
        product *= pivot
        if k % 8 == 7:  # logarithms are dear, and eight pivots cannot overflow
            log_determinant += np.log(product)
            product[:] = 1.0
        scaled = column / pivot
        for i in range(q + 1):
            systems[starts[i] : starts[i] + i + 1] -= scaled[i] * column[: i + 1]
        systems[positions] = scaled
        systems[starts[k] + k] = -1.0 / pivot
    if q % 8:
        log_determinant += np.log(product)
    return log_determinant


def row_statistics(chunk: Chunk, posterior: RowPosterior, weights: Array) -> Statistics:
    """The sums over a chunk that the M-step needs, with weights (n,) or (K, n): two matrix products."""
    q, n_models, n = posterior.mean.shape
    size = q * (q + 1) // 2
    lower, other = np.tril_indices(q)
    weights = np.broadcast_to(weights, (n_models, n))
    stacked = np.empty((size + q + 1, n_models, n))
    np.multiply(posterior.mean[lower], posterior.mean[other], out=stacked[:size])
    stacked[:size] += posterior.covariance
    stacked[size:-1] = posterior.mean
    stacked[-1] = 1.0
    stacked *= weights
    return Statistics(
        _product(stacked, chunk.mask),
        _product(stacked[size:], chunk.values),
        stacked.sum(axis=2),
        weights @ chunk.squares,
        np.einsum("kn,kn->k", weights, posterior.log_density),
    )


def expectation(table: MaskedTable, weights: Array, parameters: Parameters, n_threads: int = 1) -> Statistics:
    """The E-step over all rows, chunk by chunk."""

    def one(item: tuple[int, slice]) -> Statistics:
        index, rows = item
        chunk = table.chunk(index, rows)
        return row_statistics(chunk, row_posterior(chunk, parameters), weights[..., rows])

    parts = thread_map(one, enumerate(table.rows()), n_threads)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


# ---------------------------------------------------------------- the M-step


def maximization(
    statistics: Statistics, parameters: Parameters, *, noise_variance: float | None = None, center: bool = True
) -> Parameters:
    """The M-step for each column's [w_j; μ_j], then the parameter expansion of PX-EM [5].

    With zb = mean E[z] and Ψ = mean E[zzᵀ] - zb zbᵀ = LLᵀ: μ += W zb, W ← WL. Without ``center`` the mean is 0 and
    stays: Ψ without - zb zbᵀ, no shift. A column that no row of the sums shows keeps its old loadings and mean.
    """
    q = parameters.n_components
    size = q * (q + 1) // 2
    loadings, mean = _regress_columns(statistics, parameters, center)
    noise = np.full_like(parameters.noise_variance, noise_variance or 0.0)
    if noise_variance is None:
        noise = squared_error(statistics, loadings, mean) / statistics.cells
    average = (statistics.totals[size:-1] / statistics.totals[-1]).T  # (K, q)
    spread = _unpack(statistics.totals[:size] / statistics.totals[-1], q)
    if center:
        spread = spread - average[:, :, None] * average[:, None, :]
        mean = mean + np.einsum("kdq,kq->kd", loadings, average)
    return Parameters(mean, loadings @ _lower_factor(spread), noise)


def squared_error(statistics: Statistics, loadings: Array, mean: Array) -> Array:
    """Σ s_i E|x_o - μ_o - W_o z|² (K,): at the solution of the normal equations what they leave of Σ s_i |x_o|²."""
    explained = np.einsum("qkd,kdq->k", statistics.first[:-1], loadings)
    explained += np.einsum("kd,kd->k", statistics.first[-1], mean)
    return np.maximum(statistics.square - explained, 0.0)


def _regress_columns(statistics: Statistics, parameters: Parameters, center: bool) -> tuple[Array, Array]:
    """[w_j; μ_j] of every column from its own rows: q x q normal equations, the mean eliminated first."""
    q = parameters.n_components
    size = q * (q + 1) // 2
    counts, latent = statistics.second[-1], statistics.second[size:-1]
    seen = counts > 1e-12 * statistics.totals[-1][:, None]
    safe = np.where(seen, counts, 1.0)
    products, second = statistics.first[:-1], _unpack(statistics.second[:size], q)
    if center:
        products = products - latent * (statistics.first[-1] / safe)
        second = second - np.einsum("ikd,jkd->kdij", latent / safe, latent)
    second[~seen] = np.eye(q)
    loadings = np.where(seen[..., None], _solve(second, np.moveaxis(products, 0, -1)), parameters.loadings)
    if not center:
        return loadings, parameters.mean
    mean = (statistics.first[-1] - np.einsum("kdq,qkd->kd", loadings, latent)) / safe
    return loadings, np.where(seen, mean, parameters.mean)


def _unpack(packed: Array, q: int) -> Array:
    """(..., q, q) symmetric matrices from the lower triangles along the first axis of ``packed``."""
    full = np.empty((*packed.shape[1:], q, q))
    lower, other = np.tril_indices(q)
    full[..., lower, other] = np.moveaxis(packed, 0, -1)
    full[..., other, lower] = full[..., lower, other]
    return full


def _solve(matrices: Array, right: Array) -> Array:
    """Solve positive definite systems; as the noise vanishes they may become singular: then the shortest solution."""
    try:
        return np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0])
    except np.linalg.LinAlgError:
        return np.einsum("...ij,...j->...i", np.linalg.pinv(matrices, rcond=1e-14, hermitian=True), right)


def _lower_factor(matrices: Array) -> Array:
    """The lower Cholesky factor, with the little that rounding may lack on the diagonal."""
    try:
        return np.asarray(np.linalg.cholesky(matrices))
    except np.linalg.LinAlgError:
        q = matrices.shape[-1]
        values, vectors = np.linalg.eigh(matrices)
        values = np.maximum(values, 1e-14 * np.maximum(values[..., -1:], 1e-300))
        return np.asarray(
            np.linalg.cholesky((vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2) + 0.0 * np.eye(q))
        )


# ---------------------------------------------------------------- the fit


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
    shift, scale = location_and_scale(X, weights, center)
    q = n_components
    if scale == 0.0:  # every column constant
        return MissingFit(shift, np.zeros((X.shape[1], q)), noise_variance or 0.0, [], 1, True)
    check_scale(scale)
    fixed = None if noise_variance is None else noise_variance / scale**2
    rng = check_random_state(0 if random_state is None else random_state)
    n_threads = blas_threads()
    with single_blas_thread():
        table = MaskedTable.of(X, shift, scale)
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


def observed_rows(X: Array) -> Array:
    """Which rows show at least one cell."""
    return np.concatenate([~np.isnan(X[rows]).all(axis=1) for rows in row_chunks(X.shape[0])])


def location_and_scale(X: Array, weights: Array, center: bool) -> tuple[Array, float]:
    """The mean of each column's observed cells (0 without ``center``), and the root of their mean variance.

    Raises
    ------
    ValueError
        if no cell, or no cell of a column, is observed.
    """
    guess = _first_means(X) if center else np.zeros(X.shape[1])
    counts, sums, squares, unit = _sums_about(X, weights, guess)
    if not counts.any():
        raise ValueError("All cells of X are missing: nothing to fit. Give at least one observed cell in every column.")
    empty = np.flatnonzero(counts == 0)
    if empty.size:
        columns = ", ".join(map(str, empty[:10])) + (", ..." if empty.size > 10 else "")
        raise ValueError(f"X has no observed value in column {columns} (all NaN). Drop it, or fill in what is known.")
    if not center:
        return guess, unit * float(np.sqrt(squares / counts.sum()))
    moved = sums / counts
    mean, spread = guess + unit * moved, squares - float(counts @ moved**2)
    if not spread > 1e-6 * squares:  # the guess was poor: what is left has lost its digits
        _, _, spread, unit = _sums_about(X, weights, mean)
    return mean, unit * float(np.sqrt(max(spread, 0.0) / counts.sum()))


def _first_means(X: Array) -> Array:
    """A point near the data: the means of what the first rows show, or of all rows where those show nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns without values
        means = np.nanmean(X[:256].astype(np.float64), axis=0)
        missing = np.flatnonzero(np.isnan(means))
        if missing.size and len(X) > 256:
            means[missing] = np.nanmean(X[:, missing].astype(np.float64), axis=0)
    return np.where(np.isfinite(means), means, 0.0)


def _sums_about(X: Array, weights: Array, point: Array) -> tuple[Array, Array, float, float]:
    """Weighted counts and sums a column and the sum of squares of x - point over observed cells, and the unit of both.

    The unit is the largest first deviation, so that the squares neither overflow nor vanish.
    """
    d = X.shape[1]
    counts, sums, squares, unit = np.zeros(d), np.zeros(d), 0.0, 0.0
    for rows in row_chunks(X.shape[0]):
        values = X[rows] - point  # float64, as the point is
        seen = ~np.isnan(values)
        np.copyto(values, 0.0, where=~seen)
        counts += weights[rows] @ seen
        largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        if largest == 0.0:
            continue
        if unit == 0.0:
            unit = largest
        elif not 1e-100 < largest / unit < 1e100:
            sums, squares, unit = sums * (unit / largest), squares * (unit / largest) ** 2, largest
        values /= unit
        sums += weights[rows] @ values
        squares += float(weights[rows] @ np.einsum("nd,nd->n", values, values))
    return counts, sums, squares, unit


def canonical_loadings(loadings: Array) -> Array:
    """The same WWᵀ with orthogonal columns, longest first, the largest entry of each positive."""
    U, lengths, _ = np.linalg.svd(loadings, full_matrices=False)
    U = U[:, : loadings.shape[1]]
    out = np.zeros_like(loadings)
    out[:, : U.shape[1]] = U * positive_signs(U) * lengths
    return out


def starting_points(
    table: MaskedTable, weights: Array, q: int, rng: np.random.Generator, n_threads: int = 1
) -> Parameters:
    """The start from the covariance, and random ones where a likelihood of several maxima must be feared.

    With less than `FEW_HOLES` of the cells missing, or more than `MANY_CELLS` cells a parameter, all starts were seen to
    end in one maximum, and the covariance finds it at once.
    """
    n, d = table.X.shape
    start = covariance_start(table, weights, q, rng, n_threads)
    cells = float(sum(chunk.counts.sum() for _, chunk in table.chunks()))
    if q == 0 or cells > (1.0 - FEW_HOLES) * n * d or cells > MANY_CELLS * d * (q + 1):
        return start
    shape = (RANDOM_STARTS, d, q)
    loadings = rng.standard_normal(shape) / np.sqrt(2.0 * q)
    return Parameters(
        np.concatenate([start.mean, np.zeros(shape[:2])]),
        np.concatenate([start.loadings, loadings]),
        np.concatenate([start.noise_variance, np.full(RANDOM_STARTS, 0.5)]),
    )


def covariance_start(
    table: MaskedTable,
    weights: Array,
    q: int,
    rng: np.random.Generator,
    n_threads: int = 1,
    mean: Array | None = None,
) -> Parameters:
    """The leading eigenvectors of the covariance over pairs of observed cells, or of a sample of rows where d is large.

    Entry (j, k) is the mean over the rows that show both columns, shrunk towards 0 where those are few. For a complete
    table this is the closed form, and the EM has nothing to do.
    """
    d = table.X.shape[1]
    mean = np.zeros(d) if mean is None else mean
    if d <= max(PAIRWISE_COLUMNS, 2 * q):
        values, vectors, trace = pairwise_spectrum(table, weights, mean, n_threads)
        values, vectors = values[:q], vectors[:, :q]
    else:
        values, vectors, trace = _row_sample_spectrum(table, weights, mean, q, rng)
    noise = (trace - values.sum()) / max(d - q, 1)
    noise = max(noise, 1e-6 * trace / d)
    gains = np.sqrt(np.maximum(values - noise, 1e-3 * noise))  # a loading of exactly 0 would stay 0
    return Parameters(mean[None], (vectors * gains)[None], np.array([noise]))


def pairwise_spectrum(
    table: MaskedTable, weights: Array, mean: Array, n_threads: int = 1
) -> tuple[Array, Array, float]:
    """Eigenvalues (largest first), eigenvectors and trace of the covariance over pairs of observed cells."""

    def one(item: tuple[int, slice]) -> tuple[Array, Array]:
        index, rows = item
        chunk = table.chunk(index, rows)
        roots = np.sqrt(weights[rows])[:, None]
        values, mask = roots * (chunk.values - chunk.mask * mean), roots * chunk.mask
        return values.T @ values, mask.T @ mask

    parts = thread_map(one, enumerate(table.rows()), n_threads)
    products, counts = sum(part[0] for part in parts), sum(part[1] for part in parts)
    absent = 1.0 - counts / weights.sum()
    pairs = counts + 5.0 * absent  # five pseudo-pairs of no covariance, none where nothing is absent
    covariance = products / np.where(pairs > 0, pairs, 1.0)
    seen = np.diagonal(counts)
    diagonal = np.where(seen > 0, np.diagonal(products) / np.where(seen > 0, seen, 1.0), 0.0)
    covariance[np.diag_indices_from(covariance)] = diagonal
    values, vectors = np.linalg.eigh(symmetrized(covariance))
    return values[::-1], vectors[:, ::-1], float(diagonal.sum())


def _row_sample_spectrum(
    table: MaskedTable, weights: Array, mean: Array, q: int, rng: np.random.Generator
) -> tuple[Array, Array, float]:
    """From at most `SAMPLE_ROWS` rows with the mean in the holes: never d x d."""
    d = table.X.shape[1]
    rows = np.flatnonzero(weights > 1e-3 * weights.max())
    rows = np.sort(rng.choice(rows, SAMPLE_ROWS, replace=False)) if len(rows) > SAMPLE_ROWS else rows
    chunk = MaskedTable(table.X[rows], table.shift, table.scale)._chunk(slice(None))
    values = chunk.values - chunk.mask * mean
    shares = weights[rows] / weights[rows].sum()
    scaled = np.sqrt(shares)[:, None] * values
    eigenvalues, vectors = np.linalg.eigh(scaled @ scaled.T)
    eigenvalues, vectors = np.maximum(eigenvalues[::-1][:q], 0.0), vectors[:, ::-1][:, :q]
    short = q - eigenvalues.size  # fewer rows than components: the EM decides what the others are for
    eigenvalues, vectors = np.pad(eigenvalues, (0, short)), np.pad(vectors, ((0, 0), (0, short)))
    axes = scaled.T @ vectors
    lengths = np.linalg.norm(axes, axis=0)
    lost = lengths <= 1e-8 * max(lengths.max(initial=0.0), 1e-300)
    axes[:, lost] = rng.standard_normal((d, int(lost.sum())))
    axes, _ = np.linalg.qr(axes)
    seen = float(shares @ chunk.counts) / d  # holes of 0 shrink a product by the square of this share
    return eigenvalues / seen**2, axes, float((scaled**2).sum()) / seen


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
