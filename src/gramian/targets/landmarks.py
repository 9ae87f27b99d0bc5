"""What landmarks lose: the held-out error of a kernel ridge with them and with all rows [10]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian._content import Folds, row_hashes, smallest_positions
from gramian.evidence.held_out import HeldOut
from gramian.kernels import Kernel
from gramian.policy import LOOK
from gramian.targets.design import landmark_map
from gramian.targets.kernel_choice import copies_of_smallest, ridge_losses


@dataclass(frozen=True)
class LandmarkLoss:
    """Held-out errors over the variance of the target, on some of the rows, with as large a share of them as landmarks."""

    n_landmarks: Annotated[int, "count"]
    n_rows: Annotated[int, "count"]
    approximate: Annotated[float, "number"]
    exact: Annotated[float, "number"]


def landmark_loss(
    kernel: Kernel,
    X: Array,
    Y: Array,
    raw_weights: Array,
    n_landmarks: int,
    n_folds: int | Folds,
    hashes: Array | None = None,
) -> LandmarkLoss | None:
    """The loss on at most 1,000 rows, where all rows can be landmarks too; ``hashes`` as in `choose_target_kernel`."""
    hashes = row_hashes(X) if hashes is None else hashes
    rows = copies_of_smallest(hashes, LOOK.gram)
    X, Y, raw_weights, hashes = np.asarray(X[rows], dtype=np.float64), Y[rows], raw_weights[rows], hashes[rows]
    folds = HeldOut.of(None, n_folds, hashes=hashes)
    errors = []
    for count in (n_landmarks, len(X)):
        features = np.asarray(landmark_map(kernel, X[smallest_positions(hashes, count)]).transform(X))
        scored = ridge_losses(features, Y, raw_weights, folds)
        if scored is None:
            return None
        errors.append(float(scored[0].mean()))
    return LandmarkLoss(n_landmarks, len(X), errors[0], errors[1])
