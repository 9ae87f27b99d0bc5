"""KernelPPCAMixture: ZH's mixture, its objective, its starts, and the faults it must survive."""

import dataclasses
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import KernelPPCA, KernelPPCAMixture, NumericalWarning
from gramian.datasets import make_c_shapes, make_moons
from gramian.estimators import kernel_mixture as module
from gramian.kernels import RBF, Linear
from gramian.mixtures.kernel_kmeans import Neighbours, graph_cut, kernel_kmeans
from gramian.policy import KERNELS, MIXTURES


def agreement(labels, truth):
    """The share of rows on which two clusterings into two agree, whatever the names (MIX-05)."""
    same = float((labels == truth).mean())
    return max(same, 1 - same)


@pytest.fixture(scope="module")
def shapes():
    return make_c_shapes(120, random_state=0)


@pytest.fixture(scope="module")
def fitted(shapes):
    return KernelPPCAMixture(2, 2, kernel=RBF(8.0), random_state=0).fit(shapes[0])


@parametrize_with_checks([KernelPPCAMixture()])
@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- the model


def dense_objective(X, kernel, responsibilities, q, rho):
    """log m_i - L^_i/2 by [ZH]'s own formulas, with dense J_i, Q_i and M_i (eqs. 9-20): the oracle."""
    K0 = kernel(X)
    n = len(X)
    terms = []
    for r in responsibilities.T:
        s = r / r.sum()
        J = (np.eye(n) - np.outer(s, np.ones(n))) @ np.diag(np.sqrt(s))
        K = J.T @ K0 @ J
        values, vectors = np.linalg.eigh(K)
        values, vectors = values[::-1][:q], vectors[:, ::-1][:, :q]
        vectors, values = vectors[:, values > rho], values[values > rho]
        Q = vectors * np.sqrt(1 - rho / values)
        M = rho * np.eye(len(values)) + Q.T @ K @ Q
        h = K0 - (K0 @ s)[:, None]
        g = np.diag(K0) - 2 * s @ K0 + s @ K0 @ s
        inside = np.einsum("in,ij,jn->n", h, J @ Q @ np.linalg.inv(M) @ Q.T @ J.T, h)
        L = (g - inside) / rho + np.linalg.slogdet(M)[1] + len(values) * np.log(1 / rho)
        terms.append(np.log(r.mean()) - L / 2)
    return np.column_stack(terms)


def test_objective_is_that_of_the_paper_and_responsibilities_follow_from_it(shapes):
    X, _ = shapes
    rng = np.random.default_rng(0)
    start = rng.dirichlet([1, 1], len(X))
    with pytest.warns(ConvergenceWarning):
        model = KernelPPCAMixture(2, 2, kernel=RBF(8.0), init=start, max_iter=1).fit(X)
    terms = dense_objective(X, RBF(8.0), start, 2, 0.01)
    assert_allclose(model.score_samples(X), np.logaddexp(*terms.T), rtol=1e-8)
    expected = np.exp(terms - np.logaddexp(*terms.T)[:, None])
    assert_allclose(model.predict_proba(X), expected, atol=1e-8)
    assert_allclose(model.responsibilities_, expected, atol=1e-8)
    assert_allclose(model.log_likelihoods_[-1], np.logaddexp(*terms.T).mean())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_components", [0, 1, 3, [1, 4], 0.9])
def test_objective_never_falls(seed, n_components):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(40, 3)), rng.normal(2.0, 0.5, size=(30, 3))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelPPCAMixture(2, n_components, init="random", tol=0.0, max_iter=15, random_state=seed)
        model.fit(X, sample_weight=rng.uniform(0.5, 2.0, len(X)))
    steps = np.diff(model.log_likelihoods_)
    assert (steps >= -1e-9 * np.abs(model.log_likelihoods_[:-1])).all()


def test_one_component_is_kernel_ppca_with_that_noise(shapes):
    X, _ = shapes
    mixture = KernelPPCAMixture(1, 3, kernel=RBF(8.0), noise_variance=0.01).fit(X)
    single = KernelPPCA(3, kernel=RBF(8.0), noise_variance=0.01, solver="eigh").fit(X)
    assert_allclose(mixture.explained_variance_[0], single.explained_variance_, rtol=1e-9)
    constant = 0.5 * len(X) * np.log(2 * np.pi * 0.01)
    assert_allclose(mixture.score_samples(X), single.score_samples(X) + constant, rtol=1e-6, atol=1e-6)
    assert_allclose(np.abs(mixture.transform(X)), np.abs(single.transform(X)), atol=1e-7)
    assert_allclose(mixture.responsibilities_, 1.0)


