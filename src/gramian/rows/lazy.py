"""Evaluation of Dask input: lazy, block by block, arrays to arrays, frames to frames, views to views."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, is_dask, on_dask
from gramian._checks import Method, finite_answers
from gramian.rows.dask_rows import side_by_side


def lazily(method: Method) -> Method:
    """A method of one table that answers Dask input with a lazy Dask object: the same method, block by block."""

    in_memory = finite_answers(method)

    @wraps(method)
    def evaluated(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_dask(X):
            return in_memory(self, X, *args, **kwargs)
        check_is_fitted(self)
        call = Call(self, method.__name__, args, kwargs)
        return _frame(call, X) if hasattr(X, "columns") else _array(call, X)

    return evaluated  # type: ignore[return-value]


def views_lazily(method: Method) -> Method:
    """The same for a method of views: a table is answered as a table, a list or dict of arrays by a list or dict of arrays."""
    of_tables = lazily(method)

    @wraps(method)
    def evaluated(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dask(X) or not on_dask(X):
            return of_tables(self, X, *args, **kwargs)
        check_is_fitted(self)
        return _views(Call(self, method.__name__, args, kwargs), X)

    return evaluated  # type: ignore[return-value]


class Call:
    """A method of a fitted model with what it is given besides rows: what is called on every block."""

    def __init__(self, model: Any, name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        self.model, self.name, self.args, self.options = model, name, args, options

    def __call__(self, rows: Any) -> Any:
        return getattr(self.model, self.name)(rows, *self.args, **self.options)

    def likeness(self, rows: Any) -> Any:
        """The answer for rows that nobody gave: what the answers will look like."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self(rows)

    def check_one_per_row(self, like: Array) -> None:
        """Refuse several draws per row."""
        if np.ndim(like) > 2:
            raise ValueError(
                f"{self.name} of Dask rows gives one answer per row; several draws per row need rows in memory."
            )

    def mapped(self, X: Any, task: Callable[..., Any], like: Array, *given: object) -> Any:
        """A Dask array of ``task(block, self, *given)`` of every block of an array, one like ``like``."""
        chunks = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], (like.shape[1],))}
        meta = np.empty((0,) * like.ndim, like.dtype)
        return X.map_blocks(task, self, *given, dtype=like.dtype, meta=meta, **chunks)


# ---------------------------------------------------------------- tables


def _answer(part: Any, call: Call, which: int | None) -> Any:
    """The answer for one block, or one part of it; an empty block is answered with no rows."""
    if len(part):
        answer = call(part)
        return answer if which is None else answer[which]
    row = np.ones((1, call.model.n_features_in_))
    return _answer(type(part)(row, columns=part.columns) if hasattr(part, "columns") else row, call, which)[:0]


def _array(call: Call, X: Any) -> Any:
    expected = call.model.n_features_in_
    if X.ndim != 2 or X.shape[1] != expected:
        raise ValueError(
            f"X has {X.shape[-1]} features, but {type(call.model).__name__} is expecting {expected} features as input."
        )
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    like = call.likeness(np.ones((1, X.shape[1]), dtype=X.dtype))
    call.check_one_per_row(like[0] if isinstance(like, tuple) else like)
    if isinstance(like, tuple):
        return tuple(call.mapped(X, _answer, part, i) for i, part in enumerate(like))
    return call.mapped(X, _answer, like, None)


def _frame(call: Call, X: Any) -> Any:
    like = call.likeness(X._meta_nonempty)
    call.check_one_per_row(like[0] if isinstance(like, tuple) else like)
    if isinstance(like, tuple):
        return tuple(_frame_piece(call, X, part, i) for i, part in enumerate(like))
    return _frame_piece(call, X, like, None)


def _frame_piece(call: Call, X: Any, like: Array, which: int | None) -> Any:
    meta = _with_names(like, X._meta_nonempty, call).iloc[:0]
    return X.map_partitions(_in_kind, call, which, meta=meta)


def _in_kind(part: Any, call: Call, which: int | None) -> Any:
    return _with_names(_answer(part, call, which), part, call)


def _with_names(answer: Any, part: Any, call: Call) -> Any:
    """The answer with the names and the index of the frame."""
    import pandas as pd

    model, name = call.model, call.name
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
    def of(cls, X: Any) -> tuple[Container, Any]:
        """The container, and its views on Dask as one table; views that are None are not shown."""
        given = X.items() if isinstance(X, Mapping) else enumerate(X)
        shown = {key: view for key, view in given if view is not None}
        table, widths = side_by_side(shown)
        length = None if isinstance(X, Mapping) else len(X)
        return cls(tuple(shown), tuple(np.cumsum([0, *widths]).tolist()), length), table

    def unpacked(self, table: Array) -> Any:
        """The container with the views of some rows."""
        parts = {key: table[:, a:b] for key, a, b in zip(self.keys, self.stops, self.stops[1:])}
        return parts if self.length is None else [parts.get(i) for i in range(self.length)]


def _views(call: Call, X: Any) -> Any:
    container, table = Container.of(X)
    table = table.rechunk({1: -1})

    def lazy(found: Any, path: tuple[Any, ...]) -> Any:
        if isinstance(found, Mapping):
            return {key: lazy(part, (*path, key)) for key, part in found.items()}
        if isinstance(found, list | tuple):
            return type(found)(lazy(part, (*path, i)) for i, part in enumerate(found))
        call.check_one_per_row(found)
        return call.mapped(table, _view_piece, found, container, path)

    return lazy(call.likeness(container.unpacked(np.ones((1, table.shape[1])))), ())


def _view_piece(block: Array, call: Call, container: Container, path: tuple[Any, ...]) -> Any:
    """One part of the answer for a block; a block without rows is answered with none."""
    found = call(container.unpacked(block if len(block) else np.ones((1, block.shape[1]))))
    for key in path:
        found = found[key]
    return found[: len(block)]
