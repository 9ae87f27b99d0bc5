"""Where pictures are drawn and how they look: axes of pyplot where it is in use, colours for every eye, names that cannot break a label."""

from __future__ import annotations

import sys
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from gramian._arrays import Array
from gramian.policy import PAGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours: told apart with every common form of colour blindness, and in the order that contrasts best
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
BLUE, RED, GREEN, PINK, ORANGE, SKY = PALETTE[:6]
GREY, PALE = "#7F7F7F", "#D0D0D0"
SEQUENTIAL, DIVERGING, IMAGES = "viridis", "PuOr_r", "gray_r"
MARKERS = "osD^vP*X"
LABEL_LENGTH = 24


# ---------------------------------------------------------------- axes


def single(ax: Axes | None, size: tuple[float, float] = (5.6, 3.8)) -> Axes:
    """``ax``, or the axes of a new figure."""
    if ax is None:
        return new_figure(size).subplots()
    if not hasattr(ax, "plot"):
        raise TypeError(f"ax={type(ax).__name__} must be a matplotlib Axes or None.")
    return ax


def panels(ax: Any, shape: tuple[int, int], size: tuple[float, float], **options: Any) -> Array:
    """An array of ``shape`` axes: those given, or made inside a Figure, a SubFigure, the place of an Axes, or a new figure."""
    count = shape[0] * shape[1]
    if ax is None:
        ax = new_figure(size)
    if hasattr(ax, "subplots"):
        return np.asarray(ax.subplots(*shape, squeeze=False, **options), dtype=object)
    if hasattr(ax, "plot"):
        if count == 1:
            return np.array([[ax]], dtype=object)
        place = ax.get_subplotspec()
        if place is None:
            raise ValueError(f"ax has no place in a grid to divide. Give a Figure, a SubFigure or {count} axes.")
        ax.set_axis_off()
        grid = place.subgridspec(*shape)
        made = np.empty(shape, dtype=object)
        for row, column in np.ndindex(*shape):
            made[row, column] = ax.figure.add_subplot(grid[row, column])
        return made
    given = np.asarray(ax, dtype=object).ravel()
    if len(given) != count or not all(hasattr(one, "plot") for one in given):
        raise ValueError(
            f"ax holds {len(given)} objects, but this picture needs {count} axes, a Figure or a SubFigure."
        )
    return given.reshape(shape)


def drawing_library() -> Any:
    """matplotlib, or the way to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError('plots need matplotlib. Install the extra: pip install "gramian[plot]".') from error
    return matplotlib


def new_figure(size: tuple[float, float]) -> Any:
    """A figure that ``plt.show()``, ``plt.gcf()`` and a notebook know, where pyplot is in use; else one that nothing has to close."""
    drawing_library()
    if "matplotlib.pyplot" in sys.modules or _in_notebook():
        from matplotlib import pyplot

        # not by rc_context: it would undo what a notebook sets when its first figure is made, and only that one would be shown
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="More than .* figures have been opened", category=RuntimeWarning)
            return pyplot.figure(figsize=size, layout="constrained")
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def _in_notebook() -> bool:
    """Whether IPython runs the code: its cells show the figures of pyplot."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


