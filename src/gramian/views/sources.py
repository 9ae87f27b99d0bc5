"""Views from batches and from Dask as one table of rows, all views side by side [8, 13]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._types import Batches
from gramian.rows import BatchRows, Rows, as_rows, side_by_side
from gramian.views.tables import ViewLayout, kind_of, resolve_columns
from gramian.views.view import stack_views


def rows_on_dask(X: Any, views: Any, sample_weight: Any) -> tuple[ViewLayout, Rows]:
    """A Dask table, or a list or dict of Dask arrays, as rows with all views side by side."""
    kind = kind_of(X)
    if kind == "table":
        like = X._meta_nonempty if hasattr(X, "columns") else np.empty((1, X.shape[1]))
        rows = as_rows(X, sample_weight)
        return _layout(like, views, rows.n_columns), rows
    named: Mapping[Any, Any] = X if isinstance(X, Mapping) else {f"view{i}": view for i, view in enumerate(X)}
    if views is not None:
        raise ValueError(f"views={views!r} names columns of one table, but X is a {kind} of views. Leave views=None.")
    table, widths = side_by_side(named)
    return ViewLayout(kind, list(named), None, widths), as_rows(table, sample_weight)


def rows_of_batches(batches: Batches, views: Any) -> tuple[ViewLayout, Rows]:
    """Batches of tables, or of lists or dicts of views, as rows with all views side by side."""
    rows = BatchRows.of(_stacking(batches))
    first = next(iter(rows.open()))
    return _first_layout(batches, first, views, rows.n_columns), rows


def _stacking(batches: Batches) -> Any:
    """The source with each list or dict of views as one table; anything else as it is."""
    if not (callable(batches) or isinstance(batches, list | tuple)):
        return batches
    open_source: Callable[[], Iterable[Any]] = batches if callable(batches) else lambda: batches

    def opened() -> Iterable[Any]:
        widths: dict[Any, int] = {}
        for number, batch in enumerate(open_source(), start=1):
            parts = batch if isinstance(batch, tuple) else (batch,)
            if kind_of(parts[0]) == "table":
                yield batch
                continue
            try:
                stacked = _side_by_side(parts[0], widths)
            except (TypeError, ValueError) as error:
                raise type(error)(f"Batch {number}: {error}") from None
            yield (stacked, *parts[1:])

    return opened


def _side_by_side(views: Any, widths: dict[Any, int]) -> Array:
    """The views of a batch as one table. The first batch says which there are; later ones may leave some out, or give None."""
    named = dict(views) if isinstance(views, Mapping) else {f"view{i}": view for i, view in enumerate(views)}
    if not widths:
        stacked, columns = stack_views(named)
        widths |= {name: part.stop - part.start for name, part in columns.items()}
        return stacked
    unknown = [name for name in named if name not in widths]
    if unknown:
        raise ValueError(f"the view {unknown[0]!r} was not in the first batch, which had {list(widths)!r}.")
    shown = {name: view for name, view in named.items() if view is not None}
    if not shown:
        raise ValueError("no view was given.")
    n = len(next(iter(shown.values())))
    for name, width in widths.items():
        if name in shown and np.shape(shown[name])[1] != width:
            raise ValueError(f"the view {name!r} has {np.shape(shown[name])[1]} columns, but it had {width}.")
    return stack_views({name: shown.get(name, np.full((n, width), np.nan)) for name, width in widths.items()})[0]


def _first_layout(batches: Batches, first: Any, views: Any, n_columns: int) -> ViewLayout:
    source = batches() if callable(batches) else batches
    given = next(iter(source)) if callable(batches) or isinstance(batches, list | tuple) else first
    given = given[0] if isinstance(given, tuple) else given
    kind = kind_of(given)
    if kind == "table":
        like = first[0] if isinstance(first, tuple) else first
        if type(like).__module__.startswith("pyarrow"):
            like = like.to_pandas()
        return _layout(like, views, n_columns)
    if views is not None:
        raise ValueError(
            f"views={views!r} names columns of one table, but batches are a {kind} of views. Leave views=None."
        )
    named = given if isinstance(given, Mapping) else {f"view{i}": view for i, view in enumerate(given)}
    return ViewLayout(kind, list(named), None, [int(np.shape(view)[1]) for view in named.values()])


def _layout(like: Any, views: Any, n_columns: int) -> ViewLayout:
    names, columns = resolve_columns(views, like, n_columns)
    return ViewLayout("table", names, columns, [len(found) for found in columns])


def view_columns(layout: ViewLayout) -> tuple[Array, ...]:
    """The columns of each view in the table of all."""
    if layout.columns is not None:
        return tuple(layout.columns)
    stops = np.cumsum([0, *layout.widths])
    return tuple(np.arange(start, stop) for start, stop in pairwise(stops))
