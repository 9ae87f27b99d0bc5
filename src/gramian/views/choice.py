"""How many components views need, and how far to trust the views shown: by the error of views that were held out [8, 10]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian._arrays import Array
from gramian.evidence.dimension import SpectrumPath, choose_dimension
from gramian.evidence.held_out import ends, ladder
from gramian.evidence.selection import Evidence, Selection, choose, choose_by
from gramian.views.folds import Question, ViewFold, ridges_of_folds

SAFE_RIDGE = 0.5
"""Of ridges whose error is within this share of a standard error of the least one (paired over folds), the largest is taken."""


def from_all_others(n_views: int) -> list[Question]:
    """Every view from all others."""
    return [(tuple(w for w in range(n_views) if w != v), v) for v in range(n_views)]


def choose_view_components(folds: Sequence[ViewFold], *, noise_variance: float | None = None) -> Selection:
    """The smallest q within one standard error of the least error of held-out views, every view predicted from all others.

    The error is a share of each view's variance, mean over the views. Each question has its best ridge (the trust in the views shown
    is calibrated afterwards); with ``noise_variance`` 0 there is none: AC's prediction. None: the maximum-likelihood noise of each q.
    """
    largest = max(1, min(len(fold.eigenvalues) for fold in folds))
    shares = _shares(folds)
    totals = shares @ np.array([fold.norms for fold in folds])
    questions = [question for question in from_all_others(len(totals)) if totals[question[1]] > 0]
    ridges = np.zeros(1) if noise_variance == 0 else ridges_of_folds(folds)
    weights = np.array([fold.weight for fold in folds])
    tried: list[int] = []
    losses: list[Array] = []
    for q in ladder(1, largest):
        loss = np.zeros(len(folds))
        noises = [fold.noise(q) if noise_variance is None else noise_variance for fold in folds]
        for question in questions:
            errors = np.array([fold.errors(question, q, ridges, noise) for fold, noise in zip(folds, noises)])
            best = int((shares @ errors).argmin())
            loss += errors[:, best] / (totals[question[1]] * len(questions))
        tried.append(q)
        losses.append(loss)
        evidence = Evidence(list(tried), np.array(losses), weights, loss="error of held-out views")
        if ends(evidence):
            break
    return choose_by(evidence)


def choose_by_rows(folds: Sequence[ViewFold]) -> int:
    """q by the held-out likelihood of whole rows with one noise for all views: nothing but the decompositions is needed."""
    rows = []
    for fold in folds:
        scores = np.diagonal(fold.products.sum(axis=(0, 1)))
        rows.append(
            SpectrumPath(
                fold.eigenvalues,
                fold.trace,
                scores[None],
                fold.norms.sum(keepdims=True),
                np.array([fold.weight]),
                fold.dim,
            )
        )
    return int(choose_dimension(rows).chosen)


def choose_ridge(folds: Sequence[ViewFold], question: Question, q: int, noise_variance: float) -> float:
    """The ridge of the least error on held-out rows; infinite where the mean of the view asked for is as good [10].

    Of ridges that are nearly as good (`SAFE_RIDGE`) the largest: too little trust costs less on new rows than too much.
    """
    ridges = ridges_of_folds(folds)
    weights = np.array([fold.weight for fold in folds])
    errors = np.array([fold.errors(question, q, ridges, noise_variance) for fold in folds])
    means = _shares(folds) @ errors
    best = int(np.flatnonzero(means <= means.min() * (1 + 1e-9))[-1])  # of equals the largest
    alone = np.array([fold.norms[question[1]] for fold in folds])
    pair = -np.column_stack([alone, errors[:, best]])
    if choose([0, 1], pair, weights, what="trust", score="error").chosen == 0:
        return float("inf")
    larger = choose(list(ridges[best:]), -errors[:, best:], weights, what="trust", score="error")
    nearly = -larger.scores <= -larger.scores[0] + SAFE_RIDGE * larger.errors  # the first is the best itself
    return float(ridges[best:][nearly][-1])


def _shares(folds: Sequence[ViewFold]) -> Array:
    weights = np.array([fold.weight for fold in folds])
    return weights / weights.sum()
