"""Clusters, classes, values, views, forecasts and searches from the command line."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gramian import load
from gramian.cli._session import parsed_views
from gramian.io.tables import read_table, write_table
from gramian.policy import LOOK
from gramian.tables.preprocessing import Preprocessing


def texts(values):
    column = np.empty(len(values), dtype=object)
    column[:] = [str(value) for value in values]
    return column


@pytest.fixture
def groups(tmp_path):
    """groups.csv: two groups far apart, with their names, and a number that depends on the columns."""
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 3)) + 6 * label[:, None] * [1, -1, 1]
    value = X @ [1.0, 2.0, 0.0] + 100
    write_table(
        tmp_path / "groups.csv",
        ["a", "b", "c", "value", "group"],
        [*X.T, value, texts(np.array(["left", "right"])[label])],
    )
    return label


def ok(ran):
    assert ran.code == 0, ran
    return ran


@pytest.mark.parametrize("model", ["mixture", "kernel-mixture"])
def test_clusters(gramian, groups, tmp_path, model):
    ok(
        gramian(
            "fit",
            "groups.csv",
            "-m",
            "m",
            "--model",
            model,
            "--drop",
            "group,value",
            "--clusters",
            "2",
            "--components",
            "1",
        )
    )
    ran = ok(gramian("predict", "m", "groups.csv", "-o", "p.csv"))
    assert "80 rows predicted" in ran.out
    found = read_table(tmp_path / "p.csv")
    assert found.names == ["cluster", "p(1)", "p(2)"]
    same = found["cluster"] == found["cluster"][0]
    assert np.mean(same == (groups == 0)) > 0.95
    np.testing.assert_allclose(found["p(1)"] + found["p(2)"], 1, atol=1e-9)
    ok(gramian("score", "m", "groups.csv", "-o", "s.csv"))
    assert read_table(tmp_path / "s.csv").names == ["log_likelihood", "flag"]


def test_the_number_of_clusters_is_found(gramian, groups, tmp_path):
    ok(gramian("fit", "groups.csv", "-m", "m", "--model", "mixture", "--drop", "group,value"))
    assert len(load(tmp_path / "m").estimator.weights_) == 2
    ok(gramian("sample", "m", "-n", "50", "-o", "s.csv"))
    assert read_table(tmp_path / "s.csv").names == ["a", "b", "c", "cluster"]
    ok(gramian("impute", "groups.csv", "-o", "i.csv", "-m", "m"))


def test_classes(gramian, groups, tmp_path):
    ok(gramian("fit", "groups.csv", "-m", "m", "--model", "classifier", "--target", "group", "--drop", "value"))
    table = read_table(tmp_path / "groups.csv")
    write_table(tmp_path / "new.csv", ["a", "b", "c"], table.columns[:3])
    ran = ok(gramian("predict", "m", "new.csv", "-o", "p.csv", "--json"))
    assert json.loads(ran.out)["counts"].keys() == {"left", "right"}
    found = read_table(tmp_path / "p.csv")
    assert found.names == ["group", "p(left)", "p(right)"]
    assert np.mean(found["group"] == table["group"]) > 0.95
    assert "no likelihood" in gramian("score", "m", "new.csv", "-o", "s.csv").err
    assert "no latent coordinates" in gramian("transform", "m", "new.csv", "-o", "z.csv").err


def test_classes_written_as_numbers(gramian, groups, tmp_path):
    table = read_table(tmp_path / "groups.csv")
    write_table(tmp_path / "n.csv", ["a", "b", "c", "y"], [*table.columns[:3], groups.astype(float)])
    ok(gramian("fit", "n.csv", "-m", "m", "--model", "classifier", "--target", "y"))
    ok(gramian("predict", "m", "n.csv", "-o", "p.csv"))
    assert np.mean(read_table(tmp_path / "p.csv")["y"] == groups) > 0.95


def test_values(gramian, groups, tmp_path):
    ok(
        gramian(
            "fit",
            "groups.csv",
            "-m",
            "m",
            "--model",
            "regressor",
            "--target",
            "value",
            "--drop",
            "group",
            "--kernel",
            "linear",
        )
    )
    ok(gramian("predict", "m", "groups.csv", "-o", "p.csv"))
    found, truth = read_table(tmp_path / "p.csv"), read_table(tmp_path / "groups.csv")["value"]
    assert found.names == ["value", "value_std", "value_lower", "value_upper"]
    assert np.corrcoef(found["value"], truth)[0, 1] > 0.99
    assert (found["value_std"] >= 0).all()


def test_rows_without_a_target_are_left_out_and_said(gramian, tmp_path):
    (tmp_path / "t.csv").write_text(
        "a,b,y\n" + "".join(f"{i},{i * i % 7},{'uv'[i % 2] if i != 5 else ''}\n" for i in range(20))
    )
    ran = gramian("fit", "t.csv", "-m", "m", "--model", "classifier", "--target", "y")
    assert ran.code == 0, ran
    assert "1 row(s) without a value of 'y', the target, are left out" in ran.err
    assert "19 rows" in ran.out


def write_inputs_that_tell_little(path, rows, seed):
    """A class that five noisy columns tell something of, with 40 % of their cells missing."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((rows, 2))
    X = z @ np.random.default_rng(9).standard_normal((2, 5)) + rng.standard_normal((rows, 5))
    X[rng.random(X.shape) < 0.4] = np.nan
    kind = np.where(z[:, 0] + 0.8 * rng.standard_normal(rows) > 0, "yes", "no").astype(object)
    write_table(path, [*"abcde", "kind"], [*X.T, kind])