def test_linear_kernel_finds_the_clusters_that_overlap_in_no_direction():
    X, y = make_blobs(90, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0]], cluster_std=0.5, random_state=0)
    model = KernelPPCAMixture(3, 1, kernel=Linear(), noise_variance=0.2, random_state=0).fit(X)
    table = np.array([[np.sum((model.predict(X) == i) & (y == j)) for j in range(3)] for i in range(3)])
    assert sorted(table.max(axis=0)) == [30, 30, 30]
    assert_allclose(np.sort(model.weights_), 1 / 3, atol=1e-3)


def test_em_for_the_loadings_agrees_with_the_eigendecomposition(shapes):
    X, _ = shapes
    start = np.eye(2)[(X[:, 0] > X[:, 0].mean()).astype(int)]
    exact = KernelPPCAMixture(kernel=RBF(8.0), init=start).fit(X)
    by_em = KernelPPCAMixture(kernel=RBF(8.0), init=start, solver="em").fit(X)
    assert_allclose(by_em.log_likelihoods_[-1], exact.log_likelihoods_[-1], rtol=1e-6)
    assert_allclose(by_em.responsibilities_, exact.responsibilities_, atol=1e-5)


# ---------------------------------------------------------------- clusters


@pytest.mark.parametrize("seed", range(5))
def test_two_c_shapes_of_the_paper_separate(seed):
    X, truth = make_c_shapes(random_state=seed)
    model = KernelPPCAMixture(2, 2, kernel=RBF(8.0), noise_variance=0.01, random_state=seed).fit(X)
    assert agreement(model.predict(X), truth) == 1.0
    assert model.converged_


def test_two_c_shapes_separate_from_some_random_starts_and_restarts_find_one():
    X, truth = make_c_shapes(random_state=0)
    found = [
        agreement(KernelPPCAMixture(kernel=RBF(8.0), init="random", random_state=s).fit_predict(X), truth)
        for s in range(8)
    ]
    assert 1 <= sum(value == 1.0 for value in found) < 8
    model = KernelPPCAMixture(kernel=RBF(8.0), init="random", n_init=12, random_state=0)
    assert agreement(model.fit_predict(X), truth) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_interlocked_c_shapes_separate_with_default_settings(seed):
    X, truth = make_c_shapes(interlocked=True, random_state=seed)
    assert agreement(KernelPPCAMixture(random_state=seed).fit_predict(X), truth) > 0.98


@pytest.mark.parametrize("seed", range(5))
def test_two_moons_mostly_separate_with_default_settings_and_fully_with_a_narrower_kernel(seed):
    X, truth = make_moons(random_state=seed)
    assert agreement(KernelPPCAMixture(random_state=seed).fit_predict(X), truth) > 0.9
    assert agreement(KernelPPCAMixture(kernel=RBF(0.4), random_state=seed).fit_predict(X), truth) >= 0.98


def graph_kmeans(gram, weights, n_clusters, n_neighbors, rng):
    return graph_cut(Neighbours.of(gram, n_neighbors).graph(n_neighbors), weights, n_clusters, rng)


def test_k_means_of_the_inputs_does_not_separate_the_moons_but_the_graph_does():
    X, truth = make_moons(random_state=0)
    gram = RBF(1.0)(X)
    ones = np.ones(len(X))
    assert agreement(kernel_kmeans(gram, ones, 2, np.random.default_rng(0)), truth) < 0.9
    assert agreement(graph_kmeans(gram, ones, 2, 10, np.random.default_rng(0)), truth) == 1.0


def test_the_graph_survives_many_copies_of_a_row():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], 15, axis=0)
    labels = graph_kmeans(RBF(1.0)(X), np.ones(45), 2, 10, np.random.default_rng(0))
    assert len(set(labels)) == 2
    same = graph_kmeans(np.ones((20, 20)), np.ones(20), 2, 10, np.random.default_rng(0))
    assert len(same) == 20


