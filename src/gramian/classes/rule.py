"""Which rule of classification: the candidates for width, q and noise, and the choice between them on held-out rows [7, 10]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.classes.blend import Blend
from gramian.classes.calibration import Calibration, calibrate
from gramian.evidence.selection import Selection, choose
from gramian.policy import CLASSES

Rule = tuple[Any, Any]
"""n_components and noise_variance, as `KernelPPCAClassifier` takes them."""
BLENDED: Rule = ("auto", "auto")
"""All rules with a finite noise together (`gramian.classes.blend`)."""


def distance_to_usual(width: float | None, rule: Rule, unit: float) -> float:
    """How far a candidate is from the usual one; ``width`` over the median distance (None: given), ``unit`` the mean k(x, x)."""
    far = 0.0 if width is None else abs(float(np.log2(width / CLASSES.width)))
    if rule == BLENDED:
        return far
    if rule[1] is None:  # farther than the smallest noise that is tried
        return far + 3.0
    return far + abs(float(np.log10(rule[1] / (CLASSES.noise * unit))))


@dataclass(frozen=True)
class JudgedRows:
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


def score_rules(evidence: Array, held_out: JudgedRows, rules: Sequence[Rule], *, offsets: bool) -> Scored:
    """Score evidence (rules, C, n); the limiting rule has no priors, and so no offsets [7]."""
    n_rules, n_classes, n_rows = evidence.shape
    scales, moves = np.empty(n_rules), np.empty((n_rules, n_classes))
    movable = np.array([offsets and noise is not None for _, noise in rules])
    for moving in np.unique(movable):
        own = movable == moving
        found = calibrate(evidence[own], held_out.codes, held_out.weights, offsets=bool(moving))
        scales[own], moves[own] = found.scales, found.offsets
    calibration = Calibration(scales, moves)
    logs = calibration.log_probabilities(evidence)
    right = (logs.argmax(axis=1) == held_out.codes).astype(np.float64)
    picked = logs[:, held_out.codes, np.arange(n_rows)]
    return Scored(held_out.by_fold(picked), held_out.by_fold(right), calibration)


def walked_widths(score: Callable[[float], float]) -> dict[float, float]:
    """The widths (factors) that a walk to the best score has visited, with their scores; ``score`` is called once per factor."""
    seen = {factor: score(factor) for factor in CLASSES.widths}
    while True:
        top = top_width(seen)
        if top == min(seen) and top > 2.0**-5:
            seen[top / 2] = score(top / 2)
        elif top == max(seen) and top < 2.0**4:
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
