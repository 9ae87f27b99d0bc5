"""What landmarks lose: the held-out error of a kernel ridge with them and with all rows [10]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian.choosing.target_kernel import drawn_rows, held_out_losses
from gramian.features import Nystroem
from gramian.kernels import Kernel

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
    X, Y, raw_weights = drawn_rows(X, Y, raw_weights, COMPARED_ROWS)
    errors = []
    for count in (n_landmarks, len(X)):
        features = Nystroem(kernel, min(count, len(X))).fit(X, sample_weight=raw_weights).transform(X)
        losses = held_out_losses(features, X, Y, raw_weights, n_folds)
        if losses is None:
            return None
        errors.append(float(losses @ np.ones(len(losses))) / len(losses))
    return LandmarkLoss(n_landmarks, len(X), errors[0], errors[1])
