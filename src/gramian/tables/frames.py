"""Data frames as tables and back: whatever narwhals reads (pandas, polars, pyarrow, modin), dictionaries of columns, arrays."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from gramian._arrays import Array, is_dask
from gramian.tables.table import MISSING, NO_SUCH_THING, Table

DAY = 86400
"""Seconds."""


def frame_of(X: Any) -> Any:
    """X as a narwhals frame with unique names that are texts; None where it is not a data frame in memory."""
    if isinstance(X, np.ndarray | list | tuple | Mapping | Table) or is_dask(X):
        return None
    if is_narwhals(X):
        X = X.to_native()
    _refuse_unread(X)
    if not hasattr(X, "columns"):
        return None
    import narwhals.stable.v2 as nw

    if type(X).__module__.startswith("pyarrow") and type(X).__name__ == "RecordBatch":
        import pyarrow

        X = pyarrow.Table.from_batches([X])
    if hasattr(X, "iloc") and not all(isinstance(name, str) for name in X.columns):
        X = X.set_axis([str(name) for name in X.columns], axis=1)
    names = list(getattr(X, "column_names", X.columns))
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise ValueError(f"X has duplicate column names: {', '.join(twice)}. Rename or drop them.")
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _refuse_unread(X: Any) -> None:
    """A query that has not been run holds no rows to learn from."""
    if type(X).__name__ == "LazyFrame" or type(X).__module__.startswith("duckdb"):
        raise TypeError(
            f"X is a {type(X).__name__}, a query that has not been run. Run it first: .collect() of polars, .pl() or .df() of DuckDB."
        )


def holds_only_numbers(frame: Any) -> bool:
    """Whether all columns of a narwhals frame are numbers, booleans, or objects that are such."""
    return all(
        dtype.is_numeric()
        or str(dtype) == "Boolean"
        or (str(dtype) == "Object" and _are_numbers(frame[name]))
        or str(getattr(frame[name].to_native(), "dtype", "")).startswith("Sparse")
        for name, dtype in frame.schema.items()
    )


def _are_numbers(series: Any) -> bool:
    kinds = bool | int | float | np.number | np.bool_ | Decimal
    return all(isinstance(cell, kinds) for cell in series.to_list() if not _is_missing(cell))


def _is_missing(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell)


def as_table(X: Any, moments: Sequence[str] = ()) -> Table:
    """The columns of a data frame as a :class:`Table`: numbers as float64, all else as text, None where missing.

    Texts that mean missing in a file (``NA``, ``?``, the empty text) mean it here too. Booleans are texts, as they are
    categories. The dates of the columns ``moments`` are numbers, seconds since 1970.

    Examples
    --------
    >>> table = as_table({"a": [1, None], "b": ["x", "NA"], "c": [True, False]})
    >>> [column.tolist() for column in table.columns]
    [[1.0, nan], ['x', None], ['True', 'False']]
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, Mapping):
        return Table([str(name) for name in X], [_column(column) for column in X.values()])
    frame = frame_of(X)
    if frame is not None:
        return Table(list(frame.columns), [_series(frame[name], name in moments) for name in frame.columns])
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"a table of rows and columns is needed, not an array of shape {array.shape}.")
    return Table([f"x{j}" for j in range(1, array.shape[1] + 1)], [_column(column) for column in array.T])


def orders_of(X: Any) -> dict[str, tuple[str, ...]]:
    """The ordered categories of a frame, from low to high."""
    frame = frame_of(X)
    found = {}
    for name, dtype in frame.schema.items() if frame is not None else ():
        native = frame[name].to_native()
        kind: Any = getattr(native, "dtype", None) or getattr(native, "type", None)  # of pandas and polars, of Arrow
        if getattr(kind, "ordered", False) or str(dtype).startswith("Enum"):
            told = kind.categories if hasattr(kind, "categories") else _of_arrow(native)
            found[name] = tuple(_as_told(value) for value in told)
    return found