@pytest.mark.filterwarnings("ignore:.*show no value")
def test_holes_are_filled_without_sight_of_the_target_so_that_the_accuracy_said_is_true(gramian, tmp_path):
    write_inputs_that_tell_little(tmp_path / "t.csv", 300, 0)
    write_inputs_that_tell_little(tmp_path / "new.csv", 600, 1)
    said = json.loads(gramian("fit", "t.csv", "-m", "m", "--model", "classifier", "--target", "kind", "--json").out)
    ran = gramian("predict", "m", "new.csv", "-o", "p.csv", "--json")
    assert ran.code == 0, ran
    true = json.loads(ran.out)["compared"]["accuracy"]
    assert true > 0.55
    assert abs(said["held-out accuracy"] - true) < 0.07  # two standard errors of 300 and 600 rows


def test_a_fold_never_sees_the_rows_held_out(monkeypatch):
    from gramian import RKMRegressor
    from gramian.cli import _held_out

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.standard_normal(60)
    fits, fit = [], RKMRegressor.fit
    monkeypatch.setattr(RKMRegressor, "fit", lambda self, rows, *given: fits.append(rows) or fit(self, rows, *given))
    prepare = Preprocessing(list("abc"), [[]] * 3, np.zeros(3), np.ones(3))
    assert _held_out.held_out("regressor", RKMRegressor(), X, y, prepare)
    assert len(fits) == LOOK.folds
    assert all(np.isnan(rows).any() and len(rows) < len(X) for rows in fits)


@pytest.mark.parametrize("kind", ["kernel", "kernel-mixture", "regressor"])
def test_models_of_kernels_take_holes_at_fit_and_after(gramian, holes, kind):
    options = ["--target", "a"] if kind == "regressor" else []
    ran = gramian("fit", "holes.csv", "-m", "m", "--model", kind, *options)
    assert ran.code == 0, ran
    assert "held-out" in ran.out
    assert load("m").filler is None  # the model takes the holes itself
    verb = "score" if kind == "kernel" else "predict"
    assert gramian(verb, "m", "holes.csv", "-o", "p.csv").code == 0


def test_a_model_of_complete_rows_takes_holes_too(gramian, table, holes):
    assert gramian("fit", "full.csv", "-m", "m", "--model", "regressor", "--target", "a").code == 0
    assert gramian("predict", "m", "holes.csv", "-o", "p.csv").code == 0


