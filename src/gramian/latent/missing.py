"""Probabilistic PCA of a table with holes: exact maximum likelihood of the observed cells by PX-EM [5].

Row i shows the cells o_i. With V = W / σ its posterior is one small symmetric system,

    M_i = I + V_oᵀV_o,   b_i = V_oᵀ(x_o - μ_o) / σ,   E[z | x_o] = M_i⁻¹ b_i,   Cov[z | x_o] = M_i⁻¹,

and M_i, b_i and g_i = |x_o - μ_o|² / σ² of all rows of a chunk come from two matrix products (the mask and the data, each
with a small table made of V and μ), whatever the patterns of the holes are. The systems are kept as a structure of arrays,
one vector over the rows an entry, so that the elimination is vectorised over rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array, blas_threads, row_chunks, single_blas_thread, symmetrized, thread_map
from gramian._checks import check_random_state
from gramian._progress import Progress
from gramian.latent.noise import ZERO_NOISE
from gramian.solvers.spectrum import positive_signs

CACHE_BYTES = 2**29  # prepared tables above this are made anew, chunk by chunk, in each step
PAIRWISE_COLUMNS = 1000  # up to so many columns the start sees every pair of them
SAMPLE_ROWS = 2000  # above, it sees so many rows
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
        Weighted mean over the rows after each step, never falling. Empty when the noise is fixed at 0: there is no density.
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
    """μ (d,), W (d, q) and σ² > 0 of one Gaussian."""

    mean: Array
    loadings: Array
    noise_variance: float

    @property
    def n_components(self) -> int:
        return int(self.loadings.shape[1])


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
        values = self.X[rows].astype(np.float64)
        values -= self.shift
        values /= self.scale
        seen = ~np.isnan(values)
        values[~seen] = 0.0
        mask = seen.astype(np.float64)
        return Chunk(values, mask, np.einsum("ij,ij->i", values, values), mask.sum(axis=1))

    def chunk(self, index: int, rows: slice) -> Chunk:
        return self.cache[index] if self.cache is not None else self._chunk(rows)

    def chunks(self) -> Iterator[tuple[slice, Chunk]]:
        for index, rows in enumerate(self.rows()):
            yield rows, self.chunk(index, rows)


@dataclass(frozen=True)
class RowPosterior:
    """z | x_o of each row of a chunk, and log p(x_o); entries first, rows last.

    ``mean`` is (q, n); ``covariance`` (q (q + 1) / 2, n) holds the lower triangle, row by row.
    """

    mean: Array
    covariance: Array
    log_density: Array


@dataclass(frozen=True)
class Statistics:
    """Weighted sums of the E-step that the M-step needs; those of two sets of rows add up.

    ``second`` (q (q + 1) / 2 + q + 1, d): Σ s_i m_ij of E[zzᵀ] (lower triangle), E[z] and 1. ``first`` (q + 1, d): Σ s_i x_ij
    of E[z] and 1. ``totals``: Σ s_i of E[zzᵀ], E[z] and 1. ``square``: Σ s_i |x_o|². ``log_likelihood``: Σ s_i log p(x_o).
    """

    second: Array
    first: Array
    totals: Array
    square: float
    log_likelihood: float

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.second + other.second,
            self.first + other.first,
            self.totals + other.totals,
            self.square + other.square,
            self.log_likelihood + other.log_likelihood,
        )


# ---------------------------------------------------------------- the E-step


def row_posterior(chunk: Chunk, parameters: Parameters) -> RowPosterior:
    """E[z | x_o], Cov[z | x_o] and log p(x_o) of the rows of a chunk [2, partial; 5, E]."""
    q, noise = parameters.n_components, parameters.noise_variance
    size = q * (q + 1) // 2
    lower, other = np.tril_indices(q)
    sigma = np.sqrt(noise)
    V = parameters.loadings / sigma
    shifted = parameters.mean / sigma
    by_mask = np.vstack([(V[:, lower] * V[:, other]).T, -(V * shifted[:, None]).T, (shifted**2)[None]])
    by_value = np.vstack([V.T, -2.0 * shifted[None]]) / sigma
    systems = by_mask @ chunk.mask.T  # the lower triangle of [[M - I, b], [bᵀ, g]], (size + q + 1, n)
    systems[size:] += by_value @ chunk.values.T
    systems[-1] += chunk.squares / noise
    for k in range(q):
        systems[k * (k + 3) // 2] += 1.0
    log_determinant = _eliminate(systems, q)
    distance = np.maximum(systems[-1], 0.0)
    log_density = -0.5 * (chunk.counts * (LOG_2PI + np.log(noise)) + log_determinant + distance)
    return RowPosterior(systems[size:-1], -systems[:size], log_density)


def _eliminate(systems: Array, q: int) -> Array:
    """Sweep the first q pivots of packed symmetric systems in place; return log|M|.

    [[M, b], [bᵀ, g]] becomes [[-M⁻¹, M⁻¹b], [bᵀM⁻¹, g - bᵀM⁻¹b]]. Every pivot is at least 1, so none needs a search.
    """
    starts = [i * (i + 1) // 2 for i in range(q + 1)]
    log_determinant = np.zeros(systems.shape[1])
    product = np.ones(systems.shape[1])
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
    """The weighted sums over a chunk that the M-step needs: two matrix products."""
    q = posterior.mean.shape[0]
    size = q * (q + 1) // 2
    lower, other = np.tril_indices(q)
    stacked = np.empty((size + q + 1, weights.size))
    np.multiply(posterior.mean[lower], posterior.mean[other], out=stacked[:size])
    stacked[:size] += posterior.covariance
    stacked[size:-1] = posterior.mean
    stacked[-1] = 1.0
    stacked *= weights
    return Statistics(
        stacked @ chunk.mask,
        stacked[size:] @ chunk.values,
        stacked.sum(axis=1),
        float(weights @ chunk.squares),
        float(weights @ posterior.log_density),
    )


def expectation(table: MaskedTable, weights: Array, parameters: Parameters, n_threads: int = 1) -> Statistics:
    """The E-step over all rows, chunk by chunk."""

    def one(item: tuple[int, slice]) -> Statistics:
        index, rows = item
        chunk = table.chunk(index, rows)
        return row_statistics(chunk, row_posterior(chunk, parameters), weights[rows])

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

    With zb = mean E[z] and Ψ = mean E[zzᵀ] - zb zbᵀ = LLᵀ: μ += W zb, W ← WL. Without ``center`` the mean is 0 and stays:
    Ψ without - zb zbᵀ, no shift. A column that no row of the sums shows keeps its old loadings and mean.
    """
    q = parameters.n_components
    size = q * (q + 1) // 2
    loadings, mean = _regress_columns(statistics, parameters, center)
    if noise_variance is None:
        # at the solution of the normal equations the squared error is what the regression leaves of the squares
        explained = np.sum(statistics.first[:-1] * loadings.T) + statistics.first[-1] @ mean
        noise_variance = max(float(statistics.square - explained), 0.0) / float(statistics.second[-1].sum())
    average = statistics.totals[size:-1] / statistics.totals[-1]
    spread = _unpack(statistics.totals[:size, None] / statistics.totals[-1], q)[0]
    if center:
        spread = spread - np.outer(average, average)
        mean = mean + loadings @ average
    return Parameters(mean, loadings @ np.linalg.cholesky(spread), noise_variance)


