"""LatentImputer fills the holes of a table, with any model that can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_random_state,
    check_table,
    check_weights,
    finite_answers,
    is_auto,
    positive_rows,
    shown_rows,
)
from gramian._types import Batches, RandomState, Table, Weights
from gramian.estimators.imputer_family import choose_family
from gramian.estimators.ppca import PPCA
from gramian.estimators.time_filling import TimeFilling, fill_by_time
from gramian.estimators.woven_laws import WovenLaws
from gramian.evidence.folds import check_folds
from gramian.evidence.robustness import check_robust
from gramian.evidence.selection import Selection
from gramian.filling.aside import columns_aside, is_wide
from gramian.filling.calibration import filled_by
from gramian.filling.choice import FilledFit, fit_above_noise
from gramian.filling.columns import ShownRows
from gramian.filling.draws import digest
from gramian.filling.feature_filler import FeatureFiller
from gramian.kernels.units import check_standardize
from gramian.latent.known_errors import Known
from gramian.policy import LOOK
from gramian.rows import BatchRows, Rows, as_rows, is_dask, lazily
from gramian.rows.draws import rows_if_few
from gramian.single.answers import BaseEstimator, atomic, forget, keep_columns
from gramian.tables.clocks import Clock
from gramian.tables.frames import frame_of
from gramian.tables.front_door import clock_of
from gramian.tables.preprocessing import Preprocessing

PRIVATE = (
    "_units",
    "_spreads",
    "_seer",
    "_of_frame",
    "_shown_columns",
    "_bounds",
    "_limits",
    "_numbers",
    "_margins",
    "_chances",
    "_indicated",
    "_fitted_rows",
    "_others",
    "_forecasters",
    "_time_scales",
    "_clock_step",
)
"""What a fit keeps beside its public attributes."""


class LatentImputer(WovenLaws, TransformerMixin, BaseEstimator):
    """Fills missing entries with their expectation given the observed ones, as a transformer for pipelines [5].

    Columns are brought to unit variance, and the noise is chosen on cells that are hidden from the model, by how well those are filled: the
    components that stand out of it are kept. None at all is a candidate; then entries are filled with column means. Standard deviations
    are held to what they promise on hidden cells.

    Parameters
    ----------
    estimator : "auto" or object with ``fit`` and ``impute`` (or ``reconstruct``), default=None
        None is ``PPCA()`` with a noise and a number of components (0 too) that hidden cells prefer. `PPCAMixture`, `KernelPPCA` and `MultiViewRKM` work as well.
        "auto": PPCA, `KernelPPCA` and mixtures of 3 and 6 fill hidden cells of at most 500 rows, three times; PPCA stays unless the kernel model is better by more
        than one standard error, or a mixture by two. Larger tables than 2,000 x 200, Dask and batches are PPCA's. One to three seconds of
        CPU for 300 x 15, ten for 600 x 52 [18].
    standardize : bool or "auto", default="auto"
        Columns to unit variance on the way in, undone on the way out. "auto": yes, unless a kernel of the estimator is told in units of
        the data.
    n_folds : int, None, splitter or (kept, held) pairs, default=5
        Draws of hidden cells for the choice and the calibration; of folds that are handed in, each draw hides cells of the rows of one. None:
        standard deviations as the model gives them.
    robust : False, "rows", "cells" or "auto", default="auto"
        "cells": cells that the others of their row contradict are not believed, at fit and when cells are filled; observed cells stay as
        they are. A row that is wild as a whole counts for nothing. "rows": rows count by their weight in a multivariate t. "auto": "cells" where some cell
        stands far out of its column and hidden cells are predicted clearly better without such cells [14]. Only where the estimator is PPCA; "rows" of more than 2,000 rows only in memory;
        other estimators have a ``robust`` of their own.
    keep_codes : list of float, optional
        Numbers such as -999 or 99 that stand far from all others of their column and repeat are taken as missing, with a `DataWarning`, unless
        they are given here.
    bounds : "auto", None or dict, default="auto"
        What values may be filled in. "auto": what the columns show (whole numbers, no negative values, shares between 0 and 1); a dict
        column -> (low, high) with None for no end; None: any.
    margins : None or "auto", default="auto"
        None: columns as they are. "auto": a column of numbers is told to the model as it is, as its logarithm or as normal scores, whichever makes better 90 % intervals of
        hidden cells, in the units of the table, where all together gain by more than two standard errors and fills lose nothing. Only where the
        estimator is PPCA, its noise and components are open, and columns are standardised [15].
    censored : dict, optional
        Column -> limit of detection: cells at or below it are known to lie there, whatever number stands in them, and are filled by what the rest of
        the row says of them; where a column shows no such cell, its missing cells are those. An infinite limit says nothing. PPCA only [15].
    add_indicator : bool, default=False
        Whether columns that say where cells were missing are added, as in scikit-learn's imputers.
    keep_empty_features : bool, default=False
        Whether columns without any value at fit are kept and filled with 0, as in scikit-learn's imputers; texts and categories stay missing.

    Attributes
    ----------
    estimator_ : the fitted model, in the units of the columns
    selection_ : Selection
        What was tried on hidden cells; only where q was "auto". Candidates are numbers of components, or
        ``{"n_components", "noise_variance"}`` in units of the columns.
    model_selection_ : Selection
        With ``estimator="auto"``: how the models did on hidden cells. Where PPCA lost, `selection_` is the same.
    std_scales_ : ndarray of shape (n_features,)
        By how much the model's standard deviations are multiplied.
    codes_ : list of Code
        Numbers taken for codes of missing, with ``value``, ``count`` and ``columns``.
    aside_ : list of str
        Of frames: categories of more than two values that take no part in the model of the other columns, because hidden cells of these are not filled clearly better with
        them; their own holes are filled by a model of all columns, of which `estimator_` and the other attributes tell. Asked unless ``estimator`` is given.
    ways_ : dict of str
        Of frames whose rows follow a clock (a column or an index of dates, evenly spaced): column with gaps -> "table" (filled from the other columns), "clock" (from
        the values before and after) or "both", whichever hidden cells prefer. Other frames with such a clock are filled in the same ways. Asked as `aside_` is.
    robust_ : False, "cells" or "rows"
        What was taken; this and the following only where ``robust`` is not False.
    flags_ : ndarray of bool of shape (n_samples, n_features)
        Cells taken as holes at fit because the others of their row contradict them. Codes of missing are no flags: they are in ``codes_``.
    row_weights_ : ndarray of shape (n_samples,)
        How much each row counted; 0 for rows that are wild as a whole ("cells"), E[u] of the t ("rows").
    degrees_of_freedom_ : float
        Of the t; only for "rows".

    References
    ----------
    [5], [10], [12], [14], [18] docs/theory.md, sections of these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from gramian import LatentImputer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5)) + 0.1 * rng.standard_normal((80, 5))
    >>> y = X.sum(axis=1)
    >>> X[rng.random(X.shape) < 0.1] = np.nan
    >>> make_pipeline(LatentImputer(), Ridge()).fit(X, y).score(X, y) > 0.9
    True
    """

    model_selection_: Selection
    _others: Annotated[LatentImputer | None, ""] = None

    def __init__(
        self,
        estimator: Any = None,
        *,
        standardize: bool | str = "auto",
        n_folds: Any = 5,
        robust: bool | str = "auto",
        keep_codes: Any = None,
        bounds: Any = "auto",
        margins: str | None = "auto",
        censored: Any = None,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
    ) -> None:
        self.estimator = estimator
        self.standardize = standardize
        self.n_folds = n_folds
        self.robust = robust
        self.keep_codes = keep_codes
        self.bounds = bounds
        self.margins = margins
        self.censored = censored
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Table, y: object = None, sample_weight: Weights = None, X_std: Any = None) -> LatentImputer:
        """Fit the model to the observed entries of X [5].

        Parameters
        ----------
        X : array-like, data frame or Dask collection of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.
        X_std : array-like of shape (n_samples, n_features), optional
            The standard deviation of the known error of each cell, 0 where none is known; then every cell is believed as far as its error
            says, whatever ``robust`` is, and columns with errors keep their own units. PPCA only.

        Returns
        -------
        LatentImputer

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentImputer, PPCA
        >>> from gramian.datasets import make_missing
        >>> X = make_missing(load_iris().data, 0.1, random_state=0)
        >>> model = LatentImputer(PPCA(n_components=2))
        >>> model.fit(X).transform(X).shape
        (150, 4)
        """
        return self._fit_table(X, sample_weight, X_std)

    def _fit_table(
        self,
        X: Table,
        sample_weight: Weights = None,
        X_std: Any = None,
        aside: list[str] | None = None,
        along: TimeFilling | None = None,
    ) -> LatentImputer:
        """`fit`; ``aside`` as of `_fit_coded`, and ``along`` what a clock has said then."""
        model = self._checked()
        forget(self, *PRIVATE)
        if is_dask(X):
            if X_std is not None or self.censored:
                raise ValueError("X_std and censored need rows in memory. Give an array or a frame.")
            return self._fit_rows(model, as_rows(X, sample_weight))
        whole = check_table(self, X, reset=True, missing=True, min_samples=2)
        if self._coding is None:
            names = getattr(self, "feature_names_in_", range(whole.shape[1]))
            whole = self._seen(whole, names, reset=True)
        whole = self._settle_columns(X, whole)
        self._fit_features(model, whole, self._known_of(X, whole, X_std), sample_weight, aside)
        plain = all(given is None for given in (self.estimator, self.censored, sample_weight, X_std))
        if aside is None and plain and frame_of(X) is not None and np.isnan(whole).any():
            table = self._columns_given(X)
            along = time_filling_of(X, table, self._coding or Preprocessing.fit([table]), self.aside_)
        if along is not None:
            self.ways_, self._forecasters, self._time_scales = along.ways, along.forecasters, along.scales
            self._clock_step = repr(along.clock.step)
        return self

    def _fit_coded(
        self, coding: Preprocessing, table: Any, limits: dict[str, Array], aside: list[str] | None = None
    ) -> LatentImputer:
        """Fit to a table whose coding is settled already; ``limits`` of cells that are known to lie below one. ``aside``: what hidden cells have
        said before, None where they are to be asked."""
        model = self._checked()
        forget(self, *PRIVATE)
        self._coding = coding
        self.feature_names_in_ = np.array(coding.names, dtype=object)
        self.n_features_in_ = len(coding.names)
        self._settle_bounds({name: table[name] for name in coding.numbers})
        whole = coding.matrix(table)
        return self._fit_features(model, whole, self._known_below(whole, limits), None, aside)

    def _fill_coded(self, X: Array, limits: dict[str, Array]) -> tuple[Array, Array]:
        """Features with their holes filled, and deviations; for tables whose coding is that of the fit."""
        return self._moments(self._told_of(X, self._known_below(X, limits)))

    def _draws_coded(self, X: Array, m: int, limits: dict[str, Array]) -> Iterator[dict[str, Array]]:
        """m draws of the columns of such a table."""
        told = self._told_of(X, self._known_below(X, limits))
        for features, texts in self._drawn(told, m, np.random.default_rng(0)):
            yield self._columns_of(features, texts)

    def _known_below(self, X: Array, limits: dict[str, Array]) -> Known | None:
        return self._known(None, self._feature_limits(limits, len(X))) if limits else None

    def _fit_features(
        self, model: Any, whole: Array, known: Known | None, sample_weight: Weights, aside: list[str] | None = None
    ) -> LatentImputer:
        given_weights = check_weights(sample_weight, whole)
        kept = (given_weights > 0) & ~np.isnan(whole).all(axis=1)
        table, weights = shown_rows(*positive_rows(whole, given_weights))
        if isinstance(model, PPCA):
            found = self._fit_gaussian(model, as_rows(table, weights), None if known is None else known[kept])
            if is_auto(self.estimator) and found.whole:
                self._take_best_family(found)
            self._keep_beliefs_of_rows(kept)
        else:
            if known is not None:
                raise ValueError(f"X_std and censored need PPCA, not estimator={model!r}.")
            self._settle_units(model, as_rows(table, weights))
            scaled = table if self._units is None else self._units.into(table)
            given = {} if sample_weight is None else {"sample_weight": weights}
            self.estimator_ = model.fit(scaled, **given)
            self._calibrate_by_refits(model, scaled, weights, given)
        scaled = self._told_of(whole, known).scaled
        self._fitted_rows = (len(scaled), digest(scaled))
        self._settle_chances(scaled)
        self._settle_others(whole, known, sample_weight, aside)
        return self

    def _settle_others(
        self, whole: Array, known: Known | None, sample_weight: Weights, aside: list[str] | None
    ) -> None:
        """Where hidden cells are filled as well without some categories of many values, the others have a model of their own."""
        coding, ours = self._coding, self.estimator is None or is_auto(self.estimator)
        if coding is None or not ours or not is_wide(coding):
            return
        if aside is None:
            aside = columns_aside(coding, whole, feature_filler(coding)).columns
        if not aside:
            return
        others = clone(self)
        others._coding = coding.only([name for name in coding.names if name not in aside])
        others.feature_names_in_ = np.array(others._coding.names, dtype=object)
        others.n_features_in_ = len(others._coding.names)
        others._bounds = self._bounds  # numbers never stand aside
        kept = ~np.isin(coding.owner, [coding.names.index(name) for name in aside])
        of_kept = None if known is None else known[:, kept]
        others._fit_features(others._checked(), whole[:, kept], of_kept, sample_weight, [])
        self._others = others

    def _take_best_family(self, found: FilledFit) -> None:
        """A mixture or a kernel model in the place of PPCA, where hidden cells prefer it."""

        model, choice, scaled, weights = found.model, found.choice, found.scaled, found.weights

        def linear(table: Array, raw: Array) -> PPCA:
            fitted: PPCA = fit_above_noise(clone(model), choice, lambda it: it._fit(table, raw, found.start))
            return fitted

        family = choose_family(linear, filled_by, scaled, weights, self._least_std)
        if family is None:
            return
        self.model_selection_ = family.selection
        if family.model is not None:
            self.estimator_ = family.model
            self.std_scales_ = np.ones(scaled.shape[1]) if self.n_folds is None else family.scales
            self.selection_ = family.selection

    @atomic
    def fit_batches(self, source: Batches) -> LatentImputer:
        """Fit on all rows of batches that can be read again (a list, or a function that opens an iterator), out of core; PPCA only [5, 13].

        The same rows in memory give the same model. Up to 2,000 rows are gathered; of more, what is open is settled on the 2,000 of smallest hash, in memory
        too. ``flags_`` are kept of gathered rows, in the order in which they were read.

        Parameters
        ----------
        source : list, other iterable that can be read again, or function that opens an iterator
            A batch is an array, a frame or an Arrow batch, or (X, sample_weight).

        Returns
        -------
        LatentImputer

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentImputer, PPCA
        >>> from gramian.datasets import make_missing
        >>> X = make_missing(load_iris().data, 0.1, random_state=0)
        >>> model = LatentImputer(PPCA(n_components=2))
        >>> model.fit_batches([X[:75], X[75:]]).transform(X).shape
        (150, 4)
        """
        model = self._checked()
        forget(self, *PRIVATE)
        if self.censored:
            raise ValueError("censored needs rows in memory. Give an array or a frame to fit.")
        return self._fit_rows(model, BatchRows.of(source))

    def _fit_rows(self, model: Any, rows: Rows) -> LatentImputer:
        """Batches or Dask rows: few are gathered, many are only summed over."""
        if not isinstance(model, PPCA):
            raise TypeError(
                f"estimator={model!r} cannot be fitted to batches or Dask rows here. Use PPCA (the default), or fit on a table in memory."
            )
        keep_columns(self, rows)
        few = rows_if_few(rows, LOOK.rows)
        if few is None:
            self._fit_gaussian(model, self._settle_rows(rows))
            return self
        table, weights = few
        self._fit_features(model, self._settle_columns(table, self._seen(table, (), reset=True)), None, weights)
        return self

    def _checked(self) -> Any:
        check_standardize(self.standardize)
        check_robust(self.robust)
        self._check_columns()
        if self.margins is not None:
            check_choice("margins", self.margins, ("auto",))
        check_folds(self.n_folds)
        if isinstance(self.estimator, str):
            check_choice("estimator", self.estimator, ("auto",))
        model = PPCA() if self.estimator is None or is_auto(self.estimator) else clone(self.estimator)
        if not hasattr(model, "impute") and not hasattr(model, "predict_view"):
            raise TypeError(
                f"estimator={model!r} cannot impute. Use PPCA, PPCAMixture, MultiViewRKM or another model with impute(X)."
            )
        return model

    # ------------------------------------------------------------ filling

    @lazily
    def transform(self, X: Table) -> Array:
        """The table with its holes filled; observed entries are untouched [5].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
            Where a frame was fitted, a frame in is a frame out: the same container, names, index, dtypes and categories.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentImputer, PPCA
        >>> from gramian.datasets import make_missing
        >>> X = make_missing(load_iris().data, 0.1, random_state=0)
        >>> model = LatentImputer(PPCA(n_components=2))
        >>> bool(np.isnan(model.fit(X).transform(X)).any())
        False
        """
        told, filled, std = self._impute(X)
        like = X if self._of_frame else None
        return self._with_indicators(X, self._completed(like, told.table, filled, self._likeliest(filled, std)))

    @lazily
    def impute(self, X: Table, return_std: bool = False, *, X_std: Any = None) -> Any:
        """Fill the missing entries; the same container, observed entries untouched [5, 12].

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return standard deviations, 0 where observed, calibrated on hidden cells: 1.645 of them cover 90 %.
        X_std : array-like of shape (n_samples, n_features), optional
            The standard deviation of the known error of each cell, 0 where none is known: such cells count for less.

        Returns
        -------
        The filled table, or (table, std)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentImputer, PPCA
        >>> from gramian.datasets import make_missing
        >>> X = make_missing(load_iris().data, 0.1, random_state=0)
        >>> model = LatentImputer(PPCA(n_components=2))
        >>> filled, std = model.fit(X).impute(X, return_std=True)
        >>> bool((std[~(X != X)] == 0).all())
        True
        """
        check_flag("return_std", return_std)
        told, filled, std = self._impute(X, X_std)
        full = self._with_indicators(X, self._completed(X, told.table, filled, self._likeliest(filled, std)))
        return (full, self._spread_like(X, std)) if return_std else full

    def _impute(self, X: Table, X_std: Any = None) -> tuple[ShownRows, Array, Array]:
        check_is_fitted(self)
        told = self._told(X, X_std)
        dtype = float_dtype(told.table)
        filled, std = self._moments(told)
        return told, filled.astype(dtype, copy=False), std.astype(dtype)

    @finite_answers
    def interval(self, X: Table, level: float = 0.9) -> tuple[Any, Any]:
        """Lower and upper ends of what missing cells may be: possible values, calibrated on hidden cells; observed cells are their own ends [12, 15].

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        level : float in (0, 1), default=0.9
            The share of missing cells that lie inside.

        Returns
        -------
        (lower, upper), each in the container of X; a category is its most probable value in both

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import LatentImputer
        >>> rng = np.random.default_rng(0)
        >>> X = rng.poisson(np.exp(1 + rng.standard_normal((100, 1)) @ np.ones((1, 4)) / 2)).astype(float)
        >>> X[0, 0] = np.nan
        >>> lower, upper = LatentImputer().fit(X).interval(X)
        >>> bool(lower[0, 0] >= 0), float(upper[0, 0] % 1)
        (True, 0.0)
        """
        check_is_fitted(self)
        level = check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
        told = self._told(X)
        mean, std = self._law(told)
        reach = float(ndtri((1 + level) / 2)) * std
        at = np.isnan(told.table)
        ends = [mean - reach, mean + reach]
        margins = self._margins_of_law(told)
        if margins is not None:
            ends = [margins.back(end) for end in ends]
        below, above = (np.where(at, end, told.table) for end in (ends[0], told.below_limits(ends[1])))
        texts = self._likeliest(*self._moments(told))
        lower = self._completed(X, told.table, below, texts)
        return lower, self._completed(X, told.table, above, texts)

    @finite_answers
    def draws(self, X: Table, m: int = 20, *, random_state: RandomState = None) -> list[Any]:
        """m completed tables, each from parameters of its own: for estimates that are to carry the uncertainty of the holes [16].

        With five rows per column or more, parameters of a Gaussian of all columns and what is missing are drawn in turns (data augmentation). With fewer, or where
        more is known of cells, the rows are weighted anew (a smooth bootstrap), the model takes a few EM steps from the fitted one, and what is missing is
        drawn. Fit the same analysis to every table, and `gramian.pool` the fits.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table of the fit; of other rows the parameters stay as they are, and the law is that of small samples.
        m : int, default=20
        random_state : None, int, Generator or RandomState

        Returns
        -------
        list of m tables in the container of X

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import LatentImputer
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 4)) + 0.3 * rng.standard_normal((60, 4))
        >>> X[::5, 0] = np.nan
        >>> tables = LatentImputer().fit(X).draws(X, 3, random_state=0)
        >>> len(tables), bool(np.isnan(tables[0]).any()), bool((tables[0][0] == tables[1][0]).all())
        (3, False, False)
        """
        check_is_fitted(self)
        m = check_count("m", m, 1)
        rng = check_random_state(random_state)
        told = self._told(X)
        return [
            self._with_indicators(X, self._completed(X, told.table, features, texts))
            for features, texts in self._drawn(told, m, rng)
        ]

    def _settled(self) -> LatentImputer:
        """The same with the model that it chose, unfitted, and nothing to ask; for tables without wild cells."""
        settled = {"estimator": clone(self.estimator_), "robust": False, "margins": None, "n_folds": None}
        same: LatentImputer = clone(self).set_params(**settled)
        begin = self.estimator_._as_start
        same._near = begin if np.all(begin.noise_variance > 0) else None
        return same

    def explain(self) -> str:
        """How many components were taken and why, and how the model was fitted."""
        check_is_fitted(self)
        if self._others is not None:
            named = ", ".join(map(repr, self.aside_))
            return f"Hidden cells of the other columns are filled as well without {named}: of these. {self._others.explain()}"
        inner = self.estimator_.explain() if hasattr(self.estimator_, "explain") else repr(self.estimator_)
        reasons = [getattr(self, name).reason for name in ("model_selection_", "selection_") if hasattr(self, name)]
        return " ".join([*(f"{reason}." for reason in dict.fromkeys(reasons)), inner])


def feature_filler(coding: Preprocessing) -> FeatureFiller:
    """What fills features of tables of this coding unless told otherwise."""
    return FeatureFiller(LatentImputer(standardize=False), coding)


def time_filling_of(
    X: Any, table: Any, prepare: Preprocessing, aside: list[str], clock: Clock | None = None, seed: int = 0
) -> TimeFilling | None:
    """What the clock of a table says of its gaps, beside the imputer that is taken unless told otherwise; None where there is no clock."""
    clock = clock_of(X, table) if clock is None else clock
    if clock is None:
        return None
    return fill_by_time(clock, table, prepare, lambda part: LatentImputer(standardize=False).fit(part), aside, seed)
