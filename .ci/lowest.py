"""Print the lowest versions that pyproject.toml allows, as constraints for pip: one "name==version" per line.

Run as ``python .ci/lowest.py``. Read are the dependencies and the extras that the extra ``test`` names, however deep.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

COMPANIONS = ["pyparsing<3.3"]  # later ones warn about how matplotlib 3.8 calls them
FLOOR = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[\w,]+)\])?(>=(?P<version>[\w.]+))?")


def floors(project: dict, extra: str = "test") -> dict[str, str]:
    """Name -> lowest version, of the dependencies and of one extra with those that it names."""
    found: dict[str, str] = {}
    waiting = [*project["dependencies"], *project["optional-dependencies"][extra]]
    while waiting:
        requirement = waiting.pop()
        match = FLOOR.fullmatch(requirement)
        if match is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} is not of the form name[extras]>=version.")
        if match["name"] == project["name"]:
            for inner in match["extras"].split(","):
                waiting.extend(project["optional-dependencies"][inner])
        elif match["version"] is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} names no lowest version.")
        elif found.setdefault(match["name"], match["version"]) != match["version"]:
            raise SystemExit(f"pyproject.toml: {match['name']} has two lowest versions.")
    return found


if __name__ == "__main__":
    content = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    for name, version in sorted(floors(content["project"]).items()):
        print(f"{name}=={version}")
    print(*COMPANIONS, sep="\n")
