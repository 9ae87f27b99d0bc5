"""Views as users hand them over, a table with columns, a list or a dict, as one list of arrays and a mask of what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._indexing import _get_column_indices

from gramian._arrays import Array
from gramian._checks import check_table
from gramian.latent.views import check_same_rows


def kind_of(X: Any) -> str:
    """ "table", "list" or "dict": sparse is tested for first, and a list of number lists is a table."""
    if sparse.issparse(X):
        return "table"
    if isinstance(X, Mapping):
        return "dict"
    if isinstance(X, list | tuple) and any(_is_view(item) for item in X):
        return "list"
    return "table"


def _is_view(item: Any) -> bool:
    if item is None or sparse.issparse(item):
        return True
    shape = getattr(item, "shape", None)
    if shape is not None:
        return len(shape) == 2
    return isinstance(item, list | tuple) and bool(item) and isinstance(item[0], list | tuple | np.ndarray)


def resolve_columns(views: Any, X: Any, n_columns: int) -> tuple[list[Any], list[Array]]:
    """Names and integer columns of the views of a table; None is one view of all columns."""
    if views is None:
        return ["view0"], [np.arange(n_columns)]
    if not isinstance(views, Mapping) or not views:
        raise ValueError(
            f"views={views!r} must be None or a dict of name -> columns (names, positions, slices, callables)."
        )
    names: list[Any] = []
    columns: list[Array] = []
    owner: dict[int, Any] = {}
    for name, key in views.items():
        wanted = key(X) if callable(key) else key
        if isinstance(wanted, str | int | np.integer) and not isinstance(wanted, bool):
            wanted = [wanted]
        if isinstance(wanted, range | tuple | np.ndarray) or hasattr(wanted, "tolist"):
            wanted = list(wanted) if not hasattr(wanted, "tolist") else wanted.tolist()
        try:
            found = np.asarray(_get_column_indices(X, wanted), dtype=int).ravel()
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise ValueError(f"views[{name!r}]={key!r} does not name columns of X ({error}).") from error
        found = np.where(found < 0, found + n_columns, found)
        if found.size == 0:
            raise ValueError(
                f"views[{name!r}]={key!r} selects no column of X. Leave the view out, or name its columns."
            )
        if ((found < 0) | (found >= n_columns)).any():
            raise ValueError(f"views[{name!r}]={key!r} names columns that X, with {n_columns} columns, does not have.")
        for column in found:
            if int(column) in owner:
                raise ValueError(
                    f"Column {int(column)} is in the views {owner[int(column)]!r} and {name!r}. Keep it in one."
                )
            owner[int(column)] = name
        names.append(name)
        columns.append(found)
    return names, columns


def split_table(table: Array, columns: list[Array], names: list[Any]) -> tuple[list[Any], Array]:
    """The views of a checked table, and which rows show which; a view is shown whole or not at all."""
    return complete_or_missing([table[:, found] for found in columns], names)


def complete_or_missing(views: list[Any], names: list[Any]) -> tuple[list[Any], Array]:
    """The views with NaN rows set to 0 and the mask ``seen`` (n, V)."""
    n = next(view.shape[0] for view in views if view is not None)
    seen = np.zeros((n, len(views)), dtype=bool)
    clean: list[Any] = []
    for v, view in enumerate(views):
        if view is None:
            clean.append(None)
            continue
        holes = np.isnan(view)
        gone = holes.all(axis=1)
        partly = holes.any(axis=1) & ~gone
        if partly.any():
            raise ValueError(
                f"View {names[v]!r} contains NaN in a part of row {int(np.flatnonzero(partly)[0])} ({int(partly.sum())} rows in "
                "all): a view is seen whole or not at all. Fill these entries (gramian.LatentImputer), make all of the row's "
                "view NaN, or put the columns in a view of their own."
            )
        seen[:, v] = ~gone
        clean.append(np.where(gone[:, None], 0.0, view).astype(view.dtype, copy=False) if gone.any() else view)
    return clean, seen


def checked_views(X: Any, names: list[Any]) -> list[Any]:
    """A list or dict of views as arrays in the order of ``names``; None where a view is not given."""
    if isinstance(X, Mapping):
        unknown = [name for name in X if name not in names]
        if unknown:
            raise ValueError(f"Unknown views {unknown!r}. The model was fitted with {names!r}.")
        given = [X.get(name) for name in names]
    else:
        if len(X) != len(names):
            raise ValueError(f"Expected {len(names)} views, got {len(X)}. Give None where a view is missing.")
        given = list(X)
    arrays = [
        None if view is None else check_table(None, view, reset=False, missing=True, name=f"view {name!r}")
        for name, view in zip(names, given)
    ]
    shown = {name: array for name, array in zip(names, arrays) if array is not None}
    if not shown:
        raise ValueError(
            "All views are None, so the number of rows is not known. Give one view, with NaN rows if missing."
        )
    check_same_rows(shown)
    return arrays
