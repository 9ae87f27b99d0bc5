"""How good answers are beside the truth: for rows that were held out, and for rows whose truth is in the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array

Facts = dict[str, float]


def share_inside(level: float) -> str:
    """The name of a coverage: what share of the truth lies inside its intervals."""
    return f"share inside {100 * level:g} % intervals"


def of_values(truth: Array, mean: Array, lower: Array, upper: Array, level: float) -> Facts:
    """R2, the mean absolute error beside that of the plain mean, and the coverage; what is missing does not count.

    Examples
    --------
    >>> truth = np.arange(4.0)
    >>> of_values(truth, truth + 0.5, truth - 1, truth + 1, 0.9)["R2"]
    0.8
    """
    known = ~np.isnan(truth)
    if known.sum() < 2:
        return {}
    truth, mean, lower, upper = truth[known], mean[known], lower[known], upper[known]
    around = truth - truth.mean()
    total = float(np.sum(around**2))
    return {
        "R2": 1 - float(np.sum((truth - mean) ** 2)) / total if total > 0 else float("nan"),
        "mean error": float(np.abs(truth - mean).mean()),
        "mean error of the plain mean": float(np.abs(around).mean()),
        share_inside(level): float(np.mean((lower <= truth) & (truth <= upper))),
    }


def class_sets(chances: Array, level: float) -> Array:
    """Which classes are in the smallest set of probability ``level``, one row per row.

    Examples
    --------
    >>> class_sets(np.array([[0.7, 0.25, 0.05]]), 0.9).tolist()
    [[True, True, False]]
    """
    order = np.argsort(-chances, axis=1, kind="stable")
    before = np.cumsum(np.take_along_axis(chances, order, axis=1), axis=1)
    before = np.concatenate([np.zeros((len(chances), 1)), before[:, :-1]], axis=1)
    inside = np.empty(chances.shape, dtype=bool)
    np.put_along_axis(inside, order, before < level - 1e-12, axis=1)
    return inside


def of_classes(truth: Array, labels: Array, chances: Array, level: float) -> Facts:
    """Accuracy beside that of the commonest class, log-loss, and how often the smallest sets of classes hold the truth.

    Examples
    --------
    >>> labels, chances = np.array(["u", "v"]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> round(of_classes(np.array(["u", "v", "v"]), labels, chances, 0.9)["accuracy"], 3)
    0.667
    """
    if not len(truth):
        return {}
    hit = labels[None, :] == truth[:, None]
    of_truth = (chances * hit).sum(axis=1)
    _, counts = np.unique(truth, return_counts=True)
    return {
        "accuracy": float(np.mean(labels[chances.argmax(axis=1)] == truth)),
        "accuracy of the commonest class": float(counts.max() / len(truth)),
        "log-loss": float(-np.log(np.maximum(of_truth, 1 / (10 * len(truth)))).mean()),
        f"share inside {100 * level:g} % sets": float((class_sets(chances, level) & hit).any(axis=1).mean()),
    }


def agreement(labels: Any, column: Array) -> float:
    """The adjusted Rand index of clusters and the values of a column: 1 where they are the same groups, 0 by chance."""
    from sklearn.metrics import adjusted_rand_score

    known = np.array([value is not None and value == value for value in column.tolist()])
    return float(adjusted_rand_score([str(value) for value in column[known]], np.asarray(labels)[known]))
