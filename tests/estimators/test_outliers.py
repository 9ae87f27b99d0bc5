"""LatentOutlierDetector: out-of-fold scores, thresholds that hold on new rows, any model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian import (
    PPCA,
    KernelPPCA,
    KernelPPCAMixture,
    LatentOutlierDetector,
    NumericalWarning,
    PPCAMixture,
    load,
    save,
)
from gramian._content import content_folds
from gramian.evidence.limits import threshold
from gramian.kernels import RBF


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ np.random.default_rng(9).standard_normal((2, 6)) + 0.3 * rng.standard_normal(
        (n, 6)
    )


MODELS = {
    "default": lambda: None,
    "ppca": lambda: PPCA(2),
    "kernel": lambda: KernelPPCA(5),
    "mixture": lambda: PPCAMixture(2, 1, random_state=0),
    "kernel mixture": lambda: KernelPPCAMixture(2, 2, random_state=0),
}


def test_training_rows_are_scored_by_a_model_that_has_not_seen_them():
    X = table()
    detector = LatentOutlierDetector(PPCA(2), standardize=False).fit(X)
    _, fold = content_folds(X, 5)
    expected = np.empty(len(X))
    for held in range(5):
        expected[fold == held] = PPCA(2).fit(X[fold != held]).score_samples(X[fold == held])
    assert_allclose(detector.score_samples(X), expected)
    new = table(30, seed=5)
    assert_allclose(detector.score_samples(new), PPCA(2).fit(X).score_samples(new))


@pytest.mark.parametrize("model", MODELS)
def test_new_rows_of_the_same_kind_are_flagged_at_the_nominal_rate(model):
    rates = [
        (LatentOutlierDetector(MODELS[model](), 0.1).fit(table(200, seed)).predict(table(1000, 100 + seed)) < 0).mean()
        for seed in range(3)
    ]
    assert 0.05 < np.mean(rates) < 0.2


def test_in_sample_scores_would_flag_far_too_many():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((100, 30)), rng.standard_normal((1000, 30))
    in_sample = LatentOutlierDetector(KernelPPCA(0.95), 0.05, n_folds=None).fit(X)
    assert (in_sample.predict(new) < 0).mean() > 0.15
    assert (LatentOutlierDetector(KernelPPCA(0.95), 0.05).fit(X).predict(new) < 0).mean() < 0.1


@pytest.mark.parametrize("model", MODELS)
def test_fit_predict_is_fit_then_predict_and_order_does_not_matter(model):
    X = table(80)
    first = LatentOutlierDetector(MODELS[model](), 0.1)
    flags = first.fit_predict(X)
    assert_array_equal(flags, first.predict(X))
    assert_array_equal(first.decision_function(X) < 0, flags < 0)
    assert abs((flags < 0).mean() - 0.1) < 0.02
    order = np.random.default_rng(0).permutation(80)
    again = LatentOutlierDetector(MODELS[model](), 0.1).fit(X[order])
    assert_allclose(again.score_samples(X), first.score_samples(X), rtol=1e-6)


def test_integer_weights_are_repeated_rows():
    X = table(60)
    weights = np.arange(60) % 3
    weighted = LatentOutlierDetector(PPCA(2), 0.1).fit(X, sample_weight=weights)
    repeated = LatentOutlierDetector(PPCA(2), 0.1).fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.score_samples(X), repeated.score_samples(X))
    assert_allclose(weighted.offset_, repeated.offset_)


def test_standardize_follows_the_units_of_the_kernel():
    X = table() * np.arange(1, 7)
    plain = LatentOutlierDetector(KernelPPCA(3, kernel=RBF(2.0)), n_folds=None).fit(X)
    assert_allclose(plain.score_samples(X[:9]), KernelPPCA(3, kernel=RBF(2.0)).fit(X).score_samples(X[:9]))
    scaled = LatentOutlierDetector(PPCA(3), n_folds=None).fit(X)
    Z = (X - X.mean(0)) / X.std(0)
    assert_allclose(scaled.score_samples(X[:9]), PPCA(3).fit(Z).score_samples(Z[:9]))
    with pytest.raises(ValueError, match="standardize"):
        LatentOutlierDetector(standardize="always").fit(X)


def test_outliers_inside_the_training_table_are_found():
    X = np.vstack([table(300), 4 * np.random.default_rng(1).standard_normal((10, 6))])
    scores = LatentOutlierDetector(KernelPPCA(20), 0.05).fit(X).score_samples(X)
    assert np.median(np.argsort(np.argsort(scores))[300:]) < 20


def test_rows_with_holes_are_scored_by_what_they_show():
    X = table()
    X[::5, 2] = np.nan
    assert np.isfinite(LatentOutlierDetector().fit(X).score_samples(X)).all()


def test_a_precomputed_kernel_is_refused_with_words():
    with pytest.raises(ValueError, match="precomputed"):
        LatentOutlierDetector(KernelPPCA(4, kernel="precomputed")).fit(np.eye(9))


def test_a_model_without_noise_is_scored_by_its_distance():
    X = table() @ np.diag([1, 1, 0, 0, 0, 0])
    with pytest.warns(Warning, match="noise"):
        detector = LatentOutlierDetector(PPCA(2), 0.1).fit(X)
    assert detector.predict(X[:1] + 5.0)[0] == -1


@pytest.mark.parametrize(
    "bad, words",
    [({"n_folds": 1}, "n_folds"), ({"contamination": 0.7}, "contamination"), ({"estimator": RBF()}, "score")],
)
def test_bad_parameters_are_named(bad, words):
    with pytest.raises((ValueError, TypeError), match=words):
        LatentOutlierDetector(**bad).fit(table(20))


def test_it_is_saved_with_its_fold_models(tmp_path):
    X = table()
    detector = LatentOutlierDetector(contamination=0.1).fit(X)
    save(detector, tmp_path / "detector.safetensors")
    assert_array_equal(load(tmp_path / "detector.safetensors").decision_function(X), detector.decision_function(X))


def test_the_threshold_lies_between_two_scores():
    assert threshold(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), 0.25) == 1.5
    assert threshold(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 1.0, 1.0]), 0.5) == 2.5


def far_group(share, seed=0):
    """Rows on a line, and a share of rows that lie together away from it."""
    rng = np.random.default_rng(seed)
    usual = rng.standard_normal((300, 1)) @ np.ones((1, 6)) + 0.1 * rng.standard_normal((300, 6))
    odd = 3 * rng.standard_normal((int(share * 300), 6)) + [6, -6, 6, -6, 6, -6]
    return usual, odd


def test_rows_beyond_the_fence_are_not_fitted():
    usual, odd = far_group(0.1)
    X = np.vstack([usual, odd])
    detector = LatentOutlierDetector(contamination=0.05, standardize=False).fit(X)
    assert detector.score_samples(odd).max() < detector.score_samples(usual).min()
    clean = PPCA(detector.estimator_.n_components_).fit(usual)
    assert_allclose(detector.estimator_.mean_, clean.mean_, atol=0.02)
    assert_allclose(detector.estimator_.noise_variance_, clean.noise_variance_, rtol=0.1)
    given = LatentOutlierDetector(PPCA(1), standardize=False).fit(X)  # a model that was given sees every row
    assert_allclose(given.estimator_.mean_, X.mean(axis=0))


def test_a_table_without_wild_rows_is_fitted_whole():
    X = np.random.default_rng(0).uniform(-1, 1, (300, 6))
    detector = LatentOutlierDetector(standardize=False).fit(X)
    assert_allclose(detector.estimator_.mean_, X.mean(axis=0))


@pytest.mark.parametrize("n_folds", [5, None])
def test_integer_weights_are_repeated_rows_without_the_wild_ones_too(n_folds):
    X = np.vstack(far_group(0.1))
    weights = np.arange(len(X)) % 3
    weighted = LatentOutlierDetector(n_folds=n_folds).fit(X, sample_weight=weights)
    repeated = LatentOutlierDetector(n_folds=n_folds).fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.score_samples(X), repeated.score_samples(X))
    assert_allclose(weighted.offset_, repeated.offset_)


def test_a_column_that_only_wild_rows_show_does_not_stop_the_fit():
    X = np.vstack(far_group(0.1))
    X[:300, 2] = np.nan
    assert np.isfinite(LatentOutlierDetector(n_folds=None).fit(X).score_samples(X)).all()


def test_wild_cells_do_not_hide_the_rows_that_hold_them():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 0.2 * rng.standard_normal((200, 6))
    X[[5, 50, 90], [1, 3, 4]] = 500.0
    model = LatentOutlierDetector(contamination=0.02, robust="cells").fit(X)
    assert np.argwhere(model.flags_)[:, 0].tolist().count(5) == 1
    assert set(np.flatnonzero(model.predict(X) == -1)) >= {5, 50, 90}
    assert np.abs(model.estimator_.mean_).max() < 0.3
    assert LatentOutlierDetector(robust="rows").fit(X).estimator_.robust == "rows"


def test_the_detector_says_how_much_each_row_counted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 0.2 * rng.standard_normal((200, 6))
    X[:20] += 30.0 * rng.standard_normal((20, 6))
    X[40] = np.nan
    with pytest.warns(NumericalWarning, match="no value at all"):
        models = {kind: LatentOutlierDetector(robust=kind).fit(X) for kind in ("auto", "cells", "rows")}
    for model in models.values():
        assert model.flags_.shape == X.shape
        assert model.row_weights_[:20].mean() < 0.5 < np.median(model.row_weights_[20:])
        assert model.row_weights_[40] == 1.0
    assert models["rows"].degrees_of_freedom_ < 10
    assert not hasattr(models["auto"], "degrees_of_freedom_")
    assert not hasattr(LatentOutlierDetector(robust=False).fit(X[:40]), "row_weights_")


def test_without_far_cells_robust_changes_nothing():
    X = np.random.default_rng(0).uniform(size=(120, 5))
    plain, model = LatentOutlierDetector(robust=False).fit(X), LatentOutlierDetector().fit(X)
    assert (plain.score_samples(X) == model.score_samples(X)).all()
    cells = LatentOutlierDetector(robust="cells").fit(X)
    assert not cells.flags_.any()
    assert (plain.score_samples(X) == cells.score_samples(X)).all()


def on_a_ring(n, seed=0):
    angles = np.random.default_rng(seed).uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angles), np.sin(angles)]) + 0.05 * np.random.default_rng(seed + 1).standard_normal(
        (n, 2)
    )


def test_a_row_inside_a_ring_is_odd_though_one_gaussian_finds_it_the_likeliest():
    X = on_a_ring(400)
    centre = np.zeros((1, 2))
    assert LatentOutlierDetector(PPCA(1)).fit(X).predict(centre)[0] == 1
    detector = LatentOutlierDetector().fit(X)
    assert detector.predict(centre)[0] == -1
    assert (detector.predict(on_a_ring(1000, 7)) < 0).mean() < 0.05


def test_scores_are_those_of_ppca_and_in_their_units_those_of_a_kernel_model():
    X, new = on_a_ring(200), on_a_ring(50, 3)
    detector = LatentOutlierDetector(standardize=False).fit(X)
    linear = LatentOutlierDetector(detector.estimator_, standardize=False).fit(X)
    _, fold = content_folds(X, 5)
    width = 0.5 * RBF("median").resolve(X).length_scale
    kernel = KernelPPCA(0.95, kernel=RBF(width), noise_dim=len(X))
    curved = np.empty(len(X))
    for held in range(5):
        curved[fold == held] = kernel.fit(X[fold != held]).score_samples(X[fold == held])
    quartiles = [
        np.quantile(scores, [0.25, 0.5, 0.75], method="inverted_cdf") for scores in (linear.score_samples(X), curved)
    ]
    rate = (quartiles[0][2] - quartiles[0][0]) / (quartiles[1][2] - quartiles[1][0])
    expected = linear.score_samples(new) + rate * (kernel.fit(X[fold != 0]).score_samples(new) - quartiles[1][1])
    assert_allclose(detector.score_samples(new), expected)
    assert_allclose(detector.score_samples(X), linear.score_samples(X) + rate * (curved - quartiles[1][1]))


def test_a_model_file_holds_the_usual_rows_and_not_their_models(tmp_path):
    X = on_a_ring(700)
    detector = LatentOutlierDetector().fit(X)
    save(detector, tmp_path / "detector.safetensors")
    assert (tmp_path / "detector.safetensors").stat().st_size < 200_000
    assert_array_equal(load(tmp_path / "detector.safetensors").score_samples(X), detector.score_samples(X))


def test_rows_with_holes_are_filled_for_the_kernel_model():
    X = table()
    detector = LatentOutlierDetector().fit(X)
    new = table(5, seed=3)
    new[:, 2] = np.nan
    full = detector._units.back(detector.estimator_.impute(detector._rows(new)))
    linear, curved = detector.estimator_.score_samples(detector._rows(new)), detector._usual
    assert_allclose(detector.score_samples(new), linear + curved.scores(-1, detector._rows(full)))


def test_a_model_that_was_fitted_already_is_not_fitted_again_and_nothing_changes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((300, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    plain = LatentOutlierDetector().fit(X)
    units = plain._rows(X)
    beside = LatentOutlierDetector()
    scores = beside._fit(X, known=PPCA(random_state=0).fit(units))
    np.testing.assert_allclose(scores, plain.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(beside.offset_, plain.offset_, rtol=1e-9)
