"""The E- and the M-step of PX-EM on a table with holes [5].

Row i shows the cells o_i. With V = W / σ its posterior is one small symmetric system,

    M_i = I + V_oᵀV_o,   b_i = V_oᵀ(x_o - μ_o) / σ,   E[z | x_o] = M_i⁻¹ b_i,   Cov[z | x_o] = M_i⁻¹,

and M_i, b_i and g_i = |x_o - μ_o|² / σ² of all rows of a chunk come from two matrix products (the mask and the data,
each with a small table made of V and μ), whatever the patterns of the holes are. The systems are kept as a structure of
arrays, one vector over the rows per entry, so that the elimination is vectorised over rows. Several Gaussians go through
the same products together: the components of a mixture, or the starts of a fit.

The noise is one number, or one per block of columns (a view, a group of sensors): column j then has σ_b with b the block of j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, reduce
from operator import add
from typing import Any

import numpy as np

from gramian._arrays import Array, lower_triangle, row_chunks
from gramian.latent.masked_table import Chunk, MaskedTable, block_indicator
from gramian.policy import SIZES
from gramian.rows.base import Block

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Parameters:
    """μ (K, d), W (K, d, q) and σ² > 0 (K,) of K Gaussians; shorter W are padded with columns of 0, which EM leaves.

    With ``blocks`` (d,), the block 0, ..., B-1 of each column, the noise is (K, B).
    """

    mean: Array
    loadings: Array
    noise_variance: Array
    blocks: Array | None = None

    @property
    def n_components(self) -> int:
        return int(self.loadings.shape[2])

    def __getitem__(self, which: Any) -> Parameters:
        """Some of the Gaussians."""
        return Parameters(self.mean[which], self.loadings[which], self.noise_variance[which], self.blocks)

    @property
    def column_noise(self) -> Array:
        """σ² of each column, (K, 1) or (K, d)."""
        return self.noise_variance[:, None] if self.blocks is None else self.noise_variance[:, self.blocks]


@dataclass(frozen=True)
class RowPosterior:
    """z | x_o of each row of a chunk under each of K Gaussians, log p(x_o) (K, n) and the squared Mahalanobis distance of x_o (K, n).

    ``mean`` is (q, K, n); ``covariance`` (q (q + 1) / 2, K, n) holds the lower triangle, row by row.
    """

    mean: Array
    covariance: Array
    log_density: Array
    distance: Array

    def beside(self, other: RowPosterior) -> RowPosterior:
        """The posteriors of these rows, and then of others."""
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return RowPosterior(*(np.concatenate(pair, axis=-1) for pair in pairs))


@dataclass(frozen=True)
class Statistics:
    """Weighted sums of the E-step that the M-step needs; those of two sets of rows add up.

    ``second`` (q (q + 1) / 2 + q + 1, K, d): Σ s_i m_ij of E[zzᵀ] (lower triangle), E[z] and 1. ``first`` (q + 1, K, d):
    Σ s_i x_ij of E[z] and 1. ``totals``: Σ s_i of E[zzᵀ], E[z] and 1. ``square`` (K,), or (K, B) with blocks: Σ s_i |x_o|².
    ``log_likelihood`` (K,): Σ s_i log p(x_o).
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
    systems = _systems(chunk, parameters)
    return _posterior_of(chunk, parameters, systems, eliminate(systems, parameters.n_components, least=1.0))


def row_posteriors(chunks: Sequence[Chunk], parameters: Parameters) -> list[RowPosterior]:
    """Those of a chunk for each Gaussian, all in one elimination."""
    q = parameters.n_components
    alone = [parameters[k : k + 1] for k in range(len(chunks))]
    systems = np.concatenate([_systems(chunk, one) for chunk, one in zip(chunks, alone)], axis=2)
    levels = eliminate(systems, q, least=1.0)  # whole: a part of the rows is not in one piece, and takes twice as long
    ends = np.cumsum([len(chunk.counts) for chunk in chunks])[:-1]
    parts = zip(chunks, alone, np.split(systems, ends, axis=2), np.split(levels, ends, axis=1))
    return [_posterior_of(*part) for part in parts]


