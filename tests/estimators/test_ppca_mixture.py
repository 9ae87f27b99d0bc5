"""PPCAMixture: the density, the clusters, holes, starts, choices and faults that a user meets."""

import io
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import PPCA, LatentImputer, NumericalWarning, PPCAMixture, load, save
from gramian.datasets import make_ellipsoids

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def clusters(n=240, d=5, K=2, seed=0, apart=4.0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % K
    X = np.empty((n, d))
    for k in range(K):
        rows = labels == k
        X[rows] = rng.standard_normal((rows.sum(), 2)) @ rng.standard_normal((2, d)) + apart * rng.standard_normal(d)
    return X + 0.4 * rng.standard_normal(X.shape), labels


def holed(X, share=0.2, seed=1):
    mask = np.random.default_rng(seed).random(X.shape) < share
    return np.where(mask & ~mask.all(axis=1, keepdims=True), np.nan, X)  # every row shows something


def covariances(model):
    return [W @ W.T + noise * np.eye(len(W)) for W, noise in zip(model.loadings_, model.noise_variances_)]


def log_terms(model, row):
    o = ~np.isnan(row)
    laws = [multivariate_normal(m[o], C[np.ix_(o, o)]) for m, C in zip(model.means_, covariances(model))]
    return np.log(model.weights_) + [law.logpdf(row[o]) for law in laws]


@parametrize_with_checks([PPCAMixture(), PPCAMixture(n_components=0.5, noise="shared", random_state=0)])
@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learns_common_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- identities


@pytest.mark.parametrize("share", [0.0, 0.25], ids=["complete", "holes"])
def test_densities_and_responsibilities_are_those_of_the_explicit_mixture(share):
    X, _ = clusters()
    X = holed(X, share)
    X = X[~np.isnan(X).all(axis=1)]
    model = PPCAMixture(2, [2, 1], random_state=0).fit(X)
    terms = np.array([log_terms(model, row) for row in X])
    assert_allclose(model.score_samples(X), logsumexp(terms, axis=1), rtol=1e-8)
    assert_allclose(model.predict_proba(X), np.exp(terms - logsumexp(terms, axis=1, keepdims=True)), atol=1e-8)
    assert_allclose(model.responsibilities_, model.predict_proba(X), atol=1e-6)
    assert_allclose(model.score(X), model.log_likelihoods_[-1], rtol=1e-8)


def test_one_cluster_is_ppca():
    X, _ = clusters()
    for table in (X, holed(X)):
        mixture, single = PPCAMixture(1, 2, tol=1e-10, max_iter=1000).fit(table), PPCA(2).fit(table)
        rtol = 1e-8 if table is X else 1e-3
        assert_allclose(mixture.score(table), single.score(table), rtol=1e-8 if table is X else 1e-6)
        assert_allclose(mixture.means_[0], single.mean_, rtol=rtol, atol=rtol)
        assert_allclose(mixture.noise_variances_[0], single.noise_variance_, rtol=rtol)
        assert_allclose(mixture.transform(table), single.transform(table), atol=10 * rtol)
        assert_allclose(mixture.reconstruct(table), single.reconstruct(table), atol=10 * rtol)


@pytest.mark.parametrize(("q", "covariance_type"), [(4, "full"), (5, "full"), (0, "spherical")])
def test_the_ends_of_the_range_are_gaussian_mixtures(q, covariance_type):
    X, labels = clusters()
    start = 0.8 * np.eye(2)[labels] + 0.1
    reference = GaussianMixture(
        2, covariance_type=covariance_type, reg_covar=0.0, tol=1e-10, max_iter=500,
        means_init=[X[labels == k].mean(axis=0) for k in range(2)], random_state=0,
    ).fit(X)  # fmt: skip
    model = PPCAMixture(2, q, init=start, tol=1e-12, max_iter=500).fit(X)
    assert_allclose(model.score(X), reference.score(X), rtol=1e-6)
    assert_allclose(np.sort(model.weights_), np.sort(reference.weights_), rtol=1e-3)
    assert_allclose(model.bic(X), reference.bic(X), rtol=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.2], ids=["complete", "holes"])
