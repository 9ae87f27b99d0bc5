"""The table that a session looks at: from a file, an array, a frame or views, with what its columns are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.session import shown_cell
from gramian.io.source import Source
from gramian.io.table import ReadOptions
from gramian.io.table_model import TableModel
from gramian.io.tables import open_table, whole_table
from gramian.tables.bounds import Bounds
from gramian.tables.clocks import Clock, calendar_columns
from gramian.tables.codes import codes_as_missing, find_codes
from gramian.tables.frames import as_table
from gramian.tables.preprocessing import Preprocessing, Roles
from gramian.tables.table import Table, TableError

_PREFIX = re.compile(r"([^\s._:/-]+)[\s._:/-]+\S")


@dataclass(frozen=True)
class Data:
    """A table, the features that models see of it, and what else it allows: a clock, views, pictures."""

    title: str
    table: Table
    prepare: Preprocessing
    X: Array
    clock: Clock | None = None
    views: dict[str, list[str]] = field(default_factory=dict)
    image: tuple[int, int] | None = None
    label: str | None = None  # a column that is not modelled and colours the map
    emptied: dict[str, dict[float, Array]] = field(default_factory=dict)  # column -> code of missing -> its rows

    @cached_property
    def owner(self) -> Array:
        """For each feature, the position of its column among those that are modelled."""
        return self.prepare.owner

    @cached_property
    def first_feature(self) -> Array:
        """The first feature of each modelled column: the features of a category are missing together."""
        return np.searchsorted(self.owner, np.arange(len(self.prepare.names)))

    @cached_property
    def codes(self) -> dict[str, list[float]]:
        """The numbers that look like codes of missing and were kept, by column."""
        numbers = [name for name, column in zip(self.table.names, self.table.columns) if column.dtype != object]
        found: dict[str, list[float]] = {}
        for code in find_codes([self.table[name] for name in numbers]):
            for j in code.columns:
                found.setdefault(numbers[j], []).append(code.value)
        return found

    @cached_property
    def bounds(self) -> Bounds:
        """What values its numbers may take."""
        return Bounds.of_table(self.table, self.prepare)

    def forget(self) -> None:
        """A cell is another now: what was known of columns is looked up again."""
        for name in ("codes", "bounds"):
            self.__dict__.pop(name, None)

    @property
    def series(self) -> list[str]:
        """Columns that can be forecast: numbers of a table with a clock."""
        if self.clock is None:
            return []
        told = {*self.clock.names, *calendar_columns(self.table, self.clock)}
        return [n for n, c in zip(self.table.names, self.table.columns) if c.dtype != object and n not in told]

    def row_name(self, row: int) -> str:
        """What a row is called: its names, or its number."""
        words = [shown_cell(self.table[name][row]) for name in self.prepare.ids[:2] if name in self.table]
        return ", ".join(dict.fromkeys(word for word in words if word)) or f"row {row + 1}"


def data_of(table: Table, title: str, model: TableModel | None = None, unnamed: Sequence[bool] = ()) -> Data:
    """What a table allows, its codes of missing emptied. With a model, its columns are those that the model was fitted to."""
    if model is not None:
        prepare = model.preprocessing
        return _with_panels(Data(title, table, prepare, prepare.matrix(table, unknown="missing")))
    try:
        clock = Clock.of(table)
    except TableError:
        clock = None  # it runs backwards: the rows are not a series
    ids = clock.names if clock is not None else ()
    shown, codes = codes_as_missing(table)
    emptied = {name: {code: np.flatnonzero(table[name] == code) for code in codes[name]} for name in codes}
    prepare = Preprocessing.fit([shown], Roles(id=ids), unnamed=unnamed)
    return _with_panels(Data(title, shown, prepare, prepare.matrix(shown), clock, emptied=emptied))


def _with_panels(data: Data) -> Data:
    columns = data.prepare
    numbers = not any(columns.categories)
    return replace(
        data,
        views=data.views or views_of(columns.names),
        image=image_of(columns.names) if numbers else None,
        label=columns.target if columns.target is not None and columns.target in data.table else None,
    )


def views_of(names: Sequence[str], most: int = 12) -> dict[str, list[str]]:
    """Groups of columns that share the first word of their names, where all columns belong to one of at ``most`` so many.

    Examples
    --------
    >>> views_of(["sepal length", "sepal width", "petal length", "petal width"])
    {'sepal': ['sepal length', 'sepal width'], 'petal': ['petal length', 'petal width']}
    >>> views_of(["a", "b c", "b d"])
    {}
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        found = _PREFIX.match(name)
        if found is None:
            return {}
        groups.setdefault(found[1], []).append(name)
    fits = 2 <= len(groups) <= most and all(len(members) > 1 for members in groups.values())
    return groups if fits else {}


