"""Cells such as <0.5."""

import numpy as np

from gramian.tables.limits import limited_numbers, with_limits
from gramian.tables.table import Table


def test_columns_of_numbers_with_limits_are_numbers():
    column = np.array(["1,5", "<0,5", "≤ 1", None, "2"], dtype=object)
    numbers, limits = limited_numbers(column, ",")
    np.testing.assert_array_equal(numbers, [1.5, np.nan, np.nan, np.nan, 2.0])
    np.testing.assert_array_equal(limits, [np.nan, 0.5, 1.0, np.nan, np.nan])


def test_words_ranges_and_plain_numbers_are_left_alone():
    words = np.array(["<18", "18-24", "25+"], dtype=object)
    table = Table(["a", "b"], [words, np.array([1.0, 2.0, 3.0])])
    assert with_limits(table) == (table, {})
    assert limited_numbers(np.array(["1", "2"], dtype=object)) is None
