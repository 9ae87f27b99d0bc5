"""PPCA against the textbook: THEORY 1, 2 in primal coordinates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from gramian import PPCA
from oracles import naive
from oracles.tables import TABLES, with_holes

tables = pytest.mark.parametrize("X", TABLES.values(), ids=TABLES)


@tables
@pytest.mark.parametrize("center", [True, False])
def test_closed_form_is_tipping_and_bishop(X, center):
    if not center and abs(X).max() > 1e6:
        pytest.skip("uncentred, an offset of 1e8 is the only component")
    model = PPCA(1, center=center).fit(X)
    _, W, sigma2, values, U = naive.ppca(X - (X.mean(axis=0).round() if center else 0), 1, center=center)
    assert_allclose(model.noise_variance_, sigma2, rtol=1e-6)
    assert_allclose(model.explained_variance_, values, rtol=1e-8)
    assert_allclose(abs(model.components_ @ U), 1, atol=1e-8)
    assert_allclose(model.get_covariance(), W @ W.T + sigma2 * np.eye(X.shape[1]), atol=1e-6 * values[0])


@tables
def test_density_is_scipys_gaussian(X):
    model = PPCA(1).fit(X)
    expected = naive.log_density(X, model.mean_, model.loadings_, model.noise_variance_)
    assert_allclose(model.score_samples(X), expected, rtol=1e-8, atol=1e-8 * max(1, abs(X).max() * 1e-4))
    assert_allclose(model.score(X), expected.mean(), rtol=1e-8)


def test_density_with_holes_is_the_marginal(rng):
    X = with_holes(TABLES["tall"], 0.3)
    X[5] = np.nan
    model = PPCA(2).fit(TABLES["tall"])
    expected = naive.log_density(X, model.mean_, model.loadings_, model.noise_variance_)
    assert_allclose(model.score_samples(X), expected, rtol=1e-8, atol=1e-8)
    assert model.score_samples(X)[5] == 0


def test_posterior_with_and_without_holes_is_the_conditional_gaussian():
    X = with_holes(TABLES["tall"], 0.3)
    X[3] = np.nan
    model = PPCA(2).fit(TABLES["tall"])
    posterior = model.posterior(X)
    for i, x in enumerate(X):
        mean, covariance = naive.posterior(x, model.mean_, model.loadings_, model.noise_variance_)
        assert_allclose(posterior.mean[i], mean, atol=1e-9)
        assert_allclose(posterior.covariance[i], covariance, atol=1e-9)
    assert_allclose(posterior.mean[3], 0)  # a row with nothing observed gets the prior
    assert_allclose(posterior.covariance[3], np.eye(2))
    complete = model.posterior(TABLES["tall"])
    mean, covariance = naive.posterior(TABLES["tall"][0], model.mean_, model.loadings_, model.noise_variance_)
    assert_allclose(complete.mean[0], mean, atol=1e-10)
    assert_allclose(complete.covariance, covariance, atol=1e-10)


def test_imputation_is_the_conditional_gaussian():
    X = with_holes(TABLES["tall"], 0.3)
    model = PPCA(2).fit(TABLES["tall"])
    full, std = model.impute(X, return_std=True, small_sample=False)
    for i, x in enumerate(X):
        if not np.isnan(x).any():
            continue
        mean, covariance = naive.conditional(x, model.mean_, model.loadings_, model.noise_variance_)
        assert_allclose(full[i, np.isnan(x)], mean, atol=1e-9)
        assert_allclose(std[i, np.isnan(x)], np.sqrt(np.diag(covariance)), atol=1e-9)
    assert_allclose(full[~np.isnan(X)], X[~np.isnan(X)], rtol=0)
    assert (std[~np.isnan(X)] == 0).all()


def test_draws_have_the_predictive_law():
    X = with_holes(TABLES["tall"], 0.3)[:3]
    model = PPCA(2, random_state=0).fit(TABLES["tall"])
    draws = model.impute(X, n_draws=20000)
    assert draws.shape == (20000, *X.shape)
    for i, x in enumerate(X):
        holes = np.isnan(x)
        if holes.any():
            mean, covariance = naive.conditional(x, model.mean_, model.loadings_, model.noise_variance_)
            assert_allclose(draws[:, i, holes].mean(axis=0), mean, atol=0.05)
            assert_allclose(np.cov(draws[:, i, holes].T).reshape(covariance.shape), covariance, atol=0.06)


def test_samples_have_the_models_covariance():
    model = PPCA(2).fit(TABLES["tall"])
    draws = model.sample(200_000, random_state=1)
    assert_allclose(np.cov(draws.T), model.get_covariance(), atol=0.08)
    given = model.sample(latent=np.ones((50_000, 2)), random_state=2)
    assert_allclose(given.mean(axis=0), model.inverse_transform(np.ones((1, 2)))[0], atol=0.02)
    assert_allclose(given.var(axis=0), model.noise_variance_, rtol=0.05)


@tables
def test_scores_are_scikit_learns_up_to_sign(X):
    q = min(2, X.shape[0] - 1)
    ours, theirs = PPCA(1).fit(X).scores(X), PCA(1, svd_solver="full").fit(X).transform(X)
    assert_allclose(abs(ours), abs(theirs), atol=1e-6 * abs(theirs).max())
    assert q >= 1


@pytest.mark.parametrize("name", ["tall", "wide"])
def test_noise_differs_from_scikit_learns_as_documented(name):
    X = TABLES[name]
    n, d = X.shape
    ours, theirs = PPCA(2).fit(X).noise_variance_, PCA(2).fit(X).noise_variance_
    assert_allclose(ours * n * (d - 2), theirs * (n - 1) * (min(n, d) - 2), rtol=1e-9)


def test_zero_noise_is_pca():
    X = TABLES["tall"]
    model = PPCA(2, noise_variance=0).fit(X)
    pca = PCA(2).fit(X)
    assert model.noise_variance_ == 0.0
    assert_allclose(model.reconstruct(X), pca.inverse_transform(pca.transform(X)), atol=1e-9)
    assert_allclose(model.residual(X), ((X - model.reconstruct(X)) ** 2).sum(axis=1), atol=1e-9)
    assert_allclose(model.posterior(X).covariance, 0)
    for method in (model.score_samples, model.mahalanobis):
        with pytest.raises(ValueError, match="residual"):
            method(X)


def test_projection_with_holes_is_least_squares_on_what_is_seen():
    X = with_holes(TABLES["tall"], 0.3)
    model = PPCA(2).fit(TABLES["tall"])
    rebuilt = model.reconstruct(X, kind="projection")
    for x, r, residual in zip(X, rebuilt, model.residual(X)):
        o = ~np.isnan(x)
        if o.sum() >= 2:
            U = model.components_.T
            t = np.linalg.lstsq(U[o], (x - model.mean_)[o], rcond=None)[0]
            assert_allclose(r, model.mean_ + U @ t, atol=1e-8)
            assert_allclose(residual, ((x - r)[o] ** 2).sum(), atol=1e-8)


def test_integer_weights_equal_repeated_rows():
    X = TABLES["tall"]
    counts = np.arange(len(X)) % 4
    weighted, repeated = PPCA(2).fit(X, sample_weight=counts), PPCA(2).fit(np.repeat(X, counts, axis=0))
    for name in ("mean_", "components_", "noise_variance_", "explained_variance_", "n_samples_"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-10)
    wide = TABLES["wide"]
    counts = np.arange(len(wide)) % 3
    assert_allclose(
        PPCA(2).fit(wide, sample_weight=counts).score_samples(wide),
        PPCA(2).fit(np.repeat(wide, counts, axis=0)).score_samples(wide),
        rtol=1e-8,
    )


def test_dimension_of_the_noise_scales_it(rng):
    """sigma2(D') = sigma2(D) (D - q) / (D' - q)."""
    from gramian import KernelPPCA

    X = TABLES["tall"]
    a, b = (KernelPPCA(2, kernel="linear", noise_dim=D).fit(X).noise_variance_ for D in (10, 50))
    assert_allclose(b, a * (10 - 2) / (50 - 2), rtol=1e-10)
