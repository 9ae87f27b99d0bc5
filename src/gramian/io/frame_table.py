"""Tables by readers of other packages: entry points of the group ``gramian.readers``, named by the suffix of a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gramian._plug_ins import Rows
from gramian.io.source import Source
from gramian.io.table import ReadOptions, batch_rows, checked_names
from gramian.tables.frames import as_table
from gramian.tables.table import Table

READERS = Rows("readers", {})
"""A suffix without its dot, and a function from a path to a data frame, a dictionary of columns or an array."""


def reader_for(source: Source) -> Any:
    """The function of another package that reads files of this suffix; None where there is none."""
    suffix = "" if source.is_stdin else Path(source.path).suffix.lower().removeprefix(".")
    return READERS[suffix] if suffix and Path(source.path).is_file() and suffix in READERS else None


class FrameReader:
    """The table that a function makes of a file."""

    def __init__(self, source: Source, options: ReadOptions, read: Any) -> None:
        self.source, self.options = source, options
        self.notes: list[str] = []
        table = as_table(read(source.path))
        self._table = replace(
            table, names=checked_names(source, table.names), source=source, lines=np.arange(1, table.n_rows + 1)
        )
        self.names = list(self._table.names)

    def batches(self, rows: int | None = None, *, raw: bool = False) -> Iterator[Table]:
        """The table in pieces of at most ``rows`` rows."""
        wanted = [name for name in self.names if name not in self.options.skip]
        step = batch_rows(len(self.names), rows)
        for start in range(0, max(self._table.n_rows, 1), step):
            part = slice(start, start + step)
            columns = [self._table[name][part] for name in wanted]
            yield replace(self._table, names=wanted, columns=columns, lines=self._table.lines[part])
