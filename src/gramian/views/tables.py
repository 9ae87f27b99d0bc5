"""Views as users hand them over, a table with columns, a list or a dict: taken apart into arrays and a mask, and put back in kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils._indexing import _get_column_indices

from gramian._arrays import Array, float_dtype, has_nan
from gramian._checks import check_same_rows, check_scale, check_table, warn_of_one_value
from gramian.exceptions import NumericalWarning, warn
from gramian.tables.frames import frame_of, like
from gramian.tables.front_door import features_of


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
    frame = frame_of(X)
    X = X if frame is None else frame.to_native()  # a record batch as a table
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


def _checked_views(X: Any, names: list[Any], fewest: int = 0) -> list[Any]:
    """A list or dict of views as arrays in the order of ``names``, of ``fewest`` rows at least; None where a view is not given."""
    if isinstance(X, Mapping):
        unknown = [name for name in X if name not in names]
        if unknown:
            raise ValueError(f"Unknown views {unknown!r}. The model was fitted with {names!r}.")
        given = [X.get(name) for name in names]
    else:
        if len(X) != len(names):
            raise ValueError(f"Expected {len(names)} views, got {len(X)}. Give None where a view is missing.")
        given = list(X)
    given = _align(names, given)
    arrays = [
        None
        if view is None
        else check_table(None, view, reset=False, missing=True, min_samples=fewest, name=f"view {name!r}")
        for name, view in zip(names, given)
    ]
    shown = {name: array for name, array in zip(names, arrays) if array is not None}
    if not shown:
        raise ValueError(
            "All views are None, so the number of rows is not known. Give one view, with NaN rows if missing."
        )
    check_same_rows(shown)
    return arrays


def _align(names: list[Any], given: list[Any]) -> list[Any]:
    """The views with the rows of data frames in the order of the first one's index; indexes that do not name the same rows are refused."""
    indexed = [(name, view) for name, view in zip(names, given) if hasattr(view, "iloc") and hasattr(view, "index")]
    if len(indexed) < 2 or all(view.index.equals(indexed[0][1].index) for _, view in indexed[1:]):
        return given
    first, index = indexed[0][0], indexed[0][1].index
    for name, view in indexed:
        if len(view) == len(index) and not (view.index.is_unique and index.isin(view.index).all() and index.is_unique):
            raise ValueError(
                f"The indexes of the views {first!r} and {name!r} do not name the same rows, each once. Align them (reindex), or give "
                "arrays, whose rows are paired by position."
            )
    return [
        view.loc[index] if hasattr(view, "iloc") and hasattr(view, "index") and len(view) == len(index) else view
        for view in given
    ]


# ---------------------------------------------------------------- rows of views


@dataclass(frozen=True)
class ViewRows:
    """Views of the same rows: arrays in the fitted order (None: not given), NaN where nothing was seen, and which row shows what.

    ``seen`` (n, V) is False where a row shows no entry of a view.
    """

    views: tuple[Any, ...]
    seen: Array

    @classmethod
    def of(cls, views: Sequence[Any]) -> ViewRows:
        n = next(view.shape[0] for view in views if view is not None)
        seen = np.zeros((n, len(views)), dtype=bool)
        for v, view in enumerate(views):
            if view is not None:
                seen[:, v] = ~np.isnan(view).all(axis=1) if has_nan(view) else True
        return cls(tuple(views), seen)

    def __len__(self) -> int:
        return len(self.seen)

    @property
    def dtype(self) -> Any:
        return np.result_type(*[float_dtype(view) for view in self.views if view is not None])

    @property
    def complete(self) -> bool:
        """Whether every row shows every entry of every view."""
        return bool(self.seen.all()) and not any(has_nan(view) for view in self.views)

    @property
    def stacked(self) -> Array:
        """All views side by side; every view is given."""
        return np.hstack([np.asarray(view, dtype=np.float64) for view in self.views])

    def take(self, rows: Any) -> ViewRows:
        """The same for some of the rows."""
        return ViewRows(tuple(None if view is None else view[rows] for view in self.views), self.seen[rows])

    def without(self, v: int) -> ViewRows:
        """The same with one view not given."""
        seen = self.seen.copy()
        seen[:, v] = False
        return ViewRows(tuple(None if w == v else view for w, view in enumerate(self.views)), seen)

    def whole(self, v: int) -> Array:
        """The rows that show every entry of view v."""
        view = self.views[v]
        return np.zeros(len(self), dtype=bool) if view is None else ~np.isnan(view).any(axis=1)

    @property
    def complete_rows(self) -> Array:
        """The rows that show every entry of every view."""
        return np.asarray(np.all([self.whole(v) for v in range(len(self.views))], axis=0))

    def check_whole(self, v: int, name: Any) -> None:
        """A view behind a kernel or a feature map is seen whole or not at all."""
        partly = self.seen[:, v] & ~self.whole(v)
        if partly.any():
            raise ValueError(
                f"View {name!r} contains NaN in a part of row {int(np.flatnonzero(partly)[0])} ({int(partly.sum())} rows in "
                "all), but it is seen whole or not at all (a view with a kernel, or the only view at a given noise). Fill these entries (gramian.LatentImputer), make all of the "
                "row's view NaN, or put the columns in a view of their own."
            )


