"""What verbs answer: against the models themselves, and in words where an input is wrong."""

import base64
import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramian
import gramian.io
from gramian.explorer.packing import unpack, write_json
from gramian.explorer.session import Limits
from gramian.explorer.verbs import VERBS, InputError, call


def test_only_the_panels_that_the_data_allow_are_there(iris, make_session, tmp_path):
    assert iris.panels == ["map", "table", "odd", "evidence", "samples", "clusters", "columns"]
    months = {"month": np.array([f"{y}-{m:02d}-01" for y in range(2010, 2014) for m in range(1, 13)], dtype=object)}
    months["sales"] = 10 + np.sin(np.arange(48) * np.pi / 6)
    gramian.io.write_table(tmp_path / "sales.csv", list(months), list(months.values()))
    series = make_session(str(tmp_path / "sales.csv"))
    assert series.panels == ["table", "series", "columns"]
    assert series.state == "ready"


def test_the_map_is_where_the_model_puts_the_rows(iris):
    found = call(iris, "map", {"axes": [1, 0]})
    latents = iris.fitted.linear.transform(iris.data.X)
    assert_allclose(unpack(found["x"]), latents[:, 1], rtol=1e-5)
    assert_allclose(unpack(found["y"]), latents[:, 0], rtol=1e-5)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_ellipses_are_the_posterior_covariances_of_rows(iris, kernel):
    if kernel:
        call(iris, "choose", {"kernel": kernel})
        assert iris.jobs.wait(120)
    found = unpack(call(iris, "map", {"axes": [0, 1], "ellipses": True})["ellipses"]).reshape(-1, 3)
    fitted = iris.fitted
    for row in (0, 3, 5):  # the second and third miss a cell
        shown = fitted.full[row : row + 1] if kernel else iris.data.X[row : row + 1]
        covariance = np.reshape(fitted.model.posterior(shown).covariance, (fitted.q, fitted.q))
        assert_allclose(found[row], [covariance[0, 0], covariance[0, 1], covariance[1, 1]], rtol=1e-4, atol=1e-7)
        told = unpack(call(iris, "row", {"row": row})["covariance"]).reshape(fitted.q, fitted.q)
        assert_allclose(told, covariance, rtol=1e-4, atol=1e-7)
    iris.limits = Limits(ellipses=100)
    with pytest.raises(InputError, match="at most 100 rows"):
        call(iris, "map", {"ellipses": True})


def test_values_have_marks_and_what_has_none_is_the_rest(iris):
    found = call(iris, "map", {"colour": "column:species"})["colour"]
    assert (found["labels"], found["rest"]) == (["setosa", "versicolor", "virginica"], ["missing"])
    codes = unpack(found["codes"])
    assert [found["labels"][k] for k in codes[[0, 60, 120]]] == ["setosa", "versicolor", "virginica"]
    assert codes[5] >= len(found["labels"])


def test_a_code_of_missing_is_emptied_and_named_and_can_be_kept(make_session, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    z = rng.normal(size=60)
    columns = {f"c{j}": z + 0.3 * rng.normal(size=60) for j in range(3)}
    columns["c1"][[4, 9]] = -999
    gramian.io.write_table(tmp_path / "codes.csv", list(columns), list(columns.values()))
    session = make_session(str(tmp_path / "codes.csv"))
    told = {column["name"]: column["emptied"] for column in call(session, "columns", {})["columns"]}
    assert told == {"c0": [], "c1": [[-999.0, 2]], "c2": []}
    assert call(session, "state", {})["emptied"] == [-999.0]
    rows = call(session, "rows", {"count": 10})["rows"]
    for row in (4, 9):  # filled by the others
        assert rows[row]["cells"][1]["lo"] < z[row] < rows[row]["cells"][1]["hi"]
        assert rows[row]["cells"][1]["v"] == pytest.approx(z[row], abs=1)
    monkeypatch.chdir(tmp_path)

    def check_code():
        made = {}
        exec(base64.b64decode(call(session, "export", {"what": "code"})["data"]).decode(), made)
        assert_allclose(made["full"], session.fitted.full, atol=1e-6)

    check_code()
    with pytest.raises(ValueError, match="not taken for a code"):
        call(session, "replace", {"column": "c1", "old": None, "new": -99})
    assert call(session, "replace", {"column": "c1", "new": -999}) == {"cells": 2}
    assert session.jobs.wait(120)
    assert session.data.table["c1"][4] == -999
    kept = call(session, "columns", {})["columns"][1]
    assert (kept["emptied"], kept["codes"]) == ([], [[-999.0, 2]])
    check_code()
    assert call(session, "replace", {"column": "c1", "old": -999, "new": None}) == {"cells": 2}
    assert session.jobs.wait(120)
    check_code()
    for _ in range(2):  # not kept, as it was read
        call(session, "undo", {})
    assert session.jobs.wait(120)
    assert np.isnan(session.data.table["c1"][4])
    assert session.replaced == []
    assert call(session, "columns", {})["columns"][1]["emptied"] == [[-999.0, 2]]


def test_the_code_of_many_rows_draws_the_rows_that_were_drawn(make_session, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(400, 3)), rng.normal(size=(400, 3)) + 9.0])
    columns = {f"c{j}": column for j, column in enumerate(X.T)}
    gramian.io.write_table(tmp_path / "many.csv", list(columns), list(columns.values()))
    session = make_session(str(tmp_path / "many.csv"))
    code = base64.b64decode(call(session, "export", {"what": "code"})["data"]).decode()
    assert "content_sample" in code
    made = {}
    monkeypatch.chdir(tmp_path)
    exec(code, made)
    assert_allclose(made["full"], session.fitted.full, atol=1e-6)


