"""Every model says how good it is on rows it has not seen; predictions have intervals and are compared with the truth."""

import json

import numpy as np
import pytest

from gramian import load
from gramian.cli import main
from gramian.cli._goodness import agreement, class_sets, of_classes, of_values
from gramian.cli._held_out import splits
from gramian.cli._words import in_own_words
from gramian.io.tables import read_table, write_table


def texts(values):
    column = np.empty(len(values), dtype=object)
    column[:] = [str(value) for value in values]
    return column


@pytest.fixture
def groups(tmp_path):
    """groups.csv: two groups, a number that depends on the columns, and names of rows."""
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 3)) + 4 * label[:, None] * [1, -1, 1]
    value = 100 + 5 * X[:, 0] + rng.normal(size=80)
    group = texts(np.array(["left", "right"])[label])
    names = texts([f"row {i}" for i in range(80)])
    write_table(tmp_path / "groups.csv", ["who", "a", "b", "c", "value", "group"], [names, *X.T, value, group])
    return label


def said(ran):
    assert ran.code == 0, ran
    return json.loads(ran.out)


def fit(gramian, *args):
    return said(gramian("fit", "groups.csv", "-m", "m", "--json", *args))


def test_a_classifier_says_its_held_out_accuracy_and_a_prediction_is_compared(gramian, groups, tmp_path):
    facts = fit(gramian, "--model", "classifier", "--target", "group", "--drop", "value", "--kernel", "linear")
    assert facts["held-out accuracy"] > 0.9
    assert facts["held-out accuracy of the commonest class"] == 0.5
    assert facts["held-out log-loss"] < 0.5
    assert facts["held-out share inside 90 % sets"] > 0.85
    found = said(gramian("predict", "m", "groups.csv", "-o", "p.csv", "--level", "0.8", "--json"))
    table = read_table(tmp_path / "p.csv")
    assert table.names == ["who", "group", "p(left)", "p(right)", "group_set"]
    truth = read_table(tmp_path / "groups.csv")["group"]
    assert found["compared"]["accuracy"] == np.mean(table["group"] == truth)
    assert set(table["group_set"]) <= {"left", "right", "left|right"}
    assert said(gramian("info", "m", "--json"))["held-out accuracy"] == facts["held-out accuracy"]


def test_a_regressor_says_r2_and_its_predictions_have_intervals(gramian, groups, tmp_path):
    facts = fit(gramian, "--model", "regressor", "--target", "value", "--drop", "group", "--kernel", "linear")
    assert facts["held-out R2"] > 0.9
    assert facts["held-out mean error"] < facts["held-out mean error of the plain mean"]
    assert 0.8 <= facts["held-out share inside 90 % intervals"] <= 1
    widths = []
    for level in ("0.5", "0.95"):
        found = said(gramian("predict", "m", "groups.csv", "-o", "p.csv", "--level", level, "--json", "--force"))
        table, truth = read_table(tmp_path / "p.csv"), read_table(tmp_path / "groups.csv")["value"]
        inside = (table["value_lower"] <= truth) & (truth <= table["value_upper"])
        assert found["compared"][f"share inside {100 * float(level):g} % intervals"] == inside.mean()
        widths.append((table["value_upper"] - table["value_lower"]).mean())
    assert widths[0] < widths[1]


def test_clusters_are_compared_with_a_target_and_it_is_said_that_they_do_not_use_it(gramian, groups):
    ran = gramian(
        *("fit", "groups.csv", "-m", "m", "--json", "--model", "mixture", "--clusters", "2", "--components", "1"),
        *("--target", "group", "--drop", "value"),
    )
    assert "--model mixture does not use --target" in ran.err
    facts = said(ran)
    assert facts["agreement with group (adjusted Rand index)"] > 0.8
    assert facts["held-out log-likelihood"] > facts["held-out log-likelihood of one cluster"]
    assert 0.7 < facts["held-out share inside 90 % intervals"] <= 1
    assert said(gramian("predict", "m", "groups.csv", "-o", "p.csv", "--json"))["compared"]["adjusted Rand index"] > 0.8
    assert "--level is for values" in gramian("predict", "m", "groups.csv", "-o", "q.csv", "--level", "0.9").err


def test_views_say_how_much_of_each_the_others_tell_and_have_intervals_when_asked(gramian, groups, tmp_path):
    facts = fit(
        gramian, "--model", "views", "--views", "x=a,b,c,y=value", "--drop", "group", "--id", "who", "--components", "1"
    )
    assert facts["held-out R2 of y"] > 0.5
    assert 0.75 < facts["held-out share inside 90 % intervals of y"] <= 1
    found = said(gramian("predict", "m", "groups.csv", "-o", "p.csv", "--view", "y", "--level", "0.9", "--json"))
    table, truth = read_table(tmp_path / "p.csv"), read_table(tmp_path / "groups.csv")["value"]
    assert table.names == ["who", "value", "value_lower", "value_upper"]
    inside = (table["value_lower"] <= truth) & (truth <= table["value_upper"])
    assert found["compared"]["share inside 90 % intervals"] == inside.mean()


