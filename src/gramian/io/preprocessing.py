"""From a table of numbers and texts to the matrix that a model sees, and back: roles, one-hot, standardising."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gramian._arrays import Array
from gramian.io.source import TableError, shown
from gramian.io.table import Table

MAX_CATEGORIES = 50
COUNTER_NAMES = frozenset(("id", "index", "row", "rowid", "row_id", "row id", "unnamed: 0", "nr", "no", "#"))


@dataclass(frozen=True)
class Roles:
    """What the user says of columns, by name or position: ``id`` and ``drop`` are not modelled, ``target`` is
    predicted."""

    id: tuple[str, ...] = ()
    target: str | None = None
    drop: tuple[str, ...] = ()
    views: dict[str, tuple[str, ...]] = field(default_factory=dict)


def resolve_columns(names: Sequence[str], wanted: str, option: str) -> list[str]:
    """Column names from a list such as ``age,3,5-9``: names, positions from 1, ranges of positions.

    Examples
    --------
    >>> resolve_columns(["a", "b", "c", "d"], "d,1-2", "--drop")
    ['d', 'a', 'b']
    """
    if wanted in names:
        return [wanted]
    found: list[str] = []
    for token in (part.strip() for part in wanted.split(",")):
        if token in names:
            found.append(token)
            continue
        first, dash, last = token.partition("-")
        if first.isdigit() and (last.isdigit() if dash else True):
            low, high = int(first), int(last or first)
            if not 1 <= low <= high <= len(names):
                raise ValueError(f"{option} {token}: the table has columns 1 to {len(names)}.")
            found.extend(names[low - 1 : high])
            continue
        listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        raise ValueError(f"{option}: there is no column {shown(token)}. The table has {listed}.")
    return list(dict.fromkeys(found))


# ---------------------------------------------------------------- what a column looks like


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
        seen_numbers = values[~np.isnan(values)]
        self.missing += len(values) - len(seen_numbers)
        if not len(seen_numbers):
            return
        whole = bool((seen_numbers == np.round(seen_numbers)).all() and (np.diff(seen_numbers) > 0).all())
        self.increasing = self.increasing and whole and bool(seen_numbers[0] > self.high)
        self.low, self.high = min(self.low, float(seen_numbers.min())), max(self.high, float(seen_numbers.max()))
        self._merge(seen_numbers)

    def _merge(self, values: Array) -> None:
        """Mean and sum of squares about it, merged exactly (Chan)."""
        unit = float(np.abs(values).max())
        n, m = self.count, len(values)
        if unit > 1e150:
            raise ValueError(
                f"column {shown(self.name)} has magnitudes around {unit:.3g}, whose squares overflow. Rescale it first."
            )
        mean = float(values.mean())
        shift = mean - self.mean
        self.square += float(((values - mean) ** 2).sum()) + shift**2 * n * m / (n + m)
        self.mean += shift * m / (n + m)
        self.count += m

    @property
    def std(self) -> float:
        """The standard deviation (1/N)."""
        return float(np.sqrt(self.square / self.count)) if self.count else 0.0


def summaries(tables: Iterable[Table]) -> tuple[list[Summary], int]:
    """One summary a column, and the number of rows."""
    gathered: list[Summary] = []
    rows = 0
    for table in tables:
        gathered = gathered or [Summary(name) for name in table.names]
        rows += table.n_rows
        for summary, column in zip(gathered, table.columns):
            summary.update(column)
    return gathered, rows


# ---------------------------------------------------------------- the map


@dataclass
class Preprocessing:
    """How the columns of a table become the features of a model: which, in which units, and back.

    A column of numbers is one feature, standardised; a column of text is one indicator a value, standardised
    likewise. A
    missing cell is NaN in all of its features.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.io.table import Table
    >>> table = Table(["a", "c"], [np.array([1.0, 3.0]), np.array(["u", "v"], dtype=object)])
    >>> prepare = Preprocessing.fit([table])
    >>> prepare.features, prepare.matrix(table).tolist()
    (['a', 'c=u', 'c=v'], [[-1.0, 1.0, -1.0], [1.0, -1.0, 1.0]])
    """

    names: list[str]
    categories: list[list[str]]  # empty for a column of numbers
    mean: Array  # one entry a feature
    scale: Array
    ids: list[str] = field(default_factory=list)
    target: str | None = None
    target_is_class: bool = False
    target_mean: float = 0.0
    target_scale: float = 1.0
    views: dict[str, list[int]] = field(default_factory=dict)  # features of each view
    left_out: list[str] = field(default_factory=list)
    n_rows: int = 0
    notes: list[str] = field(default_factory=list)

    @classmethod
    def fit(
        cls,
        tables: Iterable[Table],
        roles: Roles | None = None,
        *,
        standardize: bool = True,
        unnamed: Sequence[bool] = (),
        classes: bool = False,
    ) -> Preprocessing:
        """Look at all rows once and settle what every column is.

        Parameters
        ----------
        tables : iterable of Table
            The table, or its pieces.
        roles : Roles, optional
        standardize : bool, default=True
            Whether features are brought to mean 0 and variance 1.
        unnamed : sequence of bool, optional
            Which columns have no name of their own: such a first column is a row name.
        classes : bool, default=False
            Whether the target is a class even where it is written as a number.
        """
        roles = roles or Roles()
        columns, n_rows = summaries(tables)
        maker = _Maker(columns, n_rows, roles, unnamed)
        return maker.preprocessing(standardize, classes)

    @property
    def features(self) -> list[str]:
        """The names of the model's features: the column, or ``column=value``."""
        return [label for name, values in zip(self.names, self.categories) for label in _labels(name, values)]

    @property
    def owner(self) -> Array:
        """For each feature, the position of its column."""
        return np.repeat(np.arange(len(self.names)), [max(1, len(values)) for values in self.categories])

    def matrix(self, table: Table, *, may_lack: Sequence[str] = ()) -> Array:
        """The features of the rows of a table, found by column name; NaN where a cell, or a column of ``may_lack``,
        is missing."""
        absent = [name for name in self.names if name not in table and name not in may_lack]
        if absent:
            listed = ", ".join(shown(name) for name in absent[:5]) + (", ..." if len(absent) > 5 else "")
            where = f"{table.source.name}: " if table.source else ""
            raise TableError(f"{where}the model needs the column(s) {listed}, which the table does not have.")
        parts = [self._features_of(table, name, values) for name, values in zip(self.names, self.categories)]
        return (np.column_stack(parts) - self.mean) / self.scale

    def _features_of(self, table: Table, name: str, values: list[str]) -> Array:
        if name not in table:
            return np.full((table.n_rows, max(1, len(values))), np.nan)
        column = table[name]
        if values:
            return _indicators(table, name, values, _as_texts(column))
        if column.dtype != object:
            return column
        shows = [row for row, cell in enumerate(column.tolist()) if cell is not None]
        if shows:
            cell = shown(column[shows[0]])
            raise TableError(
                f"{table.place(shows[0], name)}: {cell} is not a number, as it was when the model was fitted."
            )
        return np.full(len(column), np.nan)

    def restore(self, X: Array) -> Array:
        """Features in the units of the table."""
        return np.asarray(X, dtype=np.float64) * self.scale + self.mean

    def columns(self, X: Array) -> list[Array]:
        """The columns of the table that features stand for: numbers in their units, texts by the largest indicator."""
        restored, out, start = self.restore(X), list[Array](), 0
        for values in self.categories:
            width = max(1, len(values))
            block = restored[:, start : start + width]
            start += width
            if values:
                texts = np.empty(len(block), dtype=object)
                texts[:] = [values[j] for j in block.argmax(axis=1)]
                out.append(texts)
            else:
                out.append(block[:, 0])
        return out

    def spread(self, std: Array) -> list[Array]:
        """Standard deviations of features as columns of the table, in its units; of a text, that of its likeliest
        value."""
        restored, out, start = np.asarray(std) * self.scale, list[Array](), 0
        for values in self.categories:
            width = max(1, len(values))
            out.append(restored[:, start : start + width].max(axis=1))
            start += width
        return out

    def targets(self, table: Table) -> Array:
        """The target column: class names, or numbers (standardised where the features are)."""
        assert self.target is not None
        if self.target not in table:
            raise TableError(f"the table has no column {shown(self.target)}, the target.")
        column = table[self.target]
        if self.target_is_class:
            texts = _as_texts(column)
            holes = [row for row, cell in enumerate(texts) if cell is None]
            if holes:
                raise TableError(
                    f"{table.place(holes[0], self.target)}: the target is missing. Drop the row, or fill it in."
                )
            return np.array(texts, dtype=str)
        if np.isnan(column).any():
            row = int(np.flatnonzero(np.isnan(column))[0])
            raise TableError(f"{table.place(row, self.target)}: the target is missing. Drop the row, or fill it in.")
        return (column - self.target_mean) / self.target_scale


