"""Table: named columns of numbers or texts, with the line of the file that each row came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gramian._arrays import Array
from gramian.io.source import Source

MAX_COLUMNS = 10_000
BATCH_CELLS = 1_000_000
TEXT_BYTES = 64
"""What a cell of text takes, about; a number takes 8."""

MISSING = frozenset(
    [
        "",
        "na",
        "n/a",
        "#n/a",
        "<na>",
        "nan",
        "-nan",
        "+nan",
        "null",
        "none",
        "nat",
        "?",
        "-",
        "--",
        "–",
        "—",
        ".",
        "missing",
        "#null!",
        "#value!",
        "#div/0!",
        "#ref!",
        "#name?",
        "#num!",
    ],
)
"""Cells that mean "not observed", in lower case."""
NO_SUCH_THING = "none"
"""Means "not observed" among numbers; among words it is one of them, as in none, mild, severe."""


@dataclass(frozen=True)
class ReadOptions:
    """How a table is to be read; None means: find out.

    ``text`` are columns taken as text whatever they hold, ``skip`` columns that are not looked at. ``skip_lines`` lines
    stand above the table; ``sheet`` is the name or number of a sheet; ``drop_totals`` leaves rows out that are called
    total or mean; ``memory`` bytes may be spent on the table.
    """

    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    array: str | None = None
    text: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    skip_lines: int | None = None
    sheet: str | None = None
    drop_totals: bool = False
    memory: int | None = None


@dataclass
class Table:
    """Columns of equal length: float64 (NaN is missing) or object arrays of text (None is missing).

    Examples
    --------
    >>> import numpy as np
    >>> table = Table(["a", "b"], [np.array([1.0, np.nan]), np.array(["x", None], dtype=object)])
    >>> table.n_rows, table.kinds
    (2, ['number', 'text'])
    >>> table["a"].tolist()
    [1.0, nan]
    """

    names: list[str]
    columns: list[Array]
    lines: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    source: Source | None = None
    notes: list[str] = field(default_factory=list)
    raw: list[list[str]] | None = None

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(self.columns[0]) if self.columns else 0

    @property
    def kinds(self) -> list[str]:
        """``"number"`` or ``"text"`` for each column."""
        return ["text" if column.dtype == object else "number" for column in self.columns]

    def __getitem__(self, name: str) -> Array:
        return self.columns[self.names.index(name)]

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def place(self, row: int, column: str | None = None) -> str:
        """Where a row stands, in words: ``file, line 7, column 'age'``."""
        parts = [self.source.name] if self.source else []
        parts.append(f"line {self.lines[row]}" if len(self.lines) else f"row {row + 1}")
        return ", ".join(parts + ([f"column {column!r}"] if column is not None else []))


class TableReader(Protocol):
    """What every format offers."""

    source: Source
    names: list[str]
    notes: list[str]

    def batches(self, rows: int | None = None, *, raw: bool = False) -> Iterator[Table]:
        """The table in pieces of at most ``rows`` rows, from the beginning."""
        ...


def batch_rows(n_columns: int, rows: int | None) -> int:
    """Rows a piece: about a million cells unless told."""
    return rows if rows is not None else max(1, BATCH_CELLS // max(1, n_columns))


def concatenated(tables: Iterable[Table]) -> Table:
    """One table of pieces. A column that is all missing in early pieces is text if it is text in later ones."""
    parts = list(tables)
    first = parts[0]
    columns = [joined([part.columns[j] for part in parts]) for j in range(len(first.names))]
    raw = None if first.raw is None else [row for part in parts for row in part.raw or []]
    lines = np.concatenate([part.lines for part in parts])
    return Table(first.names, columns, lines, first.source, first.notes, raw)


def joined(pieces: Sequence[Array]) -> Array:
    """One column of its pieces, without a copy where there is one; missing numbers are missing texts among texts."""
    if len(pieces) == 1:
        return pieces[0]
    if any(piece.dtype == object for piece in pieces):
        pieces = [piece if piece.dtype == object else np.full(len(piece), None, dtype=object) for piece in pieces]
    return np.concatenate(pieces)


def checked_names(source: Source, header: Sequence[Any]) -> list[str]:
    """Column names: not too many, none twice; a nameless column is called by its position."""
    if len(header) > MAX_COLUMNS:
        raise source.fail(
            f"{len(header)} columns; the command line reads at most {MAX_COLUMNS}. "
            "Give fewer columns, or use gramian from Python."
        )
    names = [str(name).strip() or f"column {position}" for position, name in enumerate(header, start=1)]
    seen: set[str] = set()
    twice = sorted({name for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
    if twice:
        listed = ", ".join(repr(name[:60]) for name in twice[:5]) + (", ..." if len(twice) > 5 else "")
        raise source.fail(f"duplicate column names: {listed}. Rename them, or pass --no-header if there is no header.")
    return names