def test_the_first_map_has_two_axes_and_says_that_more_are_looked_for(make_session):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4)) @ rng.normal(size=(4, 8)) + 0.2 * rng.normal(size=(700, 8))
    session = make_session(None, X, wait=False)
    words = []
    publish = session.publish

    def heard(fitted):
        words.append((fitted.q, fitted.words))
        publish(fitted)

    session.publish = heard
    assert session.jobs.wait(120)
    assert words[0] == (2, "A first look: how many axes there are is being found out.")
    assert "500 of the rows" in words[1][1]
    assert words[-1] == (gramian.PPCA(random_state=0).fit(session.data.X).n_components_, "")


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_a_decoded_point_is_the_models_own_row(iris, kernel):
    if kernel:
        call(iris, "choose", {"kernel": kernel})
        assert iris.jobs.wait(120)
        assert iris.fitted.kind == "kernel"
    z = np.linspace(-1, 1, iris.fitted.q)
    cells = call(iris, "decode", {"latent": z.tolist()})["cells"]
    expected = iris.data.prepare.columns(iris.fitted.model.inverse_transform(z[None]))
    for cell, column in zip(cells, expected):
        if isinstance(cell[0], str):
            assert cell[0] == column[0]
        else:
            assert cell[0] == pytest.approx(column[0], rel=1e-6)
            assert cell[1] < cell[0] < cell[2]


def test_the_nearest_rows_of_a_rows_own_place_begin_with_it(iris):
    z = iris.fitted.latents[17]
    found = call(iris, "decode", {"latent": z.tolist()})["nearest"]
    assert found[0]["row"] == 17
    assert found[0]["distance"] == pytest.approx(0, abs=1e-9)


def test_holes_are_filled_in_place_with_intervals_and_seen_cells_are_untouched(iris):
    rows = call(iris, "rows", {"count": 10})
    hole = rows["rows"][3]["cells"][1]
    full, std = iris.fitted.filler.impute(iris.data.X, return_std=True)
    j = rows["names"].index("sepal width")
    unit = iris.data.prepare.scale[j]
    assert hole["v"] == pytest.approx(full[3, j] * unit + iris.data.prepare.mean[j], rel=1e-6)
    assert hole["hi"] - hole["lo"] == pytest.approx(2 * 1.6448536 * std[3, j] * unit, rel=1e-5)
    assert rows["rows"][5]["cells"][4]["v"] == "setosa"
    assert rows["rows"][0]["cells"] == [5.1, 3.5, 1.4, 0.2, "setosa"]


def test_an_emptied_cell_is_filled_and_undo_brings_it_back(iris):
    before = iris.data.X[0].copy(), iris.fitted.latents[0].copy()
    found = call(iris, "edit", {"row": 0, "column": "sepal length", "value": None})
    assert found["holes"] == [0]
    low, high = found["cells"][0][1:]
    assert low < 5.1 < high
    assert not np.allclose(iris.fitted.latents[0], before[1])
    assert call(iris, "undo", {})["undone"] == "the edit of sepal length"
    assert_allclose(iris.data.X[0], before[0])
    assert_allclose(iris.fitted.latents[0], before[1])


