"""How the site is built: ``make docs``. Pages are Markdown, the reference follows from the public names, nothing is fetched."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

import gramian  # noqa: E402
from inherited_sections import complete  # noqa: E402
from make_reference import own_methods, write_pages  # noqa: E402
from plain_docstrings import escape, label_sections, refer  # noqa: E402

project = "gramian"
author = "The gramian developers"
copyright = author
version = release = gramian.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["pictures", "templates", "static", "**/sg_execution_times.rst"]
templates_path = ["templates"]
default_role = "code"
suppress_warnings = ["config.cache"]  # functions in the settings below cannot be pickled; nothing is lost

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autosummary_context = {"own_methods": own_methods}
autodoc_typehints = "none"
numpydoc_show_class_members = False  # the template of a class lists its methods
numpydoc_use_plots = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
}

html_theme = "pydata_sphinx_theme"
html_title = f"gramian {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "static" / "scorer.js")
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "gramian"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": False,
    "show_version_warning_banner": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "start": []}


def list_other_pages(app: Any, name: str, source: list[str]) -> None:
    """Pages that no list names are added to the list of the background page, so that a new page is never lost."""
    if name != "background":
        return
    lists = "\n".join(
        page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md") if "{toctree}" in page.read_text()
    )
    named = {line.strip() for line in lists.splitlines()} | {"index"}
    others = sorted(page.stem for page in FOLDER.glob("*.md") if page.stem not in named)
    source[0] = source[0].replace("% other pages\n", "\n".join(others) + "\n" if others else "")


def setup(app: Any) -> None:
    """Write the lists of the reference before Sphinx looks for pages; make plain docstrings safe for it."""
    reference = FOLDER / "reference"
    write_pages(reference)
    # all of them, and not those of the last build: what an extra brings has pages of its own
    app.config.autosummary_generate = sorted(f"reference/{page.name}" for page in reference.glob("*.rst"))
    app.connect("source-read", list_other_pages)
    app.connect("doctree-read", label_sections)
    app.connect("autodoc-process-docstring", complete, priority=400)  # before numpydoc
    app.connect("autodoc-process-docstring", refer, priority=450)  # the sections that it cites
    app.connect("autodoc-process-docstring", escape, priority=900)  # after numpydoc