def _of_arrow(column: Any) -> list[Any]:
    """The categories of a column of Arrow."""
    return [value for chunk in column.unify_dictionaries().chunks[:1] for value in chunk.dictionary.to_pylist()]


def of_whole_days(seconds: Array) -> bool:
    """Whether moments, in seconds since 1970 and NaN where there is none, are days without a time."""
    return bool((seconds[~np.isnan(seconds)] % DAY == 0).all())


def dates_with_holes(X: Any) -> list[str]:
    """The columns of a frame whose type is a date or a time, and which miss some."""
    frame = frame_of(X)
    return [] if frame is None else [n for n, kind in frame.schema.items() if _is_date(kind) and frame[n].null_count()]


def _is_date(dtype: Any) -> bool:
    return str(dtype).startswith(("Date", "Datetime"))


def _series(series: Any, as_moment: bool = False) -> Array:
    dtype = series.dtype
    if as_moment and _is_date(dtype):
        return np.array([np.nan if _is_missing(cell) else _seconds(cell) for cell in series.to_list()])
    if dtype.is_float() or dtype.is_integer():
        numbers = np.array(series.to_numpy(), dtype=np.float64)
        numbers[np.isinf(numbers)] = np.nan
        return numbers
    if str(dtype).startswith(("Categorical", "Enum")):  # numbers too are categories then
        out = np.empty(len(series), dtype=object)
        out[:] = [_as_told(cell) for cell in series.to_list()]
        return out
    return _column(series.to_list())


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
    if isinstance(value, int | float | np.integer | np.floating | Decimal):
        return float(value) if np.isfinite(float(value)) else None
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    text = str(value).strip()
    return None if text.lower() in MISSING and not _is_nothing(text) else text


def _is_nothing(cell: Any) -> bool:
    """Whether a cell says "none": missing among numbers, a word among words."""
    return isinstance(cell, str) and cell.lower() == NO_SUCH_THING


# ---------------------------------------------------------------- back


def like(X: Any, values: Array, names: Sequence[Any] | None = None) -> Any:
    """``values`` as a frame with the names (or those given) and the index of X, if X is one; else as they are."""
    if is_narwhals(X):
        return wrap(X, like(X.to_native(), values, names))
    module = type(X).__module__.partition(".")[0]
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return type(X)(values, index=X.index, columns=X.columns if names is None else list(names))
    if module == "polars" and hasattr(X, "columns"):
        return type(X)(values, schema=[str(name) for name in (names or X.columns)], orient="row")
    if module == "pyarrow" and hasattr(X, "schema"):
        return type(X).from_arrays([*values.T], names=[str(name) for name in (names or X.schema.names)])
    return values


def is_narwhals(X: Any) -> bool:
    """Whether X is a frame of narwhals, around one of another library."""
    return type(X).__module__.partition(".")[0] == "narwhals" and hasattr(X, "to_native")


def wrap(X: Any, frame: Any) -> Any:
    """A frame in the wrapper of narwhals that X is."""
    import narwhals
    import narwhals.stable.v2 as stable

    return (stable if type(X).__module__.startswith("narwhals.stable") else narwhals).from_native(frame)


