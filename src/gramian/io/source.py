"""Where a table comes from: a path or standard input, opened as often as needed, and what kind of file it is."""

from __future__ import annotations

import io
import os
import re
import sys
import zipfile
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from gramian._memory import available_memory
from gramian.io.model_file import is_pickle
from gramian.io.packing import MAGIC, open_unpacked
from gramian.tables.table import TableError, quote

STDIN = "-"


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
        self.memory: int | None = None

    @cached_property
    def _content(self) -> bytes:
        return sys.stdin.buffer.read()

    def open(self) -> BinaryIO:
        """A fresh binary stream from the beginning, unpacked where the file is packed."""
        packing = self.packing
        return (
            self.open_packed() if packing is None else open_unpacked(packing, self.open_packed(), self.size, self.fail)
        )

    def open_packed(self) -> BinaryIO:
        """A fresh binary stream of the file as it lies on disk."""
        return io.BytesIO(self._content) if self.is_stdin else Path(self.path).open("rb")

    @cached_property
    def packing(self) -> str | None:
        """``"gzip"``, ``"zstd"`` or None, by content."""
        with self.open_packed() as file:
            head = file.read(4)
        return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)

    @cached_property
    def size(self) -> int:
        """Bytes of the file as it lies on disk."""
        return len(self._content) if self.is_stdin else Path(self.path).stat().st_size

    def fail(self, problem: str, *, line: int | None = None, column: str | None = None) -> TableError:
        """The error to raise, with its place."""
        places = [self.name, f"line {line}" if line else "", f"column {quote(column)}" if column is not None else ""]
        return TableError(f"{', '.join(place for place in places if place)}: {problem}")

    @cached_property
    def format(self) -> str:
        """``"text"``, ``"json"``, ``"npy"``, ``"npz"``, ``"parquet"``, ``"arrow"`` or ``"sheet"``, by content; anything else is an error that says
        what it is."""
        if not self.is_stdin:
            if not Path(self.path).exists():
                raise FileNotFoundError(f"{self.name}: there is no such file.")
            if Path(self.path).is_dir():
                raise IsADirectoryError(f"{self.name}: this is a folder, not a file.")
        with self.open() as file:
            head = file.read(4096)
        found = self._format_of(head)
        if self.packing is not None and found not in ("text", "json"):
            raise self.fail(f"a packed {found} file. Unpack it first, or pack a CSV.")
        return self._archive_kind() if found == "npz" else found

    def _archive_kind(self) -> str:
        """A workbook and an NPZ file are both zip archives: its members tell."""
        with self.open() as file:
            try:
                with zipfile.ZipFile(file) as archive:
                    names = set(archive.namelist())
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
                return "npz"  # whose reader says what is wrong
        return "sheet" if names & {"xl/workbook.xml", "xl/workbook.bin", "content.xml"} else "npz"

    def _format_of(self, head: bytes) -> str:
        if not head:
            raise self.fail("the file is empty.")
        for magic, name in _TABLES.items():
            if head.startswith(magic):
                return name
        for magic, advice in _OTHERS.items():
            if head.startswith(magic):
                raise self.fail(advice)
        for start, advice in _MARKED.items():
            if head.lstrip().lower().startswith(start):
                raise self.fail(advice)
        if _JSON.match(head):
            return "json"
        if len(head) > 8 and head[8:9] == b"{" and b'"__metadata__"' in head[:64]:
            raise self.fail("this is a model file, not a table.")
        if head[:1] == b"\x80" and is_pickle(head):
            raise self.fail("pickle files are not loaded: they can run code. Export the table as CSV or Parquet.")
        if not head.startswith((b"\xff\xfe", b"\xfe\xff")) and _is_binary(head):
            raise self.fail(
                "this is a binary file, not a table. Give CSV, TSV, JSON, Excel, Parquet, Arrow, NPY or NPZ."
            )
        return "text"


def _is_binary(head: bytes) -> bool:
    """Many control bytes: a stray NUL in a text file is left to the parser, which names its line."""
    control = sum(byte < 32 and byte not in (9, 10, 12, 13) for byte in head)
    return control > 0.02 * len(head) + 1


_TABLES = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz"}
_TABLES[b"\xd0\xcf\x11\xe0"] = "sheet"
_OTHERS = {
    b"BZh": "this is a bzip2 file. Unpack it first: bunzip2 -c FILE | gramian ... -",
    b"\xfd7zXZ": "this is an xz file. Unpack it first: xz -dc FILE | gramian ... -",
    b"\x89HDF": "this is an HDF5 file. Write the table as Parquet or CSV.",
    b"\x89PNG": "this is a picture, not a table.",
    b"%PDF": "this is a PDF, not a table.",
    b"SQLite format 3": "this is an SQLite database. Export the table as CSV.",
}
_PAGE = "this is a page of HTML, whatever its name says. Open it in a spreadsheet and save it as .xlsx or CSV."
_MARKED = {
    b"<!doctype html": _PAGE,
    b"<html": _PAGE,
    b"<table": _PAGE,
    b"<?xml": "this is XML. Export the table as CSV.",
}
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*"|\[\s*[\[{]|\{\s*\}|\[\s*\])')


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a model file, by its first bytes."""
    if os.fspath(path) == STDIN or not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        head = file.read(64)
    return head[8:9] == b"{" and b"__metadata__" in head


def memory_available() -> int:
    """Bytes of memory that the process may still use, limits of containers and of the shell included."""
    return available_memory()


def check_cells(source: Source, n_rows: int, n_columns: int) -> None:
    """Refuse a table that would not fit into memory before anything is allocated for it."""
    check_bytes(source, 8 * n_rows * n_columns, f"{n_rows} rows x {n_columns} columns need")


def check_bytes(source: Source, needed: int, what: str) -> None:
    """Refuse what needs more memory than there is, or than ``--memory`` allows."""
    available = source.memory if source.memory is not None else memory_available()
    if needed > available:
        allowed = "allowed (--memory)" if source.memory is not None else "available"
        raise MemoryError(
            f"{source.name}: {what} {needed / 2**30:.2g} GB, {available / 2**30:.2g} GB are {allowed}. "
            "Use fit --stream, or fewer columns."
        )