def test_every_restart_uses_another_start_and_the_best_objective_is_kept():
    X, _ = make_moons(80, random_state=1)
    one = [KernelPPCAMixture(init="random", random_state=s).fit(X).log_likelihoods_[-1] for s in range(3)]
    assert len(set(np.round(one, 6))) > 1
    few = KernelPPCAMixture(init="random", random_state=0).fit(X).log_likelihoods_[-1]
    many = KernelPPCAMixture(init="random", n_init=6, random_state=0).fit(X).log_likelihoods_[-1]
    assert many >= few
    default = KernelPPCAMixture(random_state=0).fit(X).log_likelihoods_[-1]
    assert KernelPPCAMixture(n_init=4, random_state=0).fit(X).log_likelihoods_[-1] >= default


@pytest.mark.parametrize("kernel", ["rbf", RBF(0.4)])
def test_a_wrong_start_is_left_only_for_a_clearly_likelier_one(kernel):
    from sklearn.datasets import make_moons as noisy_moons

    X, truth = noisy_moons(200, noise=0.1, random_state=3)
    gram = KernelPPCAMixture(2, 2, kernel=kernel).fit(X).kernel_(X)
    wrong = graph_kmeans(gram, np.ones(200), 2, 10, np.random.default_rng(0))
    assert agreement(wrong, truth) < 0.9
    trapped = KernelPPCAMixture(2, 2, kernel=kernel, init=np.eye(2)[wrong]).fit(X)
    informed = KernelPPCAMixture(2, 2, kernel=kernel, init=np.eye(2)[truth]).fit(X)
    model = KernelPPCAMixture(2, 2, kernel=kernel, random_state=0).fit(X)
    assert model.log_likelihoods_[-1] > trapped.log_likelihoods_[-1] + MIXTURES.clear_gain
    assert model.log_likelihoods_[-1] > informed.log_likelihoods_[-1] - 1e-3
    assert agreement(model.predict(X), truth) > 0.97


@pytest.mark.parametrize("noise, least", [(0.05, 1.0), (0.1, 0.9)])
def test_rings_and_moons_separate_with_default_settings(noise, least):
    from sklearn.datasets import make_circles
    from sklearn.datasets import make_moons as noisy_moons

    for seed in range(3):
        X, truth = noisy_moons(300, noise=noise, random_state=seed)
        assert agreement(KernelPPCAMixture(random_state=seed).fit_predict(X), truth) >= least
        X, truth = make_circles(300, factor=0.5, noise=0.05, random_state=seed)
        assert agreement(KernelPPCAMixture(random_state=seed).fit_predict(X), truth) == 1.0


def test_defaults_keep_their_evidence_and_given_values_do_without(shapes):
    X, _ = shapes
    model = KernelPPCAMixture(random_state=0).fit(X)
    assert model.selection_.chosen in model.selection_.candidates
    assert max(model.n_components_) <= model.selection_.chosen
    assert (
        model.kernel_ == RBF("local").resolve(X) or model.kernel_.length_scale == RBF("local").resolve(X).length_scale
    )
    assert not hasattr(KernelPPCAMixture(2, 2, random_state=0).fit(X), "selection_")


def test_an_indefinite_kernel_is_told_of_once(shapes):
    X, _ = shapes
    with pytest.warns(NumericalWarning, match="indefinite") as caught:
        KernelPPCAMixture(2, 2, kernel=lambda A, B: -RBF(3.0)(A, B) + 2 * RBF(6.0)(A, B), random_state=0).fit(X)
    assert sum("indefinite" in str(warning.message) for warning in caught) == 1


def test_standardized_columns_are_undone_on_the_way_out(shapes):
    X, _ = shapes
    stretched = X * [1.0, 1000.0] + [0.0, 5.0]
    model = KernelPPCAMixture(2, 3, standardize=True, random_state=0).fit(stretched)
    by_hand = KernelPPCAMixture(2, 3, random_state=0).fit((X - X.mean(axis=0)) / X.std(axis=0))
    assert_allclose(model.score(stretched), by_hand.score((X - X.mean(axis=0)) / X.std(axis=0)), rtol=1e-6)
    rows, _ = model.sample(30, noise=False, random_state=0)
    assert (np.abs(rows - stretched.mean(axis=0)) < 4 * stretched.std(axis=0)).all()
    assert np.sqrt(np.mean(((model.reconstruct(stretched) - stretched) / stretched.std(axis=0)) ** 2)) < 0.5
    assert KernelPPCAMixture(2, 3, kernel=RBF(1.0), standardize="auto").fit(X)._units is None
    assert KernelPPCAMixture(2, 3, standardize="auto").fit(X)._units is not None
    with pytest.raises(ValueError, match="standardize"):
        KernelPPCAMixture(standardize="yes").fit(X)


