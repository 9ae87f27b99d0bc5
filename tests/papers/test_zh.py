"""Zhou's experiments, small: the C-shapes, and table 1 on a subset with short grids."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

ROOT = str(Path(__file__).parents[2])


@pytest.fixture
def experiment(monkeypatch):
    """A module of the experiments folder, which is not installed."""

    def find(name):
        monkeypatch.syspath_prepend(ROOT)
        module = import_module(f"experiments.{name}")
        monkeypatch.delitem(sys.modules, f"experiments.{name}", raising=False)
        return module

    return find


def test_the_shapes_of_figure_2_separate_from_the_default_start(experiment):
    shapes = experiment("c_shapes")
    share, steps = shapes.run("two C-shapes, width 8", 0)
    assert share == 1.0
    assert steps <= 11
    assert shapes.run("interlocked C-shapes, defaults", 0)[0] > 0.98
    assert shapes.run("two moons, defaults", 1)[0] > 0.9


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
def test_a_row_of_table_1_on_a_small_set_with_short_grids(experiment, data_file, monkeypatch):
    data_file("ida_thyroid.npz")
    table = experiment("zh_table1")
    for name, value in {
        "WIDTHS": (0.25, 0.5),
        "COUNTS": (2, 10),
        "FRACTIONS": (0.95,),
        "NOISES": (1e-3,),
        "PENALTIES": (1.0, 10.0),
        "MIXTURE_WIDTHS": (0.5,),
        "MIXTURE_COUNTS": (1,),
        "MIXTURE_NOISES": (1e-2,),
        "MIXTURE_CLUSTERS": (2,),
    }.items():
        monkeypatch.setattr(table, name, value)
    row = table.run("thyroid", 4)
    assert len(row.chosen) == len(row.svc) == len(row.limiting) == 4
    assert np.mean(row.chosen) < 10.0  # published: 4.0 +- 2.0
    text = table.table([row], 4)
    assert "4.0 ± 2.0" in text
    assert row.verdict in text


def test_the_table_goes_between_the_marks_of_its_page(experiment, monkeypatch, tmp_path):
    table = experiment("zh_table1")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{table.MARKS[0]}\nold\n{table.MARKS[1]}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(table, "PAGE", page)
    table.write("new")
    assert page.read_text(encoding="utf-8") == f"before\n{table.MARKS[0]}\nnew\n{table.MARKS[1]}\nafter\n"


def test_what_is_simpler_stays_unless_it_is_beaten_by_a_standard_error(experiment):
    table = experiment("zh_table1")
    first, second = table.Candidate(1.0, 2, None), table.Candidate(1.0, 2, 0.1, odds=1.0)
    simple, noisy, clear = np.full(10, 0.8), np.tile([0.6, 1.01], 5), np.full(10, 0.81)
    assert table.better_of((first, simple), (second, noisy))[0] is first
    assert table.better_of((first, simple), (second, clear))[0] is second
    priors = second.model(np.array([-1, 1, 1, 1])).priors
    assert priors[1] == pytest.approx(1 / (1 + np.exp(-(np.log(3) + 1.0))))
