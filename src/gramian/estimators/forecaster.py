"""RKMForecaster: the last values of a series are one view, the next value another [8]."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_count, check_n_components, check_number, check_random_state, is_auto
from gramian.estimators._base import BaseEstimator, atomic, forget
from gramian.estimators._forecast_candidates import SeriesOptions
from gramian.estimators._forecast_checks import (
    check_fitted_series,
    check_forecast_params,
    checked_future,
    checked_history,
    checked_levels,
    common,
)
from gramian.estimators._forecast_choice import MOST_MEMBERS, Choice, choose_plan
from gramian.estimators._forecast_old_file import old_state
from gramian.estimators._forecast_paths import (
    ForecastPaths,
    Member,
    calibrated_spread,
    shared_transform,
    transformed_inputs,
)
from gramian.estimators._forecast_words import forecaster_words
from gramian.estimators._gap_filling import fill_gaps
from gramian.estimators._series import as_series, check_steps
from gramian.estimators._series_transform import forward_table
from gramian.estimators._time_index import describe_index, dressed, is_pandas, usual_seasons, wrapped
from gramian.estimators._window_model import CHOSEN_WINDOWS, EXACT_WINDOWS, WindowOptions, fit_windows

N_PATHS = 1000
"""Paths behind intervals and quantiles."""


class RKMForecaster(BaseEstimator):
    """Forecasts by a restricted kernel machine: z explains a window of past values and what follows it [8].

    What makes windows of a series unlike each other is taken off first (the logarithm, a season, the level) and put back exactly.
    Predicted values are fed back (``strategy="recursive"``) or the next ``horizon`` values are one target view (``"direct"``).
    Intervals come from paths drawn from the one-step predictive law, whose width was calibrated on held-out stretches, step by step.

    Parameters
    ----------
    lags : int or "auto", default="auto"
        Number of past values that are looked at.
    n_components : int, float or None, default=0.95
        As in :class:`RKMRegressor`.
    season : None, int or "auto", default="auto"
        Values per season, whose repetition is taken off: the distance to the value a season ago. "auto": from the step of the
        index (12 for months, 7 for days, ...) and the autocorrelation, if held-out stretches want it.
    difference : 0, 1 or "auto", default="auto"
        1: the level is taken off: the distance to the value before. A season or level that is left to choose may also follow the
        series more slowly, as exponential smoothing does.
    transform : None, "log" or "auto", default="auto"
        "log" is for positive series; "auto" tries it where the spread grows with the level.
    kernel : kernel, name, callable, feature map or "auto", default="auto"
        For the window, and for exogenous inputs. "auto": RBF of median width, linear, or their sum.
    noise_variance : "per-view", "ml" or float, default="per-view"
        0 is AC's model.
    standardize : bool, default=True
        Scale what is modelled to mean 0 and variance 1 first.
    strategy : {"recursive", "direct"}, default="recursive"
    horizon : int or None, default=None
        How far ahead choices and intervals are judged (None: a season, or 8). For "direct" also the number of values
        that are predicted at once (None: as many as there are lags); longer forecasts go on from there.
    view_weights : "balanced", None or numbers, default="balanced"
    approximation : "auto", None or "nystroem", default="auto"
        "auto": exact up to 1,000 windows, Nystroem above: as near to the truth there, at a third of the cost.
    n_landmarks : int, optional
        Landmarks of the approximation (None: 400).
    n_folds : int or None, default=5
        Stretches of the series that are held out in turn to calibrate; None: nothing is.
    n_members : int, default=4
        Where the choice falls on linear models, the best of so many structures are averaged, half of it with the plain model where
        that is as good; 1: the best alone.
    space, solver, tol, max_iter, random_state, verbose
        As in :class:`MultiViewRKM`.

    Attributes
    ----------
    lags_ : int
        0 where no window is looked at: season and level go on as they are.
    season_ : int or None
    difference_ : int
    transform_ : "log" or None
        What was taken, or given; lists, one entry per series, where series differ.
    kernel_ : kernel or name
    selection_ : Selection
        What was tried on held-out stretches; only where something was "auto".
    n_components_ : int
    noise_variances_ : ndarray
        Of the window, the exogenous inputs if any, and the target.
    held_out_error_ : float or None
        One-step mean squared error on held-out stretches, over the variance of the target.
    residual_std_ : ndarray
        One-step standard deviations, in units of the series (of its logarithm, where that is modelled).
    skill_ : dict or None
        Mean absolute errors over held-out stretches: "error", "naive", and "seasonal naive" where there is a season.

    References
    ----------
    docs/theory.md, sections 8 (views, forecasting), 10 (choosing) and 12 (small samples).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import RKMForecaster
    >>> y = np.sin(np.arange(200) / 5)
    >>> plain = {"season": None, "difference": 0, "transform": None}
    >>> model = RKMForecaster(lags=10, kernel="linear", noise_variance=0.0, n_components=2, **plain).fit(y)
    >>> bool(np.abs(model.predict(50) - np.sin(np.arange(200, 250) / 5)).max() < 1e-9)
    True
    """

    _members: list[Member]
    _usual_seasons: tuple[int, ...] = ()  # what a clock that is no index says

    def __init__(
        self,
        lags: Any = "auto",
        n_components: Any = 0.95,
        *,
        season: Any = "auto",
        difference: Any = "auto",
        transform: Any = "auto",
        kernel: Any = "auto",
        noise_variance: Any = "per-view",
        standardize: bool = True,
        strategy: str = "recursive",
        horizon: Any = None,
        view_weights: Any = "balanced",
        approximation: Any = "auto",
        n_landmarks: Any = None,
        n_folds: Any = 5,
        n_members: int = MOST_MEMBERS,
        space: str = "auto",
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.lags = lags
        self.n_components = n_components
        self.season = season
        self.difference = difference
        self.transform = transform
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.standardize = standardize
        self.strategy = strategy
        self.horizon = horizon
        self.view_weights = view_weights
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.n_folds = n_folds
        self.n_members = n_members
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
            Equally spaced in time, oldest first; NaN marks gaps. A pandas index is continued by the forecasts; one that is
            irregular, duplicated or descending is refused.
        X : array-like of shape (n_times, n_inputs), optional
            Exogenous inputs at the same times, whose future values `predict` is given. NaN rows are unknown.

        Returns
        -------
        RKMForecaster

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.
        [10] docs/theory.md, section 10: choosing, by what was not seen.

        Examples
        --------
        >>> from gramian import RKMForecaster
        >>> from gramian.datasets import make_sum_of_sines
        >>> y = make_sum_of_sines(120, noise=0.05, random_state=0)
        >>> model = RKMForecaster(lags=20, n_components=4, kernel="linear", random_state=0).fit(y[:100])
        >>> model.lags_
        20
        """
        check_forecast_params(self)
        forget(self)
        series, self._single = as_series(y)
        self._describe(y)
        inputs = None if X is None else as_series(X, "X")[0]
        check_fitted_series(self, series, inputs, self._ahead(1 if is_auto(self.lags) else self.lags))
        self.n_series_, self.n_inputs_ = series.shape[1], 0 if inputs is None else inputs.shape[1]
        choice = choose_plan(series, inputs, self._open(), self._options(1 if is_auto(self.lags) else self.lags))
        self._fit_members(choice, series, inputs)
        self._series, self._inputs = series, inputs
        self._seed = int(check_random_state(self.random_state).integers(2**31))
        self._store(choice)
        self._spread = np.ones((1, self.n_series_))
        if self.n_folds is not None and choice.evidence is not None:
            self._spread = calibrated_spread(self._ready(), choice.evidence.errors, np.random.default_rng(self._seed))
        return self

    def _ahead(self, lags: int) -> int:
        """Values that one step predicts."""
        if self.strategy == "recursive":
            return 1
        return int(lags if self.horizon is None else self.horizon)

    def _open(self) -> SeriesOptions:
        return SeriesOptions(
            self.lags,
            self.season,
            self.difference,
            self.transform,
            self.kernel,
            self.horizon,
            usual_seasons(self._index) or self._usual_seasons,
            self.n_members,
        )

    def _options(self, lags: int) -> WindowOptions:
        return WindowOptions(
            lags,
            self.kernel,
            check_n_components(self.n_components, rules=()),
            self.noise_variance,
            self.standardize,
            self._ahead(lags),
            self.view_weights,
            self.n_folds,
            self.approximation,
            self.n_landmarks,
            self.space,
            self.solver,
            self.tol,
            self.max_iter,
            self.verbose,
            CHOSEN_WINDOWS if is_auto(self.kernel) else EXACT_WINDOWS,
        )

    def _describe(self, y: Any) -> None:
        self._index = describe_index(y)
        pandas = is_pandas(y)
        self._columns = [str(c) for c in y.columns] if pandas and hasattr(y, "columns") else None
        name = getattr(y, "name", None) if pandas else None
        self._name = name if name is None or isinstance(name, str | int) else str(name)

    def _fit_members(self, choice: Choice, series: Array, inputs: Array | None) -> None:
        plan = choice.plan
        self._members = []
        for member, transforms in enumerate(plan.transforms):
            options = plan.options(member, self._options(max(1, plan.lags[member])))
            z, _ = forward_table(transforms, series)
            known = None if inputs is None else transformed_inputs(inputs, shared_transform(transforms))
            lost = max(transform.lost for transform in transforms)
            model = fit_windows(z[lost:], None if known is None else known[lost:], options)
            self._members.append(Member(transforms, model, plan.weight(member)))

    def _store(self, choice: Choice) -> None:
        first, plan = self._members[0], choice.plan
        target = first.model.target
        self.lags_ = plan.lags[0]
        self.season_ = common([t.season or None for t in first.transforms])
        self.difference_ = common([t.difference for t in first.transforms])
        self.transform_ = common(["log" if t.log else None for t in first.transforms])
        self.kernel_ = "linear" if plan.lags[0] == 0 else plan.kernels[0]
        if choice.selection is not None:
            self.selection_ = choice.selection
        self.algorithm_ = first.model.algorithm
        self.n_components_ = target.gaussian.n_components
        self.noise_variances_ = target.noise_variances
        self.n_iter_ = max(1, target.n_iter)
        self.held_out_error_ = None if target.held_out is None else target.held_out.error
        self.residual_std_ = first.model.one_step_std
        evidence = choice.evidence
        self.skill_ = None if evidence is None else evidence.skill

    # ------------------------------------------------------------ forecasting

    def _ready(self) -> ForecastPaths:
        """What there is to forecast with; a model file of the first version is read as the plain model that it is."""
        check_is_fitted(self)
        if "_members" not in vars(self):
            for name, value in old_state(vars(self), self._ahead(self.lags)).items():
                setattr(self, name, value)
        return ForecastPaths(self._members, self._series, self._inputs, self._spread)

    def _finished(self, values: Array, steps: Array, plain: bool = False) -> Any:
        """Forecasts (..., most, d) at the wanted steps, in the container of the series."""
        chosen = values[..., steps - 1, :]
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
            Go on from these values instead of the end of the training series: at least ``lags_`` of them, and those that
            season and level are compared with.

        Returns
        -------
        ndarray, Series or DataFrame of shape (n_steps,) or (n_steps, n_series)

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.

        Examples
        --------
        >>> from gramian import RKMForecaster
        >>> from gramian.datasets import make_sum_of_sines
        >>> y = make_sum_of_sines(120, noise=0.05, random_state=0)
        >>> model = RKMForecaster(lags=20, n_components=4, kernel="linear", random_state=0).fit(y[:100])
        >>> bool(abs(model.predict(20) - y[100:]).max() < 0.5)
        True
        """
        paths = self._ready()
        wanted = check_steps(steps)
        most = int(wanted.max())
        future = checked_future(X, self.n_inputs_, most)
        found = paths.middle(most, future, checked_history(history, paths, self.lags_))
        return self._finished(found, wanted, plain=history is not None)

    def sample_paths(
        self, steps: Any, n_paths: int = 100, X: Any = None, *, history: Any = None, random_state: Any = None
    ) -> Array:
        """Draw whole futures: one-step predictive draws, each fed back, spread as far as held-out stretches say.

        Parameters
        ----------
        steps, X, history
            As in `predict`.
        n_paths : int, default=100
        random_state : int, Generator or RandomState, optional
            None: the model's own seed, the same paths each time.

        Returns
        -------
        ndarray of shape (n_paths, n_steps) or (n_paths, n_steps, n_series)

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.
        [12] docs/theory.md, section 12: small samples.

        Examples
        --------
        >>> from gramian import RKMForecaster
        >>> from gramian.datasets import make_sum_of_sines
        >>> y = make_sum_of_sines(120, noise=0.05, random_state=0)
        >>> model = RKMForecaster(lags=20, n_components=4, kernel="linear", random_state=0).fit(y[:100])
        >>> model.sample_paths(5, n_paths=10).shape
        (10, 5)
        """
        paths = self._ready()
        wanted = check_steps(steps)
        n_paths = check_count("n_paths", n_paths, 1)
        most = int(wanted.max())
        rng = np.random.default_rng(self._seed) if random_state is None else check_random_state(random_state)
        future = checked_future(X, self.n_inputs_, most)
        run = paths.calibrated(most, future, checked_history(history, paths, self.lags_), n_paths, rng)
        return np.asarray(self._finished(run, wanted, plain=True))

    def predict_quantiles(self, steps: Any, quantiles: Any, X: Any = None, *, history: Any = None) -> Array:
        """Quantiles of the predictive law, from 1000 paths.

        Parameters
        ----------
        steps, X, history
            As in `predict`.
        quantiles : number or list of numbers in (0, 1)

        Returns
        -------
        ndarray of shape (n_quantiles, n_steps) or (n_quantiles, n_steps, n_series)

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.
        [12] docs/theory.md, section 12: small samples.

        Examples
        --------
        >>> from gramian import RKMForecaster
        >>> from gramian.datasets import make_sum_of_sines
        >>> y = make_sum_of_sines(120, noise=0.05, random_state=0)
        >>> model = RKMForecaster(lags=20, n_components=4, kernel="linear", random_state=0).fit(y[:100])
        >>> model.predict_quantiles(5, [0.1, 0.5, 0.9]).shape
        (3, 5)
        """
        levels = checked_levels(quantiles)
        paths = self.sample_paths(steps, N_PATHS, X, history=history)
        return np.quantile(paths, levels, axis=0)

    def predict_interval(
        self, steps: Any, level: float = 0.9, X: Any = None, *, history: Any = None
    ) -> tuple[Any, Any]:
        """The ends of the central intervals that hold the future with probability ``level``; they hold `predict` too.

        Parameters
        ----------
        steps, X, history
            As in `predict`.
        level : float, default=0.9

        Returns
        -------
        lower, upper : as `predict`

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.
        [12] docs/theory.md, section 12: small samples.

        Examples
        --------
        >>> from gramian import RKMForecaster
        >>> from gramian.datasets import make_sum_of_sines
        >>> y = make_sum_of_sines(120, noise=0.05, random_state=0)
        >>> model = RKMForecaster(lags=20, n_components=4, kernel="linear", random_state=0).fit(y[:100])
        >>> lower, upper = model.predict_interval(5)
        >>> bool((lower <= upper).all())
        True
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

    # ------------------------------------------------------------ gaps

    def impute(self, y: Any = None, return_std: bool = False) -> Any:
        """Fill the gaps of a series from both sides: forecasts from the left, and of the series turned round from the right.

        Parameters
        ----------
        y : array-like, optional
            A series like the one that was fitted; None: that one.
        return_std : bool, default=False

        Returns
        -------
        filled : as ``y``
            Observed values are untouched.
        std : as ``y``, only with ``return_std``
            Standard deviations, 0 where observed.

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.
        [12] docs/theory.md, section 12: small samples.

        Examples
        --------
        >>> from gramian import RKMForecaster
        >>> from gramian.datasets import make_sum_of_sines
        >>> y = make_sum_of_sines(120, noise=0.05, random_state=0)
        >>> model = RKMForecaster(lags=20, n_components=4, kernel="linear", random_state=0).fit(y[:100])
        >>> import numpy as np
        >>> y[50:53] = np.nan
        >>> bool(np.isnan(model.impute(y)).any())
        False
        """
        paths = self._ready()
        series, single = (self._series, self._single) if y is None else as_series(y)
        if series.shape[1] != self.n_series_:
            raise ValueError(f"y has {series.shape[1]} series, but the model was fitted to {self.n_series_}.")
        filled, std = np.array(series), np.zeros_like(series)
        if np.isnan(series).any():
            turned = self._turned(series)
            backward = None if turned is None else turned._ready()
            filled, std = fill_gaps(series, paths, backward, np.random.default_rng(self._seed))
        found = [table[:, 0] if single else table for table in (filled, std)]
        if is_pandas(y):
            found = [dressed(table, y.index, getattr(y, "columns", None), getattr(y, "name", None)) for table in found]
        return tuple(found) if return_std else found[0]

    def _turned(self, series: Array) -> RKMForecaster | None:
        """The same model of the series turned round; None where that cannot be fitted."""
        first = self._members[0]
        options = {
            **self.get_params(deep=False),
            "lags": max(1, self.lags_),
            "kernel": self.kernel_,
            "season": first.transforms[0].season or None,
            "difference": first.transforms[0].difference,
            "transform": "log" if first.transforms[0].log else None,
            "n_components": 0 if self.lags_ == 0 else self.n_components,
        }
        turned = type(self)(**options)
        try:
            return turned.fit(np.array(series[::-1]) if self.n_series_ > 1 else np.array(series[::-1, 0]))
        except ValueError:
            return None

    # ------------------------------------------------------------ words

    def explain(self) -> str:
        """What was taken off the series and why, which of AC's four algorithms was run, and what held-out stretches said."""
        return forecaster_words(self, self._ready().members)