def with_cells(X: Any, cells: Mapping[str, tuple[Array, Sequence[Any]]]) -> Any:
    """A frame with some cells changed: ``cells[name] = (flags of rows, their values)``. Container, names, index, dtypes and
    categories stay; whole numbers stay whole. A column whose type says that it holds nothing gets that of its values."""
    if is_narwhals(X):
        return wrap(X, with_cells(X.to_native(), cells))
    frame = frame_of(X)
    names = list(getattr(X, "column_names", X.columns))
    found = {str(name): name for name in names}
    out = X.copy() if hasattr(X, "iloc") else X
    for name, (rows, values) in cells.items():
        if not rows.any():
            continue
        series = frame[name]
        cast = _caster(series)
        given = [cast(value) for value in values]
        if hasattr(X, "iloc"):
            column = out[found[name]].copy()
            if str(column.dtype) == "null[pyarrow]":
                column = column.astype("double[pyarrow]")
            categories = getattr(column.dtype, "categories", None)
            if categories is not None:
                column = column.cat.add_categories([value for value in dict.fromkeys(given) if value not in categories])
            column.iloc[np.flatnonzero(rows)] = given
            out[found[name]] = column
            continue
        full = series.to_list()
        for row, value in zip(np.flatnonzero(rows), given):
            full[row] = value
        if type(X).__module__.startswith("pyarrow"):
            import pyarrow

            kind, at = out.schema.field(name).type, names.index(name)
            of_values = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
            plain = pyarrow.array(full, type=None if pyarrow.types.is_null(kind) else of_values)
            column = plain.dictionary_encode().cast(kind) if pyarrow.types.is_dictionary(kind) else plain
            columns = [column if j == at else out.column(j) for j in range(len(names))]
            fields = out.schema.set(at, out.schema.field(name).with_type(column.type))
            out = type(X).from_arrays(columns, schema=fields)
        else:
            dtype = series.to_native().dtype
            out = out.with_columns(type(series.to_native())(name, full, dtype=None if str(dtype) == "Null" else dtype))
    return out


def without_cells(X: Any, values: Mapping[str, Sequence[float]]) -> Any:
    """A table without the cells that hold some numbers, by column: they are missing, in a type that can say so."""
    if not values:
        return X
    frame = frame_of(X)
    if frame is None:
        table = as_table(X)
        return np.column_stack(
            [np.where(np.isin(c, values.get(n, ())), np.nan, c) for n, c in zip(table.names, table.columns)]
        )
    import narwhals.stable.v2 as nw

    kept = [
        nw.when(~nw.col(name).cast(nw.Float64).is_in(list(found))).then(nw.col(name)) for name, found in values.items()
    ]
    out = frame.with_columns(*kept).to_native()
    return wrap(X, out) if is_narwhals(X) else out


def without_words(X: Any, names: Sequence[str]) -> list[str]:
    """Of the columns of a frame those that may hold a number: neither texts nor categories."""
    schema = {} if (frame := frame_of(X)) is None else frame.schema
    return [name for name in names if not str(schema.get(name)).startswith(("String", "Categorical", "Enum"))]


def chosen_columns(X: Any, names: Sequence[str]) -> Any:
    """A frame with these columns only."""
    if hasattr(X, "iloc"):
        return X.loc[:, [name for name in X.columns if str(name) in set(names)]]
    return X.select(list(names))


def other_columns(X: Any, filled: Any) -> Any:
    """A frame with the columns of another one of its kind in the place of its own."""
    if is_narwhals(X):
        return wrap(X, other_columns(X.to_native(), filled.to_native()))
    if hasattr(X, "iloc"):
        out = X.copy()
        for name in filled.columns:
            out[name] = filled[name]
        return out
    if not hasattr(X, "set_column"):  # polars
        return X.with_columns(filled.get_columns())
    for field in filled.schema:
        X = X.set_column(X.schema.get_field_index(field.name), field, filled.column(field.name))
    return X


def with_types_of(X: Any, filled: Any) -> Any:
    """A filled frame with the columns of X that are no floats and miss nothing as they were: flags, decimals, whole numbers beyond 2**53."""
    frame = frame_of(X)
    schema = {} if frame is None else frame.schema
    kept = [n for n, kind in schema.items() if not (kind.is_float() or frame[n].null_count())]
    return other_columns(filled, chosen_columns(X, kept)) if kept else filled


def with_columns(X: Any, columns: Mapping[str, Array]) -> Any:
    """A frame with further columns."""
    if is_narwhals(X):
        return wrap(X, with_columns(X.to_native(), columns))
    if hasattr(X, "iloc"):
        return X.assign(**columns)
    if type(X).__module__.startswith("pyarrow"):
        import pyarrow

        for name, column in columns.items():
            X = X.append_column(name, pyarrow.array(column))
        return X
    return X.with_columns(**{name: type(X[X.columns[0]])(name, column) for name, column in columns.items()})


