"""What a forecaster asks of its parameters, its series, and the values it is to go on from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_choice, check_count, check_scale, is_auto, is_count
from gramian.estimators._forecast_paths import ForecastPaths
from gramian.estimators._series import as_series
from gramian.estimators._view_specs import check_target_params


def check_forecast_params(model: Any) -> None:
    """Check the parameters of a forecaster."""
    if not is_auto(model.lags):
        check_count("lags", model.lags, 1)
    if not (is_auto(model.season) or model.season is None or (is_count(model.season) and model.season >= 2)):
        raise ValueError(
            f"season={model.season!r} must be None, 'auto', or a whole number of values per season from 2 on."
        )
    given = not is_auto(model.difference)
    if given and (not is_count(model.difference) or model.difference not in (0, 1)):
        raise ValueError(f"difference={model.difference!r} must be 0, 1 or 'auto'.")
    if model.transform is not None:
        check_choice("transform", model.transform, ("log", "auto"))
    check_choice("strategy", model.strategy, ("recursive", "direct"))
    if model.horizon is not None:
        check_count("horizon", model.horizon, 1)
    check_count("n_members", model.n_members, 1)
    check_target_params(model, ("auto", "nystroem"), open_units=False)


def check_fitted_series(model: Any, series: Array, inputs: Array | None, ahead: int) -> None:
    """Check that a series (T, d) is long enough for the parameters, has values, and magnitudes that can be squared."""
    if inputs is not None and len(inputs) != len(series):
        raise ValueError(f"X has {len(inputs)} rows, but y has {len(series)} values. Give one row of X for each of y.")
    season = 0 if is_auto(model.season) or model.season is None else int(model.season)
    lost = season + (0 if is_auto(model.difference) else int(model.difference))
    lags = 1 if is_auto(model.lags) else int(model.lags)
    if len(series) < lags + ahead + lost + 1:
        said = f"lags={lags}" if not is_auto(model.lags) else "a forecast"
        more = "" if ahead == 1 else f" and horizon={ahead}"
        more += f" and season={season}" if season else ""
        raise ValueError(
            f"The series has {len(series)} values, too few for {said}{more}: at least {lags + ahead + lost + 1} are needed. "
            "Lower lags, or give a longer series."
        )
    empty = np.flatnonzero(np.isnan(series).all(axis=0))
    if len(empty):
        raise ValueError(f"Series {int(empty[0])} has no observed value. Leave it out.")
    if model.transform == "log" and np.nanmin(series) <= 0:
        raise ValueError(
            f"transform='log' needs a positive series, but its smallest value is {np.nanmin(series):g}. Use transform=None, or add "
            "a constant to the series."
        )
    for name, table in (("y", series), ("X", inputs)):
        if table is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                centred = table - np.nanmedian(table, axis=0) if not np.isnan(table).all() else table
                check_scale(float(np.nanmax(np.abs(centred), initial=0.0)), name)


def checked_future(X: Any, n_inputs: int, most: int) -> Array | None:
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


def checked_history(history: Any, paths: ForecastPaths, lags: int) -> Array | None:
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


def checked_levels(quantiles: Any) -> Array:
    """Quantiles as an array of numbers in (0, 1)."""
    levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"quantiles={quantiles!r} must be numbers in (0, 1).")
    return levels


def common(values: Sequence[Any]) -> Any:
    """The value that all series share, else the list of them."""
    return values[0] if all(value == values[0] for value in values) else list(values)
