"""Codes of missing: a number such as -999, 9999, -1, 99 or 0 that stands apart from its column and repeats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import is_real
from gramian.exceptions import DataWarning, warn
from gramian.rows.base import Block, Rows
from gramian.tables.table import Table

FEWEST_OTHERS = 10
"""A column with fewer other values says nothing of where they end."""
APART = 2.5
"""A code repeats in its column and is farther from the others than so many of the widest gaps between them on that side, and of their deviations."""
CLEAR = 2
"""A code that stands alone in its column does so in so many columns at least, by more than the whole range of the others."""

FEW_ZEROS = 0.1
"""A larger share of a column's cells means what it says."""


@dataclass(frozen=True)
class Code:
    """A number that stands for missing: how often, and in which columns (by position)."""

    value: Annotated[float, "number"]
    count: Annotated[int, "count"]
    columns: tuple[int, ...]

    @property
    def written(self) -> str:
        """The number in as few digits as tell it."""
        return repr(float(self.value)).removesuffix(".0")

    def told(self, keep: str) -> str:
        """In words; ``keep`` is how to keep it."""
        times = "once" if self.count == 1 else f"{self.count} times"
        where = "1 column" if len(self.columns) == 1 else f"{len(self.columns)} columns"
        return f"{self.written} stands {times} in {where}, far from all other values: taken as missing ({keep} to keep it)."


def find_codes(columns: Sequence[Array], keep: Iterable[float] = ()) -> list[Code]:
    """The codes of missing of columns of numbers (NaN where missing), but those to ``keep``.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.array([23.0, 35.0, 41.0, 29.0, 62.0, 55.0, 33.0, 47.0, 38.0, 51.0, -999.0, -999.0])
    >>> [(code.value, code.count) for code in find_codes([ages])]
    [(-999.0, 2)]
    >>> find_codes([ages], keep=[-999])
    []
    """
    kept = {float(value) for value in keep}
    found: dict[float, list[tuple[int, int, bool]]] = {}
    for j, column in enumerate(columns):
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        ends = [k for k in (0, 1, -2, -1) if abs(k) < len(values)]
        codes = {
            float(values[k]): int(counts[k]) for k in ends if _looks_coded(float(values[k])) and values[k] not in kept
        }
        others = ~np.isin(values, list(codes))
        for value, count in codes.items():
            if counts[others].sum() >= FEWEST_OTHERS and others.sum() > 2:
                how = _apart(value, values[others], counts[others])
                if how is not None:
                    found.setdefault(value, []).append((j, count, how))
    out = []
    for value, places in sorted(found.items()):
        clear = [place for place in places if place[2]]
        taken = [place for place in places if place[1] > 1 or (place[2] and len(clear) >= CLEAR)]
        if value == 0:  # most zeros are zeros: few in a column, and standing clear or in several columns
            taken = [place for place in taken if place[1] <= FEW_ZEROS * np.count_nonzero(~np.isnan(columns[place[0]]))]
            taken = taken if len(taken) >= CLEAR or any(place[2] for place in taken) else []
        if taken:
            out.append(Code(value, sum(count for _, count, _ in taken), tuple(j for j, _, _ in taken)))
    return out


def _looks_coded(value: float) -> bool:
    """Whether people write the number for missing: 0, -1, and nines (99, -9, 9999, 99999.99, ...)."""
    if value in (0.0, -1.0):
        return True
    digits = f"{abs(value):.10g}".replace(".", "")
    return set(digits) == {"9"} and (len(digits) > 1 or value < 0)


