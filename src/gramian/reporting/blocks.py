"""What a page is made of: sections of text, facts, tables, pictures, code. All of it is data; the template escapes it.

Only a `Drawing` goes into the page as it is: what is written in it was escaped when it was drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

NAME_WIDTH = 40
THOUSANDS = "\u202f"
"""Between thousands: a blank at which no line is broken."""
CELL_WIDTH = 120


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind: str = field(default="text", init=False)


@dataclass(frozen=True)
class Note:
    """A remark about something left out or to be careful with."""

    text: str
    kind: str = field(default="note", init=False)


@dataclass(frozen=True)
class Facts:
    """A row of numbers worth reading first, as (number, what it is)."""

    items: Sequence[tuple[str, str]]
    kind: str = field(default="facts", init=False)


@dataclass(frozen=True)
class Card:
    """One answer of the first page: a heading, a number, a sentence or two, perhaps a small drawing."""

    heading: str
    number: str
    words: str
    drawing: str = ""
    link: str = ""


@dataclass(frozen=True)
class Cards:
    """The answers of the first page."""

    items: Sequence[Card]
    kind: str = field(default="cards", init=False)


@dataclass(frozen=True)
class Drawing:
    """A drawing inside the page (SVG of `gramian.reporting.svg`)."""

    svg: str
    caption: str = ""
    wide: bool = False
    kind: str = field(default="drawing", init=False)


@dataclass(frozen=True)
class Grid:
    """A table; columns of numbers are set flush right. Cells may be drawings."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    kind: str = field(default="grid", init=False)

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        return [all(_is_number(row[j]) for row in self.rows) for j in range(len(self.header))]

    @property
    def cells(self) -> list[list[Cell]]:
        """The cells for people and for sorting."""
        return [[Cell.of(value) for value in row] for row in self.rows]


@dataclass(frozen=True)
class Cell:
    """A cell as text, cut when long; ``order`` is what it is sorted by, where that is a number."""

    text: str
    order: str = ""
    svg: str = ""

    @classmethod
    def of(cls, value: Any) -> Cell:
        """The cell of a number, a text, nothing or a drawing."""
        if isinstance(value, Drawing):
            return cls("", "", value.svg)
        if value is None or isinstance(value, str | bool):
            leading = (
                re.match(rf"[<>\u00a0 ]*([−-]?[\d{THOUSANDS}]*\d(?:\.\d+)?(?:e[+-]?\d+)?)(?: %)?$", value)
                if isinstance(value, str)
                else None
            )
            return cls(cell_text(value), leading[1].replace("−", "-").replace(THOUSANDS, "") if leading else "")
        number = float(value)
        return cls(cell_text(value), repr(number) if number == number else "")


@dataclass(frozen=True)
class Picture:
    """A picture inside the page."""

    uri: str
    alt: str
    caption: str = ""
    wide: bool = False
    kind: str = field(default="picture", init=False)


@dataclass(frozen=True)
class Code:
    """Python to copy."""

    text: str
    kind: str = field(default="code", init=False)


@dataclass
class Section:
    """A heading and what follows it."""

    heading: str
    blocks: list[Any] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """The heading as a link target."""
        return "".join(c if c.isalnum() else "-" for c in self.heading.lower())

    def add(self, *blocks: Any) -> Section:
        """Append blocks."""
        self.blocks.extend(blocks)
        return self


def cell_text(value: Any) -> str:
    """A value for people: four significant digits, whole numbers whole, long texts cut."""
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return shorten(str(value), CELL_WIDTH)
    number = float(value)
    if number != number:
        return "–"
    whole = abs(number) < 1e7 and (number == round(number) or abs(number) >= 1e4)
    return f"{number:.0f}" if whole else f"{number:.4g}"


def shorten(text: str, width: int = NAME_WIDTH) -> str:
    """A name that fits: its beginning and its end, without line breaks or control characters."""
    text = "".join(c if c.isprintable() else " " for c in str(text))
    if len(text) <= width:
        return text
    return f"{text[: width - 9]}…{text[-8:]}"


def _is_number(value: Any) -> bool:
    return value is None or (not isinstance(value, str | bool) and hasattr(value, "__float__"))