def _regress_columns(statistics: Statistics, parameters: Parameters, center: bool) -> tuple[Array, Array]:
    """[w_j; μ_j] of every column from its own rows: q x q normal equations, the mean eliminated first."""
    q = parameters.n_components
    size = q * (q + 1) // 2
    counts, latent = statistics.second[-1], statistics.second[size:-1]
    seen = counts > 1e-12 * statistics.totals[-1]
    safe = np.where(seen, counts, 1.0)
    products, second = statistics.first[:-1], _unpack(statistics.second[:size], q)
    if center:
        products = products - latent * (statistics.first[-1] / safe)
        second = second - np.einsum("id,jd->dij", latent / safe, latent)
    second[~seen] = np.eye(q)
    loadings = np.where(seen[:, None], _solve(second, products.T), parameters.loadings)
    if not center:
        return loadings, parameters.mean
    mean = (statistics.first[-1] - np.einsum("dq,qd->d", loadings, latent)) / safe
    return loadings, np.where(seen, mean, parameters.mean)


def _unpack(packed: Array, q: int) -> Array:
    """(d, q, q) symmetric matrices from the lower triangles in the columns of ``packed``."""
    full = np.empty((packed.shape[1], q, q))
    lower, other = np.tril_indices(q)
    full[:, lower, other] = packed.T
    full[:, other, lower] = packed.T
    return full


