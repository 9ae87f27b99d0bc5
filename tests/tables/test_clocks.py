"""Clocks are recognised, refused or carried on as they are written."""

import numpy as np
import pytest

from gramian.tables.clocks import Clock, calendar_columns
from gramian.tables.table import Table


def texts(cells):
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


def clock(cells, name="when"):
    column = texts(cells) if isinstance(cells[0], str) else np.array(cells, dtype=float)
    return Clock.of(Table([name, "y"], [column, np.zeros(len(cells))]))


@pytest.mark.parametrize(
    ("cells", "following", "seasons"),
    [
        (["2020-02-27", "2020-02-28", "2020-02-29"], ["2020-03-01", "2020-03-02"], (7,)),
        (["2020-01-01 22:00:00", "2020-01-01 23:00:00", "2020-01-02 00:00:00"], ["2020-01-02 01:00:00"], (24, 168)),
        (["2020-01-01T22:00", "2020-01-01T23:00", "2020-01-02T00:00"], ["2020-01-02T01:00"], (24, 168)),
        (
            ["2020-01-01 22:00:00", "2020-01-01 22:30:00", "2020-01-01 23:00:00"],
            ["2020-01-01 23:30:00", "2020-01-02 00:00:00"],
            (),
        ),
        (["2024-11", "2024-12", "2025-01"], ["2025-02", "2025-03"], (12,)),
        (["1959Q1", "1959Q2", "1959Q3"], ["1959Q4", "1960Q1"], (4,)),
        (["2023-01-31", "2023-02-28", "2023-03-31"], ["2023-04-30", "2023-05-31"], (12,)),
        (["2023-01-15", "2023-02-15", "2023-03-15"], ["2023-04-15"], (12,)),
        (["29/12/2023", "30/12/2023", "31/12/2023"], ["01/01/2024"], (7,)),
        (["12/30/2023", "12/31/2023", "01/01/2024"], ["01/02/2024"], (7,)),
        (["01/01/2023", "01/02/2023", "01/03/2023", "01/04/2023"], None, ()),
        (["01.01.2024", "08.01.2024", "15.01.2024"], ["22.01.2024"], (52,)),
        (["2024-03-07", "2024-03-08", "2024-03-11", "2024-03-12"], ["2024-03-13"], (5,)),
        (["2024-01-01", "2024-01-02", "2024-01-05"], None, ()),
        (["Oct 2023", "Nov 2023", "Dec 2023"], ["Jan 2024", "Feb 2024"], (12,)),
        (["Nov-23", "Dec-23", "Jan-24"], ["Feb-24"], (12,)),
        (["2Q23", "3Q23", "4Q23"], ["1Q24"], (4,)),
        (["Q3/2023", "Q4/2023", "Q1/2024"], ["Q2/2024"], (4,)),
        (["2023 Q3", "2023 Q4", "2024 Q1"], ["2024 Q2"], (4,)),
        (["30.12.23", "31.12.23", "01.01.24"], ["02.01.24"], (7,)),
        (["9/8/2024", "9/15/2024", "9/22/2024"], ["9/29/2024", "10/6/2024"], (52,)),
        (["22:00", "23:00", "00:00"], ["01:00"], (24, 168)),
        (["9:00 PM", "10:00 PM", "11:00 PM"], ["12:00 AM", "1:00 AM"], (24, 168)),
        (["2020-W52", "2020-W53", "2021-W01"], ["2021-W02"], (52,)),
        (["2024-01-01T22:00:00Z", "2024-01-01T23:00:00Z", "2024-01-02T00:00:00Z"], ["2024-01-02T01:00:00Z"], (24, 168)),
        (["2024-01-01 22:00:00", "2024-01-01 23:00:00", "2024-01-02"], ["2024-01-02 01:00:00"], (24, 168)),
        (["2024-07-01", "2024-08-01", "2024-09-01"], ["2024-10-01", "2024-11-01"], (12,)),
        (["apple", "pear", "plum"], None, ()),
    ],
)
def test_dates(cells, following, seasons):
    found = clock(cells)
    if following is None:
        assert found is None
    else:
        assert found.after(len(following)).tolist() == following
        assert found.seasons == seasons


def test_years_are_clocks_by_their_name():
    assert clock([1999, 2000, 2001], "Year").after(2).tolist() == [2002, 2003]
    assert clock([1999, 2000, 2001], "sales") is None
    assert clock([1.0, 2.0, 4.0], "t") is None


@pytest.mark.parametrize("cells", [["2024-01-03", "2024-01-02", "2024-01-01"], [2003, 2002, 2001]])
def test_a_clock_that_runs_backwards_is_refused(cells):
    with pytest.raises(ValueError, match="runs backwards"):
        clock(cells, "year")


def test_calendar_columns_are_found():
    table = Table(["year", "month", "y"], [np.r_[1.0, 1, 1, 2], np.r_[10.0, 11, 12, 1], np.r_[0.5, 1, 2, 3]])
    assert calendar_columns(table, None) == ["year", "month"]


def test_years_with_months_or_quarters_are_one_clock():
    year, month = np.array([2023.0, 2023.0, 2024.0]), np.array([11.0, 12.0, 1.0])
    found = Clock.of(Table(["y", "Year", "month"], [np.zeros(3), year, month]))
    assert (found.names, found.seasons) == (("Year", "month"), (12,))
    assert {name: cells.tolist() for name, cells in found.columns_after(2).items()} == {
        "Year": [2024, 2024],
        "month": [2, 3],
    }
    assert "'Year', 'month' are the clock" in found.words
    assert Clock.of_cells(found.cells(Table(["Year", "month"], [year, month]))).parts == found.parts
    quarters = Clock.of(Table(["year", "quarter"], [np.array([1999.0, 1999.0, 2000.0]), np.array([3.0, 4.0, 1.0])]))
    assert quarters.columns_after(1)["quarter"].tolist() == [2]
    assert quarters.seasons == (4,)
    days = Clock.of(
        Table(["year", "month", "day"], [np.full(3, 2024.0), np.array([2.0, 2.0, 3.0]), np.array([28.0, 29.0, 1.0])])
    )
    assert [cells.tolist() for cells in days.columns_after(1).values()] == [[2024], [3], [2]]
    assert Clock.of(Table(["year", "month"], [year, np.array([11.0, 12.0, 2.0])])) is None
    assert Clock.of(Table(["year", "month"], [year, np.array([11.0, 13.0, 2.0])])) is None


def test_parts_of_dates_are_calendar_columns_within_their_range():
    column = np.array([0.0, 6.0, 3.0])
    table = Table(["Day of Week", "dow", "day1"], [column, 1e4 * column, column])
    assert calendar_columns(table, None) == ["Day of Week"]
