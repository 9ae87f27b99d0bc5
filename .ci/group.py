"""Print what a dependency group of pyproject.toml (PEP 735) asks for, one requirement per line; a name that is no group is an extra.

Run as ``python .ci/group.py NAME``. Any pip installs these lines with ``-r``: that of a fresh environment need not know ``--group`` (pip 25.1 does).
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def project() -> dict:
    return tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(content: dict, name: str) -> list[str]:
    """The requirements of a group and of those that it includes."""
    if name not in content["dependency-groups"]:
        return [f"{content['project']['name']}[{name}]"]
    found: list[str] = []
    for entry in content["dependency-groups"][name]:
        found += requirements(content, entry["include-group"]) if isinstance(entry, dict) else [entry]
    return found


if __name__ == "__main__":
    print(*requirements(project(), sys.argv[1]), sep="\n")
