"""Folds of rows by content, and blocks of a series."""

import numpy as np
from numpy.testing import assert_array_equal

from gramian.targets.folds import FEWEST_ROWS, block_folds, dealt_folds


def test_folds_follow_contents_and_not_places():
    X = np.random.default_rng(0).standard_normal((23, 3))
    order = np.random.default_rng(1).permutation(23)
    folds = dealt_folds(X, 5)
    assert_array_equal(dealt_folds(X[order], 5).numbers, folds.numbers[order])
    assert_array_equal(dealt_folds(X.astype(np.float32), 5).numbers, folds.numbers)
    assert folds.distinct.max() - folds.distinct.min() <= 1
    assert folds.fewest_kept == 23 - 5


def test_copies_share_a_fold_and_count_once():
    X = np.repeat(np.arange(12.0)[:, None], 3, axis=0)
    folds = dealt_folds(X, 4)
    assert (folds.numbers[::3] == folds.numbers.reshape(12, 3).T).all()
    assert_array_equal(folds.distinct, [3, 3, 3, 3])
    assert folds.usable


def test_too_few_distinct_rows_are_no_folds():
    assert FEWEST_ROWS == 10
    assert not dealt_folds(np.zeros((30, 2)), 5).usable
    assert not dealt_folds(np.arange(9.0)[:, None], 5).usable
    assert dealt_folds(np.arange(10.0)[:, None], 5).usable


def test_blocks_are_stretches():
    assert_array_equal(block_folds(7, 3).numbers, [0, 0, 0, 1, 1, 2, 2])