def test_an_edited_cell_takes_what_the_column_holds_and_nothing_else(iris):
    for column, value in (("species", "rose"), ("sepal length", "long"), ("sepal length", "inf"), ("nothing", 1.0)):
        with pytest.raises(InputError):
            call(iris, "edit", {"row": 0, "column": column, "value": value})
    assert call(iris, "edit", {"row": 0, "column": "sepal length", "value": "6.5"})["cells"][0][0] == pytest.approx(6.5)


def test_a_row_of_ones_own_is_filled_as_impute_does(iris):
    cells = [5.1, None, 1.4, 0.2, "setosa"]
    found = call(iris, "fill", {"cells": cells})
    assert found["holes"] == [1]
    same = call(iris, "edit", {"row": 0, "column": "sepal width", "value": None})
    assert found["cells"] == same["cells"]
    assert_allclose(found["latent"], same["latent"], atol=1e-6)


def test_the_columns_responsible_are_those_that_were_spoiled(make_session):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(200, 6))
    X[11, 4] += 3
    session = make_session(None, X)
    found = call(session, "odd", {})
    assert found["oddest"][0]["row"] == 11
    assert found["oddest"][0]["flagged"]
    why = call(session, "row", {"row": 11})["odd"]
    assert why["columns"][0]["column"] == "x5"
    low, high = why["columns"][0]["expected"][1:]
    assert low < X[11, 4] - 3 < high


def test_a_lasso_holds_the_rows_inside_and_says_what_sets_them_apart(iris):
    x = iris.fitted.latents[:, 0]
    middle = float(np.median(x))
    polygon = [[-99, -99], [middle, -99], [middle, 99], [-99, 99]]
    found = call(iris, "select", {"polygon": polygon})
    assert unpack(found["rows"]).tolist() == np.flatnonzero(x < middle).tolist()
    told = {entry["column"]: entry for entry in found["apart"]}
    column = iris.data.table["petal length"]
    assert told["petal length"]["inside"] == pytest.approx(column[x < middle].mean(), rel=1e-6)
    effects = [abs(entry["effect"]) for entry in found["apart"]]
    assert effects == sorted(effects, reverse=True)


def test_rows_are_sorted_filtered_and_searched(iris):
    top = call(iris, "rows", {"sort": "column:petal length", "descending": True, "count": 3})["rows"]
    assert [row["cells"][2] for row in top] == sorted(iris.data.table["petal length"], reverse=True)[:3]
    assert call(iris, "rows", {"filter": "virginica"})["total"] == 50
    assert call(iris, "rows", {"only": "holes"})["total"] == 2
    assert call(iris, "search", {"text": "row 7"})["rows"] == [{"row": 6, "name": "row 7"}]
    with pytest.raises(InputError):
        call(iris, "rows", {"sort": "column:nothing"})


def test_the_evidence_is_the_selection_of_the_model(iris):
    told = call(iris, "evidence", {})["components"]
    selection = iris.fitted.selection
    assert told["candidates"] == selection.candidates
    assert_allclose(told["scores"], selection.scores, rtol=1e-6)
    assert told["chosen"] == selection.chosen
    assert told["reason"] == selection.reason


def test_q_and_clusters_are_fitted_anew_and_undone(iris):
    before = iris.fitted.q
    call(iris, "choose", {"q": 2})
    call(iris, "choose", {"clusters": 4})
    assert iris.jobs.wait(120)
    assert iris.fitted.q == 2
    assert_allclose(iris.fitted.latents, gramian.PPCA(2, random_state=0).fit(iris.data.X).transform(iris.data.X))
    assert call(iris, "clusters", {})["count"] == 4
    call(iris, "undo", {})
    call(iris, "undo", {})
    assert iris.fitted.q == before


def test_a_kernel_chosen_just_before_q_is_not_forgotten(iris):
    call(iris, "choose", {"kernel": "rbf"})
    call(iris, "choose", {"q": 3})
    assert iris.jobs.wait(120)
    assert (iris.fitted.kind, iris.fitted.q) == ("kernel", 3)
    call(iris, "choose", {"kernel": "linear"})
    assert iris.jobs.wait(120)
    assert iris.fitted.kind == "ppca"


