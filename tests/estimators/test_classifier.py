"""KernelPPCAClassifier: both rules, probabilities, mixtures per class, and the faults it must survive."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import KernelPPCA, KernelPPCAClassifier, NumericalWarning
from gramian._content import row_hashes
from gramian.classes import path as classifier_path
from gramian.classes.choice import copies_apart, counting_unit
from gramian.classes.models import LabelledRows
from gramian.classes.path import class_paths
from gramian.datasets import make_c_shapes, make_moons
from gramian.kernels import RBF, Precomputed
from gramian.latent.sample import DualSample
from gramian.mixtures.kernel_component import fit_component
from gramian.operators.gram import DenseGram
from gramian.policy import KERNELS, LOOK
from gramian.solvers import Eigh


def zhou(n_components=0.95, *, kernel="rbf", noise_variance=None, **params):
    """[ZH]'s rule as given: nothing is left to choose."""
    return KernelPPCAClassifier(n_components, kernel=kernel, noise_variance=noise_variance, **params)


@pytest.fixture(scope="module")
def moons():
    return make_moons(160, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@parametrize_with_checks([KernelPPCAClassifier(), KernelPPCAClassifier(5, noise_variance=0.01)])
@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- the rules


def test_limiting_rule_is_the_smallest_residual_of_kernel_ppca(iris):
    X, y = iris
    model = zhou(4, kernel=RBF(2.0)).fit(X, y)
    new = X[::7] + 0.05
    singles = [KernelPPCA(4, kernel=RBF(2.0), solver="eigh").fit(X[y == c]) for c in range(3)]
    residuals = np.column_stack([single.residual(new) for single in singles])
    assert_allclose(-model.decision_function(new), residuals, atol=1e-9)
    np.testing.assert_array_equal(model.predict(new), residuals.argmin(axis=1))


def test_finite_noise_is_log_prior_plus_log_density_of_kernel_ppca(iris):
    X, y = iris
    X, y = X[:130], y[:130]
    rho = 1e-3
    model = zhou(3, kernel=RBF(2.0), noise_variance=rho).fit(X, y)
    new = X[::7] + 0.05
    joint = []
    for c in range(3):
        own = X[y == c]
        single = KernelPPCA(3, kernel=RBF(2.0), noise_variance=rho, noise_dim=100, solver="eigh").fit(own)
        joint.append(single.score_samples(new) + 50 * np.log(2 * np.pi * rho) + np.log(np.mean(y == c)))
    joint = np.column_stack(joint)
    assert_allclose(model.decision_function(new), joint, rtol=1e-7, atol=1e-6)
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    assert_allclose(model.predict_proba(new), shares, atol=1e-7)


def test_small_noise_approaches_the_limiting_rule(moons):
    X, y = moons
    limit = zhou(6).fit(X, y)
    nearly = zhou(6, noise_variance=1e-9).fit(X, y)
    assert (limit.predict(X) == nearly.predict(X)).mean() > 0.98
    assert_allclose(2e-9 * nearly.decision_function(X), limit.decision_function(X), atol=1e-6)


def test_priors_move_the_boundary_and_are_refused_where_they_have_no_effect(moons):
    X, y = moons
    rare = zhou(1, noise_variance=0.05, priors=[0.999, 0.001]).fit(X, y).predict(X)
    often = zhou(1, noise_variance=0.05, priors=[0.001, 0.999]).fit(X, y).predict(X)
    assert rare.sum() < often.sum()
    base = zhou(1, noise_variance=0.05).fit(X, y)
    assert_allclose(base.class_prior_, [0.5, 0.5])
    equal = zhou(1, noise_variance=0.05, priors=[0.5, 0.5]).fit(X, y)
    assert_allclose(base.predict_proba(X), equal.predict_proba(X))
    with pytest.raises(ValueError, match="limiting rule"):
        zhou(3, priors=[0.5, 0.5]).fit(X, y)
    for priors in ([0.5, 0.6], [1.0], [1.5, -0.5], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="priors"):
            zhou(1, noise_variance=0.05, priors=priors).fit(X, y)


def test_a_fraction_gives_each_class_its_own_q(iris):
    X, y = iris
    model = zhou(0.99, kernel=RBF(3.0)).fit(X, y)
    counts = [q for (q,) in model.n_components_]
    singles = [KernelPPCA(0.99, kernel=RBF(3.0), solver="eigh").fit(X[y == c]).n_components_ for c in range(3)]
    assert counts == singles
    assert len(set(counts)) > 1


def test_a_count_above_the_rank_of_a_class_is_cut_with_a_warning(iris):
    X, y = iris
    with pytest.warns(NumericalWarning, match="cut") as caught:
        model = zhou(200, kernel=RBF(2.0)).fit(X, y)
    assert len(caught) == 1
    assert all(0 < q < 50 for (q,) in model.n_components_)


def test_clusters_of_a_class_help_where_a_class_has_several():
    X, y = make_blobs(200, centers=[[0, 0], [8, 8], [0, 8], [8, 0]], cluster_std=0.7, random_state=0)
    y = (y >= 2).astype(int)
    one = cross_val_score(zhou(0, kernel=RBF(20.0)), X, y, cv=5).mean()
    two = cross_val_score(zhou(0, kernel=RBF(20.0), n_clusters=2, random_state=0), X, y, cv=5).mean()
    assert two > 0.98 > 0.9 > one
    dense = zhou(0, kernel=RBF(20.0), noise_variance=1e-4, n_clusters=2, random_state=0).fit(X, y)
    assert dense.score(X, y) > 0.98
    assert [len(counts) for counts in dense.n_components_] == [2, 2]
    assert_allclose(dense.predict_proba(X).sum(axis=1), 1.0, atol=1e-12)


# ---------------------------------------------------------------- probabilities


@pytest.mark.parametrize("params", [{}, {"noise_variance": 1e-3}, {"n_clusters": 2, "random_state": 0}])
def test_probabilities_sum_to_one_agree_with_predict_and_are_monotone_in_the_decision(moons, iris, params):
    X, y = moons
    model = zhou(5, **params).fit(X, np.where(y == 1, "a", "b"))
    assert list(model.classes_) == ["a", "b"]
    decision, shares = model.decision_function(X), model.predict_proba(X)
    assert decision.shape == (len(X),)
    assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(decision > 0, "b", "a"))
    np.testing.assert_array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])
    order = np.argsort(decision)
    assert (np.diff(shares[order, 1]) >= -1e-12).all()
    multi = zhou(5, **params).fit(*iris)
    assert multi.decision_function(iris[0]).shape == (150, 3)
    np.testing.assert_array_equal(multi.predict(iris[0]), multi.predict_proba(iris[0]).argmax(axis=1))


