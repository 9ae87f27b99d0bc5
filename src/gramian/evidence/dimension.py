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
from gramian.evidence.leading_pairs import in_single, leading_pairs
from gramian.evidence.selection import Selection, choose
from gramian.latent.dimension import FLAT
from gramian.latent.gaussian import log_likelihoods_of_each_q
from gramian.operators.centering import Centering
from gramian.operators.covariance import Stored
from gramian.operators.held_out_gram import HeldOutGram
from gramian.operators.moments import Moments
from gramian.solvers.krylov import Krylov
from gramian.solvers.turned import Reflected, turned

RANK = 1e-12
"""Training eigenvalues below this share of the largest are rounding."""
WHOLE_SIZE = 600
"""Up to so many columns covariances are decomposed whole; beyond, leading pairs are grown by doubling until they are enough."""
FIRST_PAIRS = 32
BEYOND = 1.1
"""So many times the best q of one fold, and `FIRST_PAIRS`, are pairs enough to show that the score of all folds falls again."""
MOST = 1 / 4
"""Beyond this share of the rows the leading pairs of a fold cost as much as all of them."""


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


def moment_folds(
    parts: Sequence[Moments],
    center: bool = True,
    largest: int | None = None,
    *,
    rank_tol: float = RANK,
    rank_floor: float = 0.0,
) -> list[HeldOutFold]:
    """Folds from the moments of the rows of each: training is total minus fold, one decomposition per fold [10].

    ``largest`` leading pairs are enough where that is far below the number of columns.
    """
    folds = []
    for held_out, part in enumerate(parts):
        training = merged([other for f, other in enumerate(parts) if f != held_out])
        values, vectors, trace = _leading(training.covariance(center), largest)
        rank = _rank(values, rank_tol, rank_floor)
        values, vectors = values[:rank], vectors[:, :rank]
        gap = part.mean - training.mean if center else part.mean
        along = np.einsum("jp,jp->p", vectors, part.scatter @ vectors) / part.weight + (gap @ vectors) ** 2
        norm = float(np.trace(part.scatter) / part.weight + gap @ gap)
        folds.append(HeldOutFold(values, trace, along, norm, part.weight))
    return folds


def _leading(covariance: Array, largest: int | None) -> tuple[Array, Array, float]:
    """Eigenvalues, eigenvectors and trace: all pairs, or the leading ones of a large matrix."""
    d = len(covariance)
    trace = float(np.trace(covariance))
    if largest is None or d <= WHOLE_SIZE or largest > d // 8:
        values, vectors = np.linalg.eigh(symmetrized(covariance))
        return values[::-1], vectors[:, ::-1], trace
    found = Krylov(tol=1e-6, random_state=0).solve(Stored(covariance), largest)
    return found.eigenvalues, found.eigenvectors, trace


def choose_by_moments(
    parts: Sequence[Moments],
    n_rows: int,
    center: bool = True,
    *,
    smallest: int = 1,
    rank_tol: float = RANK,
    rank_floor: float = 0.0,
) -> Selection:
    """q of a table from the moments of its folds, exact structure kept whole; of many columns only as many pairs as are needed."""
    d = len(parts[0].mean)
    largest = None if d <= WHOLE_SIZE else FIRST_PAIRS
    while True:
        folds = moment_folds(parts, center, largest, rank_tol=rank_tol, rank_floor=rank_floor)
        found = choose_dimension(folds, d, smallest=smallest)
        if largest is None or largest > d // 8 or _passed(found):
            break
        largest *= 2
    total = merged(parts)
    spreads = np.diagonal(total.covariance(center))
    varying = int((spreads > max(rank_floor, 0.0)).sum())
    most = min(n_rows - int(center), varying)
    if largest is not None and largest <= d // 8:
        return found
    if min(len(fold.eigenvalues) for fold in folds) >= min(most, d):
        return found
    rank = _rank(_leading(total.covariance(center), None)[0], rank_tol, rank_floor)
    return kept_whole(found, rank) if 0 < rank < most else found


def choose_by_gram(
    gram: Array, weights: Array, fold: Array, dim: int, n_rows: int, center: bool = True, *, smallest: int = 1
) -> Selection:
    """q of a wide table from the blocks of its Gram matrix, exact structure kept whole."""
    folds = gram_folds(gram, weights, fold, center)
    found = choose_dimension(folds, dim, smallest=smallest)
    centred = Centering(weights / weights.sum(), center).gram(gram.copy())[0]
    rank = _rank(np.linalg.eigvalsh(centred)[::-1])
    return kept_whole(found, rank) if 0 < rank < min(n_rows - int(center), dim) else found


def kept_whole(selection: Selection, rank: int) -> Selection:
    """The smallest q that explains everything, where structure leaves no noise: exact rank, totals, one-hot columns [10]."""
    if selection.chosen == rank:
        return selection
    candidates = [*selection.candidates, *range(int(selection.candidates[-1]) + 1, rank + 1)]
    added = len(candidates) - len(selection.candidates)
    return Selection(
        candidates,
        np.concatenate([selection.scores, np.full(added, -np.inf)]),
        np.concatenate([selection.errors, np.full(added, np.inf)]),
        rank,
        f"q = {rank}: the columns depend on each other exactly, and so many components explain everything",
    )


