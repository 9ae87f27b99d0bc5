"""A search in the place of its best model: score, tags, and every method that the best model has."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.metrics import get_scorer
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._types import Table
from gramian.tuning.objectives import OBJECTIVES


class BestModel(MetaEstimatorMixin, BaseEstimator):
    """What a search answers by its ``best_estimator_``."""

    estimator: Any
    best_estimator_: Any
    objective_: Any

    def score(self, X: Table, y: object = None) -> float:
        """The objective of the best model on given rows [10].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), views, or a series
        y : array-like, optional

        Returns
        -------
        float
            Larger is better.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import BayesSearch, PPCA
        >>> X = load_iris().data
        >>> search = BayesSearch(PPCA(), {"n_components": (1, 3)}, n_trials=3, cv=2, random_state=0).fit(X)
        >>> bool(search.score(X) == search.best_estimator_.score(X))
        True
        """
        check_is_fitted(self, "best_estimator_")
        objective = self.objective_
        if callable(objective):
            return float(objective(self.best_estimator_, X, y))
        if objective == "score":
            return own_score(self.best_estimator_, X, y)
        if objective in OBJECTIVES:
            return OBJECTIVES[objective](self.best_estimator_, X, y)
        return float(get_scorer(objective)(self.best_estimator_, X, y))

    @property
    def n_features_in_(self) -> int:
        """The number of columns seen in fit."""
        return int(self._of_the_best("n_features_in_"))

    @property
    def classes_(self) -> Array:
        """The classes of the best classifier."""
        return np.asarray(self._of_the_best("classes_"))

    def _of_the_best(self, name: str) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} object has no {name} attribute: it is not fitted.")
        return getattr(self.best_estimator_, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.transformer_tags = inner.transformer_tags
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        tags.non_deterministic = inner.non_deterministic
        return tags


_DELEGATED = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "transform",
    "inverse_transform",
    "get_feature_names_out",
    "scores",
    "posterior",
    "reconstruct",
    "impute",
    "sample",
    "mahalanobis",
    "residual",
    "anomaly",
    "kernel_mean",
    "predict_view",
    "predict_interval",
    "predict_quantiles",
    "sample_paths",
)


def _has(method: str) -> Any:
    """Whether the best model, or before the fit the given one, has the method; raises its own AttributeError if not."""

    def check(search: BestModel) -> bool:
        getattr(search.best_estimator_ if hasattr(search, "best_estimator_") else search.estimator, method)
        return True

    return check


def _delegate(method: str) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, method)(*args, **kwargs)

    call.__name__ = method
    call.__qualname__ = f"BayesSearch.{method}"
    call.__doc__ = f"""``best_estimator_.{method}``; there only where the estimator has it.

        Parameters
        ----------
        *args, **kwargs
            Those of the method of that name of the estimator.

        Returns
        -------
        What that method returns.
        """
    return available_if(_has(method))(call)


def _fit_transform(self: Any, X: Table, y: object = None, **fit_params: Any) -> Any:
    """``fit(X, y).transform(X)``; there only where the estimator has transform [10].

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or views
    y : array-like, optional
    **fit_params : keyword arguments
        As in `fit`.

    Returns
    -------
    ndarray of shape (n_samples, n_components_)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import BayesSearch, PPCA
    >>> X = load_iris().data
    >>> search = BayesSearch(PPCA(), {"n_components": (1, 3)}, n_trials=3, cv=2, random_state=0).fit(X)
    >>> search.fit_transform(X).shape[0]
    150
    """
    return self.fit(X, y, **fit_params).best_estimator_.transform(X)


_fit_transform.__name__ = "fit_transform"
BestModel.fit_transform = available_if(_has("transform"))(_fit_transform)
for _method in _DELEGATED:
    setattr(BestModel, _method, _delegate(_method))


def own_score(model: BaseEstimator, X: Table, y: object) -> float:
    """The model's own score, with or without a target."""
    return float(model.score(X) if y is None else model.score(X, y))
