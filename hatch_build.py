"""What the package index is told: the README without links that lead nowhere there, and the addresses of the repository that builds the package.

The source names no address. Where a workflow builds the package, GITHUB_SERVER_URL and GITHUB_REPOSITORY are those of the repository, and DOCUMENTATION_URL may name
the site; models then link to it in notebooks. Elsewhere there are none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def for_index(text: str) -> str:
    """The page without pictures and links that are not whole addresses."""
    text = re.sub(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*", "", text)
    return re.sub(r"\[([^\]]+)\]\((?!https?:|mailto:|#)[^)]*\)", r"\1", text)


def addresses(environment: Mapping[str, str]) -> dict[str, str]:
    """The project's addresses, as far as the environment of the build tells them."""
    found = {}
    server, repository = (environment.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"))
    if server and repository:
        home = f"{server.rstrip('/')}/{repository}"
        found = {
            "Source": home,
            "Issues": f"{home}/issues",
            "Changelog": f"{home}/blob/main/CHANGELOG.md",
        }
    if site := environment.get("DOCUMENTATION_URL", ""):
        found["Documentation"] = site
    return found


class IndexMetadata(MetadataHookInterface):
    """Sets the readme and the addresses of the project's metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text)}
        metadata["urls"] = addresses(os.environ)
