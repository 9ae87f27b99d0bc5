"""Lines beside the smoothing of a panel: one share for all series, the law of each, and naive where it is clearly better."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import RKMForecaster
from gramian.series.lines import Line
from gramian.series.long_table import PanelNames, as_panel
from gramian.series.panel_law import with_lines
from gramian.series.smoothing import Smoothing
from gramian.series.transform import SeriesTransform

RNG = np.random.default_rng(11)
WALKS = 100 + RNG.standard_normal((12, 80)).cumsum(axis=1)


def cycles(count, length=90):
    """Second-order autoregressions: regressions on past values follow them, levels and slopes do not."""
    y = np.zeros((count, length + 50))
    noise = RNG.standard_normal(y.shape)
    for t in range(2, y.shape[1]):
        y[:, t] = 1.8 * y[:, t - 1] - 0.95 * y[:, t - 2] + noise[:, t]
    return y[:, 50:]


def test_a_line_of_many_series_is_that_of_each():
    line = Line(SeriesTransform(4), 5)
    law = line.of(WALKS)
    alone = [line.of(row) for row in WALKS]
    for name in ("mean", "deviations"):
        assert_allclose(getattr(law, name)(6), np.concatenate([getattr(one, name)(6) for one in alone], axis=1))
    assert_allclose(law.degrees, np.concatenate([one.degrees for one in alone]))


def test_series_of_one_length_are_forecast_as_each_alone():
    panel = cycles(12)
    model = RKMForecaster(season=None, random_state=0).fit(list(panel))
    assert model._smoothing.smoothing.lines
    together, ends = model.predict(5), model.predict_interval(5)
    for i in (0, 7):
        own = slice(5 * i, 5 * i + 5)
        assert_allclose(model.predict(5, history=[panel[i]])["mean"], together["mean"][own])
        alone = model.predict_interval(5, history=[panel[i]])
        width = float((alone["upper"] - alone["lower"]).max())
        for end in (
            "lower",
            "upper",
        ):  # members of next to no weight are left out by what all series of a group give them
            assert_allclose(alone[end], ends[end][own], atol=1e-3 * width)


def test_lines_have_half_of_what_they_follow_better():
    panel = cycles(30)
    model = RKMForecaster(season=None, horizon=5, random_state=0).fit(list(panel[:, :-5]))
    assert_allclose([line.share for line in model._smoothing.smoothing.lines], [0.5])
    found = model.predict(5)["mean"].to_numpy().reshape(-1, 5)
    plain = Smoothing(law=model._smoothing.smoothing.law).forecast(panel[:, :-5], 5)
    assert np.abs(found - panel[:, -5:]).mean() < 0.8 * np.abs(plain - panel[:, -5:]).mean()


def test_series_below_fifty_values_have_no_regression():
    model = RKMForecaster(season=None, random_state=0).fit([*cycles(20), *WALKS])
    smoothing = model._smoothing.smoothing
    short = WALKS[0, :40]
    expected = Smoothing(law=smoothing.law).forecast(short[None], 3)[0]
    assert any(line.lags for line in smoothing.lines)
    assert_allclose(model.predict(3, history=[short])["mean"], expected)


@pytest.mark.parametrize(("off", "shown"), [(0.0, False), (9.0, True)])
def test_naive_has_a_share_where_it_is_better(off, shown):
    past = as_panel(list(WALKS[:, :-4]), PanelNames())
    truth, last = WALKS[:, -4:], WALKS[:, -5:-4]
    own = np.repeat(last, 4, axis=1) + off
    lines = with_lines(past, truth, own, Smoothing()).lines
    naive = [line for line in lines if not line.lags]
    assert bool(naive) == shown
    assert sum(line.share for line in lines) <= 1.0