@dataclass(frozen=True)
class ViewLayout:
    """How views came at `fit`: in what container, their names, and their columns (of a table) or widths."""

    kind: str  # "table", "list" or "dict"
    names: Annotated[list[Any], "v"]
    columns: Annotated[list[Array] | None, "*: # *"]
    widths: Annotated[list[int], "v: count"]
    labels: list[list[str] | None] | None = None  # names of the columns of each view, where a frame told them

    @classmethod
    def read(cls, estimator: Any, X: Any, views: Any) -> tuple[ViewLayout, ViewRows]:
        """The layout and the rows of training views; the estimator learns the names and number of features."""
        kind = kind_of(X)
        if kind == "table":
            table = check_table(estimator, X, reset=True, missing=True, min_samples=2)
            names, columns = resolve_columns(views, X if hasattr(X, "columns") else table, estimator.n_features_in_)
            columns = [features_of(estimator, found) for found in columns]
            empty = [name for name, found in zip(names, columns) if not found.size]
            if empty:
                raise ValueError(
                    f"views[{empty[0]!r}] has no column that a model can use: dates, free text, row names and columns of one value "
                    "take no part. Leave the view out, or give numbers."
                )
            names_of_features = getattr(estimator, "_feature_names", getattr(estimator, "feature_names_in_", None))
            names_of_features = None if names_of_features is None else np.asarray(names_of_features, dtype=object)
            _say_uncovered(columns, table.shape[1], names_of_features)
            labels = [None if names_of_features is None else _texts(names_of_features[found]) for found in columns]
            layout = cls(kind, names, columns, [len(found) for found in columns], labels)
            return layout, ViewRows.of([table[:, found] for found in columns])
        if views is not None:
            raise ValueError(
                f"views={views!r} names columns of one table, but X is a {kind} of views. Leave views=None."
            )
        if not len(X):
            raise ValueError(f"X is an empty {kind}. Give at least one view.")
        names = list(X) if isinstance(X, Mapping) else [f"view{i}" for i in range(len(X))]
        arrays = _checked_views(X, names, fewest=1)
        empty = [name for name, array in zip(names, arrays) if array is None]
        if empty:
            raise ValueError(
                f"View {empty[0]!r} is None at fit, so nothing can be learnt of it. Leave it out, or give some rows."
            )
        widths = [int(array.shape[1]) for array in arrays]
        estimator.n_features_in_ = sum(widths)
        frames = [frame_of(view) for view in (X.values() if isinstance(X, Mapping) else X)]
        labels = [None if frame is None else _texts(frame.columns) for frame in frames]
        return cls(kind, names, None, widths, labels), ViewRows.of(arrays)

    def rows(self, estimator: Any, X: Any) -> ViewRows:
        """The rows of new views in any container, in the fitted order."""
        if kind_of(X) == "table":
            if self.columns is not None:
                table = check_table(estimator, X, reset=False, missing=True, min_samples=0)
                return ViewRows.of([table[:, found] for found in self.columns])
            if len(self.names) > 1:
                raise ValueError(
                    f"Expected {len(self.names)} views in a list or dict, got one table. Use stack_views and views= to fit "
                    "tables."
                )
            X = [X]
        arrays = _checked_views(X, self.names)
        for name, array, width in zip(self.names, arrays, self.widths):
            if array is not None and array.shape[1] != width:
                raise ValueError(
                    f"View {name!r} has {array.shape[1]} features, but {type(estimator).__name__} is expecting {width} features."
                )
        return ViewRows.of(arrays)

    def contain(self, views: list[Array]) -> Any:
        """Views in the container that `fit` was given; of a table the columns that are in a view."""
        if self.kind == "dict":
            return dict(zip(self.names, views))
        if self.kind == "list":
            return views
        assert self.columns is not None
        return np.concatenate(views, axis=-1)[..., np.argsort(np.concatenate(self.columns))]

    def put_back(self, estimator: Any, X: Any, views: list[Array], contained: Callable[[Any, Array], Any]) -> Any:
        """Views in the container of X; a table keeps its other columns, a frame its names, as ``contained`` says."""
        kind = kind_of(X)
        if kind != "table":
            framed = [self.framed(X, v, view) for v, view in enumerate(views)]
            return dict(zip(self.names, framed)) if kind == "dict" else framed
        if self.columns is None:
            return like(X, views[0])
        table = np.array(check_table(estimator, X, reset=False, missing=True, min_samples=0), dtype=views[0].dtype)
        for found, view in zip(self.columns, views):
            table[:, found] = view
        return contained(X, table)

    def framed(self, X: Any, v: int, values: Array) -> Any:
        """A view as a frame with the names that its columns had at `fit` and the index of the rows given, where both are known; else as it is."""
        given = X.values() if isinstance(X, Mapping) else X if kind_of(X) == "list" else [X]
        first = next((view for view in given if frame_of(view) is not None), None)
        labels = None if self.labels is None else self.labels[v]
        return values if first is None or labels is None or values.ndim != 2 else like(first, values, labels)

    def position(self, view: Any) -> int:
        """The position of a view given by name or position."""
        if view in self.names:
            return self.names.index(view)
        count = isinstance(view, int | np.integer) and not isinstance(view, bool)
        if count and -len(self.names) <= view < len(self.names):
            return int(view) % len(self.names)
        raise ValueError(f"view={view!r} is not one of the views {self.names!r}, nor a position among them.")

    def without(self, X: Any, v: int) -> Any:
        """X with the view to be predicted taken out, where it can be: its values are not looked at."""
        kind = kind_of(X)
        if kind == "dict" and self.names[v] in X and len(X) > 1:
            return {name: value for name, value in X.items() if name != self.names[v]}
        others = kind == "list" and len(X) == len(self.names) and any(x is not None for i, x in enumerate(X) if i != v)
        return [None if i == v else item for i, item in enumerate(X)] if others else X