def test_calibrated_probabilities_are_better_than_guessing_and_than_a_wrong_noise(moons):
    X, y = moons
    model = zhou(4)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    held_out = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    distances = cross_val_predict(model, X, y, cv=folds, method="decision_function")
    noise = model.fit(X, y).calibrated_noise_
    assert log_loss(y, held_out) < 0.5 < np.log(2)
    for factor in (0.1, 10.0):
        wrong = 1 / (1 + np.exp(-distances / (2 * noise * factor)))
        assert log_loss(y, held_out) < log_loss(y, np.column_stack([1 - wrong, wrong]))


def test_nothing_is_changed_by_asking_for_probabilities(moons):
    X, y = moons
    model = zhou(4).fit(X, y)
    before = pickle.dumps(vars(model))
    model.predict_proba(X)
    model.decision_function(X)
    assert pickle.dumps(vars(model)) == before


def test_default_settings_separate_moons_and_shapes():
    for X, y in (make_moons(200, random_state=0), make_c_shapes(200, interlocked=True, random_state=0)):
        assert cross_val_score(KernelPPCAClassifier(), X, y, cv=5).mean() > 0.98


# ---------------------------------------------------------------- weights, precomputed, the fast path


@pytest.mark.parametrize("params", [{}, {"noise_variance": 1e-3}, {"n_clusters": 2, "random_state": 0}])
def test_integer_weights_are_repeated_rows_and_zero_weight_a_removed_row(moons, params):
    X, y = moons
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = zhou(4, **params).fit(X, y, sample_weight=counts)
    repeated = zhou(4, **params).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-9)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_a_class_of_zero_weight_does_not_exist(iris):
    X, y = iris
    model = KernelPPCAClassifier().fit(X, y, sample_weight=(y < 2).astype(float))
    assert list(model.classes_) == [0, 1]


