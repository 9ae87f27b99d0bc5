"""Nystroem features: the kernel seen from a few landmarks."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, row_chunks, symmetric_part
from gramian._checks import check_count, check_seed, check_table
from gramian._content import SmallestRows
from gramian._precision import ROUNDING
from gramian._threads import single_blas_thread, thread_count, thread_map
from gramian._types import DType, Points, RandomState
from gramian.features.base import DRAWN_ROWS, FeatureMap
from gramian.kernels import Precomputed, as_kernel, finite_gram
from gramian.kernels.base import Kernel
from gramian.kernels.gram_checks import warn_of_negative
from gramian.policy import SIZES


class Nystroem(FeatureMap):
    """φ(x) = L^-½ Vᵀ k_m(x), with K_mm = V L Vᵀ of m landmarks: k(x, y) ≈ φ(x)ᵀφ(y), exactly at landmarks.

    Parameters
    ----------
    kernel : kernel object, name, function or scikit-learn GP kernel, default="rbf"
        What is approximated; "median" is settled on the rows given to `fit`.
    n_landmarks : int, default=100
        m: the distinct rows of smallest hash, so that neither order nor repetition of rows matters [13]; all of them when
        there are no more.
    random_state : int, Generator or RandomState, optional
        Not used: rows decide by what they hold. Kept for feature maps to be exchanged for one another.

    Attributes
    ----------
    kernel_ : Kernel
        The resolved kernel.
    landmarks_ : array of shape (m, d)
        Training rows.
    normalization_ : array of shape (m, dim)
        V L^-½, over the directions kept (relative cut 1e-12).
    dim : int
        The number of features: the rank of K_mm.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Nystroem
    >>> from gramian.kernels import RBF
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> features = Nystroem(RBF(1.0), n_landmarks=10, random_state=0).fit(X)
    >>> F = features.transform(X)
    >>> bool(np.abs(F @ F.T - RBF(1.0)(X)).max() < 1e-3)
    True
    """

    landmarks_: Annotated[Any, "m d"]  # sparse where the rows were
    normalization_: Annotated[Array, "m r"]
    n_features_in_: Annotated[int, "=d"]
    kernel_: Annotated[Any, "Kernel"]

    size_parameter = "n_landmarks"

    def __init__(self, kernel: Kernel | str = "rbf", n_landmarks: int = 100, random_state: RandomState = None) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    @property
    def accepts_sparse(self) -> bool:
        return bool(as_kernel(self.kernel).accepts_sparse)

    @property
    def n_drawn(self) -> int:
        return max(check_count("n_landmarks", self.n_landmarks, 1), DRAWN_ROWS)

    @property
    def dim(self) -> int:
        check_is_fitted(self)
        return int(self.normalization_.shape[1])

    @property
    def magnification(self) -> float:
        """k(x, x) / λ_min(K_mm), over the directions kept: what rounding of kernel values is multiplied by in FᵀF."""
        check_is_fitted(self)
        largest = float(np.einsum("ij,ij->j", self.normalization_, self.normalization_).max())
        return largest * float(np.mean(self.kernel_.diagonal(self.landmarks_)))

    def kernel_values(self, X: Points, dtype: DType = np.float64) -> Array:
        """k_m(x), shape (n, m) [3].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        dtype : NumPy dtype
            Of the values: float32 or float64.

        Returns
        -------
        ndarray of shape (n, m)
            m is the number of landmarks.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.features import Nystroem
        >>> from gramian.kernels import RBF
        >>> phi = Nystroem(RBF(2.0), 5).fit(X)
        >>> phi.kernel_values(X).shape
        (12, 5)
        """
        check_is_fitted(self)
        rows, landmarks = slice(0, X.shape[0]), slice(0, self.landmarks_.shape[0])
        return np.asarray(self.kernel_.tiles(X, self.landmarks_, dtype)(rows, landmarks))

    def landmark_weights(self, F: Any) -> Array:
        """γ with Φ_m γ = f for feature points f in the rows of F: γ = V L^-½ f, shape (n, m) [3].

        Parameters
        ----------
        F : array-like of shape (n, dim)
            Features.

        Returns
        -------
        ndarray of shape (n, m)

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.features import Nystroem
        >>> from gramian.kernels import RBF
        >>> phi = Nystroem(RBF(2.0), 5).fit(X)
        >>> phi.landmark_weights(phi.transform(X)).shape
        (12, 5)
        """
        check_is_fitted(self)
        return np.asarray(F) @ self.normalization_.T

    def approximation_error(self, X: Points) -> float:
        """The mean over rows of k(x, x) - |φ(x)|² >= 0: what of the kernel's trace the landmarks do not see [3].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.features import Nystroem
        >>> from gramian.kernels import RBF
        >>> phi = Nystroem(RBF(2.0), 5).fit(X)
        >>> bool(phi.approximation_error(X) >= 0)
        True
        """
        check_is_fitted(self)
        X = check_table(self, X, reset=False, accept_sparse=self.accepts_sparse)
        features = self._features(X)
        residual = self.kernel_.diagonal(X) - np.einsum("ij,ij->i", features, features)
        return float(np.maximum(residual, 0.0).mean())

    def fit_drawn(self, rows: Any) -> Any:
        """As `fit`, with the first of the rows as landmarks."""
        before = self.__dict__.copy()
        try:
            self._settle(check_table(self, rows, reset=True))
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _fit(self, X: Points, weights: Array) -> None:
        self._settle(SmallestRows.of(X, weights, self.n_drawn).rows)

    def _settle(self, drawn: Any) -> None:
        """The kernel from all drawn rows, the landmarks from the first."""
        n_landmarks = check_count("n_landmarks", self.n_landmarks, 1)
        kernel = as_kernel(self.kernel)
        if isinstance(kernel, Precomputed):
            raise ValueError("Nystroem needs inputs to take landmarks from; a precomputed kernel has none.")
        check_seed(self.random_state)
        kernel = kernel.resolve(drawn)
        X = drawn[:n_landmarks]
        # in float64 whatever the rows: L^-½ magnifies rounding a millionfold
        wide = X.astype(np.float64)
        gram = finite_gram(symmetric_part(np.asarray(kernel(wide))), kernel)
        values, vectors = linalg.eigh(gram)
        if not kernel.positive_semidefinite:
            warn_of_negative(values, float(np.trace(gram)), X.dtype)
        keep = values > ROUNDING * max(values[-1], 0.0)
        if not keep.any():
            raise ValueError(f"{kernel!r} is zero (or negative) at all {X.shape[0]} landmarks: there are no features.")
        self.kernel_ = kernel
        self.landmarks_ = X
        self.normalization_ = np.ascontiguousarray(vectors[:, keep][:, ::-1] / np.sqrt(values[keep][::-1]))

    def _features(self, X: Points) -> Array:
        features = np.empty((X.shape[0], self.normalization_.shape[1]))
        tile = self.kernel_.tiles(X, self.landmarks_, np.float64)
        landmarks = slice(0, self.landmarks_.shape[0])

        def fill(rows: slice) -> None:
            np.matmul(finite_gram(tile(rows, landmarks), self.kernel_), self.normalization_, out=features[rows])

        n_threads = thread_count()
        with single_blas_thread():
            thread_map(fill, row_chunks(X.shape[0], SIZES.tile), n_threads)
        return features
