"""RKMForecaster: the last values of a series are one view, the next value another [8]."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_random_state,
    check_scale,
    check_seed,
    check_tolerance,
    is_count,
)
from gramian.estimators._base import BaseEstimator, atomic, forget
from gramian.estimators._forecast_choice import (
    MOST_MEMBERS,
    Choice,
    Evidence,
    Member,
    Open,
    choose_plan,
    shared_transform,
    transformed_inputs,
)
from gramian.estimators._gap_filling import gaps_of, joined
from gramian.estimators._horizon_calibration import spread_factors
from gramian.estimators._series import as_series, check_steps
from gramian.estimators._series_transform import (
    LARGEST_LOG,
    Ground,
    SeriesTransform,
    back_table,
    bridged,
    forward_table,
)
from gramian.estimators._time_index import describe_index, dressed, is_pandas, usual_seasons, wrapped
from gramian.estimators._window_model import WindowModel, WindowOptions, fit_windows
from gramian.latent.dimension import check_n_components
from gramian.solvers import solvers_for

N_PATHS = 1000
"""Paths behind intervals and quantiles."""
GAP_PATHS = 200
"""Paths behind the standard deviation of a filled gap."""


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
        "auto": exact up to 2,000 windows, Nystroem above.
    n_landmarks : int, optional
        Landmarks of the approximation (None: 400).
    n_folds : int or None, default=5
        Stretches of the series that are held out in turn to calibrate; None: nothing is.
    n_members : int, default=4
        Where the choice falls on a linear model, the best of so many structures are averaged; 1: the best alone.
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
        self._check_params()
        forget(self)
        series, self._single = as_series(y)
        self._describe(y)
        inputs = None if X is None else as_series(X, "X")[0]
        self._check_series(series, inputs)
        self.n_series_, self.n_inputs_ = series.shape[1], 0 if inputs is None else inputs.shape[1]
        choice = choose_plan(series, inputs, self._open(), self._options(1 if self.lags == "auto" else self.lags))
        self._fit_members(choice, series, inputs)
        self._series, self._inputs = series, inputs
        self._seed = int(check_random_state(self.random_state).integers(2**31))
        self._store(choice)
        self._spread = self._calibrated(choice)
        return self

    def _check_params(self) -> None:
        if not _is_auto(self.lags):
            check_count("lags", self.lags, 1)
        check_n_components(self.n_components, rules=())
        if not (_is_auto(self.season) or self.season is None or (is_count(self.season) and self.season >= 2)):
            raise ValueError(
                f"season={self.season!r} must be None, 'auto', or a whole number of values per season from 2 on."
            )
        given = not _is_auto(self.difference)
        if given and (not is_count(self.difference) or self.difference not in (0, 1)):
            raise ValueError(f"difference={self.difference!r} must be 0, 1 or 'auto'.")
        if self.transform is not None:
            check_choice("transform", self.transform, ("log", "auto"))
        if isinstance(self.noise_variance, str):
            check_choice("noise_variance", self.noise_variance, ("ml", "per-view"))
        else:
            check_number("noise_variance", self.noise_variance, 0.0)
        check_flag("standardize", self.standardize)
        check_choice("strategy", self.strategy, ("recursive", "direct"))
        if self.horizon is not None:
            check_count("horizon", self.horizon, 1)
        if self.approximation is not None:
            check_choice("approximation", self.approximation, ("auto", "nystroem"))
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks, 1)
        if self.n_folds is not None:
            check_count("n_folds", self.n_folds, 2)
        check_count("n_members", self.n_members, 1)
        check_choice("space", self.space, ("auto", "primal", "dual"))
        if isinstance(self.solver, str):
            check_choice("solver", self.solver, solvers_for("views"))
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)

    def _check_series(self, series: Array, inputs: Array | None) -> None:
        if inputs is not None and len(inputs) != len(series):
            raise ValueError(
                f"X has {len(inputs)} rows, but y has {len(series)} values. Give one row of X for each of y."
            )
        season = 0 if self.season in ("auto", None) else int(self.season)
        lost = season + (0 if _is_auto(self.difference) else int(self.difference))
        lags = 1 if _is_auto(self.lags) else int(self.lags)
        ahead = self._ahead(lags)
        if len(series) < lags + ahead + lost + 1:
            said = f"lags={lags}" if not _is_auto(self.lags) else "a forecast"
            more = "" if ahead == 1 else f" and horizon={ahead}"
            more += f" and season={season}" if season else ""
            raise ValueError(
                f"The series has {len(series)} values, too few for {said}{more}: at least {lags + ahead + lost + 1} are needed. "
                "Lower lags, or give a longer series."
            )
        empty = np.flatnonzero(np.isnan(series).all(axis=0))
        if len(empty):
            raise ValueError(f"Series {int(empty[0])} has no observed value. Leave it out.")
        if self.transform == "log" and np.nanmin(series) <= 0:
            raise ValueError(
                f"transform='log' needs a positive series, but its smallest value is {np.nanmin(series):g}. Use transform=None, or add "
                "a constant to the series."
            )
        for name, table in (("y", series), ("X", inputs)):
            if table is not None:
                with np.errstate(over="ignore", invalid="ignore"):
                    centred = table - np.nanmedian(table, axis=0) if not np.isnan(table).all() else table
                    check_scale(float(np.nanmax(np.abs(centred), initial=0.0)), name)

    def _ahead(self, lags: int) -> int:
        """Values that one step predicts."""
        if self.strategy == "recursive":
            return 1
        return int(lags if self.horizon is None else self.horizon)

    def _open(self) -> Open:
        return Open(
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
            self._members.append(
                Member(transforms, fit_windows(z[lost:], None if known is None else known[lost:], options))
            )

    def _store(self, choice: Choice) -> None:
        first, plan = self._members[0], choice.plan
        target = first.model.target
        self.lags_ = plan.lags[0]
        self.season_ = _common([t.season or None for t in first.transforms])
        self.difference_ = _common([t.difference for t in first.transforms])
        self.transform_ = _common(["log" if t.log else None for t in first.transforms])
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
        self.skill_ = None if evidence is None else _skill(evidence)
        self._skill_season = 1 if evidence is None else evidence.season

    def _calibrated(self, choice: Choice) -> Array:
        """Factors (h, d) of the distance of paths to their middle."""
        if self.n_folds is None or choice.evidence is None:
            return np.ones((1, self.n_series_))
        steps = choice.horizon
        unknown = None if not self.n_inputs_ else np.repeat(self._last_inputs()[None], steps, axis=0)
        paths = self._paths(steps, unknown, None, GAP_PATHS, np.random.default_rng(self._seed))
        middle = self._middle(steps, unknown, None)
        widths = np.quantile(np.abs(self._spreading(paths) - self._spreading(middle[None])), 0.9, axis=0)
        return spread_factors(choice.evidence.errors, widths)

    def _last_inputs(self) -> Array:
        """The last known inputs: what widths are judged at."""
        assert self._inputs is not None
        return np.array(
            [column[~np.isnan(column)][-1] if (~np.isnan(column)).any() else np.nan for column in self._inputs.T]
        )

    # ------------------------------------------------------------ forecasting

    def _check_ready(self) -> None:
        """Whether there is something to forecast with; a model file of the first version is read as the plain model that it is."""
        check_is_fitted(self)
        state = vars(self)
        if "_members" in state:
            return
        old = {
            name: state[name] for name in ("_fit", "_shift", "_scale", "_low", "_high", "_correlation_root", "_window")
        }
        nothing = np.empty(0)
        input_shift, input_scale = (
            nothing if state.get(name) is None else state[name] for name in ("_input_shift", "_input_scale")
        )
        model = WindowModel(
            old["_fit"],
            self.lags,
            self._ahead(self.lags),
            old["_shift"],
            old["_scale"],
            input_shift,
            input_scale,
            old["_low"],
            old["_high"],
            old["_correlation_root"],
            self.algorithm_,
            state["_reason"],
        )
        self._members = [Member((SeriesTransform(),) * self.n_series_, model)]
        self._series, self._inputs = old["_window"] * old["_scale"] + old["_shift"], None
        self._spread = np.ones((1, self.n_series_))
        self.lags_, self.season_, self.difference_, self.transform_ = self.lags, None, 0, None
        self.kernel_, self.skill_ = self.kernel, None

    def _where(self, member: Member, series: Array) -> tuple[Array, list[Ground], int]:
        """The scaled last window, where each series stands, and how many values before the first step are unknown too."""
        transforms = member.transforms
        plain = all(t.season == 0 and t.difference == 0 for t in transforms)
        late = 0
        if not plain:
            while np.isnan(series[len(series) - 1 - late]).all():
                late += 1
            series = series[: len(series) - late]
        z, grounds = forward_table(transforms, series)
        lost = max(t.lost for t in transforms)
        window = member.model.last_window(z[lost:])
        return window, [ground.at(len(series), t.season) for ground, t in zip(grounds, transforms)], late

    def _future(self, member: Member, X: Array | None, history: bool, steps: int, late: int) -> Array | None:
        """Scaled inputs (1, late + steps, k) of the steps ahead."""
        if X is None:
            return None
        transform = shared_transform(member.transforms)
        past = np.full((transform.lost, X.shape[1]), np.nan) if history or self._inputs is None else self._inputs
        whole = transformed_inputs(np.vstack([past, X[:steps]]), transform)
        return member.model.scaled_inputs(whole[len(past) - late :])[None]

    def _member_paths(self, member: Member, steps: int, X: Array | None, history: Any, count: int, rng: Any) -> Array:
        series = self._series if history is None else history
        window, starts, late = self._where(member, series)
        future = self._future(member, X, history is not None, steps, late)
        run = member.model.run(np.repeat(window[None], count, axis=0), late + steps, future, rng)
        return back_table(member.transforms, run, starts)[:, late:]

    def _middle(self, steps: int, X: Array | None, history: Any) -> Array:
        """The forecast, (steps, d): the mean over members."""
        found = [self._member_paths(member, steps, X, history, 1, None)[0] for member in self._members]
        return found[0] if len(found) == 1 else np.mean(found, axis=0)

    def _paths(self, steps: int, X: Array | None, history: Any, count: int, rng: Any) -> Array:
        """Uncalibrated paths (count, steps, d), dealt out to the members."""
        shares = [len(part) for part in np.array_split(np.arange(count), len(self._members))]
        parts = [
            self._member_paths(member, steps, X, history, share, rng)
            for member, share in zip(self._members, shares)
            if share
        ]
        return np.concatenate(parts)

    @property
    def _logs(self) -> list[bool]:
        """Which series spread evenly on the logarithmic scale: those of which every member takes the logarithm."""
        return [all(member.transforms[j].log for member in self._members) for j in range(self.n_series_)]

    def _spreading(self, values: Array) -> Array:
        """Values (..., d) on the scale on which they spread."""
        logs = self._logs
        if not any(logs):
            return values
        out = np.array(values)
        for j in np.flatnonzero(logs):
            out[..., j] = np.log(np.maximum(values[..., j], np.finfo(float).tiny))
        return out

    def _calibrated_paths(self, steps: int, X: Array | None, history: Any, count: int, rng: Any) -> Array:
        paths = self._paths(steps, X, history, count, rng)
        factors = self._spread[np.minimum(np.arange(steps), len(self._spread) - 1)]
        if (factors == 1.0).all():
            return paths
        middle = self._spreading(self._middle(steps, X, history)[None])
        spread = middle + factors * (self._spreading(paths) - middle)
        for j in np.flatnonzero(self._logs):
            spread[..., j] = np.exp(np.clip(spread[..., j], -LARGEST_LOG, LARGEST_LOG))
        return spread

    def _checked_inputs(self, X: Any, most: int) -> Array | None:
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
        return future[:most]

    def _checked_history(self, history: Any) -> Array | None:
        if history is None:
            return None
        series, _ = as_series(history, "history")
        needed = max(member.model.lags + max(t.lost for t in member.transforms) for member in self._members)
        if series.shape[1] != self.n_series_ or len(series) < needed:
            raise ValueError(
                f"history has shape {series.shape}, but at least {needed} values (lags={self.lags_}) of {self.n_series_} series are "
                "needed."
            )
        if any(t.log for member in self._members for t in member.transforms) and np.nanmin(series) <= 0:
            raise ValueError("history has values that are not positive, but the model takes the logarithm.")
        return series

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
        self._check_ready()
        wanted = check_steps(steps)
        most = int(wanted.max())
        found = self._middle(most, self._checked_inputs(X, most), self._checked_history(history))
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
        self._check_ready()
        wanted = check_steps(steps)
        n_paths = check_count("n_paths", n_paths, 1)
        most = int(wanted.max())
        rng = np.random.default_rng(self._seed) if random_state is None else check_random_state(random_state)
        known = self._checked_inputs(X, most)
        run = self._calibrated_paths(most, known, self._checked_history(history), n_paths, rng)
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
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"quantiles={quantiles!r} must be numbers in (0, 1).")
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
        self._check_ready()
        series, single = (self._series, self._single) if y is None else as_series(y)
        if series.shape[1] != self.n_series_:
            raise ValueError(f"y has {series.shape[1]} series, but the model was fitted to {self.n_series_}.")
        filled, std = np.array(series), np.zeros_like(series)
        if np.isnan(series).any():
            self._fill(series, filled, std)
        found = [table[:, 0] if single else table for table in (filled, std)]
        if is_pandas(y):
            found = [dressed(table, y.index, getattr(y, "columns", None), getattr(y, "name", None)) for table in found]
        return tuple(found) if return_std else found[0]

    def _fill(self, series: Array, filled: Array, std: Array) -> None:
        known = np.column_stack([bridged(column, t.season) for column, t in zip(series.T, self._members[0].transforms)])
        turned = self._turned(series)
        stationary = all(t.season == 0 and t.difference == 0 for t in self._members[0].transforms)
        T = len(series)
        rng = np.random.default_rng(self._seed)
        for j, column in enumerate(series.T):
            prior = (float(np.nanmean(column)), float(np.nanvar(column))) if stationary else None
            for start, length in gaps_of(column):
                left = self._side(known[:start], length, rng, j)
                right = turned._side(known[start + length :][::-1], length, rng, j) if turned is not None else None
                if right is not None:
                    right = right[0][::-1], right[1][::-1]
                rows = slice(start, start + length)
                if left is None and right is None:
                    filled[rows, j], std[rows, j] = known[rows, j], np.nanstd(column)
                    continue
                filled[rows, j], std[rows, j] = joined(left, right, prior)
                known[rows, j] = filled[rows, j]
        assert len(filled) == T

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

    def _side(self, history: Array, length: int, rng: Any, column: int) -> tuple[Array, Array] | None:
        """Mean and standard deviation of the next values after a history without gaps; None where it is too short."""
        needed = max(member.model.lags + max(t.lost for t in member.transforms) for member in self._members)
        if len(history) < needed:
            return None
        unknown = np.full((length, self.n_inputs_), np.nan) if self.n_inputs_ else None
        paths = self._calibrated_paths(length, unknown, history, GAP_PATHS, rng)[..., column]
        return self._middle(length, unknown, history)[:, column], paths.std(axis=0)

    # ------------------------------------------------------------ words

    def explain(self) -> str:
        """What was taken off the series and why, which of AC's four algorithms was run, and what held-out stretches said."""
        self._check_ready()
        first = self._members[0]
        said = [
            f"{first.model.algorithm}: {first.model.reason}. {self.n_components_} components, {self._one_step_words()}."
        ]
        if not all(t.is_plain for t in first.transforms):
            said.append("Taken off: " + "; ".join(dict.fromkeys(t.words() for t in first.transforms)) + ".")
        if len(self._members) > 1:
            others = "; ".join(member.transforms[0].words() for member in self._members[1:])
            said.append(f"Averaged with {len(self._members) - 1} other structures ({others}).")
        if hasattr(self, "selection_"):
            said.append(f"Chosen on held-out stretches: {self.selection_.reason}.")
        if self.skill_ is not None:
            said.append(self._skill_words())
        said += [note[0].upper() + note[1:] + "." for note in first.model.notes]
        return " ".join(said)

    def _one_step_words(self) -> str:
        if self.held_out_error_ is None:
            return "nothing was held out"
        return f"one-step error on held-out stretches {self.held_out_error_:.3g} of the variance"

    def _skill_words(self) -> str:
        skill = self.skill_
        assert skill is not None
        parts = [
            f"{skill['error'] / skill[name]:.2f} of the {name} error"
            for name in ("naive", "seasonal naive")
            if skill.get(name)
        ]
        return f"Several steps ahead, on held-out stretches: {' and '.join(parts)}." if parts else ""


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _common(values: list[Any]) -> Any:
    """The value that all series share, else the list of them."""
    return values[0] if all(value == values[0] for value in values) else values


def _skill(evidence: Evidence) -> dict[str, float]:
    found = {"error": evidence.error, "naive": evidence.naive}
    if evidence.seasonal_naive is not None:
        found["seasonal naive"] = evidence.seasonal_naive
    return found
