"""The colours of the report, for every page that looks like it."""

from __future__ import annotations

import re
from pathlib import Path

COLOURS = Path(__file__).parent / "colours.css"


def palette() -> tuple[str, str]:
    """The declarations of the page's colours, light and dark, for other pages that look alike.

    Examples
    --------
    >>> light, dark = palette()
    >>> "--ink: #1f2933" in light, "--ink: #e6eaee" in dark
    (True, True)
    """
    text = COLOURS.read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    return light, dark
