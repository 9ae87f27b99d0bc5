"""Arrowhead matrices: the secular equation against a dense decomposition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.solvers.arrowhead import arrowhead_pairs


def dense(poles, border, corner):
    return np.block([[np.diag(poles), border], [border.T, corner]])


def falling(rng, k, power):
    return np.sort(rng.random(k) ** power)[::-1] * 10


CASES = {
    "one pole": lambda rng: (np.array([2.0]), np.array([[0.5]])),
    "no pole": lambda rng: (np.empty(0), np.empty((0, 1))),
    "well apart": lambda rng: (falling(rng, 40, 2), rng.standard_normal((40, 1))),
    "falling over 20 decades": lambda rng: (falling(rng, 60, 60), rng.standard_normal((60, 1)) * 1e-3),
    "equal poles": lambda rng: (np.repeat([3.0, 2.0, 1.0], [4, 1, 6]), rng.standard_normal((11, 1))),
    "nothing bound to the border": lambda rng: (falling(rng, 20, 2), np.zeros((20, 1))),
    "some not bound": lambda rng: (
        falling(rng, 30, 2),
        rng.standard_normal((30, 1)) * (np.arange(30) % 3 == 0)[:, None],
    ),
    "two borders": lambda rng: (falling(rng, 30, 2), rng.standard_normal((30, 2))),
    "weights of 1e-9": lambda rng: (falling(rng, 30, 2), 1e-9 * rng.standard_normal((30, 1))),
    "weights less than a rounding of the poles": lambda rng: (
        5 * falling(rng, 8, 2),
        1e-16 * rng.standard_normal((8, 1)),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_pairs_are_those_of_the_dense_matrix(case, share):
    poles, border = CASES[case](np.random.default_rng(0))
    m = border.shape[1]
    corner = 2.0 * np.eye(m)
    A = dense(poles, border, corner)
    count = max(1, int(share * len(A)))
    found = arrowhead_pairs(poles, border, corner, count)
    values = np.linalg.eigvalsh(A)[::-1]
    scale = np.abs(values).max()
    assert_allclose(found.values, values[:count], atol=1e-13 * scale)
    vectors = np.vstack([found.shafts, found.tips])
    assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-11)
    assert_allclose(A @ vectors, vectors * found.values, atol=1e-12 * scale)
    only = arrowhead_pairs(poles, border, corner, count, vectors=False)
    assert only.shafts is None
    assert_allclose(np.square(only.tips), np.square(found.tips), atol=1e-14)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_shafts_that_are_not_formed_are_known_by_their_products(share):
    rng = np.random.default_rng(0)
    poles, border = np.sort(rng.uniform(1.0, 9.0, 80))[::-1], rng.standard_normal((80, 2))
    count = int(share * 82)
    formed, products = (arrowhead_pairs(poles, border, 2.0 * np.eye(2), count, formed=known) for known in (True, False))
    signs = np.sign((products.tips * formed.tips).sum(axis=0))
    block, rows = rng.standard_normal((count, 3)), rng.standard_normal((4, 80))
    assert_allclose(products.values, formed.values, rtol=1e-12)
    assert_allclose(products.shafts @ block, formed.shafts @ (signs[:, None] * block), atol=1e-11)
    assert_allclose(rows @ products.shafts, rows @ formed.shafts * signs, atol=1e-11)
    few = products.leading(count // 2)
    assert_allclose(rows @ few.shafts, (rows @ formed.shafts * signs)[:, : count // 2], atol=1e-11)


def test_no_pairs_are_asked_for_and_none_are_given():
    found = arrowhead_pairs(np.array([2.0, 1.0]), np.ones((2, 1)), np.ones((1, 1)), 0)
    assert found.values.shape == (0,)
    assert found.tips.shape == (1, 0)
    assert found.shafts.shape == (2, 0)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("vectors", ["formed", "known by products", "not asked for"])
def test_poles_far_below_what_is_asked_for_are_drawn_together_without_loss(m, vectors):
    rng = np.random.default_rng(0)
    poles = np.append(falling(rng, 60, 1) + 1.0, np.sort(rng.uniform(0.0, 0.5, 400))[::-1])
    border, corner = rng.standard_normal((460, m)), 2.0 * np.eye(m)
    options = {"vectors": vectors != "not asked for", "formed": vectors == "formed"}
    exact, found = (arrowhead_pairs(poles, border, corner, 60, above=above, **options) for above in (0.0, 1.0))
    assert exact.values[-1] > 1.0
    assert_allclose(found.values, exact.values, rtol=1e-13)
    signs = np.sign((found.tips * exact.tips).sum(axis=0))
    assert_allclose(found.tips, exact.tips * signs, atol=1e-11)
    if vectors == "formed":
        assert_allclose(found.shafts, exact.shafts * signs, atol=1e-11)
        assert_allclose(found.shafts.T @ found.shafts + found.tips.T @ found.tips, np.eye(60), atol=1e-12)
    elif vectors == "known by products" and m > 1:
        block, rows = rng.standard_normal((60, 3)), rng.standard_normal((4, 460))
        assert_allclose(found.shafts @ block, exact.shafts @ (signs[:, None] * block), atol=1e-11)
        assert_allclose(rows @ found.shafts, rows @ exact.shafts * signs, atol=1e-11)
