"""Wild rows and wild cells of mixtures: the density of the t, its limit, objectives that never fall, clusters that stay."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_t
from scipy.stats import t as student_t
from sklearn.metrics import adjusted_rand_score

from gramian import PPCAMixture, load, save
from gramian.mixtures.ppca_fit import fit_mixture
from gramian.mixtures.robust_fit import RobustMixture
from gramian.mixtures.rows import MixtureTable
from gramian.mixtures.start import Draw


def clusters(n=400, d=5, q=2, seed=0, distance=2.0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    means, loadings = distance * rng.standard_normal((3, d)), rng.standard_normal((3, q, d))
    rows = [means[k] + rng.standard_normal(q) @ loadings[k] + 0.4 * rng.standard_normal(d) for k in labels]
    return np.array(rows), labels


def with_noise_rows(X, share, far, seed=1):
    rng = np.random.default_rng(seed)
    wild = rng.random(len(X)) < share
    low, high = X.min(axis=0), X.max(axis=0)
    noise = (low + high) / 2 + far * (high - low) / 2 * rng.uniform(-1, 1, X.shape)
    return np.where(wild[:, None], noise, X), wild


def with_holes(X, share=0.1, seed=2):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def started(X, n_clusters, **options):
    rng = np.random.default_rng(0)
    table = MixtureTable.of(X, masked=True)
    start = Draw.of(table, n_clusters).kmeans(n_clusters, 0, rng)
    return fit_mixture(table, [2] * n_clusters, start, rng=rng, **{"shared": False, **options})


def student_terms(X, model):
    """log π_k + log p(x_o | k) by SciPy, row by row."""
    out = np.empty((len(X), len(model.weights_)))
    for k, (mean, W, noise) in enumerate(zip(model.means_, model.loadings_, model.noise_variances_)):
        C = W @ W.T + noise * np.eye(len(mean))
        for i, row in enumerate(X):
            seen = np.flatnonzero(~np.isnan(row))
            law = multivariate_t(mean[seen], C[np.ix_(seen, seen)], model.degrees_of_freedom_)
            out[i, k] = np.log(model.weights_[k]) + law.logpdf(row[seen])
    return out


@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("shared", [False, True])
def test_the_likelihood_never_falls_and_with_degrees_to_infinity_it_is_the_gaussian(holes, shared):
    X = with_holes(with_noise_rows(clusters()[0], 0.05, 2.0)[0], holes)
    found = started(X, 3, shared=shared, degrees="auto")
    assert np.diff(found.log_likelihoods).min() >= 0.0
    plain, limit = started(X, 3, shared=shared), started(X, 3, shared=shared, degrees=np.inf)
    assert_allclose(limit.log_likelihoods[-1], plain.log_likelihoods[-1], rtol=1e-8)
    for one, other in zip(limit.components, plain.components):
        assert_allclose(one.subspace.mean, other.subspace.mean, atol=1e-8)
    assert found.log_likelihoods[-1] > plain.log_likelihoods[-1]


def test_one_cluster_is_the_t_of_ppca():
    from gramian.latent.missing import fit_missing
    from gramian.latent.student import fit_student

    X = with_holes(np.random.default_rng(3).standard_t(3, (300, 5)) @ np.random.default_rng(4).standard_normal((5, 5)))
    alone = fit_student(X, fit_missing(X, 2), tol=1e-10)
    mixture = started(X, 1, degrees="auto", tol=1e-12, max_iter=2000)
    assert_allclose(mixture.log_likelihoods[-1], alone.model.log_likelihoods[-1], rtol=1e-7)
    assert_allclose(mixture.degrees_of_freedom, alone.degrees_of_freedom, rtol=1e-2)
    assert_allclose(mixture.components[0].subspace.mean, alone.model.mean, atol=1e-2)


def test_densities_shares_and_weights_are_those_of_scipy(tmp_path):
    X = with_holes(with_noise_rows(clusters()[0], 0.05, 2.0)[0])
    model = PPCAMixture(3, 2, robust="rows", random_state=0).fit(X)
    terms = student_terms(X, model)
    level = np.logaddexp.reduce(terms, axis=1)
    assert_allclose(model.score_samples(X), level, rtol=1e-9)
    assert_allclose(model.log_likelihoods_[-1], level.mean(), rtol=1e-9)
    shares = np.exp(terms - level[:, None])
    assert_allclose(model.responsibilities_, shares, atol=1e-9)
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert_array_equal(again.score_samples(X), model.score_samples(X))
    assert again.degrees_of_freedom_ == model.degrees_of_freedom_


def test_draws_of_filled_cells_are_those_of_the_t():
    X = with_holes(with_noise_rows(clusters()[0], 0.05, 2.0)[0])
    model = PPCAMixture(3, 2, robust="rows", random_state=0).fit(X)
    clear = (model.responsibilities_.max(axis=1) > 0.9999) & (np.isnan(X).sum(axis=1) == 1)
    filled, std = model.impute(X[clear], return_std=True)
    draws = model.impute(X[clear], n_draws=400)
    holes = np.isnan(X[clear])
    found = np.abs((draws - filled)[:, holes] / std[holes])
    law = student_t(model.degrees_of_freedom_ + X.shape[1] - 1)
    for level in (0.5, 0.9, 0.99):
        assert_allclose(np.quantile(found, level), law.ppf((1 + level) / 2), rtol=0.05)


@pytest.mark.parametrize("far", [1.0, 3.0, 10.0])
def test_noise_rows_do_not_move_the_clusters(far):
    X, labels = clusters()
    spoilt, wild = with_noise_rows(X, 0.05, far)
    clean = PPCAMixture(3, 2, random_state=0).fit(X).predict(X)
    model = PPCAMixture(3, 2, robust="rows", random_state=0).fit(spoilt)
    score = adjusted_rand_score(labels[~wild], model.predict(spoilt)[~wild])
    assert score >= 0.98 * adjusted_rand_score(labels[~wild], clean[~wild])
    assert model.robust_ == "rows"
    assert not model.flags_.any()
    assert model.degrees_of_freedom_ >= 2
    assert np.median(model.row_weights_[wild]) < 0.2 < np.median(model.row_weights_[~wild])


@pytest.mark.parametrize("robust", ["cells", "auto"])
def test_wild_cells_are_holes_and_the_clusters_stay(robust):
    X, labels = clusters()
    rng = np.random.default_rng(5)
    wild = rng.random(X.shape) < 0.03
    spoilt = np.where(wild, X + 8.0 * X.std(axis=0) * rng.choice([-1.0, 1.0], X.shape), X)
    model = PPCAMixture(3, 2, robust=robust, random_state=0).fit(spoilt)
    assert model.robust_ == "cells"
    assert model.flags_[wild].mean() > 0.9
    assert model.flags_[~wild].mean() < 0.01
    assert adjusted_rand_score(labels, model.responsibilities_.argmax(axis=1)) > 0.9
    assert not hasattr(model, "degrees_of_freedom_")
    assert (model.row_weights_ == 1).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_penalised_likelihood_never_falls_and_columns_keep_three_quarters(seed):
    X = clusters(200, seed=seed)[0]
    rng = np.random.default_rng(seed)
    spoilt = np.where(rng.random(X.shape) < 0.1, X + 6.0 * rng.standard_normal(X.shape), X)
    spoilt[:60, 0] = 50.0 * rng.standard_normal(60)

    def fit(table, weights, degrees):
        return started(table, 3, degrees=degrees)

    found = RobustMixture(spoilt, np.ones(200), fit, False, rng).without_cells()
    assert np.diff(found.levels).min() > -1e-6 * abs(found.levels[-1])
    assert found.flags.mean(axis=0).max() <= 0.25
    assert found.flags.sum(axis=1).max() <= 2


def test_where_nothing_is_wild_auto_is_the_old_model_bit_for_bit():
    X = clusters(300, distance=4.0)[0]
    model = PPCAMixture(3, 2, robust="auto", random_state=0).fit(X)
    assert model.robust_ is False
    assert not model.flags_.any()
    assert_array_equal(model.means_, PPCAMixture(3, 2, random_state=0).fit(X).means_)


def test_rows_without_weight_have_no_flags_and_words_for_what_cannot_be():
    X = clusters(150)[0]
    X[4, 1] = 500.0
    weights = np.ones(len(X))
    weights[4] = 0.0
    model = PPCAMixture(3, 1, robust="cells", random_state=0).fit(X, sample_weight=weights)
    assert model.flags_.shape == X.shape
    assert not model.flags_[4].any()
    with pytest.raises(ValueError, match="robust='cell'"):
        PPCAMixture(robust="cell").fit(X)
    with pytest.raises(ValueError, match="rows in memory"):
        PPCAMixture(robust="rows").fit_batches([X])


def test_clean_rows_of_one_shape_keep_every_cell():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3)) @ rng.standard_normal((3, 8)) + 0.3 * rng.standard_normal((120, 8))
    model = PPCAMixture(2, robust="cells", random_state=0).fit(X)
    assert model.flags_.shape == X.shape
    assert model.flags_.mean() < 0.02
