"""FeatureMap: an explicit φ(x), so that kernel models run in primal coordinates."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_table, check_weights
from gramian._types import Points, Weights
from gramian.policy import LOOK

DRAWN_ROWS = LOOK.gram
"""Rows that settle a kernel's length scale; landmarks may need more."""


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What every feature map offers: ``fit(X)``, ``transform(X)`` of shape (n, ``dim``), an inverse where one exists.

    A new one writes ``_fit(X, weights)``, ``_features(X)`` and ``dim``; checks of the rows are made here.
    """

    accepts_sparse: Any = False
    """Whether SciPy sparse rows may be given."""

    size_parameter: str | None = None
    """The parameter that says how many landmarks or features a map ``(kernel, ...)`` takes: it can then approximate a kernel by name."""

    invertible: Any = False
    """Whether ``inverse_transform`` gives back the rows."""

    def fit(self, X: Points, y: object = None, sample_weight: Weights = None) -> Any:
        """Settle what depends on the rows of X; rows of zero weight do not count [1].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        FeatureMap
            Itself.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.features import Polynomial
        >>> Polynomial(2).fit(X).dim
        10
        """
        before = self.__dict__.copy()
        try:
            X = check_table(self, X, reset=True, accept_sparse=self.accepts_sparse)
            self._fit(_as_csr(X), check_weights(sample_weight, X))
        except BaseException:
            self.__dict__ = before  # a failed fit leaves the map as it was
            raise
        return self

    def fit_drawn(self, rows: Any) -> Any:
        """As `fit`, on rows that were drawn already [13].

        Parameters
        ----------
        rows : array of shape (n_rows, n_features)
            The at most ``n_drawn`` distinct rows of smallest hash, in that order.

        Returns
        -------
        FeatureMap

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.features import Nystroem
        >>> from gramian.kernels import RBF
        >>> rows = np.arange(6.0).reshape(3, 2)
        >>> Nystroem(RBF(1.0), n_landmarks=2).fit_drawn(rows).landmarks_.tolist()
        [[0.0, 1.0], [2.0, 3.0]]
        """
        return self.fit(rows)

    @property
    def n_drawn(self) -> int | None:
        """How many distinct rows of smallest hash `fit` depends on; None: it must see all rows."""
        return None

    def transform(self, X: Points) -> Array:
        """φ(xᵢ), shape (n, dim), in the dtype of X [1].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, dim)

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.features import Identity
        >>> np.allclose(Identity().fit(X).transform(X), X)
        True
        """
        check_is_fitted(self)
        X = check_table(self, X, reset=False, accept_sparse=self.accepts_sparse)
        return self._features(_as_csr(X)).astype(X.dtype, copy=False)

    @property
    def dim(self) -> int:
        """The number of features."""
        raise TypeError(f"{type(self).__name__} does not say how many features it makes.")

    @property
    def _n_features_out(self) -> int:
        return self.dim

    def _fit(self, X: Points, weights: Array) -> None:
        raise TypeError(f"{type(self).__name__} does not say how to fit itself.")

    def _features(self, X: Points) -> Array:
        raise TypeError(f"{type(self).__name__} does not say how to transform rows.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self.accepts_sparse)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _as_csr(X: Points) -> Any:
    return X.tocsr() if hasattr(X, "tocsr") else X
