"""The screening regression is ridge regression, chosen by leave-one-out, and recursive."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from gramian.series.window_ridge import RIDGES, fit_window_ridge

Z = np.sin(np.arange(80) / 3) + 0.3 * np.random.default_rng(0).standard_normal(80)


def test_it_is_a_ridge_regression_of_the_grid():
    model = fit_window_ridge(Z, 4)
    rows = sliding_window_view(Z, 5)
    largest = np.linalg.norm(rows[:, :4] - rows[:, :4].mean(axis=0), 2) ** 2
    found = [Ridge(ridge * largest).fit(rows[:, :4], rows[:, 4]).coef_ for ridge in RIDGES]
    assert min(np.abs(model.coefficients - one).max() for one in found) < 1e-9


def test_predictions_are_fed_back():
    model = fit_window_ridge(Z, 3)
    window = list(Z[-3:])
    for _ in range(5):
        window.append(model.mean + (np.array(window[-3:]) - model.window_mean) @ model.coefficients)
    assert_allclose(model.recursion(Z[None, -3:], 5)[0], window[3:])


def test_without_lags_it_is_the_mean():
    assert_allclose(fit_window_ridge(Z, 0).recursion(np.empty((2, 0)), 3), Z.mean())


def test_inputs_at_the_time_of_the_target_count():
    x = np.random.default_rng(1).standard_normal((80, 1))
    model = fit_window_ridge(Z + 5 * x[:, 0], 2, x)
    assert 4 < model.coefficients[-1] < 5.2  # shrunk a little
    near, far = model.recursion(np.zeros((2, 2)), 1, np.array([[[0.0]], [[1.0]]]))[:, 0]
    assert_allclose(far - near, model.coefficients[-1])


def test_too_few_windows_are_no_regression():
    assert fit_window_ridge(Z[:8], 6) is None


@pytest.mark.parametrize("unit", [1e-160, 1e-9, 1e150])
def test_the_unit_of_the_series_does_not_matter(unit):
    assert_allclose(fit_window_ridge(unit * Z, 4).coefficients, fit_window_ridge(Z, 4).coefficients, rtol=1e-9)


def test_a_constant_whose_squares_vanish_is_continued():
    z = np.full(15, 1e-145)  # its mean is off by a rounding, whose square is 0
    model = fit_window_ridge(z, 4)
    assert_allclose(model.recursion(z[None, -4:], 3), 1e-145)
