"""The pictures of the report: functions of `gramian.plotting`, put into the page as data."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.report.blocks import Note, Picture

VECTOR_MARKS = 1200
DPI = 144
DRAWN_ROWS = 4000
DRAWN_FEATURES = 300


def picture(
    draw: Callable[[], Any], alt: str, caption: str = "", *, marks: int = 0, wide: bool = False
) -> Picture | Note:
    """The figure that ``draw`` makes, inside the page: as SVG, or as PNG where it has many marks.

    A picture that cannot be drawn is replaced by a note that says why; the rest of the page is not lost.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # glyphs that a font lacks, ticks on odd axes: not the reader's concern
            drawn = draw()
            figure = np.ravel(drawn)[0].figure
            return Picture(figure_uri(figure, vector=marks <= VECTOR_MARKS), alt, caption, wide)
    except (ValueError, TypeError, IndexError) as error:
        return Note(f"{alt}: no picture ({' '.join(str(error).split())[:200]}).")


def figure_uri(figure: Any, *, vector: bool = True) -> str:
    """A matplotlib figure as a data URI."""
    import matplotlib

    buffer = io.BytesIO()
    if vector:
        with matplotlib.rc_context({"svg.hashsalt": "gramian"}):
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        kind = "svg+xml"
    else:
        figure.savefig(buffer, format="png", dpi=DPI)
        kind = "png"
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


# ---------------------------------------------------------------- of an analysis


def _rows(analysis: Any) -> Any:
    """Rows to draw: all, or some spread evenly."""
    n = len(analysis.X)
    return np.arange(n) if n <= DRAWN_ROWS else np.unique(np.linspace(0, n - 1, DRAWN_ROWS).astype(int))


def missing_map(analysis: Any) -> list[Any]:
    """Where the holes are, and what fills them."""
    from gramian import plotting

    features = analysis.prepare.features
    if len(features) > DRAWN_FEATURES:
        return [Note(f"The map of missing cells is left out: {len(features)} features cannot be told apart in it.")]
    caption = "Grey: observed. Colour: missing, with what the model puts there, in column spreads."
    return [
        picture(
            lambda: plotting.missingness_map(analysis.model, analysis.X, feature_names=features),
            "Map of missing cells",
            caption,
            marks=10**6,
            wide=True,
        )
    ]


def held_out(analysis: Any) -> list[Any]:
    """The error of guessing hidden cells, over q."""
    held = analysis.held_out

    def draw() -> Any:
        from gramian.plotting._canvas import BLUE, GREY, RED, legend, plain, single, whole_ticks

        ax = plain(single(None))
        ax.plot(held.candidates, held.errors, "o-", color=BLUE, ms=5)
        ax.axhline(held.mean_error, color=GREY, lw=1, ls="--", label="filling in means")
        at = held.candidates.index(held.chosen)
        ax.plot(held.chosen, held.errors[at], "o", color=RED, ms=9, label=f"chosen: {held.chosen}")
        whole_ticks(ax.xaxis)
        ax.set(
            xlabel="latent dimensions",
            ylabel="error of hidden cells (column spreads)",
            ylim=(0.9 * min(held.errors), 1.05 * max(held.mean_error, *held.errors)),
        )
        legend(ax)
        return ax

    return [
        picture(
            draw,
            "Error of guessed cells",
            "The error of guessing hidden cells, for several numbers of latent dimensions.",
        )
    ]


def calibration(analysis: Any) -> list[Any]:
    """Whether intervals hold what they promise, on rows that the model has not seen."""
    from gramian import PPCA, plotting

    rows = _rows(analysis)
    X = analysis.X[rows]
    q = analysis.model.n_components_
    if q == 0 or len(X) < 4 * (q + 2):
        return []

    def draw() -> Any:
        from gramian.plotting._canvas import single

        return plotting.interval_calibration(PPCA(q, random_state=0).fit(X[::2]), X[1::2], ax=single(None))

    return [
        picture(
            draw,
            "Calibration of intervals",
            "Cells of rows the model has not seen, guessed: how many lie inside their intervals.",
        )
    ]