def _apart(value: float, others: Array, counts: Array) -> bool | None:
    """Whether a number stands apart from the others (sorted): True by more than their range, False by many of their gaps or by its sign, else None."""
    low, high = others[0], others[-1]
    gap = max(low - value, value - high)
    if gap <= 0:
        return None
    if gap > high - low:
        return True
    if value < 0 <= low:  # nothing else is below zero: nobody measures that
        return False
    middle = others[np.searchsorted(np.cumsum(counts), counts.sum() / 2)]
    side = others[others <= middle] if value < low else others[others >= middle]
    widest = float(np.diff(side).max(initial=0.0))
    mean = np.average(others, weights=counts)
    deviation = float(np.sqrt(np.average((others - mean) ** 2, weights=counts)))
    return False if len(side) > 2 and gap > APART * widest and abs(value - mean) > APART * deviation else None


def warn_of_codes(codes: Sequence[Code], keep: str) -> None:
    """One `DataWarning` per code; ``keep`` has a place for its value."""
    for code in codes:
        warn(code.told(keep.format(code.written)), DataWarning)


def check_keep_codes(keep_codes: Any) -> list[float]:
    """``keep_codes`` as numbers."""
    given = [] if keep_codes is None else list(np.atleast_1d(np.asarray(keep_codes, dtype=object)))
    if not all(is_real(value) for value in given):
        raise ValueError(f"keep_codes={keep_codes!r} must be a list of numbers, such as [-999].")
    return [float(value) for value in given]


def codes_as_missing(table: Table, keep: Any = (), how: str = "`--keep {}`") -> tuple[Table, dict[str, list[float]]]:
    """The table with its codes as missing, said in its notes, and the codes of each column; ``how`` says how to keep one.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.tables.table import Table
    >>> table = Table(["a"], [np.array([*np.arange(20.0), -999.0, -999.0])])
    >>> found, codes = codes_as_missing(table)
    >>> codes, found.notes
    ({'a': [-999.0]}, ['-999 stands 2 times in 1 column, far from all other values: taken as missing (`--keep -999` to keep it)'])
    """
    numbers = [j for j, column in enumerate(table.columns) if column.dtype.kind == "f"]
    found = find_codes([table.columns[j] for j in numbers], check_keep_codes(keep))
    codes: dict[str, list[float]] = {}
    for code in found:
        for j in code.columns:
            codes.setdefault(table.names[numbers[j]], []).append(code.value)
    said = [code.told(how.format(code.written)).rstrip(".") for code in found]
    return replace(cells_as_missing(table, codes), notes=[*table.notes, *said]), codes


def cells_as_missing(table: Table, codes: Mapping[str, Sequence[float]]) -> Table:
    """The table with NaN in the place of the codes of its columns, by name."""
    if not any(name in codes for name in table.names):
        return table
    columns = [
        np.where(np.isin(column, codes[name]), np.nan, column) if name in codes and column.dtype.kind == "f" else column
        for name, column in zip(table.names, table.columns)
    ]
    return replace(table, columns=columns)


def count_codes(rows: Rows, codes: Sequence[Code]) -> list[Code]:
    """The codes with how often they stand in all of these rows: one pass, where there are any."""
    if not codes:
        return []
    counts = rows.fold(CodeCounts.of, tuple(codes)).counts
    return [replace(code, count=int(count)) for code, count in zip(codes, counts)]


@dataclass(frozen=True)
class CodeCounts:
    """How often each code stands in its columns; merges with ``+``."""

    counts: Array

    @classmethod
    def of(cls, block: Block, codes: tuple[Code, ...]) -> CodeCounts:
        """Of the rows of one block that have a weight."""
        X = block.X[block.weights > 0]
        return cls(np.array([np.count_nonzero(X[:, list(code.columns)] == code.value) for code in codes]))

    def __add__(self, other: CodeCounts) -> CodeCounts:
        return CodeCounts(self.counts + other.counts)


def without_codes(columns: Array, codes: Sequence[Code]) -> Array:
    """The columns (n, d) with NaN in the place of codes."""
    if not codes:
        return columns
    out = columns.copy()
    for code in codes:
        for j in code.columns:
            out[out[:, j] == code.value, j] = np.nan
    return out