def not_held_out(q: int, reason: str) -> Selection:
    """The evidence of a choice for which nothing could be held out: one candidate, no score."""
    return Selection([q], np.zeros(1), np.zeros(1), q, reason)


def _passed(selection: Selection) -> bool:
    """Whether the score has passed its best by more than its error at the last candidate."""
    best = int(np.argmax(selection.scores))
    return bool(selection.scores[best] - selection.scores[-1] > selection.errors[-1])


def gram_folds(gram: Array, weights: Array, fold: Array, center: bool = True) -> list[HeldOutFold]:
    """Folds from the blocks of one Gram matrix K₀ (n, n), with raw weights (n,) and the fold of each row: wide tables and kernels [1, 10].

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((30, 4))
    >>> fold = np.arange(30) % 3
    >>> dual = gram_folds(X @ X.T, np.ones(30), fold)
    >>> primal = moment_folds([Moments.of(X[fold == f]) for f in range(3)])
    >>> bool(np.allclose(dual[0].squared_scores, primal[0].squared_scores))
    True
    """
    return [_Block.of(gram, weights, fold == held_out, center).all_pairs() for held_out in np.unique(fold)]


def choose_by_kernel(
    gram: Array, weights: Array, fold: Array, dims: Sequence[float], center: bool = True, *, semidefinite: bool = True
) -> tuple[Selection, list[HeldOutFold]]:
    """q of a kernel model and the folds it was chosen by: of many rows only as many pairs as are needed [10].

    ``dims`` holds D, one per fold. The first fold alone says how many pairs that may be. A kernel that is not ``semidefinite`` is
    decomposed whole, for its trace is the sum of the positive eigenvalues.
    """
    held_out = [fold == f for f in np.unique(fold)]
    if semidefinite and len(gram) > WHOLE_SIZE:
        most = int(MOST * len(gram))
        first = _Block.of(gram, weights, held_out[0], center)
        single = in_single(first.matrix)
        best = int(held_out_log_likelihoods(first.rough(single).leading(most), dims[0]).argmax())
        count = FIRST_PAIRS + int(BEYOND * best)
        while count <= most:
            others = (_Block.of(gram, weights, out, center) for out in held_out[1:])
            folds = [first.leading(count, single), *(block.leading(count) for block in others)]
            found = choose_dimension(folds, dims)
            if min(len(part.eigenvalues) for part in folds) < count or _passed(found):
                return found, folds
            count *= 2
    folds = gram_folds(gram, weights, fold, center)
    return choose_dimension(folds, dims), folds


@dataclass(frozen=True)
class _Block:
    """What one Gram matrix says of a fold, with the weights of its held-out rows."""

    gram: HeldOutGram
    shares: Array  # of the held-out rows in their weight
    weight: float

    @classmethod
    def of(cls, gram: Array, weights: Array, held_out: Array, center: bool) -> _Block:
        out = np.flatnonzero(held_out)
        weight = float(weights[out].sum())
        return cls(HeldOutGram.of(gram, weights, np.flatnonzero(~held_out), out, center), weights[out] / weight, weight)

    @property
    def matrix(self) -> Array:
        return self.gram.matrix

    def all_pairs(self) -> HeldOutFold:
        """The fold with its whole spectrum; the matrix is spent."""
        values, found = turned(self.matrix, self.gram.shown)
        return self._fold(values, found, float(np.maximum(values, 0.0).sum()))

    def leading(self, count: int, single: Reflected | None = None) -> HeldOutFold:
        """The fold with its leading pairs."""
        values, vectors = leading_pairs(self.matrix, count, single)
        return self._fold(values, vectors.T @ self.gram.shown, float(np.trace(self.matrix)))

    def rough(self, single: Reflected) -> HeldOutFold:
        """The fold as float32 shows it."""
        trace = float(np.trace(self.matrix))
        return self._fold(trace * single.values.astype(np.float64), single.turned(self.gram.shown), trace)

    def _fold(self, values: Array, found: Array, trace: float) -> HeldOutFold:
        rank = _rank(values, max(RANK, 4 * len(self.matrix) * np.finfo(float).eps))
        squared_scores = np.square(found[:rank]) @ self.shares / values[:rank]
        squared_norm = float(self.shares @ self.gram.squared_norms)
        return HeldOutFold(values[:rank], trace, squared_scores, squared_norm, self.weight)


def merged(parts: Sequence[Moments]) -> Moments:
    """The moments of all parts together."""
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    return total


def _rank(values: Array, tol: float = RANK, floor: float = 0.0) -> int:
    largest = float(values[0]) if values.size else 0.0
    share = max(tol, 4 * len(values) * np.finfo(float).eps)
    return int((values > max(share * largest, floor)).sum()) if largest > 0 else 0
