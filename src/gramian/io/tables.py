"""Reading and writing tables: CSV, TSV, JSON (packed too), Excel and .ods (read only), Parquet, Arrow, NPY, NPZ, ``-``."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import numpy as np

from gramian._arrays import Array
from gramian.io.atomic import atomic_path
from gramian.io.cells import looks_numeric
from gramian.io.frame_table import FrameReader, reader_for
from gramian.io.json_table import JsonReader
from gramian.io.numpy_table import NumpyReader
from gramian.io.packing import SUFFIXES as PACKED_SUFFIXES
from gramian.io.packing import open_packed
from gramian.io.parquet_table import ArrowReader, ParquetReader, as_type, pyarrow
from gramian.io.sheet_table import SheetReader
from gramian.io.source import Source, check_bytes
from gramian.io.table import ReadOptions, TableReader
from gramian.io.text_table import Dialect, TextReader
from gramian.policy import FILES
from gramian.tables.table import Table, TableError, concatenate_tables

__all__ = ["ReadOptions", "Table", "TableError", "TableWriter", "open_table", "read_table", "write_table"]

_READERS: dict[str, Any] = {
    "text": TextReader,
    "sheet": SheetReader,
    "npy": NumpyReader,
    "npz": NumpyReader,
    "parquet": ParquetReader,
    "arrow": ArrowReader,
    "json": JsonReader,
}
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".npy": "npy",
    ".npz": "npz",
}


def open_table(path: str | os.PathLike[str] | Source, options: ReadOptions | None = None) -> Any:
    """A reader for the file, chosen by its content: ``.names`` at once, the rows by ``.batches()``."""
    source = path if isinstance(path, Source) else Source(path)
    options = options or ReadOptions()
    source.memory = options.memory
    if not source.is_stdin and Path(source.path).suffix.lower() not in _SUFFIXES and (read := reader_for(source)):
        return FrameReader(source, options, read)
    reader: TableReader = _READERS[source.format](source, options)
    return reader


def whole_table(reader: TableReader) -> Table:
    """All rows of a reader, as long as they fit into memory."""
    if isinstance(reader, ParquetReader) and (table := reader.whole()) is not None:
        return table
    parts: list[Table] = []
    needed = 0
    for part in reader.batches():
        parts.append(part)
        needed += sum((FILES.text if column.dtype == object else 8) * len(column) for column in part.columns)
        check_bytes(reader.source, needed, "the rows so far need")
    return concatenate_tables(parts)


def read_table(path: str | os.PathLike[str] | Source, options: ReadOptions | None = None) -> Table:
    """The whole table.

    Parameters
    ----------
    path : str, path or Source
        CSV, TSV, a workbook, Parquet, NPY or NPZ: the content decides.
    options : ReadOptions, optional
        How to read it; found out when None.

    Returns
    -------
    Table

    References
    ----------
    docs/command_line.md.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.csv"
    ...     _ = file.write_text("size;price\\n1,5;2\\n;3\\n")
    ...     table = read_table(file)
    >>> table.names, table["size"].tolist()
    (['size', 'price'], [1.5, nan])
    """
    return whole_table(open_table(path, options))


def output_format(path: str | os.PathLike[str]) -> str:
    """The format that a file name asks for; CSV for ``-``."""
    if os.fspath(path) == "-":
        return "csv"
    suffix = Path(path).suffix.lower()
    if suffix in PACKED_SUFFIXES and _SUFFIXES.get(Path(path).with_suffix("").suffix.lower()) in (
        "csv",
        "tsv",
        "json",
        "jsonl",
    ):
        return _SUFFIXES[Path(path).with_suffix("").suffix.lower()]
    if suffix in (".xlsx", ".xls", ".ods"):
        raise ValueError(f"{os.fspath(path)}: workbooks are read, not written. Write .csv, which Excel opens.")
    if suffix not in _SUFFIXES:
        raise ValueError(
            f"{os.fspath(path)}: cannot tell the format from {suffix or 'no suffix'!r}. Use one of "
            f"{', '.join(_SUFFIXES)}, .csv.gz, .csv.zst."
        )
    return _SUFFIXES[suffix]


def format_number(value: float, digits: int = 10, decimal: str = ".") -> str:
    """A number for people: whole numbers whole, ``digits`` significant digits otherwise, nothing for NaN."""
    if value != value:
        return ""
    if abs(value) < 2**53 and value == int(value):
        return str(int(value))
    text = f"{value:.{digits}g}"
    return text.replace(".", ",") if decimal == "," else text


def _json_cell(value: Any, digits: int) -> Any:
    """A cell as JSON has it: None for what is missing, whole numbers whole."""
    if not isinstance(value, float):
        return value if value is None or isinstance(value, bool | int) else str(value)
    if value != value:
        return None
    return int(value) if abs(value) < 2**53 and value == int(value) else float(f"{value:.{digits}g}")


def escape_formula(cell: str) -> str:
    """A cell that a spreadsheet does not take for a formula: an apostrophe before ``= + - @`` TAB and CR.

    Numbers stay as they are.

    Examples
    --------
    >>> escape_formula("=1+1"), escape_formula("-3.5"), escape_formula("plain")
    ("'=1+1", '-3.5', 'plain')
    """
    if cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not looks_numeric(cell):
        return "'" + cell
    return cell


class _Lines:
    """Lines that end in a line feed alone. The writer is told of both ends, so that it quotes cells with either."""

    def __init__(self, text: TextIO) -> None:
        self._write = text.write

    def write(self, line: str) -> None:
        self._write(line[:-2] + "\n")


class TableWriter:
    """Write a table piece by piece; a file appears whole or not at all.

    ``with TableWriter("out.csv", ["a", "b"]) as out: out.write([column_a, column_b])``
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        names: Sequence[str],
        *,
        dialect: Dialect | None = None,
        digits: int = 10,
        escape_formulas: bool = False,
        types: Mapping[str, Any] | None = None,
    ) -> None:
        self.path, self.names, self.digits = os.fspath(path), list(names), digits
        self.types = types or {}  # of Arrow, by name: what columns were in the file that they come from
        self.escape_formulas = escape_formulas
        self.format = output_format(path)
        self.dialect = dialect or Dialect()
        if self.format == "tsv":
            self.dialect = Dialect("\t", self.dialect.decimal, self.dialect.header, self.dialect.encoding)
        elif self.dialect.delimiter == "\t" and ".csv" in self.path.lower()[-8:]:
            self.dialect = Dialect(",", ".", self.dialect.header, self.dialect.encoding)
        self._stack = ExitStack()
        self._gathered: list[list[Array]] = []
        self._parquet: Any = None
        self._arrow: list[Any] = []
        self._packing = PACKED_SUFFIXES.get(Path(self.path).suffix.lower())
        if self.format in ("parquet", "arrow"):
            pyarrow()

    def __enter__(self) -> TableWriter:
        try:
            self._open()
        except BaseException as error:
            self._stack.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def _open(self) -> None:
        if self.path == "-":
            self._text: TextIO = sys.stdout
        else:
            self._temporary = self._stack.enter_context(atomic_path(self.path))
            if self.format in ("csv", "tsv", "json", "jsonl"):
                # never a BOM on the way out, and always UTF-8
                file = (
                    self._temporary.open("wb") if self._packing is None else open_packed(self._packing, self._temporary)
                )
                self._stack.enter_context(file)
                self._text = self._stack.enter_context(io.TextIOWrapper(file, encoding="utf-8", newline=""))
        if self.format in ("csv", "tsv"):
            self._csv = csv.writer(_Lines(self._text), delimiter=self.dialect.delimiter, lineterminator="\r\n")
            self._head = self.dialect.header  # written with the first rows: an error before them leaves no output

    def _write_head(self) -> None:
        if self._head:
            self._head = False
            self.write_rows([self.names])

    def write(self, columns: Sequence[Array]) -> None:
        """Append rows, given as columns: numbers, or objects that are text or None."""
        if self.format in ("csv", "tsv"):
            self._write_head()
            self._csv.writerows(zip(*(self._cells(column) for column in columns)))
        elif self.format in ("parquet", "arrow"):
            self._write_arrow(columns)
        elif self.format == "jsonl":
            self._write_objects(columns)
        else:
            self._gathered.append([np.asarray(column) for column in columns])

    def write_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Append rows of cells as they are; CSV and TSV only."""
        self._write_head()
        self._csv.writerows([[escape_formula(cell) for cell in row] for row in rows] if self.escape_formulas else rows)

    def cell(self, value: float) -> str:
        """A number as this file writes it."""
        return format_number(value, self.digits, self.dialect.decimal)

    def _cells(self, column: Array) -> list[str]:
        if column.dtype.kind in "fiub":
            return self._numbers(column.astype(np.float64))
        texts = ["" if value is None else str(value) for value in column.tolist()]
        return [escape_formula(text) for text in texts] if self.escape_formulas else texts

    def _numbers(self, values: Array) -> list[str]:
        if self.dialect.decimal == "." and self.digits >= 10 and (np.abs(values) < 1e10).all():
            form = f"%.{self.digits}g"  # the quick way: below 1e10 it writes whole numbers whole, as format_number does
            return [form % value for value in (values + 0.0).tolist()]
        return [self.cell(value) for value in values.tolist()]

    def _write_arrow(self, columns: Sequence[Array]) -> None:
        arrow = pyarrow()
        kinds = [self.types.get(name) for name in self.names]
        arrays = [as_type(arrow, np.asarray(column), kind) for column, kind in zip(columns, kinds)]
        table = arrow.Table.from_arrays(arrays, names=self.names)
        if self.format == "arrow":
            self._arrow.append(table)
            return
        if self._parquet is None:
            self._parquet = self._stack.enter_context(arrow.parquet.ParquetWriter(str(self._temporary), table.schema))
        self._parquet.write_table(table.cast(self._parquet.schema))

    def _write_feather(self) -> None:
        """All pieces at once: an Arrow file has one dictionary for each column of categories."""
        arrow = pyarrow()
        table = arrow.concat_tables(self._arrow, promote_options="permissive").unify_dictionaries()
        with arrow.ipc.new_file(str(self._temporary), table.schema) as file:
            file.write_table(table)

    def _write_objects(self, columns: Sequence[Array]) -> None:
        """A line of JSON for each row; a missing cell is null, and a whole number is written as one."""
        for row in zip(*(np.asarray(column).tolist() for column in columns)):
            cells = {name: _json_cell(cell, self.digits) for name, cell in zip(self.names, row)}
            self._text.write(json.dumps(cells, ensure_ascii=False, allow_nan=False) + "\n")

    def _write_json(self) -> None:
        columns = [np.concatenate(parts) for parts in zip(*self._gathered)]
        rows = zip(*(column.tolist() for column in columns))
        found = [{name: _json_cell(cell, self.digits) for name, cell in zip(self.names, row)} for row in rows]
        self._text.write(json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1) + "\n")

    def _write_numpy(self) -> None:
        columns = [np.concatenate(parts) for parts in zip(*self._gathered)]
        texts = [name for name, column in zip(self.names, columns) if column.dtype == object]
        if texts and self.format == "npy":
            raise ValueError(
                f"{self.path}: an NPY file holds numbers only, but {', '.join(texts)} is text. Use CSV, Parquet or NPZ."
            )
        numbers = [column.astype(np.float64) for column in columns if column.dtype != object]
        matrix = np.column_stack(numbers) if numbers else np.empty((len(columns[0]) if columns else 0, 0))
        with self._temporary.open("wb") as file:
            if self.format == "npy":
                np.save(file, matrix, allow_pickle=False)
                return
            kept = [name for name in self.names if name not in texts]
            labels = {
                f"text_{i}": np.array(["" if v is None else str(v) for v in c])
                for i, c in enumerate(columns)
                if c.dtype == object
            }

            np.savez(file, allow_pickle=False, x=matrix, columns=np.array(kept, dtype=str), **labels)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self.format in ("npy", "npz"):
                self._write_numpy()
            if kind is None and self._arrow:
                self._write_feather()
            if kind is None and self.format == "json":
                self._write_json()
            if kind is None and self.format in ("csv", "tsv"):
                self._write_head()
            if self.path == "-" and kind is None:
                self._text.flush()
        except BaseException as failure:
            self._stack.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._stack.__exit__(kind, error, trace)


def write_table(
    path: str | os.PathLike[str],
    names: Sequence[str],
    columns: Sequence[Array],
    *,
    dialect: Dialect | None = None,
    digits: int = 10,
    escape_formulas: bool = False,
) -> None:
    """Write a whole table at once.

    Parameters
    ----------
    path : str or path
        The suffix says the format.
    names : sequence of str
        Of the columns.
    columns : sequence of arrays
        One per name.
    dialect : Dialect, optional
        Separator and decimal mark of text files.
    digits : int, default=10
        Significant digits in text files.
    escape_formulas : bool, default=False
        Whether text that a spreadsheet would take for a formula is quoted.

    Returns
    -------
    None

    References
    ----------
    docs/command_line.md.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> import numpy as np
    >>> from gramian.io import read_table, write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "table.csv")
    ...     write_table(file, ["size"], [np.array([1.5, 2.0])])
    ...     table = read_table(file)
    ...
    >>> table["size"].tolist()
    [1.5, 2.0]
    """
    with TableWriter(path, names, dialect=dialect, digits=digits, escape_formulas=escape_formulas) as out:
        out.write(columns)