def test_a_forecast_says_its_share_of_the_naive_error_and_its_coverage(gramian, tmp_path):
    t = np.arange(72)
    y = 50 + 10 * np.sin(2 * np.pi * t / 12) + 0.5 * np.random.default_rng(0).normal(size=72)
    write_table(tmp_path / "groups.csv", ["year", "y", "other"], [1900.0 + t, y, y[::-1]])
    facts = fit(gramian, "--model", "forecast", "--target", "y", "--kernel", "linear", "--lags", "6")
    assert facts["columns"] == 1  # --target is the series; the year is the clock
    assert 0 < facts["held-out share of the best naive error"] < 0.9
    assert 0.6 <= facts["held-out share inside 90 % intervals"] <= 1
    ran = gramian("score", "m", "groups.csv", "-o", "s.csv")
    assert ran.code == 0, ran
    scores = read_table(tmp_path / "s.csv")
    assert scores.names == ["year", "y_lower", "y_upper", "flag", "because"]
    assert scores["flag"].mean() < 0.1


@pytest.mark.parametrize("kind", ["ppca", "kernel"])
def test_models_of_rows_say_what_they_know_of_held_out_rows_and_that_a_target_is_left_out(gramian, groups, kind):
    ran = gramian("fit", "groups.csv", "-m", "m", "--model", kind, "--target", "group", "--components", "1", "--json")
    assert f"--model {kind} does not use --target: column 'group' is left out" in ran.err
    names = {"ppca": "held-out R2 of hidden cells", "kernel": "held-out R2 of reconstruction"}
    assert 0 < said(ran)[names[kind]] < 1


def test_no_check_is_quiet_about_it(gramian, groups):
    facts = fit(gramian, "--target", "group", "--no-check")
    assert not [name for name in facts if name.startswith("held-out")]


def test_classifiers_and_regressors_score_the_target(gramian, groups, tmp_path):
    table = read_table(tmp_path / "groups.csv")
    wrong = table["group"].copy()
    wrong[3] = "right"
    value = table["value"].copy()
    value[5] += 60
    columns = [*table.columns[:4], value, wrong]
    write_table(tmp_path / "wrong.csv", table.names, columns)
    for kind, target, other, row in (("classifier", "group", "value", 3), ("regressor", "value", "group", 5)):
        fit(
            gramian, "--model", kind, "--target", target, "--drop", other, "--kernel", "linear", "--force", "--no-check"
        )
        facts = said(gramian("score", "m", "wrong.csv", "-o", "s.csv", "--force", "--json", "--level", "0.9"))
        scores = read_table(tmp_path / "s.csv")
        assert scores["log_likelihood"].argmin() == row
        assert scores["flag"][row] == 1
        assert facts["flagged"] <= 12


def test_tune_and_stream_keep_what_finds_odd_rows(gramian, table, tmp_path):
    said(gramian("tune", "full.csv", "-m", "t", "--model", "ppca", "--trials", "2", "--json"))
    said(gramian("fit", "full.csv", "-m", "s", "--stream", "--json"))
    said(gramian("fit", "full.csv", "-m", "f", "--json", "--no-check"))
    for name in "tsf":
        detector = load(tmp_path / name).detector
        assert detector.limit(0.999) <= detector.limit(0.99) < detector.limit(0.9)


def test_an_error_comes_before_any_output(gramian, groups, table, tmp_path):
    fit(gramian, "--drop", "group,value")
    ran = gramian("transform", "m", "full.csv", "-o", "-", "--drop-totals")
    assert ran.code == 0  # it has a, b and c
    (tmp_path / "short.csv").write_text("a,b\n1,2\n3,4\n")
    ran = gramian("transform", "m", "short.csv", "-o", "-")
    assert ran.code == 1
    assert ran.out == ""
    assert "the model needs the column(s) 'c'" in ran.err


# ---------------------------------------------------------------- pieces


@pytest.mark.parametrize("option", [("--lags", "3"), ("--clusters", "2"), ("--kernel", "rfb"), ("--components", "few")])
def test_settings_that_a_model_does_not_take_are_refused_before_the_file_is_read(gramian, option):
    ran = gramian("fit", "not_there.csv", "-m", "m", *option)
    assert ran.code == 1
    assert option[0] in ran.err
    assert "not_there" not in ran.err


def test_held_out_rows_follow_from_what_they_hold_and_leave_nobody_out(rows):
    seen = np.concatenate([held for _, held in splits(rows)])
    assert sorted(seen.tolist()) == list(range(len(rows)))
    turned = [sorted((len(rows) - 1 - held).tolist()) for _, held in splits(rows[::-1])]
    assert turned == [sorted(held.tolist()) for _, held in splits(rows)]


