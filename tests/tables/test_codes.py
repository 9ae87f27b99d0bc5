"""Codes of missing: found where they stand apart and repeat, named, and kept where asked."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gramian
from gramian import LatentImputer
from gramian.exceptions import DataWarning
from gramian.tables.codes import find_codes


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((n, 5))
    return 30.0 + X


@pytest.mark.parametrize("code", [-999.0, 9999.0, -1.0, 99.0, -9.0, 0.0, 99999.99])
def test_a_code_that_repeats_is_found_and_can_be_kept(code):
    X = table()
    X[[3, 17, 40], 1] = code
    X[[5, 9], 2] = code
    found = find_codes(list(X.T))
    assert [(one.value, one.count, one.columns) for one in found] == [(code, 5, (1, 2))]
    assert find_codes(list(X.T), keep=[code]) == []


def test_a_code_that_stands_once_is_one_only_in_several_columns():
    X = table()
    X[3, 1] = -999.0
    assert find_codes(list(X.T)) == []
    X[8, 4] = -999.0
    assert [one.columns for one in find_codes(list(X.T))] == [(1, 4)]


def test_numbers_among_the_others_are_none():
    rng = np.random.default_rng(0)
    counts = rng.poisson(2.0, 200).astype(float)
    ages = rng.integers(18, 100, 200).astype(float)
    scores = rng.integers(-1, 2, 200).astype(float)
    amounts = np.where(rng.random(200) < 0.4, 0.0, rng.uniform(50.0, 100.0, 200))
    assert find_codes([counts, ages, scores, amounts]) == []


def test_the_imputer_names_a_code_and_takes_it_as_missing():
    X = table()
    clean = X.copy()
    X[[3, 17, 40], 1] = -999.0
    X[[5, 9], 2] = -999.0
    with pytest.warns(DataWarning, match=r"-999 stands 5 times in 2 columns.*keep_codes=\[-999\]"):
        model = LatentImputer().fit(X)
    filled, std = model.impute(X, return_std=True)
    assert np.abs(filled - clean).max() < 4.0
    assert_array_equal(std > 0, X == -999.0)
    kept = LatentImputer(keep_codes=[-999]).fit(X)
    assert_array_equal(kept.transform(X), X)
    assert kept.codes_ == []


def test_codes_of_frames_are_filled_in_their_container(tmp_path):
    pd = pytest.importorskip("pandas")
    X = table()
    X[[3, 17, 40], 1] = -999.0
    frame = pd.DataFrame(X, columns=list("abcde"))
    with pytest.warns(DataWarning, match="-999"):
        filled = LatentImputer().fit(frame).impute(frame)
    assert filled["b"].min() > 0
    frame["kind"] = np.where(X[:, 0] > 30, "high", "low")
    with pytest.warns(DataWarning, match="-999"):
        model = LatentImputer().fit(frame)
    filled = model.impute(frame)
    assert filled["b"].min() > 0
    assert list(filled["kind"]) == list(frame["kind"])
    gramian.save(model, tmp_path / "model.gramian")
    again = gramian.load(tmp_path / "model.gramian")
    assert again.codes_ == model.codes_
    pd.testing.assert_frame_equal(again.impute(frame), filled)


def test_keep_codes_must_be_numbers():
    with pytest.raises(ValueError, match="keep_codes"):
        LatentImputer(keep_codes=["x"]).fit(table())


def test_a_code_is_named_as_it_is_written():
    column = np.r_[np.linspace(10.0, 20.0, 40), -999.9, -999.9]
    assert find_codes([column])[0].told("{}").startswith("-999.9 stands 2 times")