def test_samples_are_the_models_and_the_same_for_the_same_seed(iris):
    first, second = (call(iris, "samples", {"count": 3, "seed": 5}) for _ in range(2))
    assert first == second
    drawn = iris.data.prepare.columns(iris.fitted.model.sample(3, random_state=5))
    assert [row[0] for row in first["rows"]] == pytest.approx(list(drawn[0]), rel=1e-6)


def test_views_are_predicted_from_the_others(make_session):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(120, 2))
    parts = {"left": z @ rng.normal(size=(2, 3)), "right": z @ rng.normal(size=(2, 4))}
    parts = {name: part + 0.05 * rng.normal(size=part.shape) for name, part in parts.items()}
    session = make_session(None, parts)
    assert "views" in session.panels
    assert call(session, "views", {})["working"]
    assert session.jobs.wait(120)
    found = call(session, "views", {"row": 3, "view": "right"})
    assert found["views"][1]["skill"] > 0.9
    prepare, columns = session.data.prepare, session.views["columns"]
    model = gramian.MultiViewRKM(views=columns, random_state=0).fit(session.data.X)
    guess = model.predict_view({"left": session.data.X[3:4, columns["left"]]}, "right")[0]
    for j, column, truth, z in zip(columns["right"], found["columns"], parts["right"][3], guess):
        assert column["seen"] == pytest.approx(truth, rel=1e-5)
        assert column["predicted"][0] == pytest.approx(z * prepare.scale[j] + prepare.mean[j], rel=1e-5)


def test_views_can_be_named_by_columns(iris):
    groups = [["sepal", "sepal length", "sepal width"], ["petal", "petal length", "petal width"]]
    call(iris, "choose", {"views": groups})
    assert "views" in iris.panels
    for wrong in (
        [["a", "sepal length"]],
        [["a", "x"], ["b", "petal width"]],
        [["a", "petal width"], ["b", "petal width"]],
    ):
        with pytest.raises(InputError):
            call(iris, "choose", {"views": wrong})


def test_a_series_is_continued_and_its_hidden_end_compared(make_session):
    values = 10 + np.sin(np.arange(72) * np.pi / 6) + 0.05 * np.random.default_rng(0).normal(size=72)
    dates = np.array([f"{2010 + k // 12}-{k % 12 + 1:02d}-01" for k in range(72)], dtype=object)
    session = make_session(None, {"month": dates, "sales": values})
    assert call(session, "series", {})["working"]
    assert session.jobs.wait(120)
    found = call(session, "series", {"column": "sales", "steps": 12})
    assert found["ahead"][0] == "2016-01-01"
    expected = 10 + np.sin(np.arange(72, 84) * np.pi / 6)
    assert_allclose(found["fan"]["mean"], expected, atol=0.3)
    past = np.array(found["past"]["bands"])
    hidden = values[-found["hidden"] :]
    assert np.mean((past[0] <= hidden) & (hidden <= past[4])) > 0.6


def test_columns_say_kinds_and_holes(iris):
    told = {column["name"]: column for column in call(iris, "columns", {})["columns"]}
    assert told["sepal width"]["holes"] == 1
    assert sum(told["petal width"]["counts"]) <= 150
    assert told["species"]["kind"] == "category"
    assert told["species"]["distinct"] == 3


def test_tuning_takes_the_place_of_the_model(iris):
    call(iris, "tune", {"trials": 3})
    assert iris.jobs.wait(120)
    assert "3 trials" in iris.note
    assert iris.last_done == "tuning"


