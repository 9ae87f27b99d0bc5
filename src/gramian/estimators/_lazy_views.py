"""Views on Dask are answered with lazy Dask objects in kind: a table for a table, a list or dict of arrays for a list or dict."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian.rows import is_dask, lazily

Method = TypeVar("Method", bound=Callable[..., Any])


def views_lazily(method: Method) -> Method:
    """A method of views that answers Dask input block by block, whatever container it comes in."""
    of_tables = lazily(method)

    @wraps(method)
    def evaluated(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        views = X.values() if isinstance(X, Mapping) else X if isinstance(X, list | tuple) else []
        if not any(is_dask(view) for view in views):
            return of_tables(self, X, *args, **kwargs)
        check_is_fitted(self)
        return _answers(self, method.__name__, X, args, kwargs)

    return evaluated  # type: ignore[return-value]


@dataclass(frozen=True)
class Container:
    """How the views that were given stand side by side in one table."""

    keys: tuple[Any, ...]  # names, or positions in a list
    stops: tuple[int, ...]
    length: int | None  # of a list; None: a dict

    @classmethod
    def of(cls, X: Any) -> tuple[Container, list[Any]]:
        """The container, and the views on Dask that it holds."""
        given = X.items() if isinstance(X, Mapping) else enumerate(X)
        shown = [(key, view) for key, view in given if view is not None]
        for key, view in shown:
            if not is_dask(view):
                raise TypeError(f"View {key!r} is no Dask array, but others are. Give all views on Dask, or none.")
        arrays = [view.to_dask_array() if hasattr(view, "columns") else view for _, view in shown]
        stops = np.cumsum([0, *(int(array.shape[1]) for array in arrays)])
        length = None if isinstance(X, Mapping) else len(X)
        return cls(tuple(key for key, _ in shown), tuple(stops.tolist()), length), arrays

    def unpacked(self, table: Array) -> Any:
        """The container with the views of some rows."""
        parts = {key: table[:, a:b] for key, a, b in zip(self.keys, self.stops, self.stops[1:])}
        return parts if self.length is None else [parts.get(i) for i in range(self.length)]


def _answers(model: Any, name: str, X: Any, args: Any, kwargs: Any) -> Any:
    import dask.array as da

    container, arrays = Container.of(X)
    table = da.concatenate(arrays, axis=1, allow_unknown_chunksizes=True).rechunk({1: -1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a row that nobody gave
        like = getattr(model, name)(container.unpacked(np.ones((1, table.shape[1]))), *args, **kwargs)

    def lazy(found: Any, path: tuple[Any, ...]) -> Any:
        if isinstance(found, Mapping):
            return {key: lazy(part, (*path, key)) for key, part in found.items()}
        if isinstance(found, list | tuple):
            return type(found)(lazy(part, (*path, i)) for i, part in enumerate(found))
        if found.ndim > 2:
            raise ValueError(
                f"{name} of Dask rows gives one answer per row; several draws per row need rows in memory."
            )
        chunks = {"drop_axis": 1} if found.ndim == 1 else {"chunks": (table.chunks[0], (found.shape[1],))}
        meta = np.empty((0,) * found.ndim, found.dtype)
        given = (model, name, container, path, args, kwargs)
        return table.map_blocks(_piece, *given, dtype=found.dtype, meta=meta, **chunks)

    return lazy(like, ())


def _piece(
    block: Array, model: Any, name: str, container: Container, path: tuple[Any, ...], args: Any, kwargs: Any
) -> Any:
    """One part of the answer for a block; a block without rows is answered with none."""
    rows = block if len(block) else np.ones((1, block.shape[1]))
    found = getattr(model, name)(container.unpacked(rows), *args, **kwargs)
    for key in path:
        found = found[key]
    return found[: len(block)]