def _solve(matrices: Array, right: Array) -> Array:
    """Solve positive definite systems; as the noise vanishes they may become singular: then the shortest solution."""
    try:
        return np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0])
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(matrices, rcond=1e-14, hermitian=True)
        return np.einsum("dij,dj->di", inverse, right)


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
    noise_variance : None for maximum likelihood, or a fixed number >= 0. At 0 there is no density to maximise (EM does not
        move): the subspace is then that of the maximum-likelihood noise, with W = U Λ^½
    center : estimate the mean, or fix it at 0
    tol : stop when the gain still to come, extrapolated from the last steps (Aitken), is below ``tol / 100`` per observed
        cell. That is stricter than a change of ``tol`` in the mean log-likelihood, which a slow EM passes far from the end.
    max_iter : at most so many steps
    random_state : draws the rows of the start where there are too many to use all, and directions that the data leave open
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
    fixed = None if noise_variance is None else noise_variance / scale**2
    n_threads = blas_threads()
    with single_blas_thread():
        table = MaskedTable.of(X, shift, scale)
        start = starting_point(table, weights, q, check_random_state(random_state), n_threads)
        found = _ascend(table, weights, start, fixed or None, center, tol, max_iter, progress, n_threads)
    mean, loadings = shift + scale * found.parameters.mean, scale * canonical_loadings(found.parameters.loadings)
    noise = found.parameters.noise_variance * scale**2
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
    d = X.shape[1]
    counts, sums = np.zeros(d), np.zeros(d)
    for rows in row_chunks(X.shape[0]):
        seen = ~np.isnan(X[rows])
        counts += weights[rows] @ seen
    if not counts.any():
        raise ValueError(
            "All cells of X are missing: there is nothing to fit. Give at least one observed cell in every column."
        )
    empty = np.flatnonzero(counts == 0)
    if empty.size:
        columns = ", ".join(map(str, empty[:10])) + (", ..." if empty.size > 10 else "")
        raise ValueError(
            f"X has no observed value in column {columns} (all NaN). Drop such columns, or fill in what is known."
        )
    mean = np.zeros(d)
    if center:  # twice: the second pass removes the rounding of large offsets
        for _ in range(2):
            sums[:] = 0.0
            for rows in row_chunks(X.shape[0]):
                values = X[rows].astype(np.float64) - mean
                sums += weights[rows] @ np.where(np.isnan(values), 0.0, values)
            mean = mean + sums / counts
    largest, square = 0.0, 0.0
    for rows in row_chunks(X.shape[0]):
        values = X[rows].astype(np.float64) - mean
        largest = max(largest, float(np.nanmax(np.abs(values))))
    if largest == 0.0:
        return mean, 0.0
    for rows in row_chunks(X.shape[0]):
        values = (X[rows].astype(np.float64) - mean) / largest
        square += float(weights[rows] @ np.nansum(values**2, axis=1))
    return mean, largest * float(np.sqrt(square / counts.sum()))


def canonical_loadings(loadings: Array) -> Array:
    """The same WWᵀ with orthogonal columns, longest first, the largest entry of each positive."""
    U, lengths, _ = np.linalg.svd(loadings, full_matrices=False)
    U = U[:, : loadings.shape[1]]
    out = np.zeros_like(loadings)
    out[:, : U.shape[1]] = U * positive_signs(U) * lengths
    return out


def starting_point(
    table: MaskedTable, weights: Array, q: int, rng: np.random.Generator, n_threads: int = 1
) -> Parameters:
    """The leading eigenvectors of the covariance over pairs of observed cells, or of a sample of rows where d is large.

    Entry (j, k) is the mean over the rows that show both columns, shrunk towards 0 where those are few. For a complete table
    this is the closed form, and the EM has nothing to do.
    """
    n, d = table.X.shape
    if d <= max(PAIRWISE_COLUMNS, 2 * q):
        values, vectors, trace = _pairwise_spectrum(table, weights, q, n_threads)
    else:
        values, vectors, trace = _row_sample_spectrum(table, weights, q, rng)
    noise = (trace - values.sum()) / max(d - q, 1)
    noise = max(noise, 1e-6 * trace / d)
    gains = np.sqrt(np.maximum(values - noise, 1e-3 * noise))  # a loading of exactly 0 would stay 0
    return Parameters(np.zeros(d), vectors * gains, noise)


def _pairwise_spectrum(table: MaskedTable, weights: Array, q: int, n_threads: int) -> tuple[Array, Array, float]:
    def one(item: tuple[int, slice]) -> tuple[Array, Array]:
        index, rows = item
        chunk = table.chunk(index, rows)
        roots = np.sqrt(weights[rows])[:, None]
        values, mask = roots * chunk.values, roots * chunk.mask
        return values.T @ values, mask.T @ mask

    parts = thread_map(one, enumerate(table.rows()), n_threads)
    products, counts = sum(part[0] for part in parts), sum(part[1] for part in parts)
    absent = 1.0 - counts / weights.sum()
    covariance = products / (counts + 5.0 * absent)  # five pseudo-pairs of no covariance, none where nothing is absent
    diagonal = np.diagonal(products) / np.diagonal(counts)
    covariance[np.diag_indices_from(covariance)] = diagonal
    values, vectors = np.linalg.eigh(symmetrized(covariance))
    return values[::-1][:q], vectors[:, ::-1][:, :q], float(diagonal.sum())


