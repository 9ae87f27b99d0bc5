"""Rows of an array: sums over blocks."""

import numpy as np
import pytest

from gramian.operators.moments import Moments
from gramian.rows import ArrayRows, as_rows


def total(block, power):
    return (block.weights[:, None] * block.X**power).sum(axis=0)


def doubled(block):
    return 2 * block.X


def sum_of_prepared(block):
    return block.prepared.sum(axis=0)


@pytest.mark.parametrize("block_rows", [1, 7, 100, 4096])
def test_fold_is_the_sum_whatever_the_blocks(block_rows):
    X = np.random.default_rng(0).standard_normal((100, 3))
    rows = ArrayRows(X, np.ones(100), block_rows=block_rows)
    np.testing.assert_allclose(rows.fold(total, 2), (X**2).sum(axis=0))
    np.testing.assert_allclose(rows.prepare(doubled).fold(sum_of_prepared), 2 * X.sum(axis=0))
    assert len(rows.map(total, 1)) == -(-100 // block_rows)


def test_as_rows_hands_rows_on():
    rows = as_rows(np.eye(3))
    assert as_rows(rows) is rows
    assert rows.n_columns == 3


def test_no_rows_is_a_clear_error():
    with pytest.raises(ValueError, match="no rows"):
        as_rows(np.empty((0, 2))).fold(total, 1)


def test_moments_fold_to_the_moments_of_all():
    X = np.random.default_rng(1).standard_normal((50, 4)) + 1e3
    rows = ArrayRows(X, np.ones(50), block_rows=9)
    moments = rows.map(lambda block: Moments.of(block.X, block.weights))
    merged = moments[0]
    for part in moments[1:]:
        merged = merged.merge(part)
    np.testing.assert_allclose(merged.covariance(), np.cov(X.T, bias=True), rtol=1e-9)
