"""The units of columns: mean 0 and variance 1 on the way in, undone on the way out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian._precision import EPS
from gramian._types import Points
from gramian.rows import Block, as_rows
from gramian.rows.draws import merged_rows

FARTHEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Units:
    """The mean and the deviation of each column over what was observed; the deviation of a constant column is 1."""

    mean: Annotated[Array, "d"]
    scale: Annotated[Array, "++ d"]

    @classmethod
    def of(cls, X: Points, weights: Array | None = None) -> Units:
        """The units of the columns of a table or of rows, with holes or without: one pass."""
        return cls.of_spread(merged_rows(as_rows(X, weights)).fold(column_spread))

    @classmethod
    def of_spread(cls, found: ColumnSpread) -> Units:
        """From what one pass found."""
        constant = found.deviation <= 64 * EPS * found.largest
        return cls(found.mean, np.where(constant, 1.0, found.deviation))

    def into(self, X: Points) -> Array:
        """Rows in units of the columns; what is off the mean by rounding is not off it, so that hashes do not follow rounding."""
        X = np.asarray(X, dtype=np.float64)
        try:
            with np.errstate(over="raise"):
                return self._into(X)
        except FloatingPointError:  # rows so far that their units would be no numbers
            with np.errstate(over="ignore"):
                return np.clip(self._into(X), -FARTHEST, FARTHEST)

    def _into(self, X: Array) -> Array:
        centred = X - self.mean
        near = np.abs(centred) <= 16 * EPS * (np.abs(self.mean) + self.scale)
        return np.asarray(np.where(near, 0.0, centred) / self.scale)

    def back(self, X: Array) -> Array:
        """Rows as they were."""
        return X * self.scale + self.mean


@dataclass(frozen=True)
class ColumnSpread:
    """Weight, mean, root mean square deviation and largest magnitude of what each column shows; merges with ``+``.

    Deviations, not their squares, are kept: squares of very large or very small columns leave the range of float64.
    """

    weight: Array
    mean: Array
    deviation: Array
    largest: Array

    def __add__(self, other: ColumnSpread) -> ColumnSpread:
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        gap = other.mean - self.mean
        unit = np.maximum(np.maximum(self.deviation, other.deviation), np.abs(gap))
        safe = np.where(unit > 0, unit, 1.0)
        square = (1 - share) * (self.deviation / safe) ** 2 + share * (other.deviation / safe) ** 2
        square += share * (1 - share) * (gap / safe) ** 2
        largest = np.maximum(self.largest, other.largest)
        return ColumnSpread(weight, self.mean + share * gap, safe * np.sqrt(square), largest)


def column_spread(block: Block) -> ColumnSpread:
    """That of a block of rows: a task for `Rows.fold`."""
    X = np.asarray(block.X, dtype=np.float64)
    seen = ~np.isnan(X)
    weights = block.weights[:, None] * seen
    weight = weights.sum(axis=0)
    share = weights / np.where(weight > 0, weight, 1.0)
    values = np.where(seen & (weights > 0), X, 0.0)
    largest = np.abs(values).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    first = np.where(seen, values / unit, np.inf).min(
        axis=0, initial=np.inf
    )  # a value of the column, so that offsets cost no digits
    first = np.where(np.isfinite(first), first, 0.0)
    moved = np.where(seen, values / unit - first, 0.0)
    shift = (share * moved).sum(axis=0)
    deviation = np.sqrt((share * np.where(seen, moved - shift, 0.0) ** 2).sum(axis=0))
    return ColumnSpread(weight, unit * (first + shift), unit * deviation, largest)