def _row_sample_spectrum(
    table: MaskedTable, weights: Array, q: int, rng: np.random.Generator
) -> tuple[Array, Array, float]:
    """From at most `SAMPLE_ROWS` rows with 0 (the mean) in the holes: never d x d."""
    n, d = table.X.shape
    rows = np.sort(rng.choice(n, SAMPLE_ROWS, replace=False)) if n > SAMPLE_ROWS else np.arange(n)
    chunk = MaskedTable(table.X[rows], table.shift, table.scale)._chunk(slice(None))
    chosen = weights[rows]
    scaled = np.sqrt(chosen / chosen.sum())[:, None] * chunk.values
    values, vectors = np.linalg.eigh(scaled @ scaled.T)
    values, vectors = np.maximum(values[::-1][:q], 0.0), vectors[:, ::-1][:, :q]
    if values.size < q:  # fewer rows than components: the EM decides what the others are for
        values, vectors = np.pad(values, (0, q - values.size)), np.pad(vectors, ((0, 0), (0, q - values.size)))
    axes = scaled.T @ vectors
    lengths = np.linalg.norm(axes, axis=0)
    lost = lengths <= 1e-8 * max(lengths.max(initial=0.0), 1e-300)
    axes[:, lost] = rng.standard_normal((d, int(lost.sum())))
    axes, _ = np.linalg.qr(axes)
    share = float(chosen @ chunk.counts) / (
        float(chosen.sum()) * d
    )  # zeros in the holes shrink a product by its square
    return values / share**2, axes, float((chosen / chosen.sum()) @ chunk.squares) / share


@dataclass(frozen=True)
class _Ascent:
    parameters: Parameters
    levels: list[float]  # the weighted log-likelihood (not its mean) of the scaled table after each step
    n_iter: int
    converged: bool
    cells: float  # weighted number of observed cells


def _ascend(
    table: MaskedTable,
    weights: Array,
    parameters: Parameters,
    noise_variance: float | None,
    center: bool,
    tol: float,
    max_iter: int,
    progress: Progress | None,
    n_threads: int,
) -> _Ascent:
    """PX-EM until the gain still to come is negligible, or the noise is zero."""
    if noise_variance is not None:
        parameters = replace(parameters, noise_variance=noise_variance)
    statistics = expectation(table, weights, parameters, n_threads)
    cells = float(statistics.second[-1].sum())
    levels = [statistics.log_likelihood]
    converged = False
    for _ in range(max_iter):
        candidate = maximization(statistics, parameters, noise_variance=noise_variance, center=center)
        if noise_variance is None and candidate.noise_variance <= ZERO_NOISE:
            parameters, converged = replace(candidate, noise_variance=0.0), True
            break
        new = expectation(table, weights, candidate, n_threads)
        gain = new.log_likelihood - levels[-1]
        if not gain >= 0.0:  # rounding is all that is left
            converged = gain > -1e-9 * max(abs(levels[-1]), cells)
            break
        parameters, statistics = candidate, new
        levels.append(new.log_likelihood)
        if progress is not None:
            progress.step(log_likelihood=new.log_likelihood / float(weights.sum()))
        converged = gain_to_come(levels) <= tol / 100.0 * cells
        if converged:
            break
    levels = levels[1:] or levels
    return _Ascent(parameters, levels, len(levels), converged, cells)


def gain_to_come(levels: list[float]) -> float:
    """How much an EM may still gain, from the last levels of its log-likelihood (Aitken): Δ ρ / (1 - ρ).

    ρ is the largest ratio of consecutive gains among the last three, so that one lucky step ends nothing; infinite while there
    are too few steps to tell.
    """
    gains = np.diff(levels[-5:])
    if gains.size and gains[-1] <= 1e-14 * abs(levels[-1]):
        return 0.0
    if gains.size < 3 or (gains[:-1] <= 0).any():
        return float("inf")
    ratio = float((gains[1:] / gains[:-1]).max())
    return float(gains[-1]) * ratio / (1.0 - ratio) if ratio < 1.0 else float("inf")
