"""The lowest versions that pyproject.toml allows are those that `make test-lowest` installs."""

import importlib.util
import json
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / ".ci"))  # scripts import each other
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def content(dependencies, group=(), **extras):
    """A pyproject.toml, read."""
    project = {"name": "gramian", "dependencies": dependencies, "optional-dependencies": extras}
    return {"project": project, "dependency-groups": {"test": list(group)}}


@pytest.fixture(scope="module")
def lowest():
    return script("lowest")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_dependency_and_every_extra_of_the_tests_has_one_lowest_version(lowest, project):
    found = lowest.floors(project)
    assert found["safetensors"] == "0.4.4"  # 0.4.3 cannot read a file without tensors
    assert {name.partition(">=")[0] for name in project["project"]["dependencies"]} <= set(found)
    assert {"matplotlib", "pyarrow", "dask", "optuna", "sktime", "pandas", "polars", "pytest"} <= set(found)


@pytest.mark.parametrize("requirement", ["numpy", "numpy<2", "numpy>=1.26,<3"])
def test_a_requirement_without_a_plain_lowest_version_is_refused(lowest, requirement):
    with pytest.raises(SystemExit, match="pyproject"):
        lowest.floors(content([requirement]))


def test_two_lowest_versions_of_one_name_are_refused(lowest):
    with pytest.raises(SystemExit, match="pandas has two"):
        lowest.floors(content([], ["gramian[io]", "pandas>=2.2"], io=["pandas>=2.1"]))


def test_an_audit_that_knows_no_package_says_so_and_does_not_fail():
    judged = script("audit").judged
    assert judged("", "requests.exceptions.ConnectionError: no route") == (
        0,
        "Not audited: no index of advisories could be reached from here. The last words of pip-audit: "
        "requests.exceptions.ConnectionError: no route",
    )
    skipped = {"name": "a", "skip_reason": "Dependency not found on PyPI and could not be audited: a (1)"}
    known = {"name": "b", "version": "2", "vulns": []}
    code, words = judged(json.dumps({"dependencies": [skipped, skipped]}), "No known vulnerabilities found")
    assert code == 0
    assert words.startswith("Not audited")
    assert "none of the 2 packages" in words
    assert judged(json.dumps({"dependencies": [skipped, known]}), "") == (
        0,
        "1 packages audited, 1 not known to the index: no advisory.",
    )
    weak = {"name": "c", "version": "3", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]}
    assert judged(json.dumps({"dependencies": [known, weak]}), "") == (1, "c 3: PYSEC-1, PYSEC-2")