def _systems(chunk: Chunk, parameters: Parameters) -> Array:
    """The lower triangle of [[M, b], [bᵀ, g]] of each row, (size + q + 1, K, n)."""
    q, noise = parameters.n_components, parameters.noise_variance
    size = q * (q + 1) // 2
    lower, other = lower_triangle(q)
    sigma = np.sqrt(parameters.column_noise)
    V = np.moveaxis(parameters.loadings, 2, 0) / sigma  # (q, K, d)
    shifted = parameters.mean / sigma
    by_mask = np.concatenate([V[lower] * V[other], -V * shifted, shifted[None] ** 2])
    by_value = np.concatenate([V, -2.0 * shifted[None]]) / sigma
    systems = _product(by_mask, chunk.mask.T)
    systems[size:] += _product(by_value, chunk.values.T)
    systems[-1] += _by_block(1.0 / noise, chunk.squares)
    for k in range(q):
        systems[k * (k + 3) // 2] += 1.0
    return systems


def _posterior_of(chunk: Chunk, parameters: Parameters, systems: Array, log_density: Array) -> RowPosterior:
    """From the systems after the elimination, and log|M|, both overwritten."""
    size = len(systems) - parameters.n_components - 1
    log_density += np.maximum(systems[-1], 0.0, out=systems[-1])
    log_density += _by_block(LOG_2PI + np.log(parameters.noise_variance), chunk.counts)
    log_density *= -0.5
    covariance = np.negative(systems[:size], out=systems[:size])
    return RowPosterior(systems[size:-1], covariance, log_density, systems[-1])


def predicted_cells(posterior: RowPosterior, parameters: Parameters) -> tuple[Array, Array]:
    """E[x | x_o] and Var[x | x_o] of every cell under each Gaussian, (K, n, d)."""
    lower, other = lower_triangle(parameters.n_components)
    W = np.moveaxis(parameters.loadings, 2, 0)
    by_pair = np.where(lower == other, 1.0, 2.0)[:, None, None] * W[lower] * W[other]
    means = np.moveaxis(posterior.mean, 0, 2) @ np.moveaxis(W, 0, 1) + parameters.mean[:, None]
    variances = np.moveaxis(posterior.covariance, 0, 2) @ np.moveaxis(by_pair, 0, 1)
    return means, variances + parameters.column_noise[:, None]


def _by_block(factors: Array, sums: Array) -> Array:
    """Σ_b factor_b sum_b of each row, (K, n), for factors (K,) or (K, B) and sums (n,) or (n, B)."""
    return factors[:, None] * sums if sums.ndim == 1 else factors @ sums.T


def _product(left: Array, right: Array) -> Array:
    """(a, K, b) by (b, c), as one matrix product."""
    a, K, b = left.shape  # none is guessed: there may be no rows
    return (left.reshape(a * K, b) @ right).reshape(a, K, right.shape[1])


@lru_cache(maxsize=64)
def pivot_positions(q: int) -> Array:
    """Where the entries (i, k) of packed symmetric systems stand, one row per pivot k, (q, q + 1).

    >>> pivot_positions(2).tolist()
    [[0, 1, 3], [1, 2, 4]]
    """
    i, k = np.arange(q + 1), np.arange(q)[:, None]
    high, low = np.maximum(i, k), np.minimum(i, k)
    return high * (high + 1) // 2 + low


def eliminate(systems: Array, q: int, least: float = 0.0) -> Array:
    """Sweep the first q pivots of packed symmetric systems in place; return log|M|.

    [[M, b], [bᵀ, g]] becomes [[-M⁻¹, M⁻¹b], [bᵀM⁻¹, g - bᵀM⁻¹b]]. Every pivot is positive, so none needs a search. Those of
    M = I + VᵀV are at least 1 (``least``), which rounding may lose where the noise is nearly 0.
    """
    starts = [i * (i + 1) // 2 for i in range(q + 1)]
    # logarithms are costly: where the product of eight pivots cannot overflow (none exceeds its diagonal), there is one for all eight
    together = (
        8 if not q or max(systems[start + k].max(initial=0.0) for k, start in enumerate(starts[:q])) < 1e38 else 1
    )
    log_determinant = np.zeros(systems.shape[1:])
    product = np.ones(systems.shape[1:])
    column, scaled, term = (np.empty((q + 1, *systems.shape[1:])) for _ in range(3))
    for k, positions in enumerate(pivot_positions(q)):
        np.take(systems, positions, axis=0, out=column, mode="clip")  # the other modes copy once more
        pivot = np.maximum(column[k], least, out=column[k])
        product *= pivot
        if k % together == together - 1:
            log_determinant += np.log(product)
            product[:] = 1.0
        np.divide(column, pivot, out=scaled)
        for i in range(q + 1):
            if i == k:
                continue
            row = systems[starts[i] : starts[i] + i + 1]
            row -= np.multiply(scaled[i], column[: i + 1], out=term[: i + 1])
        np.divide(-1.0, pivot, out=scaled[k])
        systems[positions] = scaled
    if q % together:
        log_determinant += np.log(product)
    return log_determinant


def row_statistics(chunk: Chunk, posterior: RowPosterior, weights: Array, scales: Array | None = None) -> Statistics:
    """The sums over a chunk that the M-step needs, with weights (n,) or (K, n): two matrix products.

    With ``scales`` u (n,) or (K, n) the law of a row is N(μ, C / u), and the sums are those of u zzᵀ, u z, u, u xz and u x² [14].
    """
    q, n_models, n = posterior.mean.shape
    size = q * (q + 1) // 2
    weights = np.broadcast_to(weights, (n_models, n))
    stacked = np.empty((size + q + 1, n_models, n))
    for i, mean in enumerate(posterior.mean):
        start = i * (i + 1) // 2
        np.multiply(mean, posterior.mean[: i + 1], out=stacked[start : start + i + 1])
    stacked[size:-1] = posterior.mean
    stacked[-1] = 1.0
    if scales is not None:
        stacked *= scales
    stacked[:size] += posterior.covariance
    if (weights != 1.0).any():
        stacked *= weights
    return Statistics(
        _product(stacked, chunk.mask),
        _product(stacked[size:], chunk.values),
        stacked.sum(axis=2),
        (weights if scales is None else weights * scales) @ chunk.squares,  # (K,) or (K, B)
        np.einsum("kn,kn->k", weights, posterior.log_density),
    )


def chunk_statistics(chunk: Chunk, weights: Array, parameters: Parameters) -> Statistics:
    """The E-step of a chunk, some rows at a time: as many as keep their systems in the cache. Rows that show nothing count for nothing."""
    q, n_models = parameters.n_components, len(parameters.mean)
    together = max(SIZES.tile // 2, SIZES.tile**2 // ((q + 1) * (q + 2) // 2 * n_models))
    total: Statistics | None = None
    for rows in row_chunks(len(chunk.values), together):
        part = chunk[rows]
        found = row_statistics(part, row_posterior(part, parameters), weights[..., rows] * part.shown)
        total = found if total is None else total + found
    assert total is not None
    return total


def block_statistics(block: Block, parameters: Parameters) -> Statistics:
    """The task of ``rows.fold`` over rows that were prepared by `masked_chunk`."""
    return chunk_statistics(block.prepared, block.weights, parameters)


def expectation(table: MaskedTable, weights: Array, parameters: Parameters) -> Statistics:
    """The E-step over all rows of a table, chunk by chunk."""
    parts = enumerate(table.rows())
    return reduce(
        add, (chunk_statistics(table.chunk(index, rows), weights[..., rows], parameters) for index, rows in parts)
    )


# ---------------------------------------------------------------- the M-step


def maximization(
    statistics: Statistics, parameters: Parameters, *, noise_variance: Any = None, center: bool = True
) -> Parameters:
    """The M-step for each column's [w_j; μ_j], then the parameter expansion of PX-EM [5].

    With zb = mean E[z] and Ψ = mean E[zzᵀ] - zb zbᵀ = LLᵀ: μ += W zb, W ← WL. Without ``center`` the mean is 0 and
    stays: Ψ without - zb zbᵀ, no shift. A column that no row of the sums shows keeps its old loadings and mean. ``noise_variance`` None
    is estimated, else fixed: a number, or one per block with NaN for those to be estimated.
    """
    loadings, mean = regress_columns(statistics, parameters, center)
    noise = parameters.noise_variance
    if noise_variance is None or np.isnan(noise_variance).any():
        noise = noise_per_block(statistics, loadings, mean, parameters)
    if noise_variance is not None:
        noise = np.where(np.isnan(noise_variance), noise, noise_variance)
    return expand(statistics, Parameters(mean, loadings, noise, parameters.blocks), center)


def expand(statistics: Statistics, parameters: Parameters, center: bool = True) -> Parameters:
    """The parameter expansion of PX-EM: latents that are N(zb, Ψ) in the E-step are made N(0, I) again [5]."""
    mean, loadings, q = parameters.mean, parameters.loadings, parameters.n_components
    size = q * (q + 1) // 2
    average = (statistics.totals[size:-1] / statistics.totals[-1]).T  # (K, q)
    spread = _unpack(statistics.totals[:size] / statistics.totals[-1], q)
    if center:
        spread = spread - average[:, :, None] * average[:, None, :]
        mean = mean + np.einsum("kdq,kq->kd", loadings, average)
    return Parameters(mean, loadings @ lower_factor(spread), parameters.noise_variance, parameters.blocks)


def noise_per_block(statistics: Statistics, loadings: Array, mean: Array, parameters: Parameters) -> Array:
    """σ² = mean over observed cells of E(x - μ - wᵀz)², over all columns (K,) or those of each block (K, B); empty blocks keep theirs."""
    blocks = parameters.blocks
    if blocks is None:
        return squared_error(statistics, loadings, mean) / statistics.cells
    explained = _explained_squares(statistics, loadings, mean)
    indicator = block_indicator(blocks)
    cells = statistics.second[-1] @ indicator
    errors = np.maximum(statistics.square - explained @ indicator, 0.0)
    seen = cells > 0
    return np.where(seen, errors / np.where(seen, cells, 1.0), parameters.noise_variance)


def squared_error(statistics: Statistics, loadings: Array, mean: Array) -> Array:
    """Σ s_i E|x_o - μ_o - W_o z|² (K,): at the solution of the normal equations what they leave of Σ s_i |x_o|²."""
    return np.maximum(statistics.square - _explained_squares(statistics, loadings, mean).sum(axis=1), 0.0)


def _explained_squares(statistics: Statistics, loadings: Array, mean: Array) -> Array:
    """What the normal equations of each column explain of Σ s_i x_ij², (K, d)."""
    return np.einsum("qkd,kdq->kd", statistics.first[:-1], loadings) + statistics.first[-1] * mean


def regress_columns(statistics: Statistics, parameters: Parameters, center: bool) -> tuple[Array, Array]:
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
    lower, other = lower_triangle(q)
    full[..., lower, other] = np.moveaxis(packed, 0, -1)
    full[..., other, lower] = full[..., lower, other]
    return full


def _solve(matrices: Array, right: Array) -> Array:
    """Solve positive definite systems; as the noise vanishes they may become singular: then the shortest solution."""
    try:
        return np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0])
    except np.linalg.LinAlgError:
        return np.einsum("...ij,...j->...i", np.linalg.pinv(matrices, rcond=1e-14, hermitian=True), right)


def lower_factor(matrices: Array) -> Array:
    """The lower Cholesky factor, with the little that rounding may lack on the diagonal."""
    try:
        return np.asarray(np.linalg.cholesky(matrices))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrices)
        values = np.maximum(values, 1e-14 * np.maximum(values[..., -1:], 1e-300))
        return np.asarray(np.linalg.cholesky((vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2)))
