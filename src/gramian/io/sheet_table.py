"""Workbooks as tables: .xlsx, .xlsb, .xls and .ods, one sheet at a time, through python-calamine (the extra ``io``)."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any, BinaryIO

from gramian.io.layout import Record
from gramian.io.packing import PackingError, check_members
from gramian.io.record_table import RecordReader
from gramian.policy import FILES
from gramian.tables.table import TableError, quote

_XLSX_CELL = re.compile(rb'<c\b[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
_ODS_TAG = re.compile(rb"<table:(table-row|table-cell|covered-table-cell)\b([^>]*)>")
_ODS_ROWS = re.compile(rb'number-rows-repeated="(\d+)"')
_ODS_COLUMNS = re.compile(rb'number-columns-repeated="(\d+)"')


def calamine() -> Any:
    """python-calamine, or an ``ImportError`` that says how to get it."""
    try:
        import python_calamine
    except ImportError as error:
        raise ImportError(
            "Excel and .ods files need python-calamine: pip install 'gramian[io]', or export the sheet as CSV."
        ) from error
    return python_calamine


class SheetReader(RecordReader):
    """One sheet of a workbook. Its rows are records: numbers, dates and booleans as text."""

    def _prepare(self) -> None:
        self._library = calamine()
        with self.source.open() as file:
            content = file.read()
        self._check(io.BytesIO(content))
        self._rows_of_sheet = self._read(content)

    def _check(self, file: BinaryIO) -> None:
        """Refuse archives that unpack beyond bounds, and sheets that claim a rectangle beyond memory."""
        if not zipfile.is_zipfile(file):
            return  # .xls, which is not packed and has at most 65,536 x 256 cells
        try:
            with zipfile.ZipFile(file) as archive:
                check_members(archive, file, self.source.size)
                for entry in archive.infolist():
                    cells = self._cells_claimed(archive, entry)
                    if cells > FILES.cells:
                        raise self.source.fail(
                            f"a sheet of {cells} cells; at most {FILES.cells} are read. Delete stray cells far below "
                            "or far right of the table, or export it as CSV."
                        )
        except PackingError as error:
            raise self.source.fail(str(error)) from error
        except TableError:
            raise
        except (
            zipfile.BadZipFile,
            zlib.error,
            NotImplementedError,
            RuntimeError,
            OSError,
            EOFError,
            ValueError,
        ) as error:
            raise self.source.fail(f"the workbook is damaged ({str(error)[:80]}).") from error

    def _cells_claimed(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
        """The size of the rectangle that a member of the archive spans."""
        if entry.filename.startswith("xl/worksheets/") and entry.filename.endswith(".xml"):
            rows = columns = 0
            for name, number in _XLSX_CELL.findall(archive.read(entry)):
                rows, columns = max(rows, int(number)), max(columns, _column_number(name))
            return rows * columns
        if entry.filename != "content.xml":
            return 0
        cells = repeat = 0
        for tag, attributes in _ODS_TAG.findall(archive.read(entry)):
            if tag == b"table-row":
                found = _ODS_ROWS.search(attributes)
                repeat = int(found[1]) if found else 1
            elif b"value-type" in attributes:
                found = _ODS_COLUMNS.search(attributes)
                cells += repeat * (int(found[1]) if found else 1)
        return cells

    def _read(self, content: bytes) -> list[list[Any]]:
        library = self._library
        try:
            book = library.CalamineWorkbook.from_filelike(io.BytesIO(content))
            rows = self._chosen(book)
        except library.PasswordError as error:
            raise self.source.fail("the workbook is protected by a password. Save it without one.") from error
        except TableError:
            raise
        except (library.CalamineError, OSError, ValueError) as error:
            raise self.source.fail(f"the workbook cannot be read ({str(error)[:100]}).") from error
        return rows

    def _chosen(self, book: Any) -> list[list[Any]]:
        """The rows of the sheet asked for, by name or by number from 1; else of the first that holds a table."""
        names, wanted = book.sheet_names, self.options.sheet
        if not names:
            raise self.source.fail("the workbook has no sheet.")

        def rows_of(position: int) -> list[list[Any]]:
            rows: list[list[Any]] = book.get_sheet_by_index(position).to_python(skip_empty_area=False)
            return rows

        listed = ", ".join(quote(name, 30) for name in names[:8]) + (", ..." if len(names) > 8 else "")
        if wanted is None:
            first = next((position for position in range(len(names)) if _is_table(rows_of(position))), 0)
            if len(names) > 1:
                which = f"{quote(names[first], 30)}, the first with a table," if first else "the first"
                self.notes.append(f"of the sheets {listed}, {which} is read (--sheet says otherwise)")
            return rows_of(first)
        if wanted in names:
            return rows_of(names.index(wanted))
        if wanted.isdigit() and 1 <= int(wanted) <= len(names):
            return rows_of(int(wanted) - 1)
        raise self.source.fail(f"--sheet {quote(wanted)}: the sheets are {listed}.")

    @cached_property
    def _width(self) -> int:
        """Cells of the widest row, empty ones at its end aside."""
        return max((_fill(row) for row in self._rows_of_sheet), default=0)

    def _records(self, *, limit: int | None = None) -> Iterator[Record]:
        count, first = 0, (self.options.skip_lines or 0)
        for line, row in enumerate(self._rows_of_sheet[first:], start=first + 1):
            if limit is not None and count >= limit:
                return
            if _fill(row):
                count += 1
                yield line, [_text(cell) for cell in row[: self._width]]


def _is_table(rows: list[list[Any]]) -> bool:
    """Whether a sheet has at least two rows of two cells or more, with a number or a date somewhere in them."""
    wide = [cells for cells in ([cell for cell in row if cell not in ("", None)] for row in rows) if len(cells) > 1]
    return len(wide) > 1 and any(not isinstance(cell, str) for cells in wide for cell in cells)


def _fill(row: list[Any]) -> int:
    return next((j + 1 for j in range(len(row) - 1, -1, -1) if row[j] not in ("", None)), 0)


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _text(cell: Any) -> str:
    """A cell as a CSV file would hold it."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return str(int(cell)) if cell == cell and abs(cell) < 2**53 and cell == int(cell) else repr(cell)
    if isinstance(cell, datetime.datetime):
        whole = cell.time() == datetime.time()
        return cell.date().isoformat() if whole else cell.isoformat(sep=" ")
    return "" if cell is None else str(cell)
