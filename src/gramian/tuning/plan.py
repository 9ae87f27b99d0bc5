"""What all trials of a search share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import hash as content_hash
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.multiclass import type_of_target

from gramian._arrays import Array
from gramian._checks import check_count, is_count
from gramian._types import Table
from gramian.tuning.defaults import Shape
from gramian.tuning.evaluation import Evaluation, is_views, rows_of
from gramian.tuning.fast import fast_evaluation
from gramian.tuning.space import Space


@dataclass(frozen=True)
class SearchPlan:
    """Model, space, objective, data and folds; with them the fast path that serves them, if one does."""

    estimator: Any
    space: Space
    name: Any
    objective: Any
    X: Any
    y: Any
    folds: list[tuple[Array, Array]]
    fit_params: dict[str, Any]
    seed: int
    seeded: bool

    @cached_property
    def fast(self) -> Any:
        """The shared decomposition that serves these trials, or None; it may settle some parameters itself."""
        return fast_evaluation(self)

    @cached_property
    def searched(self) -> Space:
        """The space without what a fast path settles."""
        fast = self.fast
        space = self.space
        for name in fast.settles if fast is not None else ():
            space = space.without(name)
        return space

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What scores depend on: trials may be continued only where all of it is the same."""
        return {
            "estimator": repr(self.estimator),
            "space": self.searched.summary(),
            "scoring": self.name if isinstance(self.name, str) else getattr(self.name, "__qualname__", repr(self.name)),
            "data": content_hash((_plain(self.X), _plain(self.y), self.fit_params)),
            "n_splits": len(self.folds),
        }

    def evaluation(self, seed: int) -> Evaluation:
        fast = self.fast
        if fast is not None:
            return fast
        return Evaluation(
            self.estimator, self.objective, self.X, self.y, self.folds, self.fit_params, seed if self.seeded else None
        )


def _plain(X: Any) -> Any:
    """Data whose hash does not depend on how it is stored."""
    if is_views(X):
        return {str(key): _plain(view) for key, view in (X.items() if isinstance(X, dict) else enumerate(X))}
    if X is None or hasattr(X, "tocsr"):
        return X
    return np.ascontiguousarray(np.asarray(X))


def shape_of(X: Any, y: object, folds: list[tuple[Array, Array]], classes: bool) -> Shape:
    """What the default space depends on: rows of the smallest training part, columns, rows of the smallest class."""
    n_train = min(len(train) for train, _ in folds)
    if is_views(X):
        views = X.values() if isinstance(X, dict) else X
        n_features = sum(int(np.shape(view)[1]) for view in views if view is not None)
    else:
        shape = getattr(X, "shape", None) or np.shape(X)
        n_features = int(shape[1]) if len(shape) > 1 else 1
    smallest = n_train
    if classes and y is not None:
        labels = np.asarray(y).ravel()
        smallest = min(int(np.unique(labels[train], return_counts=True)[1].min()) for train, _ in folds)
    return Shape(n_train, n_features, smallest)


def make_folds(
    cv: Any, estimator: BaseEstimator, X: Table, y: object, groups: Any, seed: int, forecaster: bool
) -> list[tuple[Array, Array]]:
    """Train and test rows of every fold. Whole numbers mean shuffled folds: tables are often sorted."""
    n = rows_of(X)
    if cv is None:
        cv = 5
    if is_count(cv):
        count = check_count("cv", cv, 2)
        if forecaster:
            return _rolling_origins(n, count)
        if n < count:
            raise ValueError(f"cv={count} needs at least {count} rows, got n_samples={n}. Lower cv or give more rows.")
        splitter: Any = KFold(count, shuffle=True, random_state=seed)
        if is_classifier(estimator):
            _check_labels(y)
        if y is not None and is_classifier(estimator) and type_of_target(y) in ("binary", "multiclass"):
            splitter = StratifiedKFold(count, shuffle=True, random_state=seed)
            return _split(splitter, np.zeros(n), y, groups)
        return _split(splitter, np.zeros(n), None, groups)
    if isinstance(cv, bool | str):
        raise ValueError(
            f"cv={cv!r} must be an integer of at least 2, a splitter or an iterable of (train, test) rows."
        )
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    return _split(splitter, np.zeros(n), y, groups)


def _check_labels(y: object) -> None:
    """NaN among labels would be a class of its own to the splitter."""
    labels = np.asarray(y)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"Input y contains {'NaN' if np.isnan(labels).any() else 'infinity'}. Drop those rows.")


def _split(splitter: Any, X: Table, y: object, groups: Any) -> list[tuple[Array, Array]]:
    folds = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups)]
    if not folds:
        raise ValueError("cv has no folds. Give a splitter with at least one.")
    return folds


def _rolling_origins(n: int, count: int) -> list[tuple[Array, Array]]:
    """Forecast the last ``count`` stretches, each from all that came before it; half of the series is never forecast."""
    steps = max(1, min(100, n // (2 * count)))
    if n - count * steps < 3:
        raise ValueError(f"cv={count} rolling origins need a longer series than {n} values.")
    origins = [n - (count - i) * steps for i in range(count)]
    return [(np.arange(origin), np.arange(origin, origin + steps)) for origin in origins]