def plain(ax: Axes) -> Axes:
    """Without the two frame lines that say nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def legend(ax: Axes, **options: Any) -> None:
    """A legend where the data leaves room, without a frame."""
    ax.legend(**{"frameon": False, "fontsize": "small", **options})


def colorbar(mappable: Any, ax: Axes, name: str) -> Any:
    """A narrow colour bar beside ``ax``."""
    bar = ax.figure.colorbar(mappable, ax=ax, fraction=0.05, pad=0.02)
    bar.set_label(name)
    bar.outline.set_visible(False)
    return bar


def time_ticks(axis: Any) -> None:
    """Dates that say no more than they must."""
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator(minticks=3, maxticks=9)
    axis.set_major_locator(locator)
    axis.set_major_formatter(untyped.ConciseDateFormatter(locator))


def whole_ticks(axis: Any) -> None:
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


# ---------------------------------------------------------------- names


def label(name: Any, length: int = LABEL_LENGTH) -> str:
    """A name as text that any matplotlib label shows as it is: one line, short, no mathematics, no glyph that the font lacks."""
    text = " ".join(unicodedata.normalize("NFC", str(name)).split())
    # direction marks, joiners and lone surrogates have no shape of their own
    text = "".join(one for one in text if unicodedata.category(one) not in ("Cc", "Cf", "Cs"))
    if len(text) > length:
        text = text[: length - 1].rstrip() + "…"
    text = "".join(one if _drawable(one) else "□" for one in text)
    return text.replace("$", r"\$")


def labels(names: Iterable[Any], length: int = LABEL_LENGTH) -> list[str]:
    """`label` of each."""
    return [label(name, length) for name in names]


def _drawable(character: str) -> bool:
    return character.isascii() or any(ord(character) in known for known in _glyphs(_families()))


def _families() -> tuple[str, ...]:
    """The font families that matplotlib would try, in its order."""
    settings: Any = drawing_library().rcParams
    found: list[str] = []
    for family in settings["font.family"]:
        found += settings.get(f"font.{family}", [family])
    return tuple(found)


@lru_cache(maxsize=8)
def _glyphs(families: tuple[str, ...]) -> tuple[frozenset[int], ...]:
    """The characters of each of the families that is installed."""
    from matplotlib.font_manager import FontProperties, fontManager, get_font

    installed = {entry.name for entry in fontManager.ttflist}
    files = [fontManager.findfont(FontProperties(family=[name])) for name in families if name in installed]
    return tuple(frozenset(get_font(file).get_charmap()) for file in files)


def column_names(model: BaseEstimator, n_columns: int, given: Iterable[Any] | None = None) -> list[str]:
    """Short names of the columns: those given, those the model was fitted with, or their numbers."""
    if given is None:
        given = getattr(model, "_feature_names", getattr(model, "feature_names_in_", None))
    names = [f"column {j}" for j in range(n_columns)] if given is None else list(given)
    if len(names) != n_columns:
        raise ValueError(f"feature_names has {len(names)} names, but there are {n_columns} columns.")
    return labels(names)


def named_ticks(axis: Any, names: Sequence[str], positions: Sequence[float] | None = None) -> None:
    """Names at 0, 1, 2, ... (or ``positions``) along an axis, no more than can be read."""
    places = list(range(len(names))) if positions is None else list(positions)
    step = -(-len(names) // PAGE.columns)
    slanted = axis.axis_name == "x" and max((len(name) for name in names[::step]), default=0) > 3
    turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if slanted and len(names) > 3 else {}
    axis.set_ticks(places[::step], list(names[::step]), **turned)
    axis.set_tick_params(length=0, labelsize="small")


# ---------------------------------------------------------------- colours


def colour_points(ax: Axes, points: Array, values: Any, *, name: str = "", size: float = 16) -> Array:
    """Points in the plane, coloured by class (with a legend and a marker a class) or by a number (with a colour bar).

    Returns the colour of each point, (n, 3).
    """
    from matplotlib.colors import to_rgb

    full, size = size, max(0.4 * size, min(size, 400 * size / max(len(points), 1)))
    if values is None:
        ax.scatter(points[:, 0], points[:, 1], s=size, color=BLUE, alpha=0.8, lw=0, zorder=3)
        return np.tile(to_rgb(BLUE), (len(points), 1))
    values = np.asarray(values)
    if values.shape != (len(points),):
        raise ValueError(f"labels has shape {values.shape}, but there are {len(points)} rows.")
    classes = classes_of(values)
    if classes is None:
        drawn = ax.scatter(points[:, 0], points[:, 1], s=size, c=values.astype(float), cmap=SEQUENTIAL, lw=0, zorder=3)
        colorbar(drawn, ax, label(name))
        return np.asarray(drawn.to_rgba(values.astype(float)))[:, :3]
    colours = np.empty((len(points), 3))
    for i, one in enumerate(classes):
        rows = values == one
        colours[rows] = to_rgb(PALETTE[i % len(PALETTE)])
        # colours and shapes turn at different times: no two of 64 classes look alike
        marker = MARKERS[(i + i // len(PALETTE)) % len(MARKERS)]
        ax.scatter(
            points[rows, 0],
            points[rows, 1],
            s=size,
            color=PALETTE[i % len(PALETTE)],
            marker=marker,
            alpha=0.8,
            lw=0,
            zorder=3,
            label=label(one),
        )
    outside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(classes) > 4 else {}
    legend(ax, title=label(name) or None, markerscale=(full / size) ** 0.5, **outside)
    return colours


def classes_of(values: Array) -> Array | None:
    """The distinct values if they are classes (text, or at most ten whole numbers), None if they are measurements."""
    if values.dtype.kind in "OUSb":
        return np.array(sorted(set(values.tolist()), key=str), dtype=values.dtype)
    distinct = np.unique(values)
    whole = values.dtype.kind in "iu" or bool(np.all(distinct == np.round(distinct)))
    return distinct if whole and len(distinct) <= 10 else None


def class_colours(count: int) -> Array:
    """RGB rows for ``count`` classes."""
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(PALETTE[i % len(PALETTE)]) for i in range(count)])
