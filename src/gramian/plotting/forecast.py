"""The fan of a forecast: the past, what is expected, and how surely."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_choice, check_count, check_number
from gramian._types import Table
from gramian.plotting._canvas import BLUE, RED, label, legend, panels, plain, single
from gramian.tables.frames import frame_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def forecast_fan(
    model: BaseEstimator,
    steps: int,
    *,
    past: Any = None,
    actual: Any = None,
    X: Table | None = None,
    levels: Iterable[float] = (0.5, 0.8, 0.95),
    series: Any = 0,
    n_past: int = 100,
    ax: Axes | None = None,
) -> Any:
    """The forecast of the next ``steps`` values with a band for each level, behind the end of the series; seasons are marked [8].

    Parameters
    ----------
    model : fitted RKMForecaster
    steps : int
        How far ahead.
    past : array-like, optional
        The series before, of which the last ``n_past`` values are drawn; None: the one that was fitted.
    actual : array-like, optional
        What came to pass, drawn over the forecast, with the share of it inside the widest band.
    X : future inputs, where the model was fitted with some
    levels : of the bands, default 50, 80 and 95 %
    series : int, name or "all", default=0
        Which of several series (columns, or the ids of a panel); "all": a panel for each.
    n_past : int, default=100
    ax : matplotlib Axes, optional; with "all" an array of them, a Figure or a SubFigure

    Returns
    -------
    matplotlib Axes, or an array of them for "all". Where series with dates were fitted, the dates are on the axis.

    Examples
    --------
    >>> from gramian import RKMForecaster, datasets, plotting
    >>> y = datasets.make_sum_of_sines(200)
    >>> model = RKMForecaster(lags=30, kernel="linear", random_state=0).fit(y[:150])
    >>> ax = plotting.forecast_fan(model, 20, past=y[:150], actual=y[150:170], levels=(0.9,))
    >>> ax.get_xlabel()
    'step'
    """
    check_is_fitted(model)
    steps = check_count("steps", steps, 1)
    widths = sorted(
        (check_number("levels", one, 0.0, 1.0, open_low=True, open_high=True) for one in levels), reverse=True
    )
    # the ends of all bands from one call: each costs a thousand paths
    quantiles = [0.5 - level / 2 for level in widths] + [0.5 + level / 2 for level in reversed(widths)]
    found = _foreseen(model, steps, quantiles, X)
    drawn = {"past": past, "actual": actual, "widths": widths, "n_past": check_count("n_past", n_past, 1)}
    if isinstance(series, str) and series == "all":
        count = len(found.names)
        axes = panels(ax, (count, 1), (7.0, 2.6 * count + 0.6), sharex=found.times is None).ravel()
        for j, one in enumerate(axes):
            _one_fan(one, model, found, j, **drawn)
            one.set_ylabel(label(found.names[j]))
            if j:
                one.get_legend().remove()
        return axes
    if not isinstance(series, int | np.integer):
        series = found.names.index(check_choice("series", series, ("all", *found.names)))
    return _one_fan(single(ax, (7.0, 3.4)), model, found, check_count("series", series, 0), **drawn)


@dataclass(frozen=True)
class _Foreseen:
    """Forecasts of all series, (steps, n_series) each: the mean and quantiles; the past of each and its times, where they are known."""

    names: list[Any]
    mean: Array
    ends: list[Array]
    past: list[Array] | None
    times: list[Any] | None


def _foreseen(model: Any, steps: int, quantiles: list[float], X: Any) -> _Foreseen:
    future = {} if X is None else {"X": X}
    panel = getattr(model, "_panel", None)
    ahead = model.predict(steps, **future)
    ends = model.predict_quantiles(steps, quantiles, **future) if quantiles else []
    if panel is not None:
        n = len(panel.ids)
        past = list(panel)
        if panel.clock is not None:
            clock = panel.index(steps)
            starts = [int(first) for first in panel.firsts]
            shown: list[Any] | None = [clock[first : first + len(row) + steps] for first, row in zip(starts, past)]
        else:
            shown = None

        def by_series(table: Any, name: str) -> Array:
            return np.asarray(frame_of(table)[name].to_numpy(), dtype=float).reshape(n, steps).T

        columns = [by_series(ends, f"{level:g}") for level in quantiles]
        return _Foreseen(list(panel.ids), by_series(ahead, "mean"), columns, past, shown)
    mean = np.asarray(ahead, dtype=float).reshape(steps, -1)
    before = getattr(model, "_series", None)
    n = mean.shape[1]
    names = list(getattr(ahead, "columns", [f"series {j}" for j in range(n)]))
    index: Any = getattr(ahead, "index", None)
    times: list[Any] | None = None
    if getattr(index, "freq", None) is not None and hasattr(index, "strftime"):
        earlier = 0 if before is None else len(before)
        times = [[*(index[0] - k * index.freq for k in range(earlier, 0, -1)), *index]] * n
    series = None if before is None else [one_series(before, j) for j in range(n)]
    return _Foreseen(names, mean, [np.asarray(end, dtype=float).reshape(steps, -1) for end in ends], series, times)


def _one_fan(
    ax: Axes, model: Any, found: _Foreseen, series: int, *, past: Any, actual: Any, widths: list[float], n_past: int
) -> Axes:
    """The fan of one series."""
    steps = len(found.mean)
    mean = one_series(found.mean, series)
    ahead = np.arange(1, steps + 1)
    plain(ax)
    join: Array = np.empty(0)
    before = None if found.past is None else found.past[series]
    if past is not None:
        before = one_series(past, series)
    if before is not None:
        before = before[-n_past:]
        ax.plot(np.arange(1 - len(before), 1), before, color="black", lw=1.2, label="past")
        join = before[-1:][np.isfinite(before[-1:])]
    start = np.arange(1 - len(join), steps + 1)
    inside = ""
    for i, level in enumerate(widths):
        lower, upper = (end[:, series] for end in (found.ends[i], found.ends[-1 - i]))
        shade = 0.16 + 0.5 * i / max(len(widths), 2)
        ax.fill_between(
            start,
            np.append(join, lower),
            np.append(join, upper),
            color=BLUE,
            alpha=shade,
            lw=0,
            label=f"{100 * level:g} %",
        )
        if i == 0 and actual is not None:
            truth = one_series(actual, series)[:steps]
            known = np.isfinite(truth)
            held = (truth >= lower[: len(truth)]) & (truth <= upper[: len(truth)])
            inside = f" ({int(held[known].sum())} of {int(known.sum())} in {100 * level:g} %)"
    ax.plot(start, np.append(join, mean), color=BLUE, lw=1.6, label="forecast")
    if actual is not None:
        truth = one_series(actual, series)[:steps]
        ax.plot(ahead[: len(truth)], truth, color=RED, lw=1.2, ls="--", marker=".", ms=4, label=f"actual{inside}")
    ax.axvline(0.5 if not len(join) else 0.0, color="black", lw=0.5, ls=":")
    _mark_seasons(ax, _season_of(model, series), steps)
    ax.set(xlabel="step", ylabel="value")
    ax.margins(x=0.01)
    legend(ax, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    if found.times is not None:
        _put_dates(ax, list(found.times[series]), steps)
    return ax


def _put_dates(ax: Axes, times: list[Any], steps: int) -> None:
    """Times in the place of steps: those of the past and of the forecast, which has so many."""
    last = len(times) - steps - 1  # where step 0 stands

    def written(x: float, _: Any = None) -> str:
        at = round(x) + last
        return str(times[at])[:10] if 0 <= at < len(times) and abs(x - round(x)) < 1e-6 else ""

    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_major_formatter(written)
    ax.set_xlabel("")


def _season_of(model: Any, series: int) -> int:
    """The season that the first member which knows one takes off a series; 0 where none does."""
    found = (member.transforms[series].season for member in getattr(model, "_members", ()))
    return next(filter(None, found), 0)


def _mark_seasons(ax: Axes, season: int, steps: int) -> None:
    """Faint lines, one season apart, counted from the end of the past."""
    if season < 2:
        return
    first = int(np.ceil(ax.get_xlim()[0] / season)) * season
    for x in range(first, steps + 1, season):
        ax.axvline(x, color="black", lw=0.4, alpha=0.25, zorder=0)


def one_series(values: Any, series: int) -> Array:
    """One series of a univariate (n,) or multivariate (n, d) array, as floats."""
    array = np.asarray(values, dtype=float)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or series >= array.shape[1]:
        raise ValueError(f"series={series} is not among the {array.shape[-1]} series given (shape {np.shape(values)}).")
    return array[:, series]