@pytest.mark.parametrize("noise", ["separate", "shared"])
def test_likelihood_never_falls(share, noise):
    X, _ = clusters(K=3)
    model = PPCAMixture(3, 1, noise=noise, init="random", random_state=3).fit(holed(X, share))
    assert (np.diff(model.log_likelihoods_) >= 0).all()
    assert len(model.log_likelihoods_) == model.n_iter_
    if noise == "shared":
        assert np.ptp(model.noise_variances_) == 0


def test_free_parameters_and_criteria():
    X, _ = clusters()
    model = PPCAMixture(2, [1, 2], random_state=0).fit(X)
    count = (5 * 1 - 0 + 1 + 5) + (5 * 2 - 1 + 1 + 5) + 1
    total = model.score_samples(X).sum()
    assert_allclose(model.bic(X), -2 * total + count * np.log(len(X)))
    assert_allclose(model.aic(X), -2 * total + 2 * count)
    shared = PPCAMixture(2, [1, 2], noise="shared", random_state=0).fit(X)
    assert_allclose(shared.aic(X), -2 * shared.score_samples(X).sum() + 2 * (count - 1))


# ---------------------------------------------------------------- clusters


def test_ellipsoids_are_found_and_rebuilt_as_well_as_with_the_labels():
    for seed in range(3):
        X, labels = make_ellipsoids(random_state=seed)
        model = PPCAMixture(5, 2, random_state=seed).fit(X)
        assert adjusted_rand_score(labels, model.predict(X)) > 0.95
        oracle = np.empty_like(X)
        for k in range(5):
            oracle[labels == k] = PPCA(2).fit(X[labels == k]).reconstruct(X[labels == k], kind="projection")
        error = np.mean((X - model.reconstruct(X, kind="projection")) ** 2)
        assert error < 1.05 * np.mean((X - oracle) ** 2)


def test_clusters_are_found_with_holes():
    X, labels = clusters(K=3)
    model = PPCAMixture(3, 2, random_state=0).fit(holed(X, 0.3))
    assert adjusted_rand_score(labels, model.predict(holed(X, 0.3))) > 0.9


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_restarts_use_different_starts_and_keep_the_best(init):
    X, _ = clusters(K=4, apart=1.5)
    one = PPCAMixture(4, 1, init=init, random_state=0).fit(X)
    many = PPCAMixture(4, 1, init=init, n_init=6, random_state=0).fit(X)
    assert many.score(X) >= one.score(X) - 1e-9


def test_given_means_and_weights_start_the_em():
    X, labels = clusters()
    means = [X[labels == k].mean(axis=0) for k in (1, 0)]
    model = PPCAMixture(2, 1, means_init=means, weights_init=[0.5, 0.5]).fit(X)
    assert_allclose(model.means_[0], means[0], atol=0.5)
    assert adjusted_rand_score(labels, model.predict(X)) > 0.95
    holes = PPCAMixture(2, 1, means_init=means).fit(holed(X))
    assert_allclose(holes.means_[0], means[0], atol=0.6)
    skewed = PPCAMixture(2, 1, init=np.eye(2)[labels], weights_init=[0.9, 0.1], max_iter=1)
    with pytest.warns(ConvergenceWarning):
        assert_allclose(skewed.fit(X).weights_, [0.9, 0.1])


@pytest.mark.parametrize("share", [0.0, 0.1], ids=["complete", "holes"])
def test_a_fraction_gives_each_cluster_its_own_number(share):
    rng = np.random.default_rng(0)
    flat = rng.standard_normal((200, 6)) * [3, 3, 3, 0.1, 0.1, 0.1]
    thin = rng.standard_normal((200, 6)) * [0.1, 0.1, 0.1, 0.1, 0.1, 5] + 20
    X = holed(np.vstack([flat, thin]), share)
    model = PPCAMixture(2, 0.9, random_state=0).fit(X)
    assert sorted(model.n_components_) == [1, 3]
    assert (np.diff(model.log_likelihoods_) >= 0).all()
    assert model.transform(X).shape == (400, 3)


