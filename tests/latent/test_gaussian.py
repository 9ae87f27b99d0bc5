"""The Gaussian against dense formulas, whole and seen in part."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from gramian import NumericalWarning
from gramian.latent.gaussian import (
    LatentGaussian,
    Posterior,
    Projection,
    drawn_rows,
    log_likelihoods_of_each_q,
    maximum_likelihood,
    noise_of_each_q,
    noise_or_zero,
    resolve_noise,
    signal_variance,
    square_root,
)
from gramian.latent.primal import latent_model
from gramian.solvers.spectrum import Spectrum
from oracles import naive
from oracles.tables import TABLES, with_holes

X = TABLES["tall"]
SPECTRUM = Spectrum(np.array([4.0, 2.0]), np.eye(5)[:, :2], 9.0)
MEAN, W, NOISE = naive.ppca(X, 2)[:3]
MODEL = latent_model(MEAN, W, NOISE)


def test_one_cell_beside_next_to_no_noise_has_the_density_of_its_column():
    loadings = np.array([[1.96, 0.31, -0.013], [0.4, -0.9, 0.02], [-0.7, 0.2, 0.1], [0.3, 0.4, 0.09]])
    noise = 3e-12
    model = latent_model(np.zeros(4), loadings, noise)
    rows = np.full((4, 4), np.nan)
    np.fill_diagonal(rows, [-0.95, 2.0, 0.3, -1.1])
    seen = model.subspace.project(rows)
    variances = np.square(loadings).sum(axis=1) + noise
    cells = np.diag(rows)
    assert_allclose(model.gaussian.mahalanobis(seen), cells**2 / variances, rtol=1e-4)
    assert_allclose(model.gaussian.log_density(seen), norm.logpdf(cells, scale=np.sqrt(variances)), rtol=1e-3)
    told = model.gaussian.posterior(seen).mean @ model.subspace.loadings(model.gaussian.gains).T
    assert_allclose(np.diag(told), cells, rtol=1e-9)


@pytest.mark.parametrize("rows", [X, with_holes(X, 0.3)], ids=["whole", "in part"])
def test_posterior_and_density_are_the_dense_ones(rows):
    seen = MODEL.subspace.project(rows)
    posterior = MODEL.gaussian.posterior(seen)
    densities = MODEL.gaussian.log_density(seen)
    loadings = MODEL.subspace.loadings(MODEL.gaussian.gains)
    for i, x in enumerate(rows):
        mean, covariance = naive.posterior(x, MEAN, loadings, NOISE)
        assert_allclose(posterior.mean[i], mean, atol=1e-9)
        found = posterior.covariance if posterior.covariance.ndim == 2 else posterior.covariance[i]
        assert_allclose(found, covariance, atol=1e-9)
        assert densities[i] == pytest.approx(naive.log_density(x[None], MEAN, loadings, NOISE)[0])


def test_noise_and_likelihood_of_every_q_are_those_of_each_fit():
    values = np.linalg.eigvalsh(naive.covariance(X)[1])[::-1]
    trace = values.sum()
    noises = noise_of_each_q(values, trace, 6)
    levels = log_likelihoods_of_each_q(values, trace, 6, values, trace)
    for q in range(5):
        mean, loadings, noise = naive.ppca(X, q)[:3]
        assert noises[q] == pytest.approx(noise)
        assert levels[q] == pytest.approx(naive.log_density(X, mean, loadings, noise).mean())
    assert levels[6] == pytest.approx(levels[5])  # q = d is the same Gaussian as q = d - 1


def test_likelihoods_of_rows_average_to_those_of_their_mean_squares():
    values = np.array([4.0, 2.0, 1.0])
    squares = np.random.default_rng(0).chisquare(1, (9, 3)) * values
    norms = squares.sum(axis=1) + 1.0
    each = log_likelihoods_of_each_q(values, 8.0, 5, squares, norms)
    assert_allclose(each.mean(axis=0), log_likelihoods_of_each_q(values, 8.0, 5, squares.mean(axis=0), norms.mean()))


def test_signal_variance_is_the_diagonal_of_the_dense_product():
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((5, 2))
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert_allclose(signal_variance(loadings, covariance), np.diag(loadings @ covariance @ loadings.T))
    many = np.stack([covariance, 3 * covariance])
    assert_allclose(signal_variance(loadings, many)[1], 3 * np.diag(loadings @ covariance @ loadings.T))


def test_draws_have_the_moments_of_the_model():
    rng = np.random.default_rng(0)
    latents = rng.standard_normal((200_000, 2))
    rows = drawn_rows(MEAN, W, latents, NOISE, rng)
    assert_allclose(rows.mean(axis=0), MEAN, atol=0.03)
    assert_allclose(np.cov(rows.T), W @ W.T + NOISE * np.eye(6), atol=0.1)


def test_a_square_root_squares_back_and_posterior_draws_follow_it():
    covariance = np.array([[2.0, 1.0], [1.0, 0.5]])  # singular
    root = square_root(covariance)
    assert_allclose(root @ root.T, covariance, atol=1e-12)
    draws = Posterior(np.zeros((1, 2)), covariance).sample(50_000, random_state=0)[:, 0]
    assert_allclose(np.cov(draws.T), covariance, atol=0.05)


def test_zero_noise_has_no_density_and_a_residual_all_the_same():
    gaussian = LatentGaussian(np.array([2.0]), 0.0, 3.0)
    seen = latent_model(np.zeros(3), np.array([[np.sqrt(2.0)], [0.0], [0.0]]), 0.0).subspace.project(np.eye(3))
    with pytest.raises(ValueError, match="residual"):
        gaussian.log_density(seen)
    assert_allclose(gaussian.residual(seen), [0.0, 1.0, 1.0])


# ---------------------------------------------------------------- the noise: maximum likelihood or given, and one rule for zero


def test_the_trace_alone_gives_the_noise():
    assert maximum_likelihood(SPECTRUM, 5) == pytest.approx(3.0 / 3)
    assert maximum_likelihood(SPECTRUM, 2) == 0.0


def test_a_given_noise_is_taken_at_its_word_up_to_the_last_eigenvalue():
    assert resolve_noise(1.5, SPECTRUM, 5) == 1.5
    with pytest.raises(ValueError, match=r"3 exceeds .* 2"):
        resolve_noise(3.0, SPECTRUM, 5)


def test_noise_below_a_trillionth_of_the_mean_variance_is_zero():
    assert noise_or_zero(2e-12, 1.0, told=True) == 2e-12
    with pytest.warns(NumericalWarning, match=r"exactly 0\.0"):
        assert noise_or_zero(0.5e-12, 1.0, told=True) == 0.0
    assert noise_or_zero(0.5e-12, 1.0, told=False) == 0.0
    assert noise_or_zero(1e-309, 1e-299, told=False) == 0.0  # far above a trillionth, but 1 / noise would overflow
    assert noise_or_zero(1e-307, 1e-299, told=False) == 1e-307


def test_where_rounding_has_lost_the_noise_the_prior_holds_on_what_was_not_seen():
    direction = np.array([1.0, 1.0]) / np.sqrt(2.0)
    seen = Projection(direction[None] * 3.0, np.array([9.0]), 1.0, np.outer(direction, direction))
    posterior = LatentGaussian(np.array([4.0, 4.0]), 1e-30, 3.0).posterior(seen)
    assert_allclose(posterior.mean, direction[None] * 1.5, rtol=1e-9)  # z along what was seen: 3 over the gain of 2
    assert_allclose(posterior.covariance, np.eye(2) - np.outer(direction, direction), atol=1e-9)


def test_a_row_off_an_all_but_exact_subspace_has_no_likelihood_and_no_warning():
    with np.errstate(all="raise"):
        found = log_likelihoods_of_each_q(np.array([1.0, 1e-310]), 1.0 + 1e-310, 3, np.array([1.0, 0.0]), 5.0)
    assert np.isneginf(found[1:]).all()


@pytest.mark.parametrize("noise", [1e-4, 1e-6, 1e-9])
def test_the_density_of_one_cell_has_its_digits_whatever_the_noise(noise):
    """N(x; mu, WW' + noise) of one number: fewer cells than components, where the inverse of q x q has few digits."""
    model = latent_model(MEAN, W, noise)
    loadings = model.subspace.loadings(model.gaussian.gains)
    rows = np.full((6, len(MEAN)), np.nan)
    rows[range(6), [j % len(MEAN) for j in range(6)]] = np.linspace(-2.0, 3.0, 6)
    for x, found in zip(rows, model.gaussian.log_density(model.subspace.project(rows))):
        j = int(np.flatnonzero(~np.isnan(x))[0])
        variance = loadings[j] @ loadings[j] + noise
        wanted = -0.5 * (np.log(2 * np.pi * variance) + (x[j] - MEAN[j]) ** 2 / variance)
        assert found == pytest.approx(wanted, rel=1e-15 / noise * 100, abs=1e-10)


def test_rows_that_miss_the_same_part_are_solved_once_and_answered_alike():
    from dataclasses import replace

    from gramian import PPCA

    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((400, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    model = PPCA(2).fit(X)._model
    seen = model.subspace.project(X)
    assert seen.patterns is not None
    assert len(seen.patterns[0]) < 30
    one_by_one = replace(seen, patterns=None)
    for verb in ("log_density", "mahalanobis", "residual", "t_squared"):
        together, apart = (getattr(model.gaussian, verb)(part) for part in (seen, one_by_one))
        np.testing.assert_allclose(together, apart, rtol=1e-12, atol=1e-12)
    for part in ("mean", "covariance"):
        together, apart = (getattr(model.gaussian.posterior(s), part) for s in (seen, one_by_one))
        np.testing.assert_allclose(together, apart, rtol=1e-12, atol=1e-12)
    few = seen[:3]
    assert few.patterns is None
    np.testing.assert_allclose(model.gaussian.log_density(few), model.gaussian.log_density(seen)[:3])
