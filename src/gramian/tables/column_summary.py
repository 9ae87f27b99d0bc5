"""What a column looks like: counts, mean, spread and values, gathered piece by piece; and what kind it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np

from gramian._arrays import Array
from gramian.tables.dates import are_dates
from gramian.tables.table import Table, is_total, quote

MAX_CATEGORIES = 50
LONG_TEXT, LONG_WORDS = 40, 5
"""Values that are longer on average, or of more words, are free text."""
LOOKED_AT = 500
MOST_NAMES = 100_000
"""Rows up to which numbers are compared with each other."""
FEWEST_NAMES = 10
"""In fewer rows, numbers that differ say nothing."""
LONG_NUMBER = 6
"""Digits of a register: rising whole numbers as long as these are no measurements."""
_NAME_OF_NAMES = re.compile(
    r"(^|[\s_.-])(id|ids|nr|no|number|key|code|uuid|index)$|(?-i:(?<=[a-z])(Id|ID|Nr|No))$", re.IGNORECASE
)


class Summary:
    """Counts, mean, spread and values of one column, gathered piece by piece."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = self.missing = 0
        self.mean = self.square = 0.0
        self.low, self.high = np.inf, -np.inf
        self.counts: Counter[str] = Counter()
        self.is_text = False
        self.increasing = True  # whole numbers, each above the one before: a row number
        self.unlike: set[float] | None = set()  # whole numbers, no two alike: names of rows; None once they are not

    def update(self, values: Array) -> None:
        """Add a piece of the column."""
        if values.dtype == object:
            seen = [value for value in values.tolist() if value is not None]
            self.is_text = self.is_text or bool(seen)
            self.missing += len(values) - len(seen)
            self.count += len(seen)
            if len(self.counts) <= 20 * MAX_CATEGORIES or len(self.counts) == self.count - len(seen):
                self.counts.update(seen)
            return
        holes = np.isnan(values)
        seen_numbers = values[~holes] if holes.any() else values
        self.missing += len(values) - len(seen_numbers)
        if not len(seen_numbers):
            return
        self.increasing = self.increasing and bool(seen_numbers[0] > self.high) and _counts_up(seen_numbers)
        self._see_unlike(seen_numbers)
        low, high = float(seen_numbers.min()), float(seen_numbers.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        self._merge(seen_numbers, max(-low, high))

    def _see_unlike(self, values: Array) -> None:
        """Keep the whole numbers as long as no two are alike; the first rows tell."""
        if self.unlike is None or len(self.unlike) > MOST_NAMES:
            return
        some = values[: MOST_NAMES - len(self.unlike) + 1]
        if not (some == np.round(some)).all():
            self.unlike = None
            return
        many = len(self.unlike) + len(some)
        self.unlike.update(some.tolist())
        if len(self.unlike) < many:
            self.unlike = None

    @property
    def names_rows(self) -> bool:
        """Whether numbers are names: whole, no two alike, none missing, and called so or running on like a counter or a register.

        >>> column = Summary("customer_id")
        >>> column.update(np.array([104.0, 77, 301, 90, 15, 66, 41, 28, 530, 9]))
        >>> column.names_rows
        True
        """
        if self.is_text or self.missing or not self.unlike or self.count < FEWEST_NAMES or self.low < 0:
            return False
        if _NAME_OF_NAMES.search(self.name.strip()):
            return True
        return self.increasing and (self.name.strip().lower().endswith("id") or len(str(int(self.low))) >= LONG_NUMBER)

    def _merge(self, values: Array, unit: float) -> None:
        """Mean and sum of squares about it, merged exactly (Chan); ``unit`` is the largest magnitude."""
        n, m = self.count, len(values)
        if unit > 1e150:
            raise ValueError(
                f"column {quote(self.name)} has magnitudes around {unit:.3g}, whose squares overflow. Rescale it first."
            )
        mean = float(values.mean())
        shift = mean - self.mean
        self.square += float(((values - mean) ** 2).sum()) + shift**2 * n * m / (n + m)
        self.mean += shift * m / (n + m)
        self.count += m

    @property
    def std(self) -> float:
        """The standard deviation (1/N); 0 where it is of rounding size, as that of 0.1 repeated."""
        std = float(np.sqrt(self.square / self.count)) if self.count else 0.0
        return std if std > 1e-13 * abs(self.mean) else 0.0

    @property
    def kind(self) -> str:
        """``"number"``, ``"category"``, ``"date"``, ``"text"`` or ``"empty"``."""
        if not self.count:
            return "empty"
        if not self.is_text:
            return "number"
        values = list(self.counts)
        some = values[:LOOKED_AT]
        dates = [
            value for value in some if not is_total([value])
        ]  # a row of totals has its name where others have a date
        if dates and are_dates(dates):
            return "date"
        distinct = len(values)
        if distinct > MAX_CATEGORIES or distinct > max(2, 0.5 * self.count):
            return "text"
        long = np.mean([len(value) for value in some]) > LONG_TEXT
        wordy = np.mean([len(value.split()) for value in some]) >= LONG_WORDS
        return "text" if distinct > 2 and (long or wordy) else "category"


def _counts_up(values: Array) -> bool:
    """Whether these are whole numbers, each above the one before; the first few mostly tell."""
    return all(
        bool((some == np.round(some)).all() and (np.diff(some) > 0).all()) for some in (values[:LOOKED_AT], values)
    )


def summaries(tables: Iterable[Table]) -> tuple[list[Summary], int]:
    """One summary per column, and the number of rows."""
    gathered: list[Summary] = []
    rows = 0
    for table in tables:
        gathered = gathered or [Summary(name) for name in table.names]
        rows += table.n_rows
        for summary, column in zip(gathered, table.columns):
            summary.update(column)
    return gathered, rows


def describe_columns(columns: Iterable[Summary], n_rows: int) -> str:
    """What a table holds, in words: ``412 rows, 11 numbers, 2 categories, 1 date``."""
    kinds = Counter(summary.kind for summary in columns)
    words = {
        "number": ("number", "numbers"),
        "category": ("category", "categories"),
        "date": ("date", "dates"),
        "text": ("text", "texts"),
        "empty": ("empty column", "empty columns"),
    }
    parts = [f"{kinds[kind]} {forms[kinds[kind] > 1]}" for kind, forms in words.items() if kinds[kind]]
    return ", ".join([f"{n_rows} row{'s' if n_rows != 1 else ''}", *parts])
