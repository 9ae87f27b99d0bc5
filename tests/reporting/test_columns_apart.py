"""Categories of many values: left out where nothing is filled better with them, kept where they tell."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

import gramian
from gramian import LatentImputer
from gramian.estimators.imputer import feature_filler
from gramian.evidence.robustness import find_seer
from gramian.evidence.selection import clear_errors
from gramian.filling import choice
from gramian.filling.aside import Filled, columns_aside, hidden_tables
from gramian.policy import JURY
from gramian.reporting.columns_apart import columns_apart
from gramian.reporting.fill_quality import Judged
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table


def words_of(codes):
    out = np.empty(len(codes), dtype=object)
    out[:] = [f"w{code:02d}" for code in codes]
    return out


def made(telling):
    """Four noisy numbers of 5 kinds of rows, and the kind as a word; or words that tell nothing."""
    rng = np.random.default_rng(2)
    kinds = rng.integers(0, 5, 150)
    numbers = 2 * rng.standard_normal((5, 4))[kinds] + rng.standard_normal((150, 4))
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    words = words_of(kinds if telling else rng.permutation(kinds))
    words[5] = None
    return Table([*"abcd", "word"], [*numbers.T, words])


@pytest.mark.parametrize("telling", [False, True])
def test_hidden_cells_say_whether_a_category_takes_part(telling):
    table = made(telling)
    prepare = Preprocessing.fit([table])
    found = columns_apart(prepare, prepare.matrix(table))
    assert found.columns == ([] if telling else ["word"])
    assert set(found.quality) == {*"abcd", "word"}
    assert bool(found.notes) is not telling


def test_the_others_are_filled_as_if_the_column_were_not_there():
    table = made(telling=False)
    prepare = Preprocessing.fit([table])
    X = prepare.matrix(table)
    model = LatentImputer()._fit_coded(prepare, table, {})
    assert model.aside_ == ["word"]
    full, std = model._fill_coded(X, {})
    alone = LatentImputer()._fit_coded(prepare.only([*"abcd"]), table, {})
    filled, spread = alone._fill_coded(X[:, :4], {})
    assert_allclose(full[:, :4], filled)
    assert_allclose(std[:, :4], spread)
    assert_allclose(full[:, 4:], LatentImputer()._fit_coded(prepare, table, {}, [])._fill_coded(X, {})[0][:, 4:])
    seen = ~np.isnan(table["a"])
    for drawn in model._draws_coded(X, 2, {}):
        assert set(drawn) == {*"abcd", "word"}
        assert not np.isnan(drawn["a"]).any()
        assert_allclose(drawn["a"][seen], table["a"][seen])


def test_which_cells_of_numbers_are_hidden_does_not_follow_words_beside_them():
    table = made(telling=False)
    whole = Preprocessing.fit([table])
    alone = whole.only([*"abcd"])
    tables = hidden_tables(whole, whole.matrix(table)), hidden_tables(alone, alone.matrix(table))
    for both, few in zip(*tables):
        assert (both.hidden[:, :4] == few.hidden).all()


def test_each_category_is_asked_also_after_one_that_helps():
    table = made(telling=True)
    rng = np.random.default_rng(1)
    noise = words_of(rng.integers(0, 8, table.n_rows))
    table = Table([*table.names, "noise"], [*table.columns, noise])
    prepare = Preprocessing.fit([table])
    assert columns_apart(prepare, prepare.matrix(table)).columns == ["noise"]


@pytest.mark.parametrize("telling", [False, True])
def test_every_door_gives_one_answer(telling, tmp_path):
    """`LatentImputer`, `gramian.fill` and `gramian impute`: whether the column takes part, and what is filled in."""
    pandas = pytest.importorskip("pandas")
    from click.testing import CliRunner

    from gramian.cli import main
    from gramian.io import read_table

    table = made(telling)
    frame = pandas.DataFrame(dict(zip(table.names, table.columns)))
    model = LatentImputer().fit(frame)
    assert model.aside_ == ([] if telling else ["word"])
    own = model.impute(frame)
    filled, quality = gramian.fill(frame, return_quality=True)
    helped = set(quality["column"][quality["error_over_mean"] < 1])  # the others are filled with their means
    assert len(helped) >= 2
    frame.to_csv(tmp_path / "holes.csv", index=False)
    told = CliRunner().invoke(
        main, ["impute", str(tmp_path / "holes.csv"), "-o", str(tmp_path / "full.csv"), "--digits", "12"]
    )
    assert told.exit_code == 0, told.output
    written = read_table(tmp_path / "full.csv")
    for name in "abcd":
        assert_allclose(filled[name], written[name], rtol=1e-6)
        if name in helped:
            assert_allclose(own[name], filled[name])
    assert filled["word"].tolist() == written["word"].tolist()


def test_a_frame_with_such_a_column_is_filled_as_without_it(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = made(telling=False)
    frame = pandas.DataFrame(dict(zip(table.names, table.columns)))
    full = gramian.fill(frame)
    alone = gramian.fill(frame[[*"abcd"]])
    assert_allclose(full[[*"abcd"]].to_numpy(), alone.to_numpy())
    assert full["word"].notna().all()
    assert_allclose(gramian.fill(dict(zip(table.names, table.columns)))["a"], full["a"], rtol=0.2, atol=0.2)
    model = LatentImputer().fit(frame)
    assert "'word'" in model.explain()
    gramian.save(model, tmp_path / "imputer.gramian")
    again = gramian.load(tmp_path / "imputer.gramian")
    assert again.aside_ == ["word"]
    for ends in zip(again.interval(frame), model.interval(frame)):
        assert_allclose(ends[0][[*"abcd"]].to_numpy(), ends[1][[*"abcd"]].to_numpy())
    drawn = model.draws(frame, 2, random_state=0)
    assert all(part.notna().all().all() for part in drawn)
    chances = model.predict_proba(frame, "word")
    assert_allclose(chances.sum(axis=1), 1)
    assert chances[5].max() < 1  # it was missing
    fixed = LatentImputer(gramian.PPCA(2)).fit(frame)  # whoever names the model has decided
    assert fixed.aside_ == []


def test_a_complete_column_aside_asks_for_no_model_of_all_columns(monkeypatch):
    pandas = pytest.importorskip("pandas")
    table = made(telling=False)
    columns = dict(zip(table.names, table.columns)) | {"word": np.where(table["word"] == None, "w00", table["word"])}  # noqa: E711
    frame = pandas.DataFrame(columns)
    whole = LatentImputer().fit(frame)
    assert whole.aside_ == ["word"]
    alone = {name: columns[name] for name in "abcd"}
    expected = gramian.fill(alone), gramian.fill(frame[[*"abcd"]])
    monkeypatch.setattr(LatentImputer, "_settle_others", lambda *given: _no_others(*given))
    full, of_dict = gramian.fill(frame), gramian.fill(columns)
    assert list(full.columns) == list(frame.columns)
    assert full["word"].tolist() == of_dict["word"].tolist() == frame["word"].tolist()
    for name in "abcd":
        assert_allclose(full[name], expected[1][name])
        assert_allclose(of_dict[name], expected[0][name])


def _no_others(model, whole, known, sample_weight, aside):
    assert not aside


def test_wild_cells_are_asked_once_for_all_parts_of_the_features(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 1)) @ np.ones((1, 5)) + 0.3 * rng.standard_normal((100, 5))
    X[3, 1] += 40.0
    table = Table([*"abcde"], list(X.T))
    prepare = Preprocessing.fit([table])
    draws = [np.where(rng.random(X.shape) < 0.1, np.nan, prepare.matrix(table)) for _ in range(2)]
    for draw in draws:
        draw[3] = prepare.matrix(table)[3]
    asked = []
    monkeypatch.setattr(choice, "find_seer", lambda *given: asked.append(given) or find_seer(*given))
    filler, part = feature_filler(prepare), np.arange(5) < 4
    first, others = filler(draws, np.ones(5, dtype=bool)), filler(draws, part)
    assert len(asked) == 1
    assert filler.seer.robust_ == "cells"
    assert first[0] is not None
    shown = filler.seer._without_wild_cells(draws[0])
    assert np.isnan(shown[3, 1])
    expected = LatentImputer(standardize=False, robust=False).fit(shown[:, part]).impute(shown[:, part])
    assert_allclose(others[0].full, expected)


def test_a_column_aside_is_judged_as_it_is_filled_by_the_model_of_all():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(120)
    level = np.where(z > 0.5, "hi", np.where(z < -0.5, "lo", "mid")).astype(object)
    numbers = [z + 0.05 * rng.standard_normal(120) for _ in range(3)]
    table = Table(["a", "b", "c", "level"], [*numbers, level])
    prepare = Preprocessing.fit([table])
    found = columns_apart(prepare, prepare.matrix(table))
    assert found.columns == ["level"]
    assert found.quality["level"].ratio < 0.6


def test_a_category_that_helps_as_much_with_the_values_of_other_rows_does_not_help():
    table = made(telling=False)
    prepare = Preprocessing.fit([table])
    X = prepare.matrix(table)

    def mean(part):
        """Means, and worse than those where the category is away: what a model with more columns may do by itself."""
        full = np.where(np.isnan(part), np.nanmean(X[:, : part.shape[1]], axis=0), part)
        worse = part.shape[1] < X.shape[1]
        return Filled(np.where(np.isnan(part), 9.0, part) if worse else full, np.ones_like(part))

    found = columns_aside(prepare, X, lambda draws, kept: [mean(part[:, kept]) for part in draws])
    assert found.columns == ["word"]


def test_a_category_is_judged_by_the_chances_that_predict_proba_gives():
    """Categories between others, which no place is nearest to: told by the laws of places, missed by the largest coordinate."""
    rng = np.random.default_rng(3)
    z = rng.standard_normal(400)
    words = words_of(np.digitize(z, [-0.8, 0.0, 0.8]))
    table = Table(["a", "b", "level"], [z + 0.1 * rng.standard_normal(400) for _ in range(2)] + [words])
    prepare = Preprocessing.fit([table])
    X = prepare.matrix(table)
    [draw, *_] = hidden_tables(prepare, X)
    [told] = feature_filler(prepare)([draw.masked], np.ones(X.shape[1], dtype=bool))
    at = np.isnan(draw.masked[:, -1])
    own = np.array([prepare.categories[2].index(word) for word in words])[at]
    judged = Judged(prepare)
    judged.add(draw.X, draw.masked, draw.hidden, told.full, told.std, told.chances())
    by_chances = (told.chances()["level"][at].argmax(axis=1) != own).mean()
    assert judged.found()["level"].error == by_chances
    assert by_chances < (prepare.probabilities(told.full)["level"][at].argmax(axis=1) != own).mean()
    shown = Table(table.names, [*table.columns[:2], np.where(at, None, words)])
    numbers = np.where(draw.hidden[:, :2], np.nan, np.column_stack(table.columns[:2]))
    shown = Table(table.names, [*numbers.T, shown["level"]])
    model = LatentImputer(margins=None)._fit_coded(prepare, shown, {}, [])
    chances = model._calibrated(*model._fill_coded(draw.masked, {}))["level"]
    assert_allclose(chances[at], told.chances()["level"][at], atol=0.02)


def test_the_more_is_asked_the_clearer_it_must_be():
    clear = [clear_errors(n) for n in (1, 2, 10, 100)]
    assert clear[0] == JURY.clear
    assert_allclose(ndtr(-np.array(clear)) * [1, 2, 10, 100], ndtr(-JURY.clear))
