"""Levels, slopes and seasons at a few rates: exact beginnings, sure cases, and forecasts from rolling origins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t

from gramian import RKMForecaster, load, save
from gramian.policy import RATES
from gramian.series.block import inverse_roots
from gramian.series.mixture_quantiles import Laws, mixture_quantiles
from gramian.series.recursion import filter_series, season_basis
from gramian.series.smoothing import Smoothing, weights
from gramian.series.stretches import Stretch

RNG = np.random.default_rng(0)
WALK = 50 + RNG.standard_normal(40).cumsum()
QUARTERS = np.tile([1.0, 4.0, 2.0, 3.0], 12) + 0.2 * np.arange(48) + 0.1 * RNG.standard_normal(48)


def test_beginnings_are_the_ridge_regression_of_the_errors():
    block = Smoothing((4,), None).blocks(QUARTERS[None])[0]
    begun = block.beginnings(48)
    found, noise = begun.mean, begun.noise
    member = int(np.flatnonzero(block.block.seasonal)[7])
    rates = block.block.of(np.array([member]))
    basis = season_basis(4)
    units = [(RATES.level_spread, 0.0, np.zeros(4)), (0.0, RATES.slope_spread, np.zeros(4))]
    units += [(0.0, 0.0, RATES.season_spread * wave) for wave in basis.T]

    def errors(values, level, slope, profile):
        state = np.full((1, 1), level), np.full((1, 1), slope), np.array(profile)[:, None, None]
        return filter_series(values[None], rates, state)[0][:, 0, 0]

    own = errors(block.scaled[0], 0.0, 0.0, np.zeros(4))
    table = np.column_stack([errors(np.zeros(48), *unit) for unit in units])
    ridge = np.linalg.solve(table.T @ table + np.eye(5), -table.T @ own)
    assert_allclose(found[member, :, 0], ridge, atol=1e-9)
    # a run that begins there leaves what the regression leaves
    begun = errors(block.scaled[0], *(sum(x * unit[part] for x, unit in zip(ridge, units)) for part in range(3)))
    assert_allclose(begun, own + table @ ridge, atol=1e-9)
    assert noise[0, member] > 0


def test_profiles_sum_to_zero_and_are_orthonormal():
    for season in (2, 3, 4, 7, 12, 52):
        basis = season_basis(season)
        assert_allclose(basis.sum(axis=0), 0.0, atol=1e-9)
        assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-9)


def test_a_line_goes_on_and_a_constant_stays():
    assert_allclose(Smoothing().forecast(np.arange(1.0, 31.0)[None], 5)[0], np.arange(31.0, 36.0), rtol=0.02)
    assert_allclose(Smoothing().forecast(np.full((1, 12), 4.0), 5), 4.0, atol=1e-6)


def test_a_season_is_seen_where_there_is_one():
    found = Smoothing((4,)).forecast(QUARTERS[None], 4)[0]
    assert_allclose(found, np.array([1.0, 4.0, 2.0, 3.0]) + 0.2 * np.arange(48, 52), atol=0.5)
    told = Smoothing((4,)).outlook(QUARTERS[None]).told()
    assert told.season == 4
    assert Smoothing((4,)).outlook(WALK[None]).told().season is None


def test_many_series_are_forecast_as_one_by_one():
    table = np.stack([WALK, WALK[::-1], 3 * WALK + 1])
    many = Smoothing((4,)).forecast(table, 6)
    one = np.stack([Smoothing((4,)).forecast(row[None], 6)[0] for row in table])
    assert_allclose(many, one, rtol=1e-9)


def test_units_and_signs_do_not_matter():
    plain = Smoothing(transform=None)
    base = plain.forecast(WALK[None], 6)
    assert_allclose(plain.forecast(-1000.0 * WALK[None] + 7.0, 6), -1000.0 * base + 7.0, rtol=1e-9)


def test_what_was_never_negative_stays_so():
    falling = np.maximum(20.0 - np.arange(20.0), 0.0)
    assert (Smoothing().forecast(falling[None], 10) >= 0).all()
    assert (Smoothing().outlook(falling[None]).paths(10, 50, np.random.default_rng(0)) >= 0).all()


def test_gaps_are_passed_over():
    holed = QUARTERS.copy()
    holed[[5, 17, 46]] = np.nan
    assert_allclose(Smoothing((4,)).forecast(holed[None], 4), Smoothing((4,)).forecast(QUARTERS[None], 4), atol=0.3)


def test_the_last_rolling_origin_is_the_forecast():
    smoothing = Smoothing((4,))
    stretches = [Stretch(30, np.array([30, 34])), Stretch(40, np.array([40]))]
    found = smoothing.outlook(QUARTERS[None]).rolling(stretches, 3)
    assert found.shape == (3, 3)
    assert_allclose(found[0], smoothing.forecast(QUARTERS[None, :30], 3)[0], rtol=1e-6)
    assert_allclose(found[2], smoothing.forecast(QUARTERS[None, :40], 3)[0], rtol=1e-6)


def test_rolling_forecasts_do_not_look_ahead():
    changed = QUARTERS.copy()
    changed[41:] += 100.0
    stretches = [Stretch(30, np.array([30, 34])), Stretch(40, np.array([40]))]
    assert_allclose(
        Smoothing((4,), None).outlook(changed[None]).rolling(stretches, 3),
        Smoothing((4,), None).outlook(QUARTERS[None]).rolling(stretches, 3),
    )


def test_paths_spread_around_the_forecast():
    smoothing = Smoothing((4,))
    drawn = smoothing.outlook(QUARTERS[None]).paths(8, 4000, np.random.default_rng(0))
    assert_allclose(drawn.mean(axis=0), smoothing.forecast(QUARTERS[None], 8)[0], atol=0.1)
    assert (np.diff(drawn.std(axis=0)[[0, 3, 7]]) > -0.02).all()


def test_shares_sum_to_one():
    assert_allclose(weights([np.zeros((2, 3)), np.full((2, 1), -5.0)]).sum(axis=1), 1.0)


@pytest.mark.parametrize("count", [3, 5, 9, 14, 30])
def test_short_series_are_smoothed(count, tmp_path):
    model = RKMForecaster(random_state=0).fit(WALK[:count])
    assert model.lags_ == 0
    assert model.selection_.chosen["kernel"] == "smoothing"
    low, high = model.predict_interval(4)
    assert ((low <= model.predict(4)) & (model.predict(4) <= high)).all()
    save(model, tmp_path / "m")
    assert_allclose(load(tmp_path / "m").predict(4), model.predict(4))
    assert "rates" in model.explain()


@pytest.mark.parametrize(("values", "seasons"), [(WALK, ()), (QUARTERS, (4,)), (np.exp(0.1 * WALK), ())])
def test_quantiles_are_those_of_many_paths(values, seasons):
    outlook = Smoothing(seasons).outlook(values[None])
    levels = np.array([0.025, 0.1, 0.5, 0.9, 0.975])
    drawn = outlook.paths(6, 40_000, np.random.default_rng(0))
    exact = outlook.quantiles(6, levels)[:, 0]
    below = np.array([(drawn <= row).mean(axis=0) for row in exact])
    assert_allclose(below, np.repeat(levels[:, None], 6, axis=1), atol=0.01)


def test_quantiles_of_many_series_are_those_of_each():
    table, levels = np.stack([WALK, 3 * WALK[::-1] + 1]), np.array([0.1, 0.9])
    many = Smoothing().outlook(table).quantiles(4, levels)
    one = np.stack([Smoothing().outlook(row[None]).quantiles(4, levels)[:, 0] for row in table], axis=1)
    assert_allclose(many, one, rtol=2e-3)


def test_quantiles_of_one_law_are_its_own():
    laws = [Laws(np.array([[2.0]]), np.array([[3.0]]), 5.0, False)]
    found = mixture_quantiles(laws, [np.ones((1, 1))], np.array([0.05, 0.5, 0.99]))[:, 0]
    assert_allclose(found, t.ppf([0.05, 0.5, 0.99], 5, 2.0, 3.0), atol=1e-3)


def test_what_inputs_do_is_found_beside_level_and_slope():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((60, 2))
    y = 20 + 0.3 * np.arange(60) + x @ [4.0, -2.0] + 0.1 * rng.standard_normal(60)
    smoothing = Smoothing((), None)
    ahead = rng.standard_normal((3, 2))
    found = smoothing.outlook(y[None], x).forecast(3, ahead)[0]
    assert_allclose(found, 20 + 0.3 * np.arange(60, 63) + ahead @ [4.0, -2.0], atol=0.5)
    low, high = smoothing.outlook(y[None], x).quantiles(3, np.array([0.05, 0.95]), ahead)
    assert (
        high - low < 0.5 * (lambda e: e[1] - e[0])(smoothing.outlook(y[None]).quantiles(3, np.array([0.05, 0.95])))
    ).all()


def test_inputs_are_a_regression_with_the_errors_of_the_recursion():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((30, 1)), WALK[:30]
    block = Smoothing((), None).blocks(y[None], x)[0]
    begun = block.beginnings(30)
    member = 7
    rates = block.block.of(np.array([member]))

    def errors(values, level=0.0, slope=0.0):
        state = np.full((1, 1), level), np.full((1, 1), slope), np.empty((0, 1, 1))
        return filter_series(values[None], rates, state)[0][:, 0, 0]

    own = errors(block.scaled[0])
    table = np.column_stack(
        [
            errors(np.zeros(30), level=RATES.level_spread),
            errors(np.zeros(30), slope=RATES.slope_spread),
            -RATES.season_spread * errors(x[:, 0]),
        ]
    )
    ridge = np.linalg.solve(table.T @ table + np.eye(3), -table.T @ own)
    assert_allclose(begun.mean[member, :, 0], ridge, atol=1e-9)


def test_the_trend_of_a_short_series_goes_on_where_its_last_steps_were_flat():
    stopped = np.append(np.arange(8.0), [7.0, 7.0])
    forecast = Smoothing((), None).forecast(stopped[None], 12)[0]
    assert (forecast[-1] - forecast[0]) / 11 > 0.43  # slopes that move alone would go on at 0.38


def test_no_member_is_sure_of_itself_however_long_the_series():
    outlook = Smoothing((), None).outlook(np.random.default_rng(0).standard_normal((1, 200)))
    shares = np.exp(np.concatenate([part.ravel() for part in outlook.fits(outlook.smoothing.law)]))
    shares /= shares.sum()
    assert 1.0 / np.square(shares).sum() > 3.0  # so many members count; by all 200 values it would be 1.4


def test_a_long_series_outlasts_rates_whose_beginnings_grow_without_bound():
    steps = np.arange(3_020)
    wave = np.sin(steps / 5.0) + 0.3 * np.cos(steps / 1.7)
    values = wave[:3_000] + 0.1 * np.random.default_rng(0).standard_normal(3_000)
    told = np.ravel(RKMForecaster().fit(values).predict(20))  # a season of 32 seen 94 times: precisions up to 1e22
    assert np.sqrt(np.mean(np.square(told - wave[3_000:]))) < 0.1


def test_inverse_roots_are_those_of_the_precision_also_where_rounding_left_it_indefinite():
    A = np.random.default_rng(0).standard_normal((4, 3, 9))
    precision = np.eye(3) + A @ A.transpose(0, 2, 1)
    root = inverse_roots(precision)
    assert_allclose(root @ root.transpose(0, 2, 1), np.linalg.inv(precision), atol=1e-12)
    spoilt = np.stack([precision[0], np.diag([1e22, 5.0, -6e4])])
    root = inverse_roots(spoilt)
    assert_allclose(root[0] @ root[0].T, np.linalg.inv(precision[0]), atol=1e-12)
    assert_allclose(root[1] @ root[1].T, np.diag([1e-22, 0.2, 1.0]), atol=1e-12)