@pytest.mark.parametrize("params", [{}, {"noise_variance": 1e-3}])
def test_precomputed_equals_the_kernel_itself(iris, params):
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    direct = zhou(3, kernel=RBF(2.0), **params).fit(X, y, sample_weight=weights)
    given = zhou(3, kernel="precomputed", **params).fit(RBF(2.0)(X), y, sample_weight=weights)
    new = X[::5] + 0.1
    values = RBF(2.0)(new, X)
    np.testing.assert_array_equal(given.predict(values), direct.predict(new))
    gap = direct.decision_function(new) - given.decision_function(values)
    assert_allclose(gap, gap[:, :1] * np.ones(3), atol=1e-6)  # k(y, y) is not known, and the same for all classes
    scores = cross_val_score(zhou(3, kernel="precomputed", **params), RBF(2.0)(X), y, cv=5)
    assert_allclose(scores, cross_val_score(zhou(3, kernel=RBF(2.0), **params), X, y, cv=5))


def path_accuracy(X, y, kernel, q, noise, train, test):
    """Of the rows held out, from the eigendecompositions of the classes of the rows kept."""
    gram = kernel.resolve(X[train])(X)
    counts = q if isinstance(q, list) else [q] * 3
    paths = class_paths(gram, y, np.ones(len(X)), train, test, None)
    columns = [path.evidences([(count, noise)])[0] for path, count in zip(paths, counts)]
    return np.mean(np.stack(columns).argmax(axis=0) == y[test])


