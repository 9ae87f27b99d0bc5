"""What landmarks lose: the held-out error of a kernel ridge with them and with all rows [10]."""

from __future__ import annotations

from dataclasses import dataclass

from gramian._arrays import Array
from gramian._content import row_hashes
from gramian.choosing.target_kernel import drawn_rows, held_out_losses
from gramian.features import Nystroem
from gramian.kernels import Kernel
from gramian.latent.target_folds import dealt_folds

COMPARED_ROWS = 1000
"""Rows on which landmarks are compared with all rows: those of smallest hash."""


@dataclass(frozen=True)
class LandmarkLoss:
    """Held-out errors over the variance of the target, on some of the rows, with as large a share of them as landmarks."""

    n_landmarks: int
    n_rows: int
    approximate: float
    exact: float


def landmark_loss(
    kernel: Kernel, X: Array, Y: Array, raw_weights: Array, n_landmarks: int, n_folds: int
) -> LandmarkLoss | None:
    """The loss on at most 1,000 rows, where all rows can be landmarks too."""
    rows = drawn_rows(row_hashes(X), COMPARED_ROWS)
    X, Y, raw_weights = X[rows], Y[rows], raw_weights[rows]
    folds = dealt_folds(X, n_folds)
    errors = []
    for count in (n_landmarks, len(X)):
        features = Nystroem(kernel, min(count, len(X))).fit(X, sample_weight=raw_weights).transform(X)
        losses = held_out_losses(features, Y, raw_weights, folds)
        if losses is None:
            return None
        errors.append(float(losses.mean()))
    return LandmarkLoss(n_landmarks, len(X), errors[0], errors[1])
