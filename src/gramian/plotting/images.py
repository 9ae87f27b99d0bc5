"""Mosaics: rows drawn as pictures where they are pictures, and as strips of a heat map where they are not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_count, check_number, check_table
from gramian._types import RandomState, Table
from gramian.plotting._canvas import (
    DIVERGING,
    IMAGES,
    PALE,
    colorbar,
    column_names,
    drawing_library,
    label,
    named_ticks,
    single,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST_IMAGE = 16
"""A row of at least this many entries, a square number, is taken for a square picture unless said otherwise."""


def reconstruction_grid(
    model: BaseEstimator,
    X: Table,
    *,
    image_shape: tuple[int, int] | None = None,
    n_rows: int = 8,
    feature_names: Iterable[Any] | None = None,
    ax: Axes | None = None,
) -> Any:
    """Original, reconstruction and residual of some rows; residuals on a scale of their own, grey where nothing was seen [2].

    Parameters
    ----------
    model : fitted model with ``reconstruct``
    X : array-like of shape (n_samples, n_features)
        Missing entries are drawn grey; their reconstruction is what the model expects there.
    image_shape : pair of ints, optional
        Height and width of a row drawn as a picture. Default: a square, where a row has a square number of at least 16
        entries; else rows are strips of a heat map, in standard deviations of each column.
    n_rows : int, default=8
        How many of the rows, spread evenly.
    feature_names : names of the columns, for strips
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gramian import PPCA, plotting
    >>> X = load_digits().data
    >>> ax = plotting.reconstruction_grid(PPCA(n_components=10).fit(X), X, n_rows=6)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['original', 'reconstruction', 'residual']
    """
    check_is_fitted(model)
    table = np.asarray(check_table(None, X, reset=False, missing=True), dtype=float)
    rows = spread_rows(len(table), check_count("n_rows", n_rows, 1))
    shown = table[rows]
    chosen = X.iloc[rows] if hasattr(X, "iloc") else shown
    rebuilt = np.asarray(model.reconstruct(chosen), dtype=float)
    if rebuilt.shape != shown.shape:
        raise ValueError(f"reconstruct gave shape {rebuilt.shape} for rows of shape {shown.shape}.")
    shape = picture_shape(image_shape, shown.shape[1])
    if shape is None:
        return strips(model, table, shown, rebuilt, rows, feature_names, ax)
    height, width = shape
    ax = single(ax, (0.8 * len(rows) + 1.2, 0.8 * 3 * height / width + 0.3))
    ax.set_facecolor("none")
    low, high = limits(shown if np.isfinite(shown).any() else rebuilt)
    residual = shown - rebuilt
    reach = float(np.nanmax(np.abs(residual), initial=0.0)) or 1.0
    for line, block in enumerate((shown, rebuilt, residual)):
        scale: Any = (
            {"cmap": DIVERGING, "vmin": -reach, "vmax": reach}
            if line == 2
            else {"cmap": IMAGES, "vmin": low, "vmax": high}
        )
        mosaic_line(ax, block.reshape(-1, height, width), line, **scale)
    frame(ax, len(rows), 3, height / width)
    ax.set_yticks(-centres(3, height / width), ["original", "reconstruction", "residual"])
    return ax


def samples_grid(
    model: BaseEstimator,
    *,
    image_shape: tuple[int, int] | None = None,
    n_samples: int = 24,
    n_columns: int = 8,
    random_state: RandomState = None,
    feature_names: Iterable[Any] | None = None,
    ax: Axes | None = None,
) -> Any:
    """Rows drawn from the model [3].

    Parameters
    ----------
    model : fitted model with ``sample``
        Of a mixture the drawn component is not shown.
    image_shape : pair of ints, optional
        As in `reconstruction_grid`.
    n_samples, n_columns : int, default=24 and 8
    random_state : seed of the draws; None is the model's own
    feature_names : names of the columns, for strips
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gramian import PPCA, plotting
    >>> ax = plotting.samples_grid(PPCA(n_components=20).fit(load_digits().data), n_samples=12, random_state=0)
    >>> len(ax.images)
    12
    """
    check_is_fitted(model)
    drawn = model.sample(check_count("n_samples", n_samples, 1), random_state=random_state)
    rows = np.asarray(drawn[0] if isinstance(drawn, tuple) else drawn, dtype=float)
    shape = picture_shape(image_shape, rows.shape[1])
    if shape is None:
        names = column_names(model, rows.shape[1], feature_names)
        centre, scale = rows.mean(axis=0), spread_of(rows)
        ax = single(ax)
        drawn_strips = ax.imshow(
            (rows - centre) / scale, cmap=DIVERGING, vmin=-3, vmax=3, aspect="auto", interpolation="nearest"
        )
        named_ticks(ax.xaxis, names)
        ax.set_ylabel("draw")
        colorbar(drawn_strips, ax, "standard deviations")
        return ax
    height, width = shape
    n_columns = min(check_count("n_columns", n_columns, 1), len(rows))
    lines = -(-len(rows) // n_columns)
    ax = single(ax, (0.8 * n_columns, 0.8 * lines * height / width))
    low, high = limits(rows)
    for line in range(lines):
        block = rows[line * n_columns : (line + 1) * n_columns].reshape(-1, height, width)
        mosaic_line(ax, block, line, cmap=IMAGES, vmin=low, vmax=high)
    frame(ax, n_columns, lines, height / width)
    ax.set_yticks([])
    return ax


def latent_traversal(
    model: BaseEstimator,
    *,
    components: Iterable[int] | None = None,
    image_shape: tuple[int, int] | None = None,
    n_steps: int = 9,
    extent: float = 2.0,
    feature_names: Iterable[Any] | None = None,
    ax: Axes | None = None,
) -> Any:
    """What the model expects as one latent moves from -extent to +extent, the others at zero: one line per component [2].

    Parameters
    ----------
    model : fitted model with ``inverse_transform``
    components : positions, default the first five
    image_shape : pair of ints, optional
        As in `reconstruction_grid`. Rows that are no pictures are drawn as a heat map: columns from top to bottom, in units of
        the largest change.
    n_steps : int, default=9
    extent : float, default=2.0
        Latents have standard deviation one.
    feature_names : names of the columns, for heat maps
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gramian import PPCA, plotting
    >>> ax = plotting.latent_traversal(PPCA(n_components=8).fit(load_digits().data), n_steps=5)
    >>> len(ax.images), ax.get_yticklabels()[0].get_text()
    (25, 'latent 1')
    """
    check_is_fitted(model)
    q = int(model.n_components_)
    chosen = list(range(min(q, 5))) if components is None else [check_count("components", one, 0) for one in components]
    if not chosen or max(chosen) >= q:
        raise ValueError(f"components={chosen!r} must name at least one of the {q} components, counted from 0.")
    steps = np.linspace(-check_number("extent", extent, 0.0, open_low=True), extent, check_count("n_steps", n_steps, 2))
    Z = np.zeros((len(chosen), len(steps), q))
    for line, component in enumerate(chosen):
        Z[line, :, component] = steps
    rows = np.asarray(model.inverse_transform(Z.reshape(-1, q)), dtype=float).reshape(len(chosen), len(steps), -1)
    shape = picture_shape(image_shape, rows.shape[2])
    written = [f"{step:+.3g}".replace("-", "−") if step else "0" for step in steps]
    if shape is None:
        return traversal_map(model, rows, chosen, written, feature_names, ax)
    height, width = shape
    ax = single(ax, (0.8 * len(steps) + 0.8, 0.8 * len(chosen) * height / width + 0.5))
    low, high = limits(rows)
    for line, block in enumerate(rows):
        mosaic_line(ax, block.reshape(-1, height, width), line, cmap=IMAGES, vmin=low, vmax=high)
    frame(ax, len(steps), len(chosen), height / width)
    ax.set_yticks(-centres(len(chosen), height / width), [f"latent {one + 1}" for one in chosen])
    ax.set_xticks(centres(len(steps)), written)
    return ax


# ---------------------------------------------------------------- pictures


def picture_shape(image_shape: Any, n_features: int) -> tuple[int, int] | None:
    """Height and width, or None where rows are no pictures."""
    if image_shape is not None:
        height, width = (check_count("image_shape", one, 1) for one in image_shape)
        if height * width != n_features:
            raise ValueError(
                f"image_shape={tuple(image_shape)} has {height * width} pixels, but a row has {n_features}."
            )
        return height, width
    side = round(n_features**0.5)
    return (side, side) if side * side == n_features and n_features >= SMALLEST_IMAGE else None


def spread_rows(available: int, wanted: int) -> Array:
    """Row numbers spread evenly."""
    return np.unique(np.linspace(0, available - 1, min(wanted, available)).astype(int))


def limits(values: Array) -> tuple[float, float]:
    """A grey scale that a few extreme pixels do not stretch."""
    low, high = np.nanpercentile(values, [0.5, 99.5])
    return (float(low), float(high)) if high > low else (float(low) - 0.5, float(low) + 0.5)


def mosaic_line(ax: Axes, pictures: Array, line: int, cmap: str, **scale: Any) -> None:
    """Pictures side by side in line ``line`` from the top, each one wide, with missing pixels grey."""
    colours = drawing_library().colormaps[cmap].with_extremes(bad=PALE)
    tall = pictures.shape[1] / pictures.shape[2]
    top = -line * (tall + 0.12)
    for place, picture in enumerate(pictures):
        left = place * (1 + 0.12)
        ax.imshow(picture, cmap=colours, extent=(left, left + 1, top - tall, top), interpolation="nearest", **scale)


def centres(count: int, size: float = 1.0) -> Array:
    """Where the middles of ``count`` pictures of this size are, counted from the first."""
    return np.arange(count) * (size + 0.12) + size / 2


def frame(ax: Axes, n_columns: int, n_lines: int, tall: float) -> None:
    """A mosaic's limits, and no frame."""
    ax.set(xlim=(-0.12 / 2, n_columns * (1 + 0.12) - 0.12 / 2), ylim=(-n_lines * (tall + 0.12) + 0.12 / 2, 0.12 / 2))
    ax.set_aspect("equal")
    ax.spines[:].set_visible(False)
    ax.set_xticks([])
    ax.tick_params(length=0)


