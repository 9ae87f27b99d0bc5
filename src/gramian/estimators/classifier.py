"""KernelPPCAClassifier: a kernel PPCA model, or a mixture of them, for each class; the one that explains a row best wins."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, check_is_fitted, column_or_1d

from gramian._arrays import Array, float_dtype, row_chunks
from gramian._checks import check_count, check_finite, check_number, check_random_state, check_table, check_weights
from gramian.estimators._base import EVALUATION_ROWS, atomic, forget
from gramian.estimators._class_models import ClassRule, LabelledRows, calibrated_noise, evidence
from gramian.estimators._kernel_fit import (
    distinct_rows,
    is_precomputed,
    resolved_kernel,
    warn_without_structure,
)
from gramian.estimators.classifier_path import check_class_components
from gramian.exceptions import NumericalWarning


class KernelPPCAClassifier(ClassifierMixin, BaseEstimator):
    """Classification by a kernel PPCA model for each class ([ZH] section 4) [7].

    A row goes to the class c with the largest log p(c) - L^_c(x)/2, where -L^_c/2 is the log-density in feature space under the
    class's model; in the limit of vanishing noise, to the class whose principal subspace is nearest. Decision boundaries need
    not be hyperplanes of feature space.

    Parameters
    ----------
    n_components : int, float, None or list of them, default=0.95
        q for each class: a count, or a fraction of the class's own variance. None: the directions above ``noise_variance`` if
        that is a number, else 95 %. A list has one entry for each class, in the order of ``classes_``. A count above a class's
        rank is cut, with a warning.
    kernel : str, Kernel, callable, scikit-learn GP kernel or "precomputed", default="rbf"
        One for all classes, settled on all training rows.
    noise_variance : float or None, default=None
        ρ > 0, the noise of every class. None is the limit ρ → 0: the smallest distance to a principal subspace wins, priors do
        not matter, and `predict_proba` uses a noise that `fit` calibrates by cross-validation.
    priors : array-like of shape (n_classes,) or None, default=None
        p(c), in the order of ``classes_``. None: the (weighted) frequencies. Refused with the limiting rule.
    n_clusters : int, default=1
        Components of the mixture that models each class.
    random_state : None, int, Generator or RandomState
        Used by the starts of mixtures only.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : Kernel
    n_components_ : list of lists of int
        The q of every component of every class.
    class_prior_ : ndarray of shape (n_classes,)
    noise_variance_ : float
        ρ; 0.0 under the limiting rule.
    calibrated_noise_ : float
        Under the limiting rule, the ρ of `predict_proba`.

    Examples
    --------
    >>> from gramian import KernelPPCAClassifier
    >>> from gramian.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = KernelPPCAClassifier(n_components=10).fit(X, y)
    >>> bool(model.score(X, y) > 0.98), model.predict_proba(X[:1]).shape
    (True, (1, 2))
    """

    def __init__(
        self,
        n_components: Any = 0.95,
        *,
        kernel: Any = "rbf",
        noise_variance: float | None = None,
        priors: Any = None,
        n_clusters: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.priors = priors
        self.n_clusters = n_clusters
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelPPCAClassifier:
        """Fit a model to the rows of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or the Gram matrix with ``kernel="precomputed"``
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.
        """
        rule, rng = self._check_params()
        forget(self, "_models", "_mixing", "_columns")
        X = check_table(self, X, reset=True)
        y = self._check_targets(X, y)
        weights = check_weights(sample_weight, X)
        kept = np.flatnonzero(weights > 0)
        self.classes_, codes = np.unique(y[kept], return_inverse=True)
        rows = self._labelled(X, kept, weights[kept], codes)
        rule = rule.for_classes(self.classes_)
        self.kernel_ = rows.kernel
        self.class_prior_ = self._class_priors(np.bincount(rows.codes, weights=rows.weights))
        self.noise_variance_ = rule.noise_variance
        self._models, self._mixing = [], []
        for code in range(len(self.classes_)):
            own = np.flatnonzero(rows.codes == code)
            dual = rows.dual(own)
            warn_without_structure(dual.gram)
            models, mixing = rule.fit(code, dual, rows.weights[own], rng)
            self._models.append(models)
            self._mixing.append(mixing)
        self.n_components_ = [[model.gaussian.n_components for model in models] for models in self._models]
        if self.noise_variance is None:
            self.calibrated_noise_ = calibrated_noise(rows, rule, rng)
        self._warn_cut(rule)
        return self

    def _check_params(self) -> tuple[ClassRule, np.random.Generator]:
        n_components = check_class_components(self.n_components)
        noise = 0.0
        if self.noise_variance is not None:
            noise = check_number("noise_variance", self.noise_variance, 0.0)
            if noise == 0:
                raise ValueError(
                    "noise_variance=0 has no density; a positive number must be given, or None for the limiting rule."
                )
        elif self.priors is not None:
            raise ValueError(
                f"priors={self.priors!r} have no effect under the limiting rule (noise_variance=None), which compares "
                "distances only. Give a positive noise_variance, or leave priors at None."
            )
        rule = ClassRule(n_components, noise, check_count("n_clusters", self.n_clusters, 1))
        return rule, check_random_state(self.random_state)

    def _check_targets(self, X: Array, y: Any) -> Array:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        elif y.dtype.kind == "O" and any(value is None or value != value for value in y):
            raise ValueError("Input y contains NaN or None. Every row needs a label; drop the rows without one.")
        check_consistent_length(X, y)
        check_classification_targets(y)
        return y

    def _labelled(self, X: Array, kept: Array, weights: Array, codes: Array) -> LabelledRows:
        """Training rows in an order of their own, equal rows of a class as one; a Gram matrix is taken as it is."""
        if is_precomputed(self.kernel):
            kernel = resolved_kernel(self.kernel, X)
            self._columns: list[Array] | None = [kept[codes == code] for code in range(len(self.classes_))]
            return LabelledRows(kernel, X[np.ix_(kept, kept)], codes, weights)
        self._columns = None
        rows = X[kept]
        first, _, total = distinct_rows(rows, weights, codes)
        return LabelledRows(resolved_kernel(self.kernel, rows[first]), rows[first], codes[first], total)

    def _class_priors(self, masses: Array) -> Array:
        if self.priors is None:
            return masses / masses.sum()
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != masses.shape or not np.isfinite(priors).all() or (priors < 0).any():
            raise ValueError(
                f"priors={self.priors!r} must be {len(masses)} numbers >= 0, one for each of classes_={self.classes_!r}."
            )
        if not np.isclose(priors.sum(), 1.0, atol=1e-6):
            raise ValueError(
                f"priors={self.priors!r} sum to {priors.sum():g}, but must be probabilities that sum to 1."
            )
        return priors / priors.sum()

    def _warn_cut(self, rule: ClassRule) -> None:
        least = [min(counts) for counts in self.n_components_]
        asked = zip(self.classes_, least, rule.n_components)
        named = [f"{label!s} keeps {q}" for label, q, count in asked if isinstance(count, int) and q < count]
        if named:
            warnings.warn(
                f"n_components={self.n_components} is more than some classes have (their rank, or the directions above "
                f"noise_variance), and is cut: class {', '.join(named[:5])}. Lower n_components, or give a fraction.",
                NumericalWarning,
                stacklevel=4,
            )

    # ------------------------------------------------------------ prediction

    def _joint(self, X: Any) -> tuple[Array, Any]:
        """log p(c) - L^_c/2, or minus the limiting distances, (n, C); and the dtype to answer in."""
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        limiting = self.noise_variance_ == 0
        parts = []
        for rows in row_chunks(X.shape[0], EVALUATION_ROWS):
            views = [X[rows] if self._columns is None else X[rows][:, own] for own in self._own_columns()]
            parts.append(evidence(self._models, self._mixing, views, None, limiting))
        joint = check_finite(np.concatenate(parts), "distances to the classes")
        if not limiting:
            with np.errstate(divide="ignore"):
                joint = joint + np.log(self.class_prior_)
        return joint, float_dtype(X)

    def _own_columns(self) -> list[Any]:
        return [None] * len(self.classes_) if self._columns is None else self._columns

    def predict(self, X: Any) -> Array:
        """The class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or kernel values with the training rows
        """
        joint, _ = self._joint(X)
        return self.classes_[joint.argmax(axis=1)]

    def decision_function(self, X: Any) -> Array:
        """What the rule compares: log p(c) - L^_c/2, or minus the squared distance to the class's subspace.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) with two classes: positive means ``classes_[1]``
        """
        joint, dtype = self._joint(X)
        if len(self.classes_) <= 2:
            joint = joint[:, -1] - joint[:, 0]
        return joint.astype(dtype, copy=False)

    def predict_proba(self, X: Any) -> Array:
        """p(c | x) by Bayes' rule; under the limiting rule, softmax(-distance / 2ρ) with the calibrated ρ [7].

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        joint, dtype = self._joint(X)
        if self.noise_variance_ == 0:
            joint = joint / (2 * self.calibrated_noise_)
        return softmax(joint, axis=1).astype(dtype, copy=False)
