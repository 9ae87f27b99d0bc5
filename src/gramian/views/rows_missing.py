"""MultiViewRKM from rows that are only summed over and miss entries or whole views [5, 8, 13]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_n_components
from gramian.evidence.selection import Selection
from gramian.policy import LOOK
from gramian.rows import Block, Rows
from gramian.rows.converted import ConvertedRows
from gramian.views.fit import ViewFit, ViewOptions, of_noise_fit, rule, with_selection
from gramian.views.fit_missing import HOLES, check_rank, check_shown, climb_views
from gramian.views.missing_rows import HoledViews, largest_magnitudes
from gramian.views.moments import StackedViews, moment_views
from gramian.views.rows import SummedViews
from gramian.views.sources import view_columns
from gramian.views.specs import is_linear, weights_of_views
from gramian.views.survey import ViewSurvey, fitted_maps, survey_of
from gramian.views.tables import ViewLayout


@dataclass(frozen=True)
class CompleteBlock:
    """The rows of a block that show every entry of these columns."""

    columns: Array

    def __call__(self, block: Block) -> Block:
        shown = ~np.isnan(block.X[:, self.columns]).any(axis=1)
        return block if shown.all() else replace(block, X=block.X[shown], weights=block.weights[shown])


@dataclass(frozen=True)
class FilledBlock:
    """The rows of a block that show anything of these columns, with the mean of its column in every hole."""

    columns: Array
    means: Array  # of all columns of the table

    def __call__(self, block: Block) -> Block:
        shown = ~np.isnan(block.X[:, self.columns]).all(axis=1)
        X = block.X[shown]
        return replace(block, X=np.where(np.isnan(X), self.means, X), weights=block.weights[shown])


def complete_rows(rows: Rows, layout: ViewLayout) -> ConvertedRows:
    """The rows that show every entry of every view."""
    return ConvertedRows(rows, CompleteBlock(np.concatenate(view_columns(layout))), rows.n_columns)


@dataclass(frozen=True)
class HoledFit:
    """The fit of rows that miss entries: what it needs of them, pass by pass."""

    layout: ViewLayout
    rows: Rows
    survey: ViewSurvey
    options: ViewOptions
    maps: tuple[Any, ...]

    @classmethod
    def of(cls, layout: ViewLayout, rows: Rows, survey: ViewSurvey, options: ViewOptions) -> HoledFit:
        """What cannot be fitted is refused."""
        for v, (spec, name) in enumerate(zip(options.specs, layout.names)):
            check_shown(int(survey.shown[v]), name)
            if not is_linear(spec) and survey.partly[v]:
                raise ValueError(
                    f"View {name!r} contains NaN in a part of {int(survey.partly[v])} rows, but a view behind a feature map is seen whole "
                    "or not at all. Fill these entries (gramian.LatentImputer), or make all of the row's view NaN."
                )
        if not isinstance(options.noise_variance, str):
            raise ValueError(
                f"Rows miss entries, but noise_variance={options.noise_variance!r}: they need noise_variance='ml' or 'per-view', since "
                "the EM does not move at a fixed noise of 0."
            )
        return cls(layout, rows, survey, options, fitted_maps(options.specs, survey, layout.names))

    def fit(self) -> ViewFit:
        """Maximum likelihood of all that the rows show."""
        options, n = self.options, self.survey.n_rows
        q, selection = options.n_components, None
        if q == "auto":
            q, selection = self._chosen_components()
        q = check_n_components(q, rules=())
        holed = self._holed()
        check_rank(q, min(n - 1, holed.width))
        fitted = climb_views(holed.fit, q, options)
        about = (self.survey.total_weight, holed.views, "em", HOLES, "EM over the observed views", HOLES)
        return with_selection(of_noise_fit(fitted, *about), selection)

    def complete(self, maps: tuple[Any, ...] | None = None) -> SummedViews | None:
        """The rows that show everything, behind maps of their own unless these are given; None where there are none."""
        rows = complete_rows(self.rows, self.layout)
        survey = survey_of(self.layout, rows, self.options.specs)
        if not survey.n_rows:
            return None
        maps = fitted_maps(self.options.specs, survey, self.layout.names) if maps is None else maps
        return SummedViews.of(self.layout, rows, survey, maps, self.options.n_folds or LOOK.folds)

    def _holed(self) -> HoledViews:
        columns = view_columns(self.layout)
        features = StackedViews(columns, self.maps)
        made = [features.of_inputs(inputs, v) for v, inputs in enumerate(self.survey.inputs(columns))]
        views = moment_views(self.maps, made, self.survey.of_views)
        return HoledViews(self.rows, features, views, largest_magnitudes(self._ranges(columns, made)))

    def _ranges(self, columns: Sequence[Array], made: Sequence[Array]) -> list[Array]:
        """The least and the greatest of each column of a linear view; the features of the drawn rows of another."""
        stops = np.cumsum([0, *(len(part) for part in columns)])
        ends = np.vstack([self.survey.low, self.survey.high])
        return [
            ends[:, start:stop] if m is None else part
            for (start, stop), m, part in zip(pairwise(stops), self.maps, made)
        ]

    def _chosen_components(self) -> tuple[Any, Selection]:
        """As for rows in memory: on those that show everything, where these are many; else on all, filled with means."""
        summed = self.complete()
        if summed is None or summed.table.n_rows < LOOK.fewest:
            if not all(is_linear(spec) for spec in self.options.specs):
                return None, rule("95 % of the variance, since few rows show all views")
            summed = self._filled()
        beta = weights_of_views(self.options.view_weights, summed.table, self.options.names)  # type: ignore[arg-type]
        return summed.choose(summed.table.sample(np.sqrt(beta), "primal"), self.options)

    def _filled(self) -> SummedViews:
        columns = np.concatenate(view_columns(self.layout))
        means = np.zeros(self.rows.n_columns)
        means[columns] = self._holed().sums.mean
        rows = ConvertedRows(self.rows, FilledBlock(columns, means), self.rows.n_columns)
        survey = survey_of(self.layout, rows, self.options.specs)
        return SummedViews.of(self.layout, rows, survey, self.maps, self.options.n_folds or LOOK.folds)
