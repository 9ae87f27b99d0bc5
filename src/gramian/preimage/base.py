"""PreImage: from a point Φγ of feature space back to an input, whichever way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype, is_sparse, row_chunks
from gramian._types import Points
from gramian.kernels import Constant, Linear, Polynomial, Scaled, Sum, as_kernel
from gramian.kernels.base import Kernel
from gramian.policy import SIZES


@dataclass(frozen=True)
class PreImageInfo:
    """What a pre-image method reports, one entry per point.

    ``converged`` is False where an iteration did not settle; ``fallback`` is True where the method had nothing to say
    and a simpler one answered; ``n_iter`` counts steps, 1 for closed forms.
    """

    converged: Array
    n_iter: Array
    fallback: Array

    @classmethod
    def closed_form(cls, n_points: int) -> PreImageInfo:
        """The report of a method that always succeeds in one step [4].

        Parameters
        ----------
        n_points : int
            How many feature points.

        Returns
        -------
        PreImageInfo

        Examples
        --------
        >>> from gramian.preimage import PreImageInfo
        >>> PreImageInfo.closed_form(2).converged
        array([ True,  True])
        """
        return cls(np.ones(n_points, dtype=bool), np.ones(n_points, dtype=np.int64), np.zeros(n_points, dtype=bool))

    def replaced(self, where: Array, by: PreImageInfo) -> PreImageInfo:
        """The report in which the points ``where`` have been answered anew [4].

        Parameters
        ----------
        where : ndarray of bool of shape (n_points,)
        by : PreImageInfo
            The report of these points.

        Returns
        -------
        PreImageInfo

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.preimage import PreImageInfo
        >>> again = PreImageInfo(np.array([False]), np.array([7]), np.array([True]))
        >>> PreImageInfo.closed_form(2).replaced(np.array([False, True]), again).n_iter
        array([1, 7])
        """
        made = PreImageInfo(self.converged.copy(), self.n_iter.copy(), self.fallback.copy())
        made.converged[where], made.n_iter[where], made.fallback[where] = by.converged, by.n_iter, by.fallback
        return made

    @classmethod
    def joined(cls, parts: Sequence[PreImageInfo]) -> PreImageInfo:
        """One report of consecutive points from those of their chunks [4].

        Parameters
        ----------
        parts : sequence of PreImageInfo
            Reports of consecutive chunks.

        Returns
        -------
        PreImageInfo

        Examples
        --------
        >>> from gramian.preimage import PreImageInfo
        >>> PreImageInfo.joined([PreImageInfo.closed_form(2), PreImageInfo.closed_form(1)]).n_iter
        array([1, 1, 1])
        """
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


class PreImage(BaseEstimator):
    """What every pre-image offers; a new one overrides :meth:`invert` (and :meth:`prepare` where it learns something).

    A feature point is φ = Φγ, known by its ``weights`` γ over the fitted rows and its ``kernel_values`` k = K₀γ,
    uncentred and exact [3, 4]. For kernels whose feature map is the identity (linear ones) every method answers
    x = Σᵢ γᵢxᵢ, which is exact; for all others the answer stays in the box that the fitted rows span, however far φ is.
    """

    needs_gram = False
    """Whether `fit` needs K₀; if not it may be None."""

    exact_on_linear = True
    """Whether a linear kernel gives Σᵢ γᵢxᵢ; held by the pre-image contract, as is the next."""

    scores_: Annotated[Any, "maybe n *"]
    reproduces_training = False
    """Whether φ(xᵢ) of a fitted row gives xᵢ back."""

    prepared: tuple[str, ...] = ()
    """The attributes that :meth:`prepare` sets, and no kernel of linear features needs."""

    X_: Annotated[Any, "n d"]
    row_weights_: Annotated[Array | None, "maybe + n"]
    kernel_: Annotated[Kernel, "Kernel"]
    linear_: Annotated[bool, ""]
    lower_: Annotated[Array, "d"]
    upper_: Annotated[Array, "d"]

    def _wrong_state(self) -> str | None:
        """What a model file may not leave out."""
        state = vars(self)
        if "X_" not in state or state.get("linear_"):
            return None
        return next((f"{name} is missing" for name in self.prepared if name not in state), None)

    def fit(
        self,
        X: Points,
        K0: Array | None = None,
        *,
        kernel: Kernel,
        scores: Array | None = None,
        sample_weight: Array | None = None,
    ) -> PreImage:
        """Learn from the rows X, their Gram matrix K₀ and their scores t; ``kernel`` is resolved [4].

        Models hand over distinct rows; ``sample_weight`` says how often each occurs, to methods that ask.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Training rows.
        K0 : array-like of shape (m, m), optional
            Their Gram matrix; needed where ``needs_gram``.
        kernel : Kernel
            Resolved.
        scores : ndarray of shape (m, q), optional
            Their principal scores.
        sample_weight : ndarray of shape (m,), optional
            How often each row occurs.

        Returns
        -------
        PreImage
            Itself.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> from gramian.preimage import KernelSmoother
        >>> kernel = RBF(2.0)
        >>> K0 = kernel(X)
        >>> method = KernelSmoother(n_neighbors=3).fit(X, K0, kernel=kernel)
        >>> method.X_.shape
        (12, 3)
        """
        self.X_ = X
        self.row_weights_ = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.kernel_ = as_kernel(kernel)
        self.linear_ = has_identity_features(self.kernel_)
        self.lower_, self.upper_ = _box(X)
        if not self.linear_:
            self.prepare(K0, scores)
        return self

    def transform(self, weights: Array, kernel_values: Array) -> Array:
        """An input for each feature point: (n, m) weights γ and (n, m) values K₀γ give (n, d) [4].

        Parameters
        ----------
        weights : array-like of shape (n, m)
            γ over the fitted rows, one feature point per row.
        kernel_values : array-like of shape (n, m)
            k = K₀γ.

        Returns
        -------
        ndarray of shape (n, d)

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> from gramian.preimage import KernelSmoother
        >>> kernel = RBF(2.0)
        >>> K0 = kernel(X)
        >>> method = KernelSmoother(n_neighbors=3).fit(X, K0, kernel=kernel)
        >>> method.transform(np.eye(12)[:2], K0[:2]).shape
        (2, 3)
        """
        return self.transform_with_info(weights, kernel_values)[0]

    def transform_with_info(
        self, weights: Array, kernel_values: Array, scores: Array | None = None
    ) -> tuple[Array, PreImageInfo]:
        """As :meth:`transform`, with what the method has to report [4].

        ``scores`` of the feature points, (n, q), are needed where their weights do not sum to one, as those of noise do not;
        methods that look at scores take them from the weights otherwise.

        Parameters
        ----------
        weights : array-like of shape (n, m)
            γ over the fitted rows, one feature point per row.
        kernel_values : array-like of shape (n, m)
            k = K₀γ.
        scores : ndarray of shape (n, q), optional
            Principal scores of the points.

        Returns
        -------
        rows : ndarray of shape (n, d)
        info : PreImageInfo

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> from gramian.preimage import KernelSmoother
        >>> kernel = RBF(2.0)
        >>> K0 = kernel(X)
        >>> method = KernelSmoother(n_neighbors=3).fit(X, K0, kernel=kernel)
        >>> rows, info = method.transform_with_info(np.eye(12)[:2], K0[:2])
        >>> info.converged
        array([ True,  True])
        """
        check_is_fitted(self, "X_")
        weights, values = self._pair(weights, kernel_values)
        dtype = float_dtype(self.X_)
        if self.linear_:
            return combine(weights, self.X_).astype(dtype), PreImageInfo.closed_form(len(weights))
        found = np.empty((len(weights), self.X_.shape[1]), dtype=dtype)
        reports = [PreImageInfo.closed_form(0)]
        for rows in row_chunks(len(weights), max(1, SIZES.chunk // 8 // max(1, weights.shape[1]))):
            if self.inverts_scores:
                known = self._scores_of(weights[rows]) if scores is None else scores[rows]
                points, report = self.invert_scores(known, values[rows])
            else:
                points, report = self.invert(weights[rows], values[rows])
            found[rows] = np.clip(points, self.lower_, self.upper_)
            reports.append(report)
        return found, PreImageInfo.joined(reports)

    @property
    def inverts_scores(self) -> bool:
        """Whether the method looks at scores: it then overrides :meth:`invert_scores` and keeps ``scores_``."""
        return False

    def _scores_of(self, weights: Array) -> Array:
        """Scores are affine in φ: those of Φγ with weights that sum to one are Σᵢ γᵢtᵢ."""
        return np.asarray(weights @ self.scores_)

    def invert_scores(self, scores: Array, values: Array) -> tuple[Array, PreImageInfo]:
        """As :meth:`invert`, from the scores of the points [4].

        Parameters
        ----------
        scores : ndarray of shape (n, q)
            Principal scores of the feature points.
        values : ndarray of shape (n, m)
            k = K₀γ.

        Returns
        -------
        rows : ndarray of shape (n, d)
        info : PreImageInfo

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> from gramian.preimage import KernelRidge
        >>> kernel = RBF(2.0)
        >>> method = KernelRidge().fit(X, kernel(X), kernel=kernel, scores=X[:, :2])
        >>> method.invert_scores(X[:4, :2], kernel(X)[:4])[0].shape
        (4, 3)
        """
        raise TypeError(f"{type(self).__name__} does not look at scores.")

    def prepare(self, K0: Array | None, scores: Array | None) -> None:
        """Check that the method suits ``kernel_``, and learn what :meth:`invert` needs [4].

        Parameters
        ----------
        K0 : array-like of shape (m, m), or None
            The Gram matrix of the training rows.
        scores : ndarray of shape (m, q), or None
            Their principal scores.

        Returns
        -------
        None

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> from gramian.preimage import KernelSmoother
        >>> kernel = RBF(2.0)
        >>> K0 = kernel(X)
        >>> method = KernelSmoother(n_neighbors=3).fit(X, K0, kernel=kernel)
        >>> method.prepare(K0, None)
        """

    def invert(self, weights: Array, values: Array) -> tuple[Array, PreImageInfo]:
        """Inputs (n, d) and the report for a chunk of feature points, in float64; never NaN [4].

        Parameters
        ----------
        weights : ndarray of shape (n, m)
            γ over the fitted rows.
        values : ndarray of shape (n, m)
            k = K₀γ.

        Returns
        -------
        rows : ndarray of shape (n, d)
        info : PreImageInfo

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> from gramian.preimage import KernelSmoother
        >>> kernel = RBF(2.0)
        >>> K0 = kernel(X)
        >>> method = KernelSmoother(n_neighbors=3).fit(X, K0, kernel=kernel)
        >>> method.invert(np.eye(12)[:2], K0[:2])[0].shape
        (2, 3)
        """
        raise TypeError(f"{type(self).__name__} does not say how to find a pre-image.")

    def squared_error(self, X: Points, weights: Array, kernel_values: Array) -> Array:
        """|φ(x) - Φγ|² = k(x, x) - 2 Σᵢ γᵢ k(x, xᵢ) + γᵀK₀γ: how well the inputs X answer, in feature space [4].

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs that answer the feature points.
        weights : array-like of shape (n, m)
            γ over the fitted rows, one feature point per row.
        kernel_values : array-like of shape (n, m)
            k = K₀γ.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(12, 3))
        >>> from gramian.kernels import RBF
        >>> from gramian.preimage import KernelSmoother
        >>> kernel = RBF(2.0)
        >>> K0 = kernel(X)
        >>> method = KernelSmoother(n_neighbors=3).fit(X, K0, kernel=kernel)
        >>> np.allclose(method.squared_error(X[:2], np.eye(12)[:2], K0[:2]), 0.0)
        True
        """
        check_is_fitted(self, "X_")
        weights, values = self._pair(weights, kernel_values)
        products = np.empty(len(weights))
        for rows in row_chunks(len(weights), max(1, SIZES.chunk // 8 // max(1, weights.shape[1]))):
            products[rows] = np.einsum("nm,nm->n", weights[rows], self.kernel_(X[rows], self.X_))
        errors = self.kernel_.diagonal(X) - 2 * products + feature_norms(weights, values)
        return np.asarray(np.maximum(errors, 0.0))

    def _pair(self, weights: Array, kernel_values: Array) -> tuple[Array, Array]:
        expected = self.X_.shape[0]
        pair = np.asarray(weights, dtype=np.float64), np.asarray(kernel_values, dtype=np.float64)
        for name, given in zip(("weights", "kernel_values"), pair):
            if given.ndim != 2 or given.shape[1] != expected or given.shape[0] != pair[0].shape[0]:
                raise ValueError(
                    f"{name} has shape {given.shape}; one row per point and one column for each of the {expected} fitted "
                    "rows are needed, in both arguments."
                )
            if not np.isfinite(given).all():
                raise ValueError(f"{name} holds NaN or infinity. Feature points need finite weights and kernel values.")
        return pair


def has_identity_features(kernel: Kernel) -> bool:
    """Whether φ(x) is x, times a constant or beside one: then Σᵢ γᵢxᵢ is the nearest input, exactly [4].

    Parameters
    ----------
    kernel : Kernel

    Returns
    -------
    bool

    Examples
    --------
    >>> from gramian.kernels import RBF, Linear
    >>> from gramian.preimage import has_identity_features
    >>> has_identity_features(2.0 * Linear()), has_identity_features(RBF())
    (True, False)
    """
    if isinstance(kernel, Scaled):
        return has_identity_features(kernel.kernel)
    if isinstance(kernel, Sum):
        pair = kernel.k1, kernel.k2
        return any(map(has_identity_features, pair)) and all(
            has_identity_features(part) or isinstance(part, Constant) for part in pair
        )
    return isinstance(kernel, Linear) or (isinstance(kernel, Polynomial) and kernel.degree == 1)


def combine(weights: Array, X: Points) -> Array:
    """Σⱼ wᵢⱼ xⱼ in float64, whatever of the two is sparse."""
    product = weights @ (X if is_sparse(X) else np.asarray(X, dtype=np.float64))
    return product.toarray() if is_sparse(product) else np.asarray(product)


def feature_norms(weights: Array, values: Array) -> Array:
    """|Φγ|² = γᵀK₀γ, one per point."""
    return np.asarray(np.maximum(np.einsum("nm,nm->n", weights, values), 0.0))


def fitted_rows(X: Points, indices: Array) -> Array:
    """The rows of X that ``indices`` (n, k) name, as a dense float64 array (n, k, d)."""
    rows = X[indices.ravel()]
    rows = rows.toarray() if is_sparse(rows) else rows
    return np.asarray(rows, dtype=np.float64).reshape(*indices.shape, X.shape[1])


def _box(X: Points) -> tuple[Array, Array]:
    lower, upper = X.min(axis=0), X.max(axis=0)
    if is_sparse(lower):
        lower, upper = lower.toarray(), upper.toarray()
    return np.asarray(lower, dtype=np.float64).ravel(), np.asarray(upper, dtype=np.float64).ravel()


def data_scale(X: Points) -> float:
    """The root mean squared distance of the rows from their mean; 1 where all rows are the same."""
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    if is_sparse(X):
        total = float(X.multiply(X).sum()) / X.shape[0] - float(mean @ mean)
    else:
        total = sum(float(np.square(X[rows] - mean).sum()) for rows in row_chunks(X.shape[0])) / X.shape[0]
    return float(np.sqrt(max(total, 0.0))) or 1.0
