"""What is drawn from rows follows from what they hold."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gramian._content import (
    DistinctHashes,
    Folds,
    SmallestRows,
    cell_uniforms,
    content_folds,
    row_hashes,
    smallest_distinct,
    smallest_positions,
)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    X[rng.random(X.shape) < 0.2] = 0.0
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def test_hash_does_not_depend_on_precision_container_or_cut(table):
    rounded = table.astype(np.float32)
    expected = row_hashes(rounded.astype(np.float64))
    assert (row_hashes(rounded) == expected).all()
    assert (row_hashes(table) == expected).all()  # 24 bits of mantissa are a float32's
    assert (row_hashes(sparse.csr_array(table)) == expected).all()
    assert (row_hashes(np.asfortranarray(table)) == expected).all()
    assert (row_hashes(table[:, :2]) + row_hashes(table[:, 2:], 2) == expected).all()
    assert (row_hashes(table[::-1]) == expected[::-1]).all()


def test_hash_rounds_to_the_nearest_float32_mantissa():
    x = np.random.default_rng(1).standard_normal((1000, 1)) * 10.0 ** np.arange(-20, 20).repeat(25)[:, None]
    assert (row_hashes(x) == row_hashes(x.astype(np.float32))).all()


def test_negative_zero_is_zero_and_adds_nothing():
    hashes = row_hashes(np.array([[0.0, 1.0], [-0.0, 1.0]]))
    assert hashes[0] == hashes[1]
    assert row_hashes(np.zeros((1, 4)))[0] == 0


def test_columns_are_told_apart():
    hashes = row_hashes(np.array([[1.0, 2.0], [2.0, 1.0], [np.nan, 1.0], [1.0, np.nan]]))
    assert len(set(hashes.tolist())) == 4


def test_hashes_are_uniform():
    hashes = row_hashes(np.arange(40_000.0)[:, None])
    counts = np.bincount((hashes >> np.uint64(60)).astype(int), minlength=16)
    assert abs(counts - 2500).max() < 250  # five standard deviations
    low = np.bincount((hashes % np.uint64(16)).astype(int), minlength=16)
    assert abs(low - 2500).max() < 250


@pytest.mark.parametrize("n, expected", [(2, 0), (3, 3), (4, 4), (50, 5), (20_000, 5)])
def test_folds_are_even_where_rows_are_few(n, expected):
    folds, fold = content_folds(np.arange(float(n))[:, None] + 1, 5)
    assert folds.n_folds == expected
    if expected:
        counts = np.bincount(fold, minlength=expected)
        assert counts.min() > 0
        if n <= 10_000:
            assert counts.max() - counts.min() <= 1


def test_copies_of_a_row_are_in_one_fold_and_blocks_agree(table):
    folds, fold = content_folds(table, 5)
    again, copies = content_folds(np.vstack([table, table[:50]]), 5)
    assert (copies[300:] == fold[:50]).all()
    assert (copies[:300] == fold).all()
    hashes = row_hashes(table)
    merged = DistinctHashes.of(hashes[:100]) + DistinctHashes.of(hashes[100:])
    assert (Folds.of(merged, 5).assign(hashes) == fold).all()
    assert again.n_folds == folds.n_folds


def test_smallest_rows_merge_in_any_cut_and_order(table):
    weights = np.arange(300.0) % 3
    whole = SmallestRows.of(table, weights, 40)
    parts = [SmallestRows.of(table[rows], weights[rows], 40) for rows in np.array_split(np.arange(300)[::-1], 7)]
    merged = sum(parts[1:], start=parts[0])
    np.testing.assert_array_equal(merged.hashes, whole.hashes)
    np.testing.assert_array_equal(merged.rows, whole.rows)
    np.testing.assert_allclose(merged.weights, whole.weights)
    assert len(whole.hashes) == 40
    repeated = SmallestRows.of(np.repeat(table, 2, axis=0), np.repeat(weights, 2), 40)
    np.testing.assert_array_equal(repeated.rows, whole.rows)
    np.testing.assert_allclose(repeated.weights, 2 * whole.weights)


def test_cells_hidden_by_different_draws_are_independent(table):
    hashes = row_hashes(table)
    first, second = cell_uniforms(hashes, 5, 0), cell_uniforms(hashes, 5, 1)
    assert 0 <= first.min() < 0.01
    assert 0.99 < first.max() < 1
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.1
    assert abs(np.corrcoef(first[:, 0], first[:, 1])[0, 1]) < 0.2
    np.testing.assert_array_equal(cell_uniforms(hashes[7:9], 5, 1), second[7:9])


@pytest.mark.parametrize("limit", [1, 5, 40, 1000])
@pytest.mark.parametrize("values", [1, 3, 30, 10**9])
def test_the_smallest_hashes_are_those_of_sorting_them_all(limit, values):
    rng = np.random.default_rng(0)
    hashes = rng.integers(values, size=400).astype(np.uint64)
    distinct, first = np.unique(hashes, return_index=True)
    assert_array_equal(smallest_distinct(hashes, limit), distinct[:limit])
    assert_array_equal(smallest_positions(hashes, limit), first[:limit])
    weights = rng.integers(3, size=400).astype(float)
    X = rng.standard_normal((400, 2))
    drawn = SmallestRows.of(X, weights, limit, hashes)
    seen = weights > 0
    distinct, first, inverse = np.unique(hashes[seen], return_index=True, return_inverse=True)
    assert_array_equal(drawn.hashes, distinct[:limit])
    assert_array_equal(drawn.rows, X[seen][first[:limit]])
    assert_array_equal(drawn.weights, np.bincount(inverse, weights[seen])[:limit])
