"""Measured tables inside pages: each between two comment lines that name it."""

from __future__ import annotations

import re
from pathlib import Path


def write_block(page: Path, name: str, lines: list[str]) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- /name -->`` in ``page``."""
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{page} has no block named {name!r}.")
    body = "\n".join(lines) + "\n"
    page.write_text(pattern.sub(lambda match: match.group(1) + body + match.group(2), text), encoding="utf-8")
