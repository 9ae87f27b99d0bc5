"""Shared fixtures: seeds, data sets in every awkward shape, and the folder of real data."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("gramian", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("gramian")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data_file():
    """Path of a file of the real-data folder; the test is skipped where it is absent."""

    def find(name):
        folder = os.environ.get("GRAMIAN_DATA")
        if not folder:
            pytest.skip(f"needs {name}: set GRAMIAN_DATA to the folder that holds it")
        path = Path(folder) / name
        if not path.exists():
            pytest.skip(f"needs {name}, which is not in the folder named by GRAMIAN_DATA")
        return path

    return find