def test_the_fast_path_equals_refitting(iris):
    X, y = iris
    kernels, counts, noises = [RBF(1.0), RBF("median")], [0, 5, 0.8, None, [0, 0.9, 4]], [None, 1e-2]
    folds = list(StratifiedKFold(4).split(X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        for kernel in kernels:
            for q in counts:
                for noise in noises:
                    model = zhou(q, kernel=kernel, noise_variance=noise, standardize=False)
                    fast = [path_accuracy(X, y, kernel, q, noise, *fold) for fold in folds]
                    assert_allclose(fast, cross_val_score(model, X, y, cv=4), err_msg=f"{kernel} {q} {noise}")


def test_every_class_may_have_its_own_number_of_components(iris):
    X, y = iris
    for params in ({}, {"noise_variance": 1e-3}, {"noise_variance": 1e-3, "n_clusters": 2}):
        model = zhou([0, 2, 0.9], kernel=RBF(1.0), random_state=0, **params).fit(X, y)
        assert [set(counts) for counts in model.n_components_[:2]] == [{0}, {2}]
        alone = [zhou(q, kernel=RBF(1.0), random_state=0, **params).fit(X, y) for q in (0, 2, 0.9)]
        columns = np.column_stack([other.decision_function(X)[:, i] for i, other in enumerate(alone)])
        if "n_clusters" not in params:  # starts of mixtures are drawn one class after the other
            assert_allclose(model.decision_function(X), columns)
        same = zhou([2, 2, 2], kernel=RBF(1.0), random_state=0, **params).fit(X, y)
        np.testing.assert_array_equal(same.decision_function(X), alone[1].decision_function(X))
    with pytest.warns(NumericalWarning, match="class 1 keeps 49"):
        zhou([2, 60, 2], kernel=RBF(0.1)).fit(X, y)
    for wrong in ([1, 2], [1, 2, 3, 4], [], [1, 2, -1], [1, 2, "mle"]):
        with pytest.raises(ValueError, match="n_components"):
            zhou(wrong).fit(X, y)


# ---------------------------------------------------------------- faults


def test_one_class_is_predicted_always_and_a_class_of_one_row_works(iris):
    X, y = iris
    alone = zhou().fit(X[:20], np.full(20, "only"))
    assert set(alone.predict(X)) == {"only"}
    assert_allclose(alone.predict_proba(X), 1.0)
    keep = np.r_[0:50, 50, 100:150]
    for params in ({}, {"noise_variance": 1e-3}, {"n_clusters": 3}):
        model = zhou(**params).fit(X[keep], y[keep])
        assert model.predict(X[50:51])[0] == 1
        assert np.isfinite(model.predict_proba(X)).all()
    assert model.score(X[:3], [7, 7, 7]) == 0.0  # labels never seen are simply wrong


@pytest.mark.parametrize(
    "params, words",
    [
        ({"n_components": True}, "n_components"),
        ({"n_components": -1}, "n_components"),
        ({"n_components": 1.0}, "n_components"),
        ({"n_components": "mle"}, "n_components"),
        ({"kernel": "gauss"}, "kernel"),
        ({"kernel": RBF(np.nan)}, "length_scale"),
        ({"kernel": lambda X, Y: np.full((len(X), len(Y)), np.inf)}, "kernel"),
        ({"noise_variance": 0}, "noise_variance"),
        ({"noise_variance": -1.0}, "noise_variance"),
        ({"noise_variance": "ml"}, "noise_variance"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 1.5}, "n_clusters"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": 0.5}, "random_state"),
    ],
)
def test_bad_parameters_are_refused_in_fit_and_name_themselves(params, words, moons):
    with pytest.raises(ValueError, match=words):
        KernelPPCAClassifier(**params).fit(*moons)


@pytest.mark.parametrize("count", [np.int64(2), np.uint8(2)])
def test_numpy_counts_are_counts(moons, count):
    X, y = moons
    assert_allclose(
        zhou(count).fit(X, y).decision_function(X),
        zhou(2).fit(X, y).decision_function(X),
    )


def test_bad_labels_are_refused(moons):
    X, y = moons
    for bad in (np.where(y == 1, np.nan, 0.0), np.where(y == 1, None, "a"), np.linspace(0, 1, len(y)), y[:-1], None):
        with pytest.raises(ValueError, match=r"NaN|label|inconsistent|requires y"):
            KernelPPCAClassifier().fit(X, bad)


@pytest.mark.parametrize("bad, error, words", [
    (np.array([[0.0, np.inf], [1.0, 2.0]]), ValueError, "infinity"),
    (np.array([[0.0, 1j], [1.0, 2.0]]), ValueError, "Complex data not supported"),
    (np.array([["a", "b"], ["c", "d"]], dtype=object), ValueError, "could not convert string"),
    (np.array([["1.5", "2"], ["3", "4"]]), ValueError, "could not convert string"),
    (np.zeros((2, 3)), ValueError, "3 features"),
])  # fmt: skip
def test_bad_data_is_refused_in_fit_and_in_every_method(bad, error, words, moons):
    model = zhou(3).fit(*moons)
    if bad.shape[1] == 2:
        with pytest.raises(error, match=words):
            zhou().fit(bad, [0, 1])
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(error, match=words):
            getattr(model, method)(bad)


def test_before_fit_and_after_a_failed_fit(moons):
    X, y = moons
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(zhou(), method)(X)
    model = zhou(3).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((5, 2), np.inf), [0, 1, 0, 1, 0])
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert repr(clone(KernelPPCAClassifier(3))) == "KernelPPCAClassifier(n_components=3)"


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
def test_small_tables_constant_columns_and_identical_rows_stay_finite():
    rng = np.random.default_rng(0)
    for n, d in [(2, 1), (3, 1), (2, 4), (5, 5), (6, 2)]:
        X, y = rng.normal(size=(n, d)), np.arange(n) % 2
        model = KernelPPCAClassifier().fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()
    X = np.column_stack([rng.normal(size=40), np.full(40, 3.0)])
    assert np.isfinite(KernelPPCAClassifier().fit(X, X[:, 0] > 0).predict_proba(X)).all()
    same = KernelPPCAClassifier().fit(np.ones((6, 2)), [0, 1] * 3)
    assert_allclose(same.predict_proba(np.ones((1, 2))), 0.5)


def test_extreme_scales_are_equivariant_or_refused(moons):
    X, y = moons
    base = zhou(4).fit(X, y).decision_function(X)
    for scale in (1e-12, 1e12, 1e100):  # folds, and with them the calibrated noise, follow the digits of the rows
        assert_allclose(zhou(4).fit(X * scale, y).decision_function(X * scale), base, atol=1e-6)
    for scale in (1e200, 1e-200, 1e-310):
        with pytest.raises(ValueError, match="rescale"):
            zhou().fit(X * scale, y)
    far = zhou(4).fit(X, y).predict_proba(np.array([[1e8, -1e8]]))
    assert np.isfinite(far).all()


def test_order_repetition_shift_and_scale_do_not_matter(moons):
    X, y = moons
    base = zhou(4).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(base.decision_function(X), zhou(4).fit(X[order], y[order]).decision_function(X))
    twice = zhou(4).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert_allclose(base.predict_proba(X), twice.predict_proba(X), atol=1e-10)
    moved = zhou(4).fit(3.0 * X - 7.0, y)
    assert_allclose(base.decision_function(X), moved.decision_function(3.0 * X - 7.0), atol=1e-8)


def test_float32_rows_give_float32_answers_near_those_of_float64(moons):
    X, y = moons
    wide = zhou(4).fit(X, y)
    single = zhou(4).fit(X.astype(np.float32), y)
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert single.decision_function(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.decision_function(X.astype(np.float32)), wide.decision_function(X), atol=1e-4)


def test_clean_data_raises_no_warning(iris):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPPCAClassifier().fit(*iris).predict_proba(iris[0])


# ---------------------------------------------------------------- what is chosen


@pytest.fixture(scope="module")
def unbalanced():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(220, 3)) * [1.0, 100.0, 0.01]
    y = (X[:, 0] + 0.6 * rng.normal(size=220) > 1.2).astype(int)
    return X, y


