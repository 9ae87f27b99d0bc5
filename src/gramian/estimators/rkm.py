"""RKMRegressor and RKMClassifier: a target as one more, linear, view of the multi-view machine [8]."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted, column_or_1d

from gramian._arrays import Array, float_dtype
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    check_table,
    check_tolerance,
    check_weights,
)
from gramian._progress import Progress
from gramian.estimators._base import BaseEstimator, atomic, chosen_solver, forget
from gramian.estimators._view_specs import (
    ALGORITHMS,
    SOLVER_NAMES,
    choose_space,
    training_view,
    weights_of_views,
)
from gramian.kernels import Precomputed
from gramian.latent.dimension import check_n_components
from gramian.latent.gaussian import Posterior
from gramian.latent.target import TargetModel
from gramian.latent.target_fit import fit_target
from gramian.latent.target_folds import dealt_folds
from gramian.latent.views import ExplicitView, ViewTable
from gramian.solvers import as_solver
from gramian.solvers.stiefel import Stiefel

NAMES = ["X", "y"]


class TargetEstimator(BaseEstimator):
    """What the regressor and the classifier share: two views, the inputs and the target."""

    _fit: TargetModel

    def __init__(
        self,
        n_components: Any = 0.95,
        *,
        kernel: Any = "rbf",
        noise_variance: Any = "per-view",
        view_weights: Any = "balanced",
        standardize: bool = True,
        n_folds: Any = 5,
        space: str = "auto",
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.view_weights = view_weights
        self.standardize = standardize
        self.n_folds = n_folds
        self.space = space
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        tags.target_tags.required = True
        return tags

    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _check_params(self) -> None:
        check_n_components(self.n_components, rules=())
        if isinstance(self.noise_variance, str):
            check_choice("noise_variance", self.noise_variance, ("ml", "per-view"))
        else:
            check_number("noise_variance", self.noise_variance, 0.0)
        check_flag("standardize", self.standardize)
        if self.n_folds is not None:
            check_count("n_folds", self.n_folds, 2)
        check_choice("space", self.space, ("auto", "primal", "dual"))
        if isinstance(self.solver, str):
            check_choice("solver", self.solver, SOLVER_NAMES)
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)

    # ------------------------------------------------------------ fitting

    def _fit_views(self, X: Array, Y: Array, raw_weights: Array) -> None:
        """Fit inputs and target together; rows of zero weight are gone already."""
        weights = raw_weights / raw_weights.sum()
        inputs = self._standardized(X, weights)
        view = training_view(self.kernel, inputs, raw_weights)
        table = ViewTable((view, ExplicitView(Y)), weights, float(raw_weights.sum()))
        space, reason = choose_space(self.space, table, NAMES)
        solver = as_solver(self.solver, tol=self.tol, max_iter=self.max_iter, random_state=0)
        q = check_n_components(self.n_components, rules=())
        self.solver_, _ = chosen_solver(solver, table.views[0].n_rows if space == "dual" else sum(table.widths), q)
        self.algorithm_ = ALGORITHMS[space, isinstance(self.solver_, Stiefel)]
        self._reason = reason
        folds = None if self.n_folds is None else dealt_folds(inputs, self.n_folds)
        with Progress("ECM", verbose=self.verbose) as bar:
            self._fit = fit_target(
                table,
                q,
                self.solver_,
                space,
                noise_variance=self.noise_variance,
                view_weights=weights_of_views(self.view_weights, table, NAMES),
                folds=folds,
                tol=float(np.sqrt(self.tol)),
                progress=bar,
            )
        self._store_fit(Y, weights)

    def _store_fit(self, Y: Array, weights: Array) -> None:
        fit = self._fit
        self.n_components_ = fit.gaussian.n_components
        self.noise_variances_ = fit.noise_variances
        self.explained_variance_ = fit.gaussian.eigenvalues
        trace = fit.model.spectrum.trace
        self.explained_variance_ratio_ = fit.gaussian.eigenvalues / (trace if trace > 0 else 1.0)
        self.n_iter_ = max(1, fit.n_iter)
        self.trust_ = fit.model.subspace.parts[0].trust
        self.held_out_error_ = None if fit.held_out is None else fit.held_out.error

    def _standardized(self, X: Array, weights: Array) -> Array:
        """Columns of mean 0 and variance 1, constant ones left at 0: so that a kernel's one width suits all of them."""
        self._shift, self._scale = None, None
        if not self.standardize or self._precomputed():
            return X
        values = np.asarray(X, dtype=np.float64)
        shift = values[0] + weights @ (values - values[0])
        variance = weights @ np.square(values - shift)
        size = np.abs(values).max(axis=0, initial=0.0)
        constant = variance <= (64 * np.finfo(float).eps * size) ** 2
        self._shift = shift
        self._scale = np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variance)))
        return self._inputs(X)

    def _inputs(self, X: Array) -> Array:
        if self._shift is None:
            return X
        return (np.asarray(X, dtype=np.float64) - self._shift) / self._scale

    # ------------------------------------------------------------ evaluation

    def _posterior(self, X: Any) -> tuple[Posterior, Any]:
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        seen = self._fit.model.subspace.project([self._inputs(X), None])
        return self._fit.posterior(seen), float_dtype(X)

    def latents(self, X: Any) -> Array:
        """The posterior mean E[z | x] of the latents that inputs and target share [8]."""
        posterior, dtype = self._posterior(X)
        return posterior.mean.astype(dtype, copy=False)

    def explain(self) -> str:
        """Which of AC's four algorithms was run and why, and what held-out rows said."""
        check_is_fitted(self)
        error = (
            "nothing was held out"
            if self.held_out_error_ is None
            else f"held-out error {self.held_out_error_:.3g} of the variance"
        )
        return f"{self.algorithm_}: {self._reason}. {self.n_components_} components, {error}."