def test_select_finds_the_clusters_and_the_components():
    X, labels = clusters(n=400, K=3, d=6)
    best = PPCAMixture.select(X, range(2, 5), [1, 2, 3], random_state=0)
    assert (best.n_clusters, best.n_components) == (3, 2)
    assert best.selection_.chosen == {"n_clusters": 3, "n_components": 2}
    assert len(best.selection_.candidates) == 9
    assert -best.bic(X) == best.selection_.scores.max() == best.selection_.scores[best.selection_.index]
    assert adjusted_rand_score(labels, best.predict(X)) > 0.95


def test_select_passes_over_what_cannot_be_fitted():
    X, _ = clusters(d=3)
    best = PPCAMixture.select(X, [2], [1, 7], random_state=0)
    assert best.n_components == 1
    with pytest.raises(ValueError, match="n_components=7"):
        PPCAMixture.select(X, [2], [7])


# ---------------------------------------------------------------- rows in and out


def test_imputation_is_the_conditional_mean_and_deviation_of_the_mixture():
    X, _ = clusters(apart=1.0)
    model = PPCAMixture(2, 2, random_state=0).fit(X)
    row = X[0].copy()
    row[[1, 3]] = np.nan
    o = ~np.isnan(row)
    terms = log_terms(model, row)
    shares = np.exp(terms - logsumexp(terms))
    means, variances = [], []
    for m, C in zip(model.means_, covariances(model)):
        gain = C[np.ix_(~o, o)] @ np.linalg.inv(C[np.ix_(o, o)])
        means.append(m[~o] + gain @ (row - m)[o])
        variances.append(np.diag(C[np.ix_(~o, ~o)] - gain @ C[np.ix_(o, ~o)]))
    mean = shares @ means
    std = np.sqrt(shares @ (np.array(variances) + (np.array(means) - mean) ** 2))
    filled, deviation = model.impute(row[None], return_std=True)
    assert_allclose(filled[0, ~o], mean, rtol=1e-8)
    assert_allclose(deviation[0, ~o], std, rtol=1e-8)
    assert_array_equal(filled[0, o], row[o])
    assert (deviation[0, o] == 0).all()
    draws = PPCAMixture.impute(model.set_params(random_state=0), np.tile(row, (1, 1)), n_draws=4000)
    assert draws.shape == (4000, 1, 5)
    assert_allclose(draws[:, 0, ~o].mean(axis=0), mean, atol=5 * std.max() / np.sqrt(4000))
    assert_allclose(draws[:, 0, ~o].std(axis=0), std, rtol=0.1)


def test_a_row_without_entries_gets_the_prior():
    X, _ = clusters()
    model = PPCAMixture(2, 2, random_state=0).fit(holed(X))
    nothing = np.full((1, 5), np.nan)
    assert_allclose(model.predict_proba(nothing)[0], model.weights_)
    assert_allclose(model.score_samples(nothing), 0.0, atol=1e-12)
    assert_allclose(model.impute(nothing)[0], model.weights_ @ model.means_)
    assert_allclose(model.transform(nothing), 0.0, atol=1e-12)


def test_transform_is_of_the_best_cluster_or_the_average():
    X, _ = clusters(apart=0.5)
    model = PPCAMixture(2, [2, 1], random_state=0).fit(X)
    shares = model.predict_proba(X)
    latents = np.zeros((2, len(X), 2))
    for k in range(2):
        W, C = model.loadings_[k], covariances(model)[k]
        latents[k, :, : W.shape[1]] = (X - model.means_[k]) @ np.linalg.solve(C, W)
    assert_allclose(model.transform(X, combine="average"), np.einsum("nk,knq->nq", shares, latents), atol=1e-8)
    assert_allclose(model.transform(X), latents[shares.argmax(axis=1), np.arange(len(X))], atol=1e-8)
    with pytest.raises(ValueError, match="combine='worst'"):
        model.transform(X, combine="worst")


