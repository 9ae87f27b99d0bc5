"""How tables are read: options, the verbs of every format, column names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gramian.io.source import Source
from gramian.policy import FILES
from gramian.tables.table import Table


@dataclass(frozen=True)
class ReadOptions:
    """How a table is to be read; None means: find out.

    ``text`` are columns taken as text whatever they hold, ``skip`` columns that are not looked at. ``skip_lines`` lines
    stand above the table; ``sheet`` is the name or number of a sheet; ``drop_totals`` leaves rows out that are called
    total or mean (None: where they are few); ``memory`` bytes may be spent on the table. With ``limits`` a column of numbers may hold
    cells such as ``<0.5``: it is read as text, for `gramian.tables.limits`.
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
    drop_totals: bool | None = None
    memory: int | None = None
    limits: bool = False


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
    return rows if rows is not None else max(1, FILES.batch // max(1, n_columns))


def checked_names(source: Source, header: Sequence[Any]) -> list[str]:
    """Column names: not too many, none twice; a nameless column is called by its position."""
    if len(header) > FILES.columns:
        raise source.fail(
            f"{len(header)} columns; the command line reads at most {FILES.columns}. "
            "Give fewer columns, or use gramian from Python."
        )
    names = [str(name).strip() or f"column {position}" for position, name in enumerate(header, start=1)]
    seen: set[str] = set()
    twice = sorted({name for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
    if twice:
        listed = ", ".join(repr(name[:60]) for name in twice[:5]) + (", ..." if len(twice) > 5 else "")
        raise source.fail(f"duplicate column names: {listed}. Rename them, or pass --no-header if there is no header.")
    return names