# ---------------------------------------------------------------- tables


def spread_of(table: Array) -> Array:
    """Standard deviation of each column, one where it is constant."""
    spread = np.nanstd(table, axis=0)
    return np.where(spread > 0, spread, 1.0)


def strips(
    model: BaseEstimator,
    table: Array,
    shown: Array,
    rebuilt: Array,
    rows: Array,
    feature_names: Iterable[Any] | None,
    ax: Axes | None,
) -> Any:
    """Rows of a table and their reconstruction side by side, in standard deviations of each column."""
    names = column_names(model, shown.shape[1], feature_names)
    centre, scale = np.nanmean(table, axis=0), spread_of(table)
    gap = np.full((len(shown), 1), np.nan)
    blocks = [(shown - centre) / scale, gap, (rebuilt - centre) / scale, gap, (shown - rebuilt) / scale]
    ax = single(ax, (8.4, 0.3 * len(rows) + 2.2))
    colours = drawing_library().colormaps[DIVERGING].with_extremes(bad=PALE)
    drawn = ax.imshow(np.hstack(blocks), cmap=colours, vmin=-3, vmax=3, aspect="auto", interpolation="nearest")
    d = shown.shape[1]
    for one in (d, 2 * d + 1):
        ax.axvspan(one - 0.5, one + 0.5, color="white", lw=0)
    if d <= 13:
        short = [name if len(name) <= 16 else f"{name[:15]}…" for name in names]
        named_ticks(ax.xaxis, short * 3, [block * (d + 1) + j for block in range(3) for j in range(d)])
        ax.set_xticks(ax.get_xticks(), short * 3, rotation=90, ha="center", rotation_mode="default")
    else:
        ax.set_xticks([])
    for block, title in enumerate(("original", "reconstruction", "residual")):
        ax.annotate(title, (block * (d + 1) + (d - 1) / 2, 1.02), xycoords=("data", "axes fraction"), ha="center")
    named_ticks(ax.yaxis, [label(row) for row in rows])
    ax.set_ylabel("row")
    ax.spines[:].set_visible(False)
    colorbar(drawn, ax, "standard deviations")
    return ax


