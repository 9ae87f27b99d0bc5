"""Parquet and Arrow (feather) files as tables, in batches, through pyarrow (the extra ``io``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.io.numpy_table import finite_or_missing
from gramian.io.packing import most_bytes, too_large
from gramian.io.source import Source, check_bytes
from gramian.io.table import ReadOptions, batch_rows, checked_names
from gramian.policy import FILES
from gramian.tables.table import Table, join_pieces, quote


def pyarrow() -> Any:
    """pyarrow, or an ``ImportError`` that says how to get it."""
    try:
        import pyarrow as arrow
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'gramian[io]', or use CSV.") from error
    return arrow


NUMBER = 8
"""Bytes of a cell once it is read, at least."""


class ParquetReader:
    """A Parquet file, read a batch of rows at a time."""

    kind = "Parquet"

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.source, self.options, self.notes = source, options, list[str]()
        self._arrow, self._texts = pyarrow(), 0
        with self._opened() as file:
            schema = self._schema(file)
            self.n_rows, unpacked = self._sizes(file)
        if max(unpacked, NUMBER * self.n_rows * len(schema.names)) > most_bytes(
            source.size
        ):  # one value can stand for all rows
            raise source.fail(str(too_large(source.size)))
        types = self._arrow.types
        self._types = [kind.value_type if types.is_dictionary(kind) else kind for kind in schema.types]
        self.names = checked_names(source, schema.names)
        self.types = dict(zip(self.names, schema.types))  # to be written again
        self.unnamed = [not str(name).strip() or name == "__index_level_0__" for name in schema.names]
        if self.n_rows == 0:
            raise source.fail("the file has columns, but no rows.")

    def _schema(self, file: Any) -> Any:
        """The types as they are written, whatever they are read as."""
        return file.metadata.schema.to_arrow_schema()

    def _sizes(self, file: Any) -> tuple[int, int]:
        """How many rows, and how many bytes once unpacked."""
        metadata = file.metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        lists = [j for j in range(metadata.num_columns) if metadata.schema.column(j).max_repetition_level]
        values = sum(group.column(j).num_values for group in groups for j in lists)  # a row may hold any number of them
        return metadata.num_rows, max(sum(group.total_byte_size for group in groups), NUMBER * values)

    def _file(self, stream: Any) -> Any:
        # texts as numbers of a list, as they are stored: one long text for all rows is then counted before it is repeated
        file = self._arrow.parquet.ParquetFile(stream, pre_buffer=False)
        types = self._arrow.types
        texts = [
            field.name
            for field in file.schema_arrow
            if types.is_string(field.type) or types.is_large_string(field.type)
        ]
        if not texts:
            return file
        stream.seek(0)
        return self._arrow.parquet.ParquetFile(stream, pre_buffer=False, read_dictionary=texts)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        arrow, source = self._arrow, self.source
        # Arrow reads a path itself, into memory that it uses again
        with source.open() if source.is_stdin else arrow.OSFile(os.fsencode(source.path)) as stream:
            try:
                file = self._file(stream)
            except (arrow.ArrowException, OSError, ValueError) as error:
                raise self._damaged(error) from error
            with file:
                yield file

    def _damaged(self, error: Exception) -> Exception:
        return self.source.fail(f"the {self.kind} file is damaged or truncated ({str(error).splitlines()[0][:100]}).")

    def batches(self, rows: int | None = None, *, raw: bool = False) -> Iterator[Table]:
        """The table in pieces."""
        start = 0
        with self._opened() as file:
            try:
                for batch in file.iter_batches(batch_size=batch_rows(len(self.names), rows)):
                    if batch.num_rows:
                        lines = np.arange(start + 1, start + 1 + batch.num_rows)
                        columns = [self._column(batch.column(j), j, lines) for j in range(len(self.names))]
                        start += batch.num_rows
                        yield Table(self.names, columns, lines, self.source, self.notes)
            except (self._arrow.ArrowException, OSError) as error:
                raise self._damaged(error) from error

    def whole(self) -> Table | None:
        """All rows, without a copy of the numbers; None where something is wrong: the pieces say what, and where."""
        width = len(self.names)
        needed = self.n_rows * sum(8 if self._is_number(j) else FILES.text for j in range(width))
        try:
            check_bytes(self.source, needed, "the table needs")
            lines = np.arange(1, self.n_rows + 1)
            with self._opened() as file:
                read = [column.chunks for column in file.read().columns]  # let go column by column
            columns = [join_pieces([self._column(chunk, j, lines) for chunk in read.pop(0)]) for j in range(width)]
        except Exception:
            return None
        table = Table(self.names, columns, lines, self.source, self.notes)
        return table if table.n_rows == self.n_rows else None

    def _is_number(self, j: int) -> bool:
        """Whether a column is read as numbers; what is left out, and what holds nulls alone, is NaN."""
        name, kind, types = self.names[j], self._types[j], self._arrow.types
        if name in self.options.skip or types.is_null(kind):
            return True
        is_numeric = (
            types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
        )
        return is_numeric and name not in self.options.text

    def _column(self, values: Any, j: int, lines: Array) -> Array:
        name, kind, types = self.names[j], self._types[j], self._arrow.types
        if self._is_number(j):
            if name in self.options.skip or types.is_null(kind):
                return np.full(len(values), np.nan)
            return finite_or_missing(self.source, self._numbers(values, kind), name, lines)
        is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_temporal(kind)
        if is_text or name in self.options.text:
            self._check_texts(values)
            column = np.empty(len(values), dtype=object)
            try:
                column[:] = [None if value is None else str(value) for value in values.to_pylist()]
            except (ValueError, OverflowError) as error:  # dates beyond the year 9999, text that is not UTF-8
                raise self.source.fail(f"a {quote(kind)} cannot be read ({error}).", column=name) from None
            return column
        raise self.source.fail(f"a column of type {quote(kind)} is neither numbers nor text. Drop it.", column=name)

    def _check_texts(self, values: Any) -> None:
        """Refuse a list of texts whose repetition takes more than the bound."""
        if not self._arrow.types.is_dictionary(values.type) or not len(values.dictionary):
            return
        compute = self._arrow.compute
        if self._arrow.types.is_temporal(values.type.value_type):
            return
        longest = compute.max(compute.binary_length(values.dictionary.cast("string"))).as_py() or 0
        if longest * len(values) <= FILES.spare:
            return
        lengths = compute.binary_length(values.dictionary.cast("string"))
        self._texts += compute.sum(compute.take(lengths, values.indices)).as_py() or 0
        if self._texts > most_bytes(self.source.size):
            raise self.source.fail(str(too_large(self.source.size)))

    def _numbers(self, values: Any, kind: Any) -> Array:
        """The values as float64, NaN where missing; each as ``float`` rounds it."""
        arrow = self._arrow
        if arrow.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if arrow.types.is_decimal(kind) or arrow.types.is_float16(kind):
            return np.array([np.nan if v is None else float(v) for v in values.to_pylist()], dtype=np.float64)
        if arrow.types.is_boolean(kind):
            values = values.cast(arrow.uint8())
        if values.type != arrow.float64():
            values = values.cast(arrow.float64(), safe=False)
        if values.null_count or not len(values):
            numbers: Array = values.to_numpy(zero_copy_only=False)
            return numbers
        # Arrow's own memory, which may be written to
        return np.frombuffer(values.buffers()[1], np.float64, len(values), 8 * values.offset)


class ArrowReader(ParquetReader):
    """An Arrow (feather) file, read a batch of rows at a time."""

    kind = "Arrow"

    def _schema(self, file: Any) -> Any:
        return file.schema_arrow

    def _sizes(self, file: Any) -> tuple[int, int]:
        return file.n_rows, file.unpacked

    def _file(self, stream: Any) -> Any:
        messages = self._arrow.ipc.MessageReader.open_stream(stream) if stream.seek(8) == 8 else ()
        sizes = [batch_sizes(bytes(message.metadata), message.body) for message in messages]
        return _Batches(self._arrow, self._arrow.ipc.open_file(stream), *(sum(part) for part in zip(*sizes)))


def batch_sizes(metadata: bytes, body: Any) -> tuple[int, int]:
    """Rows and unpacked bytes that a message of an Arrow file claims, without unpacking it: (0, 0) for a schema.

    A message is a flatbuffer (format/Message.fbs of Arrow): a table {version, kind, header, ...}, whose header is a record batch {rows, nodes,
    buffers, compression}, or a dictionary {id, record batch}. A packed buffer begins with its unpacked size.
    """
    kind = _field(metadata, _reference(metadata, 0), 1)
    header = _field(metadata, _reference(metadata, 0), 2)
    if not kind or not header or metadata[kind] not in (2, 3):
        return 0, 0
    batch = _reference(metadata, header)
    rows = metadata[kind] == 3
    if not rows:
        batch = _reference(metadata, _field(metadata, batch, 1))
    at, packed = _field(metadata, batch, 2), _field(metadata, batch, 3)
    first = _reference(metadata, at) + 4 if at else 0
    total = 0
    for i in range(_whole(metadata, first - 4, 4) if at else 0):
        start, size = _whole(metadata, first + 16 * i, 8), _whole(metadata, first + 16 * i + 8, 8)
        claimed = _whole(bytes(body[start : start + 8]), 0, 8) if packed and size >= 8 else size
        total += size if claimed < 0 else claimed  # -1: stored as it is
    length = _field(metadata, batch, 0)
    return (_whole(metadata, length, 8) if rows and length else 0), total


def _whole(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little", signed=True)


def _reference(data: bytes, at: int) -> int:
    return at + _whole(data, at, 4)


def _field(data: bytes, table: int, number: int) -> int:
    """Where a field of a flatbuffer's table stands; 0 where it has none."""
    names = table - _whole(data, table, 4)
    there = 4 + 2 * number < int.from_bytes(data[names : names + 2], "little")
    offset = int.from_bytes(data[names + 4 + 2 * number : names + 6 + 2 * number], "little") if there else 0
    return table + offset if offset else 0


