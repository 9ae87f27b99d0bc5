"""Which kernel a target wants: linear, Gaussian of several widths, or their sum, by held-out error [10]."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import row_hashes
from gramian.choosing.selection import Selection, choose
from gramian.features import Nystroem
from gramian.kernels import RBF, Kernel, Linear, Scaled, Sum
from gramian.kernels._scales import median_distance
from gramian.latent.target_axes import FeatureInputs
from gramian.latent.target_folds import dealt_folds
from gramian.latent.target_single import component_losses, decomposed_folds

MOST_ROWS = 2000
"""Kernels are compared on at most this many distinct rows, those of smallest hash."""
LANDMARKS = 250
"""Landmarks that stand for the Gaussian kernel while kernels are compared."""
WIDTHS = (2.0, 1.0, 0.5)
"""Widths that are tried, in median distances; the widest is the simplest."""
RANK_TOL = 1e-12


def choose_target_kernel(X: Array, Y: Array, raw_weights: Array, n_folds: int) -> tuple[Kernel, Selection | None]:
    """The kernel for the inputs X (as the model will see them) and its evidence; None where nothing can be held out.

    Candidates are compared by ridge regression on their features, the ridge chosen for each: the target's mean squared
    error on held-out rows over its variance.
    """
    X, Y, raw_weights = drawn_rows(X, Y, raw_weights, MOST_ROWS)
    width = median_distance(X)
    candidates, scores = [], []
    for kernel, features in _candidates(X, raw_weights, width):
        losses = held_out_losses(features, X, Y, raw_weights, n_folds)
        if losses is not None:
            candidates.append({"kernel": kernel})
            scores.append(-losses)
    if not candidates:
        return RBF(width), None
    selection = choose(candidates, np.array(scores).T, what="kernel", score="held-out squared error")
    return selection.chosen["kernel"], selection


def held_out_losses(features: Array, X: Array, Y: Array, raw_weights: Array, n_folds: int) -> Array | None:
    """Mean squared error over the variance of the target in each fold of ridge regression on features, at the best ridge.

    None where nothing can be held out, or nothing varies.
    """
    weights = raw_weights / raw_weights.sum()
    folds = dealt_folds(X, n_folds)
    variance = float(weights @ np.square(Y - weights @ Y).sum(axis=1))
    if not folds.usable or variance <= 0 or not (X[0] != X).any():
        return None
    parts = decomposed_folds(FeatureInputs(features, Y, weights, folds, RANK_TOL), folds, float(raw_weights.sum()))
    if min(len(part.axes.values) for part in parts) == 0:
        return None
    losses = component_losses(parts, Y, weights, [features.shape[1]])
    _, r = losses.best()
    # folds of a content hash are nearly even: dividing by the mean weight keeps their mean the overall error
    return losses.squares[:, 0, r] / losses.weights.mean() / variance


def _candidates(X: Array, raw_weights: Array, width: float) -> list[tuple[Kernel, Array]]:
    """Kernels with explicit features, simplest first."""
    d = X.shape[1]
    linear = X if d <= LANDMARKS else Nystroem(Linear(), LANDMARKS).fit(X, sample_weight=raw_weights).transform(X)
    found: list[tuple[Kernel, Array]] = [(Linear(), linear)]
    gaussians = []
    for factor in WIDTHS:
        kernel = RBF(factor * width)
        features = Nystroem(kernel, LANDMARKS).fit(X, sample_weight=raw_weights).transform(X)
        gaussians.append((kernel, features))
    found += gaussians
    # the mean square of a row is about d once columns have unit variance
    size = float(np.square(X - X.mean(axis=0)).sum(axis=1).mean()) or 1.0
    found += [
        (Sum(Scaled(Linear(), 1.0 / size), kernel), np.hstack([linear / np.sqrt(size), features]))
        for kernel, features in gaussians
    ]
    return found


def drawn_rows(X: Any, Y: Array, raw_weights: Array, limit: int) -> tuple[Array, Array, Array]:
    """All copies of the distinct rows of smallest hash."""
    hashes = row_hashes(X)
    distinct = np.unique(hashes)
    kept = np.ones(len(hashes), dtype=bool) if len(distinct) <= limit else hashes <= distinct[limit - 1]
    return np.asarray(X[kept], dtype=np.float64), Y[kept], raw_weights[kept]
