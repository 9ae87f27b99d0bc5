"""Categories as coordinates: symmetric, without a redundant column, and back as probabilities."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.tables.coding import code_of, contrasts, coordinates, order_of, probabilities

CODINGS = ["contrasts", "ranks", "indicators"]


@pytest.mark.parametrize("count", [2, 3, 7])
def test_contrasts_are_orthonormal_and_all_categories_equally_far_apart(count):
    code = contrasts(count)
    assert_allclose(code.T @ code, np.eye(count - 1), atol=1e-14)
    assert_allclose(code.sum(axis=0), 0, atol=1e-14)
    apart = [np.linalg.norm(code[i] - code[j]) for i, j in itertools.combinations(range(count), 2)]
    assert_allclose(apart, np.sqrt(2))


@pytest.mark.parametrize("coding", CODINGS)
def test_a_category_comes_back_with_probability_one(coding):
    codes = np.array([0, 2, 1, 3, 2])
    assert_allclose(probabilities(coordinates(codes, 4, coding), 4, coding), np.eye(4)[codes], atol=1e-14)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_mean_of_categories_comes_back_as_their_shares(coding):
    block = coordinates(np.array([0, 0, 1, 1]), 4, coding).mean(axis=0, keepdims=True)
    assert_allclose(probabilities(block, 4, coding), [[0.5, 0.5, 0, 0]], atol=1e-14)


@pytest.mark.parametrize("coding", CODINGS)
def test_probabilities_are_proper_wherever_the_coordinates_lie(coding):
    block = 10 * np.random.default_rng(0).normal(size=(200, code_of(5, coding).shape[1]))
    chances = probabilities(block, 5, coding)
    assert (chances >= 0).all()
    assert_allclose(chances.sum(axis=1), 1)


def test_missing_has_no_coordinates():
    assert np.isnan(coordinates(np.array([-1]), 3, "contrasts")).all()


@pytest.mark.parametrize(
    "values, order",
    [
        (["high", "low", "medium"], ["low", "medium", "high"]),
        (["Often", "Never", "Always"], ["Never", "Often", "Always"]),
        (["18-24", "65+", "25-64"], ["18-24", "25-64", "65+"]),
        (["5-10", "<5", "11-20", "> 20"], ["<5", "5-10", "11-20", "> 20"]),
        (["a", "b", "c"], None),
        (["yes", "no"], None),
        (["A1", "A2", "A3"], None),
    ],
)
def test_an_order_is_found_where_the_words_say_it(values, order):
    assert order_of(values) == order
