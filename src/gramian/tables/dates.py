"""Dates and times as people write them: ISO, d/m/Y, m/d/Y, months, quarters, weeks, times of day; read, and written alike."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass

Moment = datetime.datetime
ENGLISH = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
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
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,6})\d*)?)?\s*(?P<half>[ap]\.?m\.?)?"
_TIME = rf"(?:[T ]+{_CLOCK})?"
_ZONE = r"\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?"
_NAME = r"(?P<name>[^\W\d_]{3,10})\.?"
_YEAR = r"(?P<year>\d{4}|\d{2})"
_MONTH = r"(?P<month>0?[1-9]|1[0-2])"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_TIME}{_ZONE}",
        rf"(?P<day>\d{{1,2}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark){_YEAR}{_TIME}",
        rf"(?P<month>\d{{1,2}})(?P<mark>[-/.])(?P<day>\d{{1,2}})(?P=mark){_YEAR}{_TIME}",
        rf"(?P<day>\d{{1,2}})\.?[ -]{_NAME}[ ,-]*{_YEAR}{_TIME}",
        rf"{_NAME} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}}){_TIME}",
        rf"{_NAME}[ ,'-]*{_YEAR}",
        rf"(?P<year>\d{{4}})[ -]?{_NAME}",
        rf"(?P<year>\d{{4}})[-/]{_MONTH}",
        rf"{_MONTH}[-/](?P<year>\d{{4}})",
        r"(?P<year>\d{4})[ -]?Q(?P<quarter>[1-4])",
        rf"Q(?P<quarter>[1-4])[ /'-]*{_YEAR}",
        rf"(?P<quarter>[1-4])Q[ /'-]*{_YEAR}",
        r"(?P<year>\d{4})-?W(?P<week>\d{1,2})",
        rf"(?P<year>\d{{4}})M{_MONTH}",
        _CLOCK,
    )
)
"""Days come before months: where nothing tells, that is the first reading."""
DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Style:
    """How cells write times: the fullest of them, whose parts are replaced, how wide the parts are, the names of the months."""

    sample: re.Match[str]
    widths: dict[str, int]
    months: dict[int, str]

    @classmethod
    def of(cls, cells: Sequence[re.Match[str]]) -> Style:
        """The style of cells of one form."""
        sample = max(reversed(cells), key=lambda match: sum(text is not None for text in match.groups()))
        parts = [name for name, text in sample.groupdict().items() if text is not None]
        widths = {name: min(len(match[name]) for match in cells if match[name] is not None) for name in parts}
        months = {MONTHS[match["name"].lower()]: match["name"] for match in cells} if "name" in parts else {}
        return cls(sample, widths, months)

    def has(self, *parts: str) -> bool:
        """Whether the cells show one of the parts."""
        return any(part in self.widths for part in parts)

    def write(self, moment: Moment) -> str:
        """A time as the cells write it.

        Examples
        --------
        >>> readings(["Nov 2023", "Dec 2023"])[0].style.write(Moment(2024, 1, 1))
        'Jan 2024'
        """
        text, end = "", 0
        for name in sorted(self.widths, key=self.sample.start):
            start, stop = self.sample.span(name)
            text += self.sample.string[end:start] + self._part(name, self.sample[name], moment)
            end = stop
        return text + self.sample.string[end:]

    def _part(self, name: str, was: str, moment: Moment) -> str:
        if name in ("mark", "zone"):
            return was
        if name == "name":
            return self._month_name(moment.month)
        if name == "half":
            return _match_case(was, "ap"[moment.hour >= 12] + was[1:])
        if name == "fraction":
            return f"{moment.microsecond:06d}"[: len(was)]
        year, week, _ = moment.isocalendar()
        values = {
            "year": (year if self.has("week") else moment.year) % (10 ** len(was)),
            "hour": (moment.hour - 1) % 12 + 1 if self.has("half") else moment.hour,
            "quarter": (moment.month + 2) // 3,
            "week": week,
        }
        value = values[name] if name in values else getattr(moment, name)
        return f"{value:0{self.widths[name]}d}"

    def _month_name(self, month: int) -> str:
        if month in self.months:
            return self.months[month]
        short = max(map(len, self.months.values())) <= 3
        return _match_case(self.sample["name"], ENGLISH[month - 1][: 3 if short else None])


@dataclass(frozen=True)
class Reading:
    """One way to read cells as times, and how they are written."""

    moments: list[Moment]
    style: Style


def readings(cells: Sequence[str]) -> list[Reading]:
    """Every way to read all the cells as times.

    Examples
    --------
    >>> [reading.moments[0].month for reading in readings(["1/2/2024", "2/2/2024"])]
    [2, 1]
    """
    found = []
    for form in _FORMS if cells else ():
        matches = []
        for cell in cells:
            match = form.fullmatch(cell.strip())
            if match is None:
                break
            matches.append(match)
        else:
            try:
                moments = [_moment(match) for match in matches]
            except (ValueError, KeyError):
                continue
            style = Style.of(matches)
            found.append(Reading(moments if style.has("year") else _past_midnight(moments), style))
    return found


def moments(cells: Sequence[str | None]) -> list[Moment | None] | None:
    """The cells as dates, None where a cell is empty; None at all where one of them is not a date.

    Whether 1/2/2024 is in January or in February is told by the other cells: a number above 12 is a day; where nothing
    tells, days come first.

    Examples
    --------
    >>> moments(["2024-Q1", None])
    [datetime.datetime(2024, 1, 1, 0, 0), None]
    >>> moments(["13/01/2024", "01/02/2024"])[1].month
    2
    >>> moments(["a", "b"]) is None
    True
    """
    found = readings([cell for cell in cells if cell is not None])
    if not found:
        return None
    read = iter(found[0].moments)
    return [None if cell is None else next(read) for cell in cells]


def are_dates(cells: Sequence[str | None]) -> bool:
    """Whether the cells are all dates or times, empty ones aside."""
    return moments(cells) is not None


def _moment(match: re.Match[str]) -> Moment:
    given = {name: text for name, text in match.groupdict().items() if text is not None}
    year = int(given.get("year", 1900))
    if len(given.get("year", "")) == 2:
        year += 2000 if year < 69 else 1900
    if "week" in given:
        return Moment.fromisocalendar(year, int(given["week"]), 1)
    month = 3 * int(given["quarter"]) - 2 if "quarter" in given else int(given.get("month", 1))
    if "name" in given:
        month = MONTHS[given["name"].lower()]
    hour = int(given.get("hour", 0))
    if "half" in given:
        hour = hour % 12 + (12 if given["half"].lower().startswith("p") else 0)
    clock = (
        hour,
        int(given.get("minute", 0)),
        int(given.get("second", 0)),
        int(given.get("fraction", "0").ljust(6, "0")),
    )
    return Moment(year, month, int(given.get("day", 1)), *clock, tzinfo=_zone(given.get("zone")))


def _zone(text: str | None) -> datetime.timezone | None:
    if text is None:
        return None
    if not text.startswith(("+", "-")):
        return datetime.UTC
    away = datetime.timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return datetime.timezone(-away if text.startswith("-") else away)


def _past_midnight(times: list[Moment]) -> list[Moment]:
    """Times of day as they follow each other: one before the last is of the next day, unless most are, which run backwards."""
    out, days = [], 0
    for i, time in enumerate(times):
        days += bool(i and time < times[i - 1])
        out.append(time + days * DAY)
    return out if 2 * days <= len(times) else times


def _match_case(like: str, text: str) -> str:
    return text.upper() if like.isupper() else text.lower() if like.islower() else text
