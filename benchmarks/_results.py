"""What each run found, kept as JSON in a file of its own beside the scripts, so that pages are written from it and not by hand."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PARTS = Path(__file__).with_name("reliability")
CODE = PARTS / "code"


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
    commit = git("log", "-1", "--format=%h of %cs")
    CODE.mkdir(exist_ok=True)
    (CODE / f"{part(name).stem}.txt").write_text(commit + "\n", encoding="utf-8")


def git(*words: str) -> str:
    """What git says of the repository; "" where there is none."""
    said = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return said.stdout.strip() if said.returncode == 0 else ""


def code_of(name: str) -> tuple[str, int | None]:
    """The commit that a run was of, and how many commits have changed the source since; None where git does not know.

    Runs that did not write it down are taken to be of the commit that brought their results.
    """
    path = CODE / f"{part(name).stem}.txt"
    written = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    commit = written or git("log", "-1", "--format=%h of %cs", "--", str(part(name)))
    count = git("rev-list", "--count", f"{commit.split()[0]}..HEAD", "--", "src") if commit else ""
    return commit, int(count) if count else None
