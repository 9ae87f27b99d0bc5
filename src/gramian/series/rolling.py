"""Judging a forecaster on rolling origins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import check_count
from gramian.series.series import as_series


@dataclass(frozen=True)
class RollingForecasts:
    """Forecasts from several origins, what came, and the mean squared error of each."""

    origins: Array
    forecasts: Array  # (n_origins, horizon[, d])
    truth: Array

    @property
    def errors(self) -> Array:
        """Mean squared error of each origin, over what was observed."""
        squares = np.square(self.forecasts - self.truth).reshape(len(self.origins), -1)
        return np.nanmean(squares, axis=1)

    @property
    def error(self) -> float:
        """The mean of the errors."""
        return float(self.errors.mean())


def rolling_origin(
    forecaster: Any, y: object, *, horizon: int, n_origins: int = 5, step: int | None = None, refit: bool = True
) -> RollingForecasts:
    """Forecast ``horizon`` values from several origins, each from what came before it only.

    Parameters
    ----------
    forecaster : RKMForecaster
        Not changed. With ``refit=False`` it must be fitted, and its ``predict`` goes on from each origin's history.
    y : array-like of shape (n_times,) or (n_times, n_series)
    horizon : int
    n_origins : int, default=5
        The last origin leaves exactly ``horizon`` values.
    step : int, optional
        Values between origins; None is ``horizon``.
    refit : bool, default=True

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import RKMForecaster
    >>> from gramian.series.rolling import rolling_origin
    >>> y = np.sin(np.arange(120) / 4)
    >>> model = RKMForecaster(5, 2, kernel="linear", noise_variance=0.0)
    >>> bool(rolling_origin(model, y, horizon=10, n_origins=3).error < 1e-12)
    True
    """
    series, single = as_series(y)
    horizon, n_origins = check_count("horizon", horizon, 1), check_count("n_origins", n_origins, 1)
    stride = horizon if step is None else check_count("step", step, 1)
    last = len(series) - horizon
    origins = last - stride * np.arange(n_origins)[::-1]
    if origins[0] < 2:
        raise ValueError(f"{n_origins} origins of horizon={horizon} need a longer series than {len(series)} values.")
    values = series[:, 0] if single else series
    forecasts, truths = [], []
    for origin in origins:
        past = values[:origin]
        if refit:
            found = clone(forecaster).fit(past).predict(horizon)
        else:
            found = forecaster.predict(horizon, history=past)
        forecasts.append(np.asarray(found))
        truths.append(values[origin : origin + horizon])
    return RollingForecasts(origins, np.stack(forecasts), np.stack(truths))
