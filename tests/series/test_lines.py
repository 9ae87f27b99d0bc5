"""Lines beside smoothing: exact laws, shares by held-out errors, and never worse than naive."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian import RKMForecaster, load, save
from gramian.series.line_shares import no_worse_than_naive
from gramian.series.lines import Line
from gramian.series.smoothing import Smoothing
from gramian.series.stretches import held_out_stretches
from gramian.series.transform import SeriesTransform
from gramian.series.trial import SeriesTrial

RNG = np.random.default_rng(5)
WALK = 50 + RNG.standard_normal(90).cumsum()
MONTHS = 20 + 0.1 * np.arange(90) + 5 * np.sin(2 * np.pi * np.arange(90) / 12) + RNG.standard_normal(90)


def test_the_last_value_goes_on_with_the_law_of_a_random_walk():
    law = Line(SeriesTransform(0, 1), 0).of(WALK)
    step = np.sqrt(np.mean(np.square(np.diff(WALK))))
    assert_allclose(law.mean(4)[:, 0, 0], WALK[-1])
    assert_allclose(law.deviations(4)[:, 0, 0], step * np.sqrt(np.arange(1, 5)))


def test_the_value_of_a_season_ago_spreads_season_by_season():
    law = Line(SeriesTransform(12), 0).of(MONTHS)
    step = np.sqrt(np.mean(np.square(MONTHS[12:] - MONTHS[:-12])))
    assert_allclose(law.mean(15)[:, 0, 0], MONTHS[78 + np.arange(15) % 12])
    assert_allclose(law.deviations(15)[:, 0, 0], step * np.sqrt(1 + np.arange(15) // 12))


def test_a_regression_on_one_value_spreads_as_an_autoregression():
    law = Line(SeriesTransform(), 1).of(MONTHS)
    slope = law.ridges[0].coefficients[0]
    assert_allclose(
        law.deviations(6)[:, 0, 0] ** 2,
        law.ridges[0].deviation ** 2 * np.cumsum(slope ** (2 * np.arange(6))),
        rtol=1e-9,
    )


@pytest.mark.parametrize("transform", [SeriesTransform(), SeriesTransform(12), SeriesTransform(0, 0, True)])
def test_draws_are_of_the_law(transform):
    law = Line(transform, 4).of(MONTHS)
    drawn = law.draws(np.zeros(20_000, dtype=int), 8, np.random.default_rng(0))
    degrees = law.degrees[0, 0]
    spread = np.sqrt(degrees / (degrees - 2)) * law.deviations(8)[:, 0, 0]
    assert_allclose(drawn.mean(axis=0), law.mean(8)[:, 0, 0], atol=0.03 * spread.max())
    assert_allclose(drawn.std(axis=0), spread, rtol=0.03)


def test_a_series_too_short_for_a_line_is_smoothed():
    smoothing = Smoothing(lines=(Line(SeriesTransform(), 10, 0.7),))
    assert Line(SeriesTransform(), 10).of(WALK[:9]) is None
    assert_allclose(smoothing.forecast(WALK[None, :9], 3), Smoothing().forecast(WALK[None, :9], 3))


def test_lines_have_their_share_of_forecast_and_quantiles():
    line = Line(SeriesTransform(), 3, 0.4)
    outlook = Smoothing(lines=(line,)).outlook(WALK[None])
    expected = 0.6 * Smoothing().forecast(WALK[None], 5)[0] + 0.4 * line.of(WALK).mean(5)[:, 0, 0]
    assert_allclose(outlook.forecast(5)[0], expected)
    levels = np.array([0.1, 0.5, 0.9])
    drawn = outlook.paths(5, 40_000, np.random.default_rng(0))
    below = np.array([(drawn <= row).mean(axis=0) for row in outlook.quantiles(5, levels)[:, 0]])
    assert_allclose(below, np.repeat(levels[:, None], 5, axis=1), atol=0.01)


def mended(own, walk):
    """A trial of a walk, forecasts of it with naive's share, and the errors of both."""
    trial = SeriesTrial(walk[:, None], None, 4, held_out_stretches(len(walk), 4, 12))
    naive = trial.naive(1)[:, :, 0]
    forecasts, lines = no_worse_than_naive(trial, own(trial, naive), (Line(SeriesTransform(), 3, 0.4),), ())
    return trial, naive, forecasts, lines


def test_where_naive_is_better_it_gets_the_least_share_that_mends_this():
    far = 3.0 * np.abs(np.diff(WALK)).max()
    trial, naive, forecasts, lines = mended(lambda _, naive: naive + far, WALK)
    errors = [float(trial.weights @ trial.fold_errors(found, 0)) for found in (forecasts, naive, naive + far)]
    assert errors[0] <= (1 + 1e-6) * errors[1] < errors[2]
    share = lines[-1].share
    assert lines[-1] == Line(SeriesTransform(0, 1), 0, share)
    assert_allclose(lines[0].share, 0.4 * (1 - share))
    less = (1 - 0.99 * share) * (naive + far) + 0.99 * share * naive
    assert float(trial.weights @ trial.fold_errors(less, 0)) > errors[1]


def test_what_does_not_lose_to_naive_is_left_alone():
    def halfway(trial, naive):
        return 0.5 * (naive + trial.truth[:, :, 0])

    trial, naive, forecasts, lines = mended(halfway, WALK)
    assert_array_equal(forecasts, halfway(trial, naive))
    assert len(lines) == 1


@pytest.mark.parametrize("n", [14, 20, 40, 90, 200])
@pytest.mark.parametrize("kind", ["walk", "trend", "season", "noise", "curved"])
def test_a_plan_never_loses_to_naive_on_its_own_stretches(n, kind):
    for seed in range(3):
        noise = np.random.default_rng(seed).standard_normal(n)
        values = {
            "walk": noise.cumsum(),
            "trend": np.arange(n) + 3 * noise,
            "season": np.tile(np.arange(4.0), n // 4 + 1)[:n] + noise,
            "noise": noise,
            "curved": np.sin(np.arange(n) ** 2 / 30) + 0.1 * noise,
        }[kind]
        skill = RKMForecaster(random_state=0).fit(values).skill_
        assert skill["error"] <= (1 + 1e-12) * min(skill.values())


def test_lines_are_saved_and_go_on_from_other_values(tmp_path):
    cycle = np.sin(np.arange(80) / 2) + 0.3 * np.random.default_rng(0).standard_normal(80)
    model = RKMForecaster(horizon=4, random_state=0).fit(cycle)
    assert model.selection_.chosen["lines"] > 0.5
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert_allclose(again.predict(4), model.predict(4))
    assert_allclose(again.predict(4, history=cycle[:60]), model.predict(4, history=cycle[:60]))
    assert "past values" in again.explain()


def test_shares_of_a_file_are_at_most_the_whole(tmp_path):
    model = RKMForecaster(random_state=0).fit(WALK)
    object.__setattr__(model._smoothing.smoothing, "lines", (Line(SeriesTransform(0, 1), 0, 1.5),))
    with pytest.raises(ValueError, match="more than the whole"):
        save(model, tmp_path / "m")
