"""What the test suites of peers ask of their models, asked of ours: the ideas are theirs, the tests are written here.

scikit-learn (PCA, KernelPCA, GaussianMixture, imputers), MultivariateStats.jl (PPCA), ppca-rs.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_blobs, make_circles
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Perceptron
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from gramian import PPCA, KernelPPCA, LatentImputer, PPCAMixture
from gramian.kernels import RBF

IRIS = load_iris().data
RNG = np.random.default_rng(0)
LOW = RNG.standard_normal((120, 3)) @ RNG.standard_normal((3, 7)) + 0.2 * RNG.standard_normal((120, 7))


# ---------------------------------------------------------------- scikit-learn: PCA


@pytest.mark.parametrize("q", [1, 2, 3])
def test_the_scores_are_those_of_pca_up_to_signs(q):
    assert_allclose(np.abs(PPCA(q).fit(IRIS).scores(IRIS)), np.abs(PCA(q).fit_transform(IRIS)), atol=1e-8)


@pytest.mark.parametrize("q", [1, 3])
def test_the_shares_of_variance_are_those_of_pca(q):
    ours, theirs = PPCA(q).fit(IRIS), PCA(q).fit(IRIS)
    assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
    assert_allclose(ours.noise_variance_, theirs.noise_variance_ * (len(IRIS) - 1) / len(IRIS))


def test_the_mean_log_likelihood_is_near_the_entropy_of_the_law():
    """PCA's test of `score`: new rows of a spherical law have h = -½ log(2πe σ²) d."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3)) + np.array([3.0, 4.0, 5.0])
    expected = -0.5 * np.log(2 * np.pi * np.exp(1)) * 3
    assert_allclose(PPCA(2).fit(X).score(X), expected, rtol=0.01)


def test_the_likelihood_of_new_rows_peaks_at_the_true_number_of_latents():
    rng = np.random.default_rng(1)
    W = rng.standard_normal((3, 20))
    train, new = (rng.standard_normal((200, 3)) @ W + rng.standard_normal((200, 20)) for _ in range(2))
    scores = [PPCA(q).fit(train).score(new) for q in range(1, 8)]
    assert np.argmax(scores) == 2


def test_a_fraction_of_variance_keeps_as_many_components_as_pca():
    for fraction in (0.5, 0.9, 0.95, 0.99):
        assert PPCA(fraction).fit(LOW).n_components_ == PCA(fraction).fit(LOW).n_components_


@pytest.mark.parametrize("solver", ["eigh", "randomized", "em", "stiefel"])
def test_every_solver_finds_the_same_subspace(solver):
    wanted = PPCA(3, solver="eigh").fit(LOW)
    found = PPCA(3, solver=solver, tol=1e-10, max_iter=20_000, random_state=0).fit(LOW)
    assert_allclose(found.get_covariance(), wanted.get_covariance(), atol=1e-5)


def test_the_precision_inverts_the_covariance():
    model = PPCA(2).fit(LOW)
    assert_allclose(model.get_covariance() @ model.get_precision(), np.eye(7), atol=1e-9)


def test_more_components_than_columns_are_refused():
    with pytest.raises(ValueError, match="n_components"):
        PPCA(8).fit(LOW)


# ---------------------------------------------------------------- scikit-learn: KernelPCA


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "cosine"])
def test_the_eigenvalues_are_those_of_kernel_pca(kernel):
    ours = KernelPPCA(3, kernel=kernel).fit(IRIS)
    theirs = KernelPCA(3, kernel="precomputed").fit(ours.kernel_(IRIS))
    assert_allclose(ours.explained_variance_ * len(IRIS), theirs.eigenvalues_, rtol=1e-8)


def test_a_gram_matrix_is_as_good_as_rows():
    rows = KernelPPCA(3, kernel="rbf").fit(IRIS)
    gram = KernelPPCA(3, kernel="precomputed").fit(rows.kernel_(IRIS))
    new = IRIS[::7] + 0.1
    assert_allclose(gram.transform(rows.kernel_(new, IRIS)), rows.transform(new), atol=1e-8)


def test_circles_become_separable_by_a_line():
    X, y = make_circles(n_samples=400, factor=0.3, noise=0.05, random_state=0)
    assert Perceptron(max_iter=50).fit(X, y).score(X, y) < 0.8
    lifted = KernelPPCA(2, kernel=RBF(0.5)).fit(X).transform(X)
    assert Perceptron(max_iter=50).fit(lifted, y).score(lifted, y) == 1.0


