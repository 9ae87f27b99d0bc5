"""Data frames as tables and back: pandas, polars, dictionaries of columns, arrays."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.tables.table import MISSING, NO_SUCH_THING, Table


def as_table(X: Any) -> Table:
    """The columns of a data frame as a :class:`Table`: numbers as float64, all else as text, None where missing.

    Texts that mean missing in a file (``NA``, ``?``, the empty text) mean it here too. Booleans are texts, as they are
    categories.

    Examples
    --------
    >>> table = as_table({"a": [1, None], "b": ["x", "NA"], "c": [True, False]})
    >>> [column.tolist() for column in table.columns]
    [[1.0, nan], ['x', None], ['True', 'False']]
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, Mapping):
        names, columns = list(X), list(X.values())
    elif hasattr(X, "columns"):
        names = list(X.columns)
        columns = [X[name] for name in names]
    else:
        array = np.asarray(X)
        if array.ndim != 2:
            raise ValueError(f"a table of rows and columns is needed, not an array of shape {array.shape}.")
        names, columns = [f"x{j}" for j in range(1, array.shape[1] + 1)], list(array.T)
    return Table([str(name) for name in names], [_column(column) for column in columns])


def orders_of(X: Any) -> dict[str, tuple[str, ...]]:
    """The ordered categories of a pandas frame, from low to high."""
    found = {}
    for name in getattr(X, "columns", ()) if hasattr(X, "dtypes") else ():
        categories = getattr(getattr(X[name], "dtype", None), "categories", None)
        if categories is not None and getattr(X[name].dtype, "ordered", False):
            found[str(name)] = tuple(str(value) for value in categories)
    return found


def _column(values: Any) -> Array:
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    if kind in ("i", "u", "f") and isinstance(getattr(values, "dtype", None), np.dtype):
        numbers = np.array(values, dtype=np.float64)
        numbers[np.isinf(numbers)] = np.nan
        return numbers
    cells = [_cell(value) for value in (values.tolist() if hasattr(values, "tolist") else list(values))]
    seen = [cell for cell in cells if cell is not None and not _is_nothing(cell)]
    if all(isinstance(cell, float) for cell in seen):
        return np.array([cell if isinstance(cell, float) else np.nan for cell in cells], dtype=np.float64)
    out = np.empty(len(cells), dtype=object)
    out[:] = [f"{cell:.17g}" if isinstance(cell, float) else cell for cell in cells]
    return out


def _cell(value: Any) -> Any:
    """A float, a text or None."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | float | np.integer | np.floating):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    text = str(value).strip()
    return None if text.lower() in MISSING and not _is_nothing(text) else text


def _is_nothing(cell: Any) -> bool:
    """Whether a cell says "none": missing among numbers, a word among words."""
    return isinstance(cell, str) and cell.lower() == NO_SUCH_THING


def frame_like(X: Any, names: Sequence[str], columns: Sequence[Array]) -> Any:
    """Columns in the container that X is: a pandas or polars frame, a dictionary, a Table, or an array."""
    module = type(X).__module__.partition(".")[0]
    if module == "pandas":
        import pandas

        return pandas.DataFrame(dict(zip(names, columns)), columns=list(names))
    if module == "polars":
        import polars

        return polars.DataFrame({name: column.tolist() for name, column in zip(names, columns)})
    if isinstance(X, Mapping):
        return dict(zip(names, columns))
    if isinstance(X, Table):
        return Table(list(names), list(columns))
    out = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        out[:, j] = column
    return out if any(column.dtype == object for column in columns) else out.astype(np.float64)
