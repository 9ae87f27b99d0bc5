"""Which rule of classification: the candidates for width, q and noise, and the choice between them on held-out rows [7, 10]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.choosing.class_calibration import Calibration, calibrated
from gramian.choosing.selection import Selection, choose

COUNTS = (0, 1, 2, 4, 8, 16, 32)
"""The q that are tried: the same for every class, as many as its rank allows. 0 is the distance to the class's mean."""
NOISES = (None, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1)
"""The ρ that are tried, over the mean k(x, x); None is the limiting rule."""
FIRST_WIDTHS = (0.5, 1.0, 2.0)
"""Over the median distance. The search walks on by factors of 2 while its best stands at an end, and looks beside the best at last."""
EXTREME_WIDTHS = (2.0**-5, 2.0**4)
CHOOSING_ROWS = 2000
"""Choices are made on at most this many distinct rows, those of smallest hash [13]."""
NEIGHBOUR = 0.2
"""The share of each neighbour in a smoothed accuracy: the luckiest of many candidates is not the best."""


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

    def majority(self) -> float:
        """The accuracy of the most frequent class."""
        return float(np.bincount(self.codes, self.weights).max() / self.weights.sum())


@dataclass(frozen=True)
class Scored:
    """A grid of q and noises at one kernel: log-likelihood and accuracy by fold, and the calibration of each."""

    likelihoods: Array  # (folds, counts, noises)
    accuracies: Array  # (folds, counts, noises)
    scales: Array  # (counts, noises)
    offsets: Array  # (counts, noises, C)


def scored(evidence: Array, held_out: HeldOut, noises: Sequence[float | None], *, offsets: bool) -> Scored:
    """Score evidence (counts, noises, n, C); the limiting rule has no priors, and so no offsets [7]."""
    n_counts, n_noises, n_rows, n_classes = evidence.shape
    shape = (len(held_out.fold_weights), n_counts, n_noises)
    likelihoods, accuracies = np.empty(shape), np.empty(shape)
    scales, moves = np.empty(shape[1:]), np.empty((*shape[1:], n_classes))
    for movable in {offsets and noise is not None for noise in noises}:
        own = [j for j, noise in enumerate(noises) if (offsets and noise is not None) == movable]
        flat = np.ascontiguousarray(evidence[:, own]).reshape(-1, n_rows, n_classes)
        found = calibrated(flat, held_out.codes, held_out.weights, offsets=movable)
        logs = found.log_probabilities(flat)
        picked = np.take_along_axis(logs, held_out.codes[None, :, None], axis=2)[:, :, 0]
        right = (logs.argmax(axis=2) == held_out.codes).astype(np.float64)
        part = (n_counts, len(own))
        likelihoods[:, :, own] = held_out.by_fold(picked).reshape(-1, *part)
        accuracies[:, :, own] = held_out.by_fold(right).reshape(-1, *part)
        scales[:, own], moves[:, own] = found.scales.reshape(part), found.offsets.reshape(*part, n_classes)
    return Scored(likelihoods, accuracies, scales, moves)


def walked_widths(score: Callable[[float], float], first: Sequence[float] = FIRST_WIDTHS) -> list[float]:
    """The widths (factors) that a walk to the best score has visited, rising; ``score`` is called once per factor."""
    seen = {factor: score(factor) for factor in first}

    def best() -> float:
        return max(seen, key=lambda factor: (seen[factor], factor))

    while True:
        top = best()
        if top == min(seen) and top > EXTREME_WIDTHS[0]:
            seen[top / 2] = score(top / 2)
        elif top == max(seen) and top < EXTREME_WIDTHS[1]:
            seen[top * 2] = score(top * 2)
        else:
            break
    top = best()
    for factor in (top / np.sqrt(2), top * np.sqrt(2)):
        seen[factor] = score(factor)
    return sorted(seen)


def smoothed(values: Array) -> Array:
    """Each value of a grid with a share of its neighbours' along every axis."""
    for axis in range(values.ndim):
        first, last = np.take(values, [0], axis=axis), np.take(values, [-1], axis=axis)
        wide = np.concatenate([first, values, last], axis=axis)
        n = values.shape[axis]
        left, right = np.take(wide, np.arange(n), axis=axis), np.take(wide, np.arange(2, n + 2), axis=axis)
        values = (1 - 2 * NEIGHBOUR) * values + NEIGHBOUR * (left + right)
    return values


@dataclass(frozen=True)
class Chosen:
    """The choice with its evidence, where it stands in the grid, its calibration and its held-out scores."""

    selection: Selection
    place: tuple[int, int, int]  # kernel, count, noise
    calibration: Calibration
    accuracy: float
    log_loss: float


def choose_rule(
    grids: Sequence[Scored],
    candidates: Callable[[int, int, int], Any],
    fold_weights: Array,
    *,
    only_q: bool,
) -> Chosen:
    """Of the candidates whose log-loss is within one standard error of the best, the most accurate.

    Where q alone is open, the smallest q takes the place of the most accurate [10]. Accuracies are judged with their neighbours in the
    grid. ``candidates`` names the one at (kernel, count, noise).
    """
    likelihoods = np.stack([grid.likelihoods for grid in grids], axis=1)
    accuracies = np.stack([grid.accuracies for grid in grids], axis=1)
    shape = likelihoods.shape[1:]
    share = fold_weights / fold_weights.sum()
    mean_accuracy = np.tensordot(share, accuracies, axes=1)
    mean_likelihood = np.tensordot(share, likelihoods, axes=1)
    places = list(np.ndindex(*shape))
    if not only_q:
        ranking = smoothed(mean_accuracy)
        places.sort(key=lambda place: (-round(float(ranking[place]), 9), -round(float(mean_likelihood[place]), 9)))
    flat = np.stack([likelihoods[(slice(None), *place)] for place in places], axis=1)
    names = [candidates(*place) for place in places]
    what = "q" if only_q else "rule"
    selection = choose(names, flat, fold_weights, what=what, score="held-out log-loss of calibrated probabilities")
    place = places[selection.index]
    if not only_q:
        back = [places.index(there) for there in np.ndindex(*shape)]  # told in the order of the grid
        reason = f"{selection.reason}; of all that near the best, it has the highest held-out accuracy"
        selection = Selection(
            [names[n] for n in back], selection.scores[back], selection.errors[back], selection.chosen, reason
        )
    i, j, k = place
    calibration = Calibration(grids[i].scales[None, j, k], grids[i].offsets[None, j, k])
    return Chosen(selection, place, calibration, float(mean_accuracy[place]), -float(mean_likelihood[place]))
