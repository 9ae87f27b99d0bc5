"""Where errors are larger and where smaller: held-out absolute residuals as a function of the latents [8, 12]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian._types import Points
from gramian.evidence.held_out import HeldOut
from gramian.latent.units import Units
from gramian.policy import TARGETS
from gramian.targets.axes import FeatureInputs
from gramian.targets.single import component_losses, component_predictions, decomposed_folds

MOST_LATENTS = 30
"""Leading latents that the size of errors may depend on, and their squares."""
FEWEST_FOR_SPREAD = 40
"""With fewer distinct rows only one size of errors can be estimated."""
MOST_INPUTS = 100
"""Columns of inputs that the size of errors may depend on by themselves, and their squares; with more columns only the latents are used."""
QUIETEST, LOUDEST = 0.15, 6.0
"""Errors are expected between these shares of their mean, whatever the regression says."""


@dataclass(frozen=True)
class TargetSpread:
    """The expected size of an error over its mean, one per column of the target: linear in the latents, the inputs and their squares.

    Inputs count by themselves too, since the latents know a column only as far as it moves the target. None: latents alone.
    """

    intercept: Annotated[Array, "m"]
    coefficients: Annotated[Array, "* m"]
    units: Units | None = None  # of the inputs, (d,)

    def __call__(self, latents: Array, inputs: Points | None = None) -> Array:
        """Relative sizes (n, m)."""
        own = None if self.units is None or inputs is None else input_features(inputs, self.units)
        return limit_sizes(self.intercept + spread_features(latents, own) @ self.coefficients)


def limit_sizes(sizes: Array) -> Array:
    """Between a seventh of the mean error and six times it."""
    return np.clip(sizes, QUIETEST, LOUDEST)


def spread_features(latents: Array, inputs: Array | None = None) -> Array:
    """The leading latents and the inputs with their squares, later latents weighted less: the size of errors is the smoother of two functions."""
    leading = latents[:, :MOST_LATENTS]
    leading = leading / np.arange(1, leading.shape[1] + 1)
    parts = [leading] if inputs is None else [leading, inputs]
    return np.hstack([power for part in parts for power in (part, np.square(part))])


def input_features(inputs: Points, units: Units) -> Array:
    """Inputs in standard deviations; a value farther out than three of them says no more than one that is three."""
    return np.clip(units.into(inputs), -TARGETS.far, TARGETS.far)


def fit_spread(
    latents: Array, sizes: Array, weights: Array, folds: HeldOut, total_weight: float, inputs: Array | None = None
) -> tuple[TargetSpread, Array] | None:
    """Ridge regression of the ``sizes`` |e| of held-out errors (mean 1 per column) on latents and inputs, and its held-out predictions.

    None where it does not predict held-out sizes better than their mean; a small gain is a large ridge, which says nearly the mean.
    """
    if int(folds.distinct.sum()) < FEWEST_FOR_SPREAD or latents.shape[1] == 0:
        return None
    units = None
    if inputs is not None and inputs.shape[1] <= MOST_INPUTS:
        units = Units.of(inputs, weights)
    own = None if units is None or inputs is None else input_features(inputs, units)
    features = spread_features(latents, own)
    table = FeatureInputs(features, sizes, weights, folds, 1e-10)
    parts = decomposed_folds(table, folds, total_weight)
    if min(len(part.axes.values) for part in parts) == 0:
        return None
    count = features.shape[1]
    losses = component_losses(parts, sizes, weights, [count])
    _, r = losses.best()
    constant = np.array(
        [float(weights[part.held] @ np.square(sizes[part.held] - part.axes.mean).sum(axis=1)) for part in parts]
    )
    gains = (constant - losses.squares[:, 0, r]) / losses.weights
    if gains.mean() <= 0:
        return None
    predictions = component_predictions(parts, sizes.shape, count, float(losses.ridges[r]))
    whole = table.decomposed(np.arange(len(weights)))
    axes = whole.axes
    ridge = float(losses.ridges[r]) * folds.kept_share
    coefficients = whole.coefficients @ (axes.cross / (axes.values + ridge)[:, None]) @ axes.directions.T
    intercept = axes.mean - (weights @ features) @ coefficients
    return TargetSpread(intercept, coefficients, units), limit_sizes(predictions)