class _Batches:
    """An Arrow file with the verbs of a Parquet file."""

    def __init__(self, arrow: Any, reader: Any, n_rows: int = 0, unpacked: int = 0) -> None:
        self.arrow, self.reader, self.schema_arrow = arrow, reader, reader.schema
        self.n_rows, self.unpacked = n_rows, unpacked

    def __enter__(self) -> _Batches:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def iter_batches(self, batch_size: int) -> Iterator[Any]:
        for i in range(self.reader.num_record_batches):
            batch = self.reader.get_batch(i)
            for start in range(0, batch.num_rows, batch_size):
                yield batch.slice(start, batch_size)

    def read(self) -> Any:
        return self.reader.read_all()


def as_type(arrow: Any, column: Any, kind: Any) -> Any:
    """A column of numbers or texts as an Arrow array of the type that its file had; as it is, where it no longer fits.

    Whole numbers and booleans are rounded: what was filled may lie between them.
    """
    types = arrow.types
    texts = column.dtype == object
    plain = kind.value_type if kind is not None and types.is_dictionary(kind) else kind
    if texts:
        array = arrow.array([None if value is None else str(value) for value in column], type=arrow.string())
    else:
        whole = plain is not None and (types.is_integer(plain) or types.is_boolean(plain))
        array = arrow.array(np.round(column) if whole else column, from_pandas=True)
    if kind is None:
        return array
    try:
        if not texts and types.is_boolean(plain):
            array = arrow.compute.greater_equal(array, 0.5)
        return array.cast(plain).dictionary_encode() if plain != kind else array.cast(kind)
    except (arrow.ArrowException, NotImplementedError):
        return array
