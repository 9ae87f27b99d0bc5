"""What each run found, kept as JSON in a file of its own beside the scripts, so that pages are written from it and not by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PARTS = Path(__file__).with_name("reliability")


def part(name: str) -> Path:
    """The file of a run."""
    return PARTS / f"{name.replace(' ', '_')}.json"


def noted() -> dict[str, Any]:
    """All that was kept: name of a run -> what it found."""
    return {
        path.stem.replace("_", " "): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(PARTS.glob("*.json"))
    }


def note(name: str, found: Any) -> None:
    """Keep what a run found, in the place of what it found before; runs at the same time do not meet."""
    PARTS.mkdir(exist_ok=True)
    part(name).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
