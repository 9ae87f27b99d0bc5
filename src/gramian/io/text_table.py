"""CSV and TSV as people write them: delimiter, decimal comma and header found out, every error with its line."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.io.arrow_text import DELIMITERS as PLAIN_DELIMITERS
from gramian.io.arrow_text import ArrowBody, body_offset
from gramian.io.cells import looks_numeric, plain_number
from gramian.io.record_table import Dialect, RecordReader
from gramian.policy import FILES
from gramian.tables.table import Table, is_total

__all__ = ["Dialect", "TextReader"]

DELIMITERS = ("\t", ";", "|", ",")
OLD_ENCODINGS = ("cp1252", "latin-1")
"""Of text that is not UTF-8."""
_SEP = re.compile(r'"?sep=(.)"?', re.IGNORECASE)


class TextReader(RecordReader):
    """A CSV or TSV file, read in pieces."""

    def _prepare(self) -> None:
        with self.source.open() as file:
            head = file.read(FILES.looked)
        self.encoding = self.options.encoding or _encoding(head)
        if self.encoding in OLD_ENCODINGS and not self.options.encoding:
            self.notes.append(f"the text is not UTF-8: read as {self.encoding} (--encoding says otherwise)")
        self._is_translated = self.encoding.startswith("utf-16") or _lone_returns(head)
        self._first_line = (self.options.skip_lines or 0) + 1
        sample = self._sample()
        told = _SEP.fullmatch(sample[0].strip())
        if told is not None and len(sample) > 1:  # Excel's way to name the delimiter
            self._first_line += 1
            sample = sample[1:]
        self.delimiter = self.options.delimiter or (told[1] if told else self._delimiter(sample))

    def _sample(self) -> list[str]:
        lines: list[str] = []
        size = 0
        for _, line in self._lines():
            lines.append(line)
            size += len(line)
            if size > FILES.looked or len(lines) >= 4 * FILES.records:
                break
        if not any(line.strip() for line in lines):
            skipped = " below the lines skipped" if self.options.skip_lines else ""
            raise self.source.fail(f"the file has no rows{skipped}, only blank lines.")
        return lines

    def _delimiter(self, sample: list[str]) -> str:
        """The delimiter that cuts all lines alike, and into cells that are numbers; where nothing tells, that of the file's name."""
        best, best_score = "\t" if ".tsv" in self.source.path.lower()[-8:] else ",", (-1.0, -1.0, -1)
        for delimiter in DELIMITERS:
            try:
                rows = [
                    row for row in csv.reader(sample, delimiter=delimiter, strict=False, skipinitialspace=True) if row
                ]
            except csv.Error:
                continue
            rows = rows[:-1] if len(rows) > FILES.records else rows  # the last record of a sample may be cut
            widths = [len(row) for row in rows]
            width = max(set(widths), key=widths.count)
            if width < 2:
                continue
            alike = sum(w == width for w in widths) / len(widths)
            cells = [cell for row in rows[: FILES.records] for cell in row]
            good = sum(looks_numeric(cell) or self._is_missing(cell) for cell in cells) / max(1, len(cells))
            score = (round(alike, 1), round(good, 1), width)
            if score > best_score:
                best, best_score = delimiter, score
        if best_score[0] < 0 and all(len(line.split()) > 1 for line in sample if line.strip()):
            rows = [line.split() for line in sample if line.strip()]
            if len({len(row) for row in rows}) == 1 and all(looks_numeric(cell) for cell in rows[-1]):
                return " "
        return best

    # ------------------------------------------------------------ plain bodies through pyarrow

    def _quick(self, size: int, raw: bool) -> Iterator[Table]:
        body = self._plain_body(raw)
        if body is None:
            return
        line = self._body_line
        rows = self._plain_rows(line) if raw else iter(())
        for columns in body.pieces(size):
            n_rows = next(len(column) for column in columns if len(column))
            if not self._is_plain(columns):
                return
            lines = np.arange(line, line + n_rows)
            line += n_rows
            cells = list(islice(rows, n_rows)) if raw else None
            yield Table(self.names, self._made(columns, lines), lines, self.source, self.notes, cells)
        self._ended = body.ended

    def _plain_rows(self, first_line: int) -> Iterator[list[str]]:
        """The cells of plain lines as they stand."""
        for line, text in self._all_lines():
            if line >= first_line:
                yield text.rstrip("\r\n").split(self.delimiter)

    def _plain_body(self, raw: bool) -> ArrowBody | None:
        """The body of the file for pyarrow, where the file is large and plain and pyarrow is there."""
        if (
            self.source.size < FILES.quick
            or self.delimiter not in PLAIN_DELIMITERS
            or self.width < 2
            or self._is_translated
            or self.encoding not in ("utf-8", "utf-8-sig")
            or self.options.missing
            or find_spec("pyarrow") is None
        ):
            return None
        sample = [(line, cells) for line, cells in self._records(limit=FILES.records) if line >= self.layout.start]
        sample = [(line, cells) for line, cells in sample[self.layout.header :] if line != self.layout.units]
        # blanks before cells are no part of them: where cells are kept as they stand, the own parser takes them off
        blanks = (b"\n ", (self.delimiter + " ").encode()) if raw else ()
        offset = body_offset(self.source, sample[0][0], *blanks) if sample else None
        if offset is None:
            return None
        self._body_line = sample[0][0]
        kinds = [self._sample_kind(j, [cells[j] for _, cells in sample if j < len(cells)]) for j in range(self.width)]
        if all(kind == "skip" for kind in kinds):
            return None
        return ArrowBody(self.source, offset, self.delimiter, self.dialect.decimal, kinds)

    def _sample_kind(self, j: int, cells: list[str]) -> str:
        if self.names[j] in self.options.skip:
            return "skip"
        if self.names[j] in self.options.text or self.kinds[j] == "text":
            return "text"
        seen = [cell for cell in cells if not self._is_missing(cell)]
        plain = bool(seen) and all(plain_number(cell, self.dialect.decimal) is not None for cell in seen)
        return "number" if plain else "text"

    def _is_plain(self, columns: list[Any]) -> bool:
        """Whether a piece needs no word of the own parser: no infinity, no row of totals, no cell beyond the limit."""
        for column in columns:
            if isinstance(column, np.ndarray):
                if np.isinf(column).any():
                    return False
            elif any(is_total([cell]) or len(cell) > FILES.field for cell in set(column)):
                return False
        return True

    def _made(self, columns: list[Any], lines: Array) -> list[Array]:
        made: list[Array] = []
        for j, column in enumerate(columns):
            if isinstance(column, np.ndarray):
                if not np.isnan(column).all():
                    self.kinds[j] = "number"
                made.append(column)
            else:
                made.append(self._column(j, column, lines) if column else np.full(len(lines), np.nan))
        return made

    # ------------------------------------------------------------ lines and records

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Decoded lines with their numbers, from the first that is not skipped."""
        for number, line in self._all_lines():
            if number >= self._first_line:
                yield number, line

    def _all_lines(self) -> Iterator[tuple[int, str]]:
        with self.source.open() as file:
            if self._is_translated:
                yield from self._translated(file)
                return
            number = 0
            while raw := file.readline(FILES.spare):
                number += 1
                if len(raw) >= FILES.spare:
                    raise self.source.fail(f"the line is longer than {FILES.spare} bytes.", line=number)
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
        hint = " If it is from an older Excel, pass --encoding cp1252." if self.encoding.startswith("utf-8") else ""
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

    def _records(self, *, limit: int | None = None) -> Iterator[tuple[int, list[str]]]:
        """Records with the line on which each begins; blank lines are no records."""
        delimiter = self.delimiter
        position = [self._first_line - 1]

        def lines() -> Iterator[str]:
            for number, line in self._lines():
                position[0] = number
                yield " ".join(line.split()) + "\n" if delimiter == " " else line

        csv.field_size_limit(FILES.field)
        reader = csv.reader(lines(), delimiter=delimiter, strict=True, skipinitialspace=True)
        count = 0
        while limit is None or count < limit:
            before = position[0]
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise self._not_parsed(error, before + 1, position[0]) from error
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue
            count += 1
            yield before + 1, cells

    def _not_parsed(self, error: csv.Error, start: int, end: int) -> Exception:
        text = str(error)
        if "unexpected end of data" in text:
            return self.source.fail(f"a quote opened here is never closed (read up to line {end}).", line=start)
        if "field larger" in text:
            return self.source.fail(
                f"a cell of more than {FILES.field} characters: an unclosed quote, or not a table.", line=start
            )
        if "expected after" in text:
            return self.source.fail("text after a closing quote. A quote inside a cell is written twice.", line=end)
        return self.source.fail(f"cannot be parsed ({text}).", line=end)


def _encoding(head: bytes) -> str:
    """UTF-8 and UTF-16 by their signs; else Windows' own Latin letters, in which 0x80 is the euro sign, or those of ISO."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding in ("utf-8-sig", *OLD_ENCODINGS):
        try:
            codecs.getincrementaldecoder(encoding)().decode(head)  # the last letter may be cut
        except UnicodeDecodeError:
            continue
        return encoding
    raise AssertionError("every byte is a letter of latin-1")


def _lone_returns(head: bytes) -> bool:
    """Whether lines end in a bare carriage return, as on old Macs."""
    return b"\r" in head and b"\n" not in head
