"""The lowest versions that pyproject.toml allows are those that `make test-lowest` installs."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lowest():
    spec = importlib.util.spec_from_file_location("lowest", ROOT / ".ci" / "lowest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_dependency_and_every_extra_of_the_tests_has_one_lowest_version(lowest, project):
    found = lowest.floors(project)
    assert found["safetensors"] == "0.4.4"  # 0.4.3 cannot read a file without tensors
    assert {name.partition(">=")[0] for name in project["dependencies"]} <= set(found)
    assert {"matplotlib", "pyarrow", "dask", "optuna", "sktime", "pandas", "polars", "pytest"} <= set(found)


@pytest.mark.parametrize("requirement", ["numpy", "numpy<2", "numpy>=1.26,<3"])
def test_a_requirement_without_a_plain_lowest_version_is_refused(lowest, requirement):
    with pytest.raises(SystemExit, match="pyproject"):
        lowest.floors({"name": "gramian", "dependencies": [requirement], "optional-dependencies": {"test": []}})


def test_two_lowest_versions_of_one_name_are_refused(lowest):
    extras = {"test": ["gramian[io]", "pandas>=2.2"], "io": ["pandas>=2.1"]}
    with pytest.raises(SystemExit, match="pandas has two"):
        lowest.floors({"name": "gramian", "dependencies": [], "optional-dependencies": extras})
