"""The referee can lose: every text that `benchmarks.mutate_formulas` breaks still stands in the source, once, and one of them is broken here."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def mutations(monkeypatch):
    """The module of the benchmarks folder, which is not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    module = import_module("benchmarks.mutate_formulas")
    monkeypatch.delitem(sys.modules, "benchmarks.mutate_formulas", raising=False)
    return module


def test_every_formula_that_is_broken_stands_in_the_source_once(mutations):
    assert len(mutations.MUTATIONS) >= 40
    assert {m.formula: len(m.places) for m in mutations.MUTATIONS if len(m.places) != 1} == {}
    assert all(m.before != m.after for m in mutations.MUTATIONS)


def test_the_page_has_a_line_for_every_mutation_and_all_are_caught(mutations):
    block = mutations.BLOCK.search(mutations.PAGE.read_text(encoding="utf-8"))[0]
    shown = re.findall(r"^\| (.+?) \| (.+?) \| (`.+) \|$", block, flags=re.MULTILINE)
    assert [name.replace("\\|", "|") for name, *_ in shown] == [m.formula for m in mutations.MUTATIONS]


def test_a_broken_formula_changes_a_verdict_and_a_whole_one_none(mutations, monkeypatch):
    monkeypatch.setattr(mutations, "WATCHED", ("mm-section-2",))
    found = next(m for m in mutations.MUTATIONS if m.formula == "posterior covariance without sigma2")
    assert found.changed() == ["mm-section-2"]
    harmless = mutations.Mutation("none", "none", found.before, f"({found.before})")
    assert harmless.changed() == []
    with pytest.raises(ValueError, match="stands 0 times"):
        mutations.Mutation("gone", "none", "no such text in the source", "x").changed()