@pytest.fixture
def views(tmp_path):
    """views.csv: two views of the same latents."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(60, 2))
    left, right = z @ rng.normal(size=(2, 4)), 5 + 10 * z @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(60, 3))
    write_table(tmp_path / "views.csv", ["l1", "l2", "l3", "l4", "r1", "r2", "r3"], [*left.T, *right.T])
    write_table(tmp_path / "left.csv", ["l1", "l2", "l3", "l4"], list(left.T))
    return left, right


def test_a_missing_view(gramian, views, tmp_path):
    ok(
        gramian(
            "fit", "views.csv", "-m", "m", "--model", "views", "--views", "left=1-4,right=r1,r2,r3", "--components", "2"
        )
    )
    ok(gramian("predict", "m", "left.csv", "-o", "right.csv", "--view", "right"))
    found = np.column_stack(read_table(tmp_path / "right.csv").columns)
    assert np.abs(found - views[1]).max() < 1.0  # the spread is about ten
    assert "one of left, right" in gramian("predict", "m", "left.csv", "-o", "x.csv").err
    assert "the model has the views" in gramian("predict", "m", "left.csv", "-o", "x.csv", "--view", "up").err
    ok(gramian("transform", "m", "views.csv", "-o", "z.csv"))
    ok(gramian("sample", "m", "-n", "5", "-o", "s.csv"))
    assert read_table(tmp_path / "s.csv").names == ["l1", "l2", "l3", "l4", "r1", "r2", "r3"]
    facts = json.loads(gramian("info", "m", "--json").out)
    assert facts["views"] == {"left": ["l1", "l2", "l3", "l4"], "right": ["r1", "r2", "r3"]}


@pytest.mark.parametrize("text", ["1-3", "a=1-2", "a=1-2,a=3", "=1,b=2", "a=1-2,b=2-3", "a=1,b=9"])
def test_views_that_cannot_be(text):
    with pytest.raises(ValueError, match="--views"):
        parsed_views(["p", "q", "r", "s"], text)


def test_views_by_position_and_name():
    assert parsed_views(["p", "q", "r", "s"], "a=1-2,b=r,s") == {"a": ("p", "q"), "b": ("r", "s")}


# ---------------------------------------------------------------- forecasts


@pytest.fixture
def waves(tmp_path):
    """waves.csv: years and two series."""
    t = np.arange(150)
    y = 50 + 10 * np.sin(t / 4) + 0.3 * np.random.default_rng(0).normal(size=150)
    write_table(tmp_path / "waves.csv", ["year", "y", "w"], [1800.0 + t, y, np.cos(t / 4)])
    return t


def test_a_forecast_goes_on_with_intervals_and_years(gramian, waves, tmp_path):
    ran = ok(
        gramian(
            "forecast", "waves.csv", "--steps", "8", "-o", "f.csv", "--target", "y", "--level", "0.8", "--lags", "12"
        )
    )
    assert "column 'year' is the clock" in ran.err
    found = read_table(tmp_path / "f.csv")
    assert found.names == ["step", "year", "y", "y_lower", "y_upper"]
    assert found["year"].tolist() == list(range(1950, 1958))
    assert (found["y_lower"] <= found["y"]).all()
    assert (found["y"] <= found["y_upper"]).all()
    truth = 50 + 10 * np.sin(np.arange(150, 158) / 4)
    assert np.abs(found["y"] - truth).max() < 3


def test_several_series_at_once(gramian, waves, tmp_path):
    ok(gramian("forecast", "waves.csv", "--steps", "3", "-o", "f.csv"))
    assert read_table(tmp_path / "f.csv").names == [
        "step",
        "year",
        "y",
        "y_lower",
        "y_upper",
        "w",
        "w_lower",
        "w_upper",
    ]


def test_a_forecast_from_a_saved_model(gramian, waves, tmp_path):
    ok(gramian("fit", "waves.csv", "-m", "m", "--model", "forecast", "--drop", "year,w", "--lags", "12"))
    ok(gramian("forecast", "m", "--steps", "4", "-o", "f.csv"))
    np.testing.assert_allclose(
        read_table(tmp_path / "f.csv")["y"], load(tmp_path / "m").estimator.predict(4), rtol=1e-8
    )
    assert "Use gramian forecast" in gramian("predict", "m", "waves.csv", "-o", "p.csv").err


def test_too_short_a_series_is_said(gramian, tmp_path):
    (tmp_path / "t.csv").write_text("y\n1\n2\n3\n")
    ran = gramian("forecast", "t.csv", "--steps", "3", "-o", "f.csv", "--lags", "10")
    assert ran.code == 1
    assert "10" in ran.err


def test_months_go_on_and_calendar_columns_are_not_forecast(gramian, tmp_path):
    t = np.arange(72)
    y = (50 + t) * (1 + 0.3 * np.sin(2 * np.pi * t / 12))
    months = [f"{2015 + i // 12}-{i % 12 + 1:02d}" for i in t]
    rows = "\n".join(f"{m},{m[:4]},{v:.3f}" for m, v in zip(months, y))
    (tmp_path / "m.csv").write_text(f"month,year,sales\n{rows}\n")
    ran = ok(gramian("forecast", "m.csv", "--steps", "3", "-o", "f.csv", "--season", "12", "--transform", "log"))
    found = read_table(tmp_path / "f.csv")
    assert found.names == ["step", "month", "sales", "sales_lower", "sales_upper"]
    assert found["month"].tolist() == ["2021-01", "2021-02", "2021-03"]
    assert "calendar columns are not forecast: year" in ran.err
    assert "seasonal naive" in ran.out + ran.err


def test_a_saved_model_of_a_series_knows_its_clock(gramian, tmp_path):
    t = np.arange(60)
    names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    rows = "\n".join(f"{names[i % 12]} {2015 + i // 12},{10 + i + 3 * np.sin(i / 2):.3f}" for i in t)
    (tmp_path / "m.csv").write_text(f"month,sales\n{rows}\n")
    ok(gramian("fit", "m.csv", "-m", "m", "--model", "forecast", "--lags", "12", "--no-check"))
    ok(gramian("forecast", "m", "--steps", "2", "-o", "f.csv"))
    assert read_table(tmp_path / "f.csv")["month"].tolist() == ["Jan 2020", "Feb 2020"]
    ok(
        gramian(
            "fit", "m.csv", "-m", "m", "--model", "forecast", "--lags", "12", "--no-check", "--drop", "month", "--force"
        )
    )
    ok(gramian("forecast", "m", "--steps", "2", "-o", "f.csv", "--force"))
    assert read_table(tmp_path / "f.csv").names == ["step", "sales", "sales_lower", "sales_upper"]


def test_dates_at_uneven_steps_are_said_to_be_lost(gramian, tmp_path):
    days = [f"2024-01-{day:02d}" for day in range(1, 31) if day != 7]
    rows = "\n".join(f"{day},{i % 5 + 0.1 * i:.2f}" for i, day in enumerate(days))
    (tmp_path / "d.csv").write_text(f"day,sales\n{rows}\n")
    ran = ok(gramian("forecast", "d.csv", "--steps", "2", "-o", "f.csv", "--lags", "5"))
    assert "the dates of column 'day' do not go on at even steps" in ran.err
    assert read_table(tmp_path / "f.csv").names == ["step", "sales", "sales_lower", "sales_upper"]


# ---------------------------------------------------------------- searches


def test_tune_saves_the_best_model(gramian, groups, tmp_path):
    args = ["tune", "groups.csv", "-m", "m", "--drop", "group,value", "--trials", "4", "--json"]
    facts = json.loads(ok(gramian(*args, "--model", "kernel")).out)
    assert facts["trials"] == 4
    assert facts["best params"]
    ok(gramian("transform", "m", "groups.csv", "-o", "z.csv"))


def test_tune_a_classifier(gramian, groups):
    ran = ok(
        gramian(
            "tune",
            "groups.csv",
            "-m",
            "m",
            "--model",
            "classifier",
            "--target",
            "group",
            "--drop",
            "value",
            "--trials",
            "3",
            "--json",
        )
    )
    assert json.loads(ran.out)["best score"] > 0.9


# ---------------------------------------------------------------- large tables


def test_a_long_series_is_learned_from_its_end(gramian, waves, tmp_path):
    ran = ok(gramian("forecast", "waves.csv", "--steps", "2", "-o", "f.csv", "--target", "y", "--last", "60"))
    assert "learning from the last 60 of 150 rows" in ran.err
    assert read_table(tmp_path / "f.csv")["year"].tolist() == [1950, 1951]


def test_kernels_of_many_rows_are_approximated_with_a_note(gramian, groups, tmp_path, monkeypatch):
    from gramian.cli import _models

    monkeypatch.setattr(_models, "KERNELS", replace(_models.KERNELS, exact_rows=50, landmarks=20))
    ran = ok(gramian("fit", "groups.csv", "-m", "m", "--model", "kernel", "--drop", "group,value", "--components", "3"))
    assert "approximated with 20 landmarks" in ran.err
    assert load(tmp_path / "m").estimator.n_landmarks == 20
    ok(
        gramian(
            "fit",
            "groups.csv",
            "-m",
            "n",
            "--model",
            "kernel",
            "--drop",
            "group,value",
            "--components",
            "3",
            "--landmarks",
            "0",
        )
    )
    assert load(tmp_path / "n").estimator.approximation is None
