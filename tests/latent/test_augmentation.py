"""Data augmentation: each half of a turn against what is known of it."""

import numpy as np
import pytest
from scipy import stats

from gramian.latent.augmentation import _fill, _groups, draw_filled, draw_parameters


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.standard_normal((30, 2)) @ rng.standard_normal((2, 4)) + 0.5 * rng.standard_normal((30, 4))


def test_the_regression_of_a_column_on_the_others_is_drawn_as_rubin_draws_it(table):
    rng, (n, d) = np.random.default_rng(1), table.shape
    A = np.column_stack([np.ones(n), table[:, 1:]])
    beta, rss = np.linalg.lstsq(A, table[:, 0], rcond=None)[:2]
    inverse = np.linalg.inv(A.T @ A)
    noises, slopes = [], []
    for _ in range(2000):
        mean, covariance = draw_parameters(table, np.ones(n), rng)
        slope = np.linalg.solve(covariance[1:, 1:], covariance[1:, 0])
        noise = covariance[0, 0] - covariance[0, 1:] @ slope
        noises.append(float(rss[0]) / noise)
        drawn = np.concatenate([[mean[0] - mean[1:] @ slope], slope])
        slopes.append((drawn - beta) / np.sqrt(noise * np.diag(inverse)))
    assert stats.kstest(noises, stats.chi2(n - d).cdf).pvalue > 0.01
    for column in np.array(slopes).T:
        assert stats.kstest(column, stats.norm.cdf).pvalue > 0.01


def test_holes_are_drawn_from_the_conditional_normal_law(table):
    rng, gaps = np.random.default_rng(2), np.random.default_rng(3).random(table.shape) < 0.4
    X = np.where(gaps, np.nan, table)
    mean, covariance = table.mean(axis=0), np.cov(table.T)
    groups = _groups(gaps)
    found = [_fill(X, groups, mean, covariance, rng) for _ in range(4000)]
    drawn = np.array([one.drawn for one in found])
    for i, row in enumerate(gaps):
        o, m = np.flatnonzero(~row), np.flatnonzero(row)
        gain = covariance[np.ix_(m, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
        expected = mean[m] + gain @ (table[i, o] - mean[o])
        left = covariance[np.ix_(m, m)] - gain @ covariance[np.ix_(o, m)]
        np.testing.assert_allclose(found[0].mean[i, m], expected, rtol=1e-9)
        np.testing.assert_array_equal(drawn[:, i, o], np.broadcast_to(table[i, o], (len(drawn), len(o))))
        if len(m):
            scale = np.sqrt(np.outer(left.diagonal(), left.diagonal()))
            np.testing.assert_allclose(np.atleast_2d(np.cov(drawn[:, i, m].T)) / scale, left / scale, atol=0.1)


def test_weights_count_as_copies_of_rows(table):
    weights = np.arange(len(table)) % 3 + 1.0
    copies = np.repeat(table, weights.astype(int), axis=0)
    one = draw_parameters(table, weights, np.random.default_rng(4))
    other = draw_parameters(copies, np.ones(len(copies)), np.random.default_rng(4))
    for mine, its in zip(one, other):
        np.testing.assert_allclose(mine, its, rtol=1e-9)


def test_exact_columns_stay_exact(table):
    X = np.column_stack([table, table.sum(axis=1)])
    X[:5, 4] = np.nan
    first = next(draw_filled(X, np.ones(len(X)), np.zeros(5), np.eye(5), np.random.default_rng(5), 20, 1))
    np.testing.assert_allclose(first.drawn[:5, 4], table[:5].sum(axis=1), atol=1e-2)
