"""EM whose missing data are the holes themselves: cheap where rows have few of them, whatever q is [5].

With C = WWᵀ + σ²I and K = C⁻¹ the holes m of a row that shows o have

    Cov[x_m | x_o] = K_mm⁻¹,   E[x_m | x_o] = μ_m - K_mm⁻¹ K_mo (x_o - μ_o),   log|C_oo| = log|C| + log|K_mm|,

one small symmetric system per row; rows that show fewer cells than they miss solve one in C_oo. The expected covariance of the filled rows then gives the next μ, W and σ² in closed form, as that of a
complete table does [2]. The likelihood is that of PX-EM, and so is its maximum; the steps are fewer, because less is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gramian._arrays import Array, lower_triangle, row_chunks
from gramian._precision import ROUNDING
from gramian.latent.gaussian import noise_of_each_q
from gramian.latent.masked_em import LOG_2PI, Parameters, eliminate
from gramian.latent.masked_table import Chunk
from gramian.policy import SIZES
from gramian.rows.base import Block


@dataclass(frozen=True)
class FilledSums:
    """Σ s_i of E[x - μ], E[(x - μ)(x - μ)ᵀ], 1 and log p(x_o) over the rows that show a cell; two of them add up."""

    first: Array
    second: Array
    weight: float
    log_likelihood: float

    def __add__(self, other: FilledSums) -> FilledSums:
        return FilledSums(
            self.first + other.first,
            self.second + other.second,
            self.weight + other.weight,
            self.log_likelihood + other.log_likelihood,
        )


def block_filled(block: Block, mean: Array, covariance: Array) -> FilledSums:
    """The task of ``rows.fold`` over rows that were prepared by `masked_chunk`: the E-step."""
    return filled_sums(block.prepared, block.weights, mean, covariance)


def filled_sums(chunk: Chunk, weights: Array, mean: Array, covariance: Array) -> FilledSums:
    """The E-step of a chunk."""
    d, weights, residuals = len(mean), weights * chunk.shown, chunk.values - chunk.mask * mean
    second, log_likelihood = np.zeros((d, d)), 0.0
    for solved in _solve_rows(chunk, residuals, covariance):
        rows = solved.rows
        log_likelihood += float(weights[rows] @ solved.log_density)
        second += solved.covariance_sum(weights[rows], covariance)
        residuals[rows] = solved.filled(residuals[rows], chunk.mask[rows], covariance)
    weighted = weights[:, None] * residuals
    second += weighted.T @ residuals
    return FilledSums(weighted.sum(axis=0), second, float(weights.sum()), log_likelihood)


def filled_cells(chunk: Chunk, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """E[x - μ | x_o] and Var[x | x_o] of every cell."""
    residuals = chunk.values - chunk.mask * mean
    variances = np.zeros_like(residuals)
    for solved in _solve_rows(chunk, residuals, covariance):
        rows = solved.rows
        variances[rows] = solved.variances(covariance)
        residuals[rows] = solved.filled(residuals[rows], chunk.mask[rows], covariance)
    return residuals, variances


@dataclass(frozen=True)
class _Solved:
    """Some rows and their systems, in K_mm or in C_oo; smaller ones are filled up with columns of their own, beyond the d of the table."""

    by_seen: bool
    rows: Array  # (n,)
    columns: Array  # (size, n)
    inverses: Array  # lower triangles, (size (size + 1) / 2, n)
    solutions: Array  # (size, n)
    log_density: Array  # log p(x_o), (n,)

    def filled(self, residuals: Array, mask: Array, covariance: Array) -> Array:
        """The rows with their holes at the mean given their seen cells."""
        d = len(covariance)
        pulls = np.zeros((len(self.rows), d + len(self.columns)))
        pulls[np.arange(len(self.rows)), self.columns] = self.solutions
        pulls = pulls[:, :d]
        return np.where(mask == 1.0, residuals, pulls @ covariance) if self.by_seen else residuals - pulls

    def covariance_sum(self, weights: Array, covariance: Array) -> Array:
        """Σ s_i Cov[x | x_o], which is that of K_mm⁻¹, or of C - C_o C_oo⁻¹ C_oᵀ."""
        d, h = len(covariance), len(self.columns)
        lower, other = lower_triangle(h)
        at = self.columns[lower] * (d + h) + self.columns[other]
        summed = np.bincount(at.ravel(), (weights * self.inverses).ravel(), minlength=(d + h) ** 2)
        half = summed.reshape(d + h, d + h)[:d, :d]
        covered = half + half.T - np.diag(half.diagonal())
        return weights.sum() * covariance - covariance @ covered @ covariance if self.by_seen else covered

    def variances(self, covariance: Array) -> Array:
        """Var[x | x_o] of every cell, (n, d)."""
        d, (h, n) = len(covariance), self.columns.shape
        lower, other = lower_triangle(h)
        if not self.by_seen:
            found = np.zeros((n, d + h))
            found[np.arange(n), self.columns] = self.inverses[lower == other]
            return found[:, :d]
        inverses = np.empty((n, h, h))
        inverses[:, lower, other] = inverses[:, other, lower] = self.inverses.T
        shared = np.vstack([covariance, np.zeros((h, d))])[self.columns.T]  # (n, h, d)
        return np.maximum(covariance.diagonal() - (shared * (inverses @ shared)).sum(axis=1), 0.0)


def _solve_rows(chunk: Chunk, residuals: Array, covariance: Array) -> Iterator[_Solved]:
    """The systems of all rows; those whose systems are about equally large go through the elimination together."""
    d, n_seen = len(covariance), chunk.counts.astype(np.int64)
    # by its eigenvectors: the inverse of a general matrix loses twice the digits where there is little noise
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, ROUNDING * values[-1])
    turned = residuals @ vectors
    precision, level = (vectors / values) @ vectors.T, float(np.log(values).sum())
    pulls, squares = (turned / values) @ vectors.T, (turned**2 / values).sum(axis=1)
    few = 2 * n_seen < d
    for by_seen, matrix, right, sizes in ((False, precision, pulls, d - n_seen), (True, covariance, residuals, n_seen)):
        which = np.flatnonzero(few == by_seen)
        order = which[np.argsort(sizes[which], kind="stable")]
        most = int(sizes[which].max(initial=0))
        padded = np.eye(d + most)
        padded[:d, :d] = matrix
        # about eight parts by their size: more would save multiplications and cost calls
        together = min(max(SIZES.tile // 2, len(order) // 8), max(1, SIZES.tile**2 // (most + 1) ** 2))
        for some in row_chunks(len(order), together):
            rows = order[some]
            counts, h = sizes[rows], int(sizes[rows[-1]])
            row, column = np.nonzero(chunk.mask[rows] == by_seen)
            place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
            columns = np.tile(d + np.arange(h)[:, None], (1, len(rows)))
            columns[place, row] = column
            lower, other = lower_triangle(h)
            size = len(lower)
            systems = np.zeros((size + h + 1, 1, len(rows)))
            systems[:size, 0] = padded.ravel()[columns[lower] * len(padded) + columns[other]]
            systems[size + place, 0, row] = right[rows[row], column]
            systems[-1, 0] = 0.0 if by_seen else squares[rows]
            levels = eliminate(systems, h)[0]
            inverses, solutions, distances = -systems[:size, 0], systems[size:-1, 0], systems[-1, 0]
            if by_seen:
                distances = -distances
            else:
                levels += level
            log_density = -0.5 * (levels + np.maximum(distances, 0.0) + n_seen[rows] * LOG_2PI)
            yield _Solved(by_seen, rows, columns, inverses, solutions, log_density)


def refit(sums: FilledSums, parameters: Parameters, center: bool, fixed: float | None = None) -> Parameters:
    """The M-step: the maximum likelihood of filled rows [2], its axes turned to be nearest to those before (which a leap compares).

    With the noise ``fixed``, axes of less variance than that have no loadings.
    """
    q = parameters.n_components
    covariance, mean = sums.second / sums.weight, parameters.mean
    if center:
        move = sums.first / sums.weight
        covariance = covariance - np.outer(move, move)
        mean = mean + move
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = float(noise_of_each_q(values[:q], float(values.sum()), len(values))[-1]) if fixed is None else fixed
    loadings = vectors[:, :q] * np.sqrt(np.maximum(values[:q] - noise, 0.0))
    left, _, right = np.linalg.svd(loadings.T @ parameters.loadings[0])
    return replace(parameters, mean=mean, loadings=(loadings @ (left @ right))[None], noise_variance=np.full(1, noise))


def covariance_of(parameters: Parameters) -> Array:
    """C = WWᵀ + σ²I of the one Gaussian."""
    loadings = parameters.loadings[0]
    return loadings @ loadings.T + parameters.noise_variance[0] * np.eye(len(loadings))
