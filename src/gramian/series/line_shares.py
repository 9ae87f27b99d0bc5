"""What lines count beside smoothing, by held-out stretches: errors to a power, and never worse than naive [10].

No line is chosen: the best of many is partly luck. Their mean counts by its error beside that of smoothing, which is believed before anything is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from gramian import policy
from gramian._arrays import Array
from gramian.series.candidates import Candidate, SeriesOptions, lags_to_try
from gramian.series.lines import Line
from gramian.series.transform import SeriesTransform
from gramian.series.trial import Screened, SeriesTrial


def screened_lines(trial: SeriesTrial, seasons: Sequence[int], given: SeriesOptions) -> list[Screened]:
    """Ridge regressions on windows of the series and of its logarithm, with and without its seasons; levels are smoothing's."""
    y = trial.series[:, 0]
    logs = {"auto": (False, True), "log": (True,), None: (False,)}[given.transform]
    counts = lags_to_try("auto", seasons, max(1, (trial.stretches[0].end - 2) // 3))
    found = []
    for log in logs:
        if log and np.nanmin(y) <= 0:
            continue
        for season in (0, *seasons):
            transform = SeriesTransform(season, 0, log)
            for lags, forecasts in trial.linear_forecasts(0, transform, counts).items():
                errors = trial.fold_errors(forecasts, 0)
                if np.isfinite(errors).all():
                    found.append(Screened(Candidate(transform, lags), forecasts, errors))
    return found


def beside_smoothing(trial: SeriesTrial, own: Array, rows: Sequence[Screened]) -> tuple[Array, tuple[Line, ...]]:
    """Forecasts (n, H) of smoothing with lines beside it, and the lines with their shares."""
    if not rows:
        return own, ()
    errors = np.array([float(trial.weights @ row.errors) for row in rows]) + trial.smallest
    parts = (errors / errors.min()) ** -policy.WINDOWS.power
    parts /= parts.sum()
    mean = np.tensordot(parts, np.array([row.forecasts for row in rows]), 1)
    share = trial.share(trial.fold_errors(mean, 0), trial.fold_errors(own, 0))
    lines = tuple(
        Line(row.candidate.transform, row.candidate.lags, share * float(part)) for row, part in zip(rows, parts)
    )
    return (1.0 - share) * own + share * mean, lines


def no_worse_than_naive(
    trial: SeriesTrial, own: Array, lines: tuple[Line, ...], seasons: Sequence[int]
) -> tuple[Array, tuple[Line, ...]]:
    """The same; where the best naive forecast is better, with the least share of it that mends this.

    The error is convex in the share, so the least share is found by halving.
    """

    def errors(forecasts: Array) -> Array:
        return trial.fold_errors(forecasts, 0)

    offered = [(SeriesTransform(0, 1), trial.naive(1)), *((SeriesTransform(s), trial.naive(s)) for s in seasons)]
    naives = [(transform, forecasts[:, :, 0]) for transform, forecasts in offered]
    transform, naive = min(naives, key=lambda pair: float(trial.weights @ errors(pair[1])))
    share = least_share(own, naive, errors, trial.weights)
    if not share:
        return own, lines
    kept = tuple(replace(line, share=(1.0 - share) * line.share) for line in lines)
    return (1.0 - share) * own + share * naive, (*kept, Line(transform, 0, share))


def least_share(own: Array, naive: Array, errors: Callable[[Array], Array], weights: Array | None = None) -> float:
    """The least share of the naive forecast with which errors (folds,) are not above its own in the mean; 0 where they are not."""

    def mean(forecasts: Array) -> float:
        return float(np.average(errors(forecasts), weights=weights))

    bound = mean(naive)
    if mean(own) <= bound:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        enough = mean((1.0 - middle) * own + middle * naive) <= bound
        low, high = (low, middle) if enough else (middle, high)
    return high
