"""LatentImputer: the same rows give the same model, in memory, in batches and on Dask, whatever is left to the library."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian import LatentImputer
from gramian.exceptions import DataWarning
from gramian.policy import LOOK

KINDS = ("plain", "wild", "codes", "skewed", "whole", "empty")


def table(n, kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((n, 6))
    wild = rng.random(X.shape) < 0.01
    if kind == "wild":
        X[wild] += 40
        X[7] = 60 * rng.standard_normal(6)  # wild as a whole
    elif kind == "codes":
        X = np.where(wild, -999.0, 10 * np.abs(X))
    elif kind == "skewed":
        X = np.exp(X)
    elif kind == "whole":
        X = np.round(3 * np.exp(X / 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "empty":
        X[:, 2] = np.nan
    return X


def same(one, other, X):
    for first, second in zip(one.impute(X, return_std=True), other.impute(X, return_std=True)):
        assert_allclose(first, second, rtol=1e-9, atol=1e-9)
    assert one.robust_ == other.robust_
    assert one.codes_ == other.codes_
    assert (one._margins is None) == (other._margins is None)


@pytest.mark.filterwarnings("ignore:X has no observed value", "ignore:-999 stands")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [200, LOOK.rows + 500])
def test_batches_are_the_table(n, kind):
    X = table(n, kind)
    model = LatentImputer().fit(X)
    same(model, LatentImputer().fit_batches([X[: n // 3], X[n // 3 : n // 2], X[n // 2 :]]), X)
    same(model, LatentImputer().fit_batches([X[n // 2 :], X[: n // 2]]), X)
    assert model._margins is not None or kind != "whole"
    assert model.robust_ == "cells" or kind != "wild"
    assert bool(model.codes_) == (kind == "codes")


@pytest.mark.filterwarnings("ignore:-999 stands")
@pytest.mark.parametrize("kind", ["wild", "codes", "whole"])
@pytest.mark.parametrize("n", [200, LOOK.rows + 500])
def test_dask_rows_are_the_table(n, kind):
    da = pytest.importorskip("dask.array", reason="needs dask")
    X = table(n, kind)
    same(LatentImputer().fit(X), LatentImputer().fit(da.from_array(X, chunks=(n // 4, 6))), X)


def test_wild_cells_of_many_rows_are_flagged_in_memory():
    X = table(LOOK.rows + 500, "wild")
    planted = np.nan_to_num(X) > 30
    planted[7] = False
    model = LatentImputer().fit(X)
    flags = model.flags_
    assert model.row_weights_[7] == 0
    assert flags[planted].mean() > 0.99
    assert flags[~planted].mean() < 0.002


def test_a_code_that_few_of_many_rows_hold_is_named_with_its_count():
    X = 10 * np.abs(table(LOOK.rows + 500, "plain"))
    X[[5, 1005, 2005], 0] = -999.0
    with pytest.warns(DataWarning, match="-999 stands 3 times in 1 column"):
        LatentImputer().fit_batches([X[:1000], X[1000:]])


def test_indicators_and_bounds_of_batches():
    X = table(LOOK.rows + 500, "whole")
    X[np.isnan(X[:, 1]), 1] = 2.0
    model = LatentImputer(add_indicator=True).fit_batches([X[:900], X[900:]])
    found = model.transform(X)
    assert found.shape == (len(X), 11)
    assert_array_equal(found[:, :6], np.round(found[:, :6]))
    assert found.min() >= 0


def test_weights_of_rows_need_a_table_where_there_are_many():
    X = table(LOOK.rows + 500, "wild")
    with pytest.raises(ValueError, match="needs rows in memory"):
        LatentImputer(robust="rows").fit_batches([X])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert LatentImputer(robust="rows").fit_batches([X[:100]]).robust_ == "rows"


def test_infinite_cells_of_batches_are_refused():
    X = table(LOOK.rows + 500, "plain")
    X[7, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        LatentImputer().fit_batches([X[:900], X[900:]])
