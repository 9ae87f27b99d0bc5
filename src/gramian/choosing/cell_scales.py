"""Standard deviations of imputed cells, held to what they promise on cells that were hidden: a scale per column [10, 12]."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian.latent.small_sample import LEVEL, inflation

PRIOR_CELLS = 30.0
"""The scale of a column is pulled towards that of all columns as by so many hidden cells."""
PRIOR_TABLE = 100.0
"""Where hidden cells say that deviations are too wide, their scale is pulled towards 1 as by so many cells: few cells are often lucky."""
NORMAL_90 = 1.6448536269514722
COVER = 2 * LEVEL - 1  # 90 %


def column_scales(deviations: Array, columns: Array, n_columns: int) -> Array:
    """By how much to multiply the standard deviations of each column, such that 1.645 of them cover 90 % of its hidden cells.

    ``deviations`` are (value - mean) / std of hidden cells. The scale of a column with few of them is pulled towards that of all.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> columns = np.repeat([0, 1], 2000)
    >>> column_scales(rng.standard_normal(4000) * np.where(columns == 0, 0.5, 2.0), columns, 3).round(1)
    array([0.5, 2. , 1.6])
    """
    if not deviations.size:
        return np.ones(n_columns)
    sizes = np.abs(deviations)
    every = _scale(sizes)
    if every < 1:
        every = every ** (sizes.size / (sizes.size + PRIOR_TABLE))
    found = np.full(n_columns, every)
    for j in range(n_columns):
        mine = sizes[columns == j]
        if mine.size:
            share = mine.size / (mine.size + PRIOR_CELLS)
            found[j] = np.exp(share * np.log(_scale(mine)) + (1 - share) * np.log(every))
    return found


def _scale(sizes: Array) -> float:
    """The 90 % quantile, one cell above it for safety, over the normal one; never zero."""
    rank = min(int(np.ceil((sizes.size + 1) * COVER)), sizes.size)
    return max(float(np.sort(sizes)[rank - 1]) / NORMAL_90, 1e-6)


def corrected_deviations(
    values: Array, means: Array, variances: Array, counts: Array, n_components: int, latents: Array
) -> Array:
    """(value - mean) / std with the small-sample correction, of hidden cells one by one; ``latents`` is |E z|² of their rows."""
    at_zero = inflation(counts, n_components, np.zeros((1, 1)))[0][0]  # for E z = 0: the leverage is 1 + 1 / n
    factor = at_zero * (1.0 + (1.0 + latents) / counts) / (1.0 + 1.0 / counts)
    return np.asarray((values - means) / np.sqrt(np.maximum(variances * factor, np.finfo(float).tiny)))
