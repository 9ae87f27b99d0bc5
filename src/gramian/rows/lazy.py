"""Evaluation of Dask input: lazy, block by block, arrays to arrays and frames to frames."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import is_dask

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
