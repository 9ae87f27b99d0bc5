"""A noise per column: factor analysis, as a case of the same EM."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import FactorAnalysis

import gramian
from gramian import PPCA, LatentImputer


def factors(seed=0, n=400, d=12, q=3):
    rng = np.random.default_rng(seed)
    noise = np.exp(rng.uniform(np.log(0.3), np.log(3), d))
    return rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + noise * rng.standard_normal((n, d)) + 5, rng


def with_holes(X, rng, share=0.2):
    return np.where(rng.random(X.shape) < share, np.nan, X)


def test_the_likelihood_is_not_below_that_of_factor_analysis():
    X, _ = factors()
    ours = PPCA(3, noise_variance="per-column", tol=1e-8).fit(X)
    theirs = FactorAnalysis(3, tol=1e-9, max_iter=5000).fit(X)
    assert ours.score(X) > theirs.score(X) - 1e-9
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=2e-3)
    assert ours.noise_variance_.shape == (12,)


@pytest.mark.parametrize("holes", [False, True])
def test_the_true_number_of_factors_is_chosen(holes):
    X, rng = factors(1, 500, 20, 4)
    X = with_holes(X, rng, 0.1) if holes else X
    assert PPCA(noise_variance="per-column").fit(X).n_components_ in (4, 5)
    if not holes:
        assert PPCA().fit(X).n_components_ > 12  # one noise for all takes noise for structure


def test_densities_and_fills_are_those_of_the_gaussian():
    X, rng = factors()
    holed = with_holes(X, rng)
    model = PPCA(2, noise_variance="per-column").fit(holed)
    C, mean = model.get_covariance(), model.mean_
    np.testing.assert_allclose(C, model.loadings_ @ model.loadings_.T + np.diag(model.noise_variance_))
    np.testing.assert_allclose(model.get_precision() @ C, np.eye(len(C)), atol=1e-10)
    filled, std = model.impute(holed, return_std=True, small_sample=False)
    densities = model.score_samples(holed)
    for i in range(20):
        o = ~np.isnan(holed[i])
        rest = np.linalg.solve(C[np.ix_(o, o)], C[np.ix_(o, ~o)])
        assert densities[i] == pytest.approx(multivariate_normal(mean[o], C[np.ix_(o, o)]).logpdf(holed[i, o]))
        np.testing.assert_allclose(filled[i, ~o], mean[~o] + (holed[i, o] - mean[o]) @ rest)
        np.testing.assert_allclose(std[i, ~o] ** 2, np.diag(C[np.ix_(~o, ~o)] - C[np.ix_(~o, o)] @ rest))


def test_samples_have_the_covariance_and_contributions_add_up():
    X, _ = factors()
    model = PPCA(3, noise_variance="per-column").fit(X)
    drawn = model.sample(40_000, random_state=0)
    assert np.abs(np.cov(drawn.T) - model.get_covariance()).max() < 0.05 * model.get_covariance().max()
    found = model.anomaly(X)
    assert (found.t2 + found.spe / model._gaussian.noise_variance) == pytest.approx(model.mahalanobis(X))


def test_units_of_columns_do_not_matter():
    X, rng = factors()
    units = np.exp(rng.uniform(-3, 3, X.shape[1]))
    one, other = (PPCA(3, noise_variance="per-column", tol=1e-9).fit(table) for table in (X, X * units))
    np.testing.assert_allclose(other.noise_variance_, one.noise_variance_ * units**2, rtol=1e-3)


def test_a_model_file_keeps_it(tmp_path):
    X, rng = factors()
    holed = with_holes(X, rng)
    model = PPCA(2, noise_variance="per-column").fit(holed)
    gramian.save(model, tmp_path / "model.gramian")
    loaded = gramian.load(tmp_path / "model.gramian")
    np.testing.assert_array_equal(loaded.impute(holed), model.impute(holed))
    np.testing.assert_array_equal(loaded.noise_variance_, model.noise_variance_)


def test_batches_are_fitted_and_moments_are_not_enough():
    X, rng = factors(d=6, q=1, n=200)
    holed = with_holes(X, rng)
    whole = PPCA(1, noise_variance="per-column", tol=1e-9).fit(holed)
    parts = PPCA(1, noise_variance="per-column", tol=1e-9).fit_batches([holed[:150], holed[150:]])
    np.testing.assert_allclose(parts.get_covariance(), whole.get_covariance(), atol=1e-3)
    with pytest.raises(ValueError, match="partial_fit keeps moments only"):
        PPCA(2, noise_variance="per-column").partial_fit(X)
    with pytest.raises(ValueError, match="one noise"):
        PPCA(0.9, noise_variance="per-column").fit(X)


def test_the_imputer_takes_it():
    X, rng = factors(2, 300)
    holed = with_holes(X, rng)
    model = LatentImputer(PPCA(noise_variance="per-column")).fit(holed)
    assert model.estimator_.noise_variance_.shape == (12,)
    filled = model.transform(holed)
    at = np.isnan(holed)
    assert np.mean((filled - X)[at] ** 2) < 0.8 * np.mean((np.nanmean(holed, axis=0) - X)[at] ** 2)
