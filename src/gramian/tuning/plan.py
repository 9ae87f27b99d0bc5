"""What all trials of a search share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import hash as content_hash

from gramian._arrays import Array
from gramian.tuning.defaults import Shape
from gramian.tuning.evaluation import Evaluation, is_views
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
