"""The built site (``make docs``): every public name has a page, no link inside is dead, nothing is fetched, examples end in pictures."""

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "site"
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SITE.exists(), reason="make docs builds the site")]


class Page(HTMLParser):
    """The ids, links and resources of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.resources = {"", "top"}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag == "link" and found.get("href"):
            self.resources.append(found["href"])
        elif tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.resources.append(found["src"])


@cache
def page(path):
    return Page(path.read_text(encoding="utf-8"))


def pages():
    return sorted(SITE.rglob("*.html"))


def public_names():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import make_reference
    finally:
        sys.path.pop(0)
    return [name for module in make_reference.SECTIONS for name in make_reference.public_names(module)]


def test_every_public_name_has_a_page_that_describes_it():
    names = public_names()
    assert len(names) > 100
    for name in names:
        assert name in page(SITE / "reference" / "names" / f"{name}.html").ids, name


def test_every_page_of_the_docs_can_be_reached_from_the_first():
    reached, waiting = set(), [SITE / "index.html"]
    while waiting:
        here = waiting.pop()
        if here in reached or here.suffix != ".html":
            continue
        reached.add(here)
        inside = (urlsplit(link) for link in page(here).links)
        waiting += [(here.parent / unquote(link.path)).resolve() for link in inside if link.path and not link.scheme]
    for source in (ROOT / "docs").glob("*.md"):
        assert SITE / f"{source.stem}.html" in reached, source.name


def test_no_link_inside_the_site_is_dead():
    dead = []
    for here in pages():
        for link in page(here).links:
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            there = (here.parent / unquote(target.path)).resolve() if target.path else here
            if not there.exists() or (there.suffix == ".html" and unquote(target.fragment) not in page(there).ids):
                dead.append(f"{here.relative_to(SITE)}: {link}")
    assert not dead


def test_nothing_is_asked_of_another_host():
    for here in pages():
        outside = [found for found in page(here).resources if urlsplit(found).netloc]
        assert not outside, f"{here.relative_to(SITE)}: {outside}"
    for sheet in SITE.rglob("*.css"):
        assert not re.search(r"(@import\s+|url\()[\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name


def test_the_search_index_knows_the_estimators():
    words = (SITE / "searchindex.js").read_text(encoding="utf-8")
    assert "gramian.KernelPPCA" in words


def test_there_are_at_least_twelve_examples():
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_ends_in_a_picture(example):
    shown = page(SITE / "gallery" / f"{example.stem}.html").resources
    assert any(f"sphx_glr_{example.stem}_001" in picture for picture in shown)
