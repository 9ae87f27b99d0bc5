"""What one pass says of views before they are fitted: which rows show what, and the rows that are drawn by content [8, 13]."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import check_scale, warn_of_one_value
from gramian._content import DistinctHashes, SmallestRows, row_hashes
from gramian.exceptions import NumericalWarning, warn
from gramian.features import FeatureMap
from gramian.policy import LOOK
from gramian.rows import Block, Rows
from gramian.views.sources import view_columns
from gramian.views.specs import inverts_itself, is_feature_map, is_linear
from gramian.views.tables import ViewLayout, ViewRows

ADVICE = "Use linear views or feature maps in the place of kernels (approximation='nystroem' is features.Nystroem here)"


@dataclass(frozen=True)
class ViewSurvey:
    """How many rows show what, the range of each column, and the rows that are drawn by content."""

    n_rows: int
    empty: int  # rows that show nothing
    shown: Array  # how many rows show some of each view
    partly: Array  # how many of these do not show all of it
    counts: Array  # weight of the rows that show each column
    total_weight: float
    low: Array
    high: Array
    distinct: DistinctHashes
    drawn: SmallestRows  # of all views side by side
    of_views: tuple[SmallestRows, ...]  # of each view by itself, for its map

    def __add__(self, other: ViewSurvey) -> ViewSurvey:
        return ViewSurvey(
            self.n_rows + other.n_rows,
            self.empty + other.empty,
            self.shown + other.shown,
            self.partly + other.partly,
            self.counts + other.counts,
            self.total_weight + other.total_weight,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            self.distinct + other.distinct,
            self.drawn + other.drawn,
            tuple(a + b for a, b in zip(self.of_views, other.of_views)),
        )

    @property
    def complete(self) -> bool:
        """Whether every row shows every entry."""
        return bool((self.counts >= self.total_weight * (1 - 1e-12)).all())

    def inputs(self, columns: Sequence[Array]) -> tuple[Array, ...]:
        """The inputs of every view of the drawn rows."""
        stops = np.cumsum([0, *(len(part) for part in columns)])
        return tuple(np.asarray(self.drawn.rows[:, start:stop], dtype=np.float64) for start, stop in pairwise(stops))


def survey_views(block: Block, columns: tuple[Array, ...], limits: tuple[int, ...]) -> ViewSurvey:
    """The survey of a block, rows that show nothing left out: a task for `Rows.fold`."""
    X = np.asarray(block.X)[:, np.concatenate(columns)]
    missing = np.isnan(X)
    shows = ~missing.all(axis=1)
    X, weights, missing = X[shows], block.weights[shows], missing[shows]
    hashes = row_hashes(X)
    stops = np.cumsum([0, *(len(part) for part in columns)])
    seen = np.array([~missing[:, start:stop].all(axis=1) for start, stop in pairwise(stops)])
    whole = np.array([~missing[:, start:stop].any(axis=1) for start, stop in pairwise(stops)])
    of_views = tuple(
        SmallestRows.of(X[shows, start:stop], weights[shows], limit)
        for start, stop, shows, limit in zip(stops, stops[1:], whole, limits)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without an entry
        low, high = (np.nanmin(X, axis=0), np.nanmax(X, axis=0)) if len(X) else (np.full(X.shape[1], np.nan),) * 2
    return ViewSurvey(
        len(X),
        int((~shows).sum()),
        seen.sum(axis=1),
        (seen & ~whole).sum(axis=1),
        weights @ ~missing,
        float(weights.sum()),
        low,
        high,
        DistinctHashes.of(hashes),
        SmallestRows.of(X, weights, LOOK.drawn, hashes),
        of_views,
    )


def check_specs(specs: Sequence[Any], names: Sequence[Any], refuse: type[Exception]) -> None:
    """Exact kernels need all pairs of rows."""
    for spec, name in zip(specs, names):
        if not is_linear(spec) and not is_feature_map(spec):
            raise refuse(
                f"MultiViewRKM cannot be fitted to rows that are only summed over with the kernel of view {name!r}. {ADVICE}, or call "
                "fit on rows that fit into memory."
            )


def survey_of(layout: ViewLayout, rows: Rows, specs: Sequence[Any]) -> ViewSurvey:
    """One pass."""
    limits = []
    for spec in specs:
        drawn = int(spec.n_drawn or 1) if isinstance(spec, FeatureMap) and not is_linear(spec) else 1
        limits.append(drawn if is_linear(spec) or inverts_itself(spec) else max(drawn, LOOK.rows))
    return rows.fold(survey_views, view_columns(layout), tuple(limits))


def check_survey(layout: ViewLayout, rows: Rows, specs: Sequence[Any]) -> ViewSurvey:
    """One pass, with what cannot be fitted refused."""
    found = survey_of(layout, rows, specs)
    if found.n_rows < 2:
        raise ValueError(f"MultiViewRKM needs at least 2 samples of positive weight, got n_samples = {found.n_rows}.")
    if found.empty:
        warn(f"{found.empty} rows show no entry of any view and are left out of the fit.", NumericalWarning)
    check_scale(float(np.nanmax(found.high - found.low, initial=0.0)), "the views")
    if found.n_rows > LOOK.rows:  # fewer are gathered, and looked at view by view
        missed = found.counts <= found.total_weight / 2
        warn_of_one_value(missed & (found.high == found.low), what="The table of all views")
    return found


def gather_rows(survey: ViewSurvey, layout: ViewLayout) -> tuple[ViewRows, Array] | None:
    """All rows, where they are so few that the draw holds them."""
    if survey.n_rows > LOOK.rows:
        return None
    stops = np.cumsum([0, *(len(part) for part in view_columns(layout))])
    parts = [survey.drawn.rows[:, start:stop] for start, stop in pairwise(stops)]  # of the dtype that they came with
    return ViewRows.of(parts), survey.drawn.weights


def fitted_maps(specs: Sequence[Any], survey: ViewSurvey, names: Sequence[Any]) -> tuple[Any, ...]:
    """The feature map of every view, from the rows drawn for it; None where a view is linear."""
    return tuple(_fitted_map(spec, drawn, name) for spec, drawn, name in zip(specs, survey.of_views, names))


def _fitted_map(spec: Any, drawn: SmallestRows, name: Any) -> Any:
    if is_linear(spec):
        return None
    if not isinstance(spec, FeatureMap) or spec.n_drawn is None:
        raise ValueError(
            f"The feature map of view {name!r}, {type(spec).__name__}, must see all rows when it is fitted. Fit it before, or call fit on "
            "rows that fit into memory."
        )
    return clone(spec).fit(drawn.rows, sample_weight=drawn.weights)
