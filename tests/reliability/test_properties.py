"""What must not matter does not: shifts, units, rotations, orders, copies against weights, batches, dtypes, files, a second fit.

Examples are drawn by hypothesis (derandomised, so that every run is the same one); the table says which property holds for which
estimator, and to what tolerance. What is drawn by content (folds) is drawn anew where a shift or a unit changes all hashes [13]: such
properties are tested with the choices given.
"""

import warnings

import numpy as np
import pytest
from benchmarks.subjects import OURS
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gramian import PPCA, load, save

EXAMPLES = {
    "PPCA": 25,
    "KernelPPCA": 10,
    "PPCAMixture": 12,
    "LatentImputer": 4,
    "LatentOutlierDetector": 8,
}  # others: 2
MODEL = ("transform", "mahalanobis")
TAKEN = {  # what is compared: answers without a unit, up to the signs of components
    "PPCA": MODEL,
    "KernelPPCA": MODEL,
    "PPCAMixture": ("predict_proba",),
    "KernelPPCAMixture": ("predict_proba",),
    "KernelPPCAClassifier": ("predict_proba",),
    "MultiViewRKM": ("transform",),
    "RKMRegressor": ("predict",),
    "RKMClassifier": ("predict_proba",),
    "RKMForecaster": (),
    "LatentImputer": ("transform",),
    "LatentOutlierDetector": ("decision_function",),
}
ROWS = [name for name in TAKEN if name != "RKMForecaster"]
"""Estimators whose rows have no order."""
GIVEN = {  # what would be drawn by content, given
    "KernelPPCAClassifier": {"kernel": "rbf", "n_components": 2, "noise_variance": 0.1, "n_folds": None},
    "MultiViewRKM": {"noise_variance": "ml", "n_folds": None},
    "RKMRegressor": {"kernel": "rbf", "n_components": 3, "n_folds": None},
    "RKMClassifier": {"kernel": "rbf", "n_components": 3, "n_folds": None},
    "LatentImputer": {"estimator": PPCA(2)},
    "LatentOutlierDetector": {"estimator": PPCA(2), "n_folds": None},
}


