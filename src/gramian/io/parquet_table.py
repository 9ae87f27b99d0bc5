"""Parquet files as tables, in batches, through pyarrow (the extra ``io``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.io.numpy_table import finite_or_missing
from gramian.io.packing import bound, too_large
from gramian.io.source import Source, shown
from gramian.io.table import ReadOptions, Table, batch_rows, checked_names


def pyarrow() -> Any:
    """pyarrow, or an ``ImportError`` that says how to get it."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'gramian[io]', or use CSV.") from error
    return arrow


class ParquetReader:
    """A Parquet file, read a batch of rows at a time."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.source, self.options, self.notes = source, options, list[str]()
        self._arrow = pyarrow()
        with self._opened() as file:
            schema = file.schema_arrow
            metadata = file.metadata
            self.n_rows = metadata.num_rows
            unpacked = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        if max(unpacked, self.n_rows * len(schema.names)) > bound(source.size):
            raise source.fail(str(too_large(source.size)))
        self._types = list(schema.types)
        self.names = checked_names(source, schema.names)
        self.unnamed = [not str(name).strip() or name == "__index_level_0__" for name in schema.names]
        if self.n_rows == 0:
            raise source.fail("the file has columns, but no rows.")

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        arrow = self._arrow
        with self.source.open() as stream:
            try:
                file = arrow.parquet.ParquetFile(stream, pre_buffer=False)
            except (arrow.ArrowException, OSError, ValueError) as error:
                raise self._damaged(error) from error
            with file:
                yield file

    def _damaged(self, error: Exception) -> Exception:
        return self.source.fail(f"the Parquet file is damaged or truncated ({str(error).splitlines()[0][:100]}).")

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

    def _numbers(self, values: Any, kind: Any) -> Array:
        """The values as float64, NaN where missing; each as ``float`` rounds it."""
        arrow = self._arrow
        if arrow.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if arrow.types.is_decimal(kind) or arrow.types.is_float16(kind):
            numbers = [np.nan if value is None else float(value) for value in values.to_pylist()]
            return np.array(numbers, dtype=np.float64)
        if arrow.types.is_boolean(kind):
            values = values.cast(arrow.uint8())
        if values.type != arrow.float64():
            values = values.cast(arrow.float64(), safe=False)
        view: Array = values.to_numpy(zero_copy_only=False)  # a view where nothing is missing
        return view

    def _column(self, values: Any, j: int, lines: Array) -> Array:
        name, types = self.names[j], self._arrow.types
        if name in self.options.skip:
            return np.full(len(lines), np.nan)
        kind = self._types[j]
        if types.is_dictionary(kind):
            kind = kind.value_type
        wants_text = name in self.options.text
        if types.is_null(kind):
            return np.full(len(lines), np.nan)
        if not wants_text and (
            types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
        ):
            return finite_or_missing(self.source, self._numbers(values, kind), name, lines)
        if wants_text or types.is_string(kind) or types.is_large_string(kind) or types.is_temporal(kind):
            column = np.empty(len(lines), dtype=object)
            column[:] = [None if value is None else str(value) for value in values.to_pylist()]
            return column
        raise self.source.fail(f"a column of type {shown(kind)} is neither numbers nor text. Drop it.", column=name)
