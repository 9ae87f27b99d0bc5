"""Where the table begins in a file of records: banner lines, comments, the header, a row of units, rows of totals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gramian.io.cells import dressed_number
from gramian.tables.dates import are_dates

_UNIT = re.compile(r"[\[(<].{1,20}[\])>]|[^\d\W]{0,6}[%°µ/·²³^*].{0,12}|[a-zA-Z]{1,3}")
_ERROR = re.compile(r"#(N/A|NAME\?|NUM!|VALUE!|DIV/0!|REF!|NULL!)", re.IGNORECASE)

Record = tuple[int, list[str]]


@dataclass(frozen=True)
class Layout:
    """What stands above the rows: ``start`` is the line of the first record that counts, ``names`` the header."""

    start: int = 1
    header: bool = True
    names: list[str] | None = None
    units: int | None = None
    comments: bool = False
    skipped: int = 0
    notes: list[str] = field(default_factory=list)


def width_of(records: Sequence[Record]) -> int:
    """The number of cells that most records have."""
    widths = [len(cells) for _, cells in records if not is_comment(cells)] or [len(cells) for _, cells in records]
    return max(set(widths), key=widths.count)


def is_comment(cells: Sequence[str]) -> bool:
    """Whether a record begins like a comment. ``#`` alone is a name of a column, ``#N/A`` a missing cell."""
    first = cells[0].lstrip()
    return first.startswith("#") and first != "#" and _ERROR.match(first) is None


_NOTE = re.compile(
    r"([*†‡§]|\(?\d{1,2}\)|sources?\b|notes?\b|footnotes?\b|nb\b|n\.b\.|data (from|by|source)|quelle\b|anmerkung|hinweis|fuente|nota\b|fonte|remarque|bron\b|©|"
    r"copyright|last updated|updated\b|generated|exported|downloaded|created|printed|page \d|end of)",
    re.IGNORECASE,
)


def is_footnote(cells: Sequence[str], width: int) -> bool:
    """Whether a record may be a note below the table: narrower than its rows or with nothing but its first cell, and it reads like one.

    A row that was cut off is none: a note begins with a sign or a word of notes, or is a sentence of at least three words.

    Examples
    --------
    >>> is_footnote(["Source: the Bureau", " 2020"], 4), is_footnote(["* revised", "", ""], 3), is_footnote(["n11", "2"], 3)
    (True, True, False)
    """
    filled = [cell for cell in cells if cell.strip()]
    if width < 2 or not filled or not cells[0].strip() or (len(cells) >= width and len(filled) > 1):
        return False
    text = cells[0].strip()
    sentence = len(text.split()) >= 3 and not any(c.strip().replace(".", "", 1).isdigit() for c in filled)
    return _NOTE.match(text) is not None or sentence


