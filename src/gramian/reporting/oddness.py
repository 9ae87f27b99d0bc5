"""How odd a row is, and from where on it is flagged: limits that rows which the model has not seen keep.

A row's oddness is -log of the smaller of its two chances, that of its distance along the model (T2) and off it (SPE). The
chances hold for Gaussian rows; tables with categories and skewed columns are not Gaussian. So the limits are quantiles
of the oddness of rows under models fitted without them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import content_folds

LEVELS = (0.9, 0.95, 0.99, 0.995, 0.999)
FOLDS = 5
REFITTED_ROWS = 5000
"""Above so many rows a row hardly moves the model, and the oddness of training rows will do."""
LEAST_ROWS = 10
SMALLEST = 1e-300


def oddness(found: Any) -> Array:
    """-log of the smaller chance of each row of an anomaly."""
    return -np.log(np.maximum(np.minimum(found.p_t2, found.p_spe), SMALLEST))


def unseen_oddness(estimator: Any, X: Array) -> Array:
    """The oddness of rows under models that have not seen them, with the settings of a fitted estimator."""
    if len(X) > REFITTED_ROWS:
        rows = np.linspace(0, len(X) - 1, REFITTED_ROWS).astype(int)
        return oddness(estimator.anomaly(X[rows]))
    folds, fold = content_folds(X, FOLDS)
    if not folds:
        return oddness(estimator.anomaly(X))
    settings: dict[str, Any] = {"n_components": int(estimator.n_components_)}
    scores = np.empty(len(X))
    for held in np.unique(fold):
        model = clone(estimator).set_params(**settings).fit(X[fold != held])
        scores[fold == held] = oddness(model.anomaly(X[fold == held]))
    return scores


def limit(scores: Array, level: float) -> float:
    """The value that a share ``level`` of new rows stays below.

    Where there are too few rows to have seen it, the upper tenth is continued as an exponential tail.

    Examples
    --------
    >>> limit(np.arange(1.0, 200.0), 0.9)
    180.0
    """
    ordered = np.sort(scores)
    place = int(np.ceil((len(ordered) + 1) * level))
    if place <= len(ordered):
        return float(ordered[place - 1])
    start = max(1, int(np.floor(0.9 * len(ordered))))
    excess = float((ordered[start:] - ordered[start - 1]).mean()) if start < len(ordered) else 0.0
    tail = (len(ordered) - start + 1) / (len(ordered) + 1)
    return float(max(ordered[-1], ordered[start - 1] + excess * np.log(tail / (1 - level))))


def odd_limits(estimator: Any, X: Array) -> dict[str, float]:
    """Limits at the usual levels; none where there are too few rows, or no noise."""
    if not hasattr(estimator, "anomaly") or len(X) < LEAST_ROWS:
        return {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the whole table has to say was said
            scores = unseen_oddness(estimator, X)
    except ValueError:  # a fold too small for the model
        scores = oddness(estimator.anomaly(X))
    return {str(level): limit(scores, level) for level in LEVELS}


def limit_at(limits: dict[str, float], level: float) -> float:
    """The limit at any level: between the usual ones the tail is taken as exponential."""
    known = sorted((-np.log1p(-float(key)), value) for key, value in limits.items())
    depths, values = zip(*known)
    depth = -np.log1p(-level)
    if depth <= depths[-1]:
        return float(np.interp(depth, (0.0, *depths), (0.0, *values)))
    slope = (values[-1] - values[0]) / (depths[-1] - depths[0])
    return float(values[-1] + slope * (depth - depths[-1]))
