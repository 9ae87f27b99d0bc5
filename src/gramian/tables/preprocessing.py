"""From a table of numbers and texts to the matrix that a model sees, and back: roles, categories, standardising."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian.tables.codes import cells_as_missing
from gramian.tables.coding import code_of, coordinates, labels, order_of, probabilities
from gramian.tables.column_summary import Summary, describe_columns, summaries
from gramian.tables.frames import DAY
from gramian.tables.table import Table, TableError, quote

COUNTER_NAMES = frozenset(
    ("id", "index", "row", "rowid", "row_id", "row id", "rownames", "unnamed: 0", "nr", "no", "#")
)
BLOCK_ROWS = 4096
"""Rows that are put together at a time: few enough to stay in the cache."""


@dataclass(frozen=True)
class Roles:
    """What the user says of columns, by name or position: ``id`` and ``drop`` are not modelled, ``target`` is
    predicted, ``orders`` are the values of ordered columns from low to high."""

    id: tuple[str, ...] = ()
    target: str | None = None
    drop: tuple[str, ...] = ()
    views: dict[str, tuple[str, ...]] = field(default_factory=dict)
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)


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
        raise ValueError(f"{option}: there is no column {quote(token)}. The table has {listed}.")
    return list(dict.fromkeys(found))


# ---------------------------------------------------------------- the map


@dataclass
class Preprocessing:
    """How the columns of a table become the features of a model: which, in which units, and back.

    A column of numbers is one feature, standardised. A column of K categories is K - 1 contrasts whose variances
    add up to 1, in which all categories are equally far apart [:mod:`gramian.tables.coding`]; ordered categories are ranks,
    standardised. A missing cell is NaN in all of its features.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.tables.table import Table
    >>> table = Table(["a", "c"], [np.array([1.0, 3.0]), np.array(["u", "v"], dtype=object)])
    >>> prepare = Preprocessing.fit([table])
    >>> prepare.features, prepare.matrix(table).round(9).tolist()
    (['a', 'c=v'], [[-1.0, -1.0], [1.0, 1.0]])
    """

    names: Annotated[list[str], "c: text"]
    categories: Annotated[list[list[str]], "c"]  # empty for a column of numbers
    mean: Annotated[Array, "d"]  # one entry per feature
    scale: Annotated[Array, "++ d"]
    ids: list[str] = field(default_factory=list)
    target: str | None = None
    target_is_class: bool = False
    target_mean: Annotated[float, "number"] = 0.0
    target_scale: Annotated[float, "number"] = 1.0
    views: dict[str, list[int]] = field(default_factory=dict)  # features of each view
    left_out: list[str] = field(default_factory=list)
    n_rows: int = 0
    notes: list[str] = field(default_factory=list)
    coding: str = "indicators"  # of model files written before there were contrasts
    ordered: tuple[str, ...] = ()
    described: str = ""
    moments: tuple[str, ...] = ()  # dates that are modelled, as seconds
    days: tuple[str, ...] = ()  # those of them without a time
    empty: tuple[str, ...] = ()  # columns without a value
    codes: dict[str, list[float]] = field(default_factory=dict)  # numbers that stand for missing, by column

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
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        return [name for name, values in zip(self.names, self.categories) if not values]

    @property
    def codings(self) -> list[str]:
        """How each column is coded: ``""`` for numbers, else a word of :func:`gramian.tables.coding.code_of`."""
        return [
            "" if not values else "ranks" if name in self.ordered else self.coding
            for name, values in zip(self.names, self.categories)
        ]

    @property
    def features(self) -> list[str]:
        """The names of the model's features: the column, or the column with a value or a number."""
        columns = zip(self.names, self.categories, self.codings)
        return [label for name, values, coding in columns for label in labels(name, values, coding)]

    @property
    def widths(self) -> list[int]:
        """How many features each column has."""
        codings = zip(self.names, self.categories, self.codings)
        return [len(labels(name, values, coding)) for name, values, coding in codings]

    @property
    def owner(self) -> Array:
        """For each feature, the position of its column."""
        return np.repeat(np.arange(len(self.names)), self.widths)

    def only(self, names: Sequence[str]) -> Preprocessing:
        """The same map of some of the columns."""
        columns = [j for j, name in enumerate(self.names) if name in names]
        at = np.isin(self.owner, columns)
        return replace(
            self,
            names=[self.names[j] for j in columns],
            categories=[self.categories[j] for j in columns],
            mean=self.mean[at],
            scale=self.scale[at],
            views={},
        )

    def matrix(self, table: Table, *, may_lack: Sequence[str] = (), unknown: str = "error") -> Array:
        """The features of the rows of a table, found by column name; NaN where a cell, or a column of ``may_lack``,
        is missing. A category that the fit has not seen is an error, or ``unknown="missing"``."""
        table = self.seen(table)
        absent = [name for name in self.names if name not in table and name not in may_lack]
        if absent:
            listed = ", ".join(quote(name) for name in absent[:5]) + (", ..." if len(absent) > 5 else "")
            where = f"{table.source.name}: " if table.source else ""
            raise TableError(f"{where}the model needs the column(s) {listed}, which the table does not have.")
        out = np.empty((table.n_rows, int(sum(self.widths))))
        numbers = []
        for j, block in self._blocks(out):
            features = self._features_of(table, j, unknown)
            if self.categories[j]:
                block[:] = features
            else:
                numbers.append((block, features))
        for start in range(0, len(out), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            for block, features in numbers:
                block[rows] = features[rows]
            out[rows] -= self.mean
            out[rows] /= self.scale
        return out

    def seen(self, table: Table) -> Table:
        """The table with the numbers that stood for missing at fit as missing."""
        return cells_as_missing(table, self.codes)

    def _blocks(self, X: Array) -> Iterator[tuple[int, Array]]:
        """Each column with its features."""
        start = 0
        for j, width in enumerate(self.widths):
            yield j, X[:, start : start + width]
            start += width

    def _features_of(self, table: Table, j: int, unknown: str) -> Array:
        name, values, coding = self.names[j], self.categories[j], self.codings[j]
        if name not in table:
            return np.full((table.n_rows, 1), np.nan)
        column = table[name]
        if values:
            codes = _codes(table, name, values, _as_texts(column), unknown)
            return coordinates(codes, len(values), coding)
        if column.dtype != object:
            return column[:, None]
        shows = [row for row, cell in enumerate(column.tolist()) if cell is not None]
        if shows:
            cell = quote(column[shows[0]])
            raise TableError(
                f"{table.place(shows[0], name)}: {cell} is not a number, as it was when the model was fitted."
            )
        return np.full((len(column), 1), np.nan)

    def restore(self, X: Array) -> Array:
        """Features in the units of the table."""
        return np.asarray(X, dtype=np.float64) * self.scale + self.mean

    def columns(self, X: Array) -> list[Array]:
        """The columns of the table that features stand for: numbers in their units, texts by the most probable
        value."""
        out: list[Array] = []
        for j, block in self._blocks(self.restore(X)):
            values = self.categories[j]
            if values:
                chances = probabilities(block, len(values), self.codings[j])
                texts = np.empty(len(block), dtype=object)
                texts[:] = [values[k] for k in chances.argmax(axis=1)]
                out.append(texts)
            else:
                out.append(DAY * np.round(block[:, 0] / DAY) if self.names[j] in self.days else block[:, 0])
        return out

    def probabilities(self, X: Array) -> dict[str, Array]:
        """For each column of categories the probability of each value, one column per value."""
        return {
            self.names[j]: probabilities(block, len(self.categories[j]), self.codings[j])
            for j, block in self._blocks(self.restore(X))
            if self.categories[j]
        }

    def spread(self, std: Array) -> list[Array]:
        """Standard deviations of features as columns of the table, in its units; of a text, the largest of its
        indicators."""
        out: list[Array] = []
        for j, block in self._blocks(np.asarray(std) * self.scale):
            values = self.categories[j]
            if values and self.codings[j] != "ranks":
                code = code_of(len(values), self.codings[j])
                out.append(np.sqrt((block**2 @ (code**2).T).max(axis=1)))
            else:
                out.append(block[:, 0])
        return out

    def targets(self, table: Table) -> Array:
        """The target column: class names, or numbers (standardised where the features are)."""
        assert self.target is not None
        if self.target not in table:
            raise TableError(f"the table has no column {quote(self.target)}, the target.")
        column = self.seen(table)[self.target]
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


def _as_texts(column: Array) -> list[str | None]:
    """Cells as text; whole numbers without a point, so that 1.0 and 1 are one class."""
    if column.dtype == object:
        return column.tolist()
    return [None if v != v else str(int(v)) if v == int(v) else repr(v) for v in column.tolist()]


def _codes(table: Table, name: str, values: list[str], texts: Sequence[str | None], unknown: str) -> Array:
    """The position of each cell among the values, -1 where it is missing."""
    position: dict[str | None, int] = {value: j for j, value in enumerate(values)}
    position[None] = -1
    codes = np.array([position.get(text, -2) for text in texts], dtype=np.intp)
    strange = np.flatnonzero(codes == -2)
    if len(strange) and unknown == "error":
        row = int(strange[0])
        known = ", ".join(values[:8]) + (", ..." if len(values) > 8 else "")
        raise TableError(
            f"{table.place(row, name)}: {quote(texts[row])} was not seen when the model was fitted ({known})."
        )
    return np.maximum(codes, -1)


class _Maker:
    """The decisions of :meth:`Preprocessing.fit`, one per method."""

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
            why = "; ".join(self.notes[:3]) or "all are dropped, ids or the target"
            raise ValueError(f"no column is left to model ({why}{'; ...' if len(self.notes) > 3 else ''}).")
        ordered: list[str] = []
        categories = [self._values(summary, ordered) for summary in kept]
        none = np.empty(0)
        made = Preprocessing([s.name for s in kept], categories, none, none, self.ids, self.roles.target)
        made.coding, made.ordered = "contrasts", tuple(ordered)
        made.described = describe_columns((s for s in self.columns if s.name not in self.roles.drop), self.n_rows)
        made.mean, made.scale = self._units(kept, made, standardize)
        self._set_target(made, standardize, classes)
        made.views = self._views(made)
        made.left_out, made.n_rows, made.notes = self.left_out, self.n_rows, self.notes
        made.empty = tuple(summary.name for summary in self.columns if not summary.count)
        return made

    def _values(self, summary: Summary, ordered: list[str]) -> list[str]:
        """The categories of a column, none for numbers; its name is added to ``ordered`` where they have an order."""
        if not summary.is_text:
            return []
        given = [value for value in self.roles.orders.get(summary.name, ()) if value in summary.counts]
        values = sorted(summary.counts)
        found = given if set(given) == set(values) else order_of(values)
        if found is None:
            listed = ", ".join(values[:5]) + (", ..." if len(values) > 5 else "")
            self.notes.append(f"column {quote(summary.name)} has {len(values)} categories ({listed})")
            return values
        ordered.append(summary.name)
        listed = " < ".join(found[:5]) + (" < ..." if len(found) > 5 else "")
        self.notes.append(f"column {quote(summary.name)} has {len(found)} ordered categories ({listed})")
        return found

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
            self.notes.append(f"column {quote(name)} has no values: left out")
            self.left_out.append(name)
            return False
        if summary.is_text:
            return self._is_category(position, summary)
        row_number = (self.unnamed[position] and position == 0) or name.strip().lower() in COUNTER_NAMES
        if row_number and summary.increasing and not summary.missing and self.n_rows > 2:
            self.notes.append(f"column {quote(name)} counts the rows: taken as row names (--id)")
            self.ids.append(name)
            return False
        if summary.names_rows:
            self.notes.append(f"column {quote(name)} numbers the rows, no two alike: taken as row names (--id)")
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
                f"column {quote(name)} has one value only ({quote(next(iter(summary.counts)))}): left out"
            )
            self.left_out.append(name)
            return False
        if summary.kind == "category":
            return True
        example = quote(next(iter(summary.counts)), 24)
        what = (
            "holds dates" if summary.kind == "date" else f"is text with {distinct} different values (such as {example})"
        )
        self.notes.append(f"column {quote(name)} {what}: carried along, not modelled")
        self.ids.append(name)
        return False

    def _units(self, kept: list[Summary], made: Preprocessing, standardize: bool) -> tuple[Array, Array]:
        means: list[float] = []
        scales: list[float] = []
        for summary, values, coding in zip(kept, made.categories, made.codings):
            if not values:
                means.append(summary.mean)
                scales.append(summary.std)
                continue
            shares = np.array([summary.counts[value] for value in values]) / summary.count
            code = code_of(len(values), coding)
            centre = shares @ code
            spread = shares @ (code - centre) ** 2
            means.extend(centre)
            # one scale for all contrasts of a column, so that categories stay equally far apart; their variances add up to 1, so that
            # a column of many categories weighs no more than a number does
            scales.extend([float(np.sqrt(spread.sum()))] * code.shape[1])
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
                raise ValueError(f"--views: the view {quote(view)} has no column left.")
        return views
