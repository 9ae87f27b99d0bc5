"""Train and test rows of the trials of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.multiclass import type_of_target

from gramian._arrays import Array
from gramian._checks import check_count, is_count
from gramian._types import Table
from gramian.tuning.evaluation import rows_of


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
