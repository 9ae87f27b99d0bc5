"""Far inputs drawn in."""

import numpy as np
from numpy.testing import assert_allclose

from gramian.targets.squash import Squash


def test_only_heavy_tails_are_squashed():
    rng = np.random.default_rng(0)
    weights = np.full(300, 1 / 300)
    assert Squash.of(rng.uniform(-1, 1, (300, 2)), weights) is None
    assert Squash.of(rng.standard_t(1.5, (300, 2)), weights) is not None


def test_near_values_stay_in_order_and_in_place():
    squash = Squash(np.array([1.0]), np.array([2.0]))
    x = np.linspace(-300, 300, 1001)[:, None]
    found = squash(x)
    assert (np.diff(found[:, 0]) > 0).all()
    near = np.abs(x - 1.0) <= 6.0
    assert_allclose(found[near], ((x - 1.0) / 2.0)[near])
    assert_allclose(squash(np.array([[1.0 + 2.0 * 10]])), 3.0 + np.log(8.0))


def test_constant_and_mostly_constant_columns_keep_a_unit():
    X = np.zeros((50, 2))
    X[0, 1] = 7.0
    squash = Squash.of(X, np.full(50, 0.02))
    assert squash is not None
    assert np.isfinite(squash(X)).all()
    assert squash.unit[0] == 1.0
