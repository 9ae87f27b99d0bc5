"""Drift: moving averages and sums of T² and SPE over time, against their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._types import Table
from gramian.plotting._canvas import BLUE, ORANGE, RED, legend, panels, plain, time_ticks
from gramian.plotting.anomaly import edges, times_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def drift_chart(
    model: BaseEstimator, X: Table, *, index: Any = None, ax: Axes | None = None, **options: float
) -> Array:
    """Whether rows drift away from the model: moving averages (EWMA) and sums (CUSUM) of T² and SPE, with limits [21].

    Parameters
    ----------
    model : fitted PPCA or KernelPPCA
    X : array-like of shape (n_samples, n_features)
        Rows in the order of time.
    index : array-like of shape (n_samples,), optional
        Times or numbers of the rows. Default: the index of a pandas data frame where it holds times or numbers, else 0, 1, 2, ...
    ax : array of two Axes, Figure, SubFigure or Axes (whose place is divided), optional
    **options : keyword arguments
        ``smoothing``, ``shift`` and ``run_length`` of the model's ``drift``.

    Returns
    -------
    ndarray of matplotlib Axes: moving averages, and sums

    Examples
    --------
    >>> from gramian import PPCA, datasets, plotting
    >>> X = datasets.make_low_rank(400, 6, rank=2, noise=0.5, random_state=0)
    >>> X[320:, 1] += 1.0
    >>> axes = plotting.drift_chart(PPCA(n_components=2).fit(X[:200]), X[200:])
    >>> [ax.get_ylabel() for ax in axes]
    ['moving average', 'sum']
    """
    check_is_fitted(model)
    if not hasattr(model, "drift"):
        raise TypeError(f"{type(model).__name__} has no drift(X). Use PPCA or KernelPPCA.")
    found = model.drift(X, **options)
    times = times_of(X, index, len(found.ewma_t2))
    axes = panels(ax, (2, 1), (7.0, 3.8), sharex=True).ravel()
    for one, kind, name in ((axes[0], "ewma", "moving average"), (axes[1], "cusum", "sum")):
        plain(one)
        limit = found.limit_of(kind)
        for statistic, label, color in (("t2", "T²", BLUE), ("spe", "SPE", ORANGE)):
            values = np.asarray(getattr(found, f"{kind}_{statistic}"))
            one.plot(times, values, color=color, lw=1.2, label=label)
            beyond = values > limit
            one.plot(times[beyond], values[beyond], "D", ms=3.5, color=RED, zorder=4)
        one.axhline(limit, color="black", lw=1, ls="--", label="limit")
        one.set_ylabel(name)
        legend(one, loc="upper left", ncols=3)
    axes[0].tick_params(labelbottom=False)
    axes[1].set_xlabel("time" if times.dtype.kind == "M" else "row")
    if times.dtype.kind == "M":
        time_ticks(axes[1].xaxis)
    for one in axes:
        one.set_xlim(*edges(times)[[0, -1]])
    return axes
