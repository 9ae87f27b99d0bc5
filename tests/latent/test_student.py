"""The multivariate t of PPCA: its density, its limit, its EM."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_t, norm, t

from gramian.latent.missing import fit_missing
from gramian.latent.student import best_degrees, fit_student, row_scales, student_log_density


def heavy_rows(n=300, d=6, degrees=3.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ (2.0 * rng.standard_normal((2, d))) + 0.3 * rng.standard_normal((n, d))
    return X / np.sqrt(rng.gamma(degrees / 2, 2 / degrees, n))[:, None] + 5.0


def with_holes(X, share, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def log_density(X, model, degrees):
    """By SciPy, row by row."""
    C = model.loadings @ model.loadings.T + np.diag(np.broadcast_to(model.noise_variance, len(model.mean)))
    total = []
    for row in X:
        seen = np.flatnonzero(~np.isnan(row))
        total.append(multivariate_t(model.mean[seen], C[np.ix_(seen, seen)], degrees).logpdf(row[seen]))
    return np.array(total)


@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_the_likelihood_is_that_of_scipy_and_never_falls(holes):
    X = with_holes(heavy_rows(), holes)
    found = fit_student(X, fit_missing(X, 2))
    assert_allclose(
        found.model.log_likelihoods[-1], log_density(X, found.model, found.degrees_of_freedom).mean(), rtol=1e-9
    )
    assert np.diff(found.model.log_likelihoods).min(initial=0.0) > -1e-10
    assert 2.2 < found.degrees_of_freedom < 4.5


@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_no_change_of_the_parameters_is_more_likely(holes):
    X = with_holes(heavy_rows(), holes)
    found = fit_student(X, fit_missing(X, 2), tol=1e-10)
    model, best = found.model, log_density(X, found.model, found.degrees_of_freedom).mean()
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-3):
        for _ in range(5):
            other = type(model)(
                model.mean + size * rng.standard_normal(6),
                model.loadings + size * rng.standard_normal(model.loadings.shape),
                model.noise_variance * np.exp(size * rng.standard_normal()),
                [],
                0,
                True,
            )
            assert log_density(X, other, found.degrees_of_freedom * np.exp(size * rng.standard_normal())).mean() < best


@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_with_degrees_to_infinity_it_is_the_gaussian(holes):
    X = with_holes(heavy_rows(degrees=100.0), holes)
    gaussian = fit_missing(X, 2, tol=1e-10)
    found = fit_student(X, gaussian, degrees_of_freedom=1e13, tol=1e-10).model
    assert_allclose(found.loadings, gaussian.loadings, atol=1e-8)
    assert_allclose(found.mean, gaussian.mean, atol=1e-8)
    assert_allclose(found.noise_variance, gaussian.noise_variance, atol=1e-8)
    assert_allclose(found.log_likelihoods[-1], gaussian.log_likelihoods[-1], atol=1e-8)


def test_the_best_degrees_have_no_slope():
    rng = np.random.default_rng(0)
    scales = rng.gamma(2.0, 0.5, 200)
    distance, counts, weights = rng.chisquare(5, 200) / scales, np.full(200, 5.0), rng.random(200)
    best = best_degrees(distance, counts, weights)

    def level(degrees):
        return weights @ student_log_density(-0.5 * distance, distance, counts, degrees)

    assert level(best) > max(level(best * 1.01), level(best / 1.01))
    assert np.isinf(best_degrees(np.full(200, 2.0), np.full(200, 4.0), np.ones(200)))


def test_wild_rows_have_small_weights_and_do_not_turn_the_subspace():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((10, 2))
    X = rng.standard_normal((300, 2)) @ W.T + 0.2 * rng.standard_normal((300, 10))
    start = fit_missing(X[30:], 2, tol=1e-2)
    X[:30] += 10.0 * rng.standard_normal((30, 10))
    found = fit_student(X, start)
    assert found.row_weights[:30].max() < 0.2 < found.row_weights[30:].min()
    cosines = np.linalg.svd(np.linalg.qr(W)[0].T @ np.linalg.qr(found.model.loadings)[0], compute_uv=False)
    assert np.degrees(np.arccos(cosines.min())) < 5.0


def test_a_noise_per_block_and_a_fixed_noise_are_kept():
    X = with_holes(heavy_rows(), 0.1)
    blocks = np.array([0, 0, 0, 1, 1, 1])
    start = fit_missing(X, 2, blocks=blocks)
    found = fit_student(X, start, blocks=blocks).model
    assert found.noise_variance.shape == (2,)
    assert np.diff(found.log_likelihoods).min(initial=0.0) > -1e-10
    fixed = fit_student(X, fit_missing(X, 2, noise_variance=0.5), noise_variance=0.5).model
    assert fixed.noise_variance == 0.5
    assert np.diff(fixed.log_likelihoods).min(initial=0.0) > -1e-10


def test_a_row_counts_by_its_distance():
    assert_allclose(row_scales(np.array([2.0, 100.0]), np.array([2.0, 2.0]), 4.0), [1.0, 6.0 / 104.0])
    assert_allclose(row_scales(np.array([2.0, 100.0]), np.array([2.0, 2.0]), np.inf), 1.0)


def test_a_row_of_one_cell_has_the_density_of_one_dimension_and_one_of_none_has_none():
    gaussian, distance = np.array([norm.logpdf(0.7), 0.0]), np.array([0.49, 0.0])
    found = student_log_density(gaussian, distance, np.array([1.0, 0.0]), 3.0)
    assert_allclose(found, [t.logpdf(0.7, 3.0), 0.0], atol=1e-14)
