"""RKMRegressor and RKMClassifier: common checks, quality beside kernel ridge, intervals, weights, faults."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian
from gramian import MultiViewRKM, RKMClassifier, RKMRegressor, features, kernels


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([RKMRegressor(), RKMClassifier(), RKMRegressor(1, kernel="linear", noise_variance=0.0)])
def test_scikit_learn_common_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    X, y = X / X.std(axis=0), (y - y.mean()) / y.std()
    held = np.arange(len(y)) % 4 == 0
    return X[~held], y[~held], X[held], y[held]


@pytest.mark.parametrize("q", [0.95, 5, 30])
def test_diabetes_is_predicted_as_well_as_by_kernel_ridge(diabetes, q):
    X, y, X_test, y_test = diabetes
    model = RKMRegressor(q, kernel=kernels.RBF(5.0)).fit(X, y)
    errors = [
        np.mean((KernelRidge(alpha=alpha, kernel="rbf", gamma=1 / 50).fit(X, y).predict(X_test) - y_test) ** 2)
        for alpha in np.geomspace(1e-2, 10, 7)
    ]
    # the best of kernel ridge on the test rows themselves is no mean opponent
    assert np.mean((model.predict(X_test) - y_test) ** 2) < 1.04 * min(errors)


def test_one_shared_noise_overfits_where_a_noise_a_view_does_not(diabetes):
    X, y, X_test, y_test = diabetes
    options = {"kernel": kernels.RBF(5.0), "view_weights": None, "standardize": False}
    shared = RKMRegressor(30, noise_variance="ml", **options).fit(X, y)
    own = RKMRegressor(30, **options).fit(X, y)
    errors = [np.mean((m.predict(X_test) - y_test) ** 2) for m in (shared, own)]
    assert errors[0] > 1.2
    assert errors[1] < 0.65


def test_all_components_and_a_ridge_are_kernel_ridge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(40)
    kernel = kernels.RBF(1.0)
    model = RKMRegressor(39, kernel=kernel, standardize=False).fit(X, y)
    # W_y(W_xᵀW_x + κσ²I)⁻¹W_xᵀφ with all components and a small σ² is centred kernel ridge with α = Nκσ²
    alpha = 40 * model.noise_variances_[0] / model.trust_
    H = np.eye(40) - 1 / 40
    K = H @ kernel(X) @ H
    coefficients = np.linalg.solve(K + alpha * np.eye(40), y - y.mean())
    new = rng.standard_normal((10, 2))
    k = (kernel(new, X) - kernel(X).mean(axis=0)) @ H
    assert_allclose(model.predict(new), k @ coefficients + y.mean(), atol=0.02)


def test_more_components_are_taken_where_they_predict_better():
    X, y = make_friedman1(200, noise=0.5, random_state=0)
    model = RKMRegressor().fit(X, y)
    assert model.n_components_ > 60
    assert RKMRegressor(20).fit(X, y).n_components_ == 20
    assert model.held_out_error_ < 0.6 * RKMRegressor(20).fit(X, y).held_out_error_


def test_intervals_cover_what_they_say():
    inside = []
    for seed in range(6):
        X, y = make_friedman1(450, noise=1.0, random_state=seed)
        mean, std = RKMRegressor().fit(X[:150], y[:150]).predict(X[150:], return_std=True)
        inside.append(np.abs(y[150:] - mean) < 1.6449 * std)
    assert 0.87 < np.mean(inside) < 0.93


def test_intervals_are_nested_and_hold_the_mean(diabetes):
    X, y, X_test, _ = diabetes
    model = RKMRegressor(5).fit(X, y)
    ends = [model.interval(X_test, level) for level in (0.5, 0.9, 0.99)]
    for (low, high), (wider_low, wider_high) in pairwise(ends):
        assert (wider_low < low).all()
        assert (high < wider_high).all()
    with pytest.raises(ValueError, match="level"):
        model.interval(X_test, 1.0)


def test_held_out_residuals_widen_intervals_far_from_the_data(diabetes):
    X, y, _, _ = diabetes
    model = RKMRegressor(5, kernel="linear").fit(X, y)
    _, near = model.predict(X[:1], return_std=True)
    _, far = model.predict(30 * X[:1], return_std=True)
    assert far > 1.2 * near


def test_zero_noise_is_the_model_of_ac(diabetes):
    X, y, X_test, _ = diabetes
    model = RKMRegressor(3, kernel="linear", noise_variance=0.0, view_weights=None, standardize=False).fit(X, y)
    views = MultiViewRKM(3, noise_variance=0.0).fit({"X": X, "y": y[:, None]})
    assert_allclose(model.predict(X_test), views.predict_view({"X": X_test}, "y")[:, 0], atol=1e-10)


def test_several_targets(diabetes):
    X, y, X_test, _ = diabetes
    Y = np.column_stack([y, 100 * y, X[:, 0]])
    model = RKMRegressor(10).fit(X, Y)
    mean, std = model.predict(X_test, return_std=True)
    assert mean.shape == std.shape == (len(X_test), 3)
    assert_allclose(mean[:, 1], 100 * mean[:, 0], atol=1e-6)
    assert RKMRegressor(10).fit(X, y[:, None]).predict(X_test).shape == (len(X_test), 1)


@pytest.mark.parametrize("noise", ["per-view", "ml"])
def test_integer_weights_equal_repeated_rows(diabetes, noise):
    X, y, X_test, _ = diabetes
    X, y = X[:60], y[:60]
    counts = np.random.default_rng(0).integers(0, 4, 60)
    a = RKMRegressor(noise_variance=noise).fit(X, y, sample_weight=counts)
    b = RKMRegressor(noise_variance=noise).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    for found, right in zip(a.predict(X_test, return_std=True), b.predict(X_test, return_std=True)):
        assert_allclose(found, right, rtol=1e-6)


def test_feature_maps_precomputed_kernels_and_primal_space(diabetes):
    X, y, X_test, _ = diabetes
    kernel = kernels.RBF(5.0)
    mapped = RKMRegressor(20, kernel=features.Nystroem(kernel, 60, random_state=0)).fit(X, y)
    assert "primal" in mapped.algorithm_
    exact = RKMRegressor(20, kernel=kernel, standardize=False).fit(X, y)
    given = RKMRegressor(20, kernel="precomputed").fit(kernel(X), y)
    # folds are dealt by what is given, so the two differ a little
    assert_allclose(given.noise_variances_, exact.noise_variances_, rtol=0.02)
    assert_allclose(given.predict(kernel(X_test, X)), exact.predict(X_test), atol=0.1)
    assert cross_val_score(RKMRegressor(10, kernel="precomputed"), kernel(X), y, cv=3).mean() > 0.3


def test_scale_of_inputs_and_target_does_not_matter(diabetes):
    X, y, X_test, _ = diabetes
    scales = np.geomspace(1e-6, 1e6, X.shape[1])
    # what is drawn and held out follows the contents of rows, and other units are other contents: so with the choices given
    a = RKMRegressor(5, kernel="rbf", n_folds=None).fit(X, y)
    b = RKMRegressor(5, kernel="rbf", n_folds=None).fit(X * scales + 3.0, 1e5 * y - 7.0)
    assert_allclose(b.predict(X_test * scales + 3.0), 1e5 * a.predict(X_test) - 7.0, rtol=1e-5, atol=1.0)


def test_constant_target_constant_inputs_and_few_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    assert_allclose(RKMRegressor().fit(X, np.full(20, 3.0)).predict(X), 3.0)
    y = rng.standard_normal(20)
    flat = RKMRegressor().fit(np.ones((20, 2)), y)
    assert_allclose(flat.predict(np.ones((2, 2))), y.mean())
    for n in (2, 3, 6):
        mean, std = RKMRegressor().fit(X[:n], y[:n]).predict(X, return_std=True)
        assert np.isfinite(mean).all()
        assert (std >= 0).all()


@pytest.mark.parametrize(
    "params", [{"n_folds": 1}, {"standardize": 1}, {"noise_variance": -0.1}, {"kernel": "none"}, {"n_components": True}]
)
def test_bad_parameters_are_refused(diabetes, params):
    X, y, _, _ = diabetes
    with pytest.raises(ValueError, match=next(iter(params))):
        RKMRegressor(**params).fit(X, y)


def test_bad_targets_are_refused(diabetes):
    X, y, _, _ = diabetes
    for bad in (np.nan, np.inf):
        wrong = y.copy()
        wrong[3] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            RKMRegressor().fit(X, wrong)
    with pytest.raises(NotFittedError):
        RKMRegressor().predict(X)
    model = RKMRegressor(3).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, y[:-1])
    assert_array_equal(model.predict(X), before)


def test_grid_search_over_the_kernel(diabetes):
    X, y, _, _ = diabetes
    search = GridSearchCV(RKMRegressor(10, kernel=kernels.RBF(3.0)), {"kernel__length_scale": [1.0, 5.0]}, cv=3)
    assert search.fit(X[:150], y[:150]).best_params_ == {"kernel__length_scale": 5.0}


def test_models_can_be_saved(diabetes, tmp_path):
    X, y, X_test, _ = diabetes
    model = RKMRegressor(5).fit(X, y)
    gramian.save(model, tmp_path / "model.gramian")
    assert_array_equal(gramian.load(tmp_path / "model.gramian").predict(X_test), model.predict(X_test))
    labels = RKMClassifier(5).fit(X, np.where(y > 0, "high", "low"))
    gramian.save(labels, tmp_path / "other.gramian")
    assert_array_equal(gramian.load(tmp_path / "other.gramian").predict(X_test), labels.predict(X_test))


# ---------------------------------------------------------------- classes


def test_classifier_is_as_good_as_a_support_vector_machine():
    X, y = load_iris(return_X_y=True)
    scores = [cross_val_score(model, X, y, cv=5).mean() for model in (RKMClassifier(), SVC())]
    assert scores[0] > scores[1] - 0.03


def test_probabilities_sum_to_one_and_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 2))
    truth = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = np.where(rng.random(900) < truth, "yes", "no")
    model = RKMClassifier().fit(X[:400], y[:400])
    found = model.predict_proba(X[400:])
    assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert list(model.classes_) == ["no", "yes"]
    assert np.abs(found[:, 1] - truth[400:]).mean() < 0.1
    assert_array_equal(model.predict(X[400:]), model.classes_[found.argmax(axis=1)])


def test_one_class_small_classes_and_weights():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    assert_array_equal(RKMClassifier().fit(X, np.zeros(30)).predict(X), 0)
    y = np.zeros(30, dtype=int)
    y[0] = 1
    assert_array_equal(RKMClassifier().fit(X, y).predict_proba(X).shape, (30, 2))
    y[:15] = 1
    X[:15] += 3
    weights = np.ones(30)
    weights[:15] = 0
    only = RKMClassifier().fit(X, y, sample_weight=weights)
    assert list(only.classes_) == [0]


def test_clone_and_repr():
    model = RKMClassifier(7, kernel=kernels.RBF(2.0))
    assert clone(model).get_params()["kernel__length_scale"] == 2.0
    assert "7" in repr(model)


def test_columns_count_by_how_much_they_matter_unless_the_kernel_is_given():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 6)) * [1.0, 50.0, 1.0, 1.0, 0.01, 1.0]
    y = np.sin(2 * X[:, 0]) + 0.05 * rng.standard_normal(150)
    model = RKMRegressor().fit(X[:100], y[:100])
    assert model.relevance_.argmax() == 0
    assert model.relevance_[1:].max() < 0.3
    assert "column 0 1," in model.explain()
    given = RKMRegressor(kernel="rbf").fit(X[:100], y[:100])
    assert given.relevance_ is None
    assert np.square(model.predict(X[100:]) - y[100:]).mean() < 0.2 * np.square(given.predict(X[100:]) - y[100:]).mean()
    # the same as multiplying the standardised columns beforehand and giving the kernel
    plain = RKMRegressor(n_folds=None).fit(X[:100], y[:100])
    scaled = (X - X[:100].mean(axis=0)) / X[:100].std(axis=0) * plain.relevance_
    by_hand = RKMRegressor(kernel=plain.selection_.chosen["kernel"], standardize=False, n_folds=None)
    by_hand.fit(scaled[:100], y[:100])
    assert_allclose(plain.predict(X), by_hand.predict(scaled), rtol=1e-6, atol=1e-9)
