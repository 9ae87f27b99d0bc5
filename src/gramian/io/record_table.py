"""RecordReader: a table made of records of cells, wherever they come from (lines of a text, rows of a sheet)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from gramian._arrays import Array
from gramian.io.cells import Dress, decimal_evidence, dressed_number, one_unit, united_number
from gramian.io.layout import LayoutFinder, Record, is_comment, is_footnote
from gramian.io.source import Source
from gramian.io.table import ReadOptions, batch_rows, checked_names
from gramian.policy import FILES
from gramian.tables.limits import is_limit
from gramian.tables.table import MISSING, NO_SUCH_THING, Table, is_total, quote

NAMES = {"\t": "tab", ";": "';'", "|": "'|'", ",": "','", " ": "space"}


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are laid out, for reading it and for writing it back alike."""

    delimiter: str = ","
    decimal: str = "."
    header: bool = True
    encoding: str = "utf-8-sig"


class RecordReader(ABC):
    """Header, kinds of columns and pieces of a table of records. A subclass gives the records."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.source, self.options, self.notes = source, options, list[str]()
        self.missing = MISSING | {token.strip().lower() for token in options.missing}
        self.delimiter, self.encoding = options.delimiter or ",", options.encoding or "utf-8-sig"
        self._prepare()
        sample = list(self._records(limit=FILES.records))
        if not sample:
            raise source.fail("the file has no rows.")
        decimal = options.decimal or self._decimal(sample)
        finder = LayoutFinder(sample, decimal, self._is_missing)
        self.layout = finder.find(options.header, as_given=options.skip_lines is not None)
        self.notes += self.layout.notes
        self.dialect = Dialect(
            self.delimiter, decimal, self.layout.header or self.layout.names is not None, self.encoding
        )
        self._set_names(sample)
        body = [cells for line, cells in sample if line >= self.layout.start]
        few = sum(map(is_total, body)) <= max(1, 0.1 * len(body))
        self.drop_totals = few if options.drop_totals is None else options.drop_totals
        self.kinds: list[str | None] = [None] * self.width
        self.dresses: list[Dress | None] = [None] * self.width
        self.totals = 0
        self.comments = 0

    # ------------------------------------------------------------ what a subclass gives

    def _prepare(self) -> None:  # noqa: B027 (nothing, where nothing must be known)
        """Settle what must be known before records can be read."""

    @abstractmethod
    def _records(self, *, limit: int | None = None) -> Iterator[Record]:
        """Records with the line on which each begins; blank ones are left out."""

    def _quick(self, size: int, raw: bool) -> Iterator[Table]:
        """Pieces by a faster way; :meth:`batches` goes on below the last one unless ``_ended`` is set."""
        return iter(())

    # ------------------------------------------------------------ the shape of the file

    def _decimal(self, sample: list[Record]) -> str:
        found = decimal_evidence(cell.strip() for _, cells in sample for cell in cells)
        if found.comma and found.point:
            raise self.source.fail(
                f"both decimal commas ({quote(found.comma)}) and decimal points ({quote(found.point)}). Pass "
                "--decimal to say which."
            )
        if found.comma or (found.either and not found.point and self.delimiter != ","):
            if not found.comma:
                self.notes.append(f"{found.either} is read with a decimal comma (--decimal . for thousands)")
            return ","
        return "."

    def _is_missing(self, cell: str) -> bool:
        return cell.strip().lower() in self.missing

    def _set_names(self, sample: list[Record]) -> None:
        body = [cells for line, cells in sample if line >= self.layout.start]
        cells = self.layout.names or body[0]
        if not self.layout.header and self.layout.names is None:
            cells = [f"x{i}" for i in range(1, len(cells) + 1)]
        self.width = len(cells)
        self.header = [cell.strip() for cell in cells]
        self.unnamed = [not cell for cell in self.header]
        self.names = checked_names(self.source, cells)
        # trailing delimiters make nameless empty columns at the end: they are no columns
        rows = body[1:] if self.layout.header else body
        while self.width > 1 and self.unnamed[-1] and not any(c.strip() for row in rows for c in row[self.width - 1 :]):
            self.width -= 1
            for names in (self.unnamed, self.names, self.header):
                names.pop()

    @property
    def skipped(self) -> str:
        """What was not read, in words: ``3 lines skipped``."""
        count = self.layout.skipped + self.comments + (self.options.skip_lines or 0)
        parts = [f"{count} line{'s' if count > 1 else ''} skipped"] if count else []
        if self.totals and self.drop_totals:
            parts.append(f"{self.totals} total{'s' if self.totals > 1 else ''} left out")
        return ", ".join(parts)

    def _rows(self, after: int = 0) -> Iterator[Record]:
        """The records below the header, all of the same width; ``after`` a line."""
        records = self._records()
        if self.layout.header:
            next(record for record in records if record[0] >= self.layout.start)
        self.totals = self.comments = 0
        ahead: deque[Record] = deque()
        while (record := ahead.popleft() if ahead else next(records, None)) is not None:
            line, cells = record
            if line < self.layout.start or line <= after or line == self.layout.units:
                continue
            if len(cells) < self.width or not cells[-1].strip():
                ahead.extend(islice(records, FILES.notes - len(ahead)))
                if len(ahead) < FILES.notes and self._are_footnotes([record, *ahead]):
                    return
            if len(cells) != self.width:
                if is_comment(cells):
                    self.comments += 1
                    continue
                if len(cells) < self.width or any(cell.strip() for cell in cells[self.width :]):
                    raise self.source.fail(
                        f"{len(cells)} fields where {self.width} are expected (delimiter "
                        f"{NAMES.get(self.delimiter, repr(self.delimiter))}).",
                        line=line,
                    )
                cells = cells[: self.width]
            elif self.layout.comments and cells[0].lstrip().startswith("# "):
                self.comments += 1
                continue
            if is_total(cells) and self._takes_total(line):
                continue
            yield line, cells

    def _are_footnotes(self, records: list[Record]) -> bool:
        """Whether the last records are notes below the table, which are no part of it; said. Blank ones may stand above and between them."""
        notes = [record for record in records if any(map(str.strip, record[1]))]
        if not notes or not all(is_footnote(cells, self.width) for _, cells in notes):
            return False
        (line, cells), count = notes[0], len(notes)
        self.comments += count
        text = quote(" ".join(cells).strip())
        lines = f"line {line}" if count == 1 else f"{count} lines from line {line} on"
        note = f"{lines} below the table left out as a note ({text})"
        self.notes += [] if note in self.notes else [note]
        return True

    def _takes_total(self, line: int) -> bool:
        """Whether a row of totals is left out; said in any case."""
        self.totals += 1
        if self.options.drop_totals is None and self.totals == 1:
            done = (
                "is left out (--keep-totals says otherwise)"
                if self.drop_totals
                else "is taken as a row, as it is one of many (--drop-totals leaves it out)"
            )
            note = f"line {line} looks like a total or mean of the rows and {done}"
            self.notes += [] if note in self.notes else [note]
        return self.drop_totals

    # ------------------------------------------------------------ pieces

    def batches(self, rows: int | None = None, *, raw: bool = False) -> Iterator[Table]:
        """The table in pieces. What a column is (number or text) is settled by the first piece that shows any of it."""
        size = batch_rows(self.width, rows)
        last, empty, self._ended = 0, True, False
        for table in self._quick(size, raw):
            last, empty = int(table.lines[-1]), False
            yield table
        if self._ended:
            return
        lines: list[int] = []
        piece: list[list[str]] = []
        for line, cells in self._rows(last):
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
            return self._texts(name, cells)
        values, others = self._numbers(j, cells, lines)
        if others and (united := self._united(j, cells)) is not None:
            self.kinds[j] = "number"
            return united
        if others:
            counted = int(np.isfinite(values).sum())
            limits = all(is_limit(cells[i]) for i in others)
            if limits and self.options.limits:
                return self._texts(name, cells)
            if limits and counted > 1:
                return self._without_limits(j, values, cells[others[0]])
            if self.kinds[j] == "number" or counted >= len(others):
                cell = quote(cells[others[0]].strip())
                below = " `gramian impute` fills such cells below their limit." if is_limit(cells[others[0]]) else ""
                raise self.source.fail(
                    f"{cell} is not a number, but most of the column is. Correct it, mark it as missing "
                    f"(--missing {cell}), or pass --text {quote(name)} "
                    f"to take the column as text.{below}",
                    line=int(lines[others[0]]),
                    column=name,
                )
            self.kinds[j] = "text"
            return self._texts(name, cells)
        if np.isfinite(values).any():
            self.kinds[j] = "number"
        return values

    def _without_limits(self, j: int, values: Array, cell: str) -> Array:
        """Numbers of which some are only known to be below a limit: missing, which is said once."""
        said = f"column {quote(self.names[j])}: cells below a limit, such as "
        if not any(note.startswith(said) for note in self.notes):
            self.notes.append(
                f"{said}{quote(cell.strip())}, are taken as missing (`gramian impute` fills them below it)"
            )
        self.kinds[j] = "number"
        return values

    def _united(self, j: int, cells: list[str]) -> Array | None:
        """The numbers of a column all of whose cells have one unit, as in ``12 kg``; None of any other."""
        values, worn = np.full(len(cells), np.nan), []
        for i, cell in enumerate(cells):
            if self._is_missing(cell):
                continue
            found = united_number(cell, self.dialect.decimal)
            if found is None:
                return None
            values[i] = found[0]
            worn.append(found[1])
        before = self.dresses[j]
        dress = one_unit(worn if before is None else [before, *worn])
        if dress is None or len(worn) < 2:
            return None
        if before is None:
            self.dresses[j] = dress
            unit, name = quote(dress.after.strip()), quote(self.names[j])
            self.notes.append(f"column {name}: numbers in {unit} (--text {name} takes it as text)")
        return values

    def _texts(self, name: str, cells: list[str]) -> Array:
        out = np.empty(len(cells), dtype=object)
        out[:] = [None if self._is_missing(cell) else cell.strip() for cell in cells]
        if NO_SUCH_THING not in {token.strip().lower() for token in self.options.missing}:
            said = [i for i, cell in enumerate(cells) if cell.strip().lower() == NO_SUCH_THING]
            if said:
                out[said] = [cells[i].strip() for i in said]
                word = quote(cells[said[0]].strip())
                note = f"column {quote(name)}: {word} is taken as a word like the others (--missing {NO_SUCH_THING} if it means missing)"
                self.notes += [] if note in self.notes else [note]
        return out

    def _numbers(self, j: int, cells: list[str], lines: Array) -> tuple[Array, list[int]]:
        """The cells as numbers, NaN where missing, and the positions of those that are neither."""
        others: list[int] = []
        values = None
        if self.dialect.decimal == "." and not self.options.missing and not self._is_percent(j):
            values = _all_numbers(cells)
        if values is None:
            values = self._some_numbers(j, cells, others, lines)
        self._check_finite(values, cells, self.names[j], lines)
        return values, others

    def _check_finite(self, values: Array, cells: list[str], name: str, lines: Array) -> None:
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            at = int(infinite[0])
            cell = cells[at].strip()
            why = "infinite" if "inf" in cell.lower() else "too large for a 64-bit number"
            raise self.source.fail(
                f"{quote(cell)} is {why}. Correct it, or mark it as missing (leave the cell empty).",
                line=int(lines[at]),
                column=name,
            )

    def _is_percent(self, j: int) -> bool:
        dress = self.dresses[j]
        return dress is not None and dress.is_percent

    def _some_numbers(self, j: int, cells: list[str], others: list[int], lines: Array) -> Array:
        values = np.full(len(cells), np.nan)
        extra = {token.strip() for token in self.options.missing}
        plain: int | None = None  # a number without a sign, which must not stand among percents
        for i, cell in enumerate(cells):
            text = cell.strip()
            if not text or (extra and text in extra) or text.lower() in self.missing:
                continue
            found = dressed_number(text, self.dialect.decimal)
            if found is None:
                others.append(i)
                continue
            values[i], dress = found
            if dress.before or dress.after:
                self._wear(j, dress, text, int(lines[i]))
            elif plain is None and values[i] != 0:
                plain = i
        if not others and self._is_percent(j) and plain is not None:
            raise self.source.fail(
                f"{quote(cells[plain].strip())} has no % sign, but other cells of the column do. Write all cells "
                "alike.",
                line=int(lines[plain]),
                column=self.names[j],
            )
        return values

    def _wear(self, j: int, dress: Dress, text: str, line: int) -> None:
        """All signs of a column must be alike: dollars and euros do not add up."""
        before = self.dresses[j]
        if before is None:
            self.dresses[j] = dress
            return
        one, other = ((worn.before or worn.after).strip() for worn in (before, dress))
        if one != other:
            raise self.source.fail(
                f"{quote(text)}: the column mixes {one} and {other}. Bring it to one unit, or pass --text "
                f"{quote(self.names[j])} to take it as text.",
                line=line,
                column=self.names[j],
            )


def _all_numbers(cells: list[str]) -> Array | None:
    """The quick way, for columns without holes; None where a cell is not a plain number."""
    try:
        values = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        return None
    return None if any("_" in cell for cell in cells) else values  # float() would take 1_000