def spectrum(analysis: Any) -> list[Any]:
    """Eigenvalues against the noise, and what the columns do in the first two components."""
    from gramian import plotting

    model, X = analysis.model, analysis.X
    rows = _rows(analysis)
    complete = not np.isnan(X).any() and X.shape[1] <= 1000
    scree = picture(
        lambda: plotting.scree(model, X if complete else None),
        "Eigenvalues and noise",
        "Variance along each direction, and the noise that stands for all directions left out.",
    )
    if model.n_components_ < 2:
        return [scree, Note("One component: there is no plane to draw the columns in.")]
    arrows = picture(
        lambda: plotting.biplot(model, X[rows], feature_names=analysis.prepare.features),
        "Columns in the plane of the first two components",
        "Rows as points, columns as arrows. An arrow that reaches the circle is explained by these two components.",
        marks=len(rows),
    )
    return [scree, arrows]


def shows_ellipses(analysis: Any) -> bool:
    """Ellipses say something where rows miss cells, and can be told apart while there are few."""
    return bool(np.isnan(analysis.X).any()) and len(analysis.X) <= 60 and analysis.model.n_components_ > 1


def latent_map(analysis: Any) -> list[Any]:
    """The rows at their latent coordinates."""
    from gramian import plotting

    rows = _rows(analysis)
    labels = None if analysis.target is None else np.array(analysis.target, dtype=object)[rows]
    holes = shows_ellipses(analysis)
    name = str(analysis.prepare.target or "")
    made = [
        picture(
            lambda: plotting.latent_scatter(analysis.model, analysis.X[rows], labels, label_name=name, ellipses=holes),
            "Map of the rows",
            f"Coloured by {name}." if labels is not None else "",
            marks=len(rows),
        )
    ]
    flags = np.where(analysis.flags[rows], "unusual", "ordinary")
    if analysis.model.n_components_ > 1 and analysis.flags.any():
        made.append(
            picture(
                lambda: plotting.latent_scatter(analysis.model, analysis.X[rows], flags, ellipses=False),
                "Odd rows on the map",
                "Odd rows are far out along the structure, or off it, which this plane does not show.",
                marks=len(rows),
            )
        )
    return made


def odd_rows(analysis: Any) -> list[Any]:
    """T² and SPE of the rows in their order."""
    from gramian import plotting

    rows = _rows(analysis)
    if analysis.model.n_components_ == 0:
        return []
    return [
        picture(
            lambda: plotting.control_chart(analysis.model, analysis.X[rows], feature_names=analysis.prepare.features),
            "Distances of the rows",
            "Rows in the order of the table; above the line one ordinary row in a hundred. Below: the "
            "columns that stand out.",
            marks=10**6,
            wide=True,
        )
    ]


def clusters(analysis: Any) -> list[Any]:
    """The clusters on the map of rows."""
    from gramian import plotting

    if analysis.model.n_components_ == 0:
        return []
    rows = _rows(analysis)
    found = analysis.clusters
    labels = np.array([f"cluster {k + 1}" for k in found.labels])[rows]

    def criterion() -> Any:
        from gramian.plotting._canvas import BLUE, RED, plain, single, whole_ticks

        ax = plain(single(None))
        ax.plot(found.candidates, found.scores, "o-", color=BLUE, ms=5)
        at = found.candidates.index(len(found.model.weights_))
        ax.plot(found.candidates[at], found.scores[at], "o", color=RED, ms=9)
        whole_ticks(ax.xaxis)
        ax.set(xlabel="clusters", ylabel="mean held-out log-likelihood")
        return ax

    return [
        picture(
            lambda: plotting.latent_scatter(analysis.model, analysis.X[rows], labels, ellipses=False),
            "Clusters on the map",
            "The clusters on the map of rows.",
            marks=len(rows),
        ),
        picture(criterion, "Numbers of clusters", "How well held-out rows are described, for each number of clusters."),
    ]