def test_more_landmarks_than_rows_are_cut_with_a_warning(shapes):
    with pytest.warns(NumericalWarning, match="n_landmarks"):
        model = KernelPPCAMixture(2, 2, approximation="nystroem", n_landmarks=10**6, random_state=0).fit(shapes[0])
    assert len(model.X_fit_) == len(shapes[0])


# ---------------------------------------------------------------- weights, approximation, precomputed


def test_integer_weights_are_repeated_rows_and_zero_weight_a_removed_row(shapes):
    X, _ = shapes
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = KernelPPCAMixture(random_state=0).fit(X, sample_weight=counts)
    repeated = KernelPPCAMixture(random_state=0).fit(np.repeat(X, counts, axis=0))
    assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-9)
    assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-9)
    assert weighted.responsibilities_.shape == (len(X), 2)
    assert_allclose(weighted.responsibilities_, weighted.predict_proba(X), atol=1e-7)


def test_nystroem_with_every_row_a_landmark_is_exact_and_with_few_nearly_so(shapes):
    X, truth = shapes
    start = np.eye(2)[truth]
    exact = KernelPPCAMixture(kernel=RBF(8.0), init=start).fit(X)
    full = KernelPPCAMixture(kernel=RBF(8.0), init=start, approximation="nystroem", n_landmarks=len(X)).fit(X)
    assert_allclose(full.log_likelihoods_, exact.log_likelihoods_, rtol=1e-4)
    few = KernelPPCAMixture(kernel=RBF(8.0), approximation="nystroem", n_landmarks=30, random_state=0).fit(X)
    assert agreement(few.predict(X), truth) == 1.0
    assert few.X_fit_.shape == (30, 2)
    rows, labels = few.sample(20, noise=False, random_state=0)
    assert rows.shape == (20, 2)
    assert agreement(few.predict(rows), labels) > 0.9
    assert few.reconstruct(X).shape == X.shape


@pytest.mark.parametrize(
    "diagonal, words", [(None, "needs diagonal="), (np.ones(3), "3 values"), (np.full(7, np.nan), "NaN")]
)
def test_a_diagonal_is_refused_in_the_words_of_the_single_model(shapes, diagonal, words):
    K = RBF(8.0)(shapes[0])
    told = []
    for model in (KernelPPCA(2, kernel="precomputed"), KernelPPCAMixture(2, 2, kernel="precomputed", random_state=0)):
        with pytest.raises(ValueError, match=words) as refused:
            model.fit(K).score_samples(K[:7], diagonal=diagonal)
        told.append(str(refused.value))
    assert told[0] == told[1]


def test_precomputed_equals_the_kernel_itself(shapes):
    X, _ = shapes
    K = RBF(8.0)(X)
    direct = KernelPPCAMixture(kernel=RBF(8.0), init="random", random_state=0).fit(X)
    order = np.lexsort(X.T[::-1])  # rows are taken in sorted order, which a random start depends on
    given = KernelPPCAMixture(kernel="precomputed", init="random", random_state=0)
    given.fit(K[np.ix_(order, order)], inputs=X[order])
    ways = given.log_likelihoods_, direct.log_likelihoods_
    for one, other in zip(*ways):
        assert_allclose(one, other, rtol=1e-9)
    assert_allclose(
        ways[0][-1], ways[1][-1], rtol=1e-9
    )  # rounding decides whether a last step that gains nothing is listed
    new = X[:7] + 0.1
    values = RBF(8.0)(new, X[order])
    assert_allclose(given.predict_proba(values), direct.predict_proba(new), atol=1e-8)
    assert_allclose(given.score_samples(values, diagonal=np.ones(7)), direct.score_samples(new), rtol=1e-7)
    with pytest.raises(ValueError, match="diagonal"):
        given.score_samples(values)
    assert given.reconstruct(values).shape == (7, 2)
    for noise in (False, True):
        drawn, labels = given.sample(5, noise=noise, random_state=0)
        expected, same = direct.sample(5, noise=noise, random_state=0)
        assert_allclose(drawn, expected, atol=1e-6)
        assert (labels == same).all()
    unseen = clone(given).fit(K[np.ix_(order, order)])
    with pytest.raises(ValueError, match="inputs"):
        unseen.sample()
    with pytest.raises(ValueError, match="not symmetric"):
        clone(given).fit(K + np.triu(np.ones_like(K)))