@pytest.mark.parametrize("rho", [None, 1e-3])
def test_decisions_are_those_of_the_textbook_formula_in_explicit_features(iris, rho):
    X, y = iris
    new = X[::11] + 0.1
    both = np.vstack([X, new])
    values, vectors = np.linalg.eigh(RBF(2.0)(both))
    features = vectors * np.sqrt(np.maximum(values, 0.0))  # every inner product is the kernel's
    expected = []
    for c in range(3):
        own = features[: len(X)][y == c]
        mean = own.mean(axis=0)
        covariance = (own - mean).T @ (own - mean) / len(own)
        variances, axes = np.linalg.eigh(covariance)
        variances, axes = variances[::-1][:3], axes[:, ::-1][:, :3]
        gap = features[len(X) :] - mean
        if rho is None:
            expected.append(-np.sum(gap**2, axis=1) + np.sum((gap @ axes) ** 2, axis=1))
        else:
            model = axes * (variances - rho) @ axes.T + rho * np.eye(len(mean))
            mahalanobis = np.einsum("ni,ni->n", gap, np.linalg.solve(model, gap.T).T)
            log_det = np.linalg.slogdet(model)[1] - len(mean) * np.log(rho)
            expected.append(np.log(np.mean(y == c)) - 0.5 * (mahalanobis + log_det))
    found = zhou(3, kernel=RBF(2.0), noise_variance=rho).fit(X, y).decision_function(new)
    assert_allclose(found, np.column_stack(expected), atol=1e-6)


