"""Holes: where they are and what fills them, and whether the intervals hold what they promise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_number, check_random_state, check_table
from gramian._types import RandomState, Table
from gramian.plotting._canvas import (
    BLUE,
    GREY,
    colorbar,
    column_names,
    drawing_library,
    legend,
    named_ticks,
    plain,
    single,
)
from gramian.plotting.images import spread_of, spread_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ROWS = 400


def missingness_map(
    model: BaseEstimator, X: Table, *, feature_names: Iterable[Any] | None = None, ax: Axes | None = None
) -> Any:
    """The table as a map: observed cells in pale grey, missing ones in the colour of what the model puts there [5].

    Values are in standard deviations of each column. The share of missing cells stands under each column's name.

    Parameters
    ----------
    model : fitted model with ``impute``
    X : array-like of shape (n_samples, n_features), with missing entries
        Of more than 400 rows, 400 spread evenly are drawn.
    feature_names : names of the columns; default those of the fitted data frame, or their numbers
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from gramian import PPCA, datasets, plotting
    >>> X = datasets.make_missing(load_wine().data, 0.2, random_state=0)
    >>> ax = plotting.missingness_map(PPCA(n_components=3).fit(X), X)
    >>> ax.get_title()
    '178 rows, 21.1 % of the cells missing'
    """
    check_is_fitted(model)
    matplotlib = drawing_library()
    table = np.asarray(check_table(None, X, reset=False, missing=True), dtype=float)
    holes = np.isnan(table)
    rows = spread_rows(len(table), MAX_ROWS)
    # all rows are filled, not only those drawn: the scale of a column must not hang on which are
    filled = np.asarray(model.impute(X), dtype=float)
    values = ((filled - filled.mean(axis=0)) / spread_of(filled))[rows]
    missing = holes[rows]
    shade = matplotlib.colors.Normalize(-3, 3, clip=True)
    colours = matplotlib.colors.ListedColormap(matplotlib.colormaps["plasma"](np.linspace(0.0, 0.88, 256)))
    # no colour of the scale is near that of what was observed: a hole is seen whatever fills it
    # The grey of cells that were observed.
    picture = np.where(missing[..., None], colours(shade(values))[..., :3], 0.93)
    names = column_names(model, table.shape[1], feature_names)
    ax = single(ax, (min(11.0, 2.4 + 0.36 * table.shape[1]), 4.2))
    ax.imshow(picture, aspect="auto", interpolation="nearest")
    for edge in range(1, table.shape[1]):
        ax.axvline(edge - 0.5, color="white", lw=1.0)
    shares = holes.mean(axis=0)
    written = [f"{name} ({100 * share:.0f} %)" if share > 0 else name for name, share in zip(names, shares)]
    named_ticks(ax.xaxis, written)
    ax.tick_params(axis="y", length=0)
    if len(rows) < len(table):
        places = np.linspace(0, len(rows) - 1, 6).astype(int)
        ax.set_yticks(places, [str(rows[one]) for one in places])
    ax.set(ylabel="row", title=f"{len(table)} rows, {100 * holes.mean():.1f} % of the cells missing")
    ax.title.set_fontsize("medium")
    ax.spines[:].set_visible(False)
    colorbar(matplotlib.cm.ScalarMappable(shade, colours), ax, "imputed (standard deviations)")
    return ax


def interval_calibration(
    model: BaseEstimator,
    X: Table,
    y: object = None,
    *,
    share: float = 0.1,
    random_state: RandomState = 0,
    ax: Axes | None = None,
) -> Any:
    """How often intervals of each nominal level hold the truth, with the band that chance allows [12].

    Without ``y`` a share of the observed cells is hidden, imputed with its standard deviation, and compared. With ``y`` the
    intervals are those of ``model.predict(X, return_std=True)``. Above the diagonal intervals are too wide, below it too narrow.

    Parameters
    ----------
    model : fitted model with ``impute``, or with ``predict`` for ``y``
    X : array-like of shape (n_samples, n_features)
        Rows that the model was not fitted to, for an honest picture.
    y : array-like, optional
        What ``predict`` should have said.
    share : float in (0, 1), default=0.1
        Of the observed cells, to hide.
    random_state : seed of what is hidden
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from gramian import PPCA, datasets, plotting
    >>> X = datasets.make_low_rank(400, 10, rank=3, random_state=0)
    >>> ax = plotting.interval_calibration(PPCA(n_components=3).fit(X[:200]), X[200:])
    >>> ax.get_ylabel()
    'share of truths inside'
    """
    check_is_fitted(model)
    errors = hidden_errors(model, X, share, random_state) if y is None else predicted_errors(model, X, y)
    levels = np.linspace(0.02, 0.98, 49)
    inside = np.abs(errors)[:, None] <= stats.norm.ppf((1 + levels) / 2)
    coverage = inside.mean(axis=0)
    low, high = stats.binom.ppf([[0.025], [0.975]], len(errors), levels) / len(errors)
    ax = plain(single(ax, (4.4, 4.2)))
    ax.fill_between(levels, low, high, color=GREY, alpha=0.25, lw=0, label="95 % of chance")
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
    ax.plot(levels, coverage, color=BLUE, lw=2, label=f"{len(errors)} {'cells' if y is None else 'predictions'}")
    at = float(np.mean(np.abs(errors) <= stats.norm.ppf(0.95)))
    ax.plot(0.9, at, "o", color=BLUE, ms=6, label=f"nominal 90 %: {100 * at:.0f} % inside")
    ax.set(
        xlabel="nominal level of the interval",
        ylabel="share of truths inside",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    legend(ax, loc="upper left")
    return ax


def hidden_errors(model: BaseEstimator, X: Any, share: float, random_state: RandomState) -> Array:
    """(truth - imputed) / std of cells that were hidden at random; every row keeps at least one."""
    check_number("share", share, 0.0, 1.0, open_low=True, open_high=True)
    table = np.array(check_table(None, X, reset=False, missing=True), dtype=float)
    rng = check_random_state(random_state)
    observed = ~np.isnan(table)
    hidden = observed & (rng.random(table.shape) < share)
    emptied = ~(observed & ~hidden).any(axis=1)
    hidden[emptied] = False
    if not hidden.any():
        raise ValueError(
            f"share={share} of the {int(observed.sum())} observed cells hides none. Give more rows or a larger share."
        )
    punched = np.where(hidden, np.nan, table)
    if hasattr(X, "iloc"):
        punched = type(X)(punched, columns=X.columns, index=X.index)
    filled, std = (np.asarray(part, dtype=float) for part in model.impute(punched, return_std=True))
    return standard_errors(table[hidden] - filled[hidden], std[hidden])


def predicted_errors(model: BaseEstimator, X: Table, y: object) -> Array:
    """(truth - prediction) / std."""
    mean, std = (np.asarray(part, dtype=float) for part in model.predict(X, return_std=True))
    truth = np.asarray(y, dtype=float).reshape(mean.shape)
    return standard_errors((truth - mean).ravel(), np.broadcast_to(std, mean.shape).ravel())


def standard_errors(errors: Array, std: Array) -> Array:
    """Errors over standard deviations; without a spread only an exact answer is inside."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(std > 0, errors / std, np.where(errors == 0, 0.0, np.inf))
