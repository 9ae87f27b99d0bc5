"""A table with holes, ready for matrix products: values with 0 in the holes, and a mask beside them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gramian._arrays import Array, row_chunks
from gramian._checks import check_seen
from gramian.policy import SIZES
from gramian.rows.array import prepared_bytes
from gramian.rows.base import Block


@dataclass(frozen=True)
class Chunk:
    """Some rows, ready for products: values with 0 in the holes, 1 and 0 for seen and not, |x_o|² and |o| per row.

    ``squares`` and ``counts`` are (n,), or (n, B) where columns are in blocks.
    """

    values: Array
    mask: Array
    squares: Array
    counts: Array

    def __getitem__(self, rows: slice | Array) -> Chunk:
        return Chunk(self.values[rows], self.mask[rows], self.squares[rows], self.counts[rows])

    @property
    def shown(self) -> Array:
        """1 for rows that show a cell, 0 for those that do not."""
        counts = self.counts if self.counts.ndim == 1 else self.counts.sum(axis=1)
        return (counts > 0).astype(np.float64)

    @classmethod
    def of(cls, values: Array, blocks: Array | None = None) -> Chunk:
        """From shifted and scaled values with NaN in the holes, which are overwritten."""
        holes = np.isnan(values)
        np.copyto(values, 0.0, where=holes)
        mask = np.subtract(1.0, holes)
        if blocks is None:
            return cls(values, mask, np.einsum("ij,ij->i", values, values), mask.sum(axis=1))
        indicator = block_indicator(blocks)
        return cls(values, mask, values**2 @ indicator, mask @ indicator)


def block_indicator(blocks: Array) -> Array:
    """(d, B): 1 where column j is in block b."""
    return (blocks[:, None] == np.arange(int(blocks.max()) + 1)).astype(np.float64)


def masked_chunk(block: Block, shift: Array, scale: float, blocks: Array | None = None) -> Chunk:
    """The task of ``rows.prepare``: a block about ``shift``, in units of ``scale``."""
    values = block.X - shift  # float64, as the shift is
    if scale != 1.0:
        values /= scale
    return Chunk.of(values, blocks)


@dataclass(frozen=True)
class ColumnSums:
    """Of the observed cells of each column: weighted counts, means and sums of squares about the mean; two of them add up (Chan)."""

    counts: Array  # (d,)
    mean: Array  # (d,)
    scatter: Array  # (d,)
    weight: float  # of all rows
    shown: float  # of the rows that show a cell
    n_rows: int
    n_shown: int
    cells: int  # observed, not weighted

    def __add__(self, other: ColumnSums) -> ColumnSums:
        counts = self.counts + other.counts
        safe = np.where(counts > 0, counts, 1.0)
        gap = other.mean - self.mean
        mean = np.where(self.counts > 0, self.mean + gap * (other.counts / safe), other.mean)
        scatter = self.scatter + other.scatter + gap**2 * (self.counts * other.counts / safe)
        return ColumnSums(
            counts,
            mean,
            scatter,
            self.weight + other.weight,
            self.shown + other.shown,
            self.n_rows + other.n_rows,
            self.n_shown + other.n_shown,
            self.cells + other.cells,
        )

    @property
    def one_value(self) -> Array:
        """Which columns show the same value in every cell they show, and miss at least half of them, (d,)."""
        rounding = 8 * np.finfo(float).eps * np.abs(self.mean)
        alike = self.scatter <= self.counts * rounding**2
        return np.asarray(alike & (self.counts > 0) & (self.counts <= self.shown / 2))

    def location_and_scale(self, center: bool = True) -> tuple[Array, float]:
        """The mean of each column (0 without ``center``), and the root of the mean variance of the cells.

        Raises
        ------
        ValueError
            if no cell, or no cell of a column, is observed.
        """
        check_seen(self.counts > 0)
        cells = float(self.counts.sum())
        shares = self.counts / cells
        variances = self.scatter / self.counts
        if center:
            return self.mean, float(np.sqrt(shares @ variances))
        return np.zeros_like(self.mean), float(np.sqrt(shares @ (variances + self.mean**2)))


def column_sums(block: Block) -> ColumnSums:
    """The task of ``rows.fold`` for `ColumnSums`; each block is summed about a point of its own, so that offsets cost no digits."""
    point = _first_means(block.X)
    values = block.X - point
    seen = ~np.isnan(values)
    np.copyto(values, 0.0, where=~seen)
    weights = block.weights
    counts = weights @ seen
    safe = np.where(counts > 0, counts, 1.0)
    move = weights @ values / safe
    values -= move
    values *= seen
    moved = values.any(axis=0)
    with np.errstate(over="ignore"):  # the scale that comes out of it is checked
        scatter = weights @ np.square(values, out=values)
    scatter[moved & (scatter == 0)] = np.finfo(
        float
    ).tiny  # squares that vanish are no constant column: the scale is refused
    shown = seen.any(axis=1)
    return ColumnSums(
        counts,
        point + move,
        scatter,
        float(weights.sum()),
        float(weights[shown].sum()),
        len(weights),
        int(shown.sum()),
        int(seen.sum()),
    )


@dataclass(frozen=True)
class MaskedTable:
    """The rows of a table with holes, shifted and scaled, in chunks. ``cache`` holds them if they are small enough."""

    X: Array
    shift: Array
    scale: float
    cache: list[Chunk] | None = None
    blocks: Array | None = None  # the block of each column, where each has a noise of its own

    @classmethod
    def of(cls, X: Array, shift: Array, scale: float = 1.0, blocks: Array | None = None) -> MaskedTable:
        table = cls(X, shift, scale, blocks=blocks)
        return replace(table, cache=[table._chunk(rows) for rows in table.rows()]) if _is_small(X) else table

    def rows(self) -> list[slice]:
        return list(row_chunks(self.X.shape[0]))

    def _chunk(self, rows: slice) -> Chunk:
        values = self.X[rows] - self.shift  # float64, as the shift is
        if self.scale != 1.0:
            values /= self.scale
        return Chunk.of(values, self.blocks)

    def chunk(self, index: int, rows: slice) -> Chunk:
        return self.cache[index] if self.cache is not None else self._chunk(rows)

    def chunks(self) -> Iterator[tuple[slice, Chunk]]:
        for index, rows in enumerate(self.rows()):
            yield rows, self.chunk(index, rows)


def _is_small(X: Array) -> bool:
    return prepared_bytes(X.size) <= SIZES.kept


def _first_means(X: Array) -> Array:
    """A point near the data: the means of what the first rows show, or of all rows where those show nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns without values
        means = np.nanmean(X[:256].astype(np.float64), axis=0)
        missing = np.flatnonzero(np.isnan(means))
        if missing.size and len(X) > 256:
            means[missing] = np.nanmean(X[:, missing].astype(np.float64), axis=0)
        first = X[:256].astype(np.float64)
        alike = np.nanmin(first, axis=0) == np.nanmax(
            first, axis=0
        )  # the mean of equal values may differ from them by rounding
        means = np.where(alike, np.nanmin(first, axis=0), means)
    return np.where(np.isfinite(means), means, 0.0)
