"""What the runs found, kept as JSON beside the scripts, so that pages are written from it and not by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("reliability.json")


def noted() -> dict[str, Any]:
    """All that was kept: name of a run -> what it found."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def note(name: str, found: Any) -> None:
    """Keep what a run found, in the place of what it found before."""
    content = {**noted(), name: found}
    RESULTS.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
