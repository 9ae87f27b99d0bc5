"""Which rule of classification: the candidates for width, q and noise, and the choice between them on held-out rows [7, 10]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.classes.blend import Blend
from gramian.classes.calibration import Calibration, calibrated
from gramian.evidence.selection import Selection, choose

Rule = tuple[Any, Any]
"""n_components and noise_variance, as `KernelPPCAClassifier` takes them."""
COUNTS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
"""The q that are tried where q alone is open: the same for every class, as many as its rank allows. 0 is the distance to the mean."""
FRACTIONS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Of the variance of each class, under the limiting rule, which needs a q; with a finite noise all directions above it are kept."""
NOISES = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1)
"""The ρ that are tried, over the mean k(x, x)."""
FIRST_WIDTHS = (0.5, 1.0, 2.0)
"""Widths that are tried first, in median distances. While the best is the first or the last of them, the search goes on by factors of 2; at the end it tries
the widths beside the best."""
EXTREME_WIDTHS = (2.0**-5, 2.0**4)
FEW_COUNTS = (0, 1, 4)
"""The q that are taken at the usual noise besides all directions above it, where rules are blended."""
BLENDED: Rule = ("auto", "auto")
"""All rules with a finite noise together (`gramian.classes.blend`)."""
USUAL_WIDTH, USUAL_NOISE = 0.6, 1e-2
"""Of rules that held-out rows cannot tell apart the nearest to this one is taken: the luckiest of many is not the best."""
LIMITING_DISTANCE = 3.0
"""How far the limiting rule is from the usual one, where a factor of 10 of the noise, or of 2 of the width, counts 1."""
SCREENING_ROWS = 500
"""The walk over widths is made on at most this many; its best and the next narrower width are then compared on all."""


def distance_to_usual(width: float | None, rule: Rule, unit: float) -> float:
    """How far a candidate is from the usual one; ``width`` over the median distance (None: given), ``unit`` the mean k(x, x)."""
    far = 0.0 if width is None else abs(float(np.log2(width / USUAL_WIDTH)))
    if rule == BLENDED:
        return far
    if rule[1] is None:
        return far + LIMITING_DISTANCE
    return far + abs(float(np.log10(rule[1] / (USUAL_NOISE * unit))))


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows: their class, weight and fold."""

    codes: Array
    weights: Array
    folds: Array

    @property
    def fold_weights(self) -> Array:
        """The weight of each fold that holds rows."""
        return np.array([self.weights[self.folds == fold].sum() for fold in np.unique(self.folds)])

    def by_fold(self, values: Array) -> Array:
        """Weighted means (folds, K) of values (K, n)."""
        columns = [self.folds == fold for fold in np.unique(self.folds)]
        return np.array([values[:, own] @ self.weights[own] / self.weights[own].sum() for own in columns])


@dataclass(frozen=True)
class Scored:
    """The rules at one kernel: log-likelihood and accuracy by fold, and the calibration of each; with a ``blend`` that is the first."""

    likelihoods: Array  # (folds, rules)
    accuracies: Array  # (folds, rules)
    calibration: Calibration
    blend: Blend | None = None

    def best(self, fold_weights: Array) -> float:
        """The highest mean log-likelihood."""
        return float((fold_weights / fold_weights.sum() @ self.likelihoods).max())


def scored(evidence: Array, held_out: HeldOut, rules: Sequence[Rule], *, offsets: bool) -> Scored:
    """Score evidence (rules, C, n); the limiting rule has no priors, and so no offsets [7]."""
    n_rules, n_classes, n_rows = evidence.shape
    scales, moves = np.empty(n_rules), np.empty((n_rules, n_classes))
    movable = np.array([offsets and noise is not None for _, noise in rules])
    for moving in np.unique(movable):
        own = movable == moving
        found = calibrated(evidence[own], held_out.codes, held_out.weights, offsets=bool(moving))
        scales[own], moves[own] = found.scales, found.offsets
    calibration = Calibration(scales, moves)
    logs = calibration.log_probabilities(evidence)
    right = (logs.argmax(axis=1) == held_out.codes).astype(np.float64)
    picked = logs[:, held_out.codes, np.arange(n_rows)]
    return Scored(held_out.by_fold(picked), held_out.by_fold(right), calibration)


def walked_widths(score: Callable[[float], float]) -> dict[float, float]:
    """The widths (factors) that a walk to the best score has visited, with their scores; ``score`` is called once per factor."""
    seen = {factor: score(factor) for factor in FIRST_WIDTHS}
    while True:
        top = top_width(seen)
        if top == min(seen) and top > EXTREME_WIDTHS[0]:
            seen[top / 2] = score(top / 2)
        elif top == max(seen) and top < EXTREME_WIDTHS[1]:
            seen[top * 2] = score(top * 2)
        else:
            return seen


def top_width(seen: dict[float, float]) -> float:
    """The best of scored widths; of equals the widest."""
    return max(seen, key=lambda factor: (seen[factor], factor))


@dataclass(frozen=True)
class Chosen:
    """The choice with its evidence, its calibration and its held-out scores; ``blend`` where that is what was chosen."""

    selection: Selection
    calibration: Calibration
    accuracy: float
    log_loss: float
    blend: Blend | None = None


def choose_rule(
    grids: Sequence[Scored], names: Sequence[Sequence[Any]], order: Array, fold_weights: Array, *, what: str
) -> Chosen:
    """Of the candidates whose held-out log-loss is within one standard error of the best, the first in ``order`` [10].

    Parameters
    ----------
    grids : scored rules, one entry per kernel
    names : the candidates, per kernel and rule
    order : ndarray of shape (number of candidates,)
        Low for those to be preferred where held-out rows do not tell: the smallest q, or the nearest to the usual rule.
    """
    flat = [name for listed in names for name in listed]
    likelihoods = np.concatenate([grid.likelihoods for grid in grids], axis=1)
    accuracies = np.concatenate([grid.accuracies for grid in grids], axis=1)
    share = fold_weights / fold_weights.sum()
    means = share @ likelihoods
    preferred = np.lexsort((-means, np.round(order, 9)))
    found = choose(
        [flat[i] for i in preferred],
        likelihoods[:, preferred],
        fold_weights,
        what=what,
        score="held-out log-loss of calibrated probabilities",
    )
    back = np.argsort(preferred)  # told in the order of the grid
    place = int(preferred[found.index])
    selection = Selection(flat, found.scores[back], found.errors[back], flat[place], found.reason, found.evidence)
    scales = np.concatenate([grid.calibration.scales for grid in grids])
    offsets = np.concatenate([grid.calibration.offsets for grid in grids])
    calibration = Calibration(scales[place : place + 1], offsets[place : place + 1])
    firsts = np.cumsum([0, *(grid.likelihoods.shape[1] for grid in grids[:-1])])
    blend = next((grid.blend for first, grid in zip(firsts, grids) if first == place), None)
    return Chosen(selection, calibration, float((share @ accuracies)[place]), -float(means[place]), blend)
