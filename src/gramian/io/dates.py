"""Dates and times as people write them: ISO, d/m/Y, m/d/Y, months, quarters, weeks, times of day."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence

Moment = datetime.datetime
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero gennaio januari janv",
            "feb february februar février fevrier febrero febbraio februari févr fév",
            "mar march märz maerz mars marzo maart mrz",
            "apr april avril abril aprile avr",
            "may mai mayo maggio mei",
            "jun june juni juin junio giugno",
            "jul july juli juillet julio luglio juil",
            "aug august août aout agosto augustus",
            "sep sept september septembre septiembre settembre",
            "oct october oktober octobre octubre ottobre okt",
            "nov november novembre noviembre",
            "dec december dezember décembre decembre diciembre dicembre dez déc",
        ),
        start=1,
    )
    for name in names.split()
}
_TIME = r"(?:[T ]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?\s*(?P<half>[ap]\.?m\.?)?)?"
_ZONE = r"\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?"
_NAME = r"(?P<name>[^\W\d_]{3,10})\.?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_TIME}{_ZONE}",
        rf"(?P<first>\d{{1,2}})(?P<mark>[-/.])(?P<second_part>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d{{2}}){_TIME}",
        rf"(?P<day>\d{{1,2}})\.?[ -]{_NAME}[ ,-]*(?P<year>\d{{4}}|\d{{2}}){_TIME}",
        rf"{_NAME} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}}){_TIME}",
        rf"{_NAME}[ ,'-]*(?P<year>\d{{4}}|\d{{2}})",
        rf"(?P<year>\d{{4}})[ -]?{_NAME}",
        r"(?P<year>\d{4})[-/](?P<month>0?[1-9]|1[0-2])|(?P<month2>0?[1-9]|1[0-2])[-/](?P<year2>\d{4})",
        r"(?P<year>\d{4})[ -]?Q(?P<quarter>[1-4])|Q(?P<quarter2>[1-4])[ -/]*(?P<year2>\d{4})",
        r"(?P<year>\d{4})-?W(?P<week>\d{1,2})",
        r"(?P<year>\d{4})M(?P<month>0?[1-9]|1[0-2])",
        r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?\s*(?P<half>[ap]\.?m\.?)?",
    )
)


def moments(cells: Sequence[str | None]) -> list[datetime.datetime | None] | None:
    """The cells as dates, None where a cell is empty; None at all where one of them is not a date.

    Whether 1/2/2024 is in January or in February is told by the other cells: a first number above 12 is a day; where
    nothing tells, days come first.

    Examples
    --------
    >>> moments(["2024-Q1", None])
    [datetime.datetime(2024, 1, 1, 0, 0), None]
    >>> moments(["13/01/2024", "01/02/2024"])[1].month
    2
    >>> moments(["a", "b"]) is None
    True
    """
    seen = [cell for cell in cells if cell is not None]
    if not seen:
        return None
    form = next((form for form in _FORMS if form.fullmatch(seen[0].strip())), None)
    if form is None:
        return None
    matched = [None if cell is None else form.fullmatch(cell.strip()) for cell in cells]
    if any(match is None and cell is not None for match, cell in zip(matched, cells)):
        return None
    month_first = any(
        "second_part" in form.groupindex and match is not None and int(match["second_part"]) > 12 for match in matched
    )
    try:
        return [None if match is None else _moment(match, month_first) for match in matched]
    except (ValueError, KeyError):
        return None


def are_dates(cells: Sequence[str | None]) -> bool:
    """Whether the cells are all dates or times, empty ones aside."""
    return moments(cells) is not None


def _moment(match: re.Match[str], month_first: bool) -> datetime.datetime:
    given = {name: value for name, value in match.groupdict().items() if value is not None}
    year_text = given.get("year") or given.get("year2")
    year = 1900 if year_text is None else int(year_text)
    if year_text is not None and len(year_text) == 2:
        year += 2000 if year < 69 else 1900
    month, day = int(given.get("month") or given.get("month2") or 1), int(given.get("day") or 1)
    if "name" in given:
        month = MONTHS[given["name"].lower()]
    if "second_part" in given:
        first, second = int(given["first"]), int(given["second_part"])
        day, month = (second, first) if month_first else (first, second)
    quarter = given.get("quarter") or given.get("quarter2")
    if quarter is not None:
        month = 3 * int(quarter) - 2
    if "week" in given:
        return datetime.datetime.fromisocalendar(year, int(given["week"]), 1)
    hour = int(given.get("hour") or 0)
    if "half" in given:
        hour = hour % 12 + (12 if given["half"].lower().startswith("p") else 0)
    return datetime.datetime(year, month, day, hour, int(given.get("minute") or 0), int(given.get("second") or 0))


# ---------------------------------------------------------------- read to be written again

_MONTH = re.compile(r"^(\d{4})[-/](\d{1,2})$")
_QUARTER = re.compile(r"^(\d{4})[- ]?[Qq]([1-4])$")
_SLASHED = re.compile(r"^(\d{1,2})([./-])(\d{1,2})\2(\d{4})$")


def readings(cells: Sequence[str]) -> list[tuple[str, list[Moment]]]:
    """Every way to read all the cells as times, each with the style that `written` writes them in.

    Examples
    --------
    >>> [style for style, _ in readings(["1/2/2024", "2/2/2024"])]
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    ways: list[tuple[str, Callable[[str], Moment | None]]] = [
        ("month", lambda cell: _matched(_MONTH, cell, lambda m: Moment(int(m[1]), int(m[2]), 1))),
        ("quarter", lambda cell: _matched(_QUARTER, cell, lambda m: Moment(int(m[1]), 3 * int(m[2]) - 2, 1))),
        ("iso", _iso),
    ]
    slashed = _SLASHED.match(cells[0])
    if slashed is not None:
        mark = slashed[2]
        ways += [
            (
                f"%d{mark}%m{mark}%Y",
                lambda cell: _matched(_SLASHED, cell, lambda m: Moment(int(m[4]), int(m[3]), int(m[1]))),
            ),
            (
                f"%m{mark}%d{mark}%Y",
                lambda cell: _matched(_SLASHED, cell, lambda m: Moment(int(m[4]), int(m[1]), int(m[3]))),
            ),
        ]
    readable = []
    for style, read in ways:
        moments = [read(cell) for cell in cells]
        if all(moment is not None for moment in moments):
            readable.append((style, [moment for moment in moments if moment is not None]))
    return readable


def _matched(pattern: re.Pattern[str], cell: str, made: Callable[[re.Match[str]], Moment]) -> Moment | None:
    found = pattern.match(cell)
    if found is None:
        return None
    try:
        return made(found)
    except ValueError:
        return None


def _iso(cell: str) -> Moment | None:
    if len(cell) < 8:
        return None
    try:
        return Moment.fromisoformat(cell)
    except ValueError:
        return None


def written(moment: Moment, style: str) -> str:
    """A time as the cells of a style write it."""
    if style == "month":
        return f"{moment.year:04d}-{moment.month:02d}"
    if style == "quarter":
        return f"{moment.year:04d}Q{(moment.month + 2) // 3}"
    if style == "iso":
        return (
            moment.date().isoformat()
            if moment.time() == datetime.time() and moment.tzinfo is None
            else moment.isoformat(sep=" ")
        )
    return moment.strftime(style)
