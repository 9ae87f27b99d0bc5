"""What a fitted forecaster says of the future and of gaps: forecasts, paths, quantiles, intervals [8, 12]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_count, check_number, check_random_state
from gramian._types import RandomState, Table
from gramian.series.gap_filling import fill_gaps
from gramian.series.old_file import old_state
from gramian.series.panel import Panel, as_panel, panel_forecast, panel_quantiles
from gramian.series.paths import ForecastPaths, Member, SmoothingMember
from gramian.series.series import as_series, check_steps
from gramian.series.time_index import describe_index, dressed, future_index, is_pandas, wrapped
from gramian.single.answers import BaseEstimator

N_PATHS = 1000
"""Paths behind intervals and quantiles."""


class Forecasts(BaseEstimator):
    """The methods of `RKMForecaster` that forecast. A subclass provides ``_ahead(lags)`` and what `fit` keeps."""

    lags: Any
    lags_: int
    kernel_: Any
    n_components: Any
    n_series_: int
    n_inputs_: int
    _members: list[Member]
    _smoothing: SmoothingMember | None = None
    _panel: Panel | None = None
    _series: Array
    _inputs: Array | None
    _spread: Array
    _seed: int
    _single: bool
    _index: Any
    _columns: list[str] | None
    _panel_names: tuple[str | None, str | None, str | None]
    _name: Any

    def _ahead(self, lags: int) -> int:
        raise TypeError(f"{type(self).__name__} does not say how many values one step predicts.")

    def _ready(self) -> ForecastPaths:
        """What there is to forecast with; a model file of the first version is read as the plain model that it is."""
        check_is_fitted(self)
        if self._panel is not None:
            raise ValueError(
                "This is for one series, but the model was fitted to a panel: use predict and predict_interval."
            )
        if "_members" not in vars(self):
            for name, value in old_state(vars(self), self._ahead(self.lags)).items():
                setattr(self, name, value)
        members: list[Member | SmoothingMember] = [*self._members]
        if self._smoothing is not None:
            members.append(self._smoothing)
        return ForecastPaths(members, self._series, self._inputs, self._spread)

    def _finished(self, values: Array, steps: Array, plain: bool = False) -> Any:
        """Forecasts (..., most, d) at the wanted steps, in the container of the series."""
        chosen = values[..., steps - 1, :]
        chosen = chosen[..., 0] if self._single else chosen
        return chosen if plain else wrapped(chosen, self._index, steps, self._columns, self._name)

    def predict(self, steps: int | Sequence[int], X: Table | None = None, *, history: Table | None = None) -> Any:
        """Forecast the next values.

        Parameters
        ----------
        steps : int, or list of positive ints
            How many values, or which (1 is the next), answered in that order.
        X : array-like of shape (at least the farthest step, n_inputs), optional
            Future exogenous inputs.
        history : array-like, optional
            Go on from these values instead of the end of the training series: at least ``lags_`` of them, and those that
            season and level are compared with. Of a panel: other series, in any of the forms that `fit` takes.

        Returns
        -------
        ndarray, Series or DataFrame of shape (n_steps,) or (n_steps, n_series)
            Of a panel a long table with the columns of ids and times, and "mean".

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
        if getattr(self, "_panel", None) is not None:
            return self._panel_answer(steps, X, history, None)
        paths = self._ready()
        wanted = check_steps(steps)
        most = int(wanted.max())
        future = _checked_future(X, self.n_inputs_, most)
        found = paths.middle(most, future, _checked_history(history, paths, self.lags_))
        return self._finished(found, wanted, plain=history is not None)

    def sample_paths(
        self,
        steps: int | Sequence[int],
        n_paths: int = 100,
        X: Table | None = None,
        *,
        history: Table | None = None,
        random_state: RandomState = None,
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
        future = _checked_future(X, self.n_inputs_, most)
        run = paths.calibrated(most, future, _checked_history(history, paths, self.lags_), n_paths, rng)
        return np.asarray(self._finished(run, wanted, plain=True))

    def predict_quantiles(
        self,
        steps: int | Sequence[int],
        quantiles: npt.ArrayLike,
        X: Table | None = None,
        *,
        history: Table | None = None,
    ) -> Array:
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
        levels = _checked_levels(quantiles)
        paths = self.sample_paths(steps, N_PATHS, X, history=history)
        return np.quantile(paths, levels, axis=0)

    def predict_interval(
        self, steps: int | Sequence[int], level: float = 0.9, X: Table | None = None, *, history: Table | None = None
    ) -> Any:
        """The ends of the central intervals that hold the future with probability ``level``; they hold `predict` too.

        Parameters
        ----------
        steps, X, history
            As in `predict`.
        level : float, default=0.9

        Returns
        -------
        lower, upper : as `predict`; of a panel one table with both columns

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
        if getattr(self, "_panel", None) is not None:
            levels = {"lower": 0.5 - level / 2, "upper": 0.5 + level / 2}
            return self._panel_answer(steps, X, history, levels)
        lower, upper = self.predict_quantiles(steps, [0.5 - level / 2, 0.5 + level / 2], X, history=history)
        middle = np.asarray(self.predict(steps, X, history=history))
        ends = np.minimum(lower, middle), np.maximum(upper, middle)
        if history is not None:
            return ends
        wanted = check_steps(steps)
        low, high = (wrapped(end, self._index, wanted, self._columns, self._name) for end in ends)
        return low, high

    def update(self, new: Any) -> Any:
        """Go on with newer values, without a new fit: forecasts begin after them.

        Parameters
        ----------
        new : array-like
            The values after the known ones, in the form that was fitted; of a panel also new series.

        Returns
        -------
        self

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import RKMForecaster
        >>> model = RKMForecaster(random_state=0).fit(np.arange(20.0))
        >>> bool(abs(model.update([20.0, 21.0]).predict(1)[0] - 22.0) < 0.2)
        True
        """
        check_is_fitted(self)
        if self._panel is not None:
            self._panel = self._panel.joined(self._as_panel(new, self._panel))
            return self
        if self.n_inputs_:
            raise ValueError("The model was fitted with exogenous inputs, which newer values lack. Fit again.")
        self._ready()
        values, _ = as_series(new, "new")
        if values.shape[1] != self.n_series_:
            raise ValueError(f"new has {values.shape[1]} series, but the model was fitted to {self.n_series_}.")
        described = describe_index(new)
        if self._index is not None:
            following = future_index(self._index, np.arange(1, len(values) + 1))
            if described is not None and not following.equals(new.index):
                raise ValueError("The index of new does not go on from that of the known values.")
            self._index = {**self._index, **_end_of(following, self._index)}
        self._series = np.concatenate([self._series, values])
        return self

    # ------------------------------------------------------------ panels

    def _as_panel(self, y: Any, clock: Panel | None = None) -> Panel:
        return as_panel(y, *self._panel_names, clock=clock)

    def _panel_answer(self, steps: Any, X: Any, history: Any, levels: dict[str, float] | None) -> Any:
        """A long table of means, or of quantiles by name."""
        if X is not None:
            raise ValueError("Series of a panel are forecast without exogenous inputs. Leave X out.")
        assert self._panel is not None
        assert self._smoothing is not None
        wanted = check_steps(steps)
        panel = self._panel if history is None else self._as_panel(history)
        most, smoothing = int(wanted.max()), self._smoothing.smoothing
        middle = panel_forecast(panel, smoothing, most)[:, wanted - 1]
        if levels is None:
            return panel.frame(wanted, {"mean": middle})
        found = panel_quantiles(panel, smoothing, most, np.array(list(levels.values())), self._spread, self._seed)
        lower, upper = found[:, :, wanted - 1]
        ends = np.minimum(lower, middle), np.maximum(upper, middle)
        return panel.frame(wanted, dict(zip(levels, ends)))

    # ------------------------------------------------------------ gaps

    def impute(self, y: Table | None = None, return_std: bool = False) -> Any:
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

    def _turned(self, series: Array) -> Forecasts | None:
        """The same model of the series turned round; None where that cannot be fitted."""
        given = self.get_params(deep=False)
        first = self._members[0] if self._members else None
        options = (
            given
            if first is None
            else {
                **given,
                "lags": max(1, self.lags_),
                "kernel": self.kernel_,
                "season": first.transforms[0].season or None,
                "difference": first.transforms[0].difference,
                "transform": "log" if first.transforms[0].log else None,
                "n_components": 0 if self.lags_ == 0 else self.n_components,
            }
        )
        turned: Any = type(self)(**options)
        try:
            return turned.fit(np.array(series[::-1]) if self.n_series_ > 1 else np.array(series[::-1, 0]))
        except ValueError:
            return None


def _end_of(index: Any, described: dict[str, Any]) -> dict[str, Any]:
    """The new end of a described index."""
    if described["kind"] in ("number", "timedelta"):
        end = index[-1]
        return {"last": int(end.value) if described["kind"] == "timedelta" else end.item()}
    return {"last": str(index[-1]) if described["kind"] == "period" else index[-1].isoformat()}


def _checked_future(X: Table | None, n_inputs: int, most: int) -> Array | None:
    """Exogenous inputs (most, k) of the steps ahead; None where the model has none."""
    if not n_inputs:
        if X is not None:
            raise ValueError("X was given to predict, but the model was fitted without exogenous inputs. Leave X out.")
        return None
    if X is None:
        raise ValueError(
            f"The model was fitted with {n_inputs} exogenous inputs. Give their future values as X, {most} rows, with NaN "
            "rows where they are not known."
        )
    future = as_series(X, "X")[0]
    if future.shape[1] != n_inputs or len(future) < most:
        raise ValueError(f"X has shape {future.shape}, but {most} rows of {n_inputs} inputs are needed.")
    return future[:most]


def _checked_history(history: Table | None, paths: ForecastPaths, lags: int) -> Array | None:
    """Values (T, d) to go on from; None where it is the end of the training series."""
    if history is None:
        return None
    series, _ = as_series(history, "history")
    if series.shape[1] != paths.n_series or len(series) < paths.needed:
        raise ValueError(
            f"history has shape {series.shape}, but at least {paths.needed} values (lags={lags}) of {paths.n_series} series are "
            "needed."
        )
    if any(t.log for member in paths.members for t in member.transforms) and np.nanmin(series) <= 0:
        raise ValueError("history has values that are not positive, but the model takes the logarithm.")
    return series


def _checked_levels(quantiles: npt.ArrayLike) -> Array:
    """Quantiles as an array of numbers in (0, 1)."""
    levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"quantiles={quantiles!r} must be numbers in (0, 1).")
    return levels