def test_goodness_of_values_against_the_formulas():
    truth = np.array([1.0, 2.0, np.nan, 4.0])
    mean = np.array([1.0, 3.0, 0.0, 4.0])
    found = of_values(truth, mean, mean - 0.5, mean + 0.5, 0.8)
    centred = truth[[0, 1, 3]] - np.nanmean(truth)
    assert found["R2"] == pytest.approx(1 - 1 / (centred**2).sum())
    assert found["mean error"] == pytest.approx(1 / 3)
    assert found["share inside 80 % intervals"] == pytest.approx(2 / 3)
    assert of_values(np.full(3, np.nan), mean[:3], mean[:3], mean[:3], 0.9) == {}


def test_goodness_of_classes_against_the_formulas():
    labels, chances = np.array(["u", "v", "w"]), np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.2, 0.75, 0.05]])
    found = of_classes(np.array(["u", "w", "u"]), labels, chances, 0.9)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["accuracy of the commonest class"] == pytest.approx(2 / 3)
    assert found["log-loss"] == pytest.approx(-np.log([0.5, 0.8, 0.2]).mean())
    assert found["share inside 90 % sets"] == 1
    assert class_sets(chances, 0.75).tolist() == [[True, True, False], [False, False, True], [False, True, False]]


def test_agreement_ignores_rows_without_a_value():
    column = texts(["x", "x", "y", "y", "y"])
    column[4] = None
    assert agreement([0, 0, 1, 1, 0], column) == 1


WARNINGS = {
    "n_components=9 exceeds the numerical rank 4 of the data; 4 components are kept.": "--components 9 exceeds",
    "PX-EM did not converge in max_iter=500 steps. Raise max_iter, or tol=1e-05.": "in 500 steps. Fewer components",
    "EM did not converge in max_iter=200 steps. Raise max_iter or tol.": "Fewer components (--components)",
    "Em stopped after max_iter=9 steps at a relative residual of 0.1, before tol=1e-06 was reached. Raise max_iter, lower "
    "n_components=3, or use solver='eigh'.": "Try fewer than --components 3.",
    "EM stopped after max_iter=30 steps before its objective settled to tol=1e-06. Raise max_iter.": "after 30 steps",
    "Component(s) 1 hold no rows. Use fewer than n_clusters=4, or another start.": "fewer than --clusters 4",
    "2 row(s) of X show no value at all and are dropped from the fit.": "2 row(s) of the table show",
    "n_landmarks=99 exceeds the 20 training rows; 20 landmarks are used.": "--landmarks 99 exceeds",
    "The kept components explain all of the variance: the noise variance is set to exactly 0.0, so there is no density "
    "(use residual). Lower n_components to keep some noise.": "Lower --components to keep",
}


@pytest.mark.parametrize("text", WARNINGS)
def test_warnings_are_in_the_commands_own_words(text):
    found = in_own_words(text)
    assert WARNINGS[text] in found
    assert not [word for word in ("max_iter", "tol=", "solver", "n_components", "n_clusters", " of X") if word in found]


@pytest.mark.parametrize("command", main.commands)
def test_help_is_short_and_under_headings(gramian, command):
    ran = gramian(command, "--help")
    assert ran.code == 0
    assert len(ran.out.splitlines()) < 70
    assert "Output:" in ran.out
    if command in ("fit", "impute", "report"):
        assert [word for word in ("Reading:", "Columns:", "Output:") if word not in ran.out] == []


@pytest.mark.parametrize(
    "command, option",
    [
        ("impute", "--kernel"),
        ("impute", "--lags"),
        ("forecast", "--clusters"),
        ("tune", "--lags"),
        ("predict", "--seed"),
    ],
)
def test_options_are_only_where_they_mean_something(gramian, command, option):
    assert option not in gramian(command, "--help").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_for_shells(gramian, shell):
    ran = gramian("completion", shell)
    assert ran.code == 0
    assert "_GRAMIAN_COMPLETE" in ran.out


def test_completion_knows_the_options(gramian, monkeypatch):
    monkeypatch.setenv("_GRAMIAN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "gramian fit --mod")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert "--model" in gramian().out


def test_impute_says_how_good_it_is(gramian, holes):
    ran = gramian("impute", "holes.csv", "-o", "o.csv")
    assert "on hidden cells: the error over that of the mean" in ran.out
    found = json.loads(gramian("impute", "holes.csv", "-o", "p.csv", "--json").out)["held out"]
    assert found.keys() == set("abcde")
    assert all(row["error over the mean"] < 0.6 for row in found.values())  # two directions carry the five columns
    assert 0.7 < np.mean([row["share inside 90 %"] for row in found.values()]) <= 1
