"""Choosing a forecaster on held-out stretches of the series: linear models screened by the hundred, kernels on the best of them [10].

The plain model is taken unless another is better by more than one standard error. Where the linear models are about as good, its only
rival is the mean of both; else linear models go before kernels, by the same rule. Linear models are averaged, the best of each
structure (season or not, level or not, logarithm or not): which of them is best changes from stretch to stretch, and the best of
hundreds is partly luck.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import policy
from gramian._arrays import Array
from gramian._checks import is_auto
from gramian.evidence import Selection, choose
from gramian.kernels import RBF, Linear, Sum, as_kernel
from gramian.series.candidates import (
    PLAIN_LAGS,
    Candidate,
    SeriesOptions,
    seasons_to_try,
)
from gramian.series.line_shares import beside_smoothing, no_worse_than_naive, screened_lines
from gramian.series.smoothing import Outlook, Smoothing
from gramian.series.stretches import held_out_stretches, usual_horizon
from gramian.series.transform import SeriesTransform
from gramian.series.trial import (
    FAR_OFF,
    Plan,
    Screened,
    SeriesEvidence,
    SeriesTrial,
    best_of_structures,
    near_the_best,
    screen,
)
from gramian.series.window_model import WindowOptions

MOST_MEMBERS = 4
"""Structures that are averaged."""


@dataclass(frozen=True)
class Row:
    """A candidate with what it forecast for the held-out stretches."""

    told: dict[str, Any]
    plan: Plan
    forecasts: Array  # (n, H, d)
    errors: Array  # one per stretch
    contends: bool = True  # whether it may be chosen; else it is only listed
    halfway: bool = False  # half of it is the plain model

    @property
    def rank(self) -> int:
        """The simplest first: what is half the plain model, lines, kernels, and both."""
        kernel = self.plan.kernels[0]
        return 0 if self.halfway else 1 if _is_linear(kernel) else 2 + isinstance(kernel, Sum)


@dataclass(frozen=True)
class Choice:
    """What was taken, and why."""

    plan: Plan
    selection: Selection | None
    evidence: SeriesEvidence | None
    outlook: Outlook | None = None  # of the series, where it was smoothed


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
    smoothing = _smoothing_of(series, inputs, seasons, given, base)
    if not stretches or (base.n_folds is None and not given.any_open):
        return _without_trial(series, given, smoothing)
    trial = SeriesTrial(series, inputs, horizon, stretches)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if smoothing is not None:
            return _choose_smoothing(trial, smoothing, per_series[0], given, base)
        if d == 1:
            return _choose_single(trial, per_series[0], given, base)
        return _choose_table(trial, per_series, given, base)


def _smoothing_of(
    series: Array, inputs: Array | None, seasons: Sequence[int], given: SeriesOptions, base: WindowOptions
) -> Smoothing | None:
    """Levels, slopes and seasons at a few rates, where nothing of a window model was asked for; else None."""
    asked = not (is_auto(given.lags) and is_auto(given.kernel) and is_auto(given.difference))
    if asked or series.shape[1] > 1 or inputs is not None or base.ahead > 1 or not base.is_usual:
        return None
    return Smoothing(tuple(seasons), given.transform)


def _choose_smoothing(
    trial: SeriesTrial, smoothing: Smoothing, seasons: list[int], given: SeriesOptions, base: WindowOptions
) -> Choice:
    """Smoothing with lines beside it, unless its mean with the best kernel is better by more than one standard error."""
    outlook = smoothing.outlook(trial.series.T)
    forecasts = outlook.rolling(trial.stretches, trial.horizon)
    alone = trial.fold_errors(forecasts, 0)
    if not np.isfinite(alone).all():  # stretches of which nothing is known
        return _without_trial(trial.series, given, smoothing)
    found = screened_lines(trial, seasons, given) if len(trial.series) >= policy.WINDOWS.fewest else []
    forecasts, lines = beside_smoothing(trial, forecasts, found)
    forecasts, lines = no_worse_than_naive(trial, forecasts, lines, seasons)
    part = sum(line.share for line in lines)
    outlook = outlook.beside(lines)
    plan = Plan.of(Candidate(SeriesTransform(max(seasons, default=0), 1), 0, outlook.smoothing))
    told = {"lags": 0, "season": max(seasons, default=0) or None, "kernel": "smoothing", "lines": round(part, 3)}
    own = Row(told, plan, forecasts[:, :, None], trial.fold_errors(forecasts[:, :, None]))
    rows = [_listed_row(trial, row) for row in found]
    if found and len(trial.series) >= policy.WINDOWS.kernels_from:
        line = min(found, key=lambda row: float(trial.weights @ row.errors))
        curved = _kernel_rows(trial, line.candidate, given, base, own)
        if curved:
            best = max(curved, key=lambda row: trial.score(row.errors))
            share = trial.share(best.errors, own.errors)
            mean = (1.0 - share) * own.forecasts + share * best.forecasts
            both = Row(
                {**best.told, "share": round(share, 3)},
                own.plan.joined(best.plan, share),
                mean,
                errors := trial.fold_errors(mean),
                contends=bool(trial.weights @ errors <= trial.weights @ own.errors),  # which does not lose to naive
                halfway=True,
            )
            rows += [both, *(replace(row, contends=False) for row in curved)]
    return replace(_take(trial, [own, *rows], given, own.told, seasons), outlook=outlook)


def _listed_row(trial: SeriesTrial, row: Screened) -> Row:
    """A line among what was tried; it is no rival, having its part beside smoothing."""
    forecasts = row.forecasts[:, :, None]
    return Row(row.candidate.told(), Plan.of(row.candidate), forecasts, trial.fold_errors(forecasts), contends=False)


def _without_trial(series: Array, given: SeriesOptions, smoothing: Smoothing | None = None) -> Choice:
    """Too short to hold out anything, or nothing to calibrate: smoothing or the plain model, with what was given."""
    if smoothing is not None:
        told = {"lags": 0, "season": max(smoothing.seasons, default=0) or None, "kernel": "smoothing"}
        plan = Plan.of(Candidate(SeriesTransform(max(smoothing.seasons, default=0), 1), 0, smoothing))
        reason = "the series is too short to hold out stretches: levels, slopes and seasons at a few rates"
        return Choice(plan, Selection([told], np.zeros(1), np.zeros(1), told, reason), None)
    transform = _plain_transform(given)
    lags = given.lags
    if lags == "auto":
        lags = max(1, min(PLAIN_LAGS, (len(series) - transform.lost) // 3))
    kernel = "rbf" if given.kernel == "auto" and isinstance(given.kernel, str) else given.kernel
    plan = Plan(((transform,) * series.shape[1],), (lags,), (kernel,))
    selection = None
    if given.any_open:
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


def _choose_single(trial: SeriesTrial, seasons: list[int], given: SeriesOptions, base: WindowOptions) -> Choice:
    rows = _window_rows(trial, seasons, given, base)
    if not rows:
        return _without_trial(trial.series, given)
    return _take(trial, rows, given, rows[0].told if given.any_open else None, seasons)


def _window_rows(trial: SeriesTrial, seasons: list[int], given: SeriesOptions, base: WindowOptions) -> list[Row]:
    """Every model of windows, the plain one first."""
    plain = _plain_candidate(trial, given)
    auto_kernel = is_auto(given.kernel)
    rows: list[Row] = []

    def judge(candidate: Candidate) -> Row | None:
        return _append(rows, trial, candidate.told(), Plan.of(candidate), base)

    best = best_of_structures(screen(trial, 0, seasons, given), trial.weights) if given.any_open else []
    judge(plain)
    if not given.any_open:
        return rows
    linear = None
    if best and (auto_kernel or _is_linear(given.kernel)):
        # a model that was asked for with its noise or its components is not averaged
        linear = _append_linear(rows, trial, best, given, given.n_members if base.is_usual else 1)
    if auto_kernel and not (linear is not None and linear.halfway):
        _append_curved(rows, trial, plain, best[0].candidate if best else None, given, base, linear)
    elif not auto_kernel and not _is_linear(given.kernel):
        for found in best[:3]:
            judge(replace(found.candidate, lags=max(found.candidate.lags, 1), kernel=given.kernel))
    return rows


def _plain_candidate(trial: SeriesTrial, given: SeriesOptions) -> Candidate:
    transform = _plain_transform(given)
    most = trial.stretches[0].end - transform.lost
    lags = given.lags if not is_auto(given.lags) else max(1, min(PLAIN_LAGS, most // 3))
    return Candidate(transform, lags, "rbf" if is_auto(given.kernel) else given.kernel)


def _kernel_rows(
    trial: SeriesTrial, line: Candidate, given: SeriesOptions, base: WindowOptions, rival: Row
) -> list[Row]:
    """Kernel models of windows, the plain one first; none where that would count less than its rival."""
    plain = _plain_candidate(trial, given)
    rows: list[Row] = []
    first = _append(rows, trial, plain.told(), Plan.of(plain), base)
    if first is None or trial.share(first.errors, rival.errors) < 0.5:
        return []
    _append_curved(rows, trial, plain, line, given, base, None)
    return rows


def _append_curved(
    rows: list[Row],
    trial: SeriesTrial,
    plain: Candidate,
    line: Candidate | None,
    given: SeriesOptions,
    base: WindowOptions,
    linear: Row | None,
) -> None:
    """Append the plain kernel, one of what the best line sees, and the better of them with a line added."""
    curved = [plain]
    if line is not None:
        lags = given.lags if not is_auto(given.lags) else max(line.lags, plain.lags)
        curved.append(Candidate(line.transform, lags, "rbf"))
    judged = [
        (trial.score(row.errors), candidate)
        for candidate in curved
        if (row := _append(rows, trial, candidate.told(), Plan.of(candidate), base))
    ]
    score, candidate = max(judged, key=lambda found: found[0], default=(-np.inf, plain))
    if judged and (linear is None or score >= trial.score(linear.errors)):
        # a kernel that is worse than lines alone has nothing to add to them
        both = replace(candidate, kernel=RBF("median") + as_kernel("linear"))
        _append(rows, trial, both.told(), Plan.of(both), base)


def _append_linear(
    rows: list[Row], trial: SeriesTrial, best: Sequence[Screened], given: SeriesOptions, members: int
) -> Row:
    """Append the best linear model of each structure, which is only listed, and the mean of the nearest of them.

    Where that mean and the plain model are not far off each other, the mean of both takes its place: two models that differ say more
    together than the better of them. Returns the row that may be chosen.
    """
    kernel = "linear" if is_auto(given.kernel) else given.kernel
    plain = rows[0] if rows else None
    near = near_the_best(best, trial.weights, members)

    def averaged(some: Sequence[Screened], contends: bool) -> Row:
        candidates = [replace(row.candidate, kernel=kernel) for row in some]
        told = {**candidates[0].told(), **({"averaged": len(some)} if len(some) > 1 else {})}
        forecasts = np.mean([row.forecasts for row in some], axis=0)[:, :, None]
        return Row(told, Plan.of(*candidates), forecasts, trial.fold_errors(forecasts), contends)

    linear = averaged(near, contends=True)
    rows += [averaged([row], contends=False) for row in best if len(near) > 1 or row is not near[0]]
    rows.append(linear)
    if plain is None or members == 1 or not is_auto(given.kernel):
        return linear
    errors = [float(trial.weights @ row.errors) for row in (plain, linear)]
    if max(errors) <= FAR_OFF * min(errors):
        half = 0.5 * (linear.forecasts + plain.forecasts)
        told = {**linear.told, "averaged": len(near) + 1}
        rows[-1] = replace(linear, contends=False)
        rows.append(Row(told, linear.plan.joined(plain.plan, 0.5), half, trial.fold_errors(half), halfway=True))
    return rows[-1]


def _choose_table(trial: SeriesTrial, per_series: list[list[int]], given: SeriesOptions, base: WindowOptions) -> Choice:
    """Several series: each is freed from what it needs, then one model sees them all."""
    plain = _plain_transform(given)
    d = trial.series.shape[1]
    auto_kernel = is_auto(given.kernel)
    most = max(1, (trial.stretches[0].end - 2) // 3)
    plain_lags = given.lags if not is_auto(given.lags) else max(1, min(PLAIN_LAGS, most))
    transforms, lags = [], [plain_lags]
    for column, seasons in enumerate(per_series):
        best = best_of_structures(screen(trial, column, seasons, given), trial.weights)
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
        return _without_trial(trial.series, given)
    return _take(trial, rows, given, rows[0].told, per_series[0])


def _append(rows: list[Row], trial: SeriesTrial, told: dict[str, Any], plan: Plan, base: WindowOptions) -> Row | None:
    """Judge a candidate that has not been judged; one that cannot be fitted to the stretches is left out."""
    known = next((row for row in rows if row.told == told), None)
    if known is not None:
        return known
    forecasts = trial.forecasts(plan, 0, base)
    if forecasts is None:
        return None
    errors = trial.fold_errors(forecasts)
    if not np.isfinite(errors).all():
        return None
    rows.append(Row(told, plan, forecasts, errors))
    return rows[-1]


def _take(
    trial: SeriesTrial, rows: list[Row], given: SeriesOptions, plain: dict[str, Any] | None, seasons: Sequence[int]
) -> Choice:
    """The plain candidate, unless another is better by more than one standard error; then the next in rank, likewise."""
    ordered = sorted(rows, key=lambda row: (row.told != plain, not row.contends, row.rank, -trial.score(row.errors)))
    contenders = [row for row in ordered if row.contends]
    contest, everything = (
        choose(
            [row.told for row in some],
            -np.log(np.array([row.errors for row in some]) + trial.smallest).T,
            trial.weights,
            what="the model",
            score="held-out error",
        )
        for some in (contenders, ordered)
    )
    taken = contenders[contest.index]
    selection = replace(everything, chosen=contest.chosen, reason=contest.reason)
    plan = taken.plan
    logs = [all(transforms[j].log for transforms in plan.transforms) for j in range(len(plan.transforms[0]))]
    season = max((transform.season for transform in plan.transforms[0]), default=0) or (seasons[0] if seasons else 1)
    evidence = trial.evidence(taken.forecasts, logs, season)
    return Choice(plan, selection if given.any_open else None, evidence)
