"""Which kernel a target wants: linear, Gaussian or their sum, and whether far inputs are squashed, by held-out error [10]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian._content import row_hashes, smallest_positions
from gramian.choosing.selection import Selection, choose
from gramian.features import Nystroem
from gramian.kernels import RBF, Kernel, Linear, Scaled, Sum
from gramian.kernels._scales import MEDIAN_ROWS, median_distance
from gramian.latent.target_axes import FeatureInputs
from gramian.latent.target_folds import Folds, dealt_folds
from gramian.latent.target_single import component_losses, decomposed_folds

MOST_ROWS = 2000
"""Kernels are compared on at most this many distinct rows, those of smallest hash."""
LANDMARKS = 200
"""Landmarks that stand for the Gaussian kernel while kernels are compared."""
WIDTHS = (2.0, 1.0, 0.5)
"""Widths that are tried, in median distances; the widest is the simplest."""
RANK_TOL = 1e-12


@dataclass(frozen=True)
class KernelChoice:
    """The kernel for the inputs, whether far values are squashed first, and the evidence (None where nothing can be held out)."""

    kernel: Kernel
    squash: bool
    selection: Selection | None


def choose_target_kernel(
    X: Array,
    Y: Array,
    raw_weights: Array,
    n_folds: int,
    squashed: Array | None = None,
    hashes: Array | None = None,
) -> KernelChoice:
    """Linear, Gaussian, or their sum, on the inputs X (as the model will see them) or on the ``squashed`` ones if there are any.

    Candidates are compared by ridge regression on their features, the ridge chosen for each: the target's mean squared
    error on held-out rows over its variance. Within a family the best width stands. ``hashes`` decide what is drawn and held out:
    those of the rows before they were brought to units, where they were.
    """
    candidates, scores = [], []
    hashes = row_hashes(X) if hashes is None else hashes
    rows = drawn_rows(hashes, MOST_ROWS)
    hashes = hashes[rows]
    folds = dealt_folds(None, n_folds, hashes)
    Y, raw_weights = Y[rows], raw_weights[rows]
    width = median_distance(X[rows][smallest_positions(hashes, MEDIAN_ROWS)])
    for squash, inputs in ((False, X), (True, squashed)):
        if inputs is None:
            continue
        drawn = np.asarray(inputs[rows], dtype=np.float64)
        own = median_distance(drawn[smallest_positions(hashes, MEDIAN_ROWS)]) if squash else width
        for family in _families(drawn, raw_weights, hashes, own):
            losses = [held_out_losses(features, Y, raw_weights, folds) for _, features in family]
            tried = [
                (float(loss.mean()), loss, kernel) for loss, (kernel, _) in zip(losses, family) if loss is not None
            ]
            if tried:
                _, loss, kernel = min(tried, key=lambda one: one[0])
                candidates.append({"kernel": kernel} if squashed is None else {"kernel": kernel, "squash": squash})
                scores.append(-loss)
    if not candidates:
        return KernelChoice(RBF(width), False, None)
    # what held-out rows prefer: none of these is simpler to a user, and taking the linear one within one standard error of the best
    # cost 2.4 % of error on the tables of experiments/regression_table.py that rules are settled on
    order = np.argsort(-np.mean(scores, axis=1), kind="stable")
    candidates = [candidates[i] for i in order]
    selection = choose(candidates, np.array(scores)[order].T, what="kernel", score="held-out squared error")
    return KernelChoice(selection.chosen["kernel"], selection.chosen.get("squash", False), selection)


def held_out_losses(features: Array, Y: Array, raw_weights: Array, folds: Folds) -> Array | None:
    """Mean squared error over the variance of the target in each fold of ridge regression on features, at the best ridge.

    None where nothing can be held out, or nothing varies.
    """
    weights = raw_weights / raw_weights.sum()
    variance = float(weights @ np.square(Y - weights @ Y).sum(axis=1))
    if not folds.usable or variance <= 0:
        return None
    parts = decomposed_folds(FeatureInputs(features, Y, weights, folds, RANK_TOL), folds, float(raw_weights.sum()))
    if min(len(part.axes.values) for part in parts) == 0:
        return None
    losses = component_losses(parts, Y, weights, [features.shape[1]])
    _, r = losses.best()
    # folds of a content hash are nearly even: dividing by the mean weight keeps their mean the overall error
    return losses.squares[:, 0, r] / losses.weights.mean() / variance


def _families(X: Array, raw_weights: Array, hashes: Array, width: float) -> list[list[tuple[Kernel, Array]]]:
    """Kernels with explicit features, the simplest family first; members of a family differ by their width."""
    landmarks = X[smallest_positions(hashes, LANDMARKS)]
    linear = X if X.shape[1] <= LANDMARKS else landmark_features(Linear(), landmarks, X)
    gaussians: list[tuple[Kernel, Array]] = [
        (kernel, landmark_features(kernel, landmarks, X)) for kernel in (RBF(factor * width) for factor in WIDTHS)
    ]
    weights = raw_weights / raw_weights.sum()
    size = float(weights @ np.square(X - weights @ X).sum(axis=1)) or 1.0  # then both parts have variances of about 1
    sums: list[tuple[Kernel, Array]] = [
        (Sum(Scaled(Linear(), 1.0 / size), kernel), np.hstack([linear / np.sqrt(size), features]))
        for kernel, features in gaussians
    ]
    return [[(Linear(), linear)], gaussians, sums]


def landmark_features(kernel: Kernel, landmarks: Array, X: Array) -> Array:
    """Nystroem features of the rows of X over given landmarks."""
    return np.asarray(Nystroem(kernel, len(landmarks)).fit_drawn(landmarks).transform(X))


def drawn_rows(hashes: Array, limit: int) -> Array:
    """Positions of all copies of the at most ``limit`` distinct rows of smallest hash."""
    distinct = np.unique(hashes)
    return np.flatnonzero(hashes <= distinct[min(limit, len(distinct)) - 1])
