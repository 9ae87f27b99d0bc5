"""The column that tells the time in a table of series, and its next values."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.io.table import Table

NAMES = frozenset(
    ("year", "month", "day", "date", "time", "datetime", "timestamp", "t", "hour", "week", "quarter", "when", "ds")
)


@dataclass(frozen=True)
class Clock:
    """A column of evenly spaced numbers or ISO dates.

    Examples
    --------
    >>> table = Table(["year", "y"], [np.array([1700.0, 1701.0, 1702.0]), np.zeros(3)])
    >>> Clock.of(table).after(2).tolist()
    [1703.0, 1704.0]
    """

    name: str
    last: Any
    step: Any
    as_text: bool = False

    @classmethod
    def of(cls, table: Table, skip: set[str] | None = None) -> Clock | None:
        """The first column with a name of time, or of dates, whose steps are all alike; None where there is none."""
        for name, column in zip(table.names, table.columns):
            if name in (skip or ()) or table.n_rows < 3:
                continue
            if column.dtype == object:
                clock = cls._of_dates(name, column)
            elif name.strip().lower() in NAMES:
                clock = cls._of_numbers(name, column)
            else:
                clock = None
            if clock is not None:
                return clock
        return None

    @classmethod
    def _of_numbers(cls, name: str, column: Array) -> Clock | None:
        steps = np.diff(column)
        if np.isnan(steps).any() or steps[0] == 0 or not np.allclose(steps, steps[0], rtol=1e-6, atol=0):
            return None
        return cls(name, float(column[-1]), float(np.mean(steps)) if steps[0] != round(steps[0]) else float(steps[0]))

    @classmethod
    def _of_dates(cls, name: str, column: Array) -> Clock | None:
        try:
            dates = [datetime.datetime.fromisoformat(cell) for cell in column.tolist()]
            steps = {later - earlier for earlier, later in pairwise(dates)}
        except (TypeError, ValueError):
            return None
        if len(steps) != 1 or not next(iter(steps)):
            return None
        return cls(name, dates[-1], next(iter(steps)), as_text=True)

    def after(self, steps: int) -> Array:
        """The next values."""
        if not self.as_text:
            return np.asarray(self.last + self.step * np.arange(1, steps + 1), dtype=np.float64)
        dates = [self.last + self.step * i for i in range(1, steps + 1)]
        whole = all(date.time() == datetime.time() for date in (self.last, *dates))
        out = np.empty(steps, dtype=object)
        out[:] = [date.date().isoformat() if whole else date.isoformat(sep=" ") for date in dates]
        return out
