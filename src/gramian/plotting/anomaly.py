"""Anomalies: how far rows lie from the model, against the limits, and which columns are responsible."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_choice, check_count, check_number
from gramian._types import Table
from gramian.plotting._canvas import (
    BLUE,
    GREY,
    RED,
    colorbar,
    column_names,
    legend,
    named_ticks,
    panels,
    plain,
    single,
    time_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {"t2": "T² (along the subspace)", "spe": "SPE (off the subspace)"}


def anomaly_histogram(
    model: BaseEstimator, X: Table, *, statistic: str = "spe", level: float = 0.99, ax: Axes | None = None
) -> Any:
    """How the rows' distances are spread, with the limit that a share 1 - level of normal rows exceeds [2].

    Parameters
    ----------
    model : fitted PPCA or another model with ``anomaly``; or a fitted LatentOutlierDetector around any model, whose own scores
        and threshold are then drawn
    X : array-like of shape (n_samples, n_features)
    statistic : {"spe", "t2"}, default="spe"
        The distance off, or along, the principal subspace. Where rows miss entries each row has its own limit of SPE, and the
        ratio to it is drawn.
    level : float in (0, 1), default=0.99
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from gramian import PPCA, datasets, plotting
    >>> X = datasets.make_low_rank(400, 10, rank=3, random_state=0)
    >>> ax = plotting.anomaly_histogram(PPCA(n_components=3).fit(X[:300]), X[300:])
    >>> ax.get_xlabel()
    'SPE (off the subspace)'
    """
    check_is_fitted(model)
    check_choice("statistic", statistic, tuple(NAMES))
    check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
    if hasattr(model, "anomaly") and not hasattr(model, "offset_"):  # a detector has a threshold of its own
        found = model.anomaly(X, level=level)
        values, limit, name = (
            np.asarray(getattr(found, statistic)),
            getattr(found, f"limit_{statistic}"),
            NAMES[statistic],
        )
        if np.ndim(limit):
            values, limit, name = (
                values / np.maximum(limit, np.finfo(float).tiny),
                1.0,
                f"{statistic.upper()} / its limit for the row",
            )
        said = f"{100 * level:g} % limit"
    elif hasattr(model, "offset_"):
        values, limit, name, said = -model.score_samples(X), -model.offset_, "minus the log-likelihood", "threshold"
    else:
        raise TypeError(
            f"{type(model).__name__} has no anomaly(X). Wrap it: LatentOutlierDetector(model).fit(X) sets a threshold for any model."
        )
    values = np.asarray(values, dtype=float)
    ax = plain(single(ax))
    beyond = values > limit
    positive = bool((values > 0).all()) and limit > 0
    log = positive and values.max() > 20 * np.median(values)
    ends = (min(values.min(), limit), max(values.max(), limit))
    bins = np.geomspace(*ends, 41) if log else np.linspace(*ends, 41)
    if ends[0] == ends[1]:
        bins = np.linspace(ends[0] - 0.5, ends[0] + 0.5, 41)
    ax.hist(values[~beyond], bins=bins.tolist(), color=BLUE, label=f"{int((~beyond).sum())} rows within")
    if beyond.any():
        ax.hist(
            values[beyond],
            bins=bins.tolist(),
            color=RED,
            hatch="////",
            edgecolor="white",
            lw=0,
            label=f"{int(beyond.sum())} rows beyond",
        )
    ax.axvline(limit, color="black", lw=1.2, ls="--", label=said)
    if log:
        ax.set_xscale("log")
    ax.set(xlabel=name, ylabel="rows")
    legend(ax)
    return ax


def control_chart(
    model: BaseEstimator,
    X: Table,
    *,
    level: float = 0.99,
    index: Any = None,
    contributions: bool = True,
    max_columns: int = 12,
    feature_names: Iterable[Any] | None = None,
    ax: Axes | None = None,
) -> Array:
    """T² and SPE of rows in their order, with limits, and below them which columns stand out [2].

    Parameters
    ----------
    model : fitted PPCA or another model with ``anomaly``
    X : array-like of shape (n_samples, n_features)
        Rows in the order of time.
    level : float in (0, 1), default=0.99
    index : array-like of shape (n_samples,), optional
        Times or numbers of the rows. Default: the index of a pandas data frame where it holds times or numbers, else 0, 1, 2, ...
    contributions : bool, default=True
        Draw the third panel: for each row and column, how much the distance would fall were that entry missing.
    max_columns : int, default=12
        Only the columns with the largest contributions are shown.
    feature_names : names of the columns; default those of the fitted data frame, or their numbers
    ax : array of three Axes (two without contributions), Figure, SubFigure or Axes (whose place is divided), optional

    Returns
    -------
    ndarray of matplotlib Axes: T², SPE and, if asked for, contributions

    Examples
    --------
    >>> from gramian import PPCA, datasets, plotting
    >>> X = datasets.make_low_rank(300, 6, rank=2, random_state=0)
    >>> X[280:, 1] += 8.0
    >>> axes = plotting.control_chart(PPCA(n_components=2).fit(X[:200]), X[200:])
    >>> [ax.get_ylabel() for ax in axes[:2]], axes[2].get_yticklabels()[0].get_text()
    (['T²', 'SPE'], 'column 1')
    """
    check_is_fitted(model)
    check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
    if not hasattr(model, "anomaly"):
        raise TypeError(f"{type(model).__name__} has no anomaly(X). Use PPCA.")
    found = model.anomaly(X, level=level)
    times = times_of(X, index, len(found.t2))
    count = 3 if contributions else 2
    heights = [1, 1, 1.3][:count]
    axes = panels(ax, (count, 1), (7.0, 1.9 * count), sharex=True, height_ratios=heights).ravel()
    for one, name, values, limit in (
        (axes[0], "T²", found.t2, found.limit_t2),
        (axes[1], "SPE", found.spe, found.limit_spe),
    ):
        trace(plain(one), times, np.asarray(values, dtype=float), np.broadcast_to(limit, values.shape), level)
        one.set_ylabel(name)
    if contributions:
        names = column_names(model, found.contributions.shape[1], feature_names)
        contribution_map(
            axes[2],
            times,
            np.asarray(found.contributions, dtype=float),
            names,
            check_count("max_columns", max_columns, 1),
        )
    for one in axes[:-1]:
        one.tick_params(labelbottom=False)
    axes[-1].set_xlabel("time" if times.dtype.kind == "M" else "row")
    if times.dtype.kind == "M":
        time_ticks(axes[-1].xaxis)
    for one in axes:
        one.set_xlim(*edges(times)[[0, -1]])
    return axes


def trace(ax: Axes, times: Array, values: Array, limit: Array, level: float) -> None:
    """One statistic over time; what is beyond its limit is marked by colour and shape."""
    beyond = values > limit
    ax.plot(times, values, color=BLUE, lw=0.8, zorder=2)
    ax.plot(times[~beyond], values[~beyond], "o", ms=2.2, color=BLUE, zorder=3)
    ax.plot(times[beyond], values[beyond], "D", ms=4, color=RED, zorder=4, label=f"beyond: {int(beyond.sum())}")
    ax.plot(times, limit, color="black", lw=1, ls="--", zorder=1, label=f"{100 * level:g} % limit")
    positive = values[values > 0]
    if positive.size and values.max() > 20 * np.median(limit):
        ax.set_yscale("log")
        ax.set_ylim(bottom=max(np.percentile(positive, 1) / 2, 1e-4 * float(np.median(limit)) or 1e-300))
    legend(ax, loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2, borderaxespad=0.0)


def contribution_map(ax: Axes, times: Array, contributions: Array, names: list[str], max_columns: int) -> None:
    """Columns from top to bottom, the one that stands out most first."""
    order = np.argsort(-contributions.max(axis=0, initial=0.0), kind="stable")[:max_columns]
    shown = contributions[:, order].T
    top = float(np.percentile(shown, 99.5)) if shown.size else 1.0
    up = np.arange(len(order) + 1) - 0.5
    drawn = ax.pcolormesh(
        edges(times), up, np.sqrt(shown), cmap="Purples", vmin=0, vmax=max(np.sqrt(top), 3.0), rasterized=True
    )
    ax.set_ylim(len(order) - 0.5, -0.5)
    named_ticks(ax.yaxis, [names[j] for j in order])
    ax.spines[:].set_color(GREY)
    colorbar(drawn, ax, "contribution\n(standard deviations)")


def times_of(X: Any, index: Any, n_rows: int) -> Array:
    """The horizontal coordinate of each row."""
    if index is None:
        own = np.asarray(X.index) if hasattr(X, "iloc") else np.arange(n_rows)
        return own if own.dtype.kind in "Miuf" and len(np.unique(own)) == n_rows else np.arange(n_rows)
    times = np.asarray(index)
    if times.shape != (n_rows,):
        raise ValueError(f"index has shape {times.shape}, but there are {n_rows} rows.")
    if times.dtype.kind not in "Miuf":
        raise ValueError(f"index must hold numbers or times, got {times.dtype}. Leave it out to number the rows.")
    return times


def edges(times: Array) -> Array:
    """The borders of cells around each time."""
    if len(times) < 2:
        step = np.timedelta64(1, "D") if times.dtype.kind == "M" else 1
        return np.concatenate([times - step / 2, times + step / 2])
    steps = np.diff(times) / 2
    return np.concatenate([times[:1] - steps[:1], times[:-1] + steps, times[-1:] + steps[-1:]])
