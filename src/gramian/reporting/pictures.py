"""Pictures of matplotlib in a page, as data: the demo shows what `gramian.plotting` draws."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.policy import PAGE
from gramian.reporting.blocks import Note, Picture


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
            return Picture(figure_uri(figure, vector=marks <= PAGE.marks), alt, caption, wide)
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
        figure.savefig(buffer, format="png", dpi=144)
        kind = "png"
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