def test_all_rules_of_a_path_are_those_read_off_one_by_one(iris):
    X, y = iris
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    rules = [(0, None), (5, None), (0.9, None), (None, 1e-3), (4, 1e-2), (0.98, 1e-1), (70, 1e-4)]
    for path in class_paths(RBF(1.0)(X), y, np.ones(150), train, test, None):
        slow = [path.evidence(q, noise) for q, noise in rules]
        assert_allclose(path.evidences(rules), slow, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("most", [None, 4])
def test_paths_without_eigenvectors_are_those_of_fitted_classes(iris, most):
    X, y = iris
    gram, weights = RBF(1.0)(X), np.random.default_rng(0).uniform(0.5, 2.0, 150)
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    for code, path in enumerate(class_paths(gram, y, weights, train, test, most)):
        own = train[y[train] == code]
        shares = weights[own] / weights[own].sum()
        sample = DualSample(Precomputed(), None, DenseGram(gram[np.ix_(own, own)]), shares, 0.0)
        spectrum = fit_component(sample, len(own) if most is None else most, 0.0, Eigh())
        seen = sample.subspace(spectrum).project(gram[np.ix_(test, own)], np.diagonal(gram)[test])
        assert_allclose(path.eigenvalues, spectrum.eigenvalues, rtol=1e-9, atol=1e-15)
        assert_allclose(path.seen.squared_norm, seen.squared_norm, rtol=1e-9)
        assert_allclose(path.seen.scores**2, seen.scores**2, rtol=1e-6, atol=1e-9)
        assert path.trace == pytest.approx(spectrum.trace, rel=1e-12)
        assert path.log_prior == pytest.approx(np.log(weights[own].sum() / weights[train].sum()))


def test_the_choice_is_kept_and_is_a_setting_of_the_estimator(moons):
    X, y = moons
    model = KernelPPCAClassifier().fit(X, y)
    kept = model.selection_
    assert set(kept.chosen) == {"kernel", "n_components", "noise_variance"}
    assert kept.chosen in kept.candidates
    assert len(kept.candidates) == len(kept.scores) == len(kept.errors)
    best = kept.scores.argmax()
    assert kept.scores[best] - kept.scores[kept.index] <= kept.errors[kept.index] + 1e-12
    assert kept.chosen["n_components"] == kept.chosen["noise_variance"] == "auto"  # several rules together
    again = KernelPPCAClassifier(**kept.chosen, standardize=True).fit(X, y)
    assert_allclose(model.decision_function(X), again.decision_function(X), atol=1e-9)
    assert "held-out" in model.explain()
    assert "rules together" in model.explain()


def test_several_rules_together_add_their_evidence():
    X, y = make_moons(160, noise=0.3, random_state=0)
    model = KernelPPCAClassifier(kernel=RBF(0.5)).fit(X, y)
    blend = model._blend
    assert len(blend.rules) > 2
    assert any(q is None for q, _ in blend.rules)
    each = [zhou(q, kernel=RBF(0.5), noise_variance=rho).fit(X, y).decision_function(X) for q, rho in blend.rules]
    joint = model.evidence_scale_ * blend.shares @ each + model.evidence_offsets_[1] - model.evidence_offsets_[0]
    assert_allclose(model.decision_function(X), joint, rtol=1e-6, atol=1e-8)
    assert model.noise_variance_ == blend.noises[blend.shares.argmax()]
    assert (
        KernelPPCAClassifier(kernel=RBF(0.5), n_folds=None).fit(X, y)._blend is None
    )  # nothing says how much each counts
    assert KernelPPCAClassifier(kernel=RBF(0.5), n_clusters=2, random_state=0).fit(X, y)._blend is None
    assert KernelPPCAClassifier(3, kernel=RBF(0.5)).fit(X, y)._blend is None
    landmarks = KernelPPCAClassifier(kernel=RBF(0.5), approximation="nystroem", n_landmarks=len(X)).fit(X, y)
    assert_allclose(landmarks.decision_function(X), model.decision_function(X), rtol=1e-3, atol=1e-3)


def test_where_q_alone_is_open_it_is_the_smallest_within_one_standard_error(moons):
    for noise in (None, 1e-2):
        kept = zhou("auto", kernel=RBF(0.5), noise_variance=noise).fit(*moons).selection_
        assert kept.candidates == sorted(kept.candidates)
        assert all(isinstance(q, int) for q in kept.candidates)
        assert not any(
            kept.scores.max() - score < 1e-15 for score in kept.scores[: kept.index]
        )  # nothing smaller is as good as the best itself
        assert kept.scores.max() - kept.scores[kept.index] <= kept.errors[kept.index] + 1e-12


@pytest.mark.parametrize(
    "params, names",
    [
        ({"kernel": RBF(1.0)}, {"n_components", "noise_variance"}),
        ({"n_components": 3}, {"kernel", "noise_variance"}),
        ({"noise_variance": 1e-2}, {"kernel", "n_components"}),
        ({"noise_variance": None}, {"kernel", "n_components"}),
        ({"n_components": 0.9, "noise_variance": None}, {"kernel"}),
        ({"priors": [0.3, 0.7]}, {"kernel", "n_components", "noise_variance"}),
    ],
)
def test_what_is_given_is_taken_at_its_word_and_the_rest_is_chosen(moons, params, names):
    model = KernelPPCAClassifier(**params).fit(*moons)
    assert set(model.selection_.chosen) == names
    if "priors" in params:
        assert_allclose(model.class_prior_, params["priors"])
        assert model.noise_variance_ > 0
        assert_allclose(model.evidence_offsets_, 0.0)
    if "noise_variance" in params:
        assert model.noise_variance_ == (params["noise_variance"] or 0.0)
        assert model.evidence_scale_ == 1.0


def test_a_fold_is_decomposed_once_per_class_and_width_whatever_the_rules(moons, monkeypatch):
    sizes = []
    solve, turn_block = Eigh.solve, classifier_path.turn_block
    monkeypatch.setattr(
        Eigh, "solve", lambda self, operator, *a, **k: sizes.append(1) or solve(self, operator, *a, **k)
    )
    monkeypatch.setattr(classifier_path, "turn_block", lambda *given: sizes.append(1) or turn_block(*given))
    model = KernelPPCAClassifier().fit(*moons)
    widths = {repr(candidate["kernel"]) for candidate in model.selection_.candidates}
    assert len(sizes) == 2 * (5 * len(widths) + 1)
    sizes.clear()
    KernelPPCAClassifier(kernel=RBF(0.5)).fit(*moons)
    assert len(sizes) == 2 * (5 + 1)


def test_defaults_are_better_than_the_most_frequent_class_on_unbalanced_data(unbalanced):
    X, y = unbalanced
    held_out = cross_val_score(KernelPPCAClassifier(), X, y, cv=5).mean()
    assert held_out > max(np.mean(y), 1 - np.mean(y)) + 0.02


def test_labels_that_rows_know_nothing_of_give_the_most_frequent_class_and_its_frequency():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 4)), (rng.random(150) < 0.2).astype(int)
    model = KernelPPCAClassifier().fit(X, y)
    new = rng.normal(size=(200, 4))
    assert model.predict(new).mean() < 0.05
    assert abs(model.predict_proba(new)[:, 1].mean() - y.mean()) < 0.08