# ---------------------------------------------------------------- evaluation


def test_new_rows_near_a_component_belong_to_it_and_far_ones_still_sum_to_one(fitted):
    far = np.array([[1e3, 1e3], [-1e6, 4.0], [0.0, 0.0]])
    shares = fitted.predict_proba(far)
    assert np.isfinite(shares).all()
    assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert ((shares >= 0) & (shares <= 1)).all()


def test_responsibilities_sum_to_one(fitted):
    assert_allclose(fitted.responsibilities_.sum(axis=1), 1.0, atol=1e-12)
    assert_allclose(fitted.weights_, fitted.responsibilities_.mean(axis=0), atol=1e-4)


def test_samples_lie_on_the_shapes_and_reconstruction_is_near(fitted, shapes):
    X, _ = shapes
    drawn, labels = fitted.sample(200, noise=False, random_state=0)
    assert drawn.shape == (200, 2)
    assert (np.abs(drawn[:, None] - X[None]).sum(axis=2).min(axis=1) < 3.0).mean() > 0.95
    assert (fitted.predict(drawn) == labels).mean() > 0.95
    assert_allclose(labels.mean(), fitted.weights_[1], atol=0.12)
    again, _ = fitted.sample(200, noise=False, random_state=0)
    np.testing.assert_array_equal(drawn, again)
    noisy, _ = fitted.sample(50, random_state=0)
    assert np.isfinite(noisy).all()
    for kind in ("map", "projection"):
        for combine in ("best", "average"):
            assert np.sqrt(np.mean((fitted.reconstruct(X, kind, combine) - X) ** 2)) < 1.0


def test_transform_is_that_of_the_best_component_with_unit_variance(fitted, shapes):
    X, _ = shapes
    Z = fitted.transform(X)
    assert Z.shape == (len(X), 2)
    assert Z[fitted.predict(X) == 0].std(axis=0) == pytest.approx([1.0, 1.0], abs=0.15)
    assert_allclose(fitted.transform(X, combine="average"), Z, atol=1e-2)
    assert list(fitted.get_feature_names_out()) == ["kernelppcamixture0", "kernelppcamixture1"]


def test_directions_at_or_below_the_noise_are_dropped_recorded_and_warned_of_once(shapes):
    X, _ = shapes
    with pytest.warns(NumericalWarning, match="keeps") as caught:
        model = KernelPPCAMixture(2, 30, kernel=RBF(8.0), random_state=0).fit(X)
    assert len(caught) == 1
    assert all(0 < q < 30 for q in model.n_components_)
    assert all((values > 0.01).all() for values in model.explained_variance_)
    assert model.transform(X).shape == (len(X), 30)


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    "params, words",
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": True}, "n_clusters"),
        ({"n_components": True}, "n_components"),
        ({"n_components": -1}, "n_components"),
        ({"n_components": None}, "n_components"),
        ({"n_components": [1, 2, 3]}, "n_components"),
        ({"n_components": 1.5}, "n_components"),
        ({"noise_variance": 0.0}, "noise_variance"),
        ({"noise_variance": np.nan}, "noise_variance"),
        ({"init": "kmedoids"}, "init"),
        ({"init": np.ones((3, 2))}, "init"),
        ({"init": -np.ones((20, 2))}, "init"),
        ({"n_init": 0}, "n_init"),
        ({"kernel": "gauss"}, "kernel"),
        ({"kernel": RBF(-1.0)}, "length_scale"),
        ({"kernel": lambda X, Y: np.ones(3)}, "kernel|shape"),
        ({"approximation": "svd"}, "approximation"),
        ({"n_landmarks": 0}, "n_landmarks"),
        ({"preimage": "magic"}, "preimage"),
        ({"solver": "magic"}, "solver"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "seed"}, "random_state"),
    ],
)
def test_bad_parameters_are_refused_in_fit_and_name_themselves(params, words):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=words):
        KernelPPCAMixture(**params).fit(X)


