"""Pictures of a search: its trials over time, the surrogate along one parameter, what matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.plotting._canvas import single

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def search_history(search: Any, ax: Axes | None = None) -> Any:
    """The score of every trial, the best so far, and failed trials at the foot [10].

    Parameters
    ----------
    search : fitted BayesSearch
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import BayesSearch, PPCA
    >>> from gramian.plotting import search_history
    >>> search = BayesSearch(PPCA(), {"n_components": (1, 3)}, n_trials=3, cv=2, random_state=0).fit(load_iris().data)
    >>> ax = search_history(search)
    """
    check_is_fitted(search, "trials_")
    ax = single(ax)
    numbers = np.array(search.trials_["number"])
    scores = np.array(search.trials_["score"], dtype=float)
    fine = np.isfinite(scores)
    if fine.any():
        ax.plot(numbers[fine], scores[fine], "o", ms=4, color="0.55", label="trial")
        best = np.maximum.accumulate(np.where(fine, scores, -np.inf))
        started = np.isfinite(best)
        ax.step(numbers[started], best[started], where="post", color="C0", label="best so far")
        _readable_limits(ax, scores[fine])
    if (~fine).any():
        foot = ax.get_ylim()[0]
        ax.plot(numbers[~fine], np.full((~fine).sum(), foot), "x", color="C3", label="failed", clip_on=False)
    ax.set_xlabel("trial")
    ax.set_ylabel(_objective(search))
    ax.legend(frameon=False)
    return ax


def surrogate_slice(search: Any, parameter: str | None = None, ax: Axes | None = None, n_points: int = 200) -> Any:
    """The surrogate's mean and two standard deviations along one parameter, the others at the best trial's values [10].

    ``parameter`` is a name of the search space; None is the most important one. Trials are drawn where they fell along it,
    whatever their other parameters, so they may lie off the curve.

    Parameters
    ----------
    search : fitted BayesSearch
    parameter : str, optional
        None: the most important one.
    ax : matplotlib Axes, optional
    n_points : int, default=200
        Points of the curve.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import BayesSearch, PPCA
    >>> from gramian.plotting import surrogate_slice
    >>> search = BayesSearch(PPCA(), {"n_components": (1, 3)}, n_trials=3, cv=2, random_state=0).fit(load_iris().data)
    >>> ax = surrogate_slice(search)
    """
    check_is_fitted(search, "trials_")
    space = search._searched
    if not space.dimensions:
        raise ValueError("nothing was searched: there is no surrogate to draw.")
    if parameter is None:
        shares = search.importance()
        parameter = max(shares, key=shares.__getitem__)
    if parameter not in space.dimensions:
        raise ValueError(
            f"parameter={parameter!r} was not searched. Use one of {', '.join(map(repr, space.dimensions))}."
        )
    ax = single(ax)
    dimension, place = space.dimensions[parameter], space.columns()[parameter]
    points = np.array([trial.point for trial in search._records])
    scores = np.array(search.trials_["score"], dtype=float)
    best = points[search.best_index_]
    surrogate = search.surrogate()
    if hasattr(dimension, "choices"):
        rows = np.repeat(best[None], dimension.width, axis=0)
        rows[:, place] = np.eye(dimension.width)
        mean, std = surrogate.predict(space.snap(rows))
        ax.errorbar(range(dimension.width), mean, 2 * std, fmt="o", color="C0", capsize=4, label="surrogate ± 2 std")
        ax.plot(dimension.index(points[:, place]), scores, "o", ms=4, color="0.55", label="trials")
        ax.set_xticks(range(dimension.width), [str(choice) for choice in dimension.choices])
    else:
        grid = np.linspace(0.0, 1.0, n_points)
        rows = np.repeat(best[None], n_points, axis=0)
        rows[:, place.start] = grid  # of a vector, its first entry
        values = np.array([np.atleast_1d(dimension.decode(row[place]))[0] for row in rows])
        mean, std = surrogate.predict(space.snap(rows))
        ax.fill_between(values, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.2, lw=0)
        ax.plot(values, mean, color="C0", label="surrogate ± 2 std")
        tried = np.array([np.atleast_1d(dimension.decode(point[place]))[0] for point in points])
        ax.plot(tried, scores, "o", ms=4, color="0.55", label="trials")
        ax.set_xscale("log" if dimension.log else "linear")
    fine = np.isfinite(scores)
    _limits_of_the_band(ax, mean - 2 * std, np.concatenate([mean + 2 * std, scores[fine]]))
    ax.set_xlabel(parameter)
    ax.set_ylabel(_objective(search))
    ax.legend(frameon=False)
    return ax


def parameter_importance(search: Any, ax: Axes | None = None) -> Any:
    """Share of the surrogate's variation that each parameter explains alone, most important on top [10].

    Parameters
    ----------
    search : fitted BayesSearch
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import BayesSearch, PPCA
    >>> from gramian.plotting import parameter_importance
    >>> search = BayesSearch(PPCA(), {"n_components": (1, 3)}, n_trials=3, cv=2, random_state=0).fit(load_iris().data)
    >>> ax = parameter_importance(search)
    """
    check_is_fitted(search, "trials_")
    shares = search.importance()
    ax = single(ax)
    names = sorted(shares, key=shares.__getitem__)
    ax.barh(names, [shares[name] for name in names], color="C0")
    ax.set_xlim(0.0, max(1.0, *shares.values()) if shares else 1.0)
    ax.set_xlabel("share of the variation explained alone")
    return ax


def _objective(search: Any) -> str:
    name = search.objective_
    return f"score ({name})" if isinstance(name, str) else f"score ({getattr(name, '__name__', 'callable')})"


def _limits_of_the_band(ax: Axes, low: Any, high: Any) -> None:
    """The band fills the picture; trials below it are counted at its foot."""
    bottom, top = float(np.min(low)), float(np.max(high))
    room = 0.08 * (top - bottom) or 0.05 * abs(top) or 1.0
    ax.set_ylim(bottom - room, top + room)
    below = 0
    for line in ax.get_lines():
        if line.get_label() == "trials":
            below = int((np.asarray(line.get_ydata(), dtype=float) < bottom - room).sum())
    if below:
        words = f"{below} trial{'s' if below > 1 else ''} below"
        ax.annotate(words, (0.01, 0.02), xycoords="axes fraction", fontsize="small", color="0.4")


def _readable_limits(ax: Axes, values: Any) -> None:
    """The upper part of the scores fills the picture: one disastrous trial would flatten all the others."""
    top, low = float(values.max()), float(values.min())
    floor = top - 4.0 * (top - float(np.median(values))) if top > np.median(values) else low
    bottom = max(low, floor)
    room = 0.05 * (top - bottom) or 0.05 * abs(top) or 1.0
    ax.set_ylim(bottom - room, top + room)