def _labels(name: str, values: list[str]) -> list[str]:
    return [f"{name}={value}" for value in values] if values else [name]


def _as_texts(column: Array) -> list[str | None]:
    """Cells as text; whole numbers without a point, so that 1.0 and 1 are one class."""
    if column.dtype == object:
        return column.tolist()
    return [None if v != v else str(int(v)) if v == int(v) else repr(v) for v in column.tolist()]


def _indicators(table: Table, name: str, values: list[str], texts: Sequence[str | None]) -> Array:
    position = {value: j for j, value in enumerate(values)}
    block = np.zeros((len(texts), len(values)))
    for row, text in enumerate(texts):
        if text is None:
            block[row] = np.nan
        elif text in position:
            block[row, position[text]] = 1.0
        else:
            known = ", ".join(values[:8]) + (", ..." if len(values) > 8 else "")
            raise TableError(
                f"{table.place(row, name)}: {shown(text)} was not seen when the model was fitted ({known})."
            )
    return block


class _Maker:
    """The decisions of :meth:`Preprocessing.fit`, one a method."""

    def __init__(self, columns: list[Summary], n_rows: int, roles: Roles, unnamed: Sequence[bool]) -> None:
        self.columns, self.n_rows, self.roles = columns, n_rows, roles
        self.unnamed = list(unnamed) or [False] * len(columns)
        self.notes: list[str] = []
        self.ids: list[str] = list(roles.id)
        self.left_out: list[str] = list(roles.drop)
        self.wanted = {name for names in roles.views.values() for name in names}

    def preprocessing(self, standardize: bool, classes: bool) -> Preprocessing:
        kept = [summary for position, summary in enumerate(self.columns) if self._is_modelled(position, summary)]
        if not kept:
            raise ValueError("no column is left to model: all are ids, text without repeats, empty or dropped.")
        categories = [sorted(summary.counts) if summary.is_text else [] for summary in kept]
        for summary, values in zip(kept, categories):
            if values:
                listed = ", ".join(values[:5]) + (", ..." if len(values) > 5 else "")
                self.notes.append(f"column {shown(summary.name)} is text with {len(values)} values ({listed}): one-hot")
        mean, scale = self._units(kept, categories, standardize)
        made = Preprocessing([s.name for s in kept], categories, mean, scale, self.ids, self.roles.target)
        self._set_target(made, standardize, classes)
        made.views = self._views(made)
        made.left_out, made.n_rows, made.notes = self.left_out, self.n_rows, self.notes
        return made

    def _is_modelled(self, position: int, summary: Summary) -> bool:
        name = summary.name
        if name == self.roles.target or name in self.ids or name in self.left_out:
            return False
        if self.wanted and name not in self.wanted:
            self.left_out.append(name)
            return False
        if name in self.wanted:
            return True
        if not summary.count:
            self.notes.append(f"column {shown(name)} has no values: left out")
            self.left_out.append(name)
            return False
        if summary.is_text:
            return self._is_category(position, summary)
        row_number = (self.unnamed[position] and position == 0) or name.strip().lower() in COUNTER_NAMES
        if row_number and summary.increasing and not summary.missing and self.n_rows > 2:
            self.notes.append(f"column {shown(name)} counts the rows: taken as row names (--id)")
            self.ids.append(name)
            return False
        return True

    def _is_category(self, position: int, summary: Summary) -> bool:
        name, distinct = summary.name, len(summary.counts)
        if self.unnamed[position] and position == 0:
            self.notes.append("the nameless first column is taken as row names (--id)")
            self.ids.append(name)
            return False
        if distinct == 1:
            self.notes.append(
                f"column {shown(name)} has one value only ({shown(next(iter(summary.counts)))}): left out"
            )
            self.left_out.append(name)
            return False
        if distinct > MAX_CATEGORIES or distinct > max(2, 0.5 * summary.count):
            self.notes.append(
                f"column {shown(name)} is text with {distinct} different values: carried along, not modelled"
            )
            self.ids.append(name)
            return False
        return True

    def _units(self, kept: list[Summary], categories: list[list[str]], standardize: bool) -> tuple[Array, Array]:
        means: list[float] = []
        scales: list[float] = []
        for summary, values in zip(kept, categories):
            if values:
                shares = np.array([summary.counts[value] for value in values]) / summary.count
                means.extend(shares)
                scales.extend(np.sqrt(shares * (1 - shares)))
            else:
                means.append(summary.mean)
                # a spread of rounding size is no spread: 0.1 repeated has one
                scales.append(summary.std if summary.std > 1e-13 * abs(summary.mean) else 0.0)
        if not standardize:
            return np.zeros(len(means)), np.ones(len(means))
        scale = np.array(scales)
        return np.array(means), np.where(scale > 0, scale, 1.0)

    def _set_target(self, made: Preprocessing, standardize: bool, classes: bool) -> None:
        if self.roles.target is None:
            return
        summary = next(s for s in self.columns if s.name == self.roles.target)
        if summary.is_text or classes:
            made.target_is_class = True
        elif standardize:
            made.target_mean, made.target_scale = summary.mean, summary.std or 1.0

    def _views(self, made: Preprocessing) -> dict[str, list[int]]:
        owner = made.owner
        views = {}
        for view, names in self.roles.views.items():
            positions = [made.names.index(name) for name in names if name in made.names]
            views[view] = [int(j) for j in np.flatnonzero(np.isin(owner, positions))]
            if not views[view]:
                raise ValueError(f"--views: the view {shown(view)} has no column left.")
        return views