def test_cancel_ends_the_work_and_keeps_what_was_there(iris):
    before = iris.fitted
    call(iris, "tune", {"trials": 500})
    while not any(job["done"] for job in iris.jobs.facts()):
        pass
    assert call(iris, "cancel", {})["cancelled"] == "Tuning, 500 trials"
    assert iris.jobs.wait(60)
    assert iris.fitted is before


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_the_python_that_is_exported_makes_what_is_on_screen(iris, iris_file, tmp_path, monkeypatch, kernel):
    call(iris, "edit", {"row": 2, "column": "petal width", "value": None})
    call(iris, "choose", {"kernel": kernel, "q": 3} if kernel else {"q": 3})
    assert iris.jobs.wait(120)
    call(iris, "edit", {"row": 4, "column": "petal length", "value": 2.0})
    code = base64.b64decode(call(iris, "export", {"what": "code"})["data"]).decode()
    monkeypatch.chdir(re.sub(r"[^/]+$", "", iris_file))
    made = {}
    exec(compile(code, "page.py", "exec"), made)
    fitted = iris.fitted
    assert_allclose(made["latents"], fitted.latents, atol=1e-6)
    assert_allclose(made["full"], fitted.full, atol=1e-6)
    assert_allclose(made["std"], fitted.std, atol=1e-6)
    assert_allclose(made["odd"].t2, fitted.odd.t2, atol=1e-6)
    pairs = set(zip(made["clusters"], fitted.clusters.labels))
    assert len(pairs) == len(set(fitted.clusters.labels))


def test_exports_are_files_that_the_library_reads(iris, tmp_path):
    content = {what: call(iris, "export", {"what": what}) for what in ("filled", "scores", "model")}
    for what, found in content.items():
        (tmp_path / f"{what}.csv").write_bytes(base64.b64decode(found["data"]))
    filled = gramian.io.read_table(tmp_path / "filled.csv")
    assert not np.isnan(filled["sepal width"]).any()
    assert filled["sepal width"][0] == 3.5
    scores = gramian.io.read_table(tmp_path / "scores.csv")
    assert_allclose(scores["z1"], iris.fitted.latents[:, 0], rtol=1e-6)
    model = gramian.load(tmp_path / "model.csv")
    assert_allclose(model.estimator.transform(iris.data.X), iris.fitted.latents)


def test_a_report_is_exported(iris):
    pytest.importorskip("jinja2")
    page = base64.b64decode(call(iris, "export", {"what": "report"})["data"])
    assert page.startswith(b"<!DOCTYPE html>")


def test_wrong_inputs_are_refused_in_words(iris):
    wrong = [
        ("decode", {"latent": [float("inf")] * iris.fitted.q}, "number"),
        ("decode", {"latent": [0.0]}, "numbers, not 1"),
        ("decode", {"latent": "here"}, "list"),
        ("decode", {}, "needed"),
        ("decode", {"latent": [], "more": 1}, "not an input"),
        ("row", {"row": 10_000}, "not there"),
        ("row", {"row": -1}, "whole number"),
        ("row", {"row": True}, "whole number"),
        ("rows", {"count": 10**6}, "whole number"),
        ("choose", {"q": 500}, "too many"),
        ("choose", {}, "name what"),
        ("export", {"what": "/etc/passwd"}, "one of"),
        ("select", {"polygon": [[0, 0]]}, "three or more"),
        ("map", [], "object"),
    ]
    for verb, given, words in wrong:
        with pytest.raises(InputError, match=words):
            call(iris, verb, given)


def test_every_answer_is_strict_json(iris):
    for verb, given in {
        "state": {},
        "map": {},
        "rows": {},
        "row": {"row": 5},
        "odd": {},
        "evidence": {},
        "clusters": {},
    }.items():
        assert json.loads(write_json(call(iris, verb, given))) is not None
    assert set(VERBS) >= {
        "state",
        "map",
        "decode",
        "fill",
        "odd",
        "evidence",
        "samples",
        "views",
        "series",
        "clusters",
        "columns",
    }


@pytest.mark.parametrize("kind", ["PPCA", "KernelPPCA", "PPCAMixture", "LatentImputer", "MultiViewRKM"])
def test_a_fitted_model_is_looked_at_with_its_rows(make_session, kind):
    from sklearn.datasets import load_iris

    X = load_iris().data
    model = getattr(gramian, kind)
    model = model() if kind in ("LatentImputer", "MultiViewRKM") else model(random_state=0)
    model.fit(X)
    session = make_session(model, X)
    assert session.state == "ready", session.error
    if kind in ("PPCA", "KernelPPCA"):
        assert session.fitted.model is model
    assert call(session, "state", {})["rows"] == 150


