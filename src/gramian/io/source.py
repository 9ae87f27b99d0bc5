"""Where a table comes from: a path or standard input, opened as often as needed, and what kind of file it is."""

from __future__ import annotations

import io
import os
import sys
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from gramian.io.model_file import is_pickle

STDIN = "-"


class TableError(ValueError):
    """A table that cannot be read, in one line: the file, the line, the column, what is wrong, what to do."""


class Source:
    """A path, or ``-`` for standard input, which is read once and kept.

    Examples
    --------
    >>> Source("table.csv").name
    'table.csv'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.is_stdin = self.path == STDIN
        self.name = "standard input" if self.is_stdin else self.path

    @cached_property
    def _content(self) -> bytes:
        return sys.stdin.buffer.read()

    def open(self) -> BinaryIO:
        """A fresh binary stream from the beginning."""
        return io.BytesIO(self._content) if self.is_stdin else Path(self.path).open("rb")

    @cached_property
    def size(self) -> int:
        """Bytes."""
        return len(self._content) if self.is_stdin else Path(self.path).stat().st_size

    def fail(self, problem: str, *, line: int | None = None, column: str | None = None) -> TableError:
        """The error to raise, with its place."""
        places = [self.name, f"line {line}" if line else "", f"column {shown(column)}" if column is not None else ""]
        return TableError(f"{', '.join(place for place in places if place)}: {problem}")

    @cached_property
    def format(self) -> str:
        """``"text"``, ``"npy"``, ``"npz"`` or ``"parquet"``, by content; anything else is an error that says what it
        is."""
        if not self.is_stdin:
            if not Path(self.path).exists():
                raise FileNotFoundError(f"{self.name}: there is no such file.")
            if Path(self.path).is_dir():
                raise IsADirectoryError(f"{self.name}: this is a folder, not a file.")
        with self.open() as file:
            head = file.read(4096)
        return self._format_of(head)

    def _format_of(self, head: bytes) -> str:
        if not head:
            raise self.fail("the file is empty.")
        for magic, name in _TABLES.items():
            if head.startswith(magic):
                return name
        for magic, advice in _OTHERS.items():
            if head.startswith(magic):
                raise self.fail(advice)
        if len(head) > 8 and head[8:9] == b"{" and b'"__metadata__"' in head[:64]:
            raise self.fail("this is a model file, not a table.")
        if head[:1] == b"\x80" and is_pickle(head):
            raise self.fail("pickle files are not loaded: they can run code. Export the table as CSV or Parquet.")
        if not head.startswith((b"\xff\xfe", b"\xfe\xff")) and _is_binary(head):
            raise self.fail("this is a binary file, not a table. Give CSV, TSV, Parquet, NPY or NPZ.")
        return "text"


def _is_binary(head: bytes) -> bool:
    """Many control bytes: a stray NUL in a text file is left to the parser, which names its line."""
    control = sum(byte < 32 and byte not in (9, 10, 12, 13) for byte in head)
    return control > 0.02 * len(head) + 1


_TABLES = {b"PAR1": "parquet", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz"}
_OTHERS = {
    b"\x1f\x8b": "this is a gzip file. Unpack it first: gunzip -c FILE | gramian ... -",
    b"BZh": "this is a bzip2 file. Unpack it first: bunzip2 -c FILE | gramian ... -",
    b"\xfd7zXZ": "this is an xz file. Unpack it first: xz -dc FILE | gramian ... -",
    b"\x28\xb5\x2f\xfd": "this is a zstd file. Unpack it first: zstd -dc FILE | gramian ... -",
    b"\xd0\xcf\x11\xe0": "this is an old Excel file. Export it as CSV.",
    b"ARROW1": "this is an Arrow (feather) file. Write it as Parquet or CSV.",
    b"\x89HDF": "this is an HDF5 file. Write the table as Parquet or CSV.",
    b"\x89PNG": "this is a picture, not a table.",
    b"%PDF": "this is a PDF, not a table.",
    b"SQLite format 3": "this is an SQLite database. Export the table as CSV.",
}


def shown(text: Any, width: int = 60) -> str:
    """A name or cell for a one-line message: quoted, control characters escaped, cut when long."""
    text = str(text)
    return repr(text if len(text) <= width else text[: width - 1] + "…")


def memory_available() -> int:
    """Bytes of memory that the machine can still give; a guess of 4 GB where it does not say."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES")) // 2
    except (OSError, ValueError, AttributeError):
        return 4 * 2**30


def check_cells(source: Source, n_rows: int, n_columns: int) -> None:
    """Refuse a table that would not fit into memory before anything is allocated for it."""
    needed, available = 8 * n_rows * n_columns, memory_available()
    if needed > available:
        raise MemoryError(
            f"{source.name}: {n_rows} rows x {n_columns} columns need {needed / 2**30:.1f} GB, "
            f"{available / 2**30:.1f} GB are available. Use --stream, or fewer columns."
        )
