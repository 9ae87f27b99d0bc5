"""Cells with known errors, and cells known to lie in intervals."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm, truncnorm

from gramian import PPCA
from gramian.latent.interval import Interval
from gramian.latent.known_errors import Known, NoisyCells, NoisyModel, fit_noisy
from gramian.latent.masked_table import column_sums
from gramian.latent.missing import fit_missing
from gramian.rows import as_rows

W = np.array([[1.0], [0.8], [-1.2], [0.5]])


def noisy_table(seed=0, n=150, share=0.1):
    rng = np.random.default_rng(seed)
    std = np.where(rng.random((n, 4)) < 0.3, 0.0, rng.uniform(0, 1.5, (n, 4)))
    X = rng.standard_normal((n, 1)) @ W.T + 0.5 * rng.standard_normal((n, 4)) + std * rng.standard_normal((n, 4)) + 3
    return np.where(rng.random(X.shape) < share, np.nan, X), std


def log_likelihood(mean, loadings, noise, X, std):
    """By dense Gaussians, row by row."""
    total = 0.0
    for x, s in zip(X, std):
        o = ~np.isnan(x)
        if o.any():
            C = loadings @ loadings.T + np.diag(noise + s**2)
            total += multivariate_normal(mean[o], C[np.ix_(o, o)]).logpdf(x[o])
    return total


def fitted(X, known, start=None, **options):
    sums = as_rows(X).fold(column_sums)
    return fit_noisy(X, known, start or fit_missing(X, 1), sums, weights=np.ones(len(X)), **options)


@pytest.mark.parametrize("per_column", [False, True])
def test_the_maximum_is_that_of_dense_gaussians(per_column):
    X, std = noisy_table(n=50)
    start = fit_missing(X, 1, blocks=np.arange(4) if per_column else None)
    found = fitted(X, Known(std), start, tol=1e-8)
    noise = np.broadcast_to(found.noise_variance, 4)
    level = log_likelihood(found.mean, found.loadings, noise, X, std)
    assert found.log_likelihoods[-1] * len(X) == pytest.approx(level, abs=1e-8)
    assert (np.diff(found.log_likelihoods) >= -1e-12).all()
    size = 4 if per_column else 1

    def loss(p):
        return -log_likelihood(p[:4], p[4:8, None], np.exp(p[8:]), X, std)

    begin = np.r_[found.mean, found.loadings[:, 0], np.log(noise[:size])]
    assert -minimize(loss, begin, method="L-BFGS-B", options={"maxiter": 5}).fun < level + 1e-5


def test_the_noises_of_two_components_are_where_the_likelihood_is_level():
    rng = np.random.default_rng(3)
    std = rng.uniform(0, 0.5, (80, 5))
    X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5)) + (
        rng.uniform(0.4, 1, 5) + std
    ) * rng.standard_normal((80, 5))
    start = fit_missing(X, 2, blocks=np.arange(5))
    found = fit_noisy(X, Known(std), start, as_rows(X).fold(column_sums), weights=np.ones(80), tol=1e-12, max_iter=5000)
    for j in range(5):
        high, low = (
            log_likelihood(
                found.mean, found.loadings, found.noise_variance * np.exp(step * (np.arange(5) == j)), X, std
            )
            for step in (1e-4, -1e-4)
        )
        assert (high - low) / 2e-4 == pytest.approx(0.0, abs=1e-2)  # of a curvature of about 40


def test_without_errors_it_is_the_model_of_the_holes():
    X, std = noisy_table()
    found, plain = fitted(X, Known(0 * std), tol=1e-9), fit_missing(X, 1, tol=1e-9)
    np.testing.assert_allclose(found.loadings, plain.loadings, atol=1e-6)
    assert found.noise_variance == pytest.approx(plain.noise_variance, abs=1e-7)
    one, other = PPCA(2).fit(X), PPCA(2).fit(X, X_std=0 * std)
    np.testing.assert_array_equal(one.loadings_, other.loadings_)
    np.testing.assert_array_equal(one.impute(X), one.impute(X, X_std=0 * std))


def test_fills_and_deviations_given_cells_with_errors_are_those_of_the_dense_gaussian():
    X, std = noisy_table()
    model = PPCA(1).fit(X, X_std=std)
    filled, spread = model.impute(X, return_std=True, small_sample=False, X_std=std)
    C, mean, checked = model.get_covariance(), model.mean_, 0
    for x, s, row, told in zip(X, std, filled, spread):
        o = ~np.isnan(x)
        if o.all() or not o.any():
            continue
        rest = np.linalg.solve(C[np.ix_(o, o)] + np.diag(s[o] ** 2), C[np.ix_(o, ~o)])
        np.testing.assert_allclose(row[~o], mean[~o] + (x[o] - mean[o]) @ rest)
        np.testing.assert_allclose(told[~o] ** 2, np.diag(C[np.ix_(~o, ~o)] - C[np.ix_(~o, o)] @ rest))
        checked += 1
    assert checked > 20
    draws = model.impute(X[:3], n_draws=4000, small_sample=False, X_std=std[:3])
    np.testing.assert_allclose(draws.mean(axis=0), filled[:3], atol=0.1)


def test_errors_are_told_apart_from_noise():
    X, std = noisy_table(1, 600)
    assert PPCA(1).fit(X, X_std=std).noise_variance_ == pytest.approx(0.25, abs=0.05)
    assert PPCA(1).fit(X).noise_variance_ > 0.6
    weights = np.r_[np.full(300, 2.0), np.zeros(300)]
    twice = np.r_[X[:300], X[:300]], np.r_[std[:300], std[:300]]
    weighted = PPCA(1, tol=1e-9).fit(X, sample_weight=weights, X_std=std)
    repeated = PPCA(1, tol=1e-9).fit(twice[0], X_std=twice[1])
    np.testing.assert_allclose(weighted.get_covariance(), repeated.get_covariance(), atol=1e-5)


def test_what_is_refused():
    X, std = noisy_table()
    with pytest.raises(ValueError, match="must have that of X"):
        PPCA(1).fit(X, X_std=std[:5])
    with pytest.raises(ValueError, match="negative, infinite or missing"):
        PPCA(1).fit(X, X_std=std - 1)
    with pytest.raises(ValueError, match="robust=False"):
        PPCA(1, robust="cells").fit(X, X_std=std)


# ---------------------------------------------------------------- intervals


def censored_table(limit=-0.6, n=400, columns=(0,)):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 1)) @ W.T + 0.5 * rng.standard_normal((n, 4))
    at = np.zeros(X.shape, dtype=bool)
    at[:, columns] = X[:, columns] < limit
    return X, at, np.where(at, np.nan, X), Interval(np.full(X.shape, -np.inf), np.where(at, limit, np.nan))


def test_one_censored_cell_per_row_has_the_exact_maximum():
    X, at, holed, interval = censored_table()
    found = fitted(holed, Known(None, interval), fit_missing(np.where(at, -0.6, X), 1))
    seen = ~at[:, 0]

    def loss(p):
        mean, loadings = p[:4], p[4:8, None]
        C = loadings @ loadings.T + np.exp(p[8]) * np.eye(4)
        rest = np.linalg.solve(C[1:, 1:], C[1:, 0])
        given = mean[0] + (X[at[:, 0], 1:] - mean[1:]) @ rest
        below = norm.logcdf((-0.6 - given) / np.sqrt(C[0, 0] - C[0, 1:] @ rest)).sum()
        others = multivariate_normal(mean[1:], C[1:, 1:]).logpdf(X[at[:, 0], 1:]).sum()
        return -(multivariate_normal(mean, C).logpdf(X[seen]).sum() + others + below)

    point = np.r_[found.mean, found.loadings[:, 0], np.log(found.noise_variance)]
    assert loss(point) < minimize(loss, point, method="L-BFGS-B").fun + 1e-3


def test_many_censored_cells_leave_the_model_near_the_true_one():
    _, at, holed, interval = censored_table(columns=(0, 1, 2, 3), n=1500)
    X = np.where(at, -0.6, holed)
    found, cut = fitted(holed, Known(None, interval), fit_missing(X, 1)), fit_missing(X, 1)
    true = W @ W.T + 0.25 * np.eye(4)
    errors = [
        np.abs(fit.loadings @ fit.loadings.T + fit.noise_variance * np.eye(4) - true).max() for fit in (found, cut)
    ]
    assert errors[0] < 0.2 < errors[1]


def test_censored_at_infinity_is_missing():
    X, _, holed, _ = censored_table()
    nowhere = Interval(np.full(X.shape, -np.inf), np.where(np.isnan(holed), np.inf, np.nan))
    model = NoisyModel.of(np.zeros(4), W, 0.25)
    cells = model.with_intervals(NoisyCells.of(holed, None), nowhere)
    plain = NoisyCells.of(holed, None)
    np.testing.assert_array_equal(cells.precision, plain.precision)
    m, v = model.predictive(holed, Known(None, nowhere))
    at = np.isnan(holed)
    posterior = model.posterior(plain)
    np.testing.assert_allclose(m[at], (posterior.mean @ W.T)[at])
    assert (v[at] > 0.25).all()


def test_fills_lie_below_the_limit_and_are_the_mean_of_the_cut_law():
    _, at, holed, interval = censored_table()
    model = NoisyModel.of(np.zeros(4), W, 0.25)
    mean, variance = model.predictive(holed, Known(None, interval))
    C = W @ W.T + 0.25 * np.eye(4)
    rest = np.linalg.solve(C[1:, 1:], C[1:, 0])
    rows = np.flatnonzero(at[:, 0])
    given, left = holed[rows, 1:] @ rest, np.sqrt(C[0, 0] - C[0, 1:] @ rest)
    oracle = truncnorm(-np.inf, (-0.6 - given) / left, loc=given, scale=left)
    np.testing.assert_allclose(mean[rows, 0], oracle.mean(), atol=1e-8)
    np.testing.assert_allclose(variance[rows, 0], oracle.var(), rtol=1e-6)
    drawn = model.drawn(holed, Known(None, interval), 200, None, np.random.default_rng(0))
    assert (drawn[:, rows, 0] <= -0.6).all()
    np.testing.assert_allclose(drawn[:, rows, 0].mean(), mean[rows, 0].mean(), atol=0.05)
