"""What the regressor and the classifier share: inputs and a target, the choices made for them, and the target model they hold [8]."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype
from gramian._checks import (
    check_scale,
    check_table,
    is_real,
)
from gramian._progress import Progress
from gramian.choosing.target_kernel import choose_target_kernel
from gramian.choosing.target_landmarks import landmark_loss
from gramian.estimators._base import BaseEstimator, chosen_solver
from gramian.estimators._target_checks import check_target_params
from gramian.estimators._units import standardizes
from gramian.estimators._view_specs import (
    ALGORITHMS,
    choose_space,
    is_feature_map,
    training_view,
    weights_of_views,
)
from gramian.features import FEATURE_MAPS
from gramian.kernels import Kernel, Linear, Precomputed, as_kernel
from gramian.latent.dimension import check_n_components
from gramian.latent.squash import Squash
from gramian.latent.target import TargetModel
from gramian.latent.target_fit import fit_target
from gramian.latent.target_folds import dealt_folds
from gramian.latent.target_reach import TargetReach
from gramian.latent.units import Units
from gramian.latent.views import ExplicitView, ViewTable
from gramian.solvers import as_solver
from gramian.solvers.stiefel import Stiefel

NAMES = ["X", "y"]
EXACT_ROWS = 2000
"""Up to this many rows approximation="auto" is exact."""
DEFAULT_LANDMARKS = 500
"""Landmarks beyond that, where none are given."""
CHOICE_FOLDS = 5
"""Folds of choices where n_folds is None."""
APPROXIMATIONS = ("auto", "nystroem", "rff")


class TargetEstimator(BaseEstimator):
    """Parameters of models with inputs and a target, and the target model that they hold."""

    _fit: TargetModel
    _shift: Array | None
    _scale: Any
    _squash: Squash | None
    _local = (
        False  # whether the size of errors may depend on the inputs, and predictions return to the mean off the data
    )

    def __init__(
        self,
        n_components: Any = 0.95,
        *,
        kernel: Any = "auto",
        noise_variance: Any = "per-view",
        view_weights: Any = "balanced",
        standardize: Any = "auto",
        approximation: Any = "auto",
        n_landmarks: Any = None,
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
        self.approximation = approximation
        self.n_landmarks = n_landmarks
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
        check_target_params(self, APPROXIMATIONS)

    # ------------------------------------------------------------ fitting

    def _fit_views(self, X: Array, Y: Array, raw_weights: Array) -> None:
        """Fit inputs and target together; rows of zero weight are gone already."""
        weights = raw_weights / raw_weights.sum()
        check_scale(float(np.ptp(np.asarray(X, dtype=np.float64), axis=0).max(initial=0.0)))
        check_scale(float(np.ptp(Y, axis=0).max(initial=0.0)), "y")
        inputs, kernel = self._chosen_inputs(X, Y, raw_weights)
        spec = self._approximated(kernel, inputs, Y, raw_weights)
        view = training_view(spec, inputs, raw_weights)
        table = ViewTable((view, ExplicitView(Y)), weights, float(raw_weights.sum()))
        space, reason = choose_space(self.space, table, NAMES)
        solver = as_solver(self.solver, tol=self.tol, max_iter=self.max_iter, random_state=0)
        q = check_n_components(self.n_components, rules=())
        self.solver_, _ = chosen_solver(solver, table.views[0].n_rows if space == "dual" else sum(table.widths), q)
        self.algorithm_ = ALGORITHMS[space, isinstance(self.solver_, Stiefel)]
        self._reason = reason
        with Progress("ECM", verbose=self.verbose) as bar:
            fitted = fit_target(
                table,
                q,
                self.solver_,
                space,
                noise_variance=self.noise_variance,
                view_weights=weights_of_views(self.view_weights, table, NAMES),
                folds=None if self.n_folds is None else dealt_folds(inputs, self.n_folds),
                local=self._local,
                tol=float(np.sqrt(self.tol)),
                progress=bar,
            )
        reach = None
        if (
            self._local
            and fitted.held_out is not None
            and self.noise_variance == "per-view"
            and not self._precomputed()
        ):
            reach = TargetReach.of(inputs, Y, weights, _forgets(kernel), _width(kernel))
        self._fit = fitted.without_rows(reach)
        self._store_fit()

    def _chosen_inputs(self, X: Array, Y: Array, raw_weights: Array) -> tuple[Array, Any]:
        """The inputs as the model sees them, and the kernel: given, or the one that held-out rows prefer."""
        weights = raw_weights / raw_weights.sum()
        self._squash = None
        inputs = self._standardized(X, weights)
        if not (isinstance(self.kernel, str) and self.kernel == "auto"):
            return inputs, self.kernel
        plain = self._shift, self._scale
        squash = None if self._shift is None else Squash.of(X, weights)
        squashed = None if squash is None else self._standardized(squash(X), weights)
        choice = choose_target_kernel(inputs, Y, raw_weights, self.n_folds or CHOICE_FOLDS, squashed)
        if choice.selection is not None:
            self.selection_ = choice.selection
        if choice.squash and squashed is not None:
            self._squash = squash
            return squashed, choice.kernel
        self._shift, self._scale = plain
        return inputs, choice.kernel

    def _approximated(self, kernel: Any, inputs: Array, Y: Array, raw_weights: Array) -> Any:
        """The kernel itself, or features in its place."""
        self.landmark_loss_ = None
        if is_feature_map(kernel) or self._precomputed():
            if self.approximation not in ("auto", None):
                raise ValueError(
                    f"approximation={self.approximation!r} needs a kernel of inputs, but kernel={self.kernel!r}. "
                    "Leave approximation='auto'."
                )
            return kernel
        if self.approximation is None or isinstance(as_kernel(kernel), Linear):
            return kernel
        if is_feature_map(self.approximation):
            return self.approximation
        n = len(inputs)
        if self.approximation == "auto" and n <= EXACT_ROWS:
            return kernel
        count = min(n, DEFAULT_LANDMARKS if self.n_landmarks is None else self.n_landmarks)
        resolved = as_kernel(kernel).resolve(inputs)
        if self.approximation == "rff":
            return FEATURE_MAPS["rff"](resolved, n_features=count, random_state=self.random_state)
        if self.approximation == "auto":
            self.landmark_loss_ = landmark_loss(resolved, inputs, Y, raw_weights, count, self.n_folds or CHOICE_FOLDS)
        return FEATURE_MAPS["nystroem"](resolved, n_landmarks=count, random_state=self.random_state)

    def _store_fit(self) -> None:
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
        if not standardizes(self.standardize, self.kernel):
            return X
        units = Units.of(X, weights)
        self._shift, self._scale = units.mean, units.scale
        return units.into(X)

    def _inputs(self, X: Array) -> Array:
        """Rows as the model sees them."""
        squash: Squash | None = getattr(self, "_squash", None)  # models of old files have none
        if squash is not None:
            X = squash(X)
        if self._shift is None:
            return X
        return (np.asarray(X, dtype=np.float64) - self._shift) / self._scale

    # ------------------------------------------------------------ evaluation

    def _checked_inputs(self, X: Any) -> tuple[Array, Any]:
        """Rows as the model sees them, and the dtype of answers."""
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        return self._inputs(X), float_dtype(X)

    def latents(self, X: Any) -> Array:
        """The posterior mean E[z | x] of the latents that inputs and target share [8].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from gramian import RKMRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> X, y = X[:80], y[:80]
        >>> model = RKMRegressor(n_components=5, kernel="linear").fit(X, y)
        >>> model.latents(X).shape
        (80, 5)
        """
        inputs, dtype = self._checked_inputs(X)
        return self._fit.predict([inputs])[1].mean.astype(dtype, copy=False)

    def explain(self) -> str:
        """Which kernel and which of AC's four algorithms was taken and why, and what held-out rows said."""
        check_is_fitted(self)
        error = (
            "nothing was held out"
            if self.held_out_error_ is None
            else f"held-out error {self.held_out_error_:.3g} of the variance"
        )
        words = [f"{self.algorithm_}: {self._reason}. {self.n_components_} components, {error}."]
        if hasattr(self, "selection_"):
            words.append(f"{self.selection_.reason}.")
        loss = getattr(self, "landmark_loss_", None)
        if loss is not None:
            words.append(
                f"{loss.n_landmarks} landmarks in place of the whole kernel: on {loss.n_rows} rows the held-out error is "
                f"{loss.approximate:.3g} of the variance with them and {loss.exact:.3g} with all rows."
            )
        return " ".join(words)


def _forgets(kernel: Any) -> bool:
    """Whether a kernel falls to nothing off the data, so that only the mean is left."""
    if is_feature_map(kernel):
        kernel = getattr(kernel, "kernel", None)
        if kernel is None:
            return False
    found = as_kernel(kernel)
    return isinstance(found, Kernel) and bool(found.stationary) and bool(found.isotropic)


def _width(kernel: Any) -> float | None:
    """The length scale of a Gaussian kernel, or of the Gaussian part of a sum, where it is a number."""
    found = getattr(kernel, "k2", kernel)
    scale: Any = getattr(found, "length_scale", None)
    return float(scale) if is_real(scale) else None
