"""One trial: fit on each fold's training rows, score on its held-out rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from gramian._arrays import Array
from gramian.tuning.space import with_params
from gramian.views.tables import kind_of


@dataclass(frozen=True)
class Outcome:
    """What came of a trial: a score a fold and the parameters it settled itself, or why it failed."""

    scores: list[float]
    seconds: float
    error: str = ""
    error_type: str = ""
    settled: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """Callable: parameters -> :class:`Outcome`. Exceptions of a fit or of the objective make a failed trial, not a failed search."""

    estimator: Any
    objective: Any
    X: Any
    y: Any
    folds: list[tuple[Array, Array]]
    fit_params: dict[str, Any]
    seed: int | None

    settles: tuple[str, ...] = ()

    def __call__(self, params: Mapping[str, Any]) -> Outcome:
        return run_trial(lambda: ([self.held_out(params, fold) for fold in range(len(self.folds))], {}))

    def side_by_side(self, params: Mapping[str, Any], pool: Any) -> Outcome:
        """The same outcome, with the folds evaluated by the workers of a pool of joblib."""
        calls = (delayed(_quiet)(self, params, fold) for fold in range(len(self.folds)))
        return run_trial(lambda: (list(pool(calls)), {}))

    def held_out(self, params: Mapping[str, Any], fold: int) -> float:
        """The objective on the held-out rows of one fold."""
        train, test = self.folds[fold]
        model = with_seeds(with_params(self.estimator, params), self.seed)
        X_train, y_train = _take(model, self.X, self.y, train)
        X_test, y_test = _take(model, self.X, self.y, test, train)
        options = _check_method_params(self.X, self.fit_params, train) if self.fit_params else {}
        if y_train is None:
            model.fit(X_train, **options)
        else:
            model.fit(X_train, y_train, **options)
        return float(self.objective(model, X_test, y_test))


def _quiet(evaluation: Evaluation, params: Mapping[str, Any], fold: int) -> float:
    """One fold in a worker, where the search's filter of warnings does not reach."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return evaluation.held_out(params, fold)


def run_trial(work: Callable[[], tuple[list[float], dict[str, Any]]]) -> Outcome:
    """Run one trial; what it raises is recorded. Its warnings are kept quiet: a search probes settings that deserve them."""
    started = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores, settled = work()
    except Exception as error:
        return Outcome([], time.monotonic() - started, f"{type(error).__name__}: {error}", _kind(error))
    return Outcome(scores, time.monotonic() - started, settled=settled)


def _kind(error: Exception) -> str:
    for kind in (TypeError, MemoryError):
        if isinstance(error, kind):
            return kind.__name__
    return "ValueError"


def with_seeds(model: BaseEstimator, seed: int | None) -> Any:
    """The model with every ``random_state`` that is None set to a number drawn from the seed, so that trials repeat."""
    if seed is None:
        return model
    rng = np.random.default_rng([seed, 4])
    names = sorted(
        n for n, v in model.get_params(deep=True).items() if n.rpartition("__")[2] == "random_state" and v is None
    )
    if names:
        model.set_params(**{name: int(rng.integers(2**31 - 1)) for name in names})
    return model


def is_views(X: Any) -> bool:
    """Whether X is a dict or a list of tables (of which some may be None) and not one table."""
    return kind_of(X) != "table"


def rows_of(X: Any) -> int:
    """Number of rows, of views too."""
    if is_views(X):
        views = [view for view in (X.values() if isinstance(X, dict) else X) if view is not None]
        if not views:
            raise ValueError("every view of X is None. Give the rows of at least one.")
        return rows_of(views[0])
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _take(model: BaseEstimator, X: Any, y: object, rows: Array, train: Array | None = None) -> tuple[Any, Any]:
    """The rows of X and y; of views, of each; of a precomputed kernel, against the training columns."""
    if is_views(X):
        part: Any = {n: _cut(v, rows) for n, v in X.items()} if isinstance(X, dict) else [_cut(v, rows) for v in X]
    elif get_tags(model).input_tags.pairwise:
        return _safe_split(model, X, y, rows, train)
    else:
        part = _cut(X, rows)
    return part, None if y is None else _cut(y, rows)


def _cut(values: Any, rows: Array) -> Any:
    if values is None:
        return None
    from sklearn.utils import _safe_indexing

    return _safe_indexing(values, rows)
