"""Lines beside the smoothing of a panel: shares that all series have in common, judged on their last values [10].

One stretch of one series says little of what lines are worth to it, those of all series say it for all. The rules are those of one series: lines
count as they are believed, unless more or less of them is clearly better, and so does the naive forecast where it is clearly better than both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gramian import policy
from gramian._arrays import Array
from gramian.evidence import choose
from gramian.series.candidates import PLAIN_LAGS
from gramian.series.line_shares import least_share
from gramian.series.lines import Line
from gramian.series.panel import Panel
from gramian.series.smoothing import Smoothing
from gramian.series.transform import SeriesTransform


def with_lines(past: Panel, truth: Array, own: Array, smoothing: Smoothing) -> Smoothing:
    """Smoothing, which forecast ``own`` (n, h), with the lines and the naive forecast that the last values (n, h) of series want beside it."""
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
