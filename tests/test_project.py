"""What the project says of itself in its files agrees with itself."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = runpy.run_path(str(ROOT / ".ci" / "group.py"))["requirements"]


@pytest.mark.parametrize("name", [*PROJECT["dependency-groups"], "all"])
def test_groups_name_extras_that_are_there(name):
    lines = GROUPS(PROJECT, name)
    assert lines
    assert not any("include-group" in line for line in lines)
    for extras in re.findall(r"^gramian\[([\w,]+)\]", "\n".join(lines), flags=re.M):
        assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])


def test_tools_of_the_project_are_no_public_extras():
    assert not {"test", "bench", "release", "coverage"} & set(PROJECT["project"]["optional-dependencies"])


def test_actions_are_pinned_by_hash():
    for workflow in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        for action in re.findall(r"uses: (\S+)", workflow.read_text()):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), (workflow.name, action)


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    run = recipe.partition("  run:\n")[2].partition("\ntest:")[0]
    asked = {line.strip("- ").replace(" ", "") for line in run.splitlines() if line.strip()} - {
        "python>={{python_min}}"
    }
    assert asked == set(PROJECT["project"]["dependencies"])