@pytest.mark.parametrize("bad, error, words", [
    (np.array([[0.0, np.inf], [1.0, 2.0], [3.0, 1.0]]), ValueError, "infinity"),
    (np.array([[0.0, 1j], [1.0, 2.0]]), ValueError, "Complex data not supported"),
    (np.array([["a", "b"], ["c", "d"]], dtype=object), ValueError, "could not convert string"),
    (np.array([["1.5", "2"], ["3", "4"]]), ValueError, "could not convert string"),
    (np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"), ValueError, "numeric"),
])  # fmt: skip
def test_bad_data_is_refused_in_fit_and_in_every_method(bad, error, words, fitted):
    with pytest.raises(error, match=words):
        KernelPPCAMixture().fit(bad)
    if bad.shape[1] == 2:
        for method in ("predict", "predict_proba", "score_samples", "transform", "reconstruct"):
            with pytest.raises(error, match=words):
                getattr(fitted, method)(bad)


def test_sparse_and_lazy_input_is_refused_with_a_hint():
    from scipy import sparse

    with pytest.raises(TypeError, match=r"\.toarray\(\)"):
        KernelPPCAMixture().fit(sparse.csr_array(np.eye(5)))


def test_before_fit_and_after_a_failed_fit(shapes, fitted):
    X, _ = shapes
    for method in ("predict", "predict_proba", "transform", "score_samples", "reconstruct"):
        with pytest.raises(NotFittedError):
            getattr(KernelPPCAMixture(), method)(X)
    with pytest.raises(NotFittedError):
        KernelPPCAMixture().sample()
    model = pickle.loads(pickle.dumps(fitted))
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((5, 2), np.inf))
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
def test_identical_rows_small_tables_and_constant_columns_stay_finite():
    same = KernelPPCAMixture(1, random_state=0).fit(np.ones((6, 3)))
    assert np.isfinite(same.score_samples(np.ones((2, 3)))).all()
    assert_allclose(same.predict_proba(np.ones((1, 3))).sum(), 1.0)
    with pytest.raises(ValueError, match="distinct rows"):
        KernelPPCAMixture(2).fit(np.ones((6, 3)))
    rng = np.random.default_rng(0)
    for n, d in [(2, 1), (2, 3), (3, 1), (4, 5)]:
        model = KernelPPCAMixture(random_state=0).fit(rng.normal(size=(n, d)))
        assert np.isfinite(model.log_likelihoods_).all()
        assert (np.diff(model.log_likelihoods_) > -1e-9).all()
    X = np.column_stack([rng.normal(size=30), np.full(30, 7.0)])
    assert np.isfinite(KernelPPCAMixture(random_state=0).fit(X).score(X))
    with pytest.raises(ValueError, match="n_clusters=5"):
        KernelPPCAMixture(5).fit(rng.normal(size=(3, 2)))


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
def test_extreme_scales_are_equivariant_or_refused(shapes):
    X, _ = shapes
    base = KernelPPCAMixture(2, 5, random_state=0).fit(X)
    for scale in (1e-12, 1e12, 1e100):  # q is given: folds follow the content of rows, which scaling changes
        model = KernelPPCAMixture(2, 5, random_state=0).fit(X * scale)
        assert_allclose(model.score(X * scale), base.score(X), rtol=1e-6)
    for scale in (1e200, 1e-200, 1e-310):
        with pytest.raises(ValueError, match="rescale"):
            KernelPPCAMixture().fit(X * scale)
    single = KernelPPCAMixture(random_state=0).fit((X * 1e30).astype(np.float32))
    assert np.isfinite(single.score((X * 1e30).astype(np.float32)))


