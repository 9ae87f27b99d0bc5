"""Indices that go on, and indices that are refused with advice."""

import numpy as np
import pytest

from gramian.series.time_index import describe_index, future_index, usual_seasons

pd = pytest.importorskip("pandas")


def after(index, steps=2):
    return list(future_index(describe_index(pd.Series(0.0, index=index)), np.arange(1, steps + 1)))


@pytest.mark.parametrize("freq", ["ME", "MS", "QE", "QS", "W-SUN", "W-WED", "B", "D", "h", "15min", "YE", "2D"])
def test_dates_go_on_with_the_step_they_have(freq):
    whole = pd.date_range("2021-01-01", periods=40, freq=freq)
    assert after(pd.DatetimeIndex(list(whole[:38]))) == list(whole[38:])


@pytest.mark.parametrize("freq", ["M", "Q", "Y", "W", "D"])
def test_periods_go_on(freq):
    whole = pd.period_range("2021-01-01", periods=12, freq=freq)
    assert after(whole[:10]) == list(whole[10:])


def test_numbers_go_on():
    assert after(np.arange(1959, 1989)) == [1989, 1990]
    assert after(1959 + np.arange(8) / 4) == pytest.approx([1961.0, 1961.25])
    assert after(pd.timedelta_range("1h", periods=5, freq="h")) == list(pd.to_timedelta([6, 7], unit="h"))
    assert after(list("abcd")) == [4, 5]


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (pd.to_datetime(["2021-01-01", "2021-01-02", "2021-01-05", "2021-01-06"]), "irregular.*asfreq"),
        (pd.to_datetime(["2021-01-01", "2021-01-01", "2021-01-02"]), "duplicated.*groupby"),
        (pd.date_range("2021-01-01", periods=5)[::-1], "descending.*sort_index"),
        (pd.to_datetime(["2021-01-01", "2021-01-03", "2021-01-02"]), "not in order.*sort_index"),
        (pd.PeriodIndex(["2021-01", "2021-02", "2021-04"], freq="M"), "irregular"),
        (pd.PeriodIndex(["2021-02", "2021-01"], freq="M"), "descending"),
        ([1, 2, 4], "irregular"),
        ([3, 2, 1], "descending"),
        ([1, 1, 2], "duplicated"),
        ([1.0, np.nan, 2.0], "missing times"),
        (pd.MultiIndex.from_product([[1, 2], [1, 2]]), "levels"),
    ],
)
def test_an_index_that_does_not_go_forward_evenly_is_refused_with_advice(index, words):
    with pytest.raises(ValueError, match=words):
        describe_index(pd.Series(0.0, index=index))


@pytest.mark.parametrize(
    ("freq", "seasons"),
    [
        ("ME", (12,)),
        ("QS", (4,)),
        ("W-SUN", (52,)),
        ("B", (5,)),
        ("D", (7,)),
        ("h", (24, 168)),
        ("2h", (12, 84)),
        ("YE", ()),
    ],
)
def test_the_step_says_which_seasons_are_usual(freq, seasons):
    index = pd.date_range("2021-01-01", periods=20, freq=freq)
    assert usual_seasons(describe_index(pd.Series(0.0, index=index))) == seasons