def test_samples_have_the_law_of_the_model():
    X, _ = clusters()
    model = PPCAMixture(2, 2, random_state=0).fit(X)
    rows, labels = model.sample(20_000, random_state=1)
    assert_allclose(np.bincount(labels) / 20_000, model.weights_, atol=0.02)
    for k in range(2):
        part = rows[labels == k]
        assert_allclose(part.mean(axis=0), model.means_[k], atol=0.15)
        assert_allclose(np.cov(part.T), covariances(model)[k], atol=0.06 * np.abs(covariances(model)[k]).max())
    again, _ = model.sample(5, random_state=1)
    assert_array_equal(again, model.sample(5, random_state=1)[0])


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_frames_come_back_as_frames(frame):
    X, _ = clusters(d=3)
    table = frame(holed(X), columns=["a", "b", "c"])
    model = PPCAMixture(2, 1, random_state=0).fit(table)
    filled, std = model.impute(table, return_std=True)
    assert type(filled) is type(table)
    assert list(filled.columns) == list(std.columns) == ["a", "b", "c"]
    assert list(model.get_feature_names_out()) == ["ppcamixture0"]
    assert not np.isnan(filled.to_numpy()).any()


def test_float32_stays_float32():
    X, _ = clusters()
    single, double = (PPCAMixture(2, 2, random_state=0).fit(X.astype(kind)) for kind in (np.float32, np.float64))
    for method in ("transform", "predict_proba", "score_samples", "reconstruct"):
        assert getattr(single, method)(X.astype(np.float32)).dtype == np.float32
    assert single.impute(holed(X).astype(np.float32)).dtype == np.float32
    assert_allclose(single.means_, double.means_, rtol=1e-4, atol=1e-4)


def test_large_and_wide_tables_never_form_their_covariance():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 2
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 400)) + rng.standard_normal((300, 400))
    X[labels == 1] += 2 * rng.standard_normal(400)
    model = PPCAMixture(2, 2, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.predict(X)) == 1.0
    assert (np.diff(model.log_likelihoods_) >= 0).all()
    rows = X[labels == 0]
    values = np.linalg.eigvalsh(np.cov(rows.T, bias=True))[::-1]
    k = model.predict(X[:1])[0]
    assert_allclose(model.noise_variances_[k], values[2:].sum() / 398, rtol=1e-3)


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("share", [0.0, 0.2], ids=["complete", "holes"])
def test_integer_weights_equal_repeated_rows(share):
    X, _ = clusters(n=120)
    X = holed(X, share)
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = PPCAMixture(2, 1, random_state=0).fit(X, sample_weight=weights)
    repeated = PPCAMixture(2, 1, random_state=0).fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)
    assert_allclose(weighted.log_likelihoods_[-1], repeated.log_likelihoods_[-1], rtol=1e-8)
    assert weighted.responsibilities_.shape == (len(X), 2)
    assert_allclose(weighted.responsibilities_.sum(axis=1), 1.0, atol=1e-12)


# ---------------------------------------------------------------- faults


def test_a_lonely_row_does_not_keep_a_cluster_to_itself():
    X, labels = clusters(apart=5.0)
    X = np.vstack([X, X.mean(axis=0) + 60.0])
    start = np.zeros((len(X), 3))
    start[np.arange(len(X) - 1), labels] = 1.0
    start[-1, 2] = 1.0
    with pytest.warns(NumericalWarning, match="started again"):
        model = PPCAMixture(3, 1, init=start, max_iter=400).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert (np.diff(model.log_likelihoods_) >= 0).all()