def _caster(series: Any) -> Any:
    """From a number or text of a :class:`Table` to what the cells of a column are."""
    dtype = series.dtype
    if dtype.is_integer() and str(dtype).endswith("128"):
        return round
    if dtype.is_integer():  # draws and ends of intervals may lie beyond what a type holds
        held = np.iinfo(str(dtype).lower())
        return lambda value: min(max(round(value), held.min), held.max)
    if dtype.is_float():
        return float
    kind = str(dtype)
    zone = datetime.UTC if getattr(dtype, "time_zone", None) else None
    if kind == "Boolean":
        return lambda value: value == "True" if isinstance(value, str) else bool(round(value))
    if kind.startswith("Decimal"):
        return lambda value: Decimal(repr(float(value))).quantize(_unit(series.to_native()))
    if kind.startswith("Duration"):
        return lambda value: datetime.timedelta(seconds=float(value))
    if _is_date(dtype):
        return lambda value: _moment(float(value), whole=kind == "Date", day=kind == "Date", zone=zone)
    native = series.to_native()
    told = getattr(getattr(native, "dtype", None), "categories", None)
    cells = told if told is not None and hasattr(native, "iloc") else series.to_list()
    known = {_as_told(cell): cell for cell in cells if not _is_missing(cell)}
    return lambda value: known.get(value, value)


def _as_told(cell: Any) -> Any:
    """What a cell is called in a table in which its column is text."""
    found = _cell(cell)
    return f"{found:.17g}" if isinstance(found, float) else found


def _unit(native: Any) -> Decimal:
    """The last digit that a column of decimals holds."""
    kind = native.dtype if hasattr(native, "dtype") else native.type
    return Decimal(1).scaleb(-int(getattr(kind, "pyarrow_dtype", kind).scale))


def _seconds(cell: Any) -> float:
    """The seconds of a date or a time since 1970."""
    if not isinstance(cell, datetime.datetime):
        cell = datetime.datetime.combine(cell, datetime.time())
    return float((cell - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC if cell.tzinfo else None)).total_seconds())


def _moment(seconds: float, *, whole: bool, day: bool, zone: Any) -> Any:
    """The nearest second, or day, to a number of seconds since 1970."""
    rounded = DAY * round(seconds / DAY) if whole else round(seconds)
    moment = datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(seconds=rounded)
    return moment.date() if day else moment


def moment_words(seconds: Array, alike: Array) -> Array:
    """Seconds since 1970 as the dates that they are in a table; whole days where those ``alike`` are.

    Examples
    --------
    >>> moment_words(np.array([86400.4]), np.array([0.0, np.nan])), moment_words(np.array([86400.4]), np.array([60.0]))
    (array(['1970-01-02'], dtype='<U10'), array(['1970-01-02'], dtype='<U10'))
    >>> moment_words(np.array([90000.0]), np.array([60.0])).tolist()
    ['1970-01-02 01:00:00']
    """
    return np.array(
        [_cell(_moment(float(value), whole=of_whole_days(alike), day=False, zone=None)) for value in seconds]
    )


def frame_like(X: Any, names: Sequence[str], columns: Sequence[Array]) -> Any:
    """Columns in the container that X is: a pandas or polars frame, a dictionary, a Table, or an array."""
    if is_narwhals(X):
        return wrap(X, frame_like(X.to_native(), names, columns))
    module = type(X).__module__.partition(".")[0]
    if module == "pandas":
        import pandas

        return pandas.DataFrame(dict(zip(names, columns)), columns=list(names))
    if module == "polars":
        import polars

        return polars.DataFrame({name: column.tolist() for name, column in zip(names, columns)})
    if module == "pyarrow":
        import pyarrow

        return pyarrow.table({name: column.tolist() for name, column in zip(names, columns)})
    if isinstance(X, Mapping):
        return dict(zip(names, columns))
    if isinstance(X, Table):
        return Table(list(names), list(columns))
    out = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        out[:, j] = column
    return out if any(column.dtype == object for column in columns) else out.astype(np.float64)
