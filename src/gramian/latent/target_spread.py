"""Where errors are larger and where smaller: held-out absolute residuals as a function of the latents [8, 12]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian.latent.target_axes import FeatureInputs
from gramian.latent.target_folds import Folds
from gramian.latent.target_single import component_losses, component_predictions, decomposed_folds

MOST_LATENTS = 30
"""Leading latents that the size of errors may depend on, and their squares."""
FEWEST_FOR_SPREAD = 40
"""With fewer distinct rows one size of errors is all that can be told."""
QUIETEST, LOUDEST = 0.15, 6.0
"""Errors are expected between these shares of their mean, whatever the regression says."""


@dataclass(frozen=True)
class TargetSpread:
    """The expected size of an error over its mean, one per column of the target: linear in the latents and their squares."""

    intercept: Array  # (m,)
    coefficients: Array  # (2p, m)

    def __call__(self, latents: Array) -> Array:
        """Relative sizes (n, m)."""
        return limited(self.intercept + spread_features(latents) @ self.coefficients)


def limited(sizes: Array) -> Array:
    """Between a seventh of the mean error and six times it."""
    return np.clip(sizes, QUIETEST, LOUDEST)


def spread_features(latents: Array) -> Array:
    """The leading latents and their squares, later ones weighted less: the size of errors is the smoother of two functions."""
    leading = latents[:, :MOST_LATENTS]
    leading = leading / np.arange(1, leading.shape[1] + 1)
    return np.hstack([leading, np.square(leading)])


def fit_spread(
    latents: Array, sizes: Array, weights: Array, folds: Folds, total_weight: float
) -> tuple[TargetSpread, Array] | None:
    """Ridge regression of the ``sizes`` |e| of held-out errors (mean 1 per column) on the latents, and its held-out predictions.

    None where it does not predict held-out sizes better than their mean; a small gain is a large ridge, which says nearly the mean.
    """
    if int(folds.distinct.sum()) < FEWEST_FOR_SPREAD or latents.shape[1] == 0:
        return None
    inputs = FeatureInputs(spread_features(latents), sizes, weights, folds, 1e-10)
    parts = decomposed_folds(inputs, folds, total_weight)
    if min(len(part.axes.values) for part in parts) == 0:
        return None
    count = inputs.features.shape[1]
    losses = component_losses(parts, sizes, weights, [count])
    _, r = losses.best()
    constant = np.array(
        [float(weights[part.held] @ np.square(sizes[part.held] - part.axes.mean).sum(axis=1)) for part in parts]
    )
    gains = (constant - losses.squares[:, 0, r]) / losses.weights
    if gains.mean() <= 0:
        return None
    predictions = component_predictions(parts, sizes.shape, count, float(losses.ridges[r]))
    whole = inputs.decomposed(np.arange(len(weights)))
    axes = whole.axes
    ridge = float(losses.ridges[r]) * folds.kept_share
    coefficients = whole.coefficients @ (axes.cross / (axes.values + ridge)[:, None]) @ axes.directions.T
    intercept = axes.mean - (weights @ inputs.features) @ coefficients
    return TargetSpread(intercept, coefficients), limited(predictions)
