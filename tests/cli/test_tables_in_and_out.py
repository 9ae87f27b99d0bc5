"""Fit, impute, transform, score and sample on tables of every dress."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import PPCA, KernelPPCA, load, save
from gramian.io.tables import read_table, write_table
from gramian.policy import FILES


def matrix(path):
    return np.column_stack(read_table(path).columns)


# ---------------------------------------------------------------- impute


def test_impute_is_the_library_s_impute_in_the_table_s_units(gramian, holes, tmp_path):
    assert (
        gramian("impute", "holes.csv", "-o", "o.csv", "--std", "s.csv", "--components", "2", "--digits", "17").code == 0
    )
    X = matrix(holes)
    mean, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    Z = (X - mean) / scale
    full, std = PPCA(2, random_state=0).fit(Z).impute(Z, return_std=True)
    assert_allclose(matrix(tmp_path / "o.csv"), full * scale + mean, rtol=1e-6)
    assert_allclose(matrix(tmp_path / "s.csv"), std * scale, rtol=1e-6)


def test_observed_cells_are_copied_to_the_last_character(gramian, tmp_path):
    lines = [
        "name;x;y;z",
        '"Anna; B";1,50;0002,0;+3',
        "Bo;2,5;;1e1",
        "Cy;,;3,25;4",
        "Di;4,0;4,5;5",
        ";5,25;5,0;7,5",
        "Ed;6,5;6,0;NA",
    ]
    lines[3] = "Cy;;3,25;4"
    (tmp_path / "t.csv").write_text("\r\n".join(lines) + "\r\n")
    assert gramian("impute", "t.csv", "-o", "o.csv", "--components", "1").code == 0
    out = (tmp_path / "o.csv").read_text().splitlines()
    assert out[0] == lines[0]
    assert out[1] == lines[1]
    assert out[4:6] == lines[4:6]
    assert out[2].startswith("Bo;2,5;")
    assert out[2].endswith(";1e1")
    filled = out[2].split(";")[2]
    assert "," in filled
    assert "." not in filled
    assert out[6].startswith("Ed;6,5;6,0;")
    assert not out[6].endswith("NA")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "npy", "npz"])
def test_every_format_comes_out_filled(gramian, holes, tmp_path, suffix):
    assert gramian("impute", "holes.csv", "-o", f"o.{suffix}").code == 0
    gramian("impute", "holes.csv", "-o", "again.csv", "--digits", "17")
    assert_allclose(matrix(tmp_path / f"o.{suffix}"), matrix(tmp_path / "again.csv"), rtol=1e-9)
    assert gramian("impute", f"o.{suffix}", "-o", "copy.csv", "--digits", "17").code == 0
    assert_allclose(matrix(tmp_path / "copy.csv"), matrix(tmp_path / f"o.{suffix}"), rtol=1e-15)


def test_a_text_column_is_filled_by_its_likeliest_value(gramian, tmp_path, rows):
    label = np.where(rows[:, 4] > np.median(rows[:, 4]), "high", "low").astype(object)
    truth = label.copy()
    label[::7] = None
    write_table(tmp_path / "t.csv", [*"abcde", "level"], [*rows.T, label])
    ran = gramian("impute", "t.csv", "-o", "o.csv")
    assert "column 'level' has 2 categories (high, low)" in ran.err
    assert "read 80 rows, 5 numbers, 1 category" in ran.out
    found = read_table(tmp_path / "o.csv")["level"]
    assert set(found) == {"high", "low"}
    assert np.mean(found[::7] == truth[::7]) > 0.8
    assert (found[label != None] == truth[label != None]).all()  # noqa: E711


def test_a_model_that_fills_one_table_is_fitted_once_and_judged_on_hidden_cells(gramian, holes, tmp_path, monkeypatch):
    from gramian.estimators.ppca import PPCA

    fitted, plain = [], PPCA.fit
    monkeypatch.setattr(PPCA, "fit", lambda model, *args, **named: fitted.append(1) or plain(model, *args, **named))
    assert gramian("impute", "holes.csv", "-o", "full.csv", "--components", 2).code == 0
    judged = len(
        fitted
    )  # once to all cells, and once without each draw of hidden cells; what finds odd rows is for models that are kept
    assert judged == 4
    assert gramian("fit", "holes.csv", "-m", "m", "--components", 2).code == 0
    assert len(fitted) > 2 * judged


def test_impute_with_a_model_fitted_before(gramian, holes, table, tmp_path):
    gramian("fit", "full.csv", "-m", "m", "--components", "2")
    assert gramian("impute", "holes.csv", "-o", "o.csv", "-m", "m").code == 0
    truth, found, seen = matrix(table), matrix(tmp_path / "o.csv"), matrix(holes)
    assert_allclose(found[~np.isnan(seen)], truth[~np.isnan(seen)], rtol=1e-9)
    spread = truth.std(axis=0)
    assert (np.abs((found - truth) / spread)[np.isnan(seen)] < 1).mean() > 0.95


def test_a_table_without_holes_is_copied(gramian, table, tmp_path):
    ran = gramian("impute", "full.csv", "-o", "o.csv")
    assert "no missing cells" in ran.err
    assert (tmp_path / "o.csv").read_text() == table.read_text()


def test_a_column_of_holes_is_left_and_said(gramian, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,\n2,,\n3,6,\n4,8,\n5,9,\n")
    ran = gramian("impute", "t.csv", "-o", "o.csv")
    assert "column 'c' has no values: left out" in ran.err
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == "1,2,"


# ---------------------------------------------------------------- fit, info, transform, score, sample


def test_fit_then_transform_is_the_library_s(gramian, table, tmp_path):
    ran = gramian("fit", "full.csv", "-m", "m", "--components", "2")
    assert ran.code == 0
    assert "ppca model of 80 rows x 5 columns -> m" in ran.out
    gramian("transform", "m", "full.csv", "-o", "z.csv", "--digits", "17")
    X = matrix(table)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(matrix(tmp_path / "z.csv"), PPCA(2).fit(Z).transform(Z), atol=1e-8)


def test_the_saved_model_opens_in_python(gramian, table, tmp_path):
    gramian("fit", "full.csv", "-m", "m", "--components", "2")
    model = load(tmp_path / "m")
    assert type(model.estimator) is PPCA
    assert model.estimator.n_components_ == 2
    assert model.preprocessing.names == list("abcde")


def test_a_model_saved_in_python_works_on_the_command_line(gramian, table, tmp_path):
    X = matrix(table)
    save(PPCA(2).fit(X), tmp_path / "m")
    assert gramian("transform", "m", "full.csv", "-o", "z.csv", "--digits", "17").code == 0
    assert_allclose(matrix(tmp_path / "z.csv"), PPCA(2).fit(X).transform(X), atol=1e-10)
    save(KernelPPCA(2), tmp_path / "empty")
    ran = gramian("info", "empty")
    assert ran.code == 1
    assert "not a fitted model" in ran.err


def test_columns_are_found_by_name(gramian, table, tmp_path):
    gramian("fit", "full.csv", "-m", "m", "--components", "2")
    gramian("transform", "m", "full.csv", "-o", "z.csv")
    X = matrix(table)
    write_table(
        tmp_path / "other.csv",
        ["d", "extra", "a", "e", "c", "b"],
        [X[:, 3], X[:, 0], X[:, 0], X[:, 4], X[:, 2], X[:, 1]],
        digits=17,
    )
    gramian("transform", "m", "other.csv", "-o", "y.csv")
    assert (tmp_path / "y.csv").read_text() == (tmp_path / "z.csv").read_text()
    write_table(tmp_path / "short.csv", ["a", "b"], [X[:, 0], X[:, 1]])
    ran = gramian("transform", "m", "short.csv", "-o", "x.csv")
    assert ran.code == 1
    assert "short.csv: the model needs the column(s) 'c', 'd', 'e'" in ran.err


def test_info_says_what_the_file_holds(gramian, table):
    gramian("fit", "full.csv", "-m", "m", "--components", "2", "--drop", "5")
    facts = json.loads(gramian("info", "m", "--json").out)
    assert facts["kind"] == "ppca"
    assert facts["columns"] == list("abcd")
    assert facts["rows"] == 80
    assert facts["n_components"] == 2
    assert facts["format version"] == 1
    assert "latent dimensions" in gramian("info", "m").out


@pytest.mark.parametrize("model", ["ppca", "kernel"])
def test_score_flags_the_row_that_is_odd(gramian, tmp_path, rows, model):
    names = np.array([f"row {i}" for i in range(len(rows))], dtype=object)
    write_table(tmp_path / "t.csv", ["name", *"abcde"], [names, *rows.T])
    odd = rows.copy()
    odd[17, 2] += 30 * rows[:, 2].std()
    write_table(tmp_path / "odd.csv", ["name", *"abcde"], [names, *odd.T])
    assert gramian("fit", "t.csv", "-m", "m", "--model", model, "--components", "2").code == 0
    assert gramian("score", "m", "odd.csv", "-o", "s.csv").code == 0
    scores = read_table(tmp_path / "s.csv")
    assert scores.names[:4] == ["name", "log_likelihood", "t2", "spe"]
    worst = int(np.argmin(scores["log_likelihood"]))
    assert scores["name"][worst] == "row 17"
    assert scores["flag"][17] == 1
    assert scores["flag"].mean() < 0.2
    if model == "ppca":
        assert scores["because"][17].startswith("c ")


def test_sample_has_the_table_s_columns_and_units(gramian, table, tmp_path):
    gramian("fit", "full.csv", "-m", "m", "--components", "2")
    gramian("sample", "m", "-n", "4000", "-o", "s.csv")
    X, S = matrix(table), matrix(tmp_path / "s.csv")
    assert S.shape == (4000, 5)
    assert_allclose(S.std(axis=0), X.std(axis=0), rtol=0.1)
    first = (tmp_path / "s.csv").read_text()
    gramian("sample", "m", "-n", "4000", "-o", "s.csv", "--force")
    assert (tmp_path / "s.csv").read_text() == first


# ---------------------------------------------------------------- options


def test_roles_by_name_and_position(gramian, tmp_path, rows):
    names = np.array([f"r{i}" for i in range(len(rows))], dtype=object)
    write_table(tmp_path / "t.csv", ["name", *"abcde"], [names, *rows.T])
    ran = gramian("fit", "t.csv", "-m", "m", "--id", "name", "--drop", "b,5-6", "--components", "1", "--json")
    assert json.loads(ran.out)["columns"] == 2
    gramian("transform", "m", "t.csv", "-o", "z.csv")
    assert read_table(tmp_path / "z.csv").names == ["name", "z1"]
    ran = gramian("fit", "t.csv", "-m", "m2", "--drop", "nope")
    assert "--drop: there is no column 'nope'. The table has name, a, b, c, d, e." in ran.err


def test_without_standardising_the_large_column_rules(gramian, table, tmp_path):
    gramian("fit", "full.csv", "-m", "m", "--components", "1", "--no-standardize")
    component = load(tmp_path / "m").estimator.components_[0]
    assert abs(component[4]) > 0.9


@pytest.mark.parametrize(
    "option, words",
    [
        (["--components", "x"], "--components"),
        (["--components", "99"], "--components 99"),
        (["--noise", "-1"], "noise"),
    ],
)
def test_wrong_settings_are_named(gramian, table, option, words):
    ran = gramian("fit", "full.csv", "-m", "m", *option)
    assert ran.code == 1
    assert words in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("option", [["--model", "classifier"], ["--model", "views"], ["--views", "a=1-2,b=3-4"]])
def test_models_say_what_they_need(gramian, table, option):
    ran = gramian("fit", "full.csv", "-m", "m", *option)
    assert ran.code == 1
    assert option[-1].lstrip("-").split("=")[0][:5] in ran.err


# ---------------------------------------------------------------- larger than memory


def test_streaming_gives_the_same_model(gramian, table, tmp_path, monkeypatch):
    from gramian.io import table as table_module

    gramian("fit", "full.csv", "-m", "whole", "--components", "2", "--no-stream")
    monkeypatch.setattr(table_module, "FILES", replace(FILES, batch=35))  # pieces of seven rows
    gramian("fit", "full.csv", "-m", "pieces", "--components", "2", "--stream")
    whole, pieces = load(tmp_path / "whole").estimator, load(tmp_path / "pieces").estimator
    assert_allclose(pieces.explained_variance_, whole.explained_variance_, rtol=1e-9)
    assert_allclose(np.abs(pieces.components_), np.abs(whole.components_), atol=1e-9)


STREAMED = {
    "ppca": ("holes.csv", "--components", "2"),
    "mixture": ("holes.csv", "--clusters", "2", "--components", "1"),
    "kernel": ("full.csv", "--components", "2", "--landmarks", "20"),
    "kernel-mixture": ("full.csv", "--clusters", "2", "--components", "1", "--landmarks", "20"),
    "regressor": ("full.csv", "--target", "e"),
    "views": ("holes.csv", "--views", "l=a,b,r=c,d,e", "--components", "1"),
}


@pytest.mark.parametrize("kind", STREAMED)
def test_every_kind_that_streams_gives_the_model_of_the_table_with_holes_too(
    gramian, table, holes, tmp_path, monkeypatch, kind
):
    from gramian.io import table as table_module

    source, *options = STREAMED[kind]
    gramian("fit", source, "-m", "whole", "--model", kind, *options, "--no-stream", "--no-check")
    monkeypatch.setattr(table_module, "FILES", replace(FILES, batch=35))
    ran = gramian("fit", source, "-m", "pieces", "--model", kind, *options, "--memory", "1KB")  # too large to be held
    assert ran.code == 0, ran
    answer = "predict" if kind == "regressor" else "score"
    for how in ("whole", "pieces"):
        assert gramian(answer, how, source, "-o", f"{how}.npz").code == 0
    whole, pieces = (np.load(tmp_path / f"{how}.npz")["x"] for how in ("whole", "pieces"))
    assert_allclose(pieces[:, 0], whole[:, 0], rtol=1e-6, atol=1e-9 * abs(whole[:, 0]).max())


def test_a_file_that_is_not_held_is_filled_as_one_that_is(gramian, holes, tmp_path, monkeypatch):
    from gramian.io import table as table_module

    gramian("impute", "holes.csv", "-o", "whole.csv", "--std", "whole-std.csv")
    monkeypatch.setattr(table_module, "FILES", replace(FILES, batch=35))
    ran = gramian("impute", "holes.csv", "-o", "pieces.csv", "--std", "pieces-std.csv", "--memory", "1KB")
    assert ran.code == 0, ran
    assert "read in pieces" in ran.err
    assert_allclose(matrix(tmp_path / "pieces.csv"), matrix(tmp_path / "whole.csv"), rtol=1e-5)
    assert_allclose(matrix(tmp_path / "pieces-std.csv"), matrix(tmp_path / "whole-std.csv"), rtol=1e-4, atol=1e-12)
    ran = gramian("impute", "holes.csv", "-o", "two.csv", "--model", "mixture", "--components", "1", "--memory", "1KB")
    assert ran.code == 0, ran


def test_streaming_needs_a_model_that_can(gramian, holes, table):
    ran = gramian("fit", "holes.csv", "-m", "m", "--stream", "--model", "kernel", "--landmarks", "20")
    assert ran.code == 0, ran
    ran = gramian("fit", "full.csv", "-m", "n", "--stream", "--model", "classifier", "--target", "a")
    assert "--stream works with --model ppca, mixture" in ran.err


def test_rows_pass_by_in_pieces_without_changing_what_is_written(gramian, holes, tmp_path, monkeypatch):
    from gramian.io import table as table_module

    gramian("fit", "holes.csv", "-m", "m", "--components", "2")
    for command in ("transform", "score"):
        gramian(command, "m", "holes.csv", "-o", f"{command}-whole.npz")
    gramian("impute", "holes.csv", "-o", "impute-whole.npz", "-m", "m")
    monkeypatch.setattr(table_module, "FILES", replace(FILES, batch=5 * 7))
    for command in ("transform", "score"):
        gramian(command, "m", "holes.csv", "-o", f"{command}-pieces.npz")
    gramian("impute", "holes.csv", "-o", "impute-pieces.npz", "-m", "m")
    for command in ("transform", "score", "impute"):
        whole, pieces = (np.load(tmp_path / f"{command}-{how}.npz")["x"] for how in ("whole", "pieces"))
        assert_allclose(pieces, whole, rtol=1e-9, atol=1e-12)
