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
    "RKMClassifier": ("predict_proba",),
    "LatentOutlierDetector": ("decision_function",),
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


def target(subject, labels, numbers):
    return {"": None, "class": labels, "number": numbers}[subject.target]


def fitted(subject, X, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return subject.fitted(X, y, **more)


def answers(subject, model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: np.abs(np.asarray(getattr(model, name)(X))) for name in TAKEN[subject.name]}


def compare(found, expected, tolerance):
    for name, values in expected.items():
        assert_allclose(
            found[name], values, atol=tolerance * max(1.0, float(values.max())), rtol=tolerance, err_msg=name
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


@over(["PPCA", "KernelPPCA", "PPCAMixture"])
def test_a_shift_and_a_unit_change_nothing_that_has_no_unit(subject, seed):
    rng, X, labels, _ = table(seed)
    moved = 10.0 ** rng.uniform(-3, 3) * X + rng.uniform(-100, 100, X.shape[1])
    expected = answers(subject, fitted(subject, X, labels), X)
    compare(answers(subject, fitted(subject, moved, labels), moved), expected, 1e-5)


@over(["PPCA", "KernelPPCA", "PPCAMixture"])
def test_a_rotation_changes_nothing_that_has_no_axes(subject, seed):
    rng, X, labels, _ = table(seed)
    turned = X @ np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]
    expected = answers(subject, fitted(subject, X, labels), X)
    compare(answers(subject, fitted(subject, turned, labels), turned), expected, 1e-5)


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


@over(["PPCA", "KernelPPCA", "PPCAMixture", "KernelPPCAClassifier", "MultiViewRKM", "LatentOutlierDetector"])
def test_the_order_of_rows_does_not_matter(subject, seed):
    rng, X, labels, numbers = table(seed)
    rows = rng.permutation(len(X))
    y = target(subject, labels, numbers)
    expected = answers(subject, fitted(subject, X, y), X)
    compare(answers(subject, fitted(subject, X[rows], None if y is None else y[rows]), X), expected, 1e-6)


@over(["PPCA", "KernelPPCA", "PPCAMixture"])
def test_the_order_of_columns_does_not_matter(subject, seed):
    rng, X, _, _ = table(seed)
    columns = rng.permutation(X.shape[1])
    expected = answers(subject, fitted(subject, X, None), X)
    compare(answers(subject, fitted(subject, X[:, columns], None), X[:, columns]), expected, 1e-6)


@over(["PPCA", "KernelPPCA", "PPCAMixture"])
def test_a_weight_of_two_is_a_row_twice(subject, seed):
    rng, X, _, _ = table(seed)
    counts = rng.integers(1, 4, len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = subject.built().fit(X, sample_weight=counts.astype(float))
    repeated = fitted(subject, np.repeat(X, counts, axis=0), None)
    compare(answers(subject, weighted, X), answers(subject, repeated, X), 1e-6)


@over(list(TAKEN))
def test_answers_do_not_depend_on_the_batch(subject, seed):
    _, X, labels, numbers = table(seed)
    model = fitted(subject, X, target(subject, labels, numbers))
    whole = answers(subject, model, X)
    halves = [answers(subject, model, part) for part in (X[:5], X[5:])]
    compare({name: np.concatenate([half[name] for half in halves]) for name in whole}, whole, 1e-9)


@over(list(TAKEN))
def test_a_second_fit_and_a_file_give_the_same_bits(subject, seed):
    import tempfile
    from pathlib import Path

    _, X, labels, numbers = table(seed)
    y = target(subject, labels, numbers)
    model = fitted(subject, X, y)
    expected = answers(subject, model, X)
    again = model.fit(X) if y is None else model.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        save(again, Path(folder) / "m")
        loaded = load(Path(folder) / "m")
    for one in (again, loaded):
        for name, values in answers(subject, one, X).items():
            assert_array_equal(values, expected[name], err_msg=name)


@over(["PPCA", "KernelPPCA", "PPCAMixture", "MultiViewRKM"])
def test_float32_rows_give_nearly_the_same(subject, seed):
    _, X, labels, _ = table(seed)
    single = X.astype(np.float32)
    expected = answers(subject, fitted(subject, single.astype(np.float64), labels), single.astype(np.float64))
    compare(answers(subject, fitted(subject, single, labels), single), expected, 2e-3)


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
