"""What a fitted forecaster says of the future and of gaps: forecasts, paths, quantiles, intervals [8, 12]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, is_dask
from gramian._checks import check_count, check_number, check_random_state
from gramian._types import RandomState, Table
from gramian.series.dask_panel import lazy_answer
from gramian.series.gap_filling import fill_gaps
from gramian.series.long_table import PanelNames, as_panel, future_inputs
from gramian.series.panel import Panel, panel_forecasts
from gramian.series.paths import ForecastPaths, Member, SmoothingMember
from gramian.series.series import as_series, check_steps, checked_future, checked_history, checked_levels
from gramian.series.smoothing import Outlook
from gramian.series.time_index import describe_index, dress, future_index, is_pandas, wrap_forecasts
from gramian.single.answers import BaseEstimator

N_PATHS = 1000
"""Paths behind intervals and quantiles."""


class Forecasts(BaseEstimator):
    """The methods of `RKMForecaster` that forecast. A subclass provides what `fit` keeps."""

    lags: Any
    lags_: Annotated[int, "count"]
    kernel_: Any
    n_components: Any
    n_series_: Annotated[int, "=d"]
    n_inputs_: Annotated[int, "count"]
    _members: list[Member]
    _smoothing: SmoothingMember | None = None
    _panel: Panel | None = None
    _series: Annotated[Array, "~ * d"]
    _inputs: Annotated[Array | None, "~ * e"]
    _spread: Annotated[Array, "+ h *"]
    _seed: Annotated[int, "count"]
    _single: Annotated[bool, ""]
    _index: Any
    _columns: Annotated[list[str] | None, ""]
    _panel_names: PanelNames
    _lazy: Any = None  # the Dask frame that was fitted
    _transient = ("_lazy",)
    _name: Annotated[Any | None, ""]

    def _ready(self, outlook: Outlook | None = None) -> ForecastPaths:
        """What there is to forecast with."""
        check_is_fitted(self)
        if self._panel is not None:
            raise ValueError(
                "This is for one series, but the model was fitted to a panel: use predict, predict_quantiles and predict_interval."
            )
        members: list[Member | SmoothingMember] = [*self._members]
        if self._smoothing is not None:
            members.append(self._smoothing)
        return ForecastPaths(members, self._series, self._inputs, self._spread, outlook)

    def _finished(self, values: Array, steps: Array, plain: bool = False) -> Any:
        """Forecasts (..., most, d) at the wanted steps, in the container of the series."""
        chosen = values[..., steps - 1, :]
        chosen = chosen[..., 0] if self._single else chosen
        return chosen if plain else wrap_forecasts(chosen, self._index, steps, self._columns, self._name)

    def predict(self, steps: int | Sequence[int], X: Table | None = None, *, history: Table | None = None) -> Any:
        """Forecast the next values [8].

        Parameters
        ----------
        steps : int, or list of positive ints
            How many values, or which (1 is the next), answered in that order.
        X : array-like of shape (at least the farthest step, n_inputs), optional
            Future exogenous inputs. Of a panel: a long table with ids, times and inputs, or a dict (list) of tables; what is not given is
            forecast.
        history : array-like, optional
            Go on from these values instead of the end of the training series: at least ``lags_`` of them, and those that
            season and level are compared with. Of a panel: other series, in any of the forms that `fit` takes.

        Returns
        -------
        ndarray, Series or DataFrame of shape (n_steps,) or (n_steps, n_series)
            Of a panel a long table with the columns of ids and times, and "mean".

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
        future = checked_future(X, self.n_inputs_, most)
        found = paths.middle(most, future, checked_history(history, paths, self.lags_))
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
        """Draw whole futures: one-step predictive draws, each fed back, spread as far as held-out stretches say [8, 12].

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

    def predict_quantiles(
        self,
        steps: int | Sequence[int],
        quantiles: npt.ArrayLike,
        X: Table | None = None,
        *,
        history: Table | None = None,
    ) -> Any:
        """Quantiles of the predictive law: exact where the series is smoothed, else of 1000 paths [8, 12].

        Parameters
        ----------
        steps, X, history
            As in `predict`.
        quantiles : number or list of numbers in (0, 1)

        Returns
        -------
        ndarray of shape (n_quantiles, n_steps) or (n_quantiles, n_steps, n_series)
            Of a panel a long table with one column per quantile, named by it.

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
        if getattr(self, "_panel", None) is not None:
            return self._panel_answer(steps, X, history, {f"{level:g}": float(level) for level in levels})
        return self._quantiles(steps, levels, X, history)[1]

    def _quantiles(self, steps: Any, levels: Array, X: Any, history: Any) -> tuple[Array, Array]:
        """The forecast at the wanted steps, and quantiles (n_levels, ...) around it."""
        paths = self._ready()
        wanted = check_steps(steps)
        most = int(wanted.max())
        future, known = checked_future(X, self.n_inputs_, most), checked_history(history, paths, self.lags_)
        found = paths.quantiles(most, future, known, levels, N_PATHS, np.random.default_rng(self._seed))
        middle, ends = (np.asarray(self._finished(part, wanted, plain=True)) for part in found)
        return middle, ends

    def predict_interval(
        self, steps: int | Sequence[int], level: float = 0.9, X: Table | None = None, *, history: Table | None = None
    ) -> Any:
        """The ends of the central intervals that hold the future with probability ``level``; they hold `predict` too [8, 12].

        Parameters
        ----------
        steps, X, history
            As in `predict`.
        level : float, default=0.9

        Returns
        -------
        lower, upper : as `predict`; of a panel one table with both columns

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
        ends = np.array([0.5 - level / 2, 0.5 + level / 2])
        middle, (lower, upper) = self._quantiles(steps, ends, X, history)
        found = np.minimum(lower, middle), np.maximum(upper, middle)
        if history is not None:
            return found
        wanted = check_steps(steps)
        low, high = (wrap_forecasts(end, self._index, wanted, self._columns, self._name) for end in found)
        return low, high

    def update(self, new: Any) -> Any:
        """Go on with newer values, without a new fit: forecasts begin after them [8].

        Parameters
        ----------
        new : array-like
            The values after the known ones, in the form that was fitted; of a panel also new series.

        Returns
        -------
        self

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
            self._panel = self._panel.joined(as_panel(new, self._names_of_panel, clock=self._panel))
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

    def _panel_answer(self, steps: Any, X: Any, history: Any, levels: dict[str, float] | None) -> Any:
        """A long table of means, or of quantiles by name."""
        assert self._panel is not None
        assert self._smoothing is not None
        history = getattr(self, "_lazy", None) if history is None else history
        wanted = check_steps(steps)
        names = self._names_of_panel
        if is_dask(history):
            return lazy_answer(self, wanted, X, history, names, levels)
        if X is not None and not self.n_inputs_:
            raise ValueError("X was given to predict, but the model was fitted without exogenous inputs. Leave X out.")
        panel = self._panel if history is None else as_panel(history, names, None)
        if panel.inputs.shape[1] != self.n_inputs_:
            raise ValueError(
                f"history has {panel.inputs.shape[1]} inputs, but the model was fitted with {self.n_inputs_}. Give new series as a long "
                "table with the columns that `fit` was given."
            )
        most = int(wanted.max())
        future = future_inputs(X, panel, names, most) if self.n_inputs_ else None
        asked = np.array(list((levels or {}).values()))
        found = panel_forecasts(panel, self._smoothing.smoothing, most, asked, self._spread, future)
        middle = found.means[:, wanted - 1]
        if levels is None:
            return panel.frame(wanted, {"mean": middle})
        ends = dict(zip(levels, found.quantiles[:, :, wanted - 1]))
        for name, bound in (("lower", np.minimum), ("upper", np.maximum)):
            if name in ends:  # an interval holds the forecast
                ends[name] = bound(ends[name], middle)
        return panel.frame(wanted, ends)

    @property
    def _names_of_panel(self) -> PanelNames:
        names = self._panel_names
        return names if isinstance(names, PanelNames) else PanelNames(*names)

    # ------------------------------------------------------------ gaps

    def impute(self, y: Table | None = None, return_std: bool = False) -> Any:
        """Fill the gaps of a series from both sides: forecasts from the left, and of the series turned round from the right [8, 12].

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
            found = [dress(table, y.index, getattr(y, "columns", None), getattr(y, "name", None)) for table in found]
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