def table(seed):
    """Two clusters near a plane: no ties, no empty direction."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(14, 28)), int(rng.integers(3, 6))
    labels = np.arange(n) % 2
    X = (
        rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
        + 0.3 * rng.standard_normal((n, d))
        + 4.0 * labels[:, None]
    )
    return rng, X, labels, X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)


def scene(subject, seed):
    """A generator, rows (with holes where holes are the matter) and a target."""
    rng, X, labels, numbers = table(seed)
    if subject.name == "LatentImputer":
        X[rng.random(X.shape) < 0.15] = np.nan
    return rng, X, {"": None, "class": labels, "number": numbers}[subject.target]


def fitted(subject, X, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return subject.fitted(X, y, **more)


def answers(subject, model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if subject.name == "RKMForecaster":
            return {"predict": np.abs(np.asarray(model.predict(3)))}
        found = {name: np.abs(np.asarray(getattr(model, name)(X))) for name in TAKEN[subject.name]}
    return {"clusters": found["predict_proba"]} if subject.name.endswith("Mixture") else found


def ordered(name, values):
    """Clusters have no order of their own: the first is that of the first row."""
    return values[:, np.argsort(-values[0], kind="stable")] if name == "clusters" else values


def compare(found, expected, tolerance):
    for name, values in expected.items():
        assert_allclose(
            ordered(name, found[name]),
            ordered(name, values),
            atol=tolerance * max(1.0, float(values.max())),
            rtol=tolerance,
            err_msg=name,
        )


def over(names):
    """The test for these estimators, with as many examples as their fits allow."""

    def decorate(test):
        def run(name):
            drawn = settings(max_examples=EXAMPLES.get(name, 2))(
                given(st.integers(0, 10_000))(lambda seed: test(OURS[name], seed))
            )
            drawn()

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return pytest.mark.parametrize("name", names)(run)

    return decorate


@over([name for name in ROWS if name != "LatentImputer"])
def test_a_shift_and_a_unit_change_nothing_that_has_no_unit(subject, seed):
    rng, X, y = scene(subject, seed)
    given_choices = GIVEN.get(subject.name, {})
    moved = 10.0 ** rng.uniform(-3, 3) * X + rng.uniform(-100, 100, X.shape[1])
    expected = answers(subject, fitted(subject, X, y, **given_choices), X)
    compare(answers(subject, fitted(subject, moved, y, **given_choices), moved), expected, 1e-5)


@over([name for name in ROWS if name != "LatentImputer"])
def test_a_rotation_changes_nothing_that_has_no_axes(subject, seed):
    rng, X, y = scene(subject, seed)
    settings = dict(GIVEN.get(subject.name, {}))
    if "standardize" in subject.built().get_params():
        settings["standardize"] = False  # units per column have axes
    turned = X @ np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]
    expected = answers(subject, fitted(subject, X, y, **settings), X)
    compare(answers(subject, fitted(subject, turned, y, **settings), turned), expected, 1e-5)


@over(["PPCAMixture"])
def test_with_holes_too_a_shift_a_unit_and_the_order_of_columns_change_nothing(subject, seed):
    rng, X, _, _ = table(seed)
    X[rng.random(X.shape) < 0.1] = np.nan
    columns = rng.permutation(X.shape[1])
    moved = (10.0 ** rng.uniform(-3, 3) * X + rng.uniform(-100, 100, X.shape[1]))[:, columns]
    expected = answers(subject, fitted(subject, X, None), X)
    compare(answers(subject, fitted(subject, moved, None), moved), expected, 1e-5)


@over(["LatentOutlierDetector"])
def test_a_shift_and_a_unit_per_column_leave_the_scores_of_rows_that_no_fold_holds_out(subject, seed):
    rng, X, _, _ = table(seed)
    scale, shift = 10.0 ** rng.uniform(-3, 3, X.shape[1]), rng.uniform(-100, 100, X.shape[1])
    new = X + 0.01
    plain, moved = (fitted(subject, rows, None, estimator=PPCA(2)) for rows in (X, scale * X + shift))
    assert_allclose(moved.score_samples(scale * new + shift), plain.score_samples(new), rtol=1e-6, atol=1e-6)
    settled = {"estimator": PPCA(2), "n_folds": None}
    plain, moved = (fitted(subject, rows, None, **settled) for rows in (X, scale * X + shift))
    expected = answers(subject, plain, X)
    compare(answers(subject, moved, scale * X + shift), expected, 1e-6)


@over(ROWS)
def test_the_order_of_rows_does_not_matter(subject, seed):
    rng, X, y = scene(subject, seed)
    rows = rng.permutation(len(X))
    expected = answers(subject, fitted(subject, X, y), X)
    compare(answers(subject, fitted(subject, X[rows], None if y is None else y[rows]), X), expected, 1e-6)


@over(ROWS)
def test_the_order_of_columns_does_not_matter(subject, seed):
    rng, X, y = scene(subject, seed)
    columns = rng.permutation(X.shape[1])
    choices = GIVEN.get(subject.name, {})
    expected = answers(subject, fitted(subject, X, y, **choices), X)
    if subject.name == "LatentImputer":
        expected = {"transform": expected["transform"][:, columns]}
    compare(answers(subject, fitted(subject, X[:, columns], y, **choices), X[:, columns]), expected, 1e-6)


@over(ROWS)
def test_a_weight_of_two_is_a_row_twice(subject, seed):
    rng, X, y = scene(subject, seed)
    counts = rng.integers(1, 4, len(X))
    choices = GIVEN.get(subject.name, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = {"sample_weight": counts.astype(float)}
        model = subject.built(**choices)
        weighted = model.fit(X, **weights) if y is None else model.fit(X, y, **weights)
    again = fitted(subject, np.repeat(X, counts, axis=0), None if y is None else np.repeat(y, counts), **choices)
    compare(answers(subject, weighted, X), answers(subject, again, X), 1e-6)


@over(ROWS)
def test_answers_do_not_depend_on_the_batch(subject, seed):
    _, X, y = scene(subject, seed)
    model = fitted(subject, X, y)
    whole = answers(subject, model, X)
    halves = [answers(subject, model, part) for part in (X[:5], X[5:])]
    compare({name: np.concatenate([half[name] for half in halves]) for name in whole}, whole, 1e-9)


@over(list(TAKEN))
def test_a_second_fit_and_a_file_give_the_same_bits(subject, seed):
    import tempfile
    from pathlib import Path

    _, X, y = scene(subject, seed)
    model = fitted(subject, X, y)
    expected = answers(subject, model, X)
    series = subject.name == "RKMForecaster"
    again = model.fit(X[:, 0] if series else X) if y is None else model.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        save(again, Path(folder) / "m")
        loaded = load(Path(folder) / "m")
    for one in (again, loaded):
        for name, values in answers(subject, one, X).items():
            assert_array_equal(values, expected[name], err_msg=name)


@over(list(TAKEN))
def test_float32_rows_give_nearly_the_same(subject, seed):
    _, X, y = scene(subject, seed)
    choices = GIVEN.get(subject.name, {})
    single = X.astype(np.float32)
    double = single.astype(np.float64)
    expected = answers(subject, fitted(subject, double, y, **choices), double)
    compare(answers(subject, fitted(subject, single, y, **choices), single), expected, 1e-4)


@over(["LatentImputer"])
def test_imputed_cells_move_with_the_unit_and_the_rest_is_untouched(subject, seed):
    rng, X, _, _ = table(seed)
    X[rng.random(X.shape) < 0.15] = np.nan
    scale, shift = 10.0 ** rng.uniform(-2, 2), rng.uniform(-10, 10)
    filled = fitted(subject, X, None).transform(X)
    moved = fitted(subject, scale * X + shift, None).transform(scale * X + shift)
    assert_allclose((moved - shift) / scale, filled, rtol=1e-4, atol=1e-4 * np.nanmax(np.abs(X)))
    assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


@over(["RKMRegressor"])
def test_predictions_move_with_the_unit_of_the_target(subject, seed):
    rng, X, _, y = table(seed)
    scale = 10.0 ** rng.uniform(-2, 2)
    expected = fitted(subject, X, y).predict(X)
    assert_allclose(fitted(subject, X, scale * y).predict(X) / scale, expected, rtol=1e-5, atol=1e-5)
