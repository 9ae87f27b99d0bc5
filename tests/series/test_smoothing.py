"""Levels, slopes and seasons at a few rates: exact beginnings, sure cases, and forecasts from rolling origins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import RKMForecaster, load, save
from gramian.series.smoothing import (
    LEVEL_SPREAD,
    SEASON_SPREAD,
    SLOPE_SPREAD,
    Smoothing,
    filtered,
    season_basis,
    weights,
)
from gramian.series.stretches import Stretch

RNG = np.random.default_rng(0)
WALK = 50 + RNG.standard_normal(40).cumsum()
QUARTERS = np.tile([1.0, 4.0, 2.0, 3.0], 12) + 0.2 * np.arange(48) + 0.1 * RNG.standard_normal(48)


def test_beginnings_are_the_ridge_regression_of_the_errors():
    block = Smoothing((4,), None).blocks(QUARTERS[None])[0]
    found, _, noise, _ = block.beginnings(48)
    member = int(np.flatnonzero(block.block.seasonal)[7])
    rates = block.block.of(np.array([member]))
    basis = season_basis(4)
    units = [(LEVEL_SPREAD, 0.0, np.zeros(4)), (0.0, SLOPE_SPREAD, np.zeros(4))]
    units += [(0.0, 0.0, SEASON_SPREAD * wave) for wave in basis.T]

    def errors(values, level, slope, profile):
        state = np.full((1, 1), level), np.full((1, 1), slope), np.array(profile)[:, None, None]
        return filtered(values[None], rates, state)[0][:, 0, 0]

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
    told = Smoothing((4,)).told(QUARTERS)
    assert told.season == 4
    assert Smoothing((4,)).told(WALK).season is None


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
    assert (Smoothing().paths(falling, 10, 50, np.random.default_rng(0)) >= 0).all()


def test_gaps_are_passed_over():
    holed = QUARTERS.copy()
    holed[[5, 17, 46]] = np.nan
    assert_allclose(Smoothing((4,)).forecast(holed[None], 4), Smoothing((4,)).forecast(QUARTERS[None], 4), atol=0.3)


def test_the_last_rolling_origin_is_the_forecast():
    smoothing = Smoothing((4,))
    stretches = [Stretch(30, np.array([30, 34])), Stretch(40, np.array([40]))]
    found = smoothing.rolling(QUARTERS, stretches, 3)
    assert found.shape == (3, 3)
    assert_allclose(found[0], smoothing.forecast(QUARTERS[None, :30], 3)[0], rtol=1e-6)
    assert_allclose(found[2], smoothing.forecast(QUARTERS[None, :40], 3)[0], rtol=1e-6)


def test_rolling_forecasts_do_not_look_ahead():
    changed = QUARTERS.copy()
    changed[41:] += 100.0
    stretches = [Stretch(30, np.array([30, 34])), Stretch(40, np.array([40]))]
    assert_allclose(
        Smoothing((4,), None).rolling(changed, stretches, 3), Smoothing((4,), None).rolling(QUARTERS, stretches, 3)
    )


def test_paths_spread_around_the_forecast():
    smoothing = Smoothing((4,))
    drawn = smoothing.paths(QUARTERS, 8, 4000, np.random.default_rng(0))
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