def _texts(names: Any) -> list[str]:
    return [str(name) for name in names]


def _say_uncovered(columns: list[Array], n_columns: int, names: Any) -> None:
    uncovered = np.setdiff1d(np.arange(n_columns), np.concatenate(columns))
    if not uncovered.size:
        return
    told = [str(j if names is None else names[j]) for j in uncovered[:5]]
    more = f" and {uncovered.size - 5} more" if uncovered.size > 5 else ""
    warn(
        f"{uncovered.size} of the {n_columns} columns of X are in no view ({', '.join(told)}{more}): they are left out. Name them "
        "in views, or leave them out of X.",
        NumericalWarning,
    )


def usable_rows(rows: ViewRows, weights: Array, names: list[Any], noise_variance: Any) -> tuple[ViewRows, Array, Array]:
    """Rows of positive weight that show something, their weights, and their positions; what cannot be fitted is refused."""
    shown = rows.seen[weights > 0]
    for name, here in zip(names, np.asarray(shown.any(axis=0))):
        if not here:
            raise ValueError(
                f"View {name!r} is missing (NaN) for all rows at fit, so nothing can be learnt of it. Leave the view out."
            )
    if not rows.complete and not isinstance(noise_variance, str):
        holed = [name for name, view in zip(names, rows.views) if has_nan(view)]
        raise ValueError(
            f"View {holed[0]!r} contains NaN (missing), but noise_variance={noise_variance!r}: rows that miss entries or a "
            "view at fit need noise_variance='ml' or 'per-view', since the EM does not move at a fixed noise of 0."
        )
    nothing = ~rows.seen.any(axis=1) & (weights > 0)
    if nothing.any():
        warn(
            f"{int(nothing.sum())} rows show no entry of any view and are left out of the fit.",
            NumericalWarning,
        )
    kept = np.flatnonzero((weights > 0) & ~nothing)
    if len(kept) < 2:
        raise ValueError(f"MultiViewRKM needs at least 2 samples of positive weight, got n_samples = {len(kept)}.")
    if len(kept) < len(weights):
        rows, weights = rows.take(kept), weights[kept]
    for name, view in zip(names, rows.views):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without an entry
            spread = np.nanmax(view, axis=0) - np.nanmin(view, axis=0)
        check_scale(float(np.nanmax(spread, initial=0.0)), f"view {name!r}")
        shown = ~np.isnan(view).all(axis=1)  # where a row misses the whole view, no column of it misses a cell
        mostly_missed = 2 * np.isnan(view[shown]).sum(axis=0) >= shown.sum()
        warn_of_one_value((spread == 0) & mostly_missed, what=f"View {name!r}")
    return rows, weights, kept
