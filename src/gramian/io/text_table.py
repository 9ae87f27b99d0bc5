"""CSV and TSV as people write them: delimiter, decimal comma and header found out, every error with its line."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.io.source import Source, shown
from gramian.io.table import MISSING, ReadOptions, Table, batch_rows, checked_names

DELIMITERS = ("\t", ";", "|", ",")
SAMPLE_RECORDS = 200
SAMPLE_BYTES = 1 << 20
MAX_LINE = 1 << 26
FIELD_LIMIT = 131_072
NAMES = {"\t": "tab", ";": "';'", "|": "'|'", ",": "','", " ": "space"}


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are laid out, for reading it and for writing it back alike."""

    delimiter: str = ","
    decimal: str = "."
    header: bool = True
    encoding: str = "utf-8-sig"


class TextReader:
    """A CSV or TSV file, read in pieces."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.source, self.options, self.notes = source, options, list[str]()
        self.missing = MISSING | {token.strip().lower() for token in options.missing}
        self.encoding = options.encoding or _encoding(source)
        self.dialect = self._detect()
        first = next(self._records(), None)
        if first is None:
            raise source.fail("the file has no rows.")
        cells = first[1]
        if not self.dialect.header:
            cells = [f"x{i}" for i in range(1, len(cells) + 1)]
        self.width = len(cells)
        self._raw_header = [cell.strip() for cell in cells]
        self.unnamed = [not cell for cell in self._raw_header]
        self.names = checked_names(source, cells)
        self.kinds: list[str | None] = [None] * self.width
        self._cut_empty_tail()

    # ------------------------------------------------------------ the shape of the file

    def _detect(self) -> Dialect:
        options = self.options
        sample = self._sample()
        delimiter = options.delimiter or self._delimiter(sample)
        rows = [cells for _, cells in self._records(delimiter, limit=SAMPLE_RECORDS)]
        decimal = options.decimal or self._decimal(delimiter, rows)
        header = options.header
        if header is None:
            header = not self._is_data(rows[0], decimal)
            if not header:
                self.notes.append("no header found: the columns are called x1, x2, ... (--header says otherwise)")
        return Dialect(delimiter, decimal, header, self.encoding)

    def _sample(self) -> list[str]:
        lines: list[str] = []
        size = 0
        for _, line in self._lines():
            lines.append(line)
            size += len(line)
            if size > SAMPLE_BYTES or len(lines) >= 4 * SAMPLE_RECORDS:
                break
        if not any(line.strip() for line in lines):
            raise self.source.fail("the file has no rows, only blank lines.")
        return lines

    def _delimiter(self, sample: list[str]) -> str:
        """The delimiter that cuts all lines alike, and into cells that are numbers; the comma where nothing tells."""
        best, best_score = ",", (-1.0, -1.0, -1)
        for delimiter in DELIMITERS:
            try:
                rows = [
                    row for row in csv.reader(sample, delimiter=delimiter, strict=False, skipinitialspace=True) if row
                ]
            except csv.Error:
                continue
            rows = rows[:-1] if len(rows) > SAMPLE_RECORDS else rows  # the last record of a sample may be cut
            widths = [len(row) for row in rows]
            width = max(set(widths), key=widths.count)
            if width < 2:
                continue
            alike = sum(w == width for w in widths) / len(widths)
            cells = [cell.strip() for row in rows[:SAMPLE_RECORDS] for cell in row]
            comma = delimiter != ","
            good = sum(_looks_numeric(cell, comma) or cell.lower() in self.missing for cell in cells) / max(
                1, len(cells)
            )
            score = (round(alike, 1), round(good, 1), width)
            if score > best_score:
                best, best_score = delimiter, score
        if best_score[0] < 0 and all(len(line.split()) > 1 for line in sample if line.strip()):
            rows = [line.split() for line in sample if line.strip()]
            if len({len(row) for row in rows}) == 1 and all(_looks_numeric(cell, True) for cell in rows[-1]):
                return " "
        return best

    def _decimal(self, delimiter: str, rows: list[list[str]]) -> str:
        if delimiter == ",":
            return "."
        cells = [cell.strip() for row in rows for cell in row]
        commas = [cell for cell in cells if _is_decimal(cell, ",")]
        points = [cell for cell in cells if _is_decimal(cell, ".")]
        if commas and points:
            raise self.source.fail(
                f"both decimal commas ({shown(commas[0])}) and decimal points ({shown(points[0])}). Pass "
                "--decimal to say which."
            )
        return "," if commas else "."

    def _is_data(self, row: list[str], decimal: str) -> bool:
        """A first row of numbers (and holes) is data, not names."""
        cells = [cell.strip() for cell in row]
        numbers = [_number(cell, decimal) is not None for cell in cells if cell.lower() not in self.missing]
        return bool(numbers) and all(numbers)

    def _cut_empty_tail(self) -> None:
        """Trailing delimiters make nameless empty columns at the end: they are no columns."""
        if not self.unnamed[-1]:
            return
        rows = [cells for _, cells in self._records(limit=SAMPLE_RECORDS)][1:]
        while (
            self.width > 1
            and self.unnamed[-1]
            and not any(cell.strip() for row in rows for cell in row[self.width - 1 :])
        ):
            self.width -= 1
            self.unnamed.pop()
            self.names.pop()
            self.kinds.pop()

    # ------------------------------------------------------------ lines and records

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Decoded lines with their numbers."""
        with self.source.open() as file:
            if self.encoding.startswith("utf-16") or _lone_returns(file):
                yield from self._translated(file)
                return
            number = 0
            while raw := file.readline(MAX_LINE):
                number += 1
                if len(raw) >= MAX_LINE:
                    raise self.source.fail(f"the line is longer than {MAX_LINE} bytes.", line=number)
                if b"\0" in raw:
                    raise self.source.fail(
                        "a NUL byte: the file is damaged, or is UTF-16 (--encoding utf-16).", line=number
                    )
                try:
                    yield number, raw.decode(self.encoding if number == 1 else self.encoding.removesuffix("-sig"))
                except UnicodeDecodeError as error:
                    raise self._not_decoded(error, number) from error

    def _not_decoded(self, error: UnicodeDecodeError, line: int) -> Exception:
        byte = error.object[error.start]
        hint = " If it is Latin-1 (older Excel), pass --encoding latin-1." if self.encoding.startswith("utf-8") else ""
        name = self.encoding.removesuffix("-sig").upper()
        return self.source.fail(f"the byte 0x{byte:02x} is not {name}.{hint}", line=line)

    def _translated(self, file: Any) -> Iterator[tuple[int, str]]:
        text = io.TextIOWrapper(file, encoding=self.encoding, newline=None)
        number = 0
        try:
            for number, line in enumerate(text, start=1):
                if "\0" in line:
                    raise self.source.fail("a NUL character: the file is damaged.", line=number)
                yield number, line
        except UnicodeError as error:
            raise self.source.fail(f"not {self.encoding} ({error.__class__.__name__}).", line=number + 1) from error
        finally:
            text.detach()  # the file is closed by who opened it

    def _records(self, delimiter: str | None = None, *, limit: int | None = None) -> Iterator[tuple[int, list[str]]]:
        """Records with the line on which each begins; blank lines are no records."""
        delimiter = delimiter or self.dialect.delimiter
        position = [0]

        def lines() -> Iterator[str]:
            for number, line in self._lines():
                position[0] = number
                yield " ".join(line.split()) + "\n" if delimiter == " " else line

        csv.field_size_limit(FIELD_LIMIT)
        reader = csv.reader(lines(), delimiter=delimiter, strict=True, skipinitialspace=True)
        count, start = 0, 1
        while limit is None or count < limit:
            before = position[0]
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise self._not_parsed(error, before + 1, position[0]) from error
            start = before + 1
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue
            count += 1
            yield start, cells

    def _not_parsed(self, error: csv.Error, start: int, end: int) -> Exception:
        text = str(error)
        if "unexpected end of data" in text:
            return self.source.fail(f"a quote opened here is never closed (read up to line {end}).", line=start)
        if "field larger" in text:
            return self.source.fail(
                f"a cell of more than {FIELD_LIMIT} characters: an unclosed quote, or not a table.", line=start
            )
        if "expected after" in text:
            return self.source.fail("text after a closing quote. A quote inside a cell is written twice.", line=end)
        return self.source.fail(f"cannot be parsed ({text}).", line=end)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The records below the header, all of the same width."""
        records = self._records()
        if self.dialect.header:
            next(records, None)
        for line, cells in records:
            if len(cells) != self.width:
                if len(cells) < self.width or any(cell.strip() for cell in cells[self.width :]):
                    raise self.source.fail(
                        f"{len(cells)} fields where {self.width} are expected (delimiter "
                        f"{NAMES.get(self.dialect.delimiter, repr(self.dialect.delimiter))}).",
                        line=line,
                    )
                cells = cells[: self.width]
            yield line, cells

    # ------------------------------------------------------------ pieces

    def batches(self, rows: int | None = None, *, raw: bool = False) -> Iterator[Table]:
        """The table in pieces. What a column is (number or text) is settled by the first piece that shows any of it."""
        size = batch_rows(self.width, rows)
        lines: list[int] = []
        piece: list[list[str]] = []
        empty = True
        for line, cells in self._rows():
            lines.append(line)
            piece.append(cells)
            if len(piece) == size:
                yield self._table(lines, piece, raw)
                lines, piece, empty = [], [], False
        if piece:
            yield self._table(lines, piece, raw)
        elif empty:
            raise self.source.fail("a header, but no rows below it.")

    def _table(self, lines: list[int], piece: list[list[str]], raw: bool) -> Table:
        numbers = np.array(lines, dtype=np.int64)
        columns = [self._column(j, [row[j] for row in piece], numbers) for j in range(self.width)]
        return Table(self.names, columns, numbers, self.source, self.notes, piece if raw else None)

    def _column(self, j: int, cells: list[str], lines: Array) -> Array:
        name = self.names[j]
        if name in self.options.skip:
            return np.full(len(cells), np.nan)
        if name in self.options.text or self.kinds[j] == "text":
            return self._texts(cells)
        values, others = self._numbers(cells, name, lines)
        if others:
            counted = int(np.isfinite(values).sum())
            if self.kinds[j] == "number" or counted >= len(others):
                cell = shown(cells[others[0]].strip())
                raise self.source.fail(
                    f"{cell} is not a number, but most of the column is. Correct it, mark it as missing "
                    f"(--missing {cell}), or pass --text {shown(name)} "
                    "to take the column as text.",
                    line=int(lines[others[0]]),
                    column=name,
                )
            self.kinds[j] = "text"
            return self._texts(cells)
        if np.isfinite(values).any():
            self.kinds[j] = "number"
        return values

    def _texts(self, cells: list[str]) -> Array:
        out = np.empty(len(cells), dtype=object)
        out[:] = [None if cell.strip().lower() in self.missing else cell.strip() for cell in cells]
        return out

    def _numbers(self, cells: list[str], name: str, lines: Array) -> tuple[Array, list[int]]:
        """The cells as numbers, NaN where missing, and the positions of those that are neither."""
        others: list[int] = []
        swap = self.dialect.decimal == ","
        values = None if swap or self.options.missing else _all_numbers(cells)
        if values is None:
            values = self._some_numbers(cells, others)
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            at = int(infinite[0])
            cell = cells[at].strip()
            why = "infinite" if "inf" in cell.lower() else "too large for a 64-bit number"
            raise self.source.fail(
                f"{shown(cell)} is {why}. Correct it, or mark it as missing (leave the cell empty).",
                line=int(lines[at]),
                column=name,
            )
        return values, others

    def _some_numbers(self, cells: list[str], others: list[int]) -> Array:
        values = np.full(len(cells), np.nan)
        swap = self.dialect.decimal == ","
        extra = {token.strip() for token in self.options.missing}
        for i, cell in enumerate(cells):
            if extra and cell.strip() in extra:
                continue
            try:
                # float() would take 1_000; and with decimal commas a point has no meaning
                if swap:
                    values[i] = float(cell.replace(",", ".")) if "." not in cell and "_" not in cell else float("x")
                else:
                    values[i] = float(cell) if "_" not in cell else float("x")
            except ValueError:
                if cell.strip().lower() not in self.missing:
                    others.append(i)
        return values


# ---------------------------------------------------------------- cells


def _all_numbers(cells: list[str]) -> Array | None:
    """The quick way, for columns without holes; None where a cell is not a plain number."""
    try:
        values = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        return None
    return None if any("_" in cell for cell in cells) else values  # float() would take 1_000


def _number(cell: str, decimal: str) -> float | None:
    text = cell.strip()
    if "_" in text or (decimal == "," and "." in text):
        return None
    try:
        return float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        return None


def _looks_numeric(cell: str, comma: bool) -> bool:
    return _number(cell, ".") is not None or (comma and _number(cell, ",") is not None)


def _is_decimal(cell: str, mark: str) -> bool:
    """A number that can only be meant with this decimal mark: 1,5 or 1.5, but not 12."""
    return cell.count(mark) == 1 and _number(cell, mark) is not None


def _encoding(source: Source) -> str:
    with source.open() as file:
        head = file.read(4)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig"


def _lone_returns(file: Any) -> bool:
    """Whether lines end in a bare carriage return, as on old Macs."""
    head = file.read(1 << 16)
    file.seek(0)
    return b"\r" in head and b"\n" not in head