@pytest.mark.parametrize(
    "kernel, expected",
    [
        ("auto", True),
        ("rbf", True),
        (RBF("median"), True),
        ("linear", True),
        (RBF(1.0), False),
        (RBF(1.0) + RBF("median"), False),
        (2.0 * RBF(1.0), False),
        ("periodic", False),
        (lambda A, B: A @ B.T, False),
    ],
)
def test_columns_are_standardised_unless_the_kernel_speaks_of_their_units(unbalanced, kernel, expected):
    X, y = unbalanced
    X, y = X[:80], y[:80]
    auto, yes, no = (
        KernelPPCAClassifier(2, kernel=kernel, noise_variance=None, standardize=value).fit(X, y)
        for value in ("auto", True, False)
    )
    wanted, other = (yes, no) if expected else (no, yes)
    assert_allclose(auto.decision_function(X), wanted.decision_function(X))
    assert np.abs(auto.decision_function(X) - other.decision_function(X)).max() > 1e-6


def test_without_folds_what_is_open_is_chosen_all_the_same_but_nothing_is_calibrated(moons):
    X, y = moons
    model = KernelPPCAClassifier(kernel=RBF(0.5), n_folds=None).fit(X, y)
    assert model.evidence_scale_ == 1.0
    assert_allclose(model.evidence_offsets_, 0.0)
    given = zhou(model.selection_.chosen["n_components"], kernel=RBF(0.5), noise_variance=model.noise_variance_ or None)
    assert_allclose(model.decision_function(X), given.fit(X, y).decision_function(X))


def test_choices_do_not_depend_on_order_repetition_or_labels_names(moons):
    X, y = moons
    base = KernelPPCAClassifier().fit(X, y)
    order = np.random.default_rng(1).permutation(len(X))
    counts = np.random.default_rng(0).integers(1, 3, len(X))
    moved = KernelPPCAClassifier().fit(X[order], np.where(y[order] == 1, "b", "a"))
    assert_allclose(moved.predict_proba(X), base.predict_proba(X), atol=1e-9)
    weighted = KernelPPCAClassifier().fit(X, y, sample_weight=counts)
    repeated = KernelPPCAClassifier().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_classes_that_share_most_of_their_rows_are_told():
    X = np.repeat(np.arange(12.0).reshape(6, 2), 10, axis=0)
    y = np.tile([0, 0, 1], 20)
    with pytest.warns(NumericalWarning, match="rows of another class"):
        KernelPPCAClassifier().fit(X, y)


# ---------------------------------------------------------------- many rows


@pytest.mark.parametrize("noise", [None, 1e-2])
def test_landmarks_at_all_rows_decide_as_the_kernel_itself(moons, noise):
    X, y = moons
    X, y = X[:80], y[:80]
    exact = zhou(4, kernel=RBF(0.5), noise_variance=noise, approximation=None).fit(X, y)
    near = zhou(4, kernel=RBF(0.5), noise_variance=noise, approximation="nystroem", n_landmarks=80).fit(X, y)
    assert_allclose(near.decision_function(X), exact.decision_function(X), rtol=1e-5, atol=1e-5)
    assert "80 landmarks" in near.explain()
    with pytest.warns(NumericalWarning, match="cut"):
        zhou(4, approximation="nystroem", n_landmarks=200).fit(X, y)


