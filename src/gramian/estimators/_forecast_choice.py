"""Choosing a forecaster on held-out stretches of the series: linear models screened by the hundred, kernels on the best of them [10].

The plain model is taken unless another is better by more than one standard error, after what the screening flatters itself by.
Then the mean of the plain model and the linear ones is taken, by the same rule. Where the choice falls on linear models, the best of
each structure (season or not, level or not, logarithm or not) are averaged: which of them is best changes from stretch to stretch.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.choosing import Selection, choose
from gramian.estimators._forecast_candidates import (
    PLAIN_LAGS,
    Candidate,
    SeriesOptions,
    is_auto,
    seasons_to_try,
)
from gramian.estimators._forecast_screen import (
    FAR_OFF,
    Screened,
    best_of_structures,
    near_the_best,
    optimism,
    screened,
)
from gramian.estimators._forecast_trial import Evidence, Plan, Trial
from gramian.estimators._series_transform import SeriesTransform
from gramian.estimators._stretches import held_out_stretches, usual_horizon
from gramian.estimators._window_model import WindowOptions
from gramian.kernels import RBF, Linear, as_kernel

MOST_MEMBERS = 4
"""Structures that are averaged."""


@dataclass(frozen=True)
class Row:
    """A candidate with what it forecast for the held-out stretches."""

    told: dict[str, Any]
    plan: Plan
    forecasts: Array  # (n, H, d)
    errors: Array  # one per stretch
    contends: bool = True  # else it is only told
    halfway: bool = False  # half of it is the plain model


@dataclass(frozen=True)
class Choice:
    """What was taken, and why."""

    plan: Plan
    selection: Selection | None
    evidence: Evidence | None


def choose_plan(series: Array, inputs: Array | None, given: SeriesOptions, base: WindowOptions) -> Choice:
    """What to fit to a series (T, d), from the parameters and, where they leave something open, held-out stretches."""
    T, d = series.shape
    longest = max(1, (T - 4) // 3)
    per_series = [
        seasons_to_try(column, given.usual_seasons, longest)
        if given.season == "auto"
        else [given.season] * bool(given.season)
        for column in series.T
    ]
    seasons = sorted({season for found in per_series for season in found})
    horizon = given.horizon if given.horizon is not None else usual_horizon(T, seasons)
    horizon = max(1, min(horizon, T // 3))
    fixed = (max(seasons, default=0) if given.season != "auto" else 0) + (
        0 if given.lags == "auto" else int(given.lags)
    )
    most = T - max(1, horizon // 2) - 3
    fewest = max([2 * season + 2 for season in seasons if 2 * season + 2 <= most], default=0)
    fewest = max(fewest, 12, fixed + base.ahead + 8)
    stretches = held_out_stretches(T, horizon, fewest)
    if not stretches or (base.n_folds is None and not given.anything):
        return _untried(series, given)
    trial = Trial(series, inputs, horizon, stretches)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if d == 1:
            return _choose_single(trial, per_series[0], given, base)
        return _choose_table(trial, per_series, given, base)


def _untried(series: Array, given: SeriesOptions) -> Choice:
    """Too short to hold out anything, or nothing to calibrate: the plain model, with what was given."""
    transform = _plain_transform(given)
    lags = given.lags
    if lags == "auto":
        lags = max(1, min(PLAIN_LAGS, (len(series) - transform.lost) // 3))
    kernel = "rbf" if given.kernel == "auto" and isinstance(given.kernel, str) else given.kernel
    plan = Plan(((transform,) * series.shape[1],), (lags,), (kernel,))
    selection = None
    if given.anything:
        told = Candidate(transform, lags, kernel).told()
        selection = Selection(
            [told], np.zeros(1), np.zeros(1), told, "the series is too short to hold out stretches: the plain model"
        )
    return Choice(plan, selection, None)


def _plain_transform(given: SeriesOptions) -> SeriesTransform:
    season = 0 if given.season in ("auto", None) else int(given.season)
    difference = 0 if given.difference == "auto" else int(given.difference)
    return SeriesTransform(season, difference, given.transform == "log")


def _is_linear(kernel: Any) -> bool:
    if is_auto(kernel):
        return False
    return kernel == "linear" if isinstance(kernel, str) else isinstance(kernel, Linear)


def _choose_single(trial: Trial, seasons: list[int], given: SeriesOptions, base: WindowOptions) -> Choice:
    plain = _plain_transform(given)
    most = trial.stretches[0].end - plain.lost
    plain_lags = given.lags if not is_auto(given.lags) else max(1, min(PLAIN_LAGS, most // 3))
    auto_kernel = is_auto(given.kernel)
    rows: list[Row] = []

    def judge(candidate: Candidate) -> None:
        plan = Plan(((candidate.transform,),), (candidate.lags,), (candidate.kernel,))
        _append(rows, trial, candidate.told(), plan, base)

    judge(Candidate(plain, plain_lags, "rbf" if auto_kernel else given.kernel))
    if not given.anything:
        return _taken(trial, rows, given, None, seasons) if rows else _untried(trial.series, given)
    unchosen = len(rows)  # 1, unless the stretches are too short for the plain model
    found = screened(trial, 0, seasons, given)
    best = best_of_structures(found, trial.weights)
    # a model that was asked for with its noise or its components is not averaged
    members = given.n_members if base.noise_variance == "per-view" and not isinstance(base.n_components, int) else 1
    if best and (auto_kernel or _is_linear(given.kernel)):
        _append_linear(rows, trial, best, near_the_best(best, trial.weights, members), given, members)
    if auto_kernel:
        curved = [Candidate(plain, plain_lags, "rbf")]
        if best:
            lags = given.lags if not is_auto(given.lags) else max(best[0].candidate.lags, plain_lags)
            curved.append(Candidate(best[0].candidate.transform, lags, "rbf"))
            judge(curved[-1])
        _judge_sum(trial, rows, curved, judge)
    elif not _is_linear(given.kernel):
        for row in best[:3]:
            judge(replace(row.candidate, lags=max(row.candidate.lags, 1), kernel=given.kernel))
    if not rows:
        return _untried(trial.series, given)
    if found:
        flattered = optimism(trial, found, 0, members)
        rows[unchosen:] = [replace(row, errors=row.errors * flattered) for row in rows[unchosen:]]
    return _taken(trial, rows, given, rows[0].told, seasons)


def _append_linear(
    rows: list[Row],
    trial: Trial,
    best: Sequence[Screened],
    near: Sequence[Screened],
    given: SeriesOptions,
    members: int,
) -> None:
    """The best linear model of each structure, the average of the nearest, and the mean of that and the plain model."""
    kernel = "linear" if is_auto(given.kernel) else given.kernel
    plain = rows[0] if rows else None
    for row in best:
        plan = Plan(((row.candidate.transform,),), (row.candidate.lags,), (kernel,))
        table = row.forecasts[:, :, None]
        told = replace(row.candidate, kernel=kernel).told()
        rows.append(Row(told, plan, table, trial.fold_errors(table), contends=len(near) == 1))
    if len(near) == 1:
        return
    plan = Plan(
        tuple((row.candidate.transform,) for row in near),
        tuple(row.candidate.lags for row in near),
        (kernel,) * len(near),
    )
    told = {**near[0].candidate.told(), "averaged": len(near)}
    mean = np.mean([row.forecasts for row in near], axis=0)[:, :, None]
    rows.append(Row(told, plan, mean, trial.fold_errors(mean)))
    if plain is None or not is_auto(given.kernel):
        return
    if trial.weights @ plain.errors <= FAR_OFF * float(trial.weights @ rows[-1].errors):
        half = 0.5 * (mean + plain.forecasts)
        told = {**told, "averaged": len(near) + 1}
        rows.append(Row(told, plan.halved_with(plain.plan), half, trial.fold_errors(half), halfway=True))


def _judge_sum(trial: Trial, rows: list[Row], curved: list[Candidate], judge: Any) -> None:
    """RBF plus linear, on the better of the RBF candidates, if that is near the best of all."""
    scores = {str(row.told): float(trial.weights @ np.log(row.errors)) for row in rows}
    found = [
        (scores[str(candidate.told())], i) for i, candidate in enumerate(curved) if str(candidate.told()) in scores
    ]
    if found and min(found)[0] <= min(scores.values()) + np.log(FAR_OFF):
        judge(replace(curved[min(found)[1]], kernel=RBF("median") + as_kernel("linear")))


def _choose_table(trial: Trial, per_series: list[list[int]], given: SeriesOptions, base: WindowOptions) -> Choice:
    """Several series: each is freed from what it needs, then one model sees them all."""
    plain = _plain_transform(given)
    d = trial.series.shape[1]
    auto_kernel = is_auto(given.kernel)
    most = max(1, (trial.stretches[0].end - 2) // 3)
    plain_lags = given.lags if not is_auto(given.lags) else max(1, min(PLAIN_LAGS, most))
    transforms, lags = [], [plain_lags]
    for column, seasons in enumerate(per_series):
        best = best_of_structures(screened(trial, column, seasons, given), trial.weights)
        transforms.append(best[0].candidate.transform if best else plain)
        lags += [best[0].candidate.lags] if best else []
    rows: list[Row] = []
    wanted = plain_lags if not is_auto(given.lags) else min(max(lags), max(1, most // d))
    kernels: list[Any] = ["rbf", "linear"] if auto_kernel else [given.kernel]
    for chosen, count in (((plain,) * d, plain_lags), (tuple(transforms), wanted)):
        for kernel in kernels:
            plan = Plan((chosen,), (count,), (kernel,))
            told = {
                "lags": count,
                "season": [t.season or None for t in chosen],
                "difference": [t.difference for t in chosen],
                "transform": ["log" if t.log else None for t in chosen],
                "kernel": kernel if isinstance(kernel, str) else " ".join(repr(kernel).split()),
            }
            _append(rows, trial, told, plan, base)
    if not rows:
        return _untried(trial.series, given)
    return _taken(trial, rows, given, rows[0].told, per_series[0])


def _append(rows: list[Row], trial: Trial, told: dict[str, Any], plan: Plan, base: WindowOptions) -> None:
    """Judge a candidate that has not been judged; one that cannot be fitted to the stretches is left out."""
    if any(told == row.told for row in rows):
        return
    forecasts = trial.forecasts(plan, 0, base)
    if forecasts is None:
        return
    errors = trial.fold_errors(forecasts)
    if np.isfinite(errors).all():
        rows.append(Row(told, plan, forecasts, errors))


def _taken(
    trial: Trial, rows: list[Row], given: SeriesOptions, plain: dict[str, Any] | None, seasons: Sequence[int]
) -> Choice:
    """The plain candidate, unless another is better by more than one standard error; then the one that is halfway, likewise."""
    floor = 1e-12 * float(np.nanmax(np.abs(trial.known), initial=0.0)) / float(trial.steps.min()) + np.finfo(float).tiny
    scores = {id(row): -np.log(row.errors + floor) for row in rows}
    simplest = {id(row): (row.told != plain, not row.halfway, not row.contends) for row in rows}
    ordered = sorted(rows, key=lambda row: (*simplest[id(row)], -float(trial.weights @ scores[id(row)])))
    contenders = [row for row in ordered if row.contends]
    contest, everything = (
        choose(
            [row.told for row in some],
            np.array([scores[id(row)] for row in some]).T,
            trial.weights,
            what="the model",
            score="held-out error (minus its logarithm)",
        )
        for some in (contenders, ordered)
    )
    taken = contenders[contest.index]
    selection = replace(everything, chosen=contest.chosen, reason=contest.reason)
    plan = taken.plan
    logs = [all(transforms[j].log for transforms in plan.transforms) for j in range(len(plan.transforms[0]))]
    season = max((transform.season for transform in plan.transforms[0]), default=0) or (seasons[0] if seasons else 1)
    evidence = trial.evidence(taken.forecasts, logs, season)
    return Choice(plan, selection if given.anything else None, evidence)
