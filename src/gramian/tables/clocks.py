"""The column of a table that tells the time: recognised, checked, and carried on.

Recognised is whatever :mod:`gramian.tables.dates` reads, d/m/Y and m/d/Y where the days decide which, numbers under a name of
time (years, days, ...), and columns of years and months, years and quarters, or years, months and days. Steps may be of equal
length, months, quarters, years, or business days.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.tables.dates import Moment, Reading, Style, readings
from gramian.tables.table import Table

NAMES = frozenset(
    ("year", "month", "day", "date", "time", "datetime", "timestamp", "t", "hour", "week", "quarter", "when", "ds")
)
"""Names of columns of numbers that tell the time; never forecast."""
PARTS = {
    "weekday": 7,
    "dayofweek": 7,
    "dow": 7,
    "dayofmonth": 31,
    "weekofyear": 53,
    "isoweek": 53,
    "dayofyear": 366,
    "doy": 366,
    "minute": 59,
}
"""Names that tell the time as well, of numbers up to this."""
KEPT_CELLS = 36
"""Of a model's clock: three years of months."""
SECONDS = {3600: (24, 168), 60: (60, 1440), 1: (60, 3600), 86400: (7,), 7 * 86400: (52,)}


@dataclass(frozen=True)
class Clock:
    """A column of evenly spaced numbers or dates, or columns that hold the parts of dates.

    Examples
    --------
    >>> table = Table(["year", "y"], [np.array([1700.0, 1701.0, 1702.0]), np.zeros(3)])
    >>> Clock.of(table).after(2).tolist()
    [1703.0, 1704.0]
    """

    name: str
    last: Any
    step: Any  # a number, a timedelta, or (months, day of the month; 0: its end)
    style: Style | None = None  # how cells are written; None: as numbers
    business: bool = False
    parts: tuple[tuple[str, str], ...] = ()  # columns of years, months, ..., and which each is

    @classmethod
    def of(cls, table: Table, skip: Iterable[str] = ()) -> Clock | None:
        """The first column of dates, or of numbers with a name of time, whose steps are all alike; None where there is none.

        A clock that runs backwards, or stands still, is refused.
        """
        left = set(skip)
        for name, column in zip(table.names, table.columns):
            if name in left or table.n_rows < 3:
                continue
            if column.dtype == object:
                clock = _of_dates(name, column)
            elif _plain(name) in NAMES:
                clock = _of_numbers(name, column)
            else:
                clock = None
            if clock is not None:
                return clock
        return _of_parts(table, left)

    @classmethod
    def of_cells(cls, cells: Mapping[str, Sequence[str] | Sequence[float]]) -> Clock | None:
        """The clock of a model file, from the last cells of its column."""
        columns = [
            np.array(values, dtype=object if isinstance(values[0], str) else np.float64) for values in cells.values()
        ]
        return cls.of(Table(list(cells), columns))

    def cells(self, table: Table) -> dict[str, list[str] | list[float]]:
        """The last cells of its columns, enough to know the clock by."""
        return {name: table[name][-KEPT_CELLS:].tolist() for name in self.names}

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that tell the time."""
        return tuple(name for name, _ in self.parts) or (self.name,)

    @property
    def words(self) -> str:
        """Which columns tell the time."""
        one = len(self.names) == 1
        return f"column{'' if one else 's'} {', '.join(map(repr, self.names))} {'is' if one else 'are'} the clock"

    @property
    def seasons(self) -> tuple[int, ...]:
        """Values per usual season: 12 for months, 7 for days, ..."""
        if self.business:
            return (5,)
        if isinstance(self.step, tuple):
            return (12 // self.step[0],) if self.step[0] in (1, 3) else ()
        if isinstance(self.step, datetime.timedelta):
            return SECONDS.get(int(self.step.total_seconds()), ())
        return ()

    def columns_after(self, steps: int) -> dict[str, Array]:
        """The next cells of every column that tells the time."""
        if not self.parts:
            return {self.name: self.after(steps)}
        moments = self._moments_after(steps)
        return {name: np.array([_part(moment, part) for moment in moments], float) for name, part in self.parts}

    def after(self, steps: int) -> Array:
        """The next cells, written as the column writes them."""
        if self.style is None:
            return np.asarray(self.last + self.step * np.arange(1, steps + 1), dtype=np.float64)
        out = np.empty(steps, dtype=object)
        out[:] = [self.style.write(moment) for moment in self._moments_after(steps)]
        return out

    def _moments_after(self, steps: int) -> list[Moment]:
        moments: list[Moment] = []
        now = self.last
        for i in range(1, steps + 1):
            if self.business:
                now = now + datetime.timedelta(days=3 if now.weekday() == 4 else 1)
                moments.append(now)
            elif isinstance(self.step, tuple):
                moments.append(_months_later(self.last, i * self.step[0], self.step[1]))
            else:
                moments.append(self.last + i * self.step)
        return moments


def calendar_columns(table: Table, clock: Clock | None) -> list[str]:
    """Columns of whole numbers with a name of time, other than the clock: they tell the time and are not forecast."""
    found = []
    for name, column in zip(table.names, table.columns):
        if column.dtype == object or (clock is not None and name in clock.names):
            continue
        seen = column[~np.isnan(column)]
        if not len(seen) or not (seen == np.round(seen)).all():
            continue
        plain = _plain(name)
        if plain in NAMES or (plain in PARTS and seen.min() >= 0 and seen.max() <= PARTS[plain]):
            found.append(name)
    return found


def _plain(name: str) -> str:
    """A name without spaces, marks and capitals."""
    return "".join(filter(str.isalnum, name.lower()))


def _of_numbers(name: str, column: Array) -> Clock | None:
    steps = np.diff(column)
    if np.isnan(steps).any() or not np.allclose(steps, np.median(steps), rtol=1e-3, atol=0) or steps[0] == 0:
        return None
    if steps[0] < 0:
        _refuse_backwards(name)
    step = float(steps[0]) if (steps == np.round(steps)).all() else float(column[-1] - column[0]) / len(steps)
    return Clock(name, float(column[-1]), step)


def _of_parts(table: Table, left: set[str]) -> Clock | None:
    """The clock of columns of years and months or quarters, and days where there are any."""
    found: dict[str, str] = {}
    for name in calendar_columns(table, None):
        part = _plain(name)
        if name not in left and part in ("year", "quarter", "month", "day") and not np.isnan(table[name]).any():
            found.setdefault(part, name)
    wanted = ("year", "month", "day") if "month" in found else ("year", "quarter")
    parts = [part for part in wanted if part in found]
    if table.n_rows < 3 or "year" not in parts or len(parts) < 2:
        return None
    form = {"year": "{:04d}", "month": "-{:02d}", "day": "-{:02d}", "quarter": "Q{}"}
    cells = np.full(table.n_rows, "", dtype=object)
    for part in parts:
        cells += [form[part].format(int(value)) for value in table[found[part]]]
    clock = _of_dates(found["year"], cells)
    return None if clock is None else replace(clock, parts=tuple((found[part], part) for part in parts))


def _part(moment: Moment, part: str) -> int:
    return (moment.month + 2) // 3 if part == "quarter" else int(getattr(moment, part))


def _of_dates(name: str, column: Array) -> Clock | None:
    cells = column.tolist()
    if not all(isinstance(cell, str) for cell in cells):
        return None
    for reading in _even_readings(cells):
        clock = _with_step(name, reading)
        if clock is not None:
            return clock
    return None


def _even_readings(cells: list[str]) -> list[Reading]:
    """The ways to read the cells; where day first and month first both fit, the one whose steps are even, or neither."""
    readable = readings(cells)
    if len(readable) < 2:
        return readable
    even = [reading for reading in readable if _with_step("", reading) is not None]
    return even if len(even) == 1 else []


def _with_step(name: str, reading: Reading) -> Clock | None:
    """The clock of these times, if they go on evenly."""
    moments, style = reading.moments, reading.style
    try:
        steps = [later - earlier for earlier, later in pairwise(moments)]
    except TypeError:  # some with and some without a time zone
        return None
    zero = datetime.timedelta()
    if all(step < zero for step in steps) and name:
        _refuse_backwards(name)
    if any(step <= zero for step in steps):
        return None
    months = {12 * (b.year - a.year) + b.month - a.month for a, b in pairwise(moments)}
    if len(months) == 1 and next(iter(months)) > 0 and len({moment.time() for moment in moments}) == 1:
        days = {moment.day for moment in moments}
        if len(days) == 1:
            return Clock(name, moments[-1], (next(iter(months)), days.pop()), style)
        if all((moment + datetime.timedelta(days=1)).day == 1 for moment in moments):
            return Clock(name, moments[-1], (next(iter(months)), 0), style)
    if style.has("day", "week", "hour") and len(set(steps)) == 1:
        return Clock(name, moments[-1], steps[0], style)
    usual = [datetime.timedelta(days=3 if moment.weekday() == 4 else 1) for moment in moments[:-1]]
    if all(moment.weekday() < 5 for moment in moments) and steps == usual:
        return Clock(name, moments[-1], steps[0], style, business=True)
    return None


def _refuse_backwards(name: str) -> None:
    raise ValueError(
        f"Column {name!r} runs backwards: the newest row comes first. Turn the rows round (sort by {name!r})."
    )


def _months_later(moment: Moment, months: int, day: int) -> Moment:
    count = 12 * moment.year + moment.month - 1 + months
    year, month = divmod(count, 12)
    following = Moment(year + (month == 11), (month + 1) % 12 + 1, 1)
    length = (following - datetime.timedelta(days=1)).day
    return moment.replace(year=year, month=month + 1, day=length if day == 0 else min(day, length))