def test_clusters_without_noise_are_held_at_the_floor_with_a_warning():
    rng = np.random.default_rng(0)
    line = rng.standard_normal((60, 1))
    X = np.vstack([line * [1.0, 2.0, 0.0], line * [0.0, 1.0, 1.0] + 9.0])
    with pytest.warns(NumericalWarning, match="noise_floor_"):
        model = PPCAMixture(2, 1, random_state=0).fit(X)
    assert_allclose(model.noise_variances_, model.noise_floor_)
    assert np.isfinite(model.score_samples(X)).all()
    assert_allclose(model.reconstruct(X), X, atol=1e-4)


def test_identical_rows_are_refused():
    with pytest.raises(ValueError, match="identical"):
        PPCAMixture(2).fit(np.ones((20, 3)))


def test_far_outliers_have_responsibilities_too():
    X, _ = clusters()
    model = PPCAMixture(2, 1, random_state=0).fit(X)
    shares = model.predict_proba(1e6 * np.vstack([np.eye(5), -np.eye(5)]))
    assert np.isfinite(shares).all()
    assert ((shares >= 0) & (shares <= 1)).all()
    assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("offset", [1e8, 1e12])
def test_offsets_only_shift_the_means(offset):
    X, labels = clusters()
    X = np.round(X, 2)
    plain = PPCAMixture(2, 2, init=np.eye(2)[labels]).fit(X)
    shifted = PPCAMixture(2, 2, init=np.eye(2)[labels]).fit(X + offset)
    rtol = 1e-5 if offset == 1e8 else 1e-2
    assert_allclose(shifted.noise_variances_, plain.noise_variances_, rtol=rtol)
    assert_allclose(shifted.means_ - offset, plain.means_, atol=offset * 1e-12 + 1e-4)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scaling_the_data_scales_the_model(scale):
    X, labels = clusters()
    plain = PPCAMixture(2, 2, init=np.eye(2)[labels]).fit(X)
    scaled = PPCAMixture(2, 2, init=np.eye(2)[labels]).fit(X * scale)
    assert_allclose(scaled.means_ / scale, plain.means_, rtol=1e-6)
    assert_allclose(scaled.noise_variances_ / scale**2, plain.noise_variances_, rtol=1e-6)
    assert_array_equal(scaled.predict(X * scale), plain.predict(X))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_magnitudes_whose_squares_overflow_are_refused(scale):
    with pytest.raises(ValueError, match="rescale"):
        PPCAMixture(2).fit(clusters()[0] * scale)


def test_constant_columns_are_harmless():
    X, _ = clusters()
    X[:, 2] = 3.0
    model = PPCAMixture(2, 1, random_state=0).fit(X)
    assert_allclose(model.means_[:, 2], 3.0)
    for W in model.loadings_:
        assert_allclose(W[2], 0.0, atol=1e-8)


@pytest.mark.parametrize(("n", "d"), [(4, 1), (5, 6), (6, 6), (7, 6), (10, 1)])
@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_small_tables_give_finite_answers(n, d):
    X = np.random.default_rng(0).standard_normal((n, d))
    model = PPCAMixture(2, 1, random_state=0).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("share", [0.9, 0.95])
@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_almost_everything_missing_stays_finite(share):
    X, _ = clusters(n=400, d=8)
    X = holed(X, share)
    X[0] = clusters(n=400, d=8)[0][0]
    model = PPCAMixture(2, 1, random_state=0).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert not np.isnan(model.impute(X)).any()


def test_columns_without_values_are_named():
    X, _ = clusters(d=3)
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match="no observed value in column 1"):
        PPCAMixture(2).fit(X)
    with pytest.raises(ValueError, match="'b'"):
        PPCAMixture(2).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match=r"No value|missing"):
        PPCAMixture(2).fit(np.full((9, 3), np.nan))


