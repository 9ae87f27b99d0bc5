"""Linear candidates are screened on held-out stretches; the best of each structure are averaged, and half of it with the plain model."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import RKMForecaster
from gramian.kernels import RBF, Linear
from gramian.policy import WINDOWS
from gramian.series.candidates import Candidate
from gramian.series.choice import Row
from gramian.series.paths import ForecastPaths
from gramian.series.stretches import Stretch, held_out_stretches
from gramian.series.transform import SeriesTransform
from gramian.series.trial import (
    Plan,
    Screened,
    SeriesTrial,
    best_of_structures,
    near_the_best,
)
from gramian.series.window_model import WindowOptions


def trial_of(y, horizon=6):
    return SeriesTrial(y[:, None], None, horizon, held_out_stretches(len(y), horizon, 12))


@pytest.fixture(scope="module")
def noise():
    return trial_of(np.random.default_rng(0).standard_normal(90).cumsum())


def row(structure, errors):
    season, difference, log = structure
    return Screened(Candidate(SeriesTransform(season, difference, log), 3), np.zeros((1, 1)), np.array(errors))


def test_a_stretch_counts_by_the_square_of_what_its_models_saw(noise):
    ends = np.array([stretch.end for stretch in noise.stretches], float)
    assert_allclose(noise.weights, ends**2 / (ends**2).sum())


def test_kernels_are_judged_on_the_last_values_of_every_stretch(noise):
    plan, base = Plan.of(Candidate(SeriesTransform(), 3, "rbf")), WindowOptions(3)
    changed = SeriesTrial(np.array(noise.series), None, noise.horizon, noise.stretches)
    changed.series[: noise.stretches[0].end - 30] += 100.0
    assert_allclose(changed.forecasts(plan, 0, base, most=20), noise.forecasts(plan, 0, base, most=20))


def test_the_best_of_each_structure_comes_once_best_first():
    rows = [row((0, 0, False), [3.0, 1.0]), row((0, 1, False), [1.0, 1.0]), row((0, 0, False), [1.5, 1.5])]
    best = best_of_structures(rows, np.array([0.5, 0.5]))
    assert [found.errors.tolist() for found in best] == [[1.0, 1.0], [1.5, 1.5]]
    assert best_of_structures(rows, np.array([0.1, 0.9]))[1].errors.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(("most", "count"), [(1, 1), (2, 2), (4, 2)])
def test_structures_that_are_far_off_are_not_averaged(most, count):
    rows = [row((0, 0, False), [1.0]), row((0, 1, False), [1.3]), row((4, 0, False), [2.0])]
    assert len(near_the_best(rows, np.ones(1), most)) == count


def test_two_plans_count_half_each():
    one = Plan(((SeriesTransform(4),), (SeriesTransform(0, 1),)), (3, 4), ("linear", "linear"))
    both = one.joined(Plan(((SeriesTransform(),),), (10,), ("rbf",)), 0.5)
    assert (both.lags, both.kernels) == ((3, 4, 10), ("linear", "linear", "rbf"))
    assert [transforms[0].season for transforms in both.transforms] == [4, 0, 0]
    assert [both.weight(member) for member in range(3)] == [0.25, 0.25, 0.5]
    assert one.weight(1) == 1.0


def test_of_candidates_as_good_the_simplest_is_taken():
    def rank(kernel, halfway=False):
        return Row({}, Plan.of(Candidate(SeriesTransform(), 3, kernel)), np.zeros(1), np.ones(1), halfway=halfway).rank

    both = RBF(2.0) + Linear()
    assert rank("linear", halfway=True) < rank("linear") == rank(Linear()) < rank("rbf") < rank(both)


CYCLE = np.sin(np.arange(80) / 2) + 0.3 * np.random.default_rng(0).standard_normal(80)


def test_smoothing_comes_first_then_what_stands_beside_it():
    model = RKMForecaster(horizon=4, random_state=0).fit(CYCLE)
    first = model.selection_.candidates[0]
    assert first["kernel"] == "smoothing"
    assert first["lines"] > 0.5  # a cycle is for windows
    assert all(
        one != other for i, one in enumerate(model.selection_.candidates) for other in model.selection_.candidates[:i]
    )
    assert model.lags_ > 0


def test_kernels_take_over_where_no_line_can_follow():
    y = [0.3]
    for _ in range(199):
        y.append(3.9 * y[-1] * (1 - y[-1]))  # the logistic map: chaos that looks like noise to a line
    model = RKMForecaster(horizon=1, random_state=0).fit(np.array(y))
    assert model.selection_.chosen["share"] > 0.9
    assert abs(model.predict(1)[0] - 3.9 * y[-1] * (1 - y[-1])) < 0.05


def test_members_count_by_their_weights():
    model = RKMForecaster(4, season=None, difference=0, transform=None, kernel="linear", random_state=0)
    low, high = (model.fit(CYCLE + shift)._members[0] for shift in (0.0, 10.0))
    spread = np.ones((1, 1))
    alone = [ForecastPaths([member], CYCLE[:, None], None, spread).middle(3) for member in (low, high)]
    both = ForecastPaths([replace(low, weight=0.25), replace(high, weight=0.75)], CYCLE[:, None], None, spread)
    assert_allclose(both.middle(3), 0.25 * alone[0] + 0.75 * alone[1])
    drawn = both.drawn(1, None, None, 400, np.random.default_rng(0))
    assert len(drawn) == 400
    assert_allclose(drawn[:100].mean(), alone[0][0, 0], atol=0.15)


def test_what_counts_in_a_mean_goes_by_errors_and_the_simpler_is_believed():
    trial = SeriesTrial(CYCLE[:, None], None, 4, [Stretch(40, np.array([40, 50])), Stretch(60, np.array([60, 70]))])
    assert_allclose(trial.share(np.ones(2), np.ones(2)), 1 / (1 + WINDOWS.odds))
    equal = WINDOWS.odds ** (1 / WINDOWS.power)  # so much better, and both count alike
    assert_allclose(trial.share(np.ones(2), np.full(2, equal)), 0.5)
    assert trial.share(np.ones(2), np.ones(2)) < 1 / 3  # of equals the simpler counts more
    assert trial.share(np.zeros(2), np.ones(2)) > 1 - 1e-12
