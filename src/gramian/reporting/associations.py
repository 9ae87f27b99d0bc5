"""How strongly any two columns go together: numbers, categories and dates on one scale."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian._content import row_hashes, smallest_positions
from gramian.policy import LOOK, PAGE
from gramian.tables.dates import moments
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table


def association(first: Array, second: Array) -> float:
    """√(Σ ρ² / min(a, b)) over the canonical correlations ρ of blocks of a and b features, over the rows that show both.

    Of two numbers it is their correlation, with its sign; of a number and a category the correlation ratio; of two categories Cramér's V. What
    chance alone would give, a b / (n - 1), is taken off the sum where a block has more than one feature.

    Examples
    --------
    >>> x = np.arange(8.0)[:, None]
    >>> round(association(x, -2 * x), 9)
    -1.0
    """
    both = ~(np.isnan(first).any(axis=1) | np.isnan(second).any(axis=1))
    n = int(both.sum())
    if n < PAGE.fewest:
        return 0.0
    if first.shape[1] == second.shape[1] == 1:
        one, other = (block[both, 0] - block[both, 0].mean() for block in (first, second))
        length = float(np.linalg.norm(one) * np.linalg.norm(other))
        return float(np.clip(one @ other / length, -1.0, 1.0)) if length > 0 else 0.0
    left, right = (_basis(block[both]) for block in (first, second))
    if not left.shape[1] or not right.shape[1]:
        return 0.0
    inner = left.T @ right
    chance = left.shape[1] * right.shape[1] / (n - 1)
    return float(np.sqrt(min(max(float(np.sum(inner**2)) - chance, 0.0) / min(inner.shape), 1.0)))


def _basis(block: Array) -> Array:
    """An orthonormal basis of the centred columns."""
    centred = block - block.mean(axis=0)
    vectors, values, _ = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(vectors[:, values > 1e-9 * max(float(values[0]), np.finfo(float).tiny)])


def associations(table: Table, prepare: Preprocessing, X: Array, most: int) -> tuple[Array, list[str]]:
    """The matrix of all modelled columns and dates (at most so many of them), and their names."""
    rows = np.arange(len(X)) if len(X) <= LOOK.drawn else np.sort(smallest_positions(row_hashes(X), LOOK.drawn))
    blocks = {name: X[rows][:, prepare.owner == j] for j, name in enumerate(prepare.names[:most])}
    for name in prepare.ids:
        seconds = _seconds(table[name][rows]) if name in table else None
        if seconds is not None:
            blocks[name] = seconds[:, None]
    names = list(blocks)[:most]
    R = np.eye(len(names))
    for i, one in enumerate(names):
        for j in range(i):
            R[i, j] = R[j, i] = association(blocks[one], blocks[names[j]])
    return R, names


def _seconds(column: Array) -> Array | None:
    """Dates as seconds; None where the column holds none."""
    if column.dtype != object:
        return None
    found = moments(column.tolist())
    return None if found is None else np.array([np.nan if moment is None else moment.timestamp() for moment in found])
