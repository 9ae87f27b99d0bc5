"""What is left open is chosen on held-out stretches; what is given is taken at its word."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian import RKMForecaster, load, save
from gramian.series.candidates import repeating_lag, spread_grows, transforms_to_try
from gramian.series.gap_filling import join_sides
from gramian.series.paths import spread_factors
from gramian.series.stretches import held_out_stretches

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(3)
T = np.arange(96)
SALES = (50 + T) * (1 + 0.3 * np.sin(2 * np.pi * T / 12)) * np.exp(0.03 * RNG.standard_normal(96))
"""Months with a trend, and a season that grows with it."""


@pytest.fixture(scope="module")
def chosen():
    return RKMForecaster(horizon=12, random_state=0).fit(
        pd.Series(SALES[:84], index=pd.period_range("2015-01", periods=84, freq="M"))
    )


def test_trend_and_season_go_on(chosen):
    found = np.asarray(chosen.predict(12))
    naive = np.abs(SALES[72:84] - SALES[84:]).mean()
    assert np.abs(found - SALES[84:]).mean() < 0.8 * naive
    assert any(candidate["season"] == 12 for candidate in chosen.selection_.candidates)
    assert chosen.selection_.chosen in chosen.selection_.candidates
    assert chosen.selection_.candidates[0]["kernel"] == "smoothing"  # the simplest comes first
    assert "seasonal naive error" in chosen.explain()
    assert chosen.skill_["error"] < chosen.skill_["seasonal naive"]


def test_intervals_are_of_the_series_itself(chosen):
    low, high = chosen.predict_interval(12)
    assert ((low < SALES[84:]) & (SALES[84:] < high)).mean() > 0.7
    assert (chosen.sample_paths(12, 50) > 0).all()


def test_a_choice_is_saved_with_its_evidence(chosen, tmp_path):
    save(chosen, tmp_path / "m")
    again = load(tmp_path / "m")
    pd.testing.assert_series_equal(again.predict(5), chosen.predict(5))
    assert again.selection_.chosen == chosen.selection_.chosen
    assert again.explain() == chosen.explain()


def test_given_differences_are_the_plain_model_of_the_differences():
    given = {"transform": None, "kernel": "linear", "n_components": 3, "random_state": 0}
    whole = RKMForecaster(5, season=12, difference=1, **given).fit(SALES)
    z = np.diff(SALES[12:] - SALES[:-12])
    steps = RKMForecaster(5, season=None, difference=0, **given).fit(z).predict(6)
    expected = SALES[84:90] + (SALES[95] - SALES[83]) + np.cumsum(steps)
    assert_allclose(whole.predict(6), expected, rtol=1e-9)
    assert not hasattr(whole, "selection_")


def test_noise_is_smoothed_towards_its_mean():
    y = np.random.default_rng(0).standard_normal(80)
    model = RKMForecaster(random_state=0).fit(y)
    assert (model.season_, model.transform_, model.selection_.chosen["kernel"]) == (None, None, "smoothing")
    assert np.abs(model.predict(8)).max() < 1.0


def test_the_logarithm_needs_positive_values():
    with pytest.raises(ValueError, match=r"positive series.*-1"):
        RKMForecaster(transform="log").fit(np.r_[SALES, -1.0])


@pytest.mark.parametrize("factor", [1e-200, 1e160])
def test_scales_beyond_squares_are_refused(factor):
    with pytest.raises(ValueError, match="rescale"):
        RKMForecaster().fit(SALES * factor)


def test_gaps_pass_through_differences():
    y = SALES.copy()
    y[[20, 40, 41, 94, 95]] = np.nan
    model = RKMForecaster(3, season=12, difference=1, transform="log", kernel="linear", random_state=0).fit(y)
    complete = RKMForecaster(3, season=12, difference=1, transform="log", kernel="linear", random_state=0).fit(SALES)
    assert_allclose(model.predict(6), complete.predict(6), rtol=0.25)


@pytest.mark.parametrize("known", [slice(5, 9), slice(None, None, 2), slice(40, 41)])
def test_series_that_are_mostly_gaps_are_forecast_within_their_range(known):
    y = np.full(96, np.nan)
    y[known] = SALES[known]
    model = RKMForecaster(random_state=0).fit(y)
    whole = model.impute()
    assert not np.isnan(whole).any()
    for values in (model.predict(4), whole):
        assert (np.abs(values - np.nanmean(y)) <= 3 * np.ptp(SALES)).all()


def test_gaps_are_filled_from_both_sides_with_deviations():
    y = SALES.copy()
    y[[0, 30, 31, 32, 60]] = np.nan
    model = RKMForecaster(3, season=12, difference=0, transform="log", kernel="linear", random_state=0).fit(y)
    filled, std = model.impute(return_std=True)
    holes = np.isnan(y)
    assert_array_equal(filled[~holes], y[~holes])
    assert (std[~holes] == 0).all()
    assert (std[holes] > 0).all()
    inside = np.abs(filled - SALES)[holes] < 3.5 * std[holes]
    assert inside.mean() > 0.7
    assert np.abs(filled - SALES)[30:33].mean() < 0.1 * SALES.mean()
    series = pd.Series(y, index=pd.period_range("2015-01", periods=96, freq="M"), name="sales")
    assert model.impute(series).name == "sales"


def test_both_sides_of_a_random_walk_make_a_bridge():
    left = np.zeros(3), np.sqrt(np.arange(1.0, 4.0))
    right = np.full(3, 4.0), np.sqrt(np.arange(3.0, 0.0, -1.0))
    mean, std = join_sides(left, right, None)
    assert_allclose(mean, [1, 2, 3])
    assert_allclose(std**2, [0.75, 1.0, 0.75])


def test_both_sides_of_noise_know_no_more_than_one():
    side = np.zeros(2), np.ones(2)
    assert_allclose(join_sides(side, side, (0.0, 1.0))[1], 1.0, rtol=1e-3)


def test_several_series_are_each_freed_from_what_they_need():
    Y = np.column_stack([SALES, np.random.default_rng(1).standard_normal(96)])
    model = RKMForecaster(horizon=6, kernel="linear", random_state=0).fit(Y)
    assert model.predict(6).shape == (6, 2)
    paths = model.sample_paths(6, 20)
    assert paths.shape == (20, 6, 2)
    assert np.isfinite(paths).all()


def test_inputs_are_freed_from_the_level_as_the_series_is():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 1)).cumsum(axis=0)
    y = 3 * X[:, 0] + rng.standard_normal(120).cumsum() * 0.1
    model = RKMForecaster(1, season=None, difference=1, transform=None, kernel="linear", random_state=0).fit(
        y[:110], X[:110]
    )
    assert np.abs(model.predict(10, X[110:]) - y[110:]).max() < 2.0


def test_long_series_are_seen_from_landmarks_and_it_is_said():
    y = np.sin(np.arange(300) / 3) + 0.1 * np.random.default_rng(0).standard_normal(300)
    options = {"season": None, "difference": 0, "transform": None, "kernel": "rbf", "n_folds": None}
    model = RKMForecaster(8, approximation="nystroem", n_landmarks=60, **options).fit(y)
    exact = RKMForecaster(8, approximation=None, **options).fit(y)
    assert "60 landmarks" in model.explain()
    assert np.abs(model.predict(5) - exact.predict(5)).max() < 0.1


# ---------------------------------------------------------------- parts


def test_seasons_are_seen_in_the_autocorrelation():
    assert repeating_lag(SALES, 30) == 12
    assert repeating_lag(np.random.default_rng(0).standard_normal(100), 30) == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_cycle_that_falls_out_of_step_is_no_season(seed):
    rng, cycle = np.random.default_rng(seed), [0.0, 0.0]
    for _ in range(400):
        cycle.append(1.6 * cycle[-1] - 0.9 * cycle[-2] + rng.standard_normal())
    assert repeating_lag(np.array(cycle[-300:]), 60) == 0  # of about 11 values


def test_the_logarithm_is_tried_where_spread_grows():
    assert spread_grows(SALES)
    assert not spread_grows(SALES - 100)
    assert not spread_grows(100 + np.random.default_rng(0).standard_normal(100))


def test_what_is_given_is_not_smoothed():
    found = transforms_to_try(SALES, 12, 1, "log", [12])
    assert [(t.season_rate, t.level_rate) for t in found] == [(1.0, 1.0)]
    assert len(transforms_to_try(SALES, 12, "auto", None, [12])) == 2


def test_stretches_lie_behind_each_other_and_end_with_the_series():
    stretches = held_out_stretches(100, 12, 26)
    assert len(stretches) == 4
    assert all((stretch.origins >= stretch.end).all() for stretch in stretches)
    assert max(stretch.origins.max() for stretch in stretches) == 94
    assert held_out_stretches(20, 12, 30) == []


def test_factors_widen_what_is_too_narrow():
    errors = 3.0 * np.random.default_rng(0).standard_normal((400, 5, 1))
    factors = spread_factors(errors, np.full((5, 1), 1.645))
    assert_allclose(factors, 3.0, rtol=0.2)
    assert_allclose(spread_factors(errors / 3.0, np.full((5, 1), 1.645)), 1.0, rtol=0.15)


def test_paths_are_drawn_in_and_spread_within_limits():
    errors = np.random.default_rng(0).standard_normal((400, 5, 1))
    assert_allclose(spread_factors(0.01 * errors, np.ones((5, 1))), 0.7)
    assert_allclose(spread_factors(100 * errors, np.ones((5, 1))), 4.0)


def test_the_held_out_quantile_itself_is_the_width_where_stretches_are_many():
    errors = 2.0 * np.random.default_rng(1).standard_normal((4000, 1, 1))
    factor = spread_factors(errors, np.ones((1, 1)))[0, 0]
    assert_allclose(factor, np.quantile(np.abs(errors), 0.9), rtol=1e-3)


@pytest.mark.parametrize(("count", "looked"), [(45, False), (60, True)])
def test_series_that_are_too_short_are_not_looked_at_through_windows(count, looked):
    cycle = np.sin(np.arange(count) / 2) + 0.05 * np.random.default_rng(0).standard_normal(count)
    candidates = RKMForecaster(horizon=4, random_state=0).fit(cycle).selection_.candidates
    assert any(candidate["lags"] > 0 for candidate in candidates) == looked


def test_a_side_that_is_sure_is_taken_as_it_is():
    sure, other = (np.array([0.0]), np.array([0.0])), (np.array([3.0]), np.array([1.0]))
    assert join_sides(sure, other, None) == (0.0, 0.0)  # not 1e-308: what comes after would divide by it
    assert join_sides(other, sure, (1.0, 2.0)) == (0.0, 0.0)
    assert join_sides(sure, (np.array([2.0]), np.array([0.0])), None) == (1.0, 0.0)


def test_counts_that_are_mostly_zero_are_filled_with_numbers():
    y = np.zeros(60)
    y[[17, 31, 32, 48]] = 14.0, 3.0, 1.0, 5.0
    y[[7, 8, 18, 24, 33, 46]] = np.nan
    assert np.isfinite(RKMForecaster(random_state=0).fit(y).impute(y)).all()