BAD = {
    "n_clusters": [0, -1, 2.0, True, "two"],
    "n_components": [-1, 99, True, "all", [1], [1, -1], 1.5, 0.0, None],
    "noise": ["none", 0.1, None],
    "init": ["best", np.ones((3, 2)), -np.ones((240, 2)), np.zeros((240, 2))],
    "weights_init": [[0.5], [0.9, 0.9], [-0.5, 1.5]],
    "means_init": [np.ones((3, 5)), np.ones((2, 4))],
    "n_init": [0, 1.5, True],
    "tol": [-1.0, np.nan, "small"],
    "max_iter": [0, -3, 2.5],
    "random_state": [-1, "seed", 0.5],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_bad_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        PPCAMixture(**{name: value}).fit(clusters()[0])


def test_more_clusters_than_rows_are_refused():
    with pytest.raises(ValueError, match="n_clusters=6"):
        PPCAMixture(6).fit(np.random.default_rng(0).standard_normal((5, 2)))


def test_numpy_integers_and_both_generators_are_accepted():
    X, _ = clusters()
    for state in (np.random.default_rng(0), np.random.RandomState(0), np.int64(0)):
        PPCAMixture(np.int64(2), np.uint8(1), random_state=state).fit(X)


METHODS = ["score_samples", "predict", "predict_proba", "transform", "impute", "reconstruct", "score", "bic", "aic"]


@pytest.mark.parametrize("method", METHODS)
def test_methods_refuse_what_fit_refuses(method):
    X, _ = clusters()
    with pytest.raises(NotFittedError):
        getattr(PPCAMixture(), method)(X)
    model = PPCAMixture(2, random_state=0).fit(X)
    bad = X.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        getattr(model, method)(bad)
    with pytest.raises(ValueError, match="3 features"):
        getattr(model, method)(X[:, :3])
    with pytest.raises(ValueError, match="Complex"):
        getattr(model, method)(X.astype(complex))
    with pytest.raises(TypeError, match="toarray"):
        getattr(model, method)(sparse.csr_array(X))


def test_sample_before_fit_is_refused():
    with pytest.raises(NotFittedError):
        PPCAMixture().sample(3)


def test_a_failed_fit_leaves_the_last_one():
    X, _ = clusters()
    model = PPCAMixture(2, random_state=0).fit(X)
    before = model.score_samples(X)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X > 2, np.inf, X))
    with pytest.raises(ValueError, match="identical"):
        model.fit(np.ones((9, 5)))
    assert_array_equal(model.score_samples(X), before)


def test_copies_pickles_and_seeds_agree():
    X, _ = clusters()
    model = PPCAMixture(2, 1, n_init=2, random_state=5).fit(holed(X))
    again = clone(model).fit(holed(X))
    assert_array_equal(model.score_samples(X), again.score_samples(X))
    stored = pickle.load(io.BytesIO(pickle.dumps(model)))
    assert_array_equal(stored.predict_proba(X), model.predict_proba(X))
    assert len(repr(model)) < 200


def test_model_files_and_the_imputer_carry_a_mixture(tmp_path):
    X, _ = clusters()
    model = PPCAMixture(2, [1, 2], random_state=5).fit(holed(X))
    save(model, tmp_path / "mixture.gramian")
    assert_array_equal(load(tmp_path / "mixture.gramian").predict_proba(X), model.predict_proba(X))
    imputer = LatentImputer(PPCAMixture(2, [1, 2], random_state=5), standardize=False).fit(holed(X))
    assert_allclose(imputer.transform(holed(X)), model.impute(holed(X)))


def test_containers_and_memory_layouts_do_not_matter():
    X, _ = clusters()
    plain = PPCAMixture(2, 1, random_state=0).fit(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    for table in (np.asfortranarray(X), frozen, X[::-1][::-1], X.astype(">f8"), X.tolist()):
        assert_allclose(PPCAMixture(2, 1, random_state=0).fit(table).means_, plain.means_, rtol=1e-10)
    masked = np.ma.masked_invalid(holed(X))
    assert_allclose(
        PPCAMixture(2, 1, random_state=0).fit(masked).means_, PPCAMixture(2, 1, random_state=0).fit(holed(X)).means_
    )


def test_row_order_does_not_matter():
    X, _ = clusters()
    order = np.random.default_rng(0).permutation(len(X))
    one, other = PPCAMixture(2, 1, random_state=0).fit(X), PPCAMixture(2, 1, random_state=0).fit(X[order])
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)


