"""Which component of a mixture a row belongs to, and how surely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_choice, check_count, check_table
from gramian._types import Table
from gramian.plotting._canvas import GREY, MARKERS, PALETTE, class_colours, label, legend, plain, single
from gramian.plotting.kernel import mesh

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("auto", "plane", "bars")


def responsibilities(
    model: BaseEstimator,
    X: Table,
    *,
    kind: str = "auto",
    columns: tuple[int, int] = (0, 1),
    n_grid: int = 120,
    ax: Axes | None = None,
) -> Any:
    """The probability of each component (or class) for each row [6].

    Parameters
    ----------
    model : fitted mixture or classifier with ``predict_proba``
    X : array-like of shape (n_samples, n_features)
    kind : {"auto", "plane", "bars"}, default="auto"
        "plane": rows in the plane of two columns, their colours mixed by their probabilities; where X has just two columns the
        plane itself is tinted, with lines where two components are equally likely. "bars": one column per row, stacked, sorted by
        component and certainty. "auto" is "plane" for two columns.
    columns : pair of ints, default=(0, 1)
        Of the plane.
    n_grid : int, default=120
        Points along each side of the tinted plane.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from gramian import PPCAMixture, datasets, plotting
    >>> X, _ = datasets.make_ellipsoids(200, random_state=0)
    >>> model = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X)
    >>> ax = plotting.responsibilities(model, X)
    >>> ax.get_ylabel()
    'probability'
    """
    check_is_fitted(model)
    check_choice("kind", kind, KINDS)
    table = np.asarray(check_table(None, X, reset=False, missing=True), dtype=float)
    shares = np.asarray(model.predict_proba(X), dtype=float)
    names = getattr(model, "classes_", None)
    written = (
        [label(one) for one in names] if names is not None else [f"component {i + 1}" for i in range(shares.shape[1])]
    )
    if kind == "bars" or (kind == "auto" and table.shape[1] != 2):
        return bars(single(ax), shares, written)
    first, second = (check_count("columns", one, 0) for one in columns)
    if max(first, second) >= table.shape[1]:
        raise ValueError(f"columns={columns!r} must be below {table.shape[1]}, the number of columns.")
    ax = plain(single(ax, (5.4, 4.4)))
    points = table[:, [first, second]]
    colours = class_colours(shares.shape[1])
    if table.shape[1] == 2 and not np.isnan(points).any():
        tint(ax, model, points, colours, check_count("n_grid", n_grid, 2))
    mixed = np.clip(shares @ colours, 0.0, 1.0)
    likely = shares.argmax(axis=1)
    for i, name in enumerate(written):
        rows = likely == i
        marker = MARKERS[i % len(MARKERS)]
        ax.scatter(
            points[rows, 0],
            points[rows, 1],
            s=18,
            c=mixed[rows],
            marker=marker,
            edgecolors="white",
            linewidths=0.3,
            zorder=3,
        )
        ax.scatter([], [], s=18, color=PALETTE[i % len(PALETTE)], marker=marker, label=f"{name} ({int(rows.sum())})")
    ax.set(xlabel=axis_name(model, first), ylabel=axis_name(model, second))
    legend(ax, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def axis_name(model: BaseEstimator, column: int) -> str:
    """The name of a column on an axis."""
    names = getattr(model, "_feature_names", getattr(model, "feature_names_in_", None))
    return f"column {column}" if names is None else label(names[column])


def tint(ax: Axes, model: BaseEstimator, points: Array, colours: Array, n_grid: int) -> None:
    """The plane in the mixed, paled colours of its probabilities."""
    grid, across, up = mesh(points, n_grid, 0.1)
    shares = np.asarray(model.predict_proba(grid), dtype=float).reshape(n_grid, n_grid, -1)
    picture = 1 - 0.3 * (1 - np.clip(shares @ colours, 0.0, 1.0))
    ends = (across[0], across[-1], up[0], up[-1])
    ax.imshow(picture, origin="lower", extent=ends, aspect="auto", interpolation="bilinear", zorder=0)
    for i in range(shares.shape[2]):
        rest = np.delete(shares, i, axis=2).max(axis=2, initial=0.0)
        margin = shares[:, :, i] - rest
        if margin.min() < 0 < margin.max():
            ax.contour(across, up, margin, levels=[0.0], colors=GREY, linewidths=0.8, zorder=1)


def bars(ax: Axes, shares: Array, names: list[str]) -> Any:
    """Stacked probabilities, one column per row."""
    likely = shares.argmax(axis=1)
    order = np.lexsort((-shares.max(axis=1), likely))
    edges = np.arange(len(shares) + 1) - 0.5
    base = np.zeros(len(shares))
    for i, name in enumerate(names):
        top = base + shares[order, i]
        colour = PALETTE[i % len(PALETTE)]
        ax.stairs(top, edges, baseline=base, fill=True, color=colour, label=f"{name} ({int((likely == i).sum())})")
        base = top
    ax.set(xlabel="rows, sorted", ylabel="probability", xlim=(-0.5, len(shares) - 0.5), ylim=(0, 1))
    legend(ax, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
