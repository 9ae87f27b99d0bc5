"""Cells of a file that say "below a limit": ``<0.5`` in a column of numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from gramian._arrays import Array
from gramian.tables.table import Table

_BELOW = re.compile(r"\s*(?:<=?|≤)\s*(?P<number>[^<≤\s].*)")


def limited_numbers(column: Array, decimal: str = ".") -> tuple[Array, Array] | None:
    """A column of texts as numbers, NaN where a cell is missing or below a limit, and those limits (NaN elsewhere).

    None where it is no such column: every cell is a number or a limit, there is a limit, and there are two numbers at least.

    Examples
    --------
    >>> import numpy as np
    >>> numbers, limits = limited_numbers(np.array(["1.5", "<0.5", None, "2"], dtype=object))
    >>> numbers.tolist(), limits.tolist()
    ([1.5, nan, nan, 2.0], [nan, 0.5, nan, nan])
    >>> limited_numbers(np.array(["<18", "18-24"], dtype=object)) is None
    True
    """
    if column.dtype != object:
        return None
    numbers, limits = np.full(len(column), np.nan), np.full(len(column), np.nan)
    for row, cell in enumerate(column.tolist()):
        if cell is None or cell != cell:
            continue
        below = _BELOW.fullmatch(str(cell))
        value = _number(str(cell) if below is None else below["number"], decimal)
        if value is None:
            return None
        (numbers if below is None else limits)[row] = value
    if np.isnan(limits).all() or np.count_nonzero(~np.isnan(numbers)) < 2:
        return None
    return numbers, limits


def is_limit(cell: str) -> bool:
    """Whether a cell says "below a limit", with either decimal mark.

    >>> is_limit("<0,5"), is_limit("< 3"), is_limit("<18 years")
    (True, True, False)
    """
    below = _BELOW.fullmatch(cell)
    return below is not None and _number(below["number"], ",") is not None


def _number(text: str, decimal: str) -> float | None:
    try:
        return float(text.strip().replace(",", ".") if decimal == "," else text)
    except ValueError:
        return None


def with_limits(table: Table, decimal: str = ".") -> tuple[Table, dict[str, Array]]:
    """The table with such columns as numbers, and the limits of their cells by column."""
    columns, found = list(table.columns), {}
    for j, (name, column) in enumerate(zip(table.names, columns)):
        read = limited_numbers(column, decimal)
        if read is not None:
            columns[j], found[name] = read
    return (replace(table, columns=columns), found) if found else (table, found)
