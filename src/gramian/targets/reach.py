"""How far the training rows reach: off the data a prediction returns to the mean, and its deviation to that of the target [12]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform

from gramian._arrays import Array, row_chunks
from gramian._content import row_hashes, smallest_positions
from gramian._quantiles import weighted_quantile
from gramian._types import Points
from gramian.policy import LOOK, TARGETS, WAY_BACK


@dataclass(frozen=True)
class TargetReach:
    """The training rows in units of their standard deviations, and the target's range."""

    mean: Annotated[Array, "d"]  # of the inputs
    scale: Annotated[Array, "~ d"]  # their standard deviations
    points: Annotated[Array, "* d"]  # reference rows, scaled
    near: Annotated[float, "number"]
    fade: Annotated[float, "number"]
    target_mean: Annotated[Array, "m"]
    target_std: Annotated[Array, "+ m"]
    low: Annotated[Array, "m"]
    high: Annotated[Array, "m"]
    farthest: Annotated[float, "number"]  # the largest distance of a training row from the mean, in standard deviations
    returns: bool  # whether predictions return to the mean off the data: kernels without a linear part
    middle: Annotated[Array, "m"]  # the median of the target

    @classmethod
    def of(
        cls,
        X: Array,
        Y: Array,
        weights: Array,
        returns: bool,
        width: float | None = None,
        hashes: Array | None = None,
    ) -> TargetReach:
        """From training rows, weights normalised; ``width`` is the length scale of the kernel where it has one.

        ``hashes`` draw the reference rows; None: those of the rows as they are scaled.
        """
        X = np.asarray(X, dtype=np.float64)
        mean = weights @ X
        std = np.sqrt(weights @ np.square(X - mean))
        scale = np.where(std > 1e-12 * np.abs(X).max(axis=0, initial=0.0), std, np.inf)
        scaled = (X - mean) / scale
        points = scaled[smallest_positions(row_hashes(scaled) if hashes is None else hashes, LOOK.few)]
        near, fade = 0.0, 1.0
        if len(points) > 2:
            pairs = pdist(points)
            distances = squareform(pairs)
            np.fill_diagonal(distances, np.inf)
            near = float(np.quantile(distances.min(axis=1), WAY_BACK.usual))
            fade = (float(np.median(pairs)) if width is None else width) or 1.0
        center = weights @ Y
        spread = np.sqrt(weights @ np.square(Y - center))
        farthest = float(_root_mean_square(scaled, scale).max(initial=0.0)) or 1.0
        low, high, middle = Y.min(axis=0), Y.max(axis=0), weighted_quantile(Y, weights, 0.5)
        return cls(mean, scale, points, near, fade, center, spread, low, high, farthest, returns, middle)

    def __call__(self, X: Points) -> tuple[Array, Array]:
        """How far off the data each row is (0 to 1), and its distance from the mean in standard deviations (rms over columns)."""
        scaled = (np.asarray(X, dtype=np.float64) - self.mean) / self.scale
        nearest = np.empty(len(scaled))
        for rows in row_chunks(len(scaled)):
            nearest[rows] = cdist(scaled[rows], self.points).min(axis=1)
        beyond = np.maximum(nearest - self.near, 0.0) / self.fade
        return -np.expm1(-0.5 * np.square(beyond)), _root_mean_square(scaled, self.scale)

    def returned(self, mean: Array, off: Array, distance: Array) -> Array:
        """The prediction, kept near the target's range; on its way to the mean where ``returns``, else along the linear part."""
        share = TARGETS.margin + (0.0 if self.returns else 1.0) * np.maximum(distance / self.farthest - 1.0, 0.0)
        twice = 2.0 * share[:, None]
        held = np.clip(mean, self.low - twice * (self.middle - self.low), self.high + twice * (self.high - self.middle))
        if not self.returns:
            return held
        return held + off[:, None] * (self.target_mean - held)

    def widened(self, std: Array, off: Array, distance: Array, moved: Array) -> Array:
        """The deviation, on its way to the target's times max(1, distance); ``moved`` is how far the mean was brought back.

        The law is a mixture of what the model says and of the target's own, so that their disagreement counts too.
        """
        far = self.target_std * np.maximum(distance, 1.0)[:, None]
        off = off[:, None]
        apart = np.where(off > 0, np.square(moved) * (1.0 - off) / np.where(off > 0, off, 1.0), 0.0)
        return np.sqrt((1.0 - off) * np.square(std) + off * np.square(np.maximum(far, std)) + apart)


def _root_mean_square(scaled: Array, scale: Array) -> Array:
    """Over the columns that vary."""
    return np.sqrt(np.square(scaled).sum(axis=1) / max(int(np.isfinite(scale).sum()), 1))
