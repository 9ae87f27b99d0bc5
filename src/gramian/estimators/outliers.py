"""LatentOutlierDetector flags rows, with any model that scores them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_number, check_table, check_weights
from gramian.estimators._base import BaseEstimator, atomic, forget
from gramian.estimators.ppca import PPCA


def _inner_has(name: str) -> Any:
    def check(self: Any) -> bool:
        model = getattr(self, "estimator_", None) or self.estimator or PPCA()
        return hasattr(model, name)

    return check


class LatentOutlierDetector(OutlierMixin, BaseEstimator):
    """Flags the rows that a latent model finds least likely.

    Parameters
    ----------
    estimator : object with ``fit`` and ``score_samples``, default=None
        None is ``PPCA()``. Models without noise are scored by minus the squared distance to their subspace.
    contamination : float in (0, 0.5], default=0.01
        The share of training rows beyond the threshold.

    Attributes
    ----------
    estimator_ : the fitted model
    offset_ : float
        The threshold: ``decision_function = score_samples - offset_``.

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

    def __init__(self, estimator: Any = None, contamination: float = 0.01) -> None:
        self.estimator = estimator
        self.contamination = contamination

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = (PPCA() if self.estimator is None else self.estimator).__sklearn_tags__().input_tags
        tags.input_tags.allow_nan = inner.allow_nan
        return tags

    @property
    def _missing(self) -> bool:
        return bool(self.__sklearn_tags__().input_tags.allow_nan)

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LatentOutlierDetector:
        """Fit the model and set the threshold at the ``contamination`` quantile of the training scores."""
        forget(self)
        share = check_number("contamination", self.contamination, 0.0, 0.5, open_low=True)
        table = check_table(self, X, reset=True, missing=self._missing, min_samples=2)
        model = PPCA() if self.estimator is None else clone(self.estimator)
        if not hasattr(model, "score_samples"):
            raise TypeError(f"estimator={model!r} gives no scores. Use a model with score_samples(X).")
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = model.fit(table, **weight)
        weights = check_weights(sample_weight, table)
        self.offset_ = threshold(self._scores(table), weights, share)
        return self

    def _scores(self, table: Array) -> Array:
        if getattr(self.estimator_, "noise_variance_", 1.0) == 0.0:
            return -self.estimator_.residual(table)
        return self.estimator_.score_samples(table)

    def score_samples(self, X: Any) -> Array:
        """The model's log-likelihood of each row (minus the squared residual when it has no noise): larger is more normal."""
        check_is_fitted(self)
        return self._scores(check_table(self, X, reset=False, missing=self._missing))

    def decision_function(self, X: Any) -> Array:
        """``score_samples - offset_``: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Array:
        """+1 for inliers, -1 for outliers."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    @available_if(_inner_has("anomaly"))
    def anomaly(self, X: Any, level: float = 0.99) -> Any:
        """T², SPE and column contributions of the inner model."""
        check_is_fitted(self)
        return self.estimator_.anomaly(X, level=level)


def threshold(scores: Array, weights: Array, share: float) -> float:
    """Halfway between the last score of the lowest ``share`` of the weight and the next: ties fall on one side."""
    values, inverse = np.unique(scores[weights > 0], return_inverse=True)
    below = np.cumsum(np.bincount(inverse, weights[weights > 0]))
    last = int(np.searchsorted(below, share * below[-1] * (1 - 1e-12)))
    return float((values[last] + values[min(last + 1, len(values) - 1)]) / 2)
