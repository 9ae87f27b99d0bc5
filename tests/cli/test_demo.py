"""The demo: its folder, its words, its page."""

import json

import numpy as np
import pytest

from gramian.cli import _demo, _demo_steps
from gramian.reporting.blocks import Section, Text


@pytest.fixture
def short(monkeypatch):
    """Steps that take no time."""

    def step():
        return _demo_steps.Step(
            "a line",
            {"coverage": 0.9, "accuracy": 0.97, "largest difference": 1e-15},
            Section("A step", [Text("words")]),
        )

    monkeypatch.setattr(_demo, "STEPS", dict.fromkeys(_demo.STEPS, step))


def test_the_path_of_the_page_is_the_last_line(gramian, short, tmp_path):
    ran = gramian("demo", "-o", "there")
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "report: there/report.html"
    page = (tmp_path / "there" / "report.html").read_text()
    assert page.count("<h2>A step</h2>") == len(_demo.STEPS)
    assert all(f"  {name} " in ran.out for name in _demo.STEPS)


def test_a_folder_with_files_is_kept_unless_forced(gramian, short, tmp_path):
    assert gramian("demo", "-o", "there").code == 0
    ran = gramian("demo", "-o", "there")
    assert ran.code == 1
    assert "--force" in ran.err
    assert gramian("demo", "-o", "there", "--force").code == 0
    (tmp_path / "file").write_text("")
    assert "this is a file" in gramian("demo", "-o", "file").err


def test_json_has_the_numbers_and_the_path(gramian, short):
    facts = json.loads(gramian("demo", "-o", "there", "--json").out)
    assert facts["report"] == "there/report.html"
    assert facts["holes"]["coverage"] == 0.9


def test_the_mission_is_shown():
    assert list(_demo.STEPS) == [
        "a real table",
        "holes",
        "kernel",
        "mixture",
        "classifier",
        "missing view",
        "forecast",
        "primal = dual",
        "timings",
    ]


@pytest.fixture
def few_digits(monkeypatch):
    """Every fourth digit, so that steps are quick."""
    X, y = _demo_steps.digits()
    monkeypatch.setattr(_demo_steps, "digits", lambda: (X[::4], y[::4]))
    monkeypatch.setattr(_demo_steps, "N_TRAIN", 250)


BOUNDS = {
    "holes": lambda n: n["error"] < 0.85 * n["error of means"] and 0.8 < n["coverage"] < 0.97,
    "kernel": lambda n: n["noise after"] < 0.8 * n["noise before"],
    "mixture": lambda n: n["adjusted Rand index"] > 0.6,
    "classifier": lambda n: n["accuracy"] > 0.9,
    "missing view": lambda n: n["error"] < n["error of the mean"],
    "forecast": lambda n: n["error"] < 0.5 and n["coverage"] > 0.7,
    "primal = dual": lambda n: n["largest difference"] < 1e-11,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BOUNDS)
def test_each_step_does_what_it_says(name, few_digits, monkeypatch):
    from gramian.reporting import pictures

    monkeypatch.setattr(pictures, "figure_uri", lambda figure, vector=True: "data:,")
    step = _demo_steps.STEPS[name]()
    assert BOUNDS[name](step.numbers), step.numbers
    kinds = [block.kind for block in step.section.blocks]
    assert "note" not in kinds  # no picture failed
    assert all(np.isfinite(value) for value in step.numbers.values())