def traversal_map(
    model: BaseEstimator,
    rows: Array,
    chosen: list[int],
    written: list[str],
    feature_names: Iterable[Any] | None,
    ax: Axes | None,
) -> Any:
    """Columns from top to bottom, steps from left to right, one block per component."""
    names = column_names(model, rows.shape[2], feature_names)
    middle = rows[:, :, :].mean(axis=(0, 1))
    change = rows - middle
    reach = np.abs(change).max(axis=(0, 1))
    change = change / np.where(reach > 0, reach, 1.0)
    steps = len(written)
    gap = np.full((rows.shape[2], 1), np.nan)
    blocks: list[Array] = []
    for block in change:
        blocks += [block.T, gap]
    ax = single(ax, (min(10.0, 1.8 + 0.22 * steps * len(chosen)), min(8.0, 1.0 + 0.24 * len(names))))
    drawn = ax.imshow(np.hstack(blocks[:-1]), cmap=DIVERGING, vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    named_ticks(ax.yaxis, names)
    places = [block * (steps + 1) + one for block in range(len(chosen)) for one in (0, steps - 1)]
    named_ticks(ax.xaxis, [written[0], written[-1]] * len(chosen), places)
    ax.tick_params(axis="x", rotation=0)
    for block, component in enumerate(chosen):
        place = block * (steps + 1) + (steps - 1) / 2
        ax.annotate(f"latent {component + 1}", (place, 1.02), xycoords=("data", "axes fraction"), ha="center")
    ax.spines[:].set_visible(False)
    colorbar(drawn, ax, "change (largest = 1)")
    return ax
