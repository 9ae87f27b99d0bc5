"""q by held-out evidence: the mean log-likelihood of rows that were not fitted, for all q at once [10].

A fold says how its training rows spread (`HeldOutFold.eigenvalues`, ``trace``) and how its held-out rows lie in their axes
(``squared_scores``, ``squared_norm``). Folds come from moments (`moment_folds`) or from the blocks of one Gram matrix (`gram_folds`: wide
tables and kernels); `choose_dimension` scores them and takes the smallest q within one standard error of the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gramian._arrays import Array, symmetrized
from gramian.choosing.selection import Selection, choose
from gramian.latent.dimension import FLAT
from gramian.latent.gaussian import log_likelihoods_of_each_q
from gramian.operators.centering import Centering
from gramian.operators.moments import Moments

RANK = 1e-12
"""Training eigenvalues below this share of the largest are rounding."""


@dataclass(frozen=True)
class HeldOutFold:
    """One fold: the spectrum of the rows that were fitted, and how the others lie in its axes.

    Attributes
    ----------
    eigenvalues : array (r,)
        l of the training rows, largest first; the leading ones are enough.
    trace : float
        Total variance of the training rows.
    squared_scores : array (r,)
        Mean over the held-out rows of t_p², t the scores about the training mean.
    squared_norm : float
        Mean over the held-out rows of |φ - μ|².
    weight : float
        Total raw weight of the held-out rows.
    """

    eigenvalues: Array
    trace: float
    squared_scores: Array
    squared_norm: float
    weight: float

    def leading(self, count: int) -> HeldOutFold:
        return replace(self, eigenvalues=self.eigenvalues[:count], squared_scores=self.squared_scores[:count])


def held_out_log_likelihoods(fold: HeldOutFold, dim: float, noise_variance: float | None = None) -> Array:
    """Mean held-out log-likelihood of q = 0, 1, ..., r; l and σ² are floored at 1e-12 of the mean variance [10]."""
    return log_likelihoods_of_each_q(
        fold.eigenvalues,
        fold.trace,
        dim,
        fold.squared_scores,
        fold.squared_norm,
        noise_variance=noise_variance,
        floor=max(FLAT * fold.trace / dim, np.finfo(float).tiny),
    )


def choose_dimension(
    folds: Sequence[HeldOutFold],
    dims: float | Sequence[float],
    *,
    smallest: int = 1,
    largest: int | None = None,
) -> Selection:
    """The smallest q within one standard error of the best held-out log-likelihood, from ``smallest`` to the smallest rank [10].

    ``dims`` is D, or one per fold (a kernel model's D is its number of rows).

    >>> import numpy as np
    >>> folds = [HeldOutFold(np.array([9.0, 1.1]), 13.0, np.array([9.0, 1.0 + e]), 13.0 + e, 10.0) for e in (0.0, 0.1, 0.2)]
    >>> choose_dimension(folds, 5).chosen
    1
    """
    dims = [float(dims)] * len(folds) if isinstance(dims, int | float) else list(dims)
    count = min([len(fold.eigenvalues) for fold in folds] + [max(int(dim) - 1, 1) for dim in dims])
    count = max(smallest, count if largest is None else min(count, largest))
    scores = np.full((len(folds), count + 1), -np.inf)
    for row, fold, dim in zip(scores, folds, dims):
        found = held_out_log_likelihoods(fold.leading(count), dim)
        row[: len(found)] = found
    if not np.isfinite(scores[:, smallest:]).all(axis=0).any():  # no fold has a direction: nothing but the smallest
        scores[:, smallest] = 0.0
    return choose(range(smallest, count + 1), scores[:, smallest:], np.array([fold.weight for fold in folds]))


# ---------------------------------------------------------------- where folds come from


def moment_folds(parts: Sequence[Moments], center: bool = True, largest: int | None = None) -> list[HeldOutFold]:
    """Folds from the moments of the rows of each: training is total minus fold, one decomposition per fold [10]."""
    folds = []
    for held_out in range(len(parts)):
        training = merged([part for f, part in enumerate(parts) if f != held_out])
        values, vectors = np.linalg.eigh(symmetrized(training.covariance(center)))
        values, vectors = values[::-1], vectors[:, ::-1]
        rank = min(_rank(values), len(values) if largest is None else largest)
        trace = float(np.maximum(values, 0.0).sum())
        values, vectors = values[:rank], vectors[:, :rank]
        part = parts[held_out]
        gap = part.mean - training.mean if center else part.mean
        along = np.einsum("jp,jp->p", vectors, part.scatter @ vectors) / part.weight + (gap @ vectors) ** 2
        norm = float(np.trace(part.scatter) / part.weight + gap @ gap)
        folds.append(HeldOutFold(values, trace, along, norm, part.weight))
    return folds


def gram_folds(gram: Array, weights: Array, fold: Array, center: bool = True) -> list[HeldOutFold]:
    """Folds from the blocks of one Gram matrix K₀ (n, n), with raw weights (n,) and the fold of each row: wide tables and kernels [1, 10].

    >>> import numpy as np
    >>> from gramian.operators.moments import Moments
    >>> X = np.random.default_rng(0).standard_normal((30, 4))
    >>> fold = np.arange(30) % 3
    >>> dual = gram_folds(X @ X.T, np.ones(30), fold)
    >>> primal = moment_folds([Moments.of(X[fold == f]) for f in range(3)])
    >>> bool(np.allclose(dual[0].squared_scores, primal[0].squared_scores))
    True
    """
    folds = []
    for held_out in np.unique(fold):
        out, into = np.flatnonzero(fold == held_out), np.flatnonzero(fold != held_out)
        shares = weights[into] / weights[into].sum()
        block = gram[np.ix_(into, into)]
        centering = Centering(shares, center)
        mean = block @ shares if center else np.zeros(len(into))  # K₀ s
        inner = float(shares @ mean) if center else 0.0
        centred = block - mean[:, None] - mean[None, :] + inner if center else block
        roots = np.sqrt(shares)
        values, vectors = np.linalg.eigh(symmetrized(centred * roots[:, None] * roots))
        values, vectors = values[::-1], vectors[:, ::-1]
        rank = _rank(values)
        trace = float(np.maximum(values, 0.0).sum())
        values, vectors = values[:rank], vectors[:, :rank]
        seen = gram[np.ix_(out, into)]
        scores = (seen - mean) @ (centering.apply(vectors) / np.sqrt(values))
        norms = gram[out, out] - (2 * seen @ shares - inner if center else 0.0)
        part = weights[out] / weights[out].sum()
        folds.append(
            HeldOutFold(
                values, trace, part @ scores**2, float(part @ np.maximum(norms, 0.0)), float(weights[out].sum())
            )
        )
    return folds


def merged(parts: Sequence[Moments]) -> Moments:
    """The moments of all parts together."""
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    return total


def _rank(values: Array) -> int:
    largest = float(values[0]) if values.size else 0.0
    return int((values > max(RANK, 4 * len(values) * np.finfo(float).eps) * largest).sum()) if largest > 0 else 0
