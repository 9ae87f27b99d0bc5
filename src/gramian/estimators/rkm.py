"""RKMRegressor: a target as one more, linear, view of the multi-view machine [8]."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_y, check_consistent_length

from gramian._arrays import Array
from gramian._checks import check_number, check_table, check_weights, finite_answers, quiet_infinities, refuse_dask
from gramian._types import Batches, Table, Weights
from gramian.rows import ArrayRows, Block, Rows, is_dask, lazily
from gramian.single.answers import atomic, forget, keep_columns
from gramian.single.input_holes import squared_errors
from gramian.targets.estimator import TargetEstimator, rows_kept
from gramian.targets.survey import TargetCoding


class RKMRegressor(RegressorMixin, TargetEstimator):
    """Regression by a restricted kernel machine: inputs (kernel) and target (linear) are two views of one latent [8].

    With a noise level for each view the prediction is that of a latent Gaussian. Cross-validation inside `fit` chooses the kernel and
    says how far new inputs can be trusted and how large residuals are, and where, so that ``mean ± 1.645 std`` covers about 90 % of
    new targets. Off the data the prediction returns to the mean (with a linear kernel, or a sum with one, it goes on along the linear
    part) and the deviation grows to that of the target times the distance from the mean in standard deviations [12].

    Parameters
    ----------
    n_components : int, float or None, default=0.95
        Latent dimension. A fraction in (0, 1) takes the fewest components that explain it of the weighted variance of both
        views, and more where that lowers the held-out error by more than 1 %. None: above the noise if that is a number,
        else 0.95.
    kernel : "auto", kernel, name, callable or feature map, default="auto"
        For the inputs. "auto": linear, a Gaussian of half, one or two median distances, or a sum of both, whichever held-out rows
        prefer; inputs with heavy tails are tried with their far values drawn in, too, and the best kernel with columns (where these are
        standardised) multiplied by how much they matter.
    noise_variance : "per-view", "ml" or float, default="per-view"
        0 is AC's model.
    view_weights : "balanced", None or two numbers, default="balanced"
    standardize : bool or "auto", default="auto"
        Scale every input column to unit variance first. "auto": unless the kernel, or any part of it, has a numeric length scale or
        period, is a callable, a scikit-learn kernel or precomputed.
    approximation : "auto", None, "nystroem", "rff" or feature map, default="auto"
        "auto": the exact kernel up to 2,000 rows, Nystroem landmarks beyond; None: exact.
    n_landmarks : int or None, default=None
        Landmarks (or random features); None: 500.
    n_folds : int, scikit-learn splitter, iterable of (kept, held) positions, or None, default=5
        Folds of the cross-validation; None holds nothing out: the theory's model as fitted, whose training noise is optimistic
        (a kernel left at "auto" is then chosen on 5 folds all the same).
    tol, max_iter, random_state, verbose
        As in :class:`MultiViewRKM`.

    Attributes
    ----------
    n_components_ : int
    noise_variances_ : ndarray of shape (2,)
        Of the inputs' features and of the target.
    held_out_error_ : float or None
        Mean squared error of the cross-validation, over the variance of the target.
    trust_ : float
        By how much the noise of the inputs is divided when predicting.
    selection_ : Selection
        Where the kernel was chosen: candidates, their held-out scores, the chosen one and the reason.
    relevance_ : ndarray of shape (n_features,) or None
        What the standardised columns were multiplied by: the root mean square slope of a regression along each, over the largest. None where
        held-out rows prefer columns that count alike, or the kernel was given.

    References
    ----------
    [8], [10], [12], [13]: docs/theory.md, sections of these numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gramian import RKMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RKMRegressor().fit(X[::2], y[::2])
    >>> mean, std = model.predict(X[1::2], return_std=True)
    >>> round(float((abs(y[1::2] - mean) < 1.645 * std).mean()), 1)
    0.9
    """

    _single: Annotated[bool, ""]

    _local = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    @atomic
    def fit(self, X: Table, y: Any, sample_weight: Weights = None) -> RKMRegressor:
        """Fit to inputs and targets [8, 10].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        RKMRegressor

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from gramian import RKMRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> X, y = X[:80], y[:80]
        >>> model = RKMRegressor(n_components=5, kernel="linear").fit(X, y)
        >>> bool(model.score(X, y) > 0.3)
        True
        """
        self._check_params()
        forget(self)
        if y is None:
            raise ValueError("RKMRegressor requires y to be passed, but the target y is None.")
        if is_dask(X):
            self._forget_law()
            return self._fit_numbers(self._rows_elsewhere(X, y, sample_weight))
        refuse_dask(self, y, sample_weight)
        X = check_table(self, X, reset=True, missing=not self._precomputed(), min_samples=2)
        self._deal(X, y)
        with quiet_infinities():
            y = _check_y(y, multi_output=True, y_numeric=True, estimator=self)
        check_consistent_length(X, y)
        given, targets = X, np.asarray(y, dtype=np.float64)
        X, raw = self._known_inputs(X, check_weights(sample_weight, X))
        kept = np.flatnonzero(raw > 0)
        X, y, weights = rows_kept(X, kept, self._precomputed()), targets[kept], raw[kept]
        self._single = y.ndim == 1
        held = ArrayRows(X, weights, y)
        self._fit_rows(held, TargetCoding(), held)
        self._settle_answers(given, targets, raw, squared_errors)
        del self._dealt
        return self

    @atomic
    def fit_batches(self, source: Batches) -> RKMRegressor:
        """Fit on all rows of batches, out of core, with a linear kernel or an approximation; equal to `fit` on the concatenated rows [8, 13].

        Parameters
        ----------
        source : list, other iterable that can be read again, or function that opens an iterator
            A batch is (X, y) or (X, y, sample_weight), with X an array, a frame or an Arrow batch.

        Returns
        -------
        RKMRegressor

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from gramian import RKMRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = RKMRegressor(kernel="linear")
        >>> batched = model.fit_batches([(X[:50], y[:50]), (X[50:], y[50:])]).predict(X)
        >>> np.allclose(batched, model.fit(X, y).predict(X))
        True
        """
        self._check_params()
        forget(self)
        self._forget_law()
        return self._fit_numbers(self._batches(source))

    def _fit_numbers(self, rows: Rows) -> RKMRegressor:
        """Rows that are only summed over."""
        keep_columns(self, rows)
        self._single = max(rows.map(_target_ndim)) == 1
        self._fit_rows(rows, TargetCoding())
        return self

    @lazily
    def predict(self, X: Table, return_std: bool = False) -> Any:
        """E[y | x], with the predictive standard deviation if asked [8, 12].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        return_std : bool, default=False
            Also return the predictive standard deviations; 1.645 of them cover 90 %.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets), or (mean, std)

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from gramian import RKMRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> X, y = X[:80], y[:80]
        >>> model = RKMRegressor(n_components=5, kernel="linear").fit(X, y)
        >>> mean, std = model.predict(X, return_std=True)
        >>> mean.shape, std.shape
        ((80,), (80,))
        """
        mean, std = self._answered(X, lambda inputs: self._fit.law([inputs]))
        if self._single:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean

    @finite_answers
    def interval(self, X: Table, level: float = 0.9) -> tuple[Array, Array]:
        """The ends of the central predictive intervals [12].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        level : float in (0, 1), default=0.9
            The share of new targets that the interval should hold.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,) or (n_samples, n_targets)

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from gramian import RKMRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> X, y = X[:80], y[:80]
        >>> model = RKMRegressor(n_components=5, kernel="linear").fit(X, y)
        >>> lower, upper = model.interval(X)
        >>> bool((lower < upper).all())
        True
        """
        check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
        mean, std = self.predict(X, return_std=True)
        return self._fit.interval(mean, std, level)


def _target_ndim(block: Block) -> int:
    """1: one number per row; 2: several."""
    return int(np.asarray(block.target).ndim)
