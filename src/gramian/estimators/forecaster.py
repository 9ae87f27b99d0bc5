"""RKMForecaster: the last values of a series are one view, the next value another [8]."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_random_state,
    check_seed,
    check_tolerance,
)
from gramian._progress import Progress
from gramian.estimators._base import BaseEstimator, atomic, chosen_solver, forget
from gramian.estimators._series import as_series, check_steps, correlation_root, filled, lagged
from gramian.estimators._time_index import describe_index, is_pandas, wrapped
from gramian.estimators._view_specs import ALGORITHMS, choose_space, training_view, weights_of_views
from gramian.exceptions import NumericalWarning
from gramian.latent.dimension import check_n_components
from gramian.latent.gaussian import Posterior
from gramian.latent.subspace import PrimalSubspace
from gramian.latent.view_regression import TargetFit, block_folds, fit_target
from gramian.latent.views import ExplicitView, ViewTable
from gramian.solvers import as_solver, solvers_for
from gramian.solvers.stiefel import Stiefel

FARTHEST = 1e6
"""Recursions that leave the training range by this many of its widths are held there, with a warning."""
FEW_WINDOWS = 0.25
"""With fewer complete windows than this share, gaps are filled before training."""
N_PATHS = 1000
"""Paths behind intervals and quantiles."""


class RKMForecaster(BaseEstimator):
    """Forecasts by a restricted kernel machine: z explains a window of past values and what follows it [8].

    Predicted values are fed back (``strategy="recursive"``) or the next ``horizon`` values are one target view
    (``"direct"``). Intervals come from paths drawn from the one-step predictive law, whose width was calibrated on held-out
    stretches.

    Parameters
    ----------
    lags : int, default=10
        Number of past values that are looked at.
    n_components : int, float or None, default=0.95
        As in :class:`RKMRegressor`.
    kernel : kernel, name, callable or feature map, default="rbf"
        For the window, and for exogenous inputs.
    noise_variance : "per-view", "ml" or float, default="per-view"
        0 is AC's model.
    standardize : bool, default=True
        Scale every series to mean 0 and variance 1 first.
    strategy : {"recursive", "direct"}, default="recursive"
    horizon : int or None, default=None
        Values that "direct" predicts at once (None: as many as ``lags``); longer forecasts go on from there.
    view_weights : "balanced", None or numbers, default="balanced"
    n_folds : int or None, default=5
        Stretches of the series that are held out in turn to calibrate; None: nothing is.
    space, solver, tol, max_iter, random_state, verbose
        As in :class:`MultiViewRKM`.

    Attributes
    ----------
    n_components_ : int
    noise_variances_ : ndarray
        Of the window, the exogenous inputs if any, and the target.
    held_out_error_ : float or None
        One-step mean squared error on held-out stretches, over the variance of the target.
    residual_std_ : ndarray
        One-step standard deviations in units of the series.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import RKMForecaster
    >>> y = np.sin(np.arange(200) / 5)
    >>> model = RKMForecaster(lags=10, kernel="linear", noise_variance=0.0, n_components=2).fit(y)
    >>> bool(np.abs(model.predict(50) - np.sin(np.arange(200, 250) / 5)).max() < 1e-9)
    True
    """

    _fit: TargetFit

    def __init__(
        self,
        lags: int = 10,
        n_components: Any = 0.95,
        *,
        kernel: Any = "rbf",
        noise_variance: Any = "per-view",
        standardize: bool = True,
        strategy: str = "recursive",
        horizon: Any = None,
        view_weights: Any = "balanced",
        n_folds: Any = 5,
        space: str = "auto",
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.lags = lags
        self.n_components = n_components
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.standardize = standardize
        self.strategy = strategy
        self.horizon = horizon
        self.view_weights = view_weights
        self.n_folds = n_folds
        self.space = space
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.one_d_array = True
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, y: Any, X: Any = None) -> RKMForecaster:
        """Fit to a series.

        Parameters
        ----------
        y : array-like of shape (n_times,) or (n_times, n_series)
            Equally spaced in time, oldest first; NaN marks gaps. A pandas index is continued by the forecasts.
        X : array-like of shape (n_times, n_inputs), optional
            Exogenous inputs at the same times, whose future values `predict` is given. NaN rows are unknown.

        Returns
        -------
        RKMForecaster
        """
        self._check_params()
        forget(self)
        series, self._single = as_series(y)
        self._describe(y)
        inputs = None if X is None else as_series(X, "X")[0]
        if inputs is not None and len(inputs) != len(series):
            raise ValueError(
                f"X has {len(inputs)} rows, but y has {len(series)} values. Give one row of X for each of y."
            )
        lags, ahead = self.lags, self._ahead()
        if len(series) < lags + ahead + 1:
            more = "" if ahead == 1 else f" and horizon={ahead}"
            raise ValueError(
                f"The series has {len(series)} values, too few for lags={lags}{more}: at least {lags + ahead + 1} are needed. "
                "Lower lags, or give a longer series."
            )
        empty = np.flatnonzero(np.isnan(series).all(axis=0))
        if len(empty):
            raise ValueError(f"Series {int(empty[0])} has no observed value. Leave it out.")
        self._shift, self._scale = self._units(series)
        self._input_shift: Any = None
        self._input_scale: Any = None
        if inputs is not None:
            self._input_shift, self._input_scale = self._units(inputs)
        scaled = (series - self._shift) / self._scale
        self._low, self._high = np.nanmin(scaled, axis=0), np.nanmax(scaled, axis=0)
        self.n_series_, self.n_inputs_ = series.shape[1], 0 if inputs is None else inputs.shape[1]
        self._fit_windows(scaled, None if inputs is None else (inputs - self._input_shift) / self._input_scale)
        self._window = self._last_window(scaled)
        self._seed = int(check_random_state(self.random_state).integers(2**31))
        return self

    def _check_params(self) -> None:
        check_count("lags", self.lags, 1)
        check_n_components(self.n_components, rules=())
        if isinstance(self.noise_variance, str):
            check_choice("noise_variance", self.noise_variance, ("ml", "per-view"))
        else:
            check_number("noise_variance", self.noise_variance, 0.0)
        check_flag("standardize", self.standardize)
        check_choice("strategy", self.strategy, ("recursive", "direct"))
        if self.horizon is not None:
            check_count("horizon", self.horizon, 1)
        if self.n_folds is not None:
            check_count("n_folds", self.n_folds, 2)
        check_choice("space", self.space, ("auto", "primal", "dual"))
        if isinstance(self.solver, str):
            check_choice("solver", self.solver, solvers_for("views"))
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)

    def _ahead(self) -> int:
        """Values that one step predicts."""
        if self.strategy == "recursive":
            return 1
        return int(self.lags if self.horizon is None else self.horizon)

    def _describe(self, y: Any) -> None:
        self._index = describe_index(y)
        pandas = is_pandas(y)
        self._columns = [str(c) for c in y.columns] if pandas and hasattr(y, "columns") else None
        name = getattr(y, "name", None) if pandas else None
        self._name = name if name is None or isinstance(name, str | int) else str(name)

    def _units(self, series: Array) -> tuple[Array, Array]:
        if not self.standardize:
            return np.zeros(series.shape[1]), np.ones(series.shape[1])
        shift = np.nanmean(series, axis=0) if not np.isnan(series).all(axis=0).any() else np.zeros(series.shape[1])
        spread = np.sqrt(np.nanmean(np.square(series - shift), axis=0))
        size = np.nanmax(np.abs(series), axis=0)
        return shift, np.where(spread > 64 * np.finfo(float).eps * size, spread, 1.0)

    def _fit_windows(self, series: Array, inputs: Array | None) -> None:
        lags, ahead = self.lags, self._ahead()
        windows, targets = lagged(series, lags, ahead)
        complete = ~(np.isnan(windows).any(axis=1) | np.isnan(targets).any(axis=1))
        if complete.mean() < FEW_WINDOWS or complete.sum() < 3:
            series = filled(series, lags)
            windows, targets = lagged(series, lags, ahead)
            complete = np.ones(len(windows), dtype=bool)
        views = [windows]
        if inputs is not None:
            known = lagged(inputs, lags, ahead)[1]
            complete &= ~np.isnan(known).any(axis=1)
            views.append(known)
        if complete.sum() < 3:
            raise ValueError(
                f"Only {int(complete.sum())} windows of lags={lags} values are complete with their target and X. Lower lags, or "
                "fill the gaps."
            )
        n = int(complete.sum())
        ones = np.ones(n)
        built = [training_view(self.kernel, view[complete], ones) for view in views]
        table = ViewTable((*built, ExplicitView(targets[complete])), ones / n, float(n))
        names = ["window", "X", "next"] if inputs is not None else ["window", "next"]
        space, self._reason = choose_space(self.space, table, names)
        solver = as_solver(self.solver, tol=self.tol, max_iter=self.max_iter, random_state=0)
        q = check_n_components(self.n_components, rules=())
        self.solver_, _ = chosen_solver(solver, n if space == "dual" else sum(table.widths), q)
        self.algorithm_ = ALGORITHMS[space, isinstance(self.solver_, Stiefel)]
        with Progress("ECM", verbose=self.verbose) as bar:
            self._fit = fit_target(
                table,
                q,
                self.solver_,
                space,
                noise_variance=self.noise_variance,
                view_weights=weights_of_views(self.view_weights, table, names),
                folds=None if self.n_folds is None else block_folds(n, self.n_folds),
                robust=True,  # a recursion lives on the usual step: rare jumps must not decide how far windows are trusted
                tol=float(np.sqrt(self.tol)),
                progress=bar,
            )
        self._store_fit(targets[complete])

    def _store_fit(self, targets: Array) -> None:
        fit = self._fit
        self.n_components_ = fit.gaussian.n_components
        self.noise_variances_ = fit.noise_variances
        self.n_iter_ = max(1, fit.n_iter)
        self.held_out_error_ = None if fit.held_out is None else fit.held_out.error
        residuals = targets - fit.held_out.predictions if fit.held_out is not None else np.zeros_like(targets)
        self._correlation_root = correlation_root(residuals)
        self.residual_std_ = fit.std[: self.n_series_] * self._scale

    # ------------------------------------------------------------ windows with gaps

    @property
    def _sees_parts(self) -> bool:
        """Whether a window with gaps can be looked at as it is: a linear view shows its entries one by one."""
        return isinstance(self._fit.model.subspace.parts[0].subspace, PrimalSubspace)

    def _last_window(self, series: Array) -> Array:
        """The last window, (lags, d). Where its kernel needs all values, gaps are forecast from the values before them."""
        lags = self.lags
        if self._sees_parts or not np.isnan(series[-lags:]).any():
            return series[-lags:].copy()
        holes = np.isnan(series).any(axis=1)
        whole = sliding_window_view(~holes, lags).all(axis=1)
        starts = np.flatnonzero(whole)
        if not len(starts):
            return filled(series, lags)[-lags:]
        known = series[starts[-1] :].copy()
        nothing = np.full((1, self.n_inputs_ * self._ahead()), np.nan)
        solved: dict[bytes, Any] = {}
        for t in range(lags, len(known)):
            gaps = np.isnan(known[t])
            if gaps.any():
                guess = self._one(known[t - lags : t][None], nothing, solved)[0][0, : self.n_series_]
                known[t, gaps] = guess[gaps]
        return known[-lags:]

    # ------------------------------------------------------------ forecasting

    def _one(
        self, windows: Array, inputs: Array | None, solved: dict[bytes, Any] | None = None
    ) -> tuple[Array, Posterior]:
        """The next values, (n, ahead * d), of windows (n, lags, d), in units of the scaled series."""
        views: list[Any] = [windows.reshape(len(windows), -1)]
        seen = np.ones((len(windows), 2 + (self.n_inputs_ > 0)), dtype=bool)
        seen[:, -1] = False
        if self.n_inputs_:
            assert inputs is not None
            known: Array = ~np.asarray(np.isnan(inputs).any(axis=1))
            seen[:, 1] = known
            views.append(np.where(known[:, None], inputs, 0.0))
        seen[:, 0] = ~np.isnan(views[0]).all(axis=1)
        subspace = self._fit.model.subspace
        posterior = subspace.posterior(self._fit.gaussian, [*views, None], seen, solved)
        return self._fit.decode(posterior.mean), posterior

    def _run(self, most: int, window: Array, X: Any, n_paths: int | None, rng: Any) -> Array:
        """Mean forecasts (1, most, d), or paths (n_paths, most, d), in units of the scaled series."""
        ahead, d = self._ahead(), self.n_series_
        blocks = -(-most // ahead)
        future = self._future_inputs(X, most, blocks * ahead)
        count = 1 if n_paths is None else n_paths
        windows = np.repeat(window[None], count, axis=0)
        out = np.empty((count, blocks * ahead, d))
        width = np.maximum(self._high - self._low, 1.0)
        low, high = self._low - FARTHEST * width, self._high + FARTHEST * width
        clipped = False
        solved: dict[bytes, Any] = {}  # every step sees the same views: one inverse for all of them
        usual = None if n_paths is None else self._fit.usual_spread
        for block in range(blocks):
            rows = slice(block * ahead, (block + 1) * ahead)
            inputs = None if future is None else np.repeat(future[rows].reshape(1, -1), count, axis=0)
            mean, posterior = self._one(windows, inputs, solved)
            if n_paths is not None:
                noise = rng.standard_normal(mean.shape) @ self._correlation_root.T
                mean = mean + self._fit.deviations(posterior, usual) * noise
            values = mean.reshape(count, ahead, d)
            held = np.clip(np.where(np.isfinite(values), values, self._high), low, high)
            clipped |= bool((held != values).any())
            out[:, rows] = held
            windows = np.concatenate([windows, held], axis=1)[:, -self.lags :]
        if clipped:
            warnings.warn(
                "The forecast left the range of the training series by a factor of a million and is held there: the recursion is "
                "unstable. Use noise_variance='per-view', fewer components, or strategy='direct'.",
                NumericalWarning,
                stacklevel=4,
            )
        return out[:, :most]

    def _future_inputs(self, X: Any, most: int, padded: int) -> Array | None:
        if not self.n_inputs_:
            if X is not None:
                raise ValueError(
                    "X was given to predict, but the model was fitted without exogenous inputs. Leave X out."
                )
            return None
        if X is None:
            raise ValueError(
                f"The model was fitted with {self.n_inputs_} exogenous inputs. Give their future values as X, {most} rows, with NaN "
                "rows where they are not known."
            )
        future = as_series(X, "X")[0]
        if future.shape[1] != self.n_inputs_ or len(future) < most:
            raise ValueError(f"X has shape {future.shape}, but {most} rows of {self.n_inputs_} inputs are needed.")
        scaled = (future[:most] - self._input_shift) / self._input_scale
        return np.vstack([scaled, np.full((padded - most, self.n_inputs_), np.nan)])

    def _start(self, history: Any) -> Array:
        if history is None:
            return self._window
        series, _ = as_series(history, "history")
        if series.shape[1] != self.n_series_ or len(series) < self.lags:
            raise ValueError(
                f"history has shape {series.shape}, but at least lags={self.lags} values of {self.n_series_} series are needed."
            )
        return self._last_window((series - self._shift) / self._scale)

    def _finished(self, values: Array, steps: Array, plain: bool = False) -> Any:
        """Scaled forecasts (..., most, d) at the wanted steps, in units of the series and in its container."""
        chosen = values[..., steps - 1, :] * self._scale + self._shift
        chosen = chosen[..., 0] if self._single else chosen
        return chosen if plain else wrapped(chosen, self._index, steps, self._columns, self._name)

    def predict(self, steps: Any, X: Any = None, *, history: Any = None) -> Any:
        """Forecast the next values.

        Parameters
        ----------
        steps : int, or list of positive ints
            How many values, or which (1 is the next), answered in that order.
        X : array-like of shape (at least the farthest step, n_inputs), optional
            Future exogenous inputs.
        history : array-like, optional
            Go on from these values instead of the end of the training series (at least ``lags`` of them).

        Returns
        -------
        ndarray, Series or DataFrame of shape (n_steps,) or (n_steps, n_series)
        """
        check_is_fitted(self)
        wanted = check_steps(steps)
        run = self._run(int(wanted.max()), self._start(history), X, None, None)
        return self._finished(run[0], wanted, plain=history is not None)

    def sample_paths(
        self, steps: Any, n_paths: int = 100, X: Any = None, *, history: Any = None, random_state: Any = None
    ) -> Array:
        """Draw whole futures: one-step predictive draws, each fed back.

        Returns
        -------
        ndarray of shape (n_paths, n_steps) or (n_paths, n_steps, n_series)
        """
        check_is_fitted(self)
        wanted = check_steps(steps)
        n_paths = check_count("n_paths", n_paths, 1)
        rng = np.random.default_rng(self._seed) if random_state is None else check_random_state(random_state)
        run = self._run(int(wanted.max()), self._start(history), X, n_paths, rng)
        return np.asarray(self._finished(run, wanted, plain=True))

    def predict_quantiles(self, steps: Any, quantiles: Any, X: Any = None, *, history: Any = None) -> Array:
        """Quantiles of the predictive law, from 1000 paths.

        Returns
        -------
        ndarray of shape (n_quantiles, n_steps) or (n_quantiles, n_steps, n_series)
        """
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"quantiles={quantiles!r} must be numbers in (0, 1).")
        paths = self.sample_paths(steps, N_PATHS, X, history=history)
        return np.quantile(paths, levels, axis=0)

    def predict_interval(
        self, steps: Any, level: float = 0.9, X: Any = None, *, history: Any = None
    ) -> tuple[Any, Any]:
        """The ends of the central intervals that hold the future with probability ``level``; they hold `predict` too.

        Returns
        -------
        lower, upper : as `predict`
        """
        level = check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
        lower, upper = self.predict_quantiles(steps, [0.5 - level / 2, 0.5 + level / 2], X, history=history)
        middle = np.asarray(self.predict(steps, X, history=history))
        ends = np.minimum(lower, middle), np.maximum(upper, middle)
        if history is not None:
            return ends
        wanted = check_steps(steps)
        low, high = (wrapped(end, self._index, wanted, self._columns, self._name) for end in ends)
        return low, high

    def explain(self) -> str:
        """Which of AC's four algorithms was run and why, and what held-out stretches said."""
        check_is_fitted(self)
        error = self.held_out_error_
        words = (
            "nothing was held out"
            if error is None
            else f"one-step error on held-out stretches {error:.3g} of the variance"
        )
        return f"{self.algorithm_}: {self._reason}. {self.n_components_} components, {words}."