def test_clean_data_raise_no_warning_and_slow_fits_say_so():
    X, _ = clusters()
    PPCAMixture(2, 2, random_state=0).fit(X)  # warnings are errors here
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        PPCAMixture(2, 1, init="random", random_state=1, max_iter=2, tol=0.0).fit(X)


def test_fit_predict_is_fit_and_predict():
    X, _ = make_blobs(100, random_state=0)
    model = PPCAMixture(3, 1, random_state=0)
    assert_array_equal(model.fit_predict(X), model.predict(X))


# ---------------------------------------------------------------- defaults


@pytest.mark.parametrize("share", [0.0, 0.2], ids=["complete", "holes"])
def test_defaults_choose_the_latents_and_keep_their_evidence(share):
    X, labels = clusters()
    X = holed(X, share)
    model = PPCAMixture(random_state=0).fit(X)
    assert model.n_components_ == [2, 2]
    assert model.selection_.chosen == 2
    assert model.selection_.candidates[0] == 0
    assert adjusted_rand_score(labels, model.predict(X)) > 0.9
    assert not hasattr(PPCAMixture(2, 2, random_state=0).fit(X), "selection_")


def test_the_number_of_clusters_is_chosen_too():
    X, labels = clusters(n=240, K=3)
    model = PPCAMixture("auto", 2, random_state=0).fit(X)
    assert model.selection_.chosen == {"n_clusters": 3}
    assert adjusted_rand_score(labels, model.predict(X)) > 0.95
    assert model.weights_.shape == (3,)
    with pytest.raises(ValueError, match="n_clusters='auto'"):
        PPCAMixture("auto", init=np.eye(3)[labels]).fit(X)


def test_one_choice_is_saved_with_the_model(tmp_path):
    X, _ = clusters()
    model = PPCAMixture(standardize=True, random_state=0).fit(X)
    save(model, tmp_path / "mixture.gramian")
    again = load(tmp_path / "mixture.gramian")
    assert again.selection_.chosen == model.selection_.chosen
    assert_array_equal(again.score_samples(X), model.score_samples(X))


@pytest.mark.parametrize("share", [0.0, 0.2], ids=["complete", "holes"])
def test_standardized_columns_are_undone_on_the_way_out(share):
    X, _ = clusters()
    X = holed(X, share)
    factors, shift = np.array([1.0, 100.0, 1e-3, 5.0, 1.0]), np.array([0.0, 7.0, 0.0, -3.0, 1.0])
    one = PPCAMixture(2, 2, standardize=True, random_state=0, tol=1e-9).fit(X)
    other = PPCAMixture(2, 2, standardize=True, random_state=0, tol=1e-9).fit(X * factors + shift)
    assert_allclose(other.means_, one.means_ * factors + shift, rtol=1e-4, atol=1e-4)
    assert_allclose(other.noise_variances_, one.noise_variances_, rtol=1e-4)
    jacobian = ~np.isnan(X) @ np.log(factors)
    assert_allclose(other.score_samples(X * factors + shift), one.score_samples(X) - jacobian, rtol=1e-4, atol=1e-3)
    filled, std = other.impute(holed(X) * factors + shift, return_std=True)
    again, deviation = one.impute(holed(X), return_std=True)
    assert_allclose((filled - shift) / factors, again, atol=1e-3)
    assert_allclose(std / factors, deviation, atol=1e-3)
    rows, labels = other.sample(4000, random_state=0)
    for k in range(2):
        part = (rows[labels == k] - shift) / factors
        assert_allclose(part.mean(axis=0), one.means_[k], atol=0.25)


