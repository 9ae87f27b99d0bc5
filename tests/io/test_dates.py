"""Dates as people write them."""

from datetime import datetime

import pytest

from gramian.io.dates import are_dates, moments

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


@pytest.mark.parametrize("cell", ["2024-Q2", "2024Q2", "Q2 2024", "Q2/2024"])
def test_quarters(cell):
    assert moments([cell]) == [datetime(2024, 4, 1)]


def test_weeks_and_times():
    assert moments(["2024-W01"]) == [datetime(2024, 1, 1)]
    assert moments(["2024-03-01T12:30:05Z", "2024-03-01 12:30:06"])[0] == datetime(2024, 3, 1, 12, 30, 5)
    assert moments(["9:05 pm", None]) == [datetime(1900, 1, 1, 21, 5), None]


def test_the_other_cells_say_whether_days_or_months_come_first():
    assert moments(["1/2/2024", "13/2/2024"])[0] == datetime(2024, 2, 1)
    assert moments(["1/2/2024", "2/13/2024"])[0] == datetime(2024, 1, 2)


@pytest.mark.parametrize(
    "cells", [["a"], ["12"], ["2024-13-01"], ["2024-03-01", "x"], [None], ["abc 2024"], ["32/1/2024"], []]
)
def test_what_is_no_date(cells):
    assert not are_dates(cells)
