"""Model files that earlier versions wrote still load, and give the numbers they gave (IO-08)."""

import json
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

from gramian import load
from gramian.io.model_file import VERSION, read_manifest

FOLDER = Path(__file__).parents[1] / "fixtures" / "models"
FILES = sorted(FOLDER.glob("v*/*.safetensors"))
numbers = runpy.run_path(str(FOLDER / "make_models.py"))["numbers"]


def test_there_are_files_of_every_version():
    assert {path.parent.name for path in FILES} == {f"v{version}" for version in range(1, VERSION + 1)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_model_gives_the_numbers_it_gave(path):
    assert read_manifest(path)["version"] == VERSION  # after migration
    expected = json.loads((path.parent / "expected.json").read_text())[path.stem]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = numbers(path.stem, load(path))
    assert found.keys() >= expected.keys()  # later versions may have more methods
    for method, value in expected.items():
        if isinstance(value, str) or isinstance(np.ravel(value)[0], str):
            assert found[method] == value
        else:
            tolerance = 1e-4 if "float32" in path.stem else 1e-8
            np.testing.assert_allclose(found[method], value, rtol=tolerance, atol=tolerance)
