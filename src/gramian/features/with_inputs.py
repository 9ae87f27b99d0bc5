"""The inputs beside the Nystroem features of a kernel: straight and curved at once, and back to inputs by reading them off."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_table
from gramian._content import SmallestRows
from gramian._types import Points
from gramian.features.base import FeatureMap
from gramian.features.nystroem import Nystroem
from gramian.kernels.base import Kernel


class WithInputs(FeatureMap):
    """φ(x) = [x / s, L^-½ Vᵀ k_m(x)]: the features of the kernel xᵀy / s² + k(x, y), with s² the variance of the rows.

    A view behind it is predicted in its own units, linearly, and says what it says of other views by straight lines and by curves.

    Parameters
    ----------
    kernel : kernel object, name, function or scikit-learn GP kernel, default="rbf"
        The curved part; "median" is settled on the rows given to `fit`.
    n_landmarks : int, default=100
        Of the curved part, drawn by content, as in `Nystroem`.

    Attributes
    ----------
    curves_ : Nystroem
        The map of the curved part.
    unit_ : float
        s, the root of the summed variances of the columns, over the rows drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import WithInputs
    >>> from gramian.kernels import RBF
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> features = WithInputs(RBF(1.0), n_landmarks=10).fit(X)
    >>> np.allclose(features.inverse_transform(features.transform(X)), X)
    True
    """

    invertible: Any = True
    curves_: Annotated[Nystroem, ""]
    unit_: Annotated[float, "positive"]
    n_features_in_: Annotated[int, "count"]

    def __init__(self, kernel: Kernel | str = "rbf", n_landmarks: int = 100) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks

    @property
    def n_drawn(self) -> int:
        return self._curved().n_drawn

    @property
    def landmarks_(self) -> Array:
        """Rows that the curves are seen from."""
        return np.asarray(self.curves_.landmarks_)

    @property
    def dim(self) -> int:
        check_is_fitted(self)
        return int(self.n_features_in_) + self.curves_.dim

    def inverse_transform(self, F: Any) -> Array:
        """The inputs that features hold, s times their first part [4].

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
        >>> from gramian.features import WithInputs
        >>> WithInputs(n_landmarks=5).fit(X).inverse_transform(np.zeros((2, 8))).shape
        (2, 3)
        """
        check_is_fitted(self)
        F = check_table(None, F, reset=False, name="F")
        if F.shape[1] != self.dim:
            raise ValueError(
                f"F has {F.shape[1]} columns, but WithInputs made {self.dim} features. Give rows of features."
            )
        return np.asarray(F[:, : self.n_features_in_] * self.unit_, dtype=F.dtype)

    def _curved(self) -> Nystroem:
        return Nystroem(self.kernel, self.n_landmarks)

    def _fit(self, X: Points, weights: Array) -> None:
        curved = self._curved()
        drawn = SmallestRows.of(X, weights, curved.n_drawn).rows
        self.curves_ = curved.fit_drawn(drawn)
        self.unit_ = float(np.sqrt(np.var(drawn, axis=0, dtype=np.float64).sum())) or 1.0

    def _features(self, X: Points) -> Array:
        return np.hstack([X / self.unit_, self.curves_.transform(X)])
