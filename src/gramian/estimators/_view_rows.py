"""MultiViewRKM from rows that are only summed over: batches and Dask [8, 10, 13]."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import check_scale
from gramian._content import ContentFolds, DistinctHashes, SmallestRows, row_hashes
from gramian.choosing.dimension import choose_dimension, moment_folds
from gramian.choosing.selection import Selection
from gramian.choosing.views import choose_by_rows, choose_view_components, from_all_others
from gramian.estimators._view_fit import (
    CHOICE_FOLDS,
    PILOT_ROUNDS,
    ViewFit,
    ViewOptions,
    fit_complete,
    rule,
)
from gramian.estimators._view_specs import is_feature_map, is_linear
from gramian.estimators._view_tables import ViewLayout, ViewRows, kind_of, resolve_columns
from gramian.estimators._view_trusts import FEWEST_ROWS, HeldOutTrusts, held_out_trusts, questions_of
from gramian.exceptions import NumericalWarning, warn
from gramian.features import FeatureMap
from gramian.latent.model import LatentModel
from gramian.latent.sample import STORED_LIMIT
from gramian.latent.view_folds import FoldedViews
from gramian.latent.view_folds import moment_folds as view_moment_folds
from gramian.latent.view_moments import FeatureSums, MomentTable, MomentView, feature_sums
from gramian.latent.view_noise import fit_view_noises, scales_of, start_noises
from gramian.latent.views import ExplicitView, ViewSample, ViewTable
from gramian.rows import BatchRows, Block, Rows, as_rows, is_dask
from gramian.solvers.eigh import Eigh

GATHERED_ROWS = 2000
"""So few rows are within every draw that a fit makes: they are fitted as in memory."""
DRAWN_ROWS = 10_000
"""Rows whose held-out residuals are looked at."""
ADVICE = "Use linear views or feature maps in the place of kernels (approximation='nystroem' is features.Nystroem here)"


# ---------------------------------------------------------------- views as one table of rows


def rows_on_dask(X: Any, views: Any, sample_weight: Any) -> tuple[ViewLayout, Rows]:
    """A Dask table, or a list or dict of Dask arrays, as rows with all views side by side."""
    kind = kind_of(X)
    if kind == "table":
        like = X._meta_nonempty if hasattr(X, "columns") else np.empty((1, X.shape[1]))
        rows = as_rows(X, sample_weight)
        return _layout(like, views, rows.n_columns), rows
    import dask.array as da

    named: Mapping[Any, Any] = X if isinstance(X, Mapping) else {f"view{i}": view for i, view in enumerate(X)}
    if views is not None:
        raise ValueError(f"views={views!r} names columns of one table, but X is a {kind} of views. Leave views=None.")
    for name, view in named.items():
        if view is None or not is_dask(view):
            raise TypeError(f"View {name!r} is no Dask array, but others are. Give all views on Dask, or none.")
    arrays = [view.to_dask_array() if hasattr(view, "columns") else view for view in named.values()]
    widths = [int(array.shape[1]) for array in arrays]
    table = da.concatenate(arrays, axis=1, allow_unknown_chunksizes=True)
    return ViewLayout(kind, list(named), None, widths), as_rows(table, sample_weight)


def rows_of_batches(batches: Any, views: Any) -> tuple[ViewLayout, Rows]:
    """Batches of tables, or of lists or dicts of views, as rows with all views side by side."""
    rows = BatchRows.of(_stacking(batches))
    first = next(iter(rows.open()))
    return _first_layout(batches, first, views, rows.n_columns), rows


def _stacking(batches: Any) -> Any:
    """The source with each list or dict of views as one table; anything else as it is."""
    if not (callable(batches) or isinstance(batches, list | tuple)):
        return batches
    open_source: Callable[[], Iterable[Any]] = batches if callable(batches) else lambda: batches

    def opened() -> Iterable[Any]:
        for batch in open_source():
            parts = batch if isinstance(batch, tuple) else (batch,)
            if kind_of(parts[0]) == "table":
                yield batch
            else:
                views = parts[0].values() if isinstance(parts[0], Mapping) else parts[0]
                stacked = np.hstack([np.asarray(view, dtype=np.float64) for view in views])
                yield (stacked, *parts[1:])

    return opened


def _first_layout(batches: Any, first: Any, views: Any, n_columns: int) -> ViewLayout:
    source = batches() if callable(batches) else batches
    given = next(iter(source)) if callable(batches) or isinstance(batches, list | tuple) else first
    given = given[0] if isinstance(given, tuple) else given
    kind = kind_of(given)
    if kind == "table":
        like = first[0] if isinstance(first, tuple) else first
        if type(like).__module__.startswith("pyarrow"):
            like = like.to_pandas()
        return _layout(like, views, n_columns)
    if views is not None:
        raise ValueError(
            f"views={views!r} names columns of one table, but batches are a {kind} of views. Leave views=None."
        )
    named = given if isinstance(given, Mapping) else {f"view{i}": view for i, view in enumerate(given)}
    return ViewLayout(kind, list(named), None, [int(np.shape(view)[1]) for view in named.values()])


def _layout(like: Any, views: Any, n_columns: int) -> ViewLayout:
    names, columns = resolve_columns(views, like, n_columns)
    return ViewLayout("table", names, columns, [len(found) for found in columns])


@dataclass(frozen=True)
class StackedViews:
    """All views of a block side by side, behind their feature maps."""

    columns: tuple[Array, ...]
    maps: tuple[Any, ...]  # None: the inputs themselves

    def __call__(self, block: Block) -> Array:
        return np.hstack([self.view(block.X, v) for v in range(len(self.columns))])

    def view(self, X: Array, v: int) -> Array:
        """The features of one view."""
        inputs = np.asarray(X[:, self.columns[v]], dtype=np.float64)
        return inputs if self.maps[v] is None else np.asarray(self.maps[v].transform(inputs), dtype=np.float64)


def view_columns(layout: ViewLayout) -> tuple[Array, ...]:
    """The columns of each view in the table of all."""
    if layout.columns is not None:
        return tuple(layout.columns)
    stops = np.cumsum([0, *layout.widths])
    return tuple(np.arange(start, stop) for start, stop in pairwise(stops))


# ---------------------------------------------------------------- one pass


@dataclass(frozen=True)
class ViewSurvey:
    """How many rows show what, the range of each column, and the rows that are drawn by content."""

    n_rows: int
    empty: int  # rows that show nothing
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


def survey_views(block: Block, columns: tuple[Array, ...], limits: tuple[int, ...]) -> ViewSurvey:
    """The survey of a block, rows that show nothing left out: a task for `Rows.fold`."""
    X = np.asarray(block.X)[:, np.concatenate(columns)]
    missing = np.isnan(X)
    shows = ~missing.all(axis=1)
    X, weights, missing = X[shows], block.weights[shows], missing[shows]
    hashes = row_hashes(X)
    stops = np.cumsum([0, *(len(part) for part in columns)])
    of_views = tuple(
        SmallestRows.of(X[:, start:stop], weights, limit) for start, stop, limit in zip(stops, stops[1:], limits)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without an entry
        low, high = (np.nanmin(X, axis=0), np.nanmax(X, axis=0)) if len(X) else (np.full(X.shape[1], np.nan),) * 2
    return ViewSurvey(
        len(X),
        int((~shows).sum()),
        weights @ ~missing,
        float(weights.sum()),
        low,
        high,
        DistinctHashes.of(hashes),
        SmallestRows.of(X, weights, DRAWN_ROWS, hashes),
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


def surveyed(layout: ViewLayout, rows: Rows, specs: Sequence[Any]) -> ViewSurvey:
    """One pass, with what cannot be fitted refused."""
    limits = tuple(int(spec.n_drawn or 1) if isinstance(spec, FeatureMap) else 1 for spec in specs)
    found = rows.fold(survey_views, view_columns(layout), limits)
    if found.n_rows < 2:
        raise ValueError(f"MultiViewRKM needs at least 2 samples of positive weight, got n_samples = {found.n_rows}.")
    if found.empty:
        warn(f"{found.empty} rows show no entry of any view and are left out of the fit.", NumericalWarning)
    check_scale(float(np.nanmax(found.high - found.low, initial=0.0)), "the views")
    return found


def gathered(survey: ViewSurvey, layout: ViewLayout) -> tuple[ViewRows, Array] | None:
    """All rows, where they are so few that the draw holds them."""
    if survey.n_rows > GATHERED_ROWS:
        return None
    stops = np.cumsum([0, *(len(part) for part in view_columns(layout))])
    parts = [survey.drawn.rows[:, start:stop] for start, stop in pairwise(stops)]
    return ViewRows.of(parts), survey.drawn.weights


# ---------------------------------------------------------------- the fit from sums


@dataclass(frozen=True)
class SummedViews:
    """The views of all rows in moments, fold by fold, and those of the drawn rows one by one."""

    features: StackedViews
    table: MomentTable
    drawn: ViewTable
    inputs: tuple[Array, ...]  # of the drawn rows
    folds: ContentFolds
    of_folds: Callable[[int], FeatureSums]  # one more pass, with so many folds

    @classmethod
    def of(cls, layout: ViewLayout, rows: Rows, survey: ViewSurvey, specs: Sequence[Any], n_folds: int) -> SummedViews:
        """One pass over the features, complete rows only."""
        if not survey.complete:
            raise ValueError(
                f"Rows miss entries, and there are more than {GATHERED_ROWS} of them: MultiViewRKM fills holes of rows in memory only. "
                "Fill them first (LatentImputer takes rows from anywhere), or call fit on rows that fit into memory."
            )
        columns = view_columns(layout)
        maps = tuple(_fitted_map(spec, drawn, name) for spec, drawn, name in zip(specs, survey.of_views, layout.names))
        features = StackedViews(columns, maps)
        folds = ContentFolds.of(survey.distinct, n_folds)
        stops = np.cumsum([0, *(len(part) for part in columns)])
        inputs = tuple(
            np.asarray(survey.drawn.rows[:, start:stop], dtype=np.float64) for start, stop in pairwise(stops)
        )
        made = [X if m is None else np.asarray(m.transform(X), dtype=np.float64) for X, m in zip(inputs, maps)]
        ends = np.cumsum([0, *(part.shape[1] for part in made)])
        if ends[-1] > STORED_LIMIT:
            raise ValueError(
                f"The views have {ends[-1]} features together, more than the {STORED_LIMIT} whose covariance is stored. Use fewer, or "
                "call fit on rows that fit into memory."
            )
        order = np.concatenate(columns)

        def of_folds(count: int) -> FeatureSums:
            dealt = ContentFolds.of(survey.distinct, count)
            return rows.fold(feature_sums, features, dealt, int(ends[-1]), order)

        sums = of_folds(n_folds)
        views = tuple(MomentView(slice(int(a), int(b)), m) for a, b, m in zip(ends, ends[1:], maps))

        def signs(axes: Array, mean: Array) -> Array:
            ends = rows.fold(farthest_scores, features, axes, mean)
            return np.where(ends.high >= -ends.low, 1.0, -1.0)

        table = MomentTable(views, sums, signs)
        weights = survey.drawn.weights / survey.drawn.weights.sum()
        explicit = tuple(ExplicitView(part, m) for part, m in zip(made, maps))
        drawn = ViewTable(explicit, weights, table.total_weight)
        return cls(features, table, drawn, inputs, folds, of_folds)

    @property
    def folded(self) -> FoldedViews:
        """Folds from the moments of all rows; the drawn ones stand for the rows themselves."""
        fold = self.folds.assign(row_hashes(np.hstack(self.inputs)))
        return FoldedViews(self.drawn, fold, self.table.sums.folds)

    def choose(self, sample: ViewSample, options: ViewOptions) -> tuple[Any, Selection]:
        """q by held-out views, or rows of a single view."""
        noise, several = options.noise_variance, len(options.names) > 1
        fixed = None if isinstance(noise, str) else float(noise)
        if fixed is not None and (fixed > 0 or not several):
            taken = f"the components above noise_variance={fixed:g}" if fixed > 0 else "95 % of the variance"
            return None, rule(f"{taken}, since the noise is given")
        if not self.folds or not (self.table.traces > 0).any():
            return None, rule("95 % of the variance, since there are too few distinct rows to hold any out")
        most = sample.max_components
        if not several:
            parts = [part for part in self.table.sums.folds.parts if part is not None]
            selection = choose_dimension(moment_folds(parts), float(self.table.dims[0]))
        elif noise != "per-view":
            selection = choose_view_components(self.folded.folds(sample.scales, most, Eigh()), noise_variance=fixed)
        else:
            table: Any = self.table
            pilot = choose_by_rows(self.folded.folds(scales_of(start_noises(table)), most, Eigh()))
            fitted = fit_view_noises(table, pilot, Eigh(), "primal", tol=0.1, max_iter=PILOT_ROUNDS, leaps=True)
            selection = choose_view_components(self.folded.folds(scales_of(fitted.noise_variances), most, Eigh()))
        return min(selection.chosen, most), selection

    def fit(self, options: ViewOptions) -> ViewFit:
        """The model of all rows."""
        return fit_complete(self.table, self.residuals if self.folds else None, options, self.choose)

    def residuals(self, q: int, noises: Array) -> Array:
        """Mean squared residual per coordinate of every view, predicted from the others on the first of five folds."""
        moments = self.table.sums.folds
        if self.folds.n_folds != CHOICE_FOLDS:
            moments = self.of_folds(CHOICE_FOLDS).folds
        scales = scales_of(noises)
        fold = view_moment_folds(FoldedViews(self.drawn, self.folded.fold, moments), scales, q, Eigh())[0]
        found = np.zeros(len(noises))
        for others, v in from_all_others(len(noises)):
            if scales[v] > 0:
                error = float(fold.errors((others, v), q, np.ones(1), 1.0)[0])
                found[v] = error / (scales[v] ** 2 * self.table.dims[v])
        return found

    def trusts(self, model: LatentModel[Any], preimage: Any, names: Sequence[Any]) -> HeldOutTrusts | None:
        """As `trusts_of_rows`: errors from the moments of all rows, residuals of the drawn ones."""
        parts, gaussian = model.subspace.parts, model.gaussian
        if (
            gaussian.n_components == 0
            or gaussian.noise_variance == 0
            or not self.folds
            or len(self.drawn.weights) < FEWEST_ROWS
        ):
            return None
        scales = np.array([part.scale for part in parts])
        folded = self.folded
        return held_out_trusts(
            self.drawn,
            self.inputs,
            folded.fold,
            scales,
            gaussian.n_components,
            gaussian.noise_variance,
            questions_of(range(len(parts)), len(parts)),
            preimage,
            names,
            folded=folded,
        )


def _fitted_map(spec: Any, drawn: SmallestRows, name: Any) -> Any:
    if is_linear(spec):
        return None
    if not isinstance(spec, FeatureMap) or spec.n_drawn is None:
        raise ValueError(
            f"The feature map of view {name!r}, {type(spec).__name__}, must see all rows when it is fitted. Fit it before, or call fit on "
            "rows that fit into memory."
        )
    if not callable(getattr(spec, "inverse_transform", None)):
        raise ValueError(
            f"The feature map of view {name!r}, {type(spec).__name__}, has no inverse: the way back to inputs is learnt from rows in "
            f"memory. Call fit on rows that fit into memory, or on at most {GATHERED_ROWS} of them."
        )
    return clone(spec).fit(drawn.rows, sample_weight=drawn.weights)


@dataclass(frozen=True)
class FarthestScores:
    """The least and the greatest √w t of each component; merges with ``+``."""

    low: Array
    high: Array

    def __add__(self, other: FarthestScores) -> FarthestScores:
        return replace(self, low=np.minimum(self.low, other.low), high=np.maximum(self.high, other.high))


def farthest_scores(block: Block, features: StackedViews, axes: Array, mean: Array) -> FarthestScores:
    """Of a block: a task for `Rows.fold`."""
    scores = np.sqrt(block.weights)[:, None] * ((features(block) - mean) @ axes)
    return FarthestScores(scores.min(axis=0), scores.max(axis=0))
