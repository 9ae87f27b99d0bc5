"""Off the data: back to the mean, and deviations that grow."""

import numpy as np
from numpy.testing import assert_allclose

from gramian import RKMRegressor
from gramian.targets.reach import TargetReach


def reach_of(returns=True):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 1))
    Y = np.sin(3 * X) + 2.0
    return X, Y, TargetReach.of(X, Y, np.full(200, 1 / 200), returns, width=0.5)


def test_training_rows_are_on_the_data_and_far_rows_off():
    X, _, reach = reach_of()
    off, distance = reach(X)
    assert off.max() < 1e-3
    assert_allclose(np.square(distance).mean(), 1.0)
    off, distance = reach(np.array([[40.0]]))
    assert_allclose(off, 1.0)
    assert_allclose(distance, 40.0 / X.std(), rtol=0.02)


def test_means_return_and_deviations_become_those_of_the_target_times_the_distance():
    _, Y, reach = reach_of()
    off, distance = reach(np.array([[-40.0]]))
    mean = reach.returned(np.array([[9.0]]), off, distance)
    assert_allclose(mean, Y.mean())
    assert_allclose(reach.widened(np.array([[0.1]]), off, distance, np.zeros((1, 1))), Y.std() * distance[:, None])


def test_kernels_with_a_linear_part_go_on_as_far_as_the_row_does():
    _, Y, reach = reach_of(returns=False)
    inside, beyond = np.array([reach.farthest]), np.array([3.0 * reach.farthest])
    wild = np.array([[1e6]])
    upper = 2 * (Y.max() - reach.middle)
    assert_allclose(reach.returned(wild, np.ones(1), inside), [Y.max() + 0.1 * upper])
    assert_allclose(reach.returned(wild, np.ones(1), beyond), [Y.max() + 2.1 * upper])
    assert_allclose(reach.returned(np.array([[Y.max() + 0.5]]), np.ones(1), beyond), Y.max() + 0.5)


def test_a_target_with_one_long_tail_is_left_on_that_side():
    X = np.linspace(0, 1, 101)[:, None]
    reach = TargetReach.of(X, np.exp(6 * X), np.full(101, 1 / 101), False)
    assert_allclose(reach.middle, np.exp(3))
    beyond, wild = np.array([2.0 * reach.farthest]), np.array([[1e6], [-1e6]])
    high, low = reach.returned(wild, np.ones(2), np.repeat(beyond, 2))[:, 0]
    assert_allclose([high, low], [np.exp(6) + 2.2 * (np.exp(6) - np.exp(3)), 1 - 2.2 * (np.exp(3) - 1)])


def test_the_law_is_a_mixture_so_that_disagreement_widens_it():
    _, _, reach = reach_of()
    off = np.array([0.5])
    alike = reach.widened(np.array([[0.1]]), off, np.ones(1), np.zeros((1, 1)))
    apart = reach.widened(np.array([[0.1]]), off, np.ones(1), np.ones((1, 1)))
    assert_allclose(np.square(apart) - np.square(alike), 1.0)  # off (1 - off) (2 moved)²


def test_a_constant_column_says_nothing_of_the_distance():
    X = np.column_stack([np.linspace(0, 1, 30), np.ones(30)])
    reach = TargetReach.of(X, X[:, :1], np.full(30, 1 / 30), True)
    assert np.isfinite(reach(X + np.array([0.0, 5.0]))[1]).all()


def test_one_training_width_outside_is_covered():
    covered = []
    for function in (lambda x: np.sin(3 * x), lambda x: 2 * x, lambda x: x**2):
        rng = np.random.default_rng(1)
        x = rng.uniform(0, 1, 150)
        new = np.concatenate([rng.uniform(-1, 0, 100), rng.uniform(1, 2, 100)])
        model = RKMRegressor().fit(x[:, None], function(x) + 0.05 * rng.standard_normal(150))
        low, high = model.interval(new[:, None])
        answer = function(new) + 0.05 * rng.standard_normal(200)
        covered.append(((low <= answer) & (answer <= high)).mean())
    assert np.mean(covered) >= 0.8
    assert min(covered) >= 0.4


def test_between_far_rows_a_prediction_stays_near_the_range_of_the_target():
    rng = np.random.default_rng(0)
    X = rng.standard_t(1.5, (150, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(150)
    model = RKMRegressor().fit(X, y)
    between = model.predict(np.linspace(X.min(), X.max(), 2000)[:, None])
    assert np.ptp(y) >= between.max() - y.max()
    assert np.ptp(y) >= y.min() - between.min()
