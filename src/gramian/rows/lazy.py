"""Evaluation of Dask input: lazy, block by block, arrays to arrays, frames to frames, views to views."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, is_dask, on_dask

Method = TypeVar("Method", bound=Callable[..., Any])


def lazily(method: Method) -> Method:
    """A method of one table that answers Dask input with a lazy Dask object: the same method, block by block."""

    @wraps(method)
    def evaluated(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        check_is_fitted(self)
        return (
            _frame(self, method.__name__, X, args, kwargs)
            if hasattr(X, "columns")
            else _array(self, method.__name__, X, args, kwargs)
        )

    return evaluated  # type: ignore[return-value]


def views_lazily(method: Method) -> Method:
    """The same for a method of views: a table is answered as a table, a list or dict of arrays by a list or dict of arrays."""
    of_tables = lazily(method)

    @wraps(method)
    def evaluated(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not on_dask(X):
            return method(self, X, *args, **kwargs)
        if is_dask(X):
            return of_tables(self, X, *args, **kwargs)
        check_is_fitted(self)
        return _views(self, method.__name__, X, args, kwargs)

    return evaluated  # type: ignore[return-value]


# ---------------------------------------------------------------- tables


def _answer(part: Any, model: Any, name: str, args: Any, kwargs: Any) -> Any:
    """The answer for one block; an empty block is answered with no rows."""
    if len(part):
        return getattr(model, name)(part, *args, **kwargs)
    row = np.ones((1, model.n_features_in_))
    like = _answer(
        type(part)(row, columns=part.columns) if hasattr(part, "columns") else row, model, name, args, kwargs
    )
    return tuple(answer[:0] for answer in like) if isinstance(like, tuple) else like[:0]


def _likeness(part: Any, model: Any, name: str, args: Any, kwargs: Any) -> Any:
    """The answer for a row that nobody gave: what the answers will look like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        like = _answer(part, model, name, args, kwargs)
    if np.ndim(like[0] if isinstance(like, tuple) else like) > 2:
        raise ValueError(f"{name} of Dask rows gives one answer per row; several draws per row need rows in memory.")
    return like


def _array(model: Any, name: str, X: Any, args: Any, kwargs: Any) -> Any:
    if X.ndim != 2 or X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[-1]} features, but {type(model).__name__} is expecting {model.n_features_in_} features as input."
        )
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    like = _likeness(np.ones((1, X.shape[1]), dtype=X.dtype), model, name, args, kwargs)
    if isinstance(like, tuple):
        return tuple(_piece(model, name, X, args, kwargs, like[i], i) for i in range(len(like)))
    return _piece(model, name, X, args, kwargs, like, None)


def _piece(model: Any, name: str, X: Any, args: Any, kwargs: Any, like: Any, which: int | None) -> Any:
    chunks = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], (like.shape[1],))}
    return X.map_blocks(
        _answer_piece,
        model,
        name,
        args,
        kwargs,
        which,
        dtype=like.dtype,
        meta=np.empty((0,) * like.ndim, like.dtype),
        **chunks,
    )


def _answer_piece(part: Any, model: Any, name: str, args: Any, kwargs: Any, which: int | None) -> Any:
    answer = _answer(part, model, name, args, kwargs)
    return answer if which is None else answer[which]


def _frame(model: Any, name: str, X: Any, args: Any, kwargs: Any) -> Any:
    like = _likeness(X._meta_nonempty, model, name, args, kwargs)
    if isinstance(like, tuple):
        return tuple(_frame_piece(model, name, X, args, kwargs, like[i], i) for i in range(len(like)))
    return _frame_piece(model, name, X, args, kwargs, like, None)


def _frame_piece(model: Any, name: str, X: Any, args: Any, kwargs: Any, like: Any, which: int | None) -> Any:
    meta = _named(like, X._meta_nonempty, model, name).iloc[:0]
    return X.map_partitions(_in_kind, model, name, args, kwargs, which, meta=meta)


def _in_kind(part: Any, model: Any, name: str, args: Any, kwargs: Any, which: int | None) -> Any:
    return _named(_answer_piece(part, model, name, args, kwargs, which), part, model, name)


def _named(answer: Any, part: Any, model: Any, name: str) -> Any:
    """The answer with the names and the index of the frame."""
    import pandas as pd

    if isinstance(answer, pd.DataFrame | pd.Series):
        return answer
    if answer.ndim == 1:
        return pd.Series(answer, index=part.index, name=name)
    if answer.shape[1] == part.shape[1] and name in ("impute", "reconstruct"):
        columns = list(part.columns)
    elif name == "predict_proba" and hasattr(model, "classes_"):
        columns = list(model.classes_)
    elif name == "transform" and hasattr(model, "get_feature_names_out"):
        columns = list(model.get_feature_names_out())
    else:
        columns = list(range(answer.shape[1]))
    return pd.DataFrame(answer, index=part.index, columns=columns)


# ---------------------------------------------------------------- lists and dicts of views


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


def _views(model: Any, name: str, X: Any, args: Any, kwargs: Any) -> Any:
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
        return table.map_blocks(_view_piece, *given, dtype=found.dtype, meta=meta, **chunks)

    return lazy(like, ())


def _view_piece(
    block: Array, model: Any, name: str, container: Container, path: tuple[Any, ...], args: Any, kwargs: Any
) -> Any:
    """One part of the answer for a block; a block without rows is answered with none."""
    rows = block if len(block) else np.ones((1, block.shape[1]))
    found = getattr(model, name)(container.unpacked(rows), *args, **kwargs)
    for key in path:
        found = found[key]
    return found[: len(block)]
