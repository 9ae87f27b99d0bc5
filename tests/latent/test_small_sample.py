"""The small-sample law of a predicted cell."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import stats

from gramian.latent.small_sample import draw_factors, inflation


def test_the_factor_is_that_of_section_12():
    counts, z = np.array([20.0, 50.0]), np.array([[1.0, 2.0, 0.0]])
    factor, degrees = inflation(counts, 3, z)
    assert_allclose(degrees, [16, 46])
    student = stats.t.ppf(0.95, degrees) / stats.norm.ppf(0.95)
    assert_allclose(factor[0], counts / degrees * (1 + 6 / counts) * student**2)


def test_many_rows_leave_the_plug_in_law():
    assert_allclose(inflation(np.array([1e12]), 3, np.zeros((1, 3)))[0], 1.0, rtol=1e-6)


def test_fewer_rows_than_components_still_have_one_degree_of_freedom():
    factor, degrees = inflation(np.array([3.0]), 5, np.zeros((1, 5)))
    assert degrees == 1.0
    assert np.isfinite(factor).all()


def test_draws_are_student_with_the_coverage_of_the_standard_deviations():
    rng = np.random.default_rng(0)
    degrees = np.array([3.0])
    draws = rng.standard_normal((200_000, 1)) * draw_factors(degrees, (200_000, 1), rng)
    assert_allclose((np.abs(draws) < stats.norm.ppf(0.95)).mean(), 0.9, atol=4e-3)
    assert_allclose(draw_factors(None, (7, 2), rng), [1, 1])
