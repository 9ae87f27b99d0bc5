"""Limits of oddness hold for rows that the model has not seen."""

import numpy as np
import pytest

from gramian import PPCA
from gramian.reporting import oddness as module
from gramian.reporting.oddness import limit, limit_at, odd_limits, oddness


@pytest.mark.parametrize("n", [150, 400])
def test_a_share_of_new_rows_near_the_level_is_beyond_the_limit_though_they_are_not_gaussian(n):
    rng = np.random.default_rng(0)

    def rows(count):
        return np.exp(rng.normal(size=(count, 2))) @ rng.permutation(np.eye(2)) @ np.ones((2, 6)) + rng.exponential(
            size=(count, 6)
        )

    X, new = rows(n), rows(4000)
    model = PPCA(2).fit(X)
    beyond = limit_at(odd_limits(model, X), 0.95)
    flagged = (oddness(model.anomaly(new)) > beyond).mean()
    assert 0.01 < flagged < 0.09
    assert (oddness(model.anomaly(new)) > -np.log(0.05)).mean() > flagged  # the Gaussian limits flag more


def test_a_limit_is_the_conformal_quantile_where_there_are_rows_enough():
    scores = np.random.default_rng(0).exponential(size=999)
    assert limit(scores, 0.9) == np.sort(scores)[899]


def test_a_limit_beyond_the_rows_goes_on_as_an_exponential_tail():
    scores = np.random.default_rng(0).exponential(size=50)
    assert limit(scores, 0.999) == pytest.approx(-np.log(0.001), rel=0.5)
    assert limit(scores, 0.999) > limit(scores, 0.99) > limit(scores, 0.9)


def test_levels_between_and_beyond_the_stored_ones():
    limits = {str(level): -np.log(1 - level) for level in module.LEVELS}
    for level in (0.5, 0.97, 0.9999):
        assert limit_at(limits, level) == pytest.approx(-np.log(1 - level))


def test_few_rows_have_no_limits():
    assert odd_limits(PPCA(1).fit(np.random.default_rng(0).normal(size=(8, 3))), np.zeros((8, 3))) == {}


def test_the_rules_are_pinned():
    assert (module.FOLDS, module.REFITTED_ROWS, module.LEAST_ROWS) == (5, 5000, 10)
