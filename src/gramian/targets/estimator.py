"""What the regressor and the classifier share: inputs and a target, the choices made for them, and the target model they hold [8]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype
from gramian._checks import (
    check_n_components,
    check_scale,
    check_table,
    finite_answers,
    is_auto,
    is_real,
    refuse_dask,
)
from gramian._content import row_hashes
from gramian._progress import Progress
from gramian._types import Batches, RandomState, Table, Weights
from gramian.evidence.held_out import HeldOut
from gramian.evidence.selection import Selection
from gramian.features import approximation_of, approximations
from gramian.features.base import DRAWN_ROWS
from gramian.kernels import Kernel, Linear, Precomputed, as_kernel
from gramian.kernels.units import standardizes
from gramian.policy import KERNELS, LOOK
from gramian.rows import ArrayRows, BatchRows, Rows, as_rows
from gramian.single.answers import BaseEstimator, FoldsMixin, chosen_solver
from gramian.single.input_holes import InputHoles
from gramian.solvers.auto import Auto
from gramian.tables.front_door import TakesFrames
from gramian.targets.fit import fit_target
from gramian.targets.kernel_choice import choose_target_kernel
from gramian.targets.landmarks import LandmarkLoss, landmark_loss
from gramian.targets.model import TargetModel
from gramian.targets.moments import MomentInputs, TargetFeatures
from gramian.targets.path import HeldOutPredictions
from gramian.targets.reach import TargetReach
from gramian.targets.rows import FEATURE_ADVICE, NoFeaturesError, TargetRows
from gramian.targets.squash import Squash
from gramian.targets.survey import InputReading, TargetCoding, survey_target
from gramian.views.specs import (
    ALGORITHMS,
    check_target_params,
    choose_space,
    is_feature_map,
    training_view,
    weights_of_views,
)
from gramian.views.view import ExplicitView, ViewTable

NAMES = ["X", "y"]
NO_KERNEL = "approximation={!r} needs a kernel of inputs, but kernel={!r}. Leave approximation='auto'."
Looked = tuple[
    Array, Array, HeldOutPredictions | None
]  # the target and the weights of rows, and what was predicted of them


class TargetEstimator(InputHoles, FoldsMixin, TakesFrames, BaseEstimator):
    """Parameters of models with inputs and a target, and the target model that they hold."""

    _fit: Annotated[TargetModel, "its q m"]
    _shift: Annotated[Array | None, "d"]
    _scale: Annotated[Any | None, "++ d"]
    _squash: Annotated[Squash | None, "its d"]
    relevance_: Array | None
    landmark_loss_: LandmarkLoss | None
    _local = (
        False  # whether the size of errors may depend on the inputs, and predictions return to the mean off the data
    )

    solver_: Any
    n_components_: Annotated[int, "=q"]
    trust_: Annotated[float, "maybe number"]
    _reason: str
    algorithm_: str
    noise_variances_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    n_iter_: int
    held_out_error_: Any
    selection_: Selection

    def __init__(
        self,
        n_components: int | float | str | None = 0.95,
        *,
        kernel: Any = "auto",
        noise_variance: float | str = "per-view",
        view_weights: Any = "balanced",
        standardize: bool | str = "auto",
        approximation: Any = "auto",
        n_landmarks: int | None = None,
        n_folds: Any = 5,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: RandomState = None,
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
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        tags.input_tags.allow_nan = not self._precomputed()
        tags.target_tags.required = True
        return tags

    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _check_params(self) -> None:
        check_target_params(self, ("auto", *approximations()))

    # ------------------------------------------------------------ fitting

    def _fit_rows(self, rows: Rows, coding: TargetCoding, held: ArrayRows | None = None) -> Looked:
        """Fit inputs and target together; rows of zero weight are gone already. ``held``: the rows, where they are in memory.

        Returns the target and the raw weights of the rows that were looked at one by one, all of them or the drawn ones, and
        what models without them predict of them.
        """
        if self._precomputed():
            assert held is not None
            if self.approximation not in ("auto", None):
                raise ValueError(NO_KERNEL.format(self.approximation, self.kernel))
            self.landmark_loss_, self._squash, self._shift, self._scale = None, None, None, None
            self.relevance_ = None
            return self._fit_table(held, InputReading(), self.kernel, self.kernel, coding)
        survey = rows.fold(survey_target, coding)
        if survey.n_rows < 2:
            raise ValueError(
                f"Found array with {survey.n_rows} sample(s) of positive weight while a minimum of 2 is required."
            )
        low, high = survey.input_range
        check_scale(float((high - low).max(initial=0.0)))
        low, high = survey.target_range
        check_scale(float((high - low).max(initial=0.0)), "y")
        found = TargetRows(rows, coding, survey, held)
        self._remember_inputs(found.drawn.X, found.drawn.weights)
        reading, kernel = self._chosen_inputs(found)
        self._squash, self._shift, self._scale = reading.squash, reading.shift, reading.scale
        spec = self._approximated(found, kernel, reading)
        try:
            return self._fit_sums(found, reading, spec, kernel)
        except NoFeaturesError as reason:
            gathered = found.gathered(KERNELS.exact_rows)
            if gathered is None:
                raise ValueError(
                    f"{reason}, so that this fit needs its rows in memory. {FEATURE_ADVICE}, or call fit on rows that fit into memory."
                ) from None
        coding = coding if gathered is held else TargetCoding()  # what is gathered has been coded
        return self._fit_table(gathered, reading, spec, kernel, coding)

    def _rows_elsewhere(self, X: Table, y: object, sample_weight: Weights) -> Rows:
        """Rows on Dask; what cannot be a sum over rows is refused with words."""
        if not self._takes_rows:
            refuse_dask(self, X, advice=FEATURE_ADVICE)
        return as_rows(X, sample_weight, y, missing=False)

    def _batches(self, batches: Batches) -> Rows:
        """Rows from batches of (X, y) or (X, y, sample_weight)."""
        if not self._takes_rows:
            raise ValueError(
                f"fit_batches needs explicit features, but kernel={self.kernel!r} and approximation={self.approximation!r}. "
                f"{FEATURE_ADVICE}."
            )
        return BatchRows.of(batches, with_target=True, missing=False)

    @property
    def _takes_rows(self) -> bool:
        """Whether the fit can be a sum over rows: not with an exact kernel."""
        if self._precomputed():
            return False
        if self.approximation is not None or is_feature_map(self.kernel):
            return True
        return not (is_auto(self.kernel)) and isinstance(as_kernel(self.kernel), Linear)

    def _fit_sums(self, found: TargetRows, reading: InputReading, spec: Any, kernel: Any) -> Looked:
        """From the moments of explicit features; `NoFeaturesError` where the fit is no sum over rows."""
        feature_map = found.fitted_map(spec, reading)
        drawn = found.drawn
        probe = TargetFeatures(reading, feature_map, found.coding)
        width = probe.inputs(drawn.X[:1]).shape[1] + drawn.Y.shape[1]
        few = found.gathered(KERNELS.exact_rows) is not None
        if few and width >= found.survey.n_rows:
            raise NoFeaturesError("More features than rows are seen as pairs of rows")
        q = check_n_components(self.n_components, rules=())
        solver, _ = chosen_solver(Auto(self.tol, self.max_iter), width, q)
        content, folds = found.folds(self._folds)
        table, features = found.sums(reading, feature_map, content)
        inputs = found.inputs(table, features, table.sample(np.ones(2), "primal").rank_tol)
        _, reason = choose_space("auto", table, NAMES)  # type: ignore[arg-type]
        fitted = self._fit_views(table, q, solver, "primal", folds, reading(drawn.X), inputs)
        self._keep(fitted, solver, "primal", reason)
        self._add_reach(found, reading, kernel)
        return drawn.Y, drawn.weights, fitted.held_out

    def _fit_table(
        self, held: ArrayRows, reading: InputReading, spec: Any, kernel: Any, coding: TargetCoding
    ) -> Looked:
        """From all rows in memory: exact kernels, wide views, frames."""
        inputs = held.X if reading.shift is None and reading.squash is None else reading(held.X)
        Y, raw_weights = coding(held.target), held.weights
        if self._precomputed():
            check_scale(float(np.ptp(np.asarray(inputs, dtype=np.float64), axis=0).max(initial=0.0)))
            check_scale(float(np.ptp(Y, axis=0).max(initial=0.0)), "y")
        view = training_view(spec, inputs, raw_weights)
        table = ViewTable((view, ExplicitView(Y)), raw_weights / raw_weights.sum(), float(raw_weights.sum()))
        space, reason = choose_space("auto", table, NAMES)
        q = check_n_components(self.n_components, rules=())
        solver, _ = chosen_solver(
            Auto(self.tol, self.max_iter), table.n_rows if space == "dual" else sum(table.widths), q
        )
        hashes = row_hashes(held.X)
        folds = None if self._folds is None else HeldOut.of(None, self._folds, hashes=hashes)
        columns = None if self._precomputed() else np.asarray(inputs, dtype=np.float64)
        fitted = self._fit_views(table, q, solver, space, folds, columns)
        self._keep(fitted, solver, space, reason)
        if not self._precomputed():
            survey = held.fold(survey_target, coding)
            self._add_reach(TargetRows(held, coding, survey, held), reading, kernel)
        return Y, raw_weights, fitted.held_out

    def _fit_views(
        self,
        table: Any,
        q: int | float | None,
        solver: Any,
        space: str,
        folds: HeldOut | None,
        columns: Array | None,
        sums: MomentInputs | None = None,
    ) -> TargetModel:
        """The joint model of inputs and target, with a bar while it is long."""
        with Progress("ECM", verbose=self.verbose) as bar:
            return fit_target(
                table,
                q,
                solver,
                space,
                noise_variance=self.noise_variance,
                view_weights=weights_of_views(self.view_weights, table, NAMES),
                folds=folds,
                sums=sums,
                local=self._local,
                columns=columns,
                tol=float(np.sqrt(self.tol)),
                progress=bar,
            )

    def _keep(self, fitted: TargetModel, solver: Any, space: str, reason: str) -> None:
        self.solver_, self._reason = solver, reason
        self.algorithm_ = ALGORITHMS[space, False]
        self._fit = fitted.without_rows(None)
        self._store_fit()

    def _add_reach(self, found: TargetRows, reading: InputReading, kernel: Any) -> None:
        """What lies off the data, from the drawn rows."""
        if not self._local or self._fit.held_out is None or self.noise_variance != "per-view":
            return
        drawn, survey = found.drawn, found.survey
        weights = drawn.weights / drawn.weights.sum()
        width = _width(kernel) if self.relevance_ is None else None  # its units are no standard deviations
        reach = TargetReach.of(reading(drawn.X), drawn.Y, weights, _forgets(kernel), width, hashes=drawn.hashes)
        low, high = survey.target_range
        reach = replace(reach, target_mean=survey.target.mean, target_std=survey.target.deviation, low=low, high=high)
        self._fit = replace(self._fit, reach=reach)

    def _chosen_inputs(self, found: TargetRows) -> tuple[InputReading, Any]:
        """How the model sees the inputs, and the kernel: given, or the one that held-out rows prefer."""
        self.relevance_ = None
        units = self._coding is None and standardizes(self.standardize, self.kernel)
        plain = found.units() if units else InputReading()
        if not (is_auto(self.kernel)):
            return plain, self.kernel
        drawn = found.drawn.of_rows(LOOK.rows)
        squash = found.squash() if units else None
        squashed = None if squash is None else found.units(squash)
        choice = choose_target_kernel(
            plain(drawn.X),
            drawn.Y,
            drawn.weights,
            self._folds or LOOK.folds,
            None if squashed is None else squashed(drawn.X),
            hashes=drawn.hashes,
            weigh=units,
        )
        if choice.selection is not None:
            self.selection_ = choice.selection
        reading = squashed if choice.squash and squashed is not None else plain
        if choice.relevance is not None:
            self.relevance_ = choice.relevance
            reading = replace(reading, scale=reading.scale / choice.relevance)
        return reading, choice.kernel

    def _approximated(self, found: TargetRows, kernel: Any, reading: InputReading) -> Any:
        """The kernel itself, or features in its place."""
        self.landmark_loss_ = None
        if is_feature_map(kernel):
            if self.approximation not in ("auto", None):
                raise ValueError(NO_KERNEL.format(self.approximation, self.kernel))
            return kernel
        if self.approximation is None or isinstance(as_kernel(kernel), Linear):
            return kernel
        if is_feature_map(self.approximation):
            return self.approximation
        n = found.survey.n_rows
        if self.approximation == "auto" and n <= KERNELS.exact_rows:
            return kernel
        count = min(n, KERNELS.landmarks if self.n_landmarks is None else self.n_landmarks)
        resolved = as_kernel(kernel).resolve(found.distinct_inputs(reading, DRAWN_ROWS))
        if self.approximation == "auto":
            drawn = found.drawn.of_rows(LOOK.rows)
            self.landmark_loss_ = landmark_loss(
                resolved,
                reading(drawn.X),
                drawn.Y,
                drawn.weights,
                count,
                self._folds or LOOK.folds,
                hashes=drawn.hashes,
            )
        name = "nystroem" if self.approximation == "auto" else self.approximation
        count = min(count, len(found.drawn.first)) if name == "nystroem" else count
        return approximation_of(name, resolved, count, self.random_state)

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

    def _inputs(self, X: Array) -> Array:
        """Rows as the model sees them."""
        if self._squash is None and self._shift is None:
            return X
        return InputReading(self._squash, self._shift, self._scale)(X)

    # ------------------------------------------------------------ evaluation

    def _answered(self, X: Table, answer: Callable[[Array], tuple[Array, ...]]) -> tuple[Array, ...]:
        """What the model says of rows as it sees them, in their dtype; of rows with holes the expectation."""
        check_is_fitted(self)
        X = check_table(self, X, reset=False, missing=not self._precomputed())
        found = self._expected_answers(X, lambda rows: answer(self._inputs(rows)))
        return tuple(part.astype(float_dtype(X), copy=False) for part in found)

    @finite_answers
    def latents(self, X: Table) -> Array:
        """The posterior mean E[z | x] of the latents that inputs and target share [8].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)

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
        return self._answered(X, lambda inputs: (self._fit.predict([inputs])[1].mean,))[0]

    def explain(self) -> str:
        """Which kernel and whether features or pairs of rows were decomposed and why, and what held-out rows said."""
        check_is_fitted(self)
        error = (
            "nothing was held out"
            if self.held_out_error_ is None
            else f"held-out error {self.held_out_error_:.3g} of the variance"
        )
        words = [f"{self.algorithm_}: {self._reason}. {self.n_components_} components, {error}."]
        if hasattr(self, "selection_"):
            words.append(f"{self.selection_.reason}.")
        relevance = getattr(self, "relevance_", None)
        if relevance is not None:
            most = ", ".join(f"{name} {relevance[j]:.2g}" for j, name in leading_columns(self, relevance))
            words.append(f"Columns count by how much they matter: {most}.")
        loss = getattr(self, "landmark_loss_", None)
        if loss is not None:
            words.append(
                f"{loss.n_landmarks} landmarks in place of the whole kernel: on {loss.n_rows} rows the held-out error is "
                f"{loss.approximate:.3g} of the variance with them and {loss.exact:.3g} with all rows."
            )
        return " ".join(words)


def leading_columns(estimator: Any, relevance: Array, count: int = 5) -> list[tuple[int, str]]:
    """The most relevant columns and their names."""
    names = estimator._feature_names
    order = np.argsort(-relevance, kind="stable")[:count]
    return [(int(j), f"column {j}" if names is None else str(names[j])) for j in order]


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


def rows_kept(X: Any, kept: Array, precomputed: bool) -> Any:
    """Some of the rows; of a Gram matrix the columns of these rows too."""
    if len(kept) == X.shape[0]:
        return X
    return X[np.ix_(kept, kept)] if precomputed else X[kept]
