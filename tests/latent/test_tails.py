"""The tails of columns: u times exp(bu) on each side of the median."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import lambertw

from gramian.latent.tails import Tails
from gramian.policy import ROBUST


def test_tails_are_the_inverse_of_u_times_exp_bu():
    tails = Tails(np.array([2.0]), np.array([[0.7], [0.0]]), np.array([[3.0], [0.5]]), np.ones(1))
    u = np.array([[0.0], [0.3], [2.0], [-1.5]])
    x = 2.0 + np.where(u > 0, 3.0 * u * np.exp(0.7 * u), 0.5 * u)
    assert_allclose(tails.into(x), u, atol=1e-12)
    assert_allclose(tails.into(x)[2], lambertw(0.7 * 2.0 * np.exp(1.4)).real / 0.7)


def test_tails_follow_units_and_signs_of_columns():
    X = np.exp(np.random.default_rng(0).standard_normal((200, 1)))
    ones = np.ones(200)
    there, mirrored = Tails.of(X, ones), Tails.of(-50.0 * X + 7.0, ones)
    assert there.bends[0] > 0.3
    assert_allclose(mirrored.bends[::-1], there.bends, atol=1e-12)
    assert_allclose(mirrored.into(-50.0 * X + 7.0), -there.into(X), atol=1e-9)


def test_a_tail_is_told_without_the_cells_that_may_be_wild():
    X = np.random.default_rng(0).standard_normal((400, 1))
    X[:16] = 30.0
    ones = np.ones(400)
    assert Tails.of(X, ones, ROBUST.share).bends.max() < 0.2
    assert Tails.of(X, ones, ROBUST.share).into(np.array([[30.0]])) > 10.0


def test_no_cell_is_so_far_that_its_square_leaves_float64():
    tails = Tails(np.zeros(2), np.array([[0.0, 0.7], [0.0, 0.0]]), np.full((2, 2), 1e-9), np.full(2, 1e-3))
    far = np.array([[1e308, 1e308], [-1e308, np.nan], [np.finfo(float).max, 1.0]])
    with np.errstate(all="raise"):
        found = tails.into(far)
        assert np.isfinite(np.square(found[~np.isnan(far)])).all()
    assert np.isnan(found[1, 1])
    assert found[0, 0] > 1e100 > found[0, 1] > 0 > found[1, 0]
