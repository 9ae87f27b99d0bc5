"""q by held-out evidence: the log-likelihood of rows that were not fitted, for all q at once [10].

A fold says how its training rows spread (`HeldOutFold.eigenvalues`, ``trace``) and how each held-out row lies in their axes
(``squared_scores``, ``squared_norms``). Folds come from moments (`moment_folds`) or from the blocks of one Gram matrix (`gram_folds`: wide
tables and kernels); `choose_dimension` asks the jury.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from gramian._arrays import Array, symmetrized
from gramian._content import ContentFolds, GivenFolds, SmallestRows
from gramian.evidence.leading_pairs import in_single, leading_pairs
from gramian.evidence.selection import Evidence, Selection, choose_by
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
    squared_scores : array (n, r)
        t_p² of each held-out row, t the scores about the training mean.
    squared_norms : array (n,)
        |φ - μ|² of each held-out row.
    weights : array (n,)
        Raw weights of the held-out rows.
    """

    eigenvalues: Array
    trace: float
    squared_scores: Array
    squared_norms: Array
    weights: Array

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    def leading(self, count: int) -> HeldOutFold:
        return replace(self, eigenvalues=self.eigenvalues[:count], squared_scores=self.squared_scores[:, :count])

    def log_likelihoods(self, dim: float, floor: float = FLAT) -> Array:
        """Of each held-out row under q = 0, 1, ..., r, (n, r + 1); l and σ² are floored at a share of the mean variance [10]."""
        return log_likelihoods_of_each_q(
            self.eigenvalues,
            self.trace,
            dim,
            self.squared_scores,
            self.squared_norms,
            floor=max(floor * self.trace / dim, np.finfo(float).tiny),
        )


def choose_dimension(
    folds: Sequence[HeldOutFold],
    dims: float | Sequence[float],
    *,
    smallest: int = 1,
    floor: float = FLAT,
) -> Selection:
    """The smallest q within one standard error of the best held-out log-likelihood, from ``smallest`` to the smallest rank [10].

    ``dims`` is D, or one per fold (a kernel model's D is its number of rows). ``floor``: no noise is below this share of the mean variance,
    and no component.

    >>> import numpy as np
    >>> one = np.ones(1)
    >>> folds = [HeldOutFold(np.array([9.0, 1.1]), 13.0, np.array([[9.0, 1.0 + e]]), (13.0 + e) * one, 10.0 * one) for e in (0.0, 0.1, 0.2)]
    >>> choose_dimension(folds, 5).chosen
    1
    """
    dims = [float(dims)] * len(folds) if isinstance(dims, int | float) else list(dims)
    least = floor if floor > FLAT else 0.0
    ranks = [int((fold.eigenvalues > least * fold.trace / dim).sum()) for fold, dim in zip(folds, dims)]
    count = max(smallest, min([*ranks, *(max(int(dim) - 1, 1) for dim in dims)]))
    losses = []
    for fold, dim in zip(folds, dims):
        found = -fold.leading(count).log_likelihoods(dim, floor).T
        losses.append(np.vstack([found, np.full((count + 1 - len(found), found.shape[1]), np.inf)])[smallest:])
    if not any(np.isfinite(found).any() for found in losses):  # no fold has a direction: nothing but the smallest
        for found in losses:
            found[0] = 0.0
    weights = [fold.weights for fold in folds]
    return choose_by(Evidence.of_rows(range(smallest, count + 1), losses, weights))


# ---------------------------------------------------------------- where folds come from


@dataclass(frozen=True)
class JudgedMoments:
    """The moments of the rows of each fold, and the rows that vote: all of them, or those of smallest hash where they are many."""

    parts: Sequence[Moments]
    rows: Array
    weights: Array
    fold: Array  # of each row that votes

    @classmethod
    def of(
        cls, parts: Sequence[Moments | None], folds: ContentFolds | GivenFolds, drawn: SmallestRows
    ) -> JudgedMoments:
        """A fold without rows is left out."""
        known = [number for number, part in enumerate(parts) if part is not None]
        fold = np.searchsorted(known, folds.assign(drawn.hashes))
        return cls([part for part in parts if part is not None], drawn.rows, drawn.weights, fold)

    def folds(
        self, center: bool = True, largest: int | None = None, *, rank_tol: float = RANK, rank_floor: float = 0.0
    ) -> list[HeldOutFold]:
        """Training is total minus fold, one decomposition per fold; ``largest`` leading pairs are enough where that is far below d [10]."""
        found = []
        for held_out in range(len(self.parts)):
            training = merged([other for f, other in enumerate(self.parts) if f != held_out])
            values, vectors, trace = _leading(training.covariance(center), largest)
            rank = _rank(values, rank_tol, rank_floor)
            out = self.fold == held_out
            rows = self.rows[out]
            rows = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
            centred = rows - training.mean if center else rows
            squares = (centred @ vectors[:, :rank]) ** 2
            norms = np.einsum("nd,nd->n", centred, centred)
            found.append(HeldOutFold(values[:rank], trace, squares, norms, self.weights[out]))
        return found


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
    judged: JudgedMoments,
    n_rows: int,
    center: bool = True,
    *,
    smallest: int = 1,
    rank_tol: float = RANK,
    rank_floor: float = 0.0,
    floor: float = FLAT,
) -> Selection:
    """q of a table from the moments of its folds, exact structure kept whole; of many columns only as many pairs as are needed."""
    parts = judged.parts
    d = len(parts[0].mean)
    largest = None if d <= WHOLE_SIZE else FIRST_PAIRS
    while True:
        folds = judged.folds(center, largest, rank_tol=rank_tol, rank_floor=rank_floor)
        found = choose_dimension(folds, d, smallest=smallest, floor=floor)
        if largest is None or largest > d // 8 or _passed(found):
            break
        largest *= 2
    total = merged(parts)
    spreads = np.diagonal(total.covariance(center))
    varying = int((spreads > max(rank_floor, 0.0)).sum())
    most = min(n_rows - int(center), varying)
    if (largest is not None and largest <= d // 8) or floor > FLAT:
        return found
    if min(len(fold.eigenvalues) for fold in folds) >= min(most, d):
        return found
    rank = _rank(_leading(total.covariance(center), None)[0], rank_tol, rank_floor)
    return kept_whole(found, rank) if 0 < rank < most else found


def choose_by_gram(
    gram: Array,
    weights: Array,
    fold: Array,
    dim: int,
    n_rows: int,
    center: bool = True,
    *,
    smallest: int = 1,
    floor: float = FLAT,
) -> Selection:
    """q of a wide table from the blocks of its Gram matrix, exact structure kept whole."""
    folds = gram_folds(gram, weights, fold, center)
    found = choose_dimension(folds, dim, smallest=smallest, floor=floor)
    if floor > FLAT:
        return found
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
        selection.evidence,
    )


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
    >>> primal = JudgedMoments([Moments.of(X[fold == f]) for f in range(3)], X, np.ones(30), fold).folds()
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
        rough = first.rough(single).leading(most)
        best = int((rough.weights @ rough.log_likelihoods(dims[0])).argmax())
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
    weights: Array  # of the held-out rows

    @classmethod
    def of(cls, gram: Array, weights: Array, held_out: Array, center: bool) -> _Block:
        out = np.flatnonzero(held_out)
        return cls(HeldOutGram.of(gram, weights, np.flatnonzero(~held_out), out, center), weights[out])

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
        squared_scores = np.square(found[:rank]).T / values[:rank]
        return HeldOutFold(values[:rank], trace, squared_scores, self.gram.squared_norms, self.weights)


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
