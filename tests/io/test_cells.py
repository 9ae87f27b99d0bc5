"""Numbers in cells, in every dress."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.io.cells import Dress, dressed_number, looks_numeric

POINT = {
    "12.3 %": 12.3,
    "12.3%": 12.3,
    "1,234.50": 1234.5,
    "12,345,678": 12345678,
    "$5": 5,
    "$1,234.50": 1234.5,
    "-$5": -5,
    "$-5": -5,
    "5 €": 5,
    "EUR 5.25": 5.25,
    "(5.00)": -5,
    "($1,234)": -1234,
    "5.00-": -5,
    "\u22125.5": -5.5,
    "\u20135": -5,
    "1'234.5": 1234.5,
    "1 234.5": 1234.5,
    "1\u202f234": 1234,
    "1e-3": 0.001,
    ".5": 0.5,
}
COMMA = {"12.345,67": 12345.67, "1.234": 1234, "1 234,5": 1234.5, "(3,5)": -3.5, "12,5 %": 12.5, "\u22121,5": -1.5}
NOT = [
    "",
    "a",
    "12a",
    "1,23.4",
    "1.2.3",
    "12 34",
    "(5",
    "5)",
    "(-5)",
    "--5",
    "$5%",
    "1_000",
    "2024-01-01",
    "%",
    "$",
    "1/2",
]


@pytest.mark.parametrize("cell, value", POINT.items())
def test_numbers_with_a_decimal_point(cell, value):
    assert dressed_number(cell, ".")[0] == value


@pytest.mark.parametrize("cell, value", COMMA.items())
def test_numbers_with_a_decimal_comma(cell, value):
    assert dressed_number(cell, ",")[0] == value


@pytest.mark.parametrize("cell", NOT)
def test_what_is_no_number(cell):
    assert dressed_number(cell, ".") is None
    assert not looks_numeric(cell)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_plain_numbers_are_what_float_says(value):
    assert dressed_number(repr(value)) == (value, Dress())


@given(st.integers(-(10**12), 10**12), st.sampled_from(["$", "€", ""]), st.sampled_from([" %", ""]))
def test_a_dress_put_on_is_taken_off(value, before, after):
    dress = Dress(before, "" if before else after)
    assert dressed_number(dress.around(str(value)))[0] == value
    assert dressed_number(f"{value:,}")[0] == value
    assert np.isfinite(value)