def test_components_beyond_the_rank_do_not_add_noise():
    """KernelPCA's tests of zero eigenvalues: a repeated row adds none, and answers stay finite."""
    X = np.vstack([IRIS[:5], IRIS[:5]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelPPCA(4, kernel="rbf").fit(X)
    assert np.isfinite(model.transform(X)).all()
    assert_allclose(model.transform(X[:5]), model.transform(X[5:]), atol=1e-9)


# ---------------------------------------------------------------- scikit-learn: GaussianMixture


def blobs():
    return make_blobs(300, centers=3, n_features=4, cluster_std=0.7, random_state=4)


def test_clusters_are_found_as_well_as_by_a_full_mixture():
    X, y = blobs()
    found = PPCAMixture(3, 2, random_state=0).fit(X).predict(X)
    peer = GaussianMixture(3, random_state=0).fit(X).predict(X)
    assert adjusted_rand_score(y, found) >= adjusted_rand_score(y, peer) - 0.02


def test_with_all_but_one_latent_the_density_is_that_of_a_full_mixture():
    X, _ = blobs()
    peer = GaussianMixture(3, random_state=0, tol=1e-10, reg_covar=0.0, max_iter=2000).fit(X)
    ours = PPCAMixture(3, 3, random_state=0, standardize=False, tol=1e-10, max_iter=2000).fit(X)
    assert_allclose(ours.score(X), peer.score(X), rtol=1e-4)


def test_the_likelihood_rises_with_every_step():
    X, _ = blobs()
    levels = PPCAMixture(3, 1, random_state=0).fit(X).log_likelihoods_
    assert (np.diff(levels) >= -1e-9 * np.abs(levels[1:])).all()


def test_too_few_steps_are_said():
    X, _ = blobs()
    with pytest.warns(ConvergenceWarning):
        PPCAMixture(3, 1, random_state=0, max_iter=1, tol=1e-12, init="random").fit(X)


def test_samples_have_the_means_and_shares_of_their_clusters():
    X, _ = blobs()
    model = PPCAMixture(3, 2, random_state=0).fit(X)
    drawn = model.sample(6000, random_state=0)
    rows = drawn[0] if isinstance(drawn, tuple) else drawn
    labels = model.predict(rows)
    for k in range(3):
        assert_allclose(np.mean(labels == k), model.weights_[k], atol=0.03)
        assert_allclose(rows[labels == k].mean(axis=0), model.means_[k], atol=0.15)


# ---------------------------------------------------------------- scikit-learn: imputers


def test_a_table_without_holes_comes_back_as_it_is():
    assert_array_equal(LatentImputer().fit(LOW).transform(LOW), LOW)


def test_holes_in_a_table_of_rank_one_are_filled_nearly_exactly():
    """IterativeImputer's test of `exactly linear` tables."""
    rng = np.random.default_rng(3)
    whole = np.outer(rng.standard_normal(100), rng.standard_normal(8)) + 1e-3 * rng.standard_normal((100, 8))
    holed = np.where(rng.random(whole.shape) < 0.2, np.nan, whole)
    assert np.abs(LatentImputer().fit(holed).transform(holed) - whole).max() < 0.05


def test_independent_columns_are_filled_no_worse_than_by_their_means():
    rng = np.random.default_rng(4)
    whole = rng.standard_normal((400, 5))
    hidden = rng.random(whole.shape) < 0.2
    holed = np.where(hidden, np.nan, whole)
    ours = np.square(LatentImputer().fit(holed).transform(holed) - whole)[hidden].mean()
    means = np.square(SimpleImputer().fit_transform(holed) - whole)[hidden].mean()
    assert ours < 1.03 * means


def test_indicators_of_missing_cells_follow_the_columns():
    holed = np.where(np.random.default_rng(5).random(LOW.shape) < 0.1, np.nan, LOW)
    found = LatentImputer(add_indicator=True).fit(holed).transform(holed)
    assert_array_equal(found[:, 7:].astype(bool), np.isnan(holed))


# ---------------------------------------------------------------- MultivariateStats.jl


def test_loadings_are_orthogonal_and_their_lengths_are_variances_above_the_noise():
    model = PPCA(3).fit(LOW)
    gram = model.loadings_.T @ model.loadings_
    assert_allclose(gram, np.diag(model.explained_variance_ - model.noise_variance_), atol=1e-9)


def test_em_and_maximum_likelihood_agree():
    ml, em = PPCA(2).fit(LOW), PPCA(2, solver="em", tol=1e-12, max_iter=100_000).fit(LOW)
    assert_allclose(em.noise_variance_, ml.noise_variance_, rtol=1e-6)
    assert_allclose(em.get_covariance(), ml.get_covariance(), atol=1e-5)


def test_prediction_and_reconstruction_of_the_training_rows_agree():
    model = PPCA(3).fit(LOW)
    back = model.inverse_transform(model.transform(LOW))
    assert_allclose(back, model.reconstruct(LOW), atol=1e-9)
    assert np.square(back - LOW).mean() < 0.06


# ---------------------------------------------------------------- ppca-rs


def test_the_likelihood_of_a_table_is_the_sum_over_rows_also_with_holes():
    holed = np.where(np.random.default_rng(6).random(LOW.shape) < 0.2, np.nan, LOW)
    model = PPCA(3, random_state=0).fit(holed)
    assert_allclose(model.score(holed), model.score_samples(holed).mean())


def test_extrapolation_keeps_what_was_seen_and_smoothing_does_not():
    holed = np.where(np.random.default_rng(7).random(LOW.shape) < 0.2, np.nan, LOW)
    model = PPCA(3, random_state=0).fit(holed)
    seen = ~np.isnan(holed)
    extrapolated, smoothed = model.impute(holed), model.reconstruct(holed)
    assert_array_equal(extrapolated[seen], holed[seen])
    assert (smoothed[seen] != holed[seen]).all()
    assert_allclose(extrapolated[~seen], smoothed[~seen], atol=1e-9)


def test_draws_have_the_covariance_of_the_model():
    model = PPCA(3).fit(LOW)
    drawn = model.sample(40_000, random_state=0)
    assert_allclose(np.cov(drawn.T, bias=True), model.get_covariance(), atol=0.15)


def test_posteriors_of_rows_with_more_holes_are_wider():
    row = LOW[:1].copy()
    model = PPCA(3).fit(LOW)
    variances = []
    for n_hidden in range(7):
        row[0, :n_hidden] = np.nan
        variances.append(np.trace(np.asarray(model.posterior(row).covariance).reshape(-1, 3, 3)[0]))
    assert (np.diff(variances) >= -1e-12).all()
