"""Table: named columns of numbers or texts, with the line of the file that each row came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gramian._arrays import Array

MISSING = frozenset(
    [
        "",
        "na",
        "n/a",
        "n.a.",
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


TOTALS = frozenset(
    [
        "total",
        "totals",
        "grand total",
        "sum",
        "sums",
        "subtotal",
        "sub-total",
        "overall",
        "summe",
        "gesamt",
        "insgesamt",
        "gesamtsumme",
        "somme",
        "totaal",
        "totale",
        "suma",
        "soma",
        "average",
        "mean",
        "mittelwert",
        "moyenne",
    ]
)
"""The first cell of a row that sums or averages those above it."""


class TableError(ValueError):
    """A table that cannot be read, in one line: the file, the line, the column, what is wrong, what to do."""


class Named(Protocol):
    """Where a table came from."""

    name: str


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
    source: Named | None = None
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


def concatenate_tables(tables: Iterable[Table]) -> Table:
    """One table of pieces. A column that is all missing in early pieces is text if it is text in later ones."""
    parts = list(tables)
    first = parts[0]
    columns = [join_pieces([part.columns[j] for part in parts]) for j in range(len(first.names))]
    raw = None if first.raw is None else [row for part in parts for row in part.raw or []]
    lines = np.concatenate([part.lines for part in parts])
    return Table(first.names, columns, lines, first.source, first.notes, raw)


def join_pieces(pieces: Sequence[Array]) -> Array:
    """One column of its pieces, without a copy where there is one; missing numbers are missing texts among texts."""
    if len(pieces) == 1:
        return pieces[0]
    if any(piece.dtype == object for piece in pieces):
        pieces = [piece if piece.dtype == object else np.full(len(piece), None, dtype=object) for piece in pieces]
    return np.concatenate(pieces)


def quote(text: Any, width: int = 60) -> str:
    """A name or cell for a one-line message: quoted, control characters escaped, cut when long."""
    text = str(text)
    return repr(text if len(text) <= width else text[: width - 1] + "…")


def is_total(cells: Sequence[str]) -> bool:
    """Whether a record is the sum or mean of those above: its first cell that is not empty says so."""
    first = next((cell.strip() for cell in cells if cell.strip()), "")
    return first.rstrip(":").strip().lower() in TOTALS
