"""LatentImputer fills the holes of a table, with any model that can."""

from __future__ import annotations

from typing import Any

from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_table
from gramian.estimators._base import BaseEstimator, atomic, forget
from gramian.estimators.ppca import PPCA


class LatentImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fills missing entries with their expectation given the observed ones, as a transformer for pipelines [5].

    Parameters
    ----------
    estimator : object with ``fit`` and ``impute``, default=None
        None is ``PPCA(n_components="bic")``; a ``PPCAMixture`` works as well.

    Attributes
    ----------
    estimator_ : the fitted model

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

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LatentImputer:
        """Fit the model to the observed entries of X."""
        forget(self)
        table = check_table(self, X, reset=True, missing=True, min_samples=2)
        model = PPCA(n_components="bic") if self.estimator is None else clone(self.estimator)
        if not hasattr(model, "impute"):
            raise TypeError(
                f"estimator={model!r} cannot impute. Use PPCA, PPCAMixture or another model with impute(X)."
            )
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = model.fit(table, **weight)
        return self

    def transform(self, X: Any) -> Array:
        """The table with its holes filled; observed entries are untouched."""
        check_is_fitted(self)
        return self.estimator_.impute(check_table(self, X, reset=False, missing=True))
