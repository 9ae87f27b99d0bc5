"""The pages with pictures run as printed, print what they say, and their pictures are there."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def make_pictures():
    spec = importlib.util.spec_from_file_location("make_pictures", DOCS / "make_pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["plotting.md", "ppca.md"])
def test_code_of_the_page_draws_every_picture_and_prints_what_it_says(make_pictures, page, capsys):
    drawn = [picture for picture, figure in make_pictures.run(page) if figure.axes]
    text = (DOCS / page).read_text(encoding="utf-8")
    assert drawn == re.findall(r"\((pictures/[\w-]+\.png)\)", text)
    for picture in drawn:
        assert 1_000 < (DOCS / picture).stat().st_size < 60_000, f"{picture} is not there, or not small"
    assert capsys.readouterr().out.splitlines() == re.findall(r"# -> (.*)$", text, flags=re.M)
