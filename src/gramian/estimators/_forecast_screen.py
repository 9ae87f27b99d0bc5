"""Linear models of a series, screened by the hundred on its held-out stretches, and how far the screening flatters itself [10].

The best of many looks better on the stretches that chose it than it is. So every stretch is also forecast by what the other
stretches would have chosen; the ratio of the two errors is the optimism of the screening.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian.estimators._forecast_candidates import Candidate, SeriesOptions, lags_to_try, transforms_to_try
from gramian.estimators._forecast_trial import Trial

FAR_OFF = 2.0
"""A structure whose held-out error is larger than the best by this factor is not averaged."""


@dataclass(frozen=True)
class Screened:
    """A linear candidate with its forecasts (n, H) for the held-out stretches and its mean absolute error on each of them."""

    candidate: Candidate
    forecasts: Array
    errors: Array


def screened(trial: Trial, column: int, seasons: Sequence[int], given: SeriesOptions) -> list[Screened]:
    """Every linear candidate of one series that the parameters leave open."""
    most = max(1, (trial.stretches[0].end - 2) // 3)
    found = []
    for transform in transforms_to_try(
        trial.series[:, column], given.season, given.difference, given.transform, seasons
    ):
        counts = lags_to_try(given.lags, seasons, transform, most)
        for count, forecasts in trial.linear_forecasts(column, transform, counts).items():
            errors = trial.fold_errors(forecasts, column)
            if np.isfinite(errors).all():
                found.append(Screened(Candidate(transform, count), forecasts, errors))
    return found


def best_of_structures(rows: Sequence[Screened], weights: Array) -> list[Screened]:
    """The best candidate of each structure (season or not, level or not, logarithm or not), the best of all first."""
    best: dict[tuple[int, int, bool], Screened] = {}
    for row in sorted(rows, key=lambda row: float(weights @ row.errors)):
        best.setdefault(row.candidate.structure, row)
    return list(best.values())


def near_the_best(best: Sequence[Screened], weights: Array, most: int) -> list[Screened]:
    """Of the best of structures, those that may be averaged."""
    limit = FAR_OFF * float(weights @ best[0].errors)
    return [row for row in best if weights @ row.errors <= limit][:most]


def optimism(trial: Trial, rows: Sequence[Screened], column: int, most: int) -> Array:
    """Per stretch, the error of what the other stretches would have averaged, over the error of what all of them average."""
    weights = trial.weights
    if len(weights) == 1:
        return np.ones(1)
    chosen = near_the_best(best_of_structures(rows, weights), weights, most)
    own = trial.fold_errors(np.mean([row.forecasts for row in chosen], axis=0), column)
    honest = np.empty(len(weights))
    for fold in range(len(weights)):
        others = np.where(np.arange(len(weights)) == fold, 0.0, weights)
        picked = near_the_best(best_of_structures(rows, others), others, most)
        honest[fold] = trial.fold_errors(np.mean([row.forecasts for row in picked], axis=0), column)[fold]
    return np.asarray(np.where(own > 0, honest / np.where(own > 0, own, 1.0), 1.0))
