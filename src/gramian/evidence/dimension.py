"""q by held-out evidence: the log-likelihood of rows that were not fitted, for all q at once [10].

The path of a fold (`SpectrumPath`) says how the rows kept spread, and how each row held out lies in their axes. Families are moments
(`MomentFamily`: tall tables) and the blocks of one Gram matrix (`GramFamily`: wide tables and kernels); `choose_dimension` asks the jury.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from gramian._arrays import Array, symmetric_part
from gramian._content import Folds, SmallestRows
from gramian._precision import ROUNDING
from gramian.evidence.held_out import HeldOut, Part
from gramian.evidence.selection import Evidence, Selection, choose_by, votes
from gramian.latent.gaussian import log_likelihoods_of_each_q
from gramian.operators.centering import Centering
from gramian.operators.covariance import Stored
from gramian.operators.gram import HeldOutGram
from gramian.operators.moments import Moments
from gramian.policy import LOOK, SIZES
from gramian.solvers.krylov import Krylov
from gramian.solvers.turned import Reflected, turn_block

WHOLE_SIZE = 600
"""Up to so many columns covariances are decomposed whole; beyond, leading pairs are grown by doubling until they are enough."""
BEYOND = 1.1
"""So many times the best q of one fold, and `SIZES.first_pairs`, are pairs enough to show that the score of all folds falls again."""
MOST = 1 / 4
"""Beyond this share of the rows the leading pairs of a fold cost as much as all of them."""


@dataclass(frozen=True)
class SpectrumPath:
    """The models of all q: the spectrum of the rows that were fitted, and how the others lie in its axes.

    Attributes
    ----------
    eigenvalues : array (r,)
        l of the rows kept, largest first; the leading ones are enough.
    trace : float
        Total variance of the rows kept.
    squared_scores : array (n, r)
        t_p² of each row held out, t the scores about the mean of the rows kept.
    squared_norms : array (n,)
        |φ - μ|² of each row held out.
    weights : array (n,)
        Raw weights of the rows held out.
    dim : float
        D; that of a kernel model is its number of rows.
    floor : float
        No noise, and no component, is below this share of the mean variance.
    """

    eigenvalues: Array
    trace: float
    squared_scores: Array
    squared_norms: Array
    weights: Array
    dim: float
    floor: float = ROUNDING

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    @property
    def largest(self) -> int:
        """The largest q: the rank, as far as components stand above the floor."""
        least = self.floor if self.floor > ROUNDING else 0.0
        rank = int((self.eigenvalues > least * self.trace / self.dim).sum())
        return min(rank, max(int(self.dim) - 1, 1))

    def leading(self, count: int) -> SpectrumPath:
        return replace(self, eigenvalues=self.eigenvalues[:count], squared_scores=self.squared_scores[:, :count])

    def log_likelihoods(self) -> Array:
        """Of each row held out under q = 0, 1, ..., r, (n, r + 1); l and σ² are floored at a share of the mean variance [10]."""
        return log_likelihoods_of_each_q(
            self.eigenvalues,
            self.trace,
            self.dim,
            self.squared_scores,
            self.squared_norms,
            floor=max(self.floor * self.trace / self.dim, np.finfo(float).tiny),
        )

    def losses(self, held: Array | None, candidates: Sequence[int]) -> Array:
        """Minus the log-likelihood of each row held out, (candidate, row); inf beyond the rank."""
        found = -self.leading(max(candidates)).log_likelihoods().T
        return np.array([found[q] if q < len(found) else np.full(found.shape[1], np.inf) for q in candidates])


def choose_dimension(paths: Sequence[SpectrumPath], *, smallest: int = 1) -> Selection:
    """The smallest q within one standard error of the best held-out log-likelihood, from ``smallest`` to the smallest rank [10].

    >>> import numpy as np
    >>> one = np.ones(1)
    >>> paths = [SpectrumPath(np.array([9.0, 1.1]), 13.0, np.array([[9.0, 1.0 + e]]), (13.0 + e) * one, 10.0 * one, 5) for e in (0.0, 0.1, 0.2)]
    >>> choose_dimension(paths).chosen
    1
    """
    candidates = range(smallest, max(smallest, min(path.largest for path in paths)) + 1)
    alone = sum(len(path.weights) for path in paths) <= LOOK.rows  # beyond, losses of single rows are not kept
    judged = paths if alone else _means_of_votes(paths, candidates[0])
    losses = [path.losses(None, candidates) for path in judged]
    if not any(np.isfinite(found).any() for found in losses):  # no fold has a direction: nothing but the smallest
        for found in losses:
            found[0] = 0.0
    weights = [path.weights for path in judged]
    if alone:
        return choose_by(Evidence.of_rows(candidates, losses, weights))
    return choose_by(Evidence(list(candidates), np.hstack(losses), np.concatenate(weights)))


def _means_of_votes(paths: Sequence[SpectrumPath], simplest: int) -> list[SpectrumPath]:
    """The mean of the rows that vote in the place of all rows of a fold: a likelihood is linear in their squares."""
    losses = np.concatenate([path.losses(None, [simplest])[0] for path in paths])
    voted = votes(losses, np.concatenate([path.weights for path in paths]))
    found, first = [], 0
    for path in paths:
        counts = path.weights * voted[first : first + len(path.weights)]
        first += len(path.weights)
        total = counts.sum(keepdims=True)
        if total > 0:
            means = (counts / total @ seen for seen in (path.squared_scores, path.squared_norms[:, None]))
            scores, norms = (np.atleast_2d(mean) for mean in means)
            found.append(replace(path, squared_scores=scores, squared_norms=norms[0], weights=total))
    return found


# ---------------------------------------------------------------- families


@dataclass(frozen=True)
class JudgedMoments:
    """The moments of the rows of each fold, and the rows that vote: all of them, or those of smallest hash where they are many."""

    parts: Sequence[Moments]
    rows: Array
    weights: Array
    fold: Array  # of each row that votes

    @classmethod
    def of(cls, parts: Sequence[Moments | None], folds: Folds, drawn: SmallestRows) -> JudgedMoments:
        """A fold without rows is left out."""
        known = [number for number, part in enumerate(parts) if part is not None]
        fold = np.searchsorted(known, folds.assign(drawn.hashes))
        return cls([part for part in parts if part is not None], drawn.rows, drawn.weights, fold)

    @property
    def held_out(self) -> HeldOut:
        """The rows that vote, by fold."""
        return HeldOut(self.fold, np.bincount(self.fold, minlength=len(self.parts)), self.weights)


@dataclass(frozen=True)
class MomentFamily:
    """All q of a table from the moments of its folds: kept is total minus fold; ``pairs`` leading ones are enough where that is far below d [10]."""

    judged: JudgedMoments
    center: bool = True
    dim: float | None = None  # None: the number of columns
    pairs: int | None = None
    rank_tol: float = ROUNDING
    rank_floor: float = 0.0
    floor: float = ROUNDING

    def path(self, part: Part) -> SpectrumPath:
        moments = self.judged.parts
        training = merge_moments([other for number, other in enumerate(moments) if number != part.number])
        values, vectors, trace = _leading(training.covariance(self.center), self.pairs)
        rank = _rank(values, self.rank_tol, self.rank_floor)
        rows: Any = self.judged.rows[part.held]
        rows = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        centred = rows - training.mean if self.center else rows
        squares = (centred @ vectors[:, :rank]) ** 2
        norms = np.einsum("nd,nd->n", centred, centred)
        dim = float(len(training.mean) if self.dim is None else self.dim)
        return SpectrumPath(values[:rank], trace, squares, norms, self.judged.weights[part.held], dim, self.floor)

    def paths(self) -> list[SpectrumPath]:
        """One per fold."""
        return self.judged.held_out.each(self.path)


@dataclass(frozen=True)
class GramFamily:
    """All q from the blocks of one Gram matrix K₀ (n, n), with raw weights (n,): wide tables and kernels [1, 10].

    ``dim`` None: the weight of the rows kept, as in a kernel model.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((30, 4))
    >>> fold = np.arange(30) % 3
    >>> held_out = HeldOut(fold, np.full(3, 10), np.ones(30))
    >>> dual = held_out.each(GramFamily(X @ X.T, np.ones(30)).path)
    >>> primal = MomentFamily(JudgedMoments([Moments.of(X[fold == f]) for f in range(3)], X, np.ones(30), fold)).paths()
    >>> bool(np.allclose(dual[0].squared_scores, primal[0].squared_scores))
    True
    """

    gram: Array
    weights: Array
    center: bool = True
    dim: float | None = None
    floor: float = ROUNDING

    def path(self, part: Part) -> SpectrumPath:
        return self.block(part).all_pairs()

    def block(self, part: Part) -> _Block:
        dim = float(self.weights[part.kept].sum()) if self.dim is None else float(self.dim)
        gram = HeldOutGram.of(self.gram, self.weights, part.kept, part.held, self.center)
        return _Block(gram, self.weights[part.held], dim, self.floor)


def _leading(covariance: Array, largest: int | None) -> tuple[Array, Array, float]:
    """Eigenvalues, eigenvectors and trace: all pairs, or the leading ones of a large matrix."""
    d = len(covariance)
    trace = float(np.trace(covariance))
    if largest is None or d <= WHOLE_SIZE or largest > d // 8:
        values, vectors = np.linalg.eigh(symmetric_part(covariance))
        return values[::-1], vectors[:, ::-1], trace
    found = Krylov(tol=1e-6, random_state=0).solve(Stored(covariance), largest)
    return found.eigenvalues, found.eigenvectors, trace


def choose_by_moments(family: MomentFamily, n_rows: int, *, smallest: int = 1) -> Selection:
    """q of a table from the moments of its folds, exact structure kept whole; of many columns only as many pairs as are needed."""
    parts = family.judged.parts
    d = len(parts[0].mean)
    pairs = None if d <= WHOLE_SIZE else SIZES.first_pairs
    while True:
        paths = replace(family, pairs=pairs).paths()
        found = choose_dimension(paths, smallest=smallest)
        if pairs is None or pairs > d // 8 or _is_past_its_best(found):
            break
        pairs *= 2
    covariance = merge_moments(parts).covariance(family.center)
    varying = int((np.diagonal(covariance) > max(family.rank_floor, 0.0)).sum())
    most = min(n_rows - int(family.center), varying)
    if (pairs is not None and pairs <= d // 8) or family.floor > ROUNDING:
        return found
    if min(len(path.eigenvalues) for path in paths) >= min(most, d):
        return found
    rank = _rank(_leading(covariance, None)[0], family.rank_tol, family.rank_floor)
    return kept_whole(found, rank) if 0 < rank < most else found


def choose_by_gram(family: GramFamily, held_out: HeldOut, n_rows: int, *, smallest: int = 1) -> Selection:
    """q of a wide table from the blocks of its Gram matrix, exact structure kept whole."""
    found = choose_dimension(held_out.each(family.path), smallest=smallest)
    if family.floor > ROUNDING:
        return found
    weights, dim = family.weights, family.dim
    centred = Centering(weights / weights.sum(), family.center).gram(family.gram.copy())[0]
    rank = _rank(np.linalg.eigvalsh(centred)[::-1])
    most = n_rows - int(family.center)
    return kept_whole(found, rank) if 0 < rank < (most if dim is None else min(most, int(dim))) else found


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


def _is_past_its_best(selection: Selection) -> bool:
    """Whether the score has passed its best by more than its error at the last candidate."""
    best = int(np.argmax(selection.scores))
    return bool(selection.scores[best] - selection.scores[-1] > selection.errors[-1])


def choose_by_kernel(
    family: GramFamily, held_out: HeldOut, *, semidefinite: bool = True
) -> tuple[Selection, list[SpectrumPath]]:
    """q of a kernel model and the paths it was chosen by: of many rows only as many pairs as are needed [10].

    The first fold alone says how many pairs that may be. A kernel that is not ``semidefinite`` is decomposed whole, for its trace is the
    sum of the positive eigenvalues.
    """
    n_rows = len(family.gram)
    if semidefinite and n_rows > WHOLE_SIZE:
        most = int(MOST * n_rows)
        first, *others = held_out
        block = family.block(first)
        single = in_single(block.matrix)
        rough = block.rough(single).leading(most)
        best = int((rough.weights @ rough.log_likelihoods()).argmax())
        count = SIZES.first_pairs + int(BEYOND * best)
        while count <= most:
            paths = [block.leading(count, single), *(family.block(part).leading(count) for part in others)]
            found = choose_dimension(paths)
            if min(len(path.eigenvalues) for path in paths) < count or _is_past_its_best(found):
                return found, paths
            count *= 2
    paths = held_out.each(family.path)
    return choose_dimension(paths), paths


@dataclass(frozen=True)
class _Block:
    """What one Gram matrix says of a fold, with the weights of its held-out rows."""

    gram: HeldOutGram
    weights: Array  # of the rows held out
    dim: float
    floor: float

    @property
    def matrix(self) -> Array:
        return self.gram.matrix

    def all_pairs(self) -> SpectrumPath:
        """The fold with its whole spectrum; the matrix is spent."""
        values, found = turn_block(self.matrix, self.gram.shown)
        return self._path(values, found, float(np.maximum(values, 0.0).sum()))

    def leading(self, count: int, single: Reflected | None = None) -> SpectrumPath:
        """The fold with its leading pairs."""
        values, vectors = leading_pairs(self.matrix, count, single)
        return self._path(values, vectors.T @ self.gram.shown, float(np.trace(self.matrix)))

    def rough(self, single: Reflected) -> SpectrumPath:
        """The fold as float32 shows it."""
        trace = float(np.trace(self.matrix))
        return self._path(trace * single.values.astype(np.float64), single.turned(self.gram.shown), trace)

    def _path(self, values: Array, found: Array, trace: float) -> SpectrumPath:
        rank = _rank(values, max(ROUNDING, 4 * len(self.matrix) * np.finfo(float).eps))
        squared_scores = np.square(found[:rank]).T / values[:rank]
        return SpectrumPath(
            values[:rank], trace, squared_scores, self.gram.squared_norms, self.weights, self.dim, self.floor
        )


def merge_moments(parts: Sequence[Moments]) -> Moments:
    """The moments of all parts together."""
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    return total


def _rank(values: Array, tol: float = ROUNDING, floor: float = 0.0) -> int:
    largest = float(values[0]) if values.size else 0.0
    share = max(tol, 4 * len(values) * np.finfo(float).eps)
    return int((values > max(share * largest, floor)).sum()) if largest > 0 else 0


def in_single(matrix: Array) -> Reflected:
    """The decomposition in float32 of a matrix divided by its trace."""
    return Reflected.of((matrix / (float(np.trace(matrix)) or 1.0)).astype(np.float32))


def leading_pairs(matrix: Array, count: int, single: Reflected | None = None) -> tuple[Array, Array]:
    """The ``count`` largest eigenvalues of a positive semi-definite matrix, largest first, and their vectors as columns.

    A decomposition in float32 finds the space (``single``, where it is known), and Rayleigh-Ritz in float64 gives the pairs.

    >>> import numpy as np
    >>> values, vectors = leading_pairs(np.diag(0.5 ** np.arange(40.0)), 3)
    >>> values.round(9).tolist()
    [1.0, 0.5, 0.25]
    """
    single = in_single(matrix) if single is None else single
    width = min(len(matrix), count + count // 6 + 8)  # the last pairs of a block are the worst
    axes = single.leading(width).astype(np.float64)
    if single.values[width - 1] <= 1e-5 * single.values[0]:  # what float32 hardly sees, a product with the matrix shows
        axes = np.linalg.qr(matrix @ axes)[0]
    values, rotation = linalg.eigh(axes.T @ (matrix @ axes), axes.T @ axes, check_finite=False)
    return values[::-1][:count], axes @ rotation[:, ::-1][:, :count]
