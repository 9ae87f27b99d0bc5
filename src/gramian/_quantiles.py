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
    raw = weights[:, None]
    seen = ~np.isnan(columns) & (raw > 0)
    order = np.argsort(np.where(seen, columns, np.inf), axis=0, kind="stable")
    below = np.cumsum(np.take_along_axis(np.where(seen, raw, 0.0), order, axis=0), axis=0)
    n_seen = seen.sum(axis=0)
    first = (below < (level - SLACK) * below[-1:]).sum(axis=0)
    after = (below <= (level + SLACK) * below[-1:]).sum(axis=0) if halfway else first
    last, every = np.maximum(n_seen - 1, 0), np.arange(columns.shape[1])
    low, high = (columns[order[np.minimum(place, last), every], every] for place in (first, after))
    found = np.where(n_seen > 0, low if not halfway else (low + high) / 2, 0.0)
    return found if values.ndim == 2 else float(found[0])
