"""Wild cells in the units of their columns' own tails."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian import LatentImputer
from gramian.evidence.robustness import believe_cells, choose_by_hidden_cells
from gramian.latent.cell_seer import CellSeer
from gramian.policy import LOOK


def correlated(n=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.4 * rng.standard_normal((n, d))


def test_heavy_tails_that_are_real_are_believed_and_a_slipped_decimal_is_not():
    X = np.exp(correlated())
    assert CellSeer.of(X, np.ones(300)).flags(X).mean() < 0.01
    assert believe_cells(X, np.ones(300), "auto").kind is False
    quiet = 100.0 + correlated()
    quiet[5, 2] *= 10.0
    assert np.argwhere(CellSeer.of(quiet, np.ones(300)).flags(quiet)).tolist() == [[5, 2]]


def test_a_cell_is_wild_by_the_others_of_its_row_not_by_its_column():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 1)) + 0.1 * rng.standard_normal((300, 5))
    X[4] = 2.5
    X[4, 3] = -2.5
    flags = CellSeer.of(X, np.ones(300)).flags(X)
    assert flags[4].tolist() == [False, False, False, True, False]


def test_columns_that_cannot_hold_wild_cells_hold_none():
    X = correlated()
    X[:, 0] = X[:, 0] > 0
    X[7, 1] = 60.0
    able = np.ones(6, dtype=bool)
    assert CellSeer.of(X, np.ones(300)).flags(X)[7, 1]
    able[1] = False
    flags = CellSeer.of(X, np.ones(300), able).flags(X)
    assert not flags[:, :2].any()


def test_where_one_value_fills_half_of_a_column_only_what_is_far_beyond_is_wild():
    X = correlated()
    X[:, 2] = np.maximum(0.0, np.round(np.exp(X[:, 2] / X[:, 2].std()) - 1.0))
    assert not CellSeer.of(X, np.ones(300)).flags(X)[:, 2].any()
    X[9, 2] = 900.0
    assert np.argwhere(CellSeer.of(X, np.ones(300)).flags(X)[:, 2]).tolist() == [[9]]


def test_whole_weights_are_repeated_rows():
    X = correlated(n=80)
    X[3, 1] += 30.0
    weights = np.arange(80) % 3 + 1
    whole, repeated = np.repeat(X, weights, axis=0), believe_cells(X, weights.astype(float), "auto")
    assert repeated.kind == "cells"
    found = believe_cells(whole, np.ones(len(whole)), "auto")
    assert_array_equal(found.flags, np.repeat(repeated.flags, weights, axis=0))
    assert_allclose(found.selection.scores, repeated.selection.scores, rtol=1e-6)


def test_wild_cells_of_many_rows_are_seen_by_the_rows_that_are_looked_at():
    X = correlated(n=LOOK.rows + 500)
    for column in range(3):
        X[column::250, column] += 40.0
    found = believe_cells(X, np.ones(len(X)), "auto")
    assert all(found.flags[column::250, column].all() for column in range(3))
    assert found.flags.mean() < 0.003


def test_not_to_believe_must_gain_enough_and_no_wild_cell_decides():
    rng = np.random.default_rng(0)
    errors, weights = [rng.standard_normal(200) for _ in range(3)], [np.ones(200)] * 3
    little, much = ([share * error for error in errors] for share in (0.99, 0.5))
    assert choose_by_hidden_cells((False, "cells"), [errors, little], weights).chosen is False
    assert choose_by_hidden_cells((False, "cells"), [errors, much], weights).chosen == "cells"
    lucky = [np.r_[0.0, error[1:]] for error in errors]  # a hidden cell that is wild, predicted by luck
    missed = [np.r_[50.0, 0.5 * error[1:]] for error in errors]
    assert choose_by_hidden_cells((False, "cells"), [lucky, missed], weights).chosen == "cells"


@pytest.mark.parametrize("seed", range(6))
def test_one_wild_cell_wrecks_no_table(seed):
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((240, 1))
    X = 10.0 + latent * [1.0, 0.8, 0.6, 0.8, 1.0] + 0.6 * rng.standard_normal((240, 5))
    hidden = rng.random(X.shape) < 0.12
    hidden[50] = False
    table = np.where(hidden, np.nan, X)
    clean = LatentImputer().fit_transform(table)
    table[50, 2] *= 10.0
    spoilt = LatentImputer().fit_transform(table)

    def error(filled):
        return np.sqrt(np.mean((filled - X)[hidden] ** 2))

    assert error(spoilt) < 1.1 * error(clean)


@pytest.mark.parametrize(("shape", "wild"), [((6, 3), True), ((30, 2), True), ((40, 1), False)])
def test_small_tables_have_an_answer(shape, wild):
    X = np.random.default_rng(0).standard_normal(shape)
    X[0, 0] = 1e4
    found = believe_cells(X, np.ones(len(X)), "cells")
    assert found.flags[0, 0] == wild  # at most half of a row is wild: of one cell none
    assert found.flags.sum() == wild


def test_no_row_and_no_column_is_looked_at_by_its_place():
    X = correlated()
    X[3, 1] += 20.0
    rows, columns = np.random.default_rng(1).permutation(300), [5, 3, 1, 0, 2, 4]
    ones = np.ones(300)
    assert_array_equal(
        believe_cells(X[rows][:, columns], ones, "cells").flags, believe_cells(X, ones, "cells").flags[rows][:, columns]
    )
