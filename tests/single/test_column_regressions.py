"""What kernel regressions add to the law of a column, and the mix of what several models say of cells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.kernel_ridge import KernelRidge

from gramian.kernels import RBF
from gramian.kernels.expected import Expected, as_laws
from gramian.policy import FILLING, LOOK
from gramian.single.column_regressions import ColumnRegression, ColumnRegressions, most_rows, without
from gramian.single.input_law import InputLaw
from gramian.single.kernel_filling import mixing_shares

rng = np.random.default_rng(0)


def curved(n=90, seed=1):
    """A column that is the square of another, with holes."""
    draws = np.random.default_rng(seed)
    x = draws.uniform(-2, 2, n)
    X = np.column_stack([x, x**2, x + 0.3 * draws.standard_normal(n)]) + 0.05 * draws.standard_normal((n, 3))
    X[draws.random(X.shape) < 0.15] = np.nan
    return X[~np.isnan(X).all(axis=1)]


def ridge(kernel, laws, target, weights, penalty):
    """scikit-learn's, whose penalty counts in units of the weights."""
    found = KernelRidge(alpha=penalty * weights.mean(), kernel="precomputed")
    return found.fit(kernel(laws), target, sample_weight=weights)


def test_it_is_kernel_ridge_with_the_width_and_penalty_of_the_smallest_error_when_each_row_is_left_out():
    means, variances = rng.standard_normal((30, 2)), rng.uniform(0, 0.5, (30, 2)) * (rng.random((30, 2)) < 0.3)
    laws, weights = as_laws(means, variances), rng.uniform(0.5, 2.0, 30)
    values = np.sin(2 * means[:, 0]) + 0.1 * rng.standard_normal(30)
    target = values - np.average(values, weights=weights)
    median = RBF("median").resolve(means).length_scale
    errors = {}
    for width in FILLING.widths:
        kernel = Expected(RBF(width * median))
        for penalty in FILLING.penalties:
            gaps = []
            for i in range(30):
                rest = np.delete(np.arange(30), i)
                # the ridge of all rows, so that leaving one out does not change the unit of the weights
                scaled = penalty * weights.mean() / weights[rest].mean()
                fitted = ridge(kernel, laws[rest], target[rest], weights[rest], scaled)
                gaps.append(target[i] - fitted.predict(kernel(laws[[i]], laws[rest]))[0])
            errors[width, penalty] = np.average(np.square(gaps), weights=weights)
    width, penalty = min(errors, key=errors.get)
    kernel, new = Expected(RBF(width * median)), as_laws(rng.standard_normal((5, 3)))
    found = ColumnRegression.of(1, laws, values, weights)
    expected = ridge(kernel, laws, target, weights, penalty).predict(kernel(without(new, 1), laws))
    assert_allclose(found(new), np.average(values, weights=weights) + expected, rtol=1e-8)


def test_noise_is_left_to_the_law():
    means = rng.standard_normal((40, 2))
    found = [ColumnRegression.of(0, as_laws(means), rng.standard_normal(40), np.ones(40)) for _ in range(20)]
    assert sum(one is None for one in found) >= 8  # a constant is as good as any
    assert ColumnRegression.of(0, as_laws(means), np.zeros(40), np.ones(40)) is None
    assert ColumnRegression.of(0, as_laws(np.ones((40, 2))), rng.standard_normal(40), np.ones(40)) is None


def test_a_curve_is_added_to_the_law_and_a_cell_says_nothing_of_itself():
    X = curved()
    weights = np.ones(len(X))
    law = InputLaw.of(X, weights)
    found = ColumnRegressions.of(law, X, weights)
    new = np.array([[-1.5, np.nan, -1.5], [0.0, np.nan, 0.0], [1.5, np.nan, 1.5]])
    means = law(new)[0][:, 1]
    added = found(law.in_units(new), np.isnan(new))
    assert_array_equal(added[:, [0, 2]], 0.0)
    truth = np.array([2.25, 0.0, 2.25])
    assert np.abs(means + law.units.scale[1] * added[:, 1] - truth).max() < 0.3 < np.abs(means - truth).min()
    moved = law.in_units(new)
    moved[:, 1] += 100.0
    assert_array_equal(found(moved, np.isnan(new)), added)


def test_many_columns_look_at_fewer_rows_and_very_many_at_none():
    assert most_rows(4) == LOOK.few > most_rows(100) > 0 == most_rows(5000)
    wide = rng.standard_normal((30, 5000))
    assert ColumnRegressions.of(None, wide, np.ones(30)).found == ()


def test_shares_are_the_nearest_mix_without_negative_ones():
    said, values = rng.standard_normal((3, 50)), rng.standard_normal(50)
    shares = mixing_shares(said, values)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= 0).all()
    constraint = {"type": "eq", "fun": lambda w: w.sum() - 1}
    oracle = minimize(
        lambda w: np.square(w @ said - values).sum(), np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=constraint
    )
    assert_allclose(np.square(shares @ said - values).sum(), oracle.fun, rtol=1e-5)
    assert mixing_shares(np.ones((3, 4)), np.ones(4)).tolist() == [1.0, 0.0, 0.0]
