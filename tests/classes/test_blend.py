"""Several rules of one kernel taken together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.classes.blend import ALL, Blend, blend_rules
from gramian.classes.calibration import calibrate
from gramian.policy import CLASSES

RULES = [(None, 1e-3), (0, 1e-2), (4, 1e-2)]


@pytest.fixture
def held_out():
    """Evidence of a good rule, of the same in another unit, and of one that says the contrary."""
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 2
    good = np.where(np.arange(2)[:, None] == codes, 1.0, 0.0) + 0.7 * rng.standard_normal((2, 60))
    return np.array([good, 100.0 * good, rng.standard_normal((2, 60))]), codes, np.ones(60)


def test_shares_are_the_odds_of_held_out_rows_in_one_unit(held_out):
    evidence, codes, weights = held_out
    blend, together = blend_rules(*held_out, RULES, offsets=True)
    calibration = calibrate(evidence, codes, weights, offsets=True)
    likelihood = calibration.log_probabilities(evidence)[:, codes, np.arange(60)].sum(axis=1)
    shares = np.exp(CLASSES.row_share * likelihood) * calibration.scales
    assert_allclose(blend.shares, shares / shares.sum())
    assert_allclose(blend.shares[0] / blend.shares[1], 100.0, rtol=1e-4)  # alike but for the unit
    assert_allclose(together, np.tensordot(blend.shares, evidence, axes=1))


def test_rules_come_back_as_they_are_given(held_out):
    blend, _ = blend_rules(*held_out, RULES, offsets=True)
    assert blend.rules == RULES
    assert Blend(np.array([ALL, 3]), np.array([0.1, 0.2]), np.array([0.5, 0.5])).rules == [(None, 0.1), (3, 0.2)]


def test_counting_all_rows_twice_changes_nothing(held_out):
    evidence, codes, weights = held_out
    once, twice = (blend_rules(evidence, codes, w * weights, RULES, offsets=True)[0] for w in (1.0, 2.0))
    assert_allclose(once.shares, twice.shares)


def test_rules_without_odds_are_left_out(held_out):
    evidence, codes, _ = held_out
    many = np.tile(evidence, (1, 1, 40))
    blend, together = blend_rules(many, np.tile(codes, 40), np.ones(2400), RULES, offsets=False)
    assert blend.rules == RULES[:2]
    assert together.shape == (2, 2400)
