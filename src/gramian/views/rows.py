"""MultiViewRKM from rows that are only summed over: batches and Dask [8, 10, 13]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import Folds, row_hashes
from gramian.evidence.dimension import JudgedMoments, MomentFamily, choose_dimension
from gramian.evidence.selection import Selection
from gramian.latent.model import LatentModel
from gramian.policy import JURY, LOOK, SIZES
from gramian.rows import Rows
from gramian.solvers.eigh import Eigh
from gramian.views.choice import from_all_others
from gramian.views.fit import ViewFit, ViewOptions, fit_complete, select_by_views, settle_components
from gramian.views.folds import FoldedViews
from gramian.views.folds import moment_folds as view_moment_folds
from gramian.views.moments import (
    FeatureSums,
    MomentTable,
    StackedViews,
    farthest_scores,
    feature_sums,
    moment_views,
)
from gramian.views.noise import scales_of
from gramian.views.sources import view_columns
from gramian.views.specs import inverts_itself
from gramian.views.survey import ViewSurvey
from gramian.views.tables import ViewLayout, ViewRows
from gramian.views.trusts import (
    HeldOutTrusts,
    HeldOutViews,
    held_out_trusts,
    held_out_views,
    questions_of,
)
from gramian.views.view import ExplicitView, ViewSample, ViewTable


@dataclass(frozen=True)
class SummedViews:
    """The views of all rows in moments, fold by fold, and those of the drawn rows one by one."""

    features: StackedViews
    table: MomentTable
    drawn: ViewTable
    inputs: tuple[Array, ...]  # of the drawn rows
    folds: Folds
    of_folds: Callable[[int], FeatureSums]  # one more pass, with so many folds

    @classmethod
    def of(cls, layout: ViewLayout, rows: Rows, survey: ViewSurvey, maps: tuple[Any, ...], n_folds: int) -> SummedViews:
        """One pass over the features, complete rows only."""
        columns = view_columns(layout)
        features = StackedViews(columns, maps)
        folds = Folds.of(survey.distinct, n_folds)
        inputs = survey.inputs(columns)
        made = [features.of_inputs(X, v) for v, X in enumerate(inputs)]
        ends = np.cumsum([0, *(part.shape[1] for part in made)])
        if ends[-1] > SIZES.stored:
            raise ValueError(
                f"The views have {ends[-1]} features together, more than the {SIZES.stored} whose covariance is stored. Use fewer, or "
                "call fit on rows that fit into memory."
            )
        order = np.concatenate(columns)

        def of_folds(count: int) -> FeatureSums:
            dealt = Folds.of(survey.distinct, count)
            return rows.fold(feature_sums, features, dealt, int(ends[-1]), order)

        sums = of_folds(n_folds)
        views = moment_views(maps, made, survey.of_views)

        def signs(axes: Array, mean: Array) -> Array:
            return rows.fold(farthest_scores, features, axes, mean).signs

        table = MomentTable(views, sums, signs)
        weights = survey.drawn.weights / survey.drawn.weights.sum()
        explicit = tuple(
            ExplicitView(part, m, None if m is None or inverts_itself(m) else X)
            for part, m, X in zip(made, maps, inputs)
        )
        drawn = ViewTable(explicit, weights, table.total_weight)
        return cls(features, table, drawn, inputs, folds, of_folds)

    @property
    def folded(self) -> FoldedViews:
        """Folds from the moments of all rows; the drawn ones stand for the rows themselves."""
        fold = self.folds.assign(row_hashes(np.hstack(self.inputs)))
        return FoldedViews(self.drawn, fold, self.table.sums.folds)

    def choose(self, sample: ViewSample, options: ViewOptions) -> tuple[Any, Selection]:
        """q by held-out views, or rows of a single view."""
        usable = bool(self.folds) and bool((self.table.traces > 0).any())
        selection = settle_components(
            options, usable, self._by_rows, lambda: select_by_views(self.folded, self.table, sample, options)
        )
        return None if selection.chosen is None else min(selection.chosen, sample.max_components), selection

    def _by_rows(self) -> Selection:
        parts = [part for part in self.table.sums.folds.parts if part is not None]
        view = self.drawn.views[0]
        assert isinstance(view, ExplicitView)
        judged = JudgedMoments(parts, view.features, self.drawn.weights, self.folded.fold)
        return choose_dimension(MomentFamily(judged, dim=float(self.table.dims[0])).paths())

    def fit(self, options: ViewOptions) -> ViewFit:
        """The model of all rows."""
        return fit_complete(self.table, self.residuals if self.folds else None, options, self.choose)

    def residuals(self, q: int, noises: Array) -> Array:
        """Mean squared residual per coordinate of every view, predicted from the others on the first of five folds."""
        moments = self.table.sums.folds
        if self.folds.n_folds != LOOK.folds:
            moments = self.of_folds(LOOK.folds).folds
        scales = scales_of(noises)
        fold = view_moment_folds(FoldedViews(self.drawn, self.folded.fold, moments), scales, q, Eigh())[0]
        found = np.zeros(len(noises))
        for others, v in from_all_others(len(noises)):
            if scales[v] > 0:
                error = float(fold.errors((others, v), q, np.ones(1), 1.0)[0])
                found[v] = error / (scales[v] ** 2 * self.table.dims[v])
        return found

    def trusts(self, model: LatentModel[Any], preimage: Any, names: Sequence[Any]) -> HeldOutTrusts | None:
        """Errors from the moments of all rows, residuals of the drawn ones; None where too few can be held out."""
        parts, gaussian = model.subspace.parts, model.gaussian
        if (
            gaussian.n_components == 0
            or gaussian.noise_variance == 0
            or not self.folds
            or len(self.drawn.weights) < JURY.fewest_rows
        ):
            return None
        questions = questions_of(range(len(parts)), len(parts))
        if self.table.n_rows <= LOOK.rows:  # the drawn rows are all: as in memory
            weights = self.drawn.weights * self.drawn.total_weight
            rows, n_folds = ViewRows.of(self.inputs), self.folds.n_folds
            held = held_out_views(rows, weights, model, n_folds=n_folds, preimage=preimage, names=names)
            return None if held is None else held_out_trusts(held, questions)
        scales = np.array([part.scale for part in parts])
        q, noise = gaussian.n_components, gaussian.noise_variance
        folded = self.folded
        held = HeldOutViews(self.drawn, self.inputs, folded.fold, scales, q, noise, preimage, names, folded)
        return held_out_trusts(held, questions)
