"""Numbers kept by neighbours together: questions about all of them, in little memory."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array

CELLS = 4096
"""So many numbers are known exactly, more of them by neighbours together."""


class Digest:
    """Numbers in cells of neighbours, each with its count and its sum.

    Sums of |x - c| and of max(x, c) may be asked for any c afterwards: exact but for the few cells on both sides of c.

    Examples
    --------
    >>> digest = Digest()
    >>> digest.add(np.array([1.0, 2.0])), digest.add(np.array([6.0]))
    (None, None)
    >>> digest.distance(3.0), digest.at_least(2.0)
    (6.0, 10.0)
    """

    def __init__(self) -> None:
        self.counts, self.sums = np.empty(0), np.empty(0)

    def add(self, numbers: Array) -> None:
        """More numbers, in any order."""
        counts = np.concatenate([self.counts, np.ones(len(numbers))])
        sums = np.concatenate([self.sums, numbers])
        if len(counts) > CELLS:
            order = np.argsort(sums / counts, kind="stable")
            counts, sums = counts[order], sums[order]
            cell = ((np.cumsum(counts) - counts / 2) * (CELLS / counts.sum())).astype(np.intp)
            counts, sums = np.bincount(cell, counts), np.bincount(cell, sums)
            counts, sums = counts[counts > 0], sums[counts > 0]
        self.counts, self.sums = counts, sums

    def distance(self, center: float) -> float:
        """Σ |x - c|."""
        return float(np.abs(self.sums - self.counts * center).sum())

    def at_least(self, least: float) -> float:
        """Σ max(x, c)."""
        return float(np.maximum(self.sums, self.counts * least).sum())
