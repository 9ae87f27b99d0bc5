"""The weighted quantile, once: of held-out values, of distances, of columns with holes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array

SLACK = 1e-9
"""Sums of weights are equal to a share of their total, if they differ by less than this part of it: rounding."""


def weighted_quantile(values: Array, weights: Array, level: float, *, halfway: bool = False) -> Any:
    """The smallest value with at least ``level`` of the weight at or below it: of (n,) a number, of (n, d) one for each column.

    NaN has no weight, and the quantile of nothing is 0. With ``halfway`` it is the mean of two values where both are quantiles, as a median is.

    >>> import numpy as np
    >>> weighted_quantile(np.array([4.0, 1.0, 2.0, 3.0]), np.ones(4), 0.5)
    2.0
    >>> weighted_quantile(np.array([[4.0], [1.0], [np.nan], [2.0], [3.0]]), np.ones(5), 0.5, halfway=True)
    array([2.5])
    """
    columns = values if values.ndim == 2 else values[:, None]
    if not len(columns):
        found = np.zeros(columns.shape[1])
    elif weights[0] > 0 and (weights == weights[0]).all() and not np.isnan(columns).any():
        found = _of_equal_weights(columns, level, halfway)
    else:
        found = _of_columns(columns, weights[:, None], level, halfway)
    return found if values.ndim == 2 else float(found[0])


def _of_equal_weights(columns: Array, level: float, halfway: bool) -> Array:
    """One or two order statistics, without sorting."""
    below = np.arange(1.0, len(columns) + 1)
    places = [int((below < (level - SLACK) * len(columns)).sum())]
    if halfway:
        places.append(int((below <= (level + SLACK) * len(columns)).sum()))
    places = [min(place, len(columns) - 1) for place in places]
    return np.partition(columns, places, axis=0)[places].mean(axis=0)


def _of_columns(columns: Array, weights: Array, level: float, halfway: bool) -> Array:
    """Each column by itself, without its holes."""
    seen = ~np.isnan(columns) & (weights > 0)
    order = np.argsort(np.where(seen, columns, np.inf), axis=0, kind="stable")
    below = np.cumsum(np.take_along_axis(np.where(seen, weights, 0.0), order, axis=0), axis=0)
    n_seen = seen.sum(axis=0)
    first = (below < (level - SLACK) * below[-1:]).sum(axis=0)
    after = (below <= (level + SLACK) * below[-1:]).sum(axis=0) if halfway else first
    last, every = np.maximum(n_seen - 1, 0), np.arange(columns.shape[1])
    low, high = (columns[order[np.minimum(place, last), every], every] for place in (first, after))
    return np.where(n_seen > 0, low if not halfway else (low + high) / 2, 0.0)
