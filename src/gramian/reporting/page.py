"""From sections to one HTML file: Jinja2 with autoescape, everything inside, no request to anywhere."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from gramian import __version__
from gramian.io.atomic import atomic_path
from gramian.reporting.blocks import Section, shorten
from gramian.reporting.colours import COLOURS

TEMPLATE, STYLE, SCRIPT = "template.html.j2", "page.css", "page.js"


def render(title: str, lead: str, sections: Sequence[Section], footer: str = "") -> str:
    """The page as text.

    Examples
    --------
    >>> from gramian.reporting.blocks import Section, Text
    >>> page = render("<b>", "", [Section("What", [Text("1 < 2")])])
    >>> "&lt;b&gt;" in page, "1 &lt; 2" in page
    (True, True)
    """
    check_extras(pictures=False)
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(shorten=shorten, together=together)
    folder = Path(__file__).parent
    template = environment.from_string((folder / TEMPLATE).read_text(encoding="utf-8"))
    script = (folder / SCRIPT).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    footer = (
        footer or f"Made with gramian {__version__}. The page is one file: it loads nothing and can be kept or sent."
    )
    return template.render(
        title=shorten(title, 120),
        lead=lead,
        sections=list(sections),
        footer=footer,
        script=script,
        style=COLOURS.read_text(encoding="utf-8") + (folder / STYLE).read_text(encoding="utf-8"),
        digest=digest,
    )


def check_extras(*, pictures: bool = False) -> None:
    """Say what is not installed before any work is done for a page; ``pictures`` of matplotlib are on the demo's only."""
    try:
        import jinja2  # noqa: F401

        if pictures:
            import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("the page needs Jinja2 (and matplotlib): pip install 'gramian[report]'.") from error


def write_page(path: str | os.PathLike[str], title: str, lead: str, sections: Sequence[Section]) -> int:
    """Write the page, whole or not at all; returns its size in bytes."""
    return save_page(path, render(title, lead, sections))


def save_page(path: str | os.PathLike[str], html: str) -> int:
    """Write a rendered page, whole or not at all; returns its size in bytes."""
    content = html.encode("utf-8", "replace")
    if os.fspath(path) == "-":
        import sys

        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    else:
        with atomic_path(path) as temporary:
            temporary.write_bytes(content)
    return len(content)


def together(blocks: Iterable[Any]) -> list[list[Any]]:
    """Neighbouring pictures in one group, so that they stand side by side; anything else alone."""
    groups: list[list[Any]] = []
    for is_picture, members in groupby(blocks, key=lambda block: block.kind in ("picture", "drawing")):
        found = list(members)
        groups.extend([found] if is_picture else [[block] for block in found])
    return groups
