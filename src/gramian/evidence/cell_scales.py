"""Standard deviations of imputed cells, held to what they promise on cells that were hidden: a scale per column [10, 12]."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian._precision import LEAST_NOISE, ROUNDING, TINY
from gramian.evidence.limits import COVERING, covering_rank
from gramian.latent.small_sample import SmallSample, inflation
from gramian.policy import FILLING

LEAST_STD = 1e-3
"""No standard deviation below this share of its column's is believed: what looks like exact structure may be rounding in the table."""


def column_scales(
    deviations: Array,
    columns: Array,
    n_columns: int,
    prior_cells: float = 100.0,
    prior_table: float = 20.0,
    weights: Array | None = None,
) -> Array:
    """By how much to multiply the standard deviations of each column, such that 1.645 of them cover 90 % of its hidden cells.

    ``deviations`` are (value - mean) / std of hidden cells. Columns are first made alike by their `relative_sizes`, which few cells tell
    better than a quantile; then come one quantile of all, and that of each column, pulled towards it as by ``prior_cells`` cells. Where
    hidden cells say that deviations are too wide, their scale is pulled towards 1 as by ``prior_table`` cells: few are often lucky. ``weights``: how
    much each hidden cell is like those that are missing (`likeness`).

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
    weights = np.ones(sizes.size) if weights is None else weights
    every = _scale(alike, weights)
    if every < 1:
        every = every ** (sizes.size / (sizes.size + prior_table))
    found = np.full(n_columns, every)
    for j in range(n_columns):
        mine, counted = alike[columns == j], weights[columns == j]
        if mine.size:
            cells = effective_size(counted)
            share = cells / (cells + prior_cells)
            found[j] = np.exp(share * np.log(_scale(mine, counted)) + (1 - share) * np.log(every))
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
    # a wild cell says nothing of the others, and nothing is exact
    sizes = np.minimum(sizes, 100 * COVERING * _scale(sizes))
    means = np.bincount(columns, sizes, n_columns)[told] / counts[told]
    means = np.maximum(means, LEAST_NOISE * sizes.mean())
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


def _scale(sizes: Array, weights: Array | None = None) -> float:
    """The 90 % quantile, one cell above it for safety, over the normal one; never zero. Of cells that count unequally, that of their weight."""
    order = np.argsort(sizes, kind="stable")
    if weights is None or np.ptp(weights) == 0:
        rank = min(covering_rank(sizes.size), sizes.size)
    else:
        total = np.cumsum(weights[order])
        cells = effective_size(weights)
        below = min(covering_rank(int(cells)) / max(int(cells), 1), 1.0) * total[-1]
        rank = min(int(np.searchsorted(total, below * (1.0 - ROUNDING))) + 1, sizes.size)
    return max(float(sizes[order[rank - 1]]) / COVERING, LEAST_NOISE)


def effective_size(weights: Array) -> float:
    """(Σ w)² / Σ w²: how many cells of equal weight say as much."""
    return float(weights.sum() ** 2 / np.square(weights).sum())


def likeness(hidden: Array, hidden_columns: Array, missing: Array, missing_columns: Array) -> Array:
    """How much more often than hidden cells the missing ones of a column have a mean like that of each hidden cell.

    Where holes follow what was seen (missing at random, but not anywhere), missing cells lie where few hidden ones do, and the errors of those
    few are what counts. By column, in bins of equally many hidden cells, one missing cell more in each.

    >>> import numpy as np
    >>> means = np.arange(100.0)
    >>> likeness(means, np.zeros(100, int), means[80:], np.zeros(20, int))[[0, 50, 99]].round(1)
    array([0.2, 0.2, 4.2])
    """
    found, n_bins = np.ones(len(hidden)), FILLING.bins
    for j in np.unique(missing_columns):
        mine = np.flatnonzero(hidden_columns == j)
        if len(mine) < 2 * n_bins:
            continue
        edges = np.quantile(hidden[mine], np.arange(1, n_bins) / n_bins)
        counts = np.bincount(np.searchsorted(edges, missing[missing_columns == j]), minlength=n_bins) + 1.0
        places = np.searchsorted(edges, hidden[mine])
        shares = np.bincount(places, minlength=n_bins) / len(mine)
        found[mine] = (counts / counts.sum())[places] / shares[places]
    return found


def corrected_deviations(
    values: Array, means: Array, variances: Array, law: SmallSample, columns: Array, latents: Array
) -> Array:
    """(value - mean) / std with the small-sample correction, of hidden cells one by one; ``latents`` is |E z|² of their rows."""
    counts = law.counts[columns]
    at_zero = inflation(counts, law.n_components, np.zeros((1, 1)))[0][0]  # for E z = 0: the leverage is 1 + 1 / n
    factor = at_zero * (1.0 + (1.0 + latents) / counts) / (1.0 + 1.0 / counts)
    return np.asarray((values - means) / np.sqrt(np.maximum(variances * factor, TINY)))