def test_a_model_without_rows_draws_some(make_session, tmp_path, iris_file):
    from click.testing import CliRunner

    from gramian.cli import main

    path = str(tmp_path / "iris.model")
    assert CliRunner().invoke(main, ["fit", iris_file, "-m", path, "--quiet"]).exit_code == 0
    drawn = make_session(path)
    assert (drawn.state, drawn.data.X.shape[0]) == ("ready", 500)
    both = make_session(path, iris_file)
    assert (both.state, both.data.X.shape[0]) == ("ready", 150)


def test_what_cannot_be_read_fails_in_one_sentence(make_session, tmp_path):
    file = tmp_path / "bad.csv"
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 100)
    session = make_session(str(file))
    assert session.state == "failed"
    assert "picture" in session.error


LONG = {
    "PPCA": lambda X: gramian.PPCA(2).fit(np.where(X > 1.2, np.nan, X)),
    "PPCAMixture": lambda X: gramian.PPCAMixture(random_state=0).fit(X),
    "KernelPPCA": lambda X: gramian.KernelPPCA().fit(X),
    "KernelPPCAClassifier": lambda X: gramian.KernelPPCAClassifier().fit(X, X[:, 0] > 0),
    "LatentImputer": lambda X: gramian.LatentImputer().fit(np.where(X > 1.2, np.nan, X)),
    "LatentOutlierDetector": lambda X: gramian.LatentOutlierDetector().fit(X),
    "RKMRegressor": lambda X: gramian.RKMRegressor().fit(X[:, 1:], X[:, 0]),
    "RKMForecaster": lambda X: gramian.RKMForecaster().fit(np.cumsum(X[:, 0])),
    "BayesSearch": lambda X: gramian.BayesSearch(gramian.PPCA(), {"n_components": (1, 3)}, n_trials=3, cv=2).fit(X),
}


@pytest.mark.parametrize("kind", LONG)
def test_whoever_listens_hears_of_long_work_and_ends_it(kind):
    """One hook for all: fits, what is held out, searches."""
    from gramian._progress import Cancelled, listening

    X = np.random.default_rng(0).normal(size=(60, 4)) @ np.diag([3.0, 1, 1, 1])

    def stop(*step):
        raise Cancelled(step[0])

    with pytest.raises(Cancelled), listening(stop):
        LONG[kind](X)


def test_filled_cells_and_their_intervals_are_values_that_the_column_may_hold(make_session, tmp_path, monkeypatch):
    """As `LatentImputer` does: whole numbers where all are, nothing below zero where nothing is; in the file and by the exported code too."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=150)
    table = np.column_stack([rng.poisson(np.exp(0.9 * size + shift)) for shift in (1.0, 2.0)])
    table = np.column_stack([table, size + 0.3 * rng.normal(size=150), size + 0.3 * rng.normal(size=150)])
    table[rng.random(table.shape) < 0.15] = np.nan
    counts, names = np.isnan(table[:, :2]), ["few", "many", "c", "d"]
    gramian.io.write_table(tmp_path / "counts.csv", names, list(table.T))
    session = make_session(str(tmp_path / "counts.csv"))
    rows = call(session, "rows", {"count": 150})["rows"]
    filled = [cell for row in rows for cell in row["cells"][:2] if isinstance(cell, dict)]
    assert len(filled) == counts.sum()
    ends = np.array([[cell["v"], cell["lo"], cell["hi"]] for cell in filled])
    assert (ends == np.round(ends)).all()
    assert (ends >= 0).all()
    raw = session.data.prepare.restore(session.fitted.full - 1.645 * session.fitted.std)
    assert (raw[:, :2][counts] < 0).any()  # the model itself would go below
    own = call(session, "fill", {"cells": [0.0, None, -1.0, -1.0]})["cells"][1]
    assert all(v == round(v) >= 0 for v in own)
    (tmp_path / "filled.csv").write_bytes(base64.b64decode(call(session, "export", {"what": "filled"})["data"]))
    written = gramian.io.read_table(tmp_path / "filled.csv")
    code = base64.b64decode(call(session, "export", {"what": "code"})["data"]).decode()
    monkeypatch.chdir(tmp_path)
    made = {}
    exec(compile(code, "page.py", "exec"), made)
    for name in names:
        assert_allclose(made["columns"][name], written[name])
    assert (written["few"] == np.round(written["few"])).all()
    call(session, "edit", {"row": 0, "column": "few", "value": -0.5})  # now the column shows that it may be
    assert session.data.bounds.low[0] == -np.inf
    assert not session.data.bounds.whole[0]
