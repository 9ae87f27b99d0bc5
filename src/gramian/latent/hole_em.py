"""EM whose missing data are the holes themselves: cheap where rows have few of them, whatever q is [5].

With C = WWᵀ + σ²I and K = C⁻¹ the holes m of a row that shows o have

    Cov[x_m | x_o] = K_mm⁻¹,   E[x_m | x_o] = μ_m - K_mm⁻¹ K_mo (x_o - μ_o),   log|C_oo| = log|C| + log|K_mm|,

one small symmetric system per row. The expected covariance of the filled rows then gives the next μ, W and σ² in closed form, as that of a
complete table does [2]. The likelihood is that of PX-EM, and so is its maximum; the steps are fewer, because less is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gramian._arrays import Array, lower_triangle, row_chunks
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
    """The E-step of a chunk. Rows of about equally many holes go through the elimination together, filled up with systems of 1."""
    d = len(mean)
    precision = np.linalg.inv(covariance)
    residuals = chunk.values - chunk.mask * mean
    pulls = residuals @ precision
    squares = np.einsum("ij,ij->i", residuals, pulls)
    level = float(np.linalg.slogdet(covariance)[1])
    n_holes = d - chunk.counts.astype(np.int64)
    weights = weights * chunk.shown
    shown = np.flatnonzero(n_holes < d)
    order = shown[np.argsort(n_holes[shown], kind="stable")]
    most = int(n_holes[shown].max(initial=0))
    padded = np.eye(d + most)
    padded[:d, :d] = precision
    left = np.zeros(padded.size)  # Σ s_i Cov[x_m | x_o], lower triangles
    log_likelihood = 0.0
    # about eight parts by the number of holes: more would save multiplications and cost calls
    together = min(max(SIZES.tile // 2, len(order) // 8), max(1, SIZES.tile**2 // (most + 1) ** 2))
    for some in row_chunks(len(order), together):
        rows = order[some]
        counts, h = n_holes[rows], int(n_holes[rows[-1]])
        row, column = np.nonzero(chunk.mask[rows] == 0.0)
        place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        holes = np.tile(d + np.arange(h), (len(rows), 1))
        holes[row, place] = column
        lower, other = lower_triangle(h)
        size = len(lower)
        at = holes.T[lower] * len(padded) + holes.T[other]
        systems = np.zeros((size + h + 1, 1, len(rows)))
        systems[:size, 0] = padded.ravel()[at]
        systems[size + place, 0, row] = pulls[rows[row], column]
        systems[-1, 0] = squares[rows]
        log_density = eliminate(systems, h)[0] + np.maximum(systems[-1, 0], 0.0) + level + (d - counts) * LOG_2PI
        log_likelihood -= 0.5 * float(weights[rows] @ log_density)
        residuals[rows[row], column] = -systems[size + place, 0, row]
        left += np.bincount(at.ravel(), (-weights[rows] * systems[:size, 0]).ravel(), minlength=left.size)
    covered = left.reshape(padded.shape)[:d, :d]
    weighted = weights[:, None] * residuals
    second = weighted.T @ residuals + covered + covered.T - np.diag(covered.diagonal())
    return FilledSums(weighted.sum(axis=0), second, float(weights.sum()), log_likelihood)


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
