"""JSON as a table: a list of objects or of lists, an object of columns, or JSON lines, one object each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gramian.io.layout import Record
from gramian.io.record_table import RecordReader
from gramian.io.source import check_bytes
from gramian.policy import FILES
from gramian.tables.table import quote


class JsonReader(RecordReader):
    """The rows of a JSON text are records. A key that an object lacks is a missing cell, as null is."""

    def _prepare(self) -> None:
        check_bytes(self.source, 8 * self.source.size, "the JSON text needs")  # objects take several times their text
        with self.source.open() as file:
            raw = file.read()
        try:
            text = raw.decode(self.options.encoding or "utf-8-sig")
        except UnicodeDecodeError as error:
            raise self.source.fail(f"the byte 0x{raw[error.start]:02x} is not UTF-8.") from error
        rows = self._parsed(text)
        names = self._names(rows)
        check_bytes(self.source, FILES.text * len(rows) * max(1, len(names)), "the table needs")
        self._given = [
            names,
            *([_text(self, name, cell) for name, cell in zip(names, _cells(row, names))] for row in rows),
        ]

    def _parsed(self, text: str) -> list[Any]:
        try:
            found = json.loads(text)
        except RecursionError:
            raise self.source.fail("the JSON is nested too deeply to be a table.") from None
        except ValueError as error:
            lines = [line for line in text.splitlines() if line.strip()]
            if len(lines) < 2 or not lines[0].lstrip().startswith(("{", "[")):
                raise self.source.fail(f"the JSON cannot be read ({error}).") from None
            return [self._line(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        if isinstance(found, Mapping) and isinstance(found.get("data"), list) and found["data"]:
            names = found.get("columns")
            rows = found["data"]
            if isinstance(names, list) and all(isinstance(row, list) for row in rows):
                return [dict(zip(map(str, names), row)) for row in rows]
            return rows
        if isinstance(found, Mapping):
            return self._of_columns(found)
        if not isinstance(found, list):
            raise self.source.fail(f"the JSON holds a single {type(found).__name__}, not rows.")
        return found

    def _line(self, number: int, line: str) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self.source.fail(f"not a line of JSON ({error}).", line=number) from None

    def _of_columns(self, found: Mapping[str, Any]) -> list[Any]:
        """An object of columns, each a list or an object by row; an object of plain values is one row."""
        if found and all(isinstance(column, Mapping) for column in found.values()):
            found = {name: list(column.values()) for name, column in found.items()}
        if not found or not all(isinstance(column, list) for column in found.values()):
            return [found]
        lengths = {len(column) for column in found.values()}
        if len(lengths) > 1:
            raise self.source.fail(f"the JSON's columns have {min(lengths)} to {max(lengths)} values each.")
        return [dict(zip(found, row)) for row in zip(*found.values())]

    def _names(self, rows: Sequence[Any]) -> list[str]:
        if not rows:
            raise self.source.fail("the file has no rows.")
        names: dict[str, None] = {}
        for number, row in enumerate(rows, start=1):
            if isinstance(row, Mapping):
                names.update(dict.fromkeys(map(str, row)))
            elif isinstance(row, list):
                names.update(dict.fromkeys(f"x{j}" for j in range(1, len(row) + 1)))
            else:
                raise self.source.fail(f"row {number} is neither an object nor a list.")
            if len(names) > FILES.columns:
                raise self.source.fail(f"more than {FILES.columns} different keys: this is no table.")
        if not names:
            raise self.source.fail("the rows have no keys.")
        return list(names)

    def _records(self, *, limit: int | None = None) -> Iterator[Record]:
        yield from enumerate(self._given if limit is None else self._given[:limit], start=1)


def _cells(row: Any, names: Sequence[str]) -> list[Any]:
    if isinstance(row, Mapping):
        named = {str(key): value for key, value in row.items()}
        return [named.get(name) for name in names]
    return [row[j] if j < len(row) else None for j in range(len(names))]


def _text(reader: RecordReader, name: str, cell: Any) -> str:
    """A cell as a CSV file would hold it."""
    if isinstance(cell, list | Mapping):
        raise reader.source.fail(
            f"a cell holds {'a list' if isinstance(cell, list) else 'an object'} ({quote(json.dumps(cell), 30)}). Make it columns of its own.",
            column=name,
        )
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return repr(cell)
    return str(cell)
