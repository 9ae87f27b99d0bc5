"""Series and windows: what a forecaster is given, cut up, and filled where it has gaps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from gramian._arrays import Array, is_dask
from gramian._checks import check_table, is_count
from gramian._types import Table
from gramian.latent.gaussian import square_root
from gramian.latent.missing import fit_missing
from gramian.latent.primal import latent_model, rebuild_rows
from gramian.series.time_index import is_pandas


def as_series(y: Any, name: str = "y") -> tuple[Array, bool]:
    """A float64 array (n_times, d) with NaN for gaps, and whether it was one-dimensional."""
    if y is None:
        raise ValueError(f"{name} is None. Give a series.")
    if is_dask(y):
        raise TypeError(f"{name} is a lazy Dask collection, but a series is read in its order. Call .compute() on it.")
    single = False
    if is_pandas(y) and not hasattr(y, "columns"):
        y, single = y.to_frame("value"), True
    elif not hasattr(y, "columns"):
        array = (
            y if isinstance(y, np.ndarray) else np.ma.asarray(y) if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
        )
        if array.ndim == 0 or array.ndim > 2:
            raise ValueError(f"{name} has shape {array.shape}; give one series, or a table with one column per series.")
        single = array.ndim == 1
        y = array[:, None] if single else array
    table = check_table(None, y, reset=False, missing=True, name=name)
    return np.asarray(table, dtype=np.float64), single


def check_steps(steps: object) -> Array:
    """The wanted steps as an array of positive ints."""
    if is_count(steps):
        if steps < 1:
            raise ValueError(f"steps={steps!r} must be at least 1: forecasts begin after the end of the series.")
        return np.arange(1, int(steps) + 1)
    if isinstance(steps, list | tuple | range | np.ndarray):
        wanted = list(steps)
        if wanted and all(is_count(step) and step >= 1 for step in wanted):
            return np.array(wanted, dtype=int)
    raise ValueError(f"steps={steps!r} must be a positive integer, or a list of them (1 is the next value).")


def checked_future(X: Table | None, n_inputs: int, most: int) -> Array | None:
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


def checked_history(history: Table | None, paths: Any, lags: int) -> Array | None:
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


def checked_levels(quantiles: npt.ArrayLike) -> Array:
    """Quantiles as an array of numbers in (0, 1)."""
    levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"quantiles={quantiles!r} must be numbers in (0, 1).")
    return levels


def lag_windows(series: Array, lags: int, ahead: int) -> tuple[Array, Array]:
    """Windows (n, lags * d), oldest value first, and the next ``ahead`` values (n, ahead * d)."""
    whole = sliding_window_view(series, lags + ahead, axis=0).transpose(0, 2, 1)
    n = len(whole)
    return whole[:, :lags].reshape(n, -1).copy(), whole[:, lags:].reshape(n, -1).copy()


def fill_gaps(series: Array, lags: int, *, components: int = 8, least_noise: float = 1e-10) -> Array:
    """The series with its gaps filled by a linear Gaussian model of windows: each gap from the window it is most central in.

    It has at most so many components, and at least this noise, as a share of the variance of its signal.
    """
    T, d = series.shape
    length = min(lags + 1, T)
    windows = sliding_window_view(series, length, axis=0).transpose(0, 2, 1).reshape(T - length + 1, -1)
    some = ~np.isnan(windows).all(axis=1)
    out = np.where(np.isnan(series), np.nanmean(series, axis=0), series)
    dense = ~np.isnan(windows[some]).all(axis=0)
    if some.sum() < 3 or not dense.all():
        return out
    q = max(1, min(components, length * d - 1, int(some.sum()) - 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rough fit fills well enough
        fitted = fit_missing(windows[some], q, tol=1e-4, max_iter=100, random_state=0)
    least = least_noise * float(np.square(fitted.loadings).sum() / len(fitted.mean)) or least_noise
    model = latent_model(fitted.mean, fitted.loadings, max(float(fitted.noise_variance), least))
    for t in np.flatnonzero(np.isnan(series).any(axis=1)):
        start = int(np.clip(t - length // 2, 0, T - length))
        window = windows[start]
        if np.isnan(window).all():
            continue
        guess = rebuild_rows(model, model.subspace.project(window[None]), "map").reshape(length, d)[t - start]
        gaps = np.isnan(series[t])
        out[t, gaps] = guess[gaps]
    return out


def correlation_root(residuals: Array) -> Array:
    """R with R Rᵀ the correlation of the columns, for draws; the identity where nothing is known."""
    m = residuals.shape[1]
    if m == 1 or len(residuals) < 2:
        return np.eye(m)
    spread = residuals.std(axis=0)
    scaled = (residuals - residuals.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    correlation = scaled.T @ scaled / len(residuals)
    np.fill_diagonal(correlation, 1.0)
    return square_root(correlation)
