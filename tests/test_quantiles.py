"""The weighted quantile: repetition is weight, holes have none, and a median is NumPy's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian._quantiles import weighted_quantile


@pytest.mark.parametrize("halfway", [False, True])
@pytest.mark.parametrize("level", [0.1, 0.25, 0.3, 0.5, 0.6, 0.75, 0.9, 1.0])
def test_weights_are_repetition(level, halfway):
    values, counts = np.array([3.0, 1.0, 2.0]), np.array([1, 2, 3])
    repeated = np.repeat(values, counts)
    found = weighted_quantile(values, counts / 6, level, halfway=halfway)
    assert found == weighted_quantile(repeated, np.ones(6), level, halfway=halfway)


def test_it_is_the_smallest_value_with_the_share_at_or_below_it():
    values, weights = np.array([1.0, 2.0, 3.0]), np.array([8.0, 1.0, 1.0])
    assert weighted_quantile(values, weights, 0.8) == 1.0
    assert weighted_quantile(values, weights, 0.81) == 2.0


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_halfway_it_is_the_median(n):
    X = np.random.default_rng(n).standard_normal((n, 5))
    assert_allclose(weighted_quantile(X, np.full(n, 0.1), 0.5, halfway=True), np.median(X, axis=0))


def test_columns_are_taken_one_by_one_and_holes_have_no_weight():
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((30, 4)), rng.integers(0, 4, 30).astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    for level in (0.05, 0.5, 0.95):
        seen = [~np.isnan(column) for column in X.T]
        alone = [weighted_quantile(column[own], weights[own], level) for column, own in zip(X.T, seen)]
        assert_allclose(weighted_quantile(X, weights, level), alone)


def test_of_nothing_it_is_zero():
    assert weighted_quantile(np.array([[np.nan, 2.0]]), np.ones(1), 0.5).tolist() == [0.0, 2.0]
    assert weighted_quantile(np.array([5.0, 6.0]), np.array([0.0, 0.0]), 0.5) == 0.0
    assert weighted_quantile(np.empty((0, 2)), np.empty(0), 0.5).tolist() == [0.0, 0.0]
