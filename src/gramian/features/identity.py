"""The map that leaves rows as they are."""

from __future__ import annotations

from typing import Any

from gramian._arrays import Array
from gramian._checks import check_table
from gramian._types import Points
from gramian.features.base import FeatureMap


class Identity(FeatureMap):
    """φ(x) = x, the feature map of the linear kernel.

    Examples
    --------
    >>> from gramian.features import Identity
    >>> Identity().fit_transform([[1.0, 2.0]])
    array([[1., 2.]])
    """

    invertible: Any = True

    @property
    def n_drawn(self) -> int:
        return 1  # the number of columns is all that counts

    @property
    def dim(self) -> int:
        return int(self.n_features_in_)

    def inverse_transform(self, F: Any) -> Array:
        """x = φ(x) [4].

        Parameters
        ----------
        F : array-like of shape (n, dim)
            Features.

        Returns
        -------
        ndarray of shape (n, d)

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.features import Identity
        >>> Identity().fit(X).inverse_transform(X).shape
        (12, 3)
        """
        return check_table(self, F, reset=False, name="F")

    def _fit(self, X: Points, weights: Array) -> None:
        """Only the number of columns is kept."""

    def _features(self, X: Points) -> Array:
        return X.copy()