class RKMRegressor(RegressorMixin, TargetEstimator):
    """Regression by a restricted kernel machine: inputs (kernel) and target (linear) are two views of one latent [8].

    With a noise level for each view the prediction is that of a latent Gaussian. Cross-validation inside `fit` says how far
    new inputs can be trusted and how large residuals are, so that ``mean ± 1.645 std`` covers about 90 % of new targets.

    Parameters
    ----------
    n_components : int, float or None, default=0.95
        Latent dimension. A fraction in (0, 1) takes the fewest components that explain it of the weighted variance of both
        views, and more where that lowers the held-out error by more than 1 %. None: above the noise if that is a number,
        else 0.95.
    kernel : kernel, name, callable or feature map, default="rbf"
        For the inputs; "rbf" takes the median distance as its width.
    noise_variance : "per-view", "ml" or float, default="per-view"
        0 is AC's model.
    view_weights : "balanced", None or two numbers, default="balanced"
    standardize : bool, default=True
        Scale every input column to unit variance first.
    n_folds : int or None, default=5
        Folds of the cross-validation; None holds nothing out, and the training noise is then optimistic.
    space, solver, tol, max_iter, random_state, verbose
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RKMRegressor:
        """Fit to inputs and targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        RKMRegressor
        """
        self._check_params()
        forget(self)
        if y is None:
            raise ValueError("RKMRegressor requires y to be passed, but the target y is None.")
        X = check_table(self, X, reset=True, min_samples=2)
        y = _check_y(y, multi_output=True, y_numeric=True, estimator=self)
        check_consistent_length(X, y)
        weights = check_weights(sample_weight, X)
        kept = np.flatnonzero(weights > 0)
        X, y, weights = _rows(X, kept, self._precomputed()), np.asarray(y, dtype=np.float64)[kept], weights[kept]
        self._single = y.ndim == 1
        Y = y[:, None] if self._single else y
        self._fit_views(X, Y, weights)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """E[y | x], with the predictive standard deviation if asked.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets), or (mean, std)
        """
        posterior, dtype = self._posterior(X)
        mean = self._fit.decode(posterior.mean).astype(dtype, copy=False)
        if not return_std:
            return mean[:, 0] if self._single else mean
        std = self._fit.deviations(posterior).astype(dtype, copy=False)
        return (mean[:, 0], std[:, 0]) if self._single else (mean, std)

    def interval(self, X: Any, level: float = 0.9) -> tuple[Array, Array]:
        """The ends of the central predictive intervals."""
        check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
        mean, std = self.predict(X, return_std=True)
        half = float(ndtri(0.5 + level / 2)) * std
        return mean - half, mean + half


class RKMClassifier(ClassifierMixin, TargetEstimator):
    """Classification by a restricted kernel machine: the second view is the class, one column each [8].

    The predicted column is the class. Under a Gaussian of variance τ around the prediction the probability of class c is
    proportional to exp(ŷ_c/τ); τ is chosen on held-out rows.

    Parameters
    ----------
    n_components, kernel, noise_variance, view_weights, standardize, n_folds, space, solver, tol, max_iter, random_state, verbose
        As in :class:`RKMRegressor`.

    Attributes
    ----------
    classes_ : ndarray
    temperature_ : float
        τ.
    n_components_, noise_variances_, held_out_error_, trust_
        As in :class:`RKMRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import RKMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RKMClassifier().fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RKMClassifier:
        """Fit to inputs and class labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        RKMClassifier
        """
        self._check_params()
        forget(self)
        if y is None:
            raise ValueError("RKMClassifier requires y to be passed, but the target y is None.")
        X = check_table(self, X, reset=True, min_samples=2)
        y = column_or_1d(_check_y(y, y_numeric=False, estimator=self), warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        weights = check_weights(sample_weight, X)
        kept = np.flatnonzero(weights > 0)
        X, y, weights = _rows(X, kept, self._precomputed()), y[kept], weights[kept]
        self.classes_, labels = np.unique(y, return_inverse=True)
        Y = np.eye(len(self.classes_))[labels]
        self._fit_views(X, Y, weights)
        checked = self._fit.held_out
        self.temperature_ = 1.0
        if checked is not None:
            self.temperature_ = best_temperature(checked.predictions, labels, weights)
        elif len(self.classes_) > 1:
            self.temperature_ = max(float(np.square(self._fit.std).mean()), 1e-3)
        return self

    def _scores(self, X: Any) -> tuple[Array, Any]:
        posterior, dtype = self._posterior(X)
        return self._fit.decode(posterior.mean), dtype

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        best = self._scores(X)[0].argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, one column a class in the order of ``classes_``; rows sum to 1."""
        scores, dtype = self._scores(X)
        return softmax(scores / self.temperature_).astype(dtype, copy=False)


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


def _rows(X: Any, kept: Array, precomputed: bool) -> Any:
    if len(kept) == X.shape[0]:
        return X
    return X[np.ix_(kept, kept)] if precomputed else X[kept]
