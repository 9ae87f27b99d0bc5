"""RKMClassifier: the class of a row as one more, linear, view of the multi-view machine [8]."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_y, check_consistent_length, column_or_1d

from gramian._arrays import Array
from gramian._checks import check_labels, check_table, check_weights, quiet_infinities, refuse_dask
from gramian._types import Batches, Table, Weights
from gramian.rows import ArrayRows, Rows, is_dask, lazily
from gramian.single.answers import atomic, forget, keep_columns
from gramian.single.input_holes import label_losses
from gramian.targets.estimator import TargetEstimator, rows_kept
from gramian.targets.survey import TargetCoding, class_labels


class RKMClassifier(ClassifierMixin, TargetEstimator):
    """Classification by a restricted kernel machine: the second view is the class, one column each [8].

    The predicted column is the class. Under a Gaussian of variance τ around the prediction the probability of class c is
    proportional to exp(ŷ_c/τ); τ is chosen on held-out rows.

    Parameters
    ----------
    n_components, kernel, noise_variance, view_weights, standardize, approximation, n_landmarks, n_folds
        As in :class:`RKMRegressor`.
    tol, max_iter, random_state, verbose
        As in :class:`RKMRegressor`.

    Attributes
    ----------
    classes_ : ndarray
    temperature_ : float
        τ.
    n_components_, noise_variances_, held_out_error_, trust_, selection_
        As in :class:`RKMRegressor`.

    References
    ----------
    [8], [10], [13]: docs/theory.md, sections of these numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import RKMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RKMClassifier().fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    classes_: Annotated[Array, "labels m"]
    temperature_: Annotated[float, "order"]

    @atomic
    def fit(self, X: Table, y: Any, sample_weight: Weights = None) -> RKMClassifier:
        """Fit to inputs and class labels [8, 10].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        RKMClassifier

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import RKMClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RKMClassifier(n_components=2, kernel="linear").fit(X[::3], y[::3])
        >>> model.classes_
        array([0, 1, 2])
        """
        self._check_params()
        forget(self)
        if y is None:
            raise ValueError("RKMClassifier requires y to be passed, but the target y is None.")
        if is_dask(X):
            self._forget_law()
            return self._fit_labels(self._rows_elsewhere(X, y, sample_weight))
        refuse_dask(self, y, sample_weight)
        X = check_table(self, X, reset=True, missing=not self._precomputed(), min_samples=2)
        self._deal(X, y)
        with quiet_infinities():
            y = column_or_1d(_check_y(y, y_numeric=False, estimator=self), warn=True)
        check_consistent_length(X, y)
        check_labels(y)
        given, labels = X, y
        X, raw = self._known_inputs(X, check_weights(sample_weight, X))
        kept = np.flatnonzero(raw > 0)
        X, y, weights = rows_kept(X, kept, self._precomputed()), y[kept], raw[kept]
        held = ArrayRows(X, weights, y)
        self._fit_classes(held, np.unique(y), held)
        self._settle_answers(given, labels, raw, label_losses)
        del self._dealt
        return self

    @atomic
    def fit_batches(self, source: Batches) -> RKMClassifier:
        """Fit on all rows of batches, out of core, with a linear kernel or an approximation; equal to `fit` on the concatenated rows [8, 13].

        Parameters
        ----------
        source : list, other iterable that can be read again, or function that opens an iterator
            A batch is (X, y) or (X, y, sample_weight), with X an array, a frame or an Arrow batch.

        Returns
        -------
        RKMClassifier

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from gramian import RKMClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RKMClassifier(kernel="linear")
        >>> batched = model.fit_batches([(X[:50], y[:50]), (X[50:], y[50:])]).predict_proba(X)
        >>> np.allclose(batched, model.fit(X, y).predict_proba(X))
        True
        """
        self._check_params()
        forget(self)
        self._forget_law()
        return self._fit_labels(self._batches(source))

    def _fit_labels(self, rows: Rows) -> RKMClassifier:
        """Rows that are only summed over: first the labels, then all else."""
        keep_columns(self, rows)
        classes = rows.fold(class_labels).labels
        check_labels(classes)
        self._fit_classes(rows, classes)
        return self

    def _fit_classes(self, rows: Rows, classes: Array, held: ArrayRows | None = None) -> None:
        self.classes_ = classes
        Y, weights, checked = self._fit_rows(rows, TargetCoding(classes), held)
        self.temperature_ = 1.0
        if checked is not None:
            self.temperature_ = best_temperature(checked.predictions, Y.argmax(axis=1), weights)
        elif len(classes) > 1:
            self.temperature_ = max(float(np.square(self._fit.std).mean()), 1e-3)

    def _scores(self, X: Table) -> Array:
        return self._answered(X, lambda inputs: (self._fit.predict([inputs])[0],))[0]

    @lazily
    def predict(self, X: Table) -> Array:
        """The most probable class of each row [8].

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
        >>> from gramian import RKMClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RKMClassifier(n_components=2, kernel="linear").fit(X[::3], y[::3])
        >>> bool((model.predict(X) == y).mean() > 0.8)
        True
        """
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @lazily
    def predict_proba(self, X: Table) -> Array:
        """Class probabilities, one column per class in the order of ``classes_``; rows sum to 1 [8].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import RKMClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RKMClassifier(n_components=2, kernel="linear").fit(X[::3], y[::3])
        >>> model.predict_proba(X[:4]).sum(axis=1).round(6)
        array([1., 1., 1., 1.])
        """
        return softmax(self._scores(X) / self.temperature_)


def softmax(scores: Array) -> Array:
    """exp(s) over its sum, row by row."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def best_temperature(scores: Array, labels: Array, weights: Array) -> float:
    """The τ of the least held-out log-loss, on a grid of a tenth each."""
    candidates = np.geomspace(0.01, 10.0, 73)
    rows = np.arange(len(labels))
    losses = []
    for temperature in candidates:
        scaled = scores / temperature
        top = scaled.max(axis=1)
        log_total = top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))
        losses.append(float(weights @ (log_total - scaled[rows, labels])))
    return float(candidates[int(np.argmin(losses))])