def test_order_and_repetition_of_rows_and_the_seed_do_not_matter_where_they_should_not(shapes):
    X, _ = shapes
    base = KernelPPCAMixture(2, 5, random_state=3).fit(X)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = KernelPPCAMixture(2, 5, random_state=3).fit(X[order])
    np.testing.assert_array_equal(base.predict(X), shuffled.predict(X))
    assert_allclose(base.score_samples(X), shuffled.score_samples(X), rtol=1e-12)
    twice = KernelPPCAMixture(2, 5, random_state=3).fit(np.repeat(X, 2, axis=0))
    assert_allclose(base.score_samples(X), twice.score_samples(X), rtol=1e-9)
    np.testing.assert_array_equal(
        base.responsibilities_, KernelPPCAMixture(2, 5, random_state=3).fit(X).responsibilities_
    )
    moved = KernelPPCAMixture(2, 5, random_state=3).fit(2.0 * X + 5.0)
    assert_allclose(base.score_samples(X), moved.score_samples(2.0 * X + 5.0), rtol=1e-8)


def test_float32_rows_give_float32_answers_near_those_of_float64(shapes, fitted):
    X, _ = shapes
    single = KernelPPCAMixture(2, 2, kernel=RBF(8.0), random_state=0).fit(X.astype(np.float32))
    for method in ("predict_proba", "score_samples", "transform", "reconstruct"):
        answer = getattr(single, method)(X.astype(np.float32))
        assert answer.dtype == np.float32
    assert_allclose(single.score_samples(X.astype(np.float32)), fitted.score_samples(X), rtol=1e-4)


def test_other_dtypes_and_layouts_give_the_same_numbers(shapes):
    X, _ = shapes
    X = np.round(X, 2)
    base = KernelPPCAMixture(random_state=0).fit(X).score_samples(X)
    frozen = X.copy()
    frozen.setflags(write=False)
    for other in (np.asfortranarray(X), frozen, X[::-1][::-1], X.astype(">f8"), X.astype(np.longdouble)):
        assert_allclose(KernelPPCAMixture(random_state=0).fit(other).score_samples(other), base, rtol=1e-12)
    counts = np.random.default_rng(0).integers(0, 5, (40, 3))
    for dtype in (np.int8, np.uint8, np.float16):
        model = KernelPPCAMixture(random_state=0).fit(counts.astype(dtype))
        assert_allclose(
            model.score(counts.astype(float)),
            KernelPPCAMixture(random_state=0).fit(counts.astype(float)).score(counts.astype(float)),
        )


def test_a_kernel_without_structure_is_reported():
    X = np.arange(40.0).reshape(20, 2) * 1e3
    with pytest.warns(NumericalWarning, match="no structure"):
        KernelPPCAMixture(2, 0, kernel=RBF(1e-3), random_state=0).fit(X)
    with pytest.warns(NumericalWarning, match="no structure"):
        KernelPPCAMixture(2, 0, kernel=RBF(1e12), random_state=0).fit(X)


def test_an_empty_column_of_the_start_does_not_lose_a_component(shapes):
    X, _ = shapes
    start = np.zeros((len(X), 2))
    start[:, 0] = 1.0
    model = KernelPPCAMixture(kernel=RBF(8.0), init=start).fit(X)
    assert np.isfinite(model.log_likelihoods_).all()
    assert_allclose(model.weights_.sum(), 1.0)


def test_clean_data_raises_no_warning(shapes):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPPCAMixture(kernel=RBF(8.0), random_state=0).fit(shapes[0]).sample(3)


def test_many_rows_are_seen_from_landmarks_unless_all_are_asked_for(shapes, monkeypatch):
    X = shapes[0]
    kinds = {"exact": {}, "landmarks": {}, "all": {"approximation": "exact"}, "solver": {"solver": "eigh"}}
    found = {}
    for name, options in kinds.items():
        limit = len(X) if name == "exact" else len(X) - 1
        monkeypatch.setattr(module, "KERNELS", dataclasses.replace(KERNELS, exact_rows=limit, landmarks=30))
        found[name] = KernelPPCAMixture(2, 2, random_state=0, **options).fit(X)
    assert [len(model.X_fit_) for model in found.values()] == [len(X), 30, len(X), len(X)]
    assert_allclose(found["exact"].responsibilities_, found["all"].responsibilities_)
    alike = KernelPPCAMixture(2, 2, random_state=0, approximation="nystroem", n_landmarks=30).fit(X)
    assert_allclose(found["landmarks"].responsibilities_, alike.responsibilities_)
