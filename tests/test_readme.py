"""The README opens with a picture; on the package index, where its links lead nowhere, only their words are kept."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_readme_opens_with_a_picture_that_is_there():
    first = re.search(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert first.start() < 40
    assert (ROOT / first[1]).stat().st_size < 60_000


@pytest.fixture
def module():
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_addresses_are_those_of_the_repository_that_builds_the_package(module):
    assert module.addresses({}) == {}
    told = module.addresses(
        {
            "GITHUB_SERVER_URL": "https://code.example/",
            "GITHUB_REPOSITORY": "a/b",
            "DOCUMENTATION_URL": "https://d.example",
        }
    )
    assert told["Source"] == "https://code.example/a/b"
    assert told["Issues"] == "https://code.example/a/b/issues"
    assert told["Documentation"] == "https://d.example"


def test_the_readme_of_the_package_index_has_no_link_that_leads_nowhere(module):
    text = module.for_index((ROOT / "README.md").read_text())
    assert re.findall(r"\]\((?!https?:|mailto:|#)", text) == []
    assert "Probabilistic PCA" in text
    assert module.for_index("![a](b.png)\n[c](d.md) [e](https://f.g)") == "c [e](https://f.g)"
