"""Every Python block of README.md and docs/*.md runs, top to bottom, one namespace a page; every public name is documented."""

import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import gramian

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
DRAWN = {"plotting.md", "ppca.md"}  # tests/plotting/test_pages.py runs them
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in DRAWN], ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    if "from gramian.deep" in page.read_text():
        pytest.importorskip("torch", reason="the page shows trained maps: pip install 'gramian[deep]'")
    monkeypatch.chdir(tmp_path)
    np.random.seed(0)  # noqa: NPY002  pages may show library calls without a seed
    module = types.ModuleType("docs_page")  # a real module: pages define classes, and classes are pickled by name
    monkeypatch.setitem(sys.modules, "docs_page", module)
    space = vars(module)
    for block in BLOCK.findall(page.read_text()):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(block, page.name, "exec"), space)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http", "mailto")):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", [name for name in gramian.__all__ if name != "__version__"])
def test_public_names_import_and_have_a_docstring(name):
    assert getattr(gramian, name).__doc__
