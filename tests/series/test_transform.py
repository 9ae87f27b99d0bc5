"""What is taken off a series is put back exactly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian.series.transform import SeriesTransform, bridge_gaps, smooth

Y = np.exp(0.1 * np.random.default_rng(0).standard_normal(60).cumsum())


@pytest.mark.parametrize(
    "transform",
    [
        SeriesTransform(),
        SeriesTransform(log=True),
        SeriesTransform(difference=1),
        SeriesTransform(7),
        SeriesTransform(4, 1),
        SeriesTransform(4, 1, True, 0.5, 0.25),
        SeriesTransform(12, 0, False, 0.25),
    ],
    ids=SeriesTransform.words,
)
@pytest.mark.parametrize("origin", [30, 41])
def test_values_after_an_origin_come_back_exactly(transform, origin):
    z, removed = transform.forward(Y)
    assert_allclose(transform.back(z[None, origin:], removed.at(origin, transform.season))[0], Y[origin:], rtol=1e-12)


def test_rates_of_one_are_plain_differences():
    z, _ = SeriesTransform(4, 1).forward(Y)
    assert_allclose(z[5:], np.diff(Y[4:] - Y[:-4]), atol=1e-14)
    assert np.isnan(z[:5]).all()


def test_the_transformation_never_looks_ahead():
    transform = SeriesTransform(4, 1, True, 0.5, 0.5)
    whole, part = transform.forward(Y)[0], transform.forward(Y[:40])[0]
    assert_array_equal(whole[:40], part)


def test_a_gap_blurs_what_is_compared_with_it_and_nothing_else():
    y = Y.copy()
    y[20] = np.nan
    z, _ = SeriesTransform(4, 1).forward(y)
    clean, _ = SeriesTransform(4, 1).forward(Y)
    assert_array_equal(np.flatnonzero(np.isnan(z)), [0, 1, 2, 3, 4, 20, 21, 24, 25])
    seen = ~np.isnan(z)
    assert_allclose(z[seen], clean[seen])


def test_gaps_are_bridged_by_lines_and_seasons():
    assert_allclose(bridge_gaps(np.array([1.0, np.nan, np.nan, 4.0]), 0), [1, 2, 3, 4])
    y = np.tile([1.0, 5.0, 2.0], 6)
    holed = y.copy()
    holed[[4, 10]] = np.nan
    assert_allclose(bridge_gaps(holed, 3), y, atol=1.0)
    assert abs(bridge_gaps(holed, 3)[4] - 5.0) < abs(bridge_gaps(holed, 0)[4] - 5.0)


def test_a_phase_that_was_never_seen_lies_between_those_beside_it():
    y = np.tile([50.0, 51.0, 52.0, 51.0], 6)
    holed = np.where(np.arange(24) % 2 == 1, np.nan, y)
    assert_allclose(bridge_gaps(holed, 4)[:-1], y[:-1])


def test_smoothing_is_its_recursion():
    found, level = smooth(Y, 0.3), Y[0]
    for t in range(1, 60):
        level += 0.3 * (Y[t] - level)
        assert found[t] == pytest.approx(level)
