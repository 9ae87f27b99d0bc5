"""Models with inputs take NaN cells at fit and after: regressor, classifiers, kernel mixtures, views with kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris, make_moons

from gramian import KernelPPCAClassifier, KernelPPCAMixture, MultiViewRKM, RKMClassifier, RKMRegressor, load, save
from gramian.datasets import make_missing
from gramian.kernels import RBF

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
HOLES = make_missing(X, 0.15, random_state=0)
WHOLE = ~np.isnan(HOLES).any(axis=1)
TARGET = X @ [1.0, -0.5, 0.3, 0.2]

MODELS = {
    "regressor": (lambda: RKMRegressor(kernel=RBF(2.0)), TARGET, "predict"),
    "regressor, chosen kernel": (lambda: RKMRegressor(), TARGET, "predict"),
    "regressor, linear": (lambda: RKMRegressor(kernel="linear"), TARGET, "predict"),
    "RKM classifier": (lambda: RKMClassifier(), Y, "predict_proba"),
    "classifier": (lambda: KernelPPCAClassifier(), Y, "predict_proba"),
    "limiting rule": (lambda: KernelPPCAClassifier(2, kernel=RBF(2.0), noise_variance=None), Y, "predict_proba"),
    "mixture": (lambda: KernelPPCAMixture(2, 1, kernel=RBF(1.0), random_state=0), None, "predict_proba"),
    "mixture, landmarks": (
        lambda: KernelPPCAMixture(2, 1, kernel=RBF(1.0), approximation="nystroem", n_landmarks=30, random_state=0),
        None,
        "score_samples",
    ),
    "views": (lambda: MultiViewRKM(2, kernel=RBF(2.0), views={"a": [0, 1], "b": [2, 3]}), None, "transform"),
    "one view": (lambda: MultiViewRKM(2, kernel=RBF(2.0), noise_variance=0), None, "transform"),
}


@pytest.mark.parametrize("make, target, verb", MODELS.values(), ids=MODELS)
def test_models_are_fitted_to_holes_and_saved(make, target, verb, tmp_path):
    model = make().fit(HOLES, target)
    found = getattr(model, verb)(HOLES)
    assert np.isfinite(found).all()
    assert model.__sklearn_tags__().input_tags.allow_nan
    save(model, tmp_path / "model")
    assert_allclose(getattr(load(tmp_path / "model"), verb)(HOLES), found, rtol=1e-9)


@pytest.mark.parametrize("make, target, verb", MODELS.values(), ids=MODELS)
def test_complete_rows_are_bit_for_bit_as_before_beside_rows_with_holes(make, target, verb):
    model = make().fit(X, target)
    found = getattr(model, verb)(HOLES)
    assert np.isfinite(found).all()
    if not isinstance(model, MultiViewRKM):
        assert_array_equal(found[WHOLE], getattr(model, verb)(HOLES[WHOLE]))
    else:
        assert_allclose(found[WHOLE], getattr(model, verb)(HOLES[WHOLE]), rtol=1e-12)


@pytest.mark.parametrize("make, target, verb", MODELS.values(), ids=MODELS)
def test_a_fit_to_complete_rows_forgets_the_law(make, target, verb):
    model = make().fit(HOLES, target).fit(X, target)
    assert vars(model).get("_law") is None
    assert vars(model).get("_view_laws") is None
    assert_array_equal(getattr(model, verb)(X), getattr(make().fit(X, target), verb)(X))


def test_a_prediction_is_the_expectation_over_what_a_row_may_be():
    model = RKMRegressor(kernel=RBF(2.0)).fit(X, TARGET)
    rows = HOLES[~WHOLE][:4]
    law = model._input_law()
    means, variances = law(rows)
    rng = np.random.default_rng(0)
    draws = [model.predict(means + np.sqrt(variances) * rng.standard_normal(means.shape)) for _ in range(400)]
    mean, std = model.predict(rows, return_std=True)
    assert_allclose(mean, np.mean(draws, axis=0), atol=0.06)
    assert (std > model.predict(means, return_std=True)[1]).all()


def test_labels_and_targets_take_no_part_in_the_law():
    first = KernelPPCAClassifier(2, kernel=RBF(2.0), noise_variance=0.01).fit(HOLES, Y)
    second = KernelPPCAClassifier(2, kernel=RBF(2.0), noise_variance=0.01).fit(HOLES, Y[::-1])
    assert_array_equal(first._law(HOLES)[0], second._law(HOLES)[0])


def test_intervals_of_rows_with_holes_hold_what_they_promise():
    data, target = load_diabetes(return_X_y=True)
    holes = make_missing(data, 0.2, random_state=0)
    for train in (data[:300], holes[:300]):
        model = RKMRegressor().fit(train, target[:300])
        lower, upper = model.interval(holes[300:])
        assert 0.83 < ((lower <= target[300:]) & (target[300:] <= upper)).mean() < 0.98


def test_the_mean_over_draws_is_better_than_the_cell_at_its_mean():
    data, labels = make_moons(400, noise=0.15, random_state=0)
    table = make_missing(data, 0.25, random_state=1)
    model = KernelPPCAClassifier().fit(data[:200], labels[:200])
    rows = np.isnan(table[200:]).any(axis=1)
    found = model.predict_proba(table[200:][rows])
    plugged = model.predict_proba(model._input_law()(table[200:][rows])[0])
    truth = labels[200:][rows]
    places = np.arange(len(truth))
    losses = [-np.log(np.maximum(part[places, truth], 1e-6)).mean() for part in (found, plugged)]
    assert losses[0] < losses[1]


@pytest.mark.parametrize("make", [KernelPPCAClassifier, RKMClassifier])
def test_rows_with_holes_are_answered_as_held_out_rows_prefer(make):
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 2
    rings = rng.standard_normal((300, 8)) * np.where(labels == 1, 2.0, 1.0)[:, None] + 0.3 * labels[:, None]
    table = make_missing(
        rings, 0.25, random_state=0
    )  # a draw for a missing cell makes a row look like one of the wider class
    model = make().fit(table[:200], labels[:200])
    assert not model._averages
    at_means = model.predict_proba(model._law(table[200:])[0])
    assert_allclose(model.predict_proba(table[200:]), at_means, rtol=1e-9, atol=1e-12)
    model._averages = True
    on_average = model.predict_proba(table[200:])
    places = np.arange(100), labels[200:]
    losses = [-np.log(np.maximum(part[places], 1e-6)).mean() for part in (at_means, on_average)]
    assert losses[0] < losses[1]
    assert make().fit(rings[:200], labels[:200])._averages  # complete rows: the law is all that is known of new ones


def test_what_held_out_rows_prefer_follows_from_the_rows_and_needs_some():
    data, labels = make_moons(300, noise=0.2, random_state=0)
    table = make_missing(data, 0.3, random_state=2)
    shown = ~np.isnan(table).all(axis=1)
    table, labels = table[shown], labels[shown]
    model = KernelPPCAClassifier().fit(table, labels)
    turned = KernelPPCAClassifier().fit(table[::-1], labels[::-1])
    assert model._averages == turned._averages
    few = KernelPPCAClassifier(1, kernel=RBF(1.0), noise_variance=0.01).fit(table[:20], labels[:20])
    assert not few._averages  # as at fit


def test_rows_without_a_value_are_dropped_with_their_target():
    table = HOLES.copy()
    table[5] = np.nan
    with pytest.warns(UserWarning, match="show no value"):
        model = RKMRegressor(kernel="linear").fit(table, TARGET)
    keep = np.arange(len(table)) != 5
    assert_allclose(model.predict(X), RKMRegressor(kernel="linear").fit(table[keep], TARGET[keep]).predict(X))


def test_precomputed_kernels_point_to_the_imputer():
    gram = RBF(2.0)(X)
    gram[0, 1] = np.nan
    with pytest.raises(ValueError, match="LatentImputer"):
        KernelPPCAClassifier(kernel="precomputed").fit(gram, Y)


def test_a_view_that_a_row_does_not_show_stays_missing():
    views = {"a": HOLES[:, :2].copy(), "b": X[:, 2:].copy()}
    views["b"][3] = np.nan
    views["b"][4, 0] = np.nan
    model = MultiViewRKM(2, kernel=RBF(2.0)).fit(views)
    rows = model._rows(views)
    assert not rows.seen[3, 1]
    assert rows.whole(1)[4]
    assert np.isfinite(model.predict_view({"a": views["a"]}, "b")).all()