def test_samples_without_noise_lie_in_the_subspaces():
    X, _ = clusters()
    model = PPCAMixture(2, 2, random_state=0).fit(X)
    rows, labels = model.sample(50, noise=False, random_state=0)
    for k in range(2):
        rest = rows[labels == k] - model.means_[k]
        U = np.linalg.qr(model.loadings_[k])[0]
        assert_allclose(rest, rest @ U @ U.T, atol=1e-9)


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("init", ["random", "kmeans"])
def test_emptied_clusters_are_rescued_whatever_the_table(init):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.round(rng.standard_normal((int(rng.integers(8, 40)), int(rng.integers(2, 5)))))
        if seed % 2:
            X[: len(X) // 2] = X[0]
        model = PPCAMixture(4, 1, init=init, random_state=seed).fit(X)
        assert np.isfinite(model.score_samples(X)).all()
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, atol=1e-12)
        assert (np.diff(model.log_likelihoods_) >= 0).all()


@pytest.mark.parametrize("noise", ["separate", "shared"])
def test_the_em_step_is_the_papers_and_never_lowers_the_likelihood(noise, rng):
    X, _ = make_ellipsoids(random_state=0)
    start = rng.dirichlet([1.0, 1.0], size=len(X))
    with pytest.warns(ConvergenceWarning):
        one, two = (
            PPCAMixture(2, 1, init=start, solver="em", noise=noise, max_iter=n, tol=1e-12).fit(X) for n in (1, 2)
        )
    shares, new_noise = one.predict_proba(X), []
    for k in range(2):
        mean = shares[:, k] @ X / shares[:, k].sum()
        S = (X - mean).T @ (shares[:, k, None] * (X - mean)) / shares[:, k].sum()
        W, old = one.loadings_[k], one.noise_variances_[k]
        M = W.T @ W + old * np.eye(1)
        new = S @ W @ np.linalg.inv(old * np.eye(1) + np.linalg.inv(M) @ W.T @ S @ W)
        new_noise.append((np.trace(S) - np.trace(S @ W @ np.linalg.inv(M) @ new.T)) / 3)
        assert_allclose(two.means_[k], mean, rtol=1e-10)
        assert_allclose(two.loadings_[k] @ two.loadings_[k].T, new @ new.T, rtol=1e-9, atol=1e-9)
    wanted = new_noise if noise == "separate" else np.full(2, shares.mean(axis=0) @ new_noise)
    assert_allclose(two.noise_variances_, wanted, rtol=1e-10)
    long = PPCAMixture(5, 2, solver="em", noise=noise, max_iter=3000, tol=1e-9, random_state=0).fit(X)
    assert (np.diff(long.log_likelihoods_) >= 0).all()
    closed = PPCAMixture(5, 2, noise=noise, random_state=0).fit(X)
    assert_allclose(long.score(X), closed.score(X), rtol=1e-6)
    assert long.n_iter_ > closed.n_iter_


def test_the_em_step_with_many_columns_holes_and_files(rng, tmp_path):
    X = np.vstack([rng.normal(size=(40, 3)) @ rng.normal(size=(3, 90)) + 4.0 * k for k in (0, 1)])
    X += 0.3 * rng.normal(size=X.shape)
    by_em, usual = (PPCAMixture(2, 3, solver=s, max_iter=3000, tol=1e-8, random_state=0).fit(X) for s in ("em", "auto"))
    assert_allclose(by_em.score(X), usual.score(X), rtol=1e-4)
    save(by_em, tmp_path / "model")
    assert load(tmp_path / "model").solver == "em"
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    a, b = (PPCAMixture(2, 1, solver=s, random_state=0, max_iter=2000).fit(holes).score(holes) for s in ("em", "auto"))
    assert a == b
    with pytest.raises(ValueError, match="solver"):
        PPCAMixture(2, 1, solver="eigen").fit(X)