def test_many_rows_are_chosen_on_a_few_fitted_on_landmarks_and_told(monkeypatch):
    monkeypatch.setattr("gramian.estimators.classifier.KERNELS", replace(KERNELS, exact_rows=200, landmarks=60))
    monkeypatch.setattr("gramian.classes.choice.LOOK", replace(LOOK, rows=150))
    X, y = make_moons(400, noise=0.1, random_state=0)
    model = KernelPPCAClassifier().fit(X, y)
    assert model.score(X, y) > 0.98
    assert "60 landmarks" in model.explain()
    assert "held-out log-loss" in model.explain()
    assert KernelPPCAClassifier(approximation=None).fit(X, y)._approximation_told is None
    mixed = zhou(2, noise_variance=1e-4, n_clusters=2, random_state=0).fit(X, y)
    assert mixed.score(X, y) > 0.95


# ---------------------------------------------------------------- rows that are mostly copies


def labelled(X, codes, weights):
    X = np.asarray(X, dtype=float)
    return LabelledRows(RBF(1.0), X, np.asarray(codes), np.asarray(weights, dtype=float), row_hashes(X))


def test_copies_of_few_rows_are_dealt_to_folds_one_by_one():
    X = np.arange(6.0).reshape(3, 2)[[0, 1, 2, 0]]
    rows = labelled(X, [0, 0, 1, 1], [7, 1, 12, 3])
    fold = np.array([2, 0, 1, 2])
    dealt, number = copies_apart(rows, fold, 3)
    masses = np.zeros((4, 3))
    for x, code, weight, place in zip(dealt.X, dealt.codes, dealt.weights, number, strict=True):
        masses[np.flatnonzero((x == X).all(axis=1) & (rows.codes == code))[0], place] += weight
    assert masses.tolist() == [[2, 2, 3], [1, 0, 0], [4, 4, 4], [1, 1, 1]]  # from the row's own fold on, in turn
    doubled, again = copies_apart(replace(rows, weights=2 * rows.weights), fold, 3)
    assert_allclose(doubled.weights, 2 * dealt.weights)
    assert (again == number).all()


@pytest.mark.parametrize(
    "weights",
    [[1, 1, 1, 1], [1, 1, 2, 2], [1.0, 7.3, 12.2, 3.9]],
    ids=["no copies", "few copies", "weights that are no counts"],
)
def test_rows_that_are_not_mostly_copies_stay_whole(weights):
    rows = labelled(np.arange(8.0).reshape(4, 2), [0, 0, 1, 1], weights)
    fold = np.arange(4)
    assert copies_apart(rows, fold, 4) == (rows, fold)


@pytest.mark.parametrize(
    "weights, unit", [([6, 41, 13], 1), ([6, 9, 30], 3), ([0.5, 1.5], None), ([2, 2], 2), ([1e300, 1], None)]
)
def test_the_counting_unit_is_the_greatest_common_divisor(weights, unit):
    found = counting_unit(np.array(weights, dtype=float))
    assert found is None if unit is None else found == pytest.approx(unit)


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
def test_classes_of_few_distinct_rows_are_told_by_counts_whether_repeated_or_weighted():
    rng = np.random.default_rng(0)
    cells = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=float)
    odds = np.where(
        cells.sum(axis=1) % 2 == 1, 0.8, 0.2
    )  # parity: a cell that was never seen says nothing about its neighbours
    which = rng.integers(0, 8, 400)
    y = (rng.random(400) < odds[which]).astype(int)
    model = KernelPPCAClassifier().fit(cells[which], y)
    assert_allclose(model.predict_proba(cells)[:, 1], odds, atol=0.15)
    pairs, counts = np.unique(np.column_stack([cells[which], y]), axis=0, return_counts=True)
    weighted = KernelPPCAClassifier().fit(pairs[:, :3], pairs[:, 3].astype(int), sample_weight=counts)
    assert_allclose(weighted.predict_proba(cells), model.predict_proba(cells), atol=1e-9)
