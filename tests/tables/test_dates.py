"""Dates as people write them."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from gramian.tables.dates import are_dates, moments, readings

FIRST_OF_MARCH = [
    "2024-03-01",
    "1/3/2024",
    "01.03.2024",
    "1 March 2024",
    "Mar 1, 2024",
    "1-Mar-24",
    "2024/3/1",
    "1. März 2024",
]


@pytest.mark.parametrize("cell", FIRST_OF_MARCH)
def test_one_day_in_many_forms(cell):
    assert moments([cell]) == [datetime(2024, 3, 1)]


@pytest.mark.parametrize("cell", ["2024-03", "03/2024", "Mar 2024", "2024M3", "2024M03", "March-2024"])
def test_months(cell):
    assert moments([cell]) == [datetime(2024, 3, 1)]


@pytest.mark.parametrize("cell", ["2024-Q2", "2024Q2", "Q2 2024", "Q2/2024", "Q2'24", "2Q24", "2Q 2024"])
def test_quarters(cell):
    assert moments([cell]) == [datetime(2024, 4, 1)]


def test_weeks_and_times():
    assert moments(["2024-W01"]) == [datetime(2024, 1, 1)]
    assert moments(["2024-03-01T12:30:05Z"]) == [datetime(2024, 3, 1, 12, 30, 5, tzinfo=UTC)]
    assert moments(["2024-03-01 14:30+02:00"]) == [datetime(2024, 3, 1, 12, 30, tzinfo=UTC)]
    assert moments(["2024-03-01 12:30:05.25"]) == [datetime(2024, 3, 1, 12, 30, 5, 250_000)]
    assert moments(["9:05 pm", None]) == [datetime(1900, 1, 1, 21, 5), None]


def test_the_other_cells_say_whether_days_or_months_come_first():
    assert moments(["1/2/2024", "13/2/2024"])[0] == datetime(2024, 2, 1)
    assert moments(["1/2/2024", "2/13/2024"])[0] == datetime(2024, 1, 2)


@pytest.mark.parametrize(
    "cells", [["a"], ["12"], ["2024-13-01"], ["2024-03-01", "x"], [None], ["abc 2024"], ["32/1/2024"], []]
)
def test_what_is_no_date(cells):
    assert not are_dates(cells)


def test_times_of_day_go_on_past_midnight_but_not_backwards():
    late = readings(["23:00", "23:30", "00:00", "00:30"])[0].moments
    assert [later - earlier for earlier, later in pairwise(late)] == 3 * [timedelta(minutes=30)]
    back = readings(["10:00", "09:00", "08:00"])[0].moments
    assert back == sorted(back, reverse=True)


@pytest.mark.parametrize(
    "cell", [*FIRST_OF_MARCH, "2024-03-01T00:00Z", "Mar 2024", "2024M03", "Q1 2024", "9:05 p.m.", "2024-W09"]
)
def test_a_style_writes_what_it_has_read(cell):
    for reading in readings([cell]):
        assert reading.style.write(reading.moments[0]) == cell


def test_months_are_called_as_in_the_cells_and_in_english_where_those_do_not_say():
    german = readings(["Februar 2024", "März 2024"])[0].style
    assert [german.write(datetime(2025, month, 1)) for month in (3, 4)] == ["März 2025", "April 2025"]
    assert readings(["NOV-23", "DEC-23"])[0].style.write(datetime(2024, 1, 1)) == "JAN-24"
