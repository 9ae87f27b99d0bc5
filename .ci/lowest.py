"""Print the lowest versions that pyproject.toml allows, as constraints for pip: one "name==version" per line.

Run as ``python .ci/lowest.py``. Read are the dependencies, the group ``test`` and the extras that it names, however deep.
"""

from __future__ import annotations

import re

from group import project, requirements

COMPANIONS = ["pyparsing<3.3"]  # later ones warn about how matplotlib 3.8 calls them
FLOOR = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[\w,]+)\])?(>=(?P<version>[\w.]+))?")


def floors(content: dict, group: str = "test") -> dict[str, str]:
    """Name -> lowest version, of the dependencies and of one group with the extras that it names."""
    found: dict[str, str] = {}
    project = content["project"]
    waiting = [*project["dependencies"], *requirements(content, group)]
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
    for name, version in sorted(floors(project()).items()):
        print(f"{name}=={version}")
    print(*COMPANIONS, sep="\n")
