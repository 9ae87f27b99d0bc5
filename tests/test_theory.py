"""What the code cites can be looked up: sections of the theory page, files in its tables and in the design page."""

import inspect
import re
from pathlib import Path

import pytest

import gramian

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "gramian").rglob("*.py"))
THEORY = (ROOT / "docs" / "theory.md").read_text()
SECTIONS = {int(number) for number in re.findall(r"^## (\d+)\. ", THEORY, flags=re.M)}
CITED = re.compile(r"(?<![\w\]\)\"'])\[(\d+(?:, ?(?:\d+|[a-z]\w*|[A-Z]\w*))*)\](?!\()")


def documented(text):
    """The docstrings and comments of a file."""
    return "\n".join(re.findall(r'"""(.*?)"""', text, flags=re.S) + re.findall(r"#.*", text))


def test_sections_are_numbered_without_gaps():
    assert sorted(SECTIONS)[:15] == list(range(15))
    assert max(SECTIONS) <= 21


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_section_that_a_docstring_cites_exists(path):
    words = re.sub(
        r">>> .*?(\n\s*\n|\Z)", "", documented(path.read_text()), flags=re.S
    )  # an example's output is no citation
    for group in CITED.findall(words):
        for number in re.findall(r"\d+", group):
            assert int(number) in SECTIONS, f"[{group}]"


@pytest.mark.parametrize("page", ["theory.md", "design.md"])
def test_every_file_that_a_table_names_exists(page):
    text = (ROOT / "docs" / page).read_text()
    rows = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    for name in re.findall(r"`([\w/]+\.py)`", rows):
        found = [path for path in SOURCES if str(path).endswith(f"/{name}")]
        assert found or (ROOT / name).is_file(), name
    for name in re.findall(r"`([\w]+/)`", rows):
        assert (ROOT / "src" / "gramian" / name).is_dir(), name


CLASSES = [name for name in gramian.__all__ if inspect.isclass(made := getattr(gramian, name)) and hasattr(made, "fit")]


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_estimator_refers_to_sections_of_the_theory_page(name):
    text = inspect.getdoc(getattr(gramian, name))
    found = re.search(r"^References\n-+\n(.*?)(?=\n\n\w+\n---|\Z)", text, flags=re.S | re.M)
    assert found, "no section References"
    assert "docs/theory.md" in found[1]
    assert set(map(int, re.findall(r"\[(\d+)", found[1]) or re.findall(r"sections? (\d+)", found[1]))) <= SECTIONS
