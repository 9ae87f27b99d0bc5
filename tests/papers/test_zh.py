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


def test_at_the_median_width_the_likelihood_itself_leaves_the_true_moons(experiment):
    shapes = experiment("c_shapes")
    for noise in (None, 0.1):
        _, told_share, _, told, itself = shapes.against_truth({"n_components": 2, "kernel": "rbf"}, noise, 0)
        assert told > itself + 0.01  # EM leaves the truth for something likelier
        assert told_share < 0.98


def test_at_the_default_width_the_moons_are_found(experiment):
    share, _, found, told, _ = experiment("c_shapes").against_truth({}, None, 0)
    assert share > 0.98
    assert found > told - 1e-3  # as likely as from the truth


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
def test_a_row_of_table_1_on_a_small_set_with_short_grids(experiment, data_file, monkeypatch):
    data_file("ida_thyroid.npz")
    table = experiment("zh_table1")
    for name, value in {
        "WIDTHS": (0.25, 0.5),
        "FURTHER_WIDTHS": (1.0,),
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


def test_the_table_goes_between_the_marks_of_its_page(experiment, tmp_path):
    table = experiment("zh_table1")
    page = tmp_path / "page.md"
    marks = f"<!-- {table.BLOCK} -->", f"<!-- /{table.BLOCK} -->"
    page.write_text(f"before\n{marks[0]}\nold\n{marks[1]}\nafter\n", encoding="utf-8")
    table.write_block(page, table.BLOCK, ["new"])
    assert page.read_text(encoding="utf-8") == f"before\n{marks[0]}\nnew\n{marks[1]}\nafter\n"
    assert all(mark in table.PAGE.read_text(encoding="utf-8") for mark in marks)


def test_a_lucky_candidate_loses_to_one_with_good_neighbours(experiment):
    table = experiment("zh_table1")
    shifts = len(table.SHIFTS)
    accuracy = np.full((5, 4, 2, shifts), 0.6)
    accuracy[0, 0, 0, 0] = 0.9  # alone
    accuracy[3:, 2:, :, 5:8] = 0.89
    surface = table.Surface(([1, 2, 3, 4, 5], (0, 1, 2, 3), (1e-3, 1e-2)), 1, accuracy, np.ones((5, 4, 2)))
    score, found = surface.best()
    assert (found.width, found.n_components, found.odds) == (5, 3, 0.0)
    assert score == pytest.approx(0.89)  # all beside it are as good
    none = table.Surface(([1, 2, 3, 4, 5], (0, 1, 2, 3), (None, 1e-2)), 1, accuracy, np.full((5, 4, 2), 1e3))
    assert (none.smoothed()[..., np.array(table.SHIFTS) != 0] == 0).all()  # no priors in the limit, no odds of e^100


def test_a_candidate_is_a_public_estimator(experiment):
    table = experiment("zh_table1")
    y = np.array([-1, 1, 1, 1])
    model = table.Candidate(1.5, (0, 2), 0.1, odds=1.0).model(y)
    assert model.n_components == [0, 2]
    assert model.priors == pytest.approx([1 / (1 + np.exp(np.log(3) + 1.0)), 1 / (1 + np.exp(-np.log(3) - 1.0))])
    assert table.Candidate(1.5, 0.9, None).model(y).priors is None


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
def test_held_out_log_odds_are_those_of_the_estimator(experiment, data_file, monkeypatch):
    data_file("ida_titanic.npz")
    table = experiment("zh_table1")
    for name, value in {"COUNTS": (0, 3), "FRACTIONS": (0.9,), "NOISES": (1e-2,)}.items():
        monkeypatch.setattr(table, name, value)
    monkeypatch.setattr(table, "MIXTURE_COUNTS", (1,))
    monkeypatch.setattr(table, "MIXTURE_NOISES", (3e-2,))
    monkeypatch.setattr(table, "CHOOSING_SPLITS", 1)
    task = table.Task.of("titanic")
    rows, (train, test) = task.trains[0], task.folds(0)[0]
    plain = table.plain_evidence(task, [2.0])
    mixed = table.mixture_margins(task, [2.0], 2)
    expected = {
        table.Candidate(2.0, (0, 3), 1e-2): plain[1, 0, 1, 1] - plain[0, 0, 0, 1],
        table.Candidate(2.0, 0.9, None): plain[1, 0, 2, 0] - plain[0, 0, 2, 0],
        table.Candidate(2.0, 1, 3e-2, n_clusters=2): mixed[0, 0, 0],
    }
    for candidate, margins in expected.items():
        y = 2 * task.labels(0)[train] - 1
        model = candidate.model(y).fit(task.X[rows[train]], y)
        np.testing.assert_allclose(
            model.decision_function(task.X[rows[test]]), margins[: len(test)], rtol=1e-4, atol=1e-4
        )
