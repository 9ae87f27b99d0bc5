"""Errors whose size depends on the place."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import RKMRegressor
from gramian.evidence.held_out import HeldOut
from gramian.latent.units import Units
from gramian.targets.spread import (
    MOST_INPUTS,
    fit_spread,
    input_features,
    limit_sizes,
    spread_features,
)


def sizes_of(n, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1.5, 1.5, (n, 2))
    sizes = np.abs(rng.standard_normal((n, 1))) * (1.0 + 0.6 * Z[:, :1])
    return Z, sizes / sizes.mean()


def test_the_size_of_errors_is_found():
    Z, sizes = sizes_of(400)
    spread, held = fit_spread(Z, sizes, np.full(400, 1 / 400), HeldOut.of(Z, 5), 400.0)
    truth = 1.0 + 0.6 * Z[:, :1]
    assert np.corrcoef(spread(Z)[:, 0], truth[:, 0])[0, 1] > 0.95
    assert np.corrcoef(held[:, 0], truth[:, 0])[0, 1] > 0.9


def test_no_row_speaks_for_itself():
    Z, sizes = sizes_of(100)
    weights, folds = np.full(100, 0.01), HeldOut.of(Z, 5)
    held = fit_spread(Z, sizes, weights, folds, 100.0)[1]
    changed = sizes.copy()
    changed[7] *= 1.01
    again = fit_spread(Z, changed, weights, folds, 100.0)[1]
    assert_allclose(again[folds.numbers == folds.numbers[7]], held[folds.numbers == folds.numbers[7]], rtol=1e-9)


def test_few_rows_have_one_size():
    Z, sizes = sizes_of(39)
    assert fit_spread(Z, sizes, np.full(39, 1 / 39), HeldOut.of(Z, 5), 39.0) is None


def test_sizes_are_bounded_and_later_latents_count_less():
    assert_allclose(limit_sizes(np.array([-1.0, 1.0, 99.0])), [0.15, 1.0, 6.0])
    assert_allclose(spread_features(np.array([[2.0, 2.0]])), [[2.0, 1.0, 4.0, 1.0]])


def test_inputs_count_by_themselves_in_their_units_and_not_beyond_three():
    units = Units(np.array([1.0, 0.0]), np.array([2.0, 1.0]))
    own = input_features(np.array([[5.0, 99.0]]), units)
    assert_allclose(own, [[2.0, 3.0]])
    assert_allclose(spread_features(np.array([[2.0, 2.0]]), own), [[2.0, 1.0, 4.0, 1.0, 2.0, 3.0, 4.0, 9.0]])
    Z, sizes = sizes_of(400)
    unrelated = np.random.default_rng(5).standard_normal((400, 2))
    rule = (np.full(400, 1 / 400), HeldOut.of(Z, 5), 400.0)
    spread, _ = fit_spread(unrelated, sizes, *rule, 1e3 * Z)
    assert np.corrcoef(spread(unrelated, 1e3 * Z)[:, 0], 1.0 + 0.6 * Z[:, 0])[0, 1] > 0.9
    wide = np.hstack([Z, np.zeros((400, MOST_INPUTS))])
    found = fit_spread(unrelated, sizes, *rule, wide)
    assert found is None or found[0].units is None


def test_intervals_see_noise_along_a_column_that_the_target_does_not_depend_on():
    covered = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, new = rng.uniform(0, 1, (2, 400, 2))
        y, answer = (np.sin(6 * U[:, 1]) + (0.05 + 0.6 * U[:, 0]) * rng.standard_normal(400) for U in (X, new))
        low, high = RKMRegressor().fit(X, y).interval(new)
        thirds = np.argsort(np.argsort(new[:, 0])) * 3 // 400
        covered.append([((low <= answer) & (answer <= high))[thirds == k].mean() for k in range(3)])
    assert (np.abs(np.mean(covered, axis=0) - 0.9) < 0.05).all()


@pytest.mark.parametrize("shape", ["rising", "both ends"])
def test_intervals_cover_in_quiet_and_in_noisy_thirds(shape):
    noise = {"rising": lambda x: 0.05 + 0.25 * (x + 1), "both ends": lambda x: 0.05 + 0.5 * np.abs(x)}[shape]
    covered = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, new = rng.uniform(-1, 1, (2, 400))
        y, answer = (np.sin(3 * u) + noise(u) * rng.standard_normal(400) for u in (x, new))
        low, high = RKMRegressor(kernel="rbf").fit(x[:, None], y).interval(new[:, None])
        thirds = np.argsort(np.argsort(noise(new))) * 3 // 400
        covered.append([((low <= answer) & (answer <= high))[thirds == k].mean() for k in range(3)])
    assert (np.mean(covered, axis=0) > 0.84).all()
    assert (np.mean(covered, axis=0) < 0.96).all()
