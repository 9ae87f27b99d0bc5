"""Standard deviations of imputed cells, held to what they promise on cells that were hidden: a scale per column [10, 12]."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian.latent.small_sample import LEVEL, SmallSample, inflation

PRIOR_CELLS = 100.0
"""The 90 % quantile of a column, in units of its relative size, is pulled towards that of all columns as by so many hidden cells."""
PRIOR_TABLE = 20.0
"""Where hidden cells say that deviations are too wide, their scale is pulled towards 1 as by so many cells: few cells are often lucky."""
NORMAL_90 = 1.6448536269514722
COVER = 2 * LEVEL - 1  # 90 %
FARTHEST = 100.0
"""In the mean of a column no deviation counts for more than so many times the 90 % quantile of all: a wild cell says nothing of the others."""
LEAST = 1e-6
"""No scale is smaller, and no mean size of a column below this share of that of all: nothing is exact."""


def column_scales(deviations: Array, columns: Array, n_columns: int) -> Array:
    """By how much to multiply the standard deviations of each column, such that 1.645 of them cover 90 % of its hidden cells.

    ``deviations`` are (value - mean) / std of hidden cells. Columns are first made alike by their `relative_sizes`, which few cells tell
    better than a quantile; then come one quantile of all, and that of each column, pulled towards it.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> columns = np.repeat([0, 1], 2000)
    >>> column_scales(rng.standard_normal(4000) * np.where(columns == 0, 0.5, 2.0), columns, 3).round(1)
    array([0.5, 2. , 1. ])
    """
    if not deviations.size:
        return np.ones(n_columns)
    sizes = np.abs(deviations)
    relative = relative_sizes(sizes, columns, n_columns)
    alike = sizes / relative[columns]
    every = _scale(alike)
    if every < 1:
        every = every ** (sizes.size / (sizes.size + PRIOR_TABLE))
    found = np.full(n_columns, every)
    for j in range(n_columns):
        mine = alike[columns == j]
        if mine.size:
            share = mine.size / (mine.size + PRIOR_CELLS)
            found[j] = np.exp(share * np.log(_scale(mine)) + (1 - share) * np.log(every))
    return np.asarray(found * relative)


def relative_sizes(sizes: Array, columns: Array, n_columns: int) -> Array:
    """The mean size of each column's deviations beside that of all, as far as chance does not explain the difference (empirical Bayes).

    The log mean of m cells has the error e = c² / m, with c² the squared coefficient of variation within columns. What the log means vary by
    beyond that is τ², the variance between columns, and each keeps a share τ² / (τ² + e) of its difference.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> columns = np.repeat([0, 1, 2, 3], 10)
    >>> relative_sizes(np.abs(rng.standard_normal(40)) * np.repeat([0.1, 1, 1, 10], 10), columns, 4).round(1)
    array([0.1, 1.2, 0.9, 8.6])
    >>> relative_sizes(np.abs(rng.standard_normal(40)), columns, 4).round(1)
    array([1.1, 0.9, 1. , 1. ])
    """
    counts = np.bincount(columns, minlength=n_columns)
    told = counts > 0
    if told.sum() < 2 or not sizes.any():
        return np.ones(n_columns)
    sizes = np.minimum(sizes, FARTHEST * NORMAL_90 * _scale(sizes))
    means = np.bincount(columns, sizes, n_columns)[told] / counts[told]
    means = np.maximum(means, LEAST * sizes.mean())
    each = np.full(n_columns, np.nan)
    each[told] = means
    variation = np.square(sizes / each[columns] - 1).sum() / max(sizes.size - told.sum(), 1)
    errors = variation / counts[told]
    logs = np.log(means) + errors / 2  # the log of a mean is too small by half its error
    between = max(float(np.var(logs, ddof=1) - errors.mean()), 0.0)
    found = np.ones(n_columns)
    if between > 0:
        middle = np.average(logs, weights=1 / (between + errors))
        found[told] = np.exp(between / (between + errors) * (logs - middle))
    return found


def _scale(sizes: Array) -> float:
    """The 90 % quantile, one cell above it for safety, over the normal one; never zero."""
    rank = min(int(np.ceil((sizes.size + 1) * COVER)), sizes.size)
    return max(float(np.sort(sizes)[rank - 1]) / NORMAL_90, LEAST)


def corrected_deviations(
    values: Array, means: Array, variances: Array, law: SmallSample, columns: Array, latents: Array
) -> Array:
    """(value - mean) / std with the small-sample correction, of hidden cells one by one; ``latents`` is |E z|² of their rows."""
    counts = law.counts[columns]
    at_zero = inflation(counts, law.n_components, np.zeros((1, 1)))[0][0]  # for E z = 0: the leverage is 1 + 1 / n
    factor = at_zero * (1.0 + (1.0 + latents) / counts) / (1.0 + 1.0 / counts)
    return np.asarray((values - means) / np.sqrt(np.maximum(variances * factor, np.finfo(float).tiny)))
