"""LatentOutlierDetector: flags rows by scores of models that have not seen them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from sklearn.base import OutlierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype, has_nan
from gramian._checks import (
    check_number,
    check_table,
    check_weights,
    finite_answers,
    is_real,
    positive_rows,
    shown_rows,
)
from gramian._content import Folds, SmallestRows, content_folds, row_hashes
from gramian._types import Table, Weights
from gramian.estimators.ppca import PPCA
from gramian.evidence.folds import as_folds, check_folds
from gramian.evidence.limits import threshold
from gramian.evidence.robustness import Robust, believe_cells, check_robust
from gramian.evidence.selection import Selection, votes
from gramian.evidence.tables import choose_for_detector
from gramian.exceptions import NumericalWarning
from gramian.kernels.units import check_standardize, standardizes
from gramian.latent.missing import MissingFit
from gramian.latent.units import Units
from gramian.policy import DEFAULTS, DETECTOR, LOOK
from gramian.single.answers import BaseEstimator, atomic, forget, settle
from gramian.single.hole_fit import takes_holes
from gramian.single.usual_rows import UsualRows
from gramian.tables.front_door import TakesFrames

ONE_VALUE = ".* shows one value only"
"""What is said of all rows need not be said of a part of them."""


def _inner_has(name: str) -> Any:
    def check(self: Any) -> bool:
        model = getattr(self, "estimator_", None) or self.estimator or PPCA()
        return hasattr(model, name)

    return check


class LatentOutlierDetector(TakesFrames, OutlierMixin, BaseEstimator):
    """Flags the rows that a latent model finds least likely.

    A model gives rows that it has seen too high a score. So the threshold is a quantile of out-of-fold scores, and a row that
    equals a training row is scored by the model of the folds without it. Every other row is scored by the model of all rows [10].

    Parameters
    ----------
    estimator : object with ``fit`` and ``score_samples``, default=None
        None is PPCA with the q that held-out rows prefer (wild rows do not vote; 0 is a candidate), and with
        a noise of at least a thousandth of the mean variance. Rows that lie far beyond the others are then left out and it is fitted
        again, so that outliers in the table do not hide each other. A kernel model of at most 500 usual rows sees what lies between clusters
        or off a curve: its scores are added, in units of PPCA's. Models without noise are scored by minus the squared distance to their subspace.
    contamination : float in (0, 0.5], default=0.01
        The share of rows of the training kind beyond the threshold.
    standardize : bool or "auto", default="auto"
        Columns to unit variance first. "auto": yes, unless the kernel of the estimator is told in units of the data (a numeric length
        scale or period, a callable, a scikit-learn kernel, precomputed values).
    n_folds : int, scikit-learn splitter, iterable of (kept, held) positions, or None, default=5
        Folds of the out-of-fold scores. None: one model, which scores its own training rows.
    robust : False, "rows", "cells" or "auto", default="auto"
        "auto": where no estimator is given, rows far beyond the others are not fitted. "cells": models are fitted without the cells that the others
        of their row contradict. "rows": PPCA is a multivariate t [14]. False: every row and cell is believed. Rows are always scored as they are.

    Attributes
    ----------
    estimator_ : the model of all rows; PPCA where none was given
    selection_ : Selection
        What was tried for q, where nothing was given.
    training_scores_ : ndarray of shape (n_samples,)
        Scores of the training rows, each by a model that has not seen it, lowest first.
    flags_ : ndarray of bool of shape (n_samples, n_features)
        Cells that the models were not fitted to, which ``robust="cells"`` looks for; this and the following only where ``robust`` is not False.
    row_weights_ : ndarray of shape (n_samples,)
        How much each row counted in the model of all rows: 0 for rows that are wild as a whole ("cells") or far beyond the others ("auto"), E[u] of the t ("rows").
    degrees_of_freedom_ : float
        Of the t; only for "rows".
    offset_ : float
        The threshold: ``decision_function = score_samples - offset_``.

    References
    ----------
    [10] docs/theory.md, section 10.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import LatentOutlierDetector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) @ np.ones((1, 3)) + 0.1 * rng.standard_normal((200, 3))
    >>> detector = LatentOutlierDetector().fit(X)
    >>> detector.predict([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]])
    array([ 1, -1])
    """

    _units: Annotated[Units | None, "its d"] = None
    _fold_models: Annotated[tuple[Any, ...] | list[Any], "*: object"] = ()
    _by_residual: bool = False
    _usual: Annotated[UsualRows | None, "its d"] = None

    selection_: Selection
    degrees_of_freedom_: float
    estimator: Annotated[Any, "maybe object"]
    estimator_: Annotated[Any, "fitted"]
    offset_: Annotated[float, "number"]
    training_scores_: Annotated[Array, "s"]
    _weights: Annotated[Array, "++ s"]
    _hashes: Annotated[Array, "maybe n"]
    _folds: Annotated[Array, "maybe n"]

    def _wrong_state(self) -> str | None:
        """What a model file may not leave out: which rows the models of the folds have not seen."""
        needed = {"_hashes", "_folds"} if self._fold_models else set()
        return next((f"{name} is missing" for name in sorted(needed - vars(self).keys())), None)

    def __init__(
        self,
        estimator: Any = None,
        contamination: float = 0.01,
        *,
        standardize: bool | str = "auto",
        n_folds: Any = 5,
        robust: bool | str = "auto",
    ) -> None:
        self.estimator = estimator
        self.contamination = contamination
        self.standardize = standardize
        self.n_folds = n_folds
        self.robust = robust

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = (PPCA() if self.estimator is None else self.estimator).__sklearn_tags__().input_tags
        tags.input_tags.allow_nan = inner.allow_nan
        return tags

    def _check(self, X: Table, reset: bool) -> Array:
        missing = bool(self.__sklearn_tags__().input_tags.allow_nan)
        return check_table(self, X, reset=reset, missing=missing, min_samples=2 if reset else 1)

    @atomic
    def fit(self, X: Table, y: object = None, sample_weight: Weights = None) -> LatentOutlierDetector:
        """Fit the models, and set the threshold at the ``contamination`` quantile of the out-of-fold scores [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        LatentOutlierDetector

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentOutlierDetector, PPCA
        >>> X = load_iris().data
        >>> model = LatentOutlierDetector(PPCA(n_components=2), contamination=0.1).fit(X)
        >>> round(float((model.predict(X) == -1).mean()), 2)
        0.1
        """
        self._fit(X, sample_weight)
        return self

    def _fit(self, X: Table, sample_weight: Weights = None, known: Any = None) -> Array:
        """Fit; the out-of-fold scores of the rows that show something. ``known`` is the model of all rows, where someone has fitted it already."""
        share = check_number("contamination", self.contamination, 0.0, 0.5, open_low=True)
        check_standardize(self.standardize)
        check_folds(self.n_folds)
        if self.estimator is not None and not hasattr(self.estimator, "score_samples"):
            remedy = ", or contamination= for the share of odd rows" if is_real(self.estimator) else ""
            raise TypeError(f"estimator={self.estimator!r} gives no scores. Use a model with score_samples(X){remedy}.")
        model = PPCA() if self.estimator is None else clone(self.estimator)
        if model.__sklearn_tags__().input_tags.pairwise:
            raise ValueError(
                "LatentOutlierDetector cannot score rows of a precomputed kernel: their k(y, y) is not known. Give the kernel itself, and rows."
            )
        forget(self)
        whole = self._check(X, reset=True)
        given_weights = check_weights(sample_weight, whole)
        shown = (given_weights > 0) & ~np.isnan(whole).all(axis=1)
        table, weights = shown_rows(*positive_rows(whole, given_weights))
        scale = self._coding is None and standardizes(self.standardize, getattr(model, "kernel", None))
        beliefs = self._beliefs(model, table, weights)
        believed, usual = np.where(beliefs.flags, np.nan, table), beliefs.row_weights > 0
        self._units = Units.of(believed[usual], weights[usual]) if scale else None
        rows = self._rows(believed)
        given = as_folds(self.n_folds, self._rows(whole))
        hashes = row_hashes(self._rows(table))
        folds, fold = content_folds(None, given or 2, hashes)
        self._hashes, first = np.unique(hashes, return_index=True)
        self._folds = fold[first]
        parts = range(folds.n_folds if self.n_folds is not None and folds else 0)
        for held in parts:
            self._check_shown(believed[usual & (fold != held)])
        self._usual = None
        for left in reversed(range(1 + (DETECTOR.refits if self.robust == "auto" else 0))):
            if self.estimator is None:
                those = Folds.given(hashes[usual], fold[usual]) if parts else LOOK.folds
                model = self._default(rows[usual], those, hashes[usual])
            if self.robust == "rows" and isinstance(model, PPCA):
                model.set_params(robust="rows")
            with warnings.catch_warnings():
                if not usual.all():
                    warnings.filterwarnings("ignore", message=ONE_VALUE, category=NumericalWarning)
                if known is not None and usual.all() and _asks_the_same(model, known):
                    self.estimator_ = known
                else:
                    near = vars(self).get("estimator_")
                    counts = None if sample_weight is None else weights[usual]
                    self.estimator_ = _fit_near(model, rows[usual], counts, near)
                warnings.filterwarnings("ignore", message=ONE_VALUE, category=NumericalWarning)
                self._fold_models = []
                for held in parts:
                    kept = usual & (fold != held)
                    inside = None if sample_weight is None else weights[kept]
                    part = self._fold_model(float(weights[usual].sum()))
                    self._fold_models.append(_fit_near(part, rows[kept], inside, self.estimator_))
            self._by_residual = any(_is_noise_free(each) for each in (self.estimator_, *self._fold_models))
            scores = self._scores(table)
            found = votes(-scores, weights)
            if (
                self.estimator is not None
                or not left
                or (found == usual).all()
                or not _enough(table, found, fold, parts)
            ):
                break
            usual = found
        if self.estimator is None:
            scores = self._with_curves(table, scores, weights, SmallestRows.of(rows[usual], weights[usual], LOOK.few))
        if self.robust is not False:
            counted = usual.astype(float)
            counted[usual] = vars(self.estimator_).get("row_weights_", 1.0)  # of a t
            self._keep_beliefs(len(shown), shown, beliefs.flags, counted)
        if hasattr(self.estimator_, "degrees_of_freedom_"):
            self.degrees_of_freedom_ = self.estimator_.degrees_of_freedom_
        order = np.argsort(scores)
        self.training_scores_, self._weights = scores[order], weights[order]
        self.offset_ = self.limit(1 - share)
        return scores

    def _beliefs(self, model: Any, table: Array, weights: Array) -> Robust:
        """Which cells and rows the models are fitted to. Scores are of the rows as they are [14]."""
        check_robust(self.robust)
        if self.robust != "cells" or not isinstance(model, PPCA) or not takes_holes(model.n_components):
            return Robust.everything(table)
        return believe_cells(table, weights, "cells")

    def limit(self, level: float = 0.99) -> float:
        """The score below which rows are odd: a share ``level`` of the training rows, each scored by a model that has not seen it, lies above [10].

        Parameters
        ----------
        level : float in (0, 1), default=0.99

        Returns
        -------
        float
            At ``level = 1 - contamination`` this is ``offset_``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentOutlierDetector
        >>> X = load_iris().data
        >>> model = LatentOutlierDetector(contamination=0.05).fit(X)
        >>> model.limit(0.95) == model.offset_, model.limit(0.9) > model.offset_
        (True, True)
        """
        check_is_fitted(self)
        if not 0 < level < 1:
            raise ValueError(
                f"level={level!r} must be between 0 and 1: the share of ordinary rows that is not flagged."
            )
        return threshold(self.training_scores_, self._weights, 1 - level)

    def _check_shown(self, kept: Array) -> None:
        """Every fold must leave a value in every column."""
        empty = np.flatnonzero(np.isnan(kept).all(axis=0))
        if empty.size:
            names = self._feature_names
            name = int(empty[0]) if names is None else str(names[empty[0]])
            raise ValueError(
                f"Column {name!r} of X shows so few values that the rows of one of {self.n_folds} folds hold them all. Drop such columns, "
                "or give n_folds=None."
            )

    def _default(self, rows: Array, folds: Any, hashes: Array) -> PPCA:
        """PPCA whose q is chosen by the usual rows; with holes by hidden cells of all rows."""
        selection = None if has_nan(rows) else choose_for_detector(rows, folds, hashes)
        if selection is None:
            return settle(self.estimator_) if hasattr(self, "estimator_") else PPCA()
        self.selection_ = selection
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalWarning)  # no noise: then it has that of the floor
            model = PPCA(int(selection.chosen)).fit(rows)
        floor = DEFAULTS.noise_floor * float(rows.var(axis=0).mean())
        return PPCA(None, noise_variance=floor) if floor > 0 and model.noise_variance_ <= floor else clone(model)

    def _with_curves(self, table: Array, scores: Array, weights: Array, drawn: SmallestRows) -> Array:
        """The scores of PPCA and, in their units, of kernel models of usual rows."""
        rows = _without_holes(self.estimator_, drawn.rows)
        found = UsualRows.of(rows, drawn.weights, self._fold_of(drawn.hashes), len(self._fold_models))
        if found is None:
            return scores
        curves = self._by_fold(
            table, lambda held, rows: found.scores(held, _without_holes(self._model_without(held), rows))
        )
        self._usual = found.in_units_of(scores, curves, weights)
        return scores + self._usual.rate * (curves - self._usual.middle)

    def _fold_model(self, total_weight: float) -> Any:
        """The model as it was settled on all rows, to be fitted without a fold: the same q and the same noise dimension.

        Likelihoods with different noise dimensions do not compare, and in the dual the default one is the number of rows [2].
        """
        model = settle(self.estimator_)
        params = model.get_params(deep=False)
        if "noise_dim" in params and params["noise_dim"] is None and params.get("approximation") is None:
            model.set_params(noise_dim=round(total_weight))
        return model

    def _rows(self, table: Array) -> Array:
        return table if self._units is None else self._units.into(table)

    def _scores(self, table: Array) -> Array:
        """Each row by a model that has not seen it."""
        return self._by_fold(table, self._scored_without)

    def _by_fold(self, table: Array, score: Callable[[int, Array], Array]) -> Array:
        """Rows scored together with those that no model of their fold has seen."""
        rows = self._rows(table)
        fold = self._fold_of(row_hashes(rows))
        scores = np.empty(len(table))
        for held in np.unique(fold):
            mine = fold == held
            scores[mine] = score(int(held), rows[mine])
        return scores

    def _model_without(self, held: int) -> Any:
        """The model without a fold; that of all rows for -1."""
        return self.estimator_ if held < 0 else self._fold_models[held]

    def _fold_of(self, hashes: Array) -> Array:
        """The fold of training rows; -1 for others, and where there are no folds."""
        if not self._fold_models:
            return np.full(len(hashes), -1)
        place = np.searchsorted(self._hashes, hashes).clip(max=len(self._hashes) - 1)
        return np.where(self._hashes[place] == hashes, self._folds[place], -1)

    def _scored_without(self, held: int, rows: Array) -> Array:
        """Rows by the models without a fold; by those of all rows for -1."""
        model = self._model_without(held)
        scores = -model.residual(rows) if self._by_residual or _is_noise_free(model) else model.score_samples(rows)
        scores = np.asarray(scores, dtype=np.float64)
        return scores if self._usual is None else scores + self._usual.scores(held, _without_holes(model, rows))

    @finite_answers
    def score_samples(self, X: Table) -> Array:
        """How usual each row is, by models that have not seen it: larger is more normal [2, 10].

        The log-likelihood, or minus the squared distance to the subspace where the model has no noise. Where no estimator was given, that of PPCA
        and, in its units, that of a kernel model of usual rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentOutlierDetector, PPCA
        >>> X = load_iris().data
        >>> model = LatentOutlierDetector(PPCA(n_components=2), contamination=0.1).fit(X)
        >>> bool(model.score_samples(X[:1]) > model.score_samples(X[:1] + 5.0))
        True
        """
        check_is_fitted(self)
        table = self._check(X, reset=False)
        return self._scores(table).astype(float_dtype(table), copy=False)

    @finite_answers
    def decision_function(self, X: Table) -> Array:
        """``score_samples - offset_``: negative for outliers [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentOutlierDetector, PPCA
        >>> X = load_iris().data
        >>> model = LatentOutlierDetector(PPCA(n_components=2), contamination=0.1).fit(X)
        >>> bool(((model.decision_function(X) < 0) == (model.predict(X) == -1)).all())
        True
        """
        check_is_fitted(self)
        return self._scores(self._check(X, reset=False)) - self.offset_

    @finite_answers
    def predict(self, X: Table) -> Array:
        """+1 for inliers, -1 for outliers [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            +1 or -1.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentOutlierDetector, PPCA
        >>> X = load_iris().data
        >>> model = LatentOutlierDetector(PPCA(n_components=2), contamination=0.1).fit(X)
        >>> model.predict(X[:1] + 5.0)
        array([-1])
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    @available_if(_inner_has("anomaly"))
    @finite_answers
    def anomaly(self, X: Table, level: float = 0.99) -> Any:
        """T², SPE and column contributions of the model of all rows [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        level : float in (0, 1), default=0.99
            The share of new rows that the limits let pass.

        Returns
        -------
        Anomaly
            With ``.t2``, ``.spe``, their p-values and limits, ``.contributions`` and ``.flags``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentOutlierDetector, PPCA
        >>> X = load_iris().data
        >>> model = LatentOutlierDetector(PPCA(n_components=2), contamination=0.1).fit(X)
        >>> model.anomaly(X[:2] + 5.0).flags.tolist()
        [True, True]
        """
        check_is_fitted(self)
        found = self.estimator_.anomaly(self._rows(self._check(X, reset=False)), level=level)
        names = self._feature_names
        return found if names is None else replace(found, columns=tuple(map(str, names)))


def _enough(table: Array, usual: Array, fold: Array, parts: range) -> bool:
    """Whether the usual rows outside each fold are two at least, and show every column."""
    kept = [table[usual & (fold != held)] for held in parts] or [table[usual]]
    return all(len(rows) > 1 and not np.isnan(rows).all(axis=0).any() for rows in kept)


def _fit_near(model: Any, rows: Array, sample_weight: Weights, near: Any = None) -> Any:
    """The model fitted to rows; where they have holes EM begins at a model that is ``near``, of other rows of the same table, and still ends at its own maximum."""
    if isinstance(near, PPCA) and isinstance(model, PPCA) and model.robust is False and has_nan(rows):
        begin = MissingFit(near._model.subspace.mean, near._loadings, near._column_noise, [], 0, True)
        return model._fit(rows, sample_weight, begin)
    return model.fit(rows) if sample_weight is None else model.fit(rows, sample_weight=sample_weight)


def _is_noise_free(model: Any) -> bool:
    return bool(getattr(model, "noise_variance_", 1.0) == 0.0)


def _asks_the_same(model: Any, known: Any) -> bool:
    """Whether a fitted model is what a fit of ``model`` would give."""
    ours, theirs = (
        {k: v for k, v in m.get_params().items() if k not in ("random_state", "verbose")} for m in (model, known)
    )
    return type(model) is type(known) and ours == theirs


def _without_holes(model: Any, rows: Array) -> Array:
    return np.asarray(model.impute(rows)) if has_nan(rows) else rows
