"""What many series say together: one law of rates for all, what inputs do, what lines are worth, and how wide intervals must be [8, 10, 12].

What members of :mod:`gramian.series.smoothing` count before they are seen is judged on the last values of all series, and what inputs do is shrunk
towards what they do in the others, so that short series borrow from long ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gramian import policy
from gramian._arrays import Array
from gramian.evidence import Selection, choose
from gramian.series.block import Effects
from gramian.series.candidates import PLAIN_LAGS
from gramian.series.line_shares import least_share
from gramian.series.lines import Line
from gramian.series.panel import Panel, panel_forecasts
from gramian.series.paths import spread_factors
from gramian.series.recursion import RateLaw
from gramian.series.smoothing import Smoothing, weights
from gramian.series.transform import SeriesTransform


@dataclass(frozen=True)
class Learned:
    """The smoothing of a panel, the factors (h, 1) of the width of its intervals, and why."""

    smoothing: Smoothing
    spread: Array
    selection: Selection | None

    @classmethod
    def of(cls, panel: Panel, smoothing: Smoothing, horizon: int) -> Learned:
        """From the last ``horizon`` values of series, which judge the law and the width, and from what inputs did in all of them."""
        if panel.inputs.size:
            smoothing = replace(smoothing, effects=shared_effects(panel, smoothing))
        past, truth, ahead = panel.shortened(horizon)
        if len(truth) < 2:
            return cls(smoothing, np.ones((1, 1)), None)
        selection, means = chosen_law(past, truth, ahead, smoothing)
        smoothing = replace(smoothing, law=RateLaw(**selection.chosen))
        if not panel.inputs.size:
            smoothing = with_lines(past, truth, means, smoothing)
        levels = np.array([0.05, 0.95])
        found = panel_forecasts(past, smoothing, horizon, levels, np.ones((1, 1)), ahead)
        low, high = found.quantiles
        widths = np.where(high > low, 0.5 * (high - low), np.nan)  # an interval that is held at zero says nothing
        ratios = (truth - found.means) / widths
        return cls(smoothing, spread_factors(ratios[:, :, None], np.ones((horizon, 1))), selection)


def chosen_law(past: Panel, truth: Array, ahead: Array, smoothing: Smoothing) -> tuple[Selection, Array]:
    """The law of rates: the usual one, unless another says the last values of series better by more than one standard error; and its forecasts."""
    usual = smoothing.law
    laws = [usual] + [
        RateLaw(drift, evidence)
        for drift in (usual.drift, 0.5 * usual.drift, 0.5 + 0.5 * usual.drift)
        for evidence in (usual.evidence, 0.5 * usual.evidence, 2.0 * usual.evidence)
        if (drift, evidence) != (usual.drift, usual.evidence)
    ]
    losses, forecasts = np.empty((len(truth), len(laws))), np.empty((len(laws), *truth.shape))
    tables = past.tables
    for group, outlook in past.outlooks(smoothing):
        known = None if tables[group[0]] is None else np.nan_to_num(ahead[group[0]], nan=0.0)
        means = outlook.means(truth.shape[1], known)
        steps = np.nanmean(np.abs(np.diff(outlook.values, axis=1)), axis=1)
        for column, law in enumerate(laws):
            found = outlook.held(np.einsum("hng,ng->nh", means, weights(outlook.fits(law))))
            forecasts[column, group] = found
            errors = np.nanmean(np.abs(found - truth[group]), axis=1)
            losses[group, column] = errors / np.where(steps > 0, steps, 1.0)
    candidates = [{"drift": law.drift, "evidence": law.evidence} for law in laws]
    selection = choose(candidates, -losses, what="the law of rates", score="held-out error")
    return selection, forecasts[selection.index]


def shared_effects(panel: Panel, smoothing: Smoothing) -> tuple[Effects, Effects]:
    """What inputs do in the series of a panel, on their scale and on that of logarithms; one more series knows nothing of it."""
    k = panel.inputs.shape[1]
    found: dict[bool, list[Array]] = {False: [], True: []}
    for _, outlook in panel.outlooks(replace(smoothing, effects=())):
        shares, end = outlook.shares[0], 0
        sums = {log: (np.zeros(k), 0.0) for log in (False, True)}
        for block, part in zip(outlook.blocks, outlook.parts):
            begin, end = end, end + part.noise.shape[1]
            own = shares[begin:end] + np.finfo(float).tiny
            effect, whole = sums[part.log]
            sums[part.log] = effect + part.effects[:, 0] @ own / block.unit[0], whole + float(own.sum())
        for log, (effect, whole) in sums.items():
            if whole > 0:
                found[log].append(effect / whole)
    plain, logs = (_pool(np.array(found[log]).reshape(-1, k)) for log in (False, True))
    return plain, logs


def _pool(effects: Array) -> Effects:
    """Mean and deviation of effects (n, k), with one more series that knows nothing."""
    n = len(effects)
    mean = effects.sum(axis=0) / (n + 1)
    squares = np.square(effects - mean).sum(axis=0) + policy.RATES.season_spread**2
    return Effects(mean, np.sqrt(squares / (n + 1)))


def with_lines(past: Panel, truth: Array, own: Array, smoothing: Smoothing) -> Smoothing:
    """Smoothing, which forecast ``own`` (n, h), with the lines and the naive forecast that the last values (n, h) of series want beside it.

    One stretch of one series says little of what lines are worth to it, those of all series say it for all. The rules are those of one series:
    lines count as they are believed, unless more or less of them is clearly better, and so does the naive forecast where it is clearly better than both.
    """
    rows = list(past)
    steps = np.array([np.nanmean(np.abs(np.diff(row))) for row in rows])
    unit = np.where(steps > 0, steps, 1.0)

    def errors(found: Array) -> Array:
        return np.asarray(np.nanmean(np.abs(found - truth), axis=1) / unit)

    def mean(lines: Sequence[Line], fewest: int) -> Array:
        """Of so many lines; smoothing where a series is too short for one of them."""
        found = np.array(own)
        for i, row in enumerate(rows):
            laws = [line.of(row) for line in lines] if len(row) >= fewest else [None]
            if None not in laws:
                found[i] = np.mean([law.mean(truth.shape[1])[:, 0, 0] for law in laws if law is not None], axis=0)
        return found

    shares = (
        1.0 / (1.0 + policy.WINDOWS.odds),
        0.0,
        0.5,
    )  # the first is believed before anything is seen, as for one series
    whole = _regressions(smoothing.seasons)
    beside = mean(whole, policy.WINDOWS.fewest)
    mixed = [(1.0 - share) * own + share * beside for share in shares]
    scores = -np.column_stack([errors(found) for found in mixed])
    taken = choose(shares, scores, what="the share of lines", score="held-out error").index
    lines = tuple(replace(line, share=shares[taken] / len(whole)) for line in whole if shares[taken])
    naives = {line: mean([line], 0) for line in _naive(smoothing.seasons)}
    naive = min(naives, key=lambda line: float(errors(naives[line]).mean()))
    share = least_share(mixed[taken], naives[naive], errors)
    kept = tuple(replace(line, share=(1.0 - share) * line.share) for line in lines)
    return replace(smoothing, lines=(*kept, *([replace(naive, share=share)] if share else [])))


def _regressions(seasons: tuple[int, ...]) -> tuple[Line, ...]:
    """On one season and one value more, of the series and of what its season leaves; without a season on the plain number of values."""
    lags = max(seasons) + 1 if seasons else PLAIN_LAGS
    return tuple(Line(SeriesTransform(season), lags) for season in (0, *seasons))


def _naive(seasons: tuple[int, ...]) -> list[Line]:
    return [Line(SeriesTransform(0, 1), 0), *(Line(SeriesTransform(season), 0) for season in seasons)]
