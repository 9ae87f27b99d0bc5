"""Every module of latent has a test file of its own, and no test file stands for a module that is gone."""

from pathlib import Path

import gramian.latent

HERE = Path(__file__)


def test_every_module_of_latent_has_its_test_file_and_no_file_is_left_over():
    source = Path(gramian.latent.__file__).parent
    modules = {path.stem for path in source.glob("*.py")} - {"__init__"}
    tested = {path.stem.removeprefix("test_") for path in HERE.parent.glob("test_*.py")} - {
        HERE.stem.removeprefix("test_")
    }
    assert modules - tested == set()
    assert tested - modules == set()
