"""Draw the pictures of the pages: run each page's code, and save what was drawn under the name that the page gives it.

    python docs/make_pictures.py [PAGE ...]

The code blocks of a page run in order in one namespace, so that a page reads as one session. Where an image of ``pictures/`` follows
a block, the figure of its last ``ax`` (or ``axes``) is saved there: what a page shows is what its code draws.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAGES = ("plotting.md", "ppca.md")
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\s*!\[[^\]]*\]\((?P<picture>pictures/[\w-]+\.png)\))?", flags=re.S)
DPI = 100
LARGEST = 60_000


def blocks(page: str) -> list[tuple[str, str | None]]:
    """The code blocks of a page, each with the picture that follows it."""
    text = (FOLDER / page).read_text(encoding="utf-8")
    return [(match["code"], match["picture"]) for match in BLOCK.finditer(text)]


def run(page: str) -> Iterator[tuple[str, Any]]:
    """Run the blocks of a page in order; after each that has a picture, its name and its figure."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for code, picture in blocks(page):
        names.pop("ax", None), names.pop("axes", None)
        exec(compile(code, str(FOLDER / page), "exec"), names)
        if picture is not None:
            drawn = names["axes"][0] if "axes" in names else names["ax"]
            yield picture, drawn.figure


def save(figure: Any, path: Path) -> int:
    """The figure as a small PNG, with a palette where it would be large; the number of bytes."""
    from PIL import Image

    buffer = BytesIO()
    figure.savefig(buffer, dpi=DPI)
    picture = Image.open(buffer).convert("RGB")
    path.parent.mkdir(exist_ok=True)
    picture.save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    return path.stat().st_size


def main() -> None:
    """Draw all pages, or those named."""
    for page in sys.argv[1:] or PAGES:
        for picture, figure in run(page):
            print(f"{picture}: {save(figure, FOLDER / picture) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
