"""The small-sample law of a predicted cell."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import stats

from gramian.latent.small_sample import SmallSample, draw_factors, inflation


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


def test_the_signal_of_an_unseen_cell_is_its_cell_without_one_noise():
    law, latents = SmallSample(np.array([20.0, 50.0]), 2), np.array([[1.0, 0.5], [0.0, 2.0]])
    signal, noise = np.array([0.3, 2.0]), 0.7
    own = inflation(law.counts, 2, latents)[0] / (1 + (1 + (latents**2).sum(axis=1)[:, None]) / law.counts)
    unseen = np.ones((2, 2), dtype=bool)
    found = law.signal_variance(signal, noise, latents, unseen)
    assert_allclose(found, law.cell_variance(signal, noise, latents) - noise * own)


def test_the_signal_of_a_seen_cell_has_the_leverage_of_what_it_leaves_open():
    """Regression of a column on known latents: the prediction errs by the row's own share and by the coefficients'."""
    law, latents = SmallSample(np.array([20.0]), 2), np.array([[1.0, 0.5]])
    own = law.counts / 17 * (stats.t.ppf(0.95, 17) / stats.norm.ppf(0.95)) ** 2
    found = law.signal_variance(np.array([0.3]), 0.7, latents)
    assert_allclose(found[0], own * (0.3 + (1 + 1.25) / 20 * (0.7 - 0.3)))
    assert_allclose(law.signal_variance(np.array([0.3]), 0.7, latents, np.zeros((1, 1), dtype=bool)), found)
    assert law.signal_variance(np.array([0.7]), 0.7 - 1e-16, latents) >= 0


def test_the_error_of_denoised_cells_has_the_leverage_of_the_noise_off_the_subspace():
    """The identity behind it, by simulation with known noise: |P̂x - f|² is σ²(q + (1 - h)(1 + |z|²)/n) summed over cells."""
    rng = np.random.default_rng(0)
    n, d, q, sigma = 20, 6, 3, 0.01
    W = rng.standard_normal((q, d))
    latents = rng.standard_normal((n, q))
    latents -= latents.mean(axis=0)
    latents @= np.linalg.inv(np.linalg.cholesky(latents.T @ latents / n)).T  # then |z|² is what leverage says
    z = np.array([1.0, -0.5, 1.5])
    errors = []
    for _ in range(4000):
        X = latents @ W + sigma * rng.standard_normal((n, d))
        mean = X.mean(axis=0)
        axes = np.linalg.svd(X - mean, full_matrices=False)[2][:q]
        x = z @ W + sigma * rng.standard_normal(d)
        errors.append(mean + (x - mean) @ axes.T @ axes - z @ W)
    h = np.diag(np.linalg.pinv(W) @ W)
    expected = sigma**2 * (h + (1 - h) * (1 + z @ z) / n)
    found = np.square(errors).mean(axis=0)
    assert_allclose(found, expected, rtol=0.1)
    assert_allclose(found.sum(), expected.sum(), rtol=0.03)
    assert found.sum() < 0.8 * (sigma**2 * (h + (1 + h) * (1 + z @ z) / n)).sum()  # the law of an unseen cell
