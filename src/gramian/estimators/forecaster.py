"""RKMForecaster: the last values of a series are one view, the next value another [8]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array, is_dask
from gramian._checks import (
    check_choice,
    check_count,
    check_n_components,
    check_random_state,
    check_scale,
    is_auto,
    is_count,
)
from gramian._types import RandomState, Table
from gramian.evidence.selection import Selection
from gramian.features import approximations
from gramian.policy import KERNELS, LOOK
from gramian.series.candidates import SeriesOptions
from gramian.series.choice import MOST_MEMBERS, Choice, choose_plan
from gramian.series.dask_panel import count_of_series, some_series
from gramian.series.forecasts import Forecasts
from gramian.series.long_table import PanelNames, as_panel, is_panel
from gramian.series.panel_law import Learned
from gramian.series.paths import (
    Member,
    SmoothingMember,
    calibrated_spread,
    shared_transform,
    transformed_inputs,
)
from gramian.series.series import as_series
from gramian.series.smoothing import Outlook, Smoothing
from gramian.series.stretches import usual_horizon
from gramian.series.time_index import describe_index, is_pandas, usual_seasons, wrong_index
from gramian.series.transform import forward_table
from gramian.series.window_model import WindowOptions, fit_windows
from gramian.series.words import forecaster_words, panel_words
from gramian.single.answers import atomic, forget
from gramian.views.specs import check_target_params


class RKMForecaster(Forecasts):
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
    approximation : "auto", None, "nystroem" or "rff", default="auto"
        "auto": exact up to 1,000 windows, Nystroem above: as near to the truth there, at a third of the cost.
    n_landmarks : int, optional
        Landmarks of the approximation (None: 500).
    n_folds : int or None, default=5
        Stretches of the series that are held out in turn to calibrate; None: nothing is.
    n_members : int, default=4
        Where the choice falls on linear models, the best of so many structures are averaged, half of it with the plain model where
        that is as good; 1: the best alone.
    tol, max_iter, random_state, verbose
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

    _members: Annotated[list[Member], "*: its d"]
    _usual_seasons: tuple[int, ...] = ()  # seasons that a time column of a file suggests, where the series has no index
    season_: int | None
    _index: Annotated[dict[str, Any] | None, ""]
    difference_: int
    transform_: str | None
    algorithm_: str
    n_iter_: int
    n_components_: int
    held_out_error_: Any
    skill_: dict[str, float] | None
    noise_variances_: Array
    selection_: Selection
    residual_std_: Annotated[Array | None, "maybe + d"]

    def __init__(
        self,
        lags: int | str = "auto",
        n_components: int | float | None = 0.95,
        *,
        season: int | str | None = "auto",
        difference: int | str = "auto",
        transform: str | None = "auto",
        kernel: Any = "auto",
        noise_variance: float | str = "per-view",
        standardize: bool = True,
        strategy: str = "recursive",
        horizon: int | None = None,
        view_weights: Any = "balanced",
        approximation: str | None = "auto",
        n_landmarks: int | None = None,
        n_folds: int | None = 5,
        n_members: int = MOST_MEMBERS,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: RandomState = None,
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
    def fit(
        self,
        y: Any,
        X: Table | None = None,
        *,
        id: str | None = None,
        time: str | None = None,
        value: str | None = None,
    ) -> RKMForecaster:
        """Fit to a series, or to many [8, 10].

        Parameters
        ----------
        y : array-like of shape (n_times,) or (n_times, n_series)
            Equally spaced in time, oldest first; NaN marks gaps. A pandas index is continued by the forecasts; one that is
            irregular, duplicated or descending is refused. Many series, of any lengths: a dict or a list of series, a pandas object with
            an index of (id, time), or a long table (pandas, polars, Arrow, Dask) with one row per series and time.
        X : array-like of shape (n_times, n_inputs), optional
            Exogenous inputs at the same times, whose future values `predict` is given. NaN rows are unknown. Of many series: the names of
            columns of the long table, or a dict (list) of tables, one per series.
        id, time, value : str, optional
            The columns of a long table; None: "unique_id", "ds" and "y".

        Returns
        -------
        RKMForecaster

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
        if is_panel(y, named=any(name is not None for name in (id, time, value))):
            return self._fit_panel(y, X, PanelNames.of(id, time, value, X))
        self._panel = None
        series, self._single = as_series(y)
        self._describe(y)
        inputs = None if X is None else as_series(X, "X")[0]
        self._check_series(series, inputs)
        self.n_series_, self.n_inputs_ = series.shape[1], 0 if inputs is None else inputs.shape[1]
        choice = choose_plan(series, inputs, self._open(), self._options(1 if is_auto(self.lags) else self.lags))
        self._series, self._inputs = series, inputs
        self._fit_members(choice, series, inputs)
        self._seed = int(check_random_state(self.random_state).integers(2**31))
        self._store(choice)
        self._spread = np.ones((1, self.n_series_))
        if self.n_folds is not None and choice.evidence is not None:
            rng = np.random.default_rng(self._seed)
            self._spread = calibrated_spread(self._ready(choice.outlook), choice.evidence.errors, rng)
        return self

    def _fit_panel(self, y: Any, X: Any, names: PanelNames) -> RKMForecaster:
        asked = {"lags": "auto", "difference": "auto", "kernel": "auto", "strategy": "recursive"}
        wrong = [name for name, usual in asked.items() if getattr(self, name) != usual]
        if wrong:
            raise ValueError(f"{wrong[0]}={getattr(self, wrong[0])!r} is for one series. Leave it out for a panel.")
        self._panel_names, self._lazy = names, None
        n_series = None
        if is_dask(y):
            self._lazy, n_series = y, count_of_series(y, names)
            y = some_series(y, names)
        panel = as_panel(y, names, None if names.inputs else X)
        for name, table in (("y", panel.values), ("X", panel.inputs)):
            check_scale(float(np.nanmax(np.abs(table), initial=0.0)), name)
        usual = usual_seasons(panel.clock) or self._usual_seasons
        seasons = usual if is_auto(self.season) else (int(self.season),) if self.season else ()
        middle = int(np.median(panel.lengths))
        horizon = usual_horizon(middle, list(seasons)) if self.horizon is None else self.horizon
        learned = Learned.of(panel, Smoothing(tuple(seasons), self.transform), min(horizon, max(1, middle // 3)))
        self._seed = int(check_random_state(self.random_state).integers(2**31))
        self._panel, self._members, self._smoothing = panel, [], SmoothingMember(learned.smoothing)
        self.n_series_, self.n_inputs_ = n_series or len(panel.ids), panel.inputs.shape[1]
        self._series, self._inputs, self._single = np.empty((0, self.n_series_)), None, False
        self._index = self._columns = self._name = None
        self._spread = np.ones((1, 1)) if self.n_folds is None else learned.spread
        if learned.selection is not None:
            self.selection_ = learned.selection
        self.lags_, self.season_, self.difference_ = 0, max(seasons, default=None), 1
        self.transform_: Any = None
        self.kernel_, self.algorithm_, self.n_iter_ = "linear", "smoothing", 1
        self.n_components_ = 2 + max(seasons, default=0)
        self.held_out_error_: float | None = None
        self.skill_: dict[str, float] | None = None
        return self

    def _wrong_state(self) -> str | None:
        """What a model file may not say: that nothing is there to forecast with."""
        state = vars(self)
        empty = "_members" in state and not state["_members"]
        if empty and state.get("_smoothing") is None and state.get("_panel") is None:
            return "_members is an empty list"
        return wrong_index(state.get("_index"))

    def _check_params(self) -> None:
        if not is_auto(self.lags):
            check_count("lags", self.lags, 1)
        if not (is_auto(self.season) or self.season is None or (is_count(self.season) and self.season >= 2)):
            raise ValueError(
                f"season={self.season!r} must be None, 'auto', or a whole number of values per season from 2 on."
            )
        given = not is_auto(self.difference)
        if given and (not is_count(self.difference) or self.difference not in (0, 1)):
            raise ValueError(f"difference={self.difference!r} must be 0, 1 or 'auto'.")
        if self.transform is not None:
            check_choice("transform", self.transform, ("log", "auto"))
        check_choice("strategy", self.strategy, ("recursive", "direct"))
        if self.horizon is not None:
            check_count("horizon", self.horizon, 1)
        check_count("n_members", self.n_members, 1)
        check_target_params(self, ("auto", *approximations()), open_units=False)

    def _check_series(self, series: Array, inputs: Array | None) -> None:
        """Check that a series (T, d) is long enough for the parameters, has values, and magnitudes that can be squared."""
        if inputs is not None and len(inputs) != len(series):
            raise ValueError(
                f"X has {len(inputs)} rows, but y has {len(series)} values. Give one row of X for each of y."
            )
        season = 0 if is_auto(self.season) or self.season is None else int(self.season)
        lost = season + (0 if is_auto(self.difference) else int(self.difference))
        lags = 1 if is_auto(self.lags) else int(self.lags)
        ahead = self._ahead(lags)
        if len(series) < lags + ahead + lost + 1:
            said = f"lags={lags}" if not is_auto(self.lags) else "a forecast"
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
            self.tol,
            self.max_iter,
            self.verbose,
            LOOK.gram if is_auto(self.kernel) else KERNELS.exact_rows,
            self.random_state,
        )

    def _describe(self, y: Any) -> None:
        self._index = describe_index(y)
        pandas = is_pandas(y)
        self._columns = [str(c) for c in y.columns] if pandas and hasattr(y, "columns") else None
        name = getattr(y, "name", None) if pandas else None
        self._name = name if name is None or isinstance(name, str | int) else str(name)

    def _fit_members(self, choice: Choice, series: Array, inputs: Array | None) -> None:
        plan = choice.plan
        self._members, self._smoothing = [], None
        for member, transforms in enumerate(plan.transforms):
            kernel = plan.kernels[member]
            if isinstance(kernel, Smoothing):
                self._smoothing = SmoothingMember(kernel, plan.weight(member))
                continue
            options = plan.options(member, self._options(max(1, plan.lags[member])))
            z, _ = forward_table(transforms, series)
            known = None if inputs is None else transformed_inputs(inputs, shared_transform(transforms))
            lost = max(transform.lost for transform in transforms)
            model = fit_windows(z[lost:], None if known is None else known[lost:], options)
            self._members.append(Member(transforms, model, plan.weight(member)))

    def _store(self, choice: Choice) -> None:
        evidence = choice.evidence
        self.skill_ = None if evidence is None else evidence.skill
        if choice.selection is not None:
            self.selection_ = choice.selection
        if not self._members:
            self._store_smoothing(choice.outlook)
            return
        first, plan = self._members[0], choice.plan.without(Smoothing)
        target = first.model.target
        self.lags_ = plan.lags[0]
        self.season_ = _common([t.season or None for t in first.transforms])
        self.difference_ = _common([t.difference for t in first.transforms])
        self.transform_ = _common(["log" if t.log else None for t in first.transforms])
        self.kernel_ = "linear" if plan.lags[0] == 0 else plan.kernels[0]
        self.algorithm_ = first.model.algorithm
        self.n_components_ = target.gaussian.n_components
        self.noise_variances_ = target.noise_variances
        self.n_iter_ = max(1, target.n_iter)
        self.held_out_error_ = None if target.held_out is None else target.held_out.error
        self.residual_std_ = first.model.one_step_std

    def _store_smoothing(self, outlook: Outlook | None) -> None:
        assert self._smoothing is not None
        told = (outlook or self._smoothing.smoothing.outlook(self._series.T)).told()
        self.lags_, self.season_, self.difference_, self.transform_ = told.lags, told.season, 1, told.transform
        self.kernel_, self.algorithm_ = "linear", "smoothing"
        self.n_components_, self.n_iter_ = told.n_states, 1
        self.residual_std_ = np.array([told.noise])
        self.noise_variances_ = np.square(self.residual_std_)
        self.held_out_error_ = None

    # ------------------------------------------------------------ words

    def explain(self) -> str:
        """What was taken off the series and why, whether features or pairs of windows were decomposed, and what held-out stretches said."""
        if self._panel is not None:
            assert self._smoothing is not None
            return panel_words(self.n_series_, self._smoothing)
        return forecaster_words(self, self._ready().members)


def _common(values: Sequence[Any]) -> Any:
    """The value that all series share, else the list of them."""
    return values[0] if all(value == values[0] for value in values) else list(values)
