"""Filled tables by data augmentation: holes given the parameters of a Gaussian, and these given the filled table, in turns [16].

With x̄ and S the mean and the scatter of n filled rows of d columns,

    Σ⁻¹ ~ Wishart(n - d, S⁻¹),   μ | Σ ~ N(x̄, Σ / n),   x_m | x_o ~ N(μ_m - K_mm⁻¹ K_mo (x_o - μ_o), K_mm⁻¹),   K = Σ⁻¹.

The regression of any column on all others is then drawn as Rubin draws it: σ² = RSS / χ²(n - d), and β ~ N(β̂, σ² (XᵀX)⁻¹).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array, row_chunks
from gramian.latent.masked_em import lower_factor

LEAST = 1e-9
"""Of the mean variance: what an exact column keeps of its own, so that precisions can be computed."""


@dataclass(frozen=True)
class FilledDraw:
    """A table whose holes are drawn, and the same with their means, under one draw of the parameters."""

    drawn: Array
    mean: Array


def draw_filled(
    X: Array, weights: Array, mean: Array, covariance: Array, rng: np.random.Generator, begin: int, apart: int
) -> Iterator[FilledDraw]:
    """Filled tables without end, ``apart`` turns from each other, the first after ``begin`` turns from a mean and a covariance.

    ``X`` (n, d) has NaN in the holes; ``weights`` are raw, with a sum of at least 2d.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 2))
    >>> X[0, 1] = np.nan
    >>> first = next(draw_filled(X, np.ones(50), np.zeros(2), np.eye(2), rng, 5, 5))
    >>> bool((first.drawn[1:] == X[1:]).all()), bool(np.isnan(first.drawn).any())
    (True, False)
    """
    groups = _groups(np.isnan(X))
    wait = begin
    while True:
        found = _fill(X, groups, mean, covariance, rng)
        if wait == 0:
            yield found
            wait = apart
        wait -= 1
        mean, covariance = draw_parameters(found.drawn, weights, rng)


def draw_parameters(X: Array, weights: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """μ and Σ given a complete table."""
    d, total = X.shape[1], float(weights.sum())
    middle = weights @ X / total
    centred = X - middle
    scatter = (weights[:, None] * centred).T @ centred
    scatter[np.diag_indices(d)] += LEAST * max(float(np.trace(scatter)) / d, np.finfo(float).tiny)
    factor = np.tril(rng.standard_normal((d, d)), -1)
    factor[np.diag_indices(d)] = np.sqrt(rng.chisquare(total - d - np.arange(d)))  # Bartlett
    root = np.linalg.solve(factor, np.linalg.cholesky(scatter).T)  # Σ is rootᵀ root
    covariance = root.T @ root
    return middle + rng.standard_normal(d) @ root / np.sqrt(total), covariance


def _groups(gaps: Array) -> list[tuple[Array, Array]]:
    """Rows with about equally many holes, and the columns of these; d and more where a row has fewer than the others."""
    counts = gaps.sum(axis=1)
    d = gaps.shape[1]
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    found = []
    for some in row_chunks(len(order), max(len(order) // 8, 50)):
        rows = order[some]
        width = int(counts[rows[-1]])
        holes = np.tile(d + np.arange(width), (len(rows), 1))
        row, column = np.nonzero(gaps[rows])
        own = counts[rows]
        holes[row, np.arange(len(row)) - np.repeat(np.cumsum(own) - own, own)] = column
        found.append((rows, holes))
    return found


def _fill(
    X: Array, groups: list[tuple[Array, Array]], mean: Array, covariance: Array, rng: np.random.Generator
) -> FilledDraw:
    d = len(mean)
    most = max((holes.shape[1] for _, holes in groups), default=0)
    precision = np.eye(d + most)
    precision[:d, :d] = np.linalg.inv(covariance)
    residuals = np.where(np.isnan(X), 0.0, X - mean)
    pulls = np.hstack([residuals @ precision[:d, :d], np.zeros((len(X), most))])
    means, drawn = (np.hstack([X, np.zeros((len(X), most))]) for _ in range(2))
    middle = np.concatenate([mean, np.zeros(most)])
    for rows, holes in groups:
        systems = precision[holes[:, :, None], holes[:, None, :]]
        at = rows[:, None], holes
        means[at] = middle[holes] - np.linalg.solve(systems, pulls[at][:, :, None])[:, :, 0]
        upper = lower_factor(systems).transpose(0, 2, 1)
        drawn[at] = means[at] + np.linalg.solve(upper, rng.standard_normal((*holes.shape, 1)))[:, :, 0]
    return FilledDraw(drawn[:, :d], means[:, :d])