class LayoutFinder:
    """Finds the layout in the first records of a file."""

    def __init__(self, records: Sequence[Record], decimal: str, is_missing: Callable[[str], bool]) -> None:
        self.records, self.decimal, self.is_missing = records, decimal, is_missing
        self.width = width_of(records)

    def find(self, header: bool | None, *, as_given: bool = False) -> Layout:
        """The layout; ``header`` as told or None, ``as_given`` where the user said which lines to skip."""
        notes: list[str] = []
        first, names = self._after_comments()
        comments = first > 0 or names is not None
        if not as_given and names is None:
            banner = self._banner(first)
            if banner:
                shown = " ".join(self.records[first][1])[:40].strip()
                count = f"{banner} line{'s' if banner > 1 else ''}"
                notes.append(f"{count} above the table left out ({shown!r}; --skip says otherwise)")
                first += banner
        if first >= len(self.records):
            first = 0
        line, cells = self.records[first]
        if names is not None:
            return Layout(line, False, names, None, True, max(first - 1, 0), notes)
        if header is None:
            header = not self._is_data(cells)
            if not header:
                notes.append("no header found: the columns are called x1, x2, ... (--header says otherwise)")
        if header and (joined := self._joined(first)) is not None:
            below, names = joined
            shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            notes.append(f"lines {line} and {self.records[first + 1][0]} are one header ({shown})")
            return Layout(self.records[below][0], False, names, None, comments, first, notes)
        units = self._units(first) if header else None
        if units is not None:
            shown = ", ".join(cell for cell in self.records[first + 1][1] if cell.strip())[:40]
            notes.append(f"line {units} holds units ({shown}): left out")
        return Layout(line, header, None, units, comments, first + (units is not None), notes)

    def _after_comments(self) -> tuple[int, list[str] | None]:
        """The first record that is no comment; and the names where the last comment is the header of the numbers."""
        first = 0
        while first < len(self.records) - 1 and is_comment(self.records[first][1]):
            first += 1
        if not first or self.width < 2 or len(self.records[first - 1][1]) != self.width:
            return first, None
        names = [cell.strip() for cell in self.records[first - 1][1]]
        names[0] = names[0].lstrip("#").strip()
        if self._is_data(self.records[first][1]) and not any(self._number(name) for name in names):
            return first, names
        below = [cells for _, cells in self.records[first:] if len(cells) == self.width]
        return (first, names) if below and any(self._number(cell) for cell in below[0]) else (first, None)

    def _banner(self, first: int, most: int = 30) -> int:
        """How many records above the table are no part of it, where that is clear."""
        records = [cells for _, cells in self.records[first:]]
        if self.width < 2:
            return 0
        count = 0
        while count < min(most, len(records) - 1) and self._is_banner(records[count], records[count + 1]):
            count += 1
        if not count:
            full = [i for i, cells in enumerate(records[: most + 1]) if len(cells) == self.width]
            if full and full[0] and self._is_names(records[full[0]]):
                count = full[0]
        below = records[count:]
        regular = sum(len(cells) == self.width for cells in below) >= 0.8 * len(below)
        return count if count and regular and len(below) > 1 else 0

    def _is_banner(self, cells: Sequence[str], following: Sequence[str]) -> bool:
        if len(cells) == 1 and self.width > 1:
            return True
        filled = sum(bool(cell.strip()) for cell in cells)
        return self.width >= 3 and filled <= 1 and not any(self._number(cell) for cell in cells)

    def _is_names(self, cells: Sequence[str]) -> bool:
        return all(cell.strip() and not self._number(cell) for cell in cells)

    def _number(self, cell: str) -> bool:
        return dressed_number(cell, self.decimal) is not None

    def _is_data(self, cells: Sequence[str]) -> bool:
        """A first row of numbers, dates and holes is data, not names."""
        seen = [cell.strip() for cell in cells if not self.is_missing(cell)]
        numbers = [self._number(cell) for cell in seen]
        return any(numbers) and all(number or are_dates([cell]) for number, cell in zip(numbers, seen))

    def _joined(self, first: int) -> tuple[int, list[str]] | None:
        """The record below two header rows, and the names of both joined: groups of columns stand above their names.

        The upper row has blanks, where cells were merged; the lower one has words above numbers.
        """
        rows = [[cell.strip() for cell in cells] for _, cells in self.records[first : first + 5]]
        if len(rows) < 3 or any(len(cells) != self.width for cells in rows[:3]):
            return None
        upper, lower, *body = rows
        groups = [cell for cell in upper if cell]
        if len(groups) < 1 or all(upper) or any(self._number(cell) for cell in lower) or not any(lower):
            return None
        if not all(top or bottom for top, bottom in zip(upper, lower)):
            return None  # a column without a name: no header of two rows
        under = [j for j in range(self.width) if not upper[j] and lower[j] and any(upper[:j])]
        numbers = [j for j in under if all(self._number(row[j]) or self.is_missing(row[j]) for row in body)]
        if not under or not any(self._number(row[j]) for j in numbers for row in body):
            return None
        names, group = [], ""
        for top, bottom in zip(upper, lower):
            group = top or group
            names.append(" ".join(filter(None, [group, bottom])) if bottom else top)
            group = group if bottom else ""  # a cell merged downwards ends the group before it
        return first + 2, names

    def _units(self, first: int) -> int | None:
        """The line of a row of units below the header."""
        below = [(line, cells) for line, cells in self.records[first + 1 :] if len(cells) == self.width]
        if len(below) < 3:
            return None
        line, units = below[0]
        texts = numbers = 0
        for j in range(self.width):
            cells = [cells[j] for _, cells in below[1:] if not self.is_missing(cells[j])]
            if len(cells) < 2 or sum(self._number(cell) for cell in cells) < 0.9 * len(cells):
                continue
            if self._number(units[j]):
                return None
            numbers += 1
            texts += not self.is_missing(units[j]) and _UNIT.fullmatch(units[j].strip()) is not None
        return line if texts and texts >= 0.5 * numbers and (numbers > 1 or _is_marked(units)) else None


def _is_marked(units: Sequence[Any]) -> bool:
    """A single unit must look like nothing else: brackets, or a sign no word has."""
    return any(re.search(r"[\[(%°µ/²³]", cell) for cell in units)
