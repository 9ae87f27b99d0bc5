"""Linear models of a series, screened by the hundred on its held-out stretches [10]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian.estimators._forecast_candidates import Candidate, SeriesOptions, lags_to_try, transforms_to_try
from gramian.estimators._forecast_trial import Trial

FAR_OFF = 1.5
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
