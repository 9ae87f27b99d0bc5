"""q where some rows may not belong: held-out likelihood of all but the least likely rows, and a noise that cannot vanish [10]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian._content import content_folds, row_hashes, smallest_positions
from gramian.evidence.selection import Selection, choose
from gramian.latent.gaussian import log_likelihoods_of_each_q

TRIMMED_SHARE = 0.25
"""Of the held-out rows of a fold, so many with the lowest likelihood do not vote: outliers would decide the mean."""
NOISE_FLOOR = 1e-3
"""Of the mean variance: a column that only one row moves must not make every other row infinitely likely."""
CHOICE_ROWS = 5000
"""Rows that the choice looks at, those of smallest hash."""


@dataclass(frozen=True)
class TrimmedChoice:
    """The chosen q, or None where the noise is held at its floor; ``noise_variance`` is then that floor."""

    selection: Selection
    n_components: int | None
    noise_variance: float | None


def choose_trimmed(X: Array, n_folds: int) -> TrimmedChoice | None:
    """The q of a complete table that may hold outliers, 0 included; None where nothing can be held out."""
    hashes = row_hashes(X)
    rows = smallest_positions(hashes, CHOICE_ROWS)
    X = X[rows]
    folds, fold = content_folds(X, n_folds, hashes[rows])
    if not folds or not X.shape[1]:
        return None
    paths = [_path(X[fold != held], X[fold == held]) for held in range(folds.n_folds)]
    count = min(path.shape[1] for path in paths)
    scores = [np.sort(path[:, :count], axis=0)[int(TRIMMED_SHARE * len(path)) :].mean(axis=0) for path in paths]
    selection = choose(
        range(count), np.array(scores), np.bincount(fold), score="held-out log-likelihood of the usual rows"
    )
    values = _spectrum(X)[0]
    floor = NOISE_FLOOR * float(values.sum()) / X.shape[1]
    q, d = int(selection.chosen), X.shape[1]
    noise = float(values[q:].sum()) / max(d - q, 1)
    if noise > floor or floor <= 0:
        return TrimmedChoice(selection, q, None)
    return TrimmedChoice(selection, None, floor)


def _spectrum(X: Array) -> tuple[Array, Array, Array]:
    """Eigenvalues of the covariance, axes as rows, and the mean; from the smaller side."""
    mean = X.mean(axis=0)
    _, lengths, axes = np.linalg.svd((X - mean) / np.sqrt(len(X)), full_matrices=False)
    return lengths**2, axes, mean


def _path(training: Array, held_out: Array) -> Array:
    """log p of each held-out row under q = 0, 1, ... of the training rows, (n, count); q stays below the floor of the noise."""
    values, axes, mean = _spectrum(training)
    trace, d = float(values.sum()), training.shape[1]
    floor = max(NOISE_FLOOR * trace / d, np.finfo(float).tiny)
    values = values[: max(min(int((values > floor).sum()), d - 1), 0)]
    centred = held_out - mean
    scores = centred @ axes[: len(values)].T
    norms = np.einsum("nd,nd->n", centred, centred)
    return log_likelihoods_of_each_q(values, trace, d, scores**2, norms, floor=floor)
