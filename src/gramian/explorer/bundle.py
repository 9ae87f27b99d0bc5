"""The page's files, and the same modules as one for a notebook. There is no build step: modules are joined by their order."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path

from gramian.reporting.colours import palette

STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".css": "text/css"}
MODULES = (
    "kit.js",
    "store.js",
    "plot.js",
    "points.js",
    "map.js",
    "table.js",
    "odd.js",
    "evidence.js",
    "samples.js",
    "views.js",
    "series.js",
    "clusters.js",
    "columns.js",
    "actions.js",
    "explorer.js",
)
"""In an order in which each needs only those before it."""
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async )?(function|const|class|let) )", re.MULTILINE)


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Name -> content and type; nothing else is ever sent."""
    found = {
        path.name: (path.read_bytes(), TYPES[path.suffix]) for path in sorted(STATIC.iterdir()) if path.suffix in TYPES
    }
    found["explorer.css"] = (style().encode(), TYPES[".css"])
    return found


def index_page(token: str) -> bytes:
    """The page, with the way to its files."""
    return (STATIC / "index.html").read_text(encoding="utf-8").replace("{token}", escape(token, quote=True)).encode()


def style() -> str:
    """The report's colours and the explorer's own rules, all below ``.gramian``."""
    light, dark = palette()
    return (
        f".gramian {{{light}}}\n"
        f"@media (prefers-color-scheme: dark) {{ .gramian:not([data-theme=light]) {{{dark}}} }}\n"
        f".gramian[data-theme=dark] {{{dark}}}\n" + (STATIC / "explorer.css").read_text(encoding="utf-8")
    )


def widget_module() -> str:
    """All modules as one, for a home that loads a single file."""
    parts = [_IMPORT.sub("", (STATIC / name).read_text(encoding="utf-8")) for name in MODULES]
    return "\n".join([*(_EXPORT.sub("", part) for part in parts), (STATIC / "widget.js").read_text(encoding="utf-8")])
