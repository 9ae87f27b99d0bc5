"""Kernels that a target may want, with explicit features, and the slopes of a ridge regression on them [10]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian._content import smallest_positions
from gramian._precision import ROUNDING
from gramian.features import Nystroem
from gramian.kernels import RBF, Kernel, Linear, Scaled, Sum
from gramian.kernels._scales import median_distance
from gramian.policy import LOOK, TARGETS
from gramian.targets.axes import FeatureInputs


@dataclass(frozen=True)
class Design:
    """A kernel and its features: the columns times ``linear`` (where that is not 0), then those of the Gaussian part."""

    kernel: Kernel
    features: Array  # (n, D)
    linear: float = 0.0
    gaussian: Nystroem | None = None
    factor: float = 1.0  # the width in median distances

    def slopes(self, X: Array, Y: Array, weights: Array, ridge: float) -> Array:
        """Root mean square of ∂f/∂x_j over the rows and the targets, f the ridge regression of Y on the features, (d,)."""
        parts = FeatureInputs(self.features, Y, weights, None, ROUNDING).decomposed(np.arange(len(X)))
        axes = parts.axes
        coefficients = parts.coefficients @ (axes.cross / (axes.values + ridge)[:, None]) @ axes.directions.T
        n_linear = X.shape[1] if self.linear else 0
        straight = self.linear * coefficients[:n_linear]  # (d, m), or nothing
        squares = np.zeros(X.shape[1])
        if self.gaussian is not None:
            over_landmarks = self.gaussian.normalization_ @ coefficients[n_linear:]
            values, landmarks = self.gaussian.kernel_values(X), self.gaussian.landmarks_
            precision = self.gaussian.kernel_.length_scale**-2
        for k in range(Y.shape[1]):
            slope = np.zeros_like(X)
            if self.gaussian is not None:
                pulls = values * over_landmarks[:, k]
                slope = precision * (pulls @ landmarks - pulls.sum(axis=1)[:, None] * X)
            if n_linear:
                slope = slope + straight[:, k]
            squares += weights @ np.square(slope)
        return np.sqrt(squares)


def families(
    X: Array, raw_weights: Array, hashes: Array, widths: tuple[float, ...] = TARGETS.widths
) -> list[list[Design]]:
    """Linear, Gaussian, and their sum: the simplest family first; members of a family differ by their width."""
    landmarks = X[smallest_positions(hashes, TARGETS.landmarks)]
    width = middle_distance(X, hashes)
    if X.shape[1] <= TARGETS.landmarks:
        linear = Design(Linear(), X, linear=1.0)
    else:
        linear = Design(Linear(), np.asarray(landmark_map(Linear(), landmarks).transform(X)))
    gaussians = []
    for factor in widths:
        kernel = RBF(factor * width)
        mapped = landmark_map(kernel, landmarks)
        gaussians.append(Design(kernel, np.asarray(mapped.transform(X)), gaussian=mapped, factor=factor))
    weights = raw_weights / raw_weights.sum()
    size = float(weights @ np.square(X - weights @ X).sum(axis=1)) or 1.0  # then both parts have variances of about 1
    return [[linear], gaussians, [with_linear(one, linear, size) for one in gaussians]]


def with_linear(gaussian: Design, linear: Design, size: float) -> Design:
    """The sum of a Gaussian and the linear kernel, the latter over its ``size``."""
    kernel = Sum(Scaled(Linear(), 1.0 / size), gaussian.kernel)
    features = np.hstack([linear.features / np.sqrt(size), gaussian.features])
    return Design(kernel, features, linear.linear / np.sqrt(size), gaussian.gaussian, gaussian.factor)


def middle_distance(X: Array, hashes: Array) -> float:
    """The median distance between rows, over those of smallest hash."""
    return median_distance(X[smallest_positions(hashes, LOOK.gram)])


def landmark_map(kernel: Kernel, landmarks: Array) -> Nystroem:
    """The features of a kernel over given landmarks."""
    return Nystroem(kernel, len(landmarks)).fit_drawn(landmarks)