def image_of(names: Sequence[str], fewest: int = 16) -> tuple[int, int] | None:
    """Height and width where the columns are the pixels of square pictures, by their names; ``fewest``: 4 x 4."""
    side = isqrt(len(names))
    if len(names) < fewest or side * side != len(names):
        return None
    return (side, side) if all(re.match(r"(pixel|px)", name, re.IGNORECASE) for name in names) else None


def read_data(path: str, title: str, options: ReadOptions, most_cells: int) -> Data:
    """The table of a file."""
    source = Source(path)
    source.name = title
    reader = open_table(source, options)
    table = whole_table(_Counted(reader, most_cells))
    if table.n_rows < 2:
        raise source.fail(f"{table.n_rows} row(s); at least 2 are needed to fit a model.")
    return data_of(table, title, unnamed=getattr(reader, "unnamed", ()))


class _Counted:
    """A reader that ends when it has given too many cells."""

    def __init__(self, reader: Any, most: int) -> None:
        self.reader, self.most, self.source = reader, most, reader.source
        self.names, self.notes = reader.names, reader.notes

    def batches(self, rows: int | None = None, *, raw: bool = False) -> Any:
        cells = 0
        for part in self.reader.batches(rows, raw=raw):
            cells += part.n_rows * len(part.names)
            if cells > self.most:
                raise TableError(f"{self.source.name}: more than {self.most:,} cells; that is the limit of the page.")
            yield part


def table_of(X: Any) -> tuple[Table, dict[str, list[str]]]:
    """An array, a frame or views (a dict of tables, a list of arrays) as one table, and which columns are of which view."""
    if isinstance(X, list | tuple) and X and np.ndim(X[0]) == 2:
        X = {f"view{i}": part for i, part in enumerate(X, start=1)}
    if isinstance(X, Mapping) and all(getattr(part, "ndim", 0) == 2 for part in X.values()) and X:
        parts = {str(name): as_table(part) for name, part in X.items()}
        names = {view: [f"{view} {name}" for name in part.names] for view, part in parts.items()}
        columns = [column for part in parts.values() for column in part.columns]
        return Table([name for members in names.values() for name in members], columns), names
    if hasattr(X, "to_numpy") and not hasattr(X, "columns"):
        X = {getattr(X, "name", None) or "value": X}
    elif isinstance(X, np.ndarray) and X.ndim == 1:
        X = X[:, None]
    return as_table(X), {}


def demo_data() -> Data:
    """Handwritten digits with holes: the data of the demo."""
    from sklearn.datasets import load_digits

    from gramian.datasets import make_missing

    bunch = load_digits()
    X = make_missing(bunch.data, 0.1, random_state=0)
    names = [f"pixel {i + 1} {j + 1}" for i in range(8) for j in range(8)]
    table = Table([*names, "digit"], [*X.T, np.array([str(d) for d in bunch.target], dtype=object)])
    prepare = Preprocessing.fit([table], Roles(target="digit"))
    return _with_panels(Data("digits", table, prepare, prepare.matrix(table)))


def plain_model(estimator: Any, kind: str) -> TableModel:
    """A bare estimator as a model of tables: its features are the columns, in their own units."""
    width = int(getattr(estimator, "n_features_in_", 0))
    names = getattr(estimator, "feature_names_in_", None)
    labels = [str(name) for name in names] if names is not None else [f"x{i}" for i in range(1, width + 1)]
    return TableModel(kind, estimator, Preprocessing(labels, [[] for _ in labels], np.zeros(width), np.ones(width)))
