"""Where PX-EM on a table with holes starts: the covariance over pairs of observed cells, and random loadings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Protocol

import numpy as np

from gramian._arrays import Array, symmetric_part
from gramian._content import SmallestRows
from gramian.latent.gaussian import noise_of_each_q
from gramian.latent.masked_em import Parameters
from gramian.latent.masked_table import Chunk, MaskedTable
from gramian.policy import LOOK, SIZES
from gramian.rows.base import Block, Rows

# ---------------------------------------------------------------- how a table with holes spreads


class Spread(Protocol):
    """A covariance estimate (d, d) that is good enough to start from."""

    @property
    def trace(self) -> float: ...
    def leading(self, q: int) -> tuple[Array, Array]:
        """The q largest eigenvalues and their eigenvectors (d, q)."""
        ...

    def __matmul__(self, vector: Array) -> Array: ...


@dataclass(frozen=True)
class PairSums:
    """Σ s x_j x_k and Σ s over the rows that show both columns; two of them add up."""

    products: Array
    counts: Array
    weight: float

    def __add__(self, other: PairSums) -> PairSums:
        return PairSums(self.products + other.products, self.counts + other.counts, self.weight + other.weight)

    def spread(self, pseudo_pairs: float = 5.0) -> PairwiseSpread:
        """Entry (j, k) is the mean over the rows that show both columns, shrunk towards 0 where those are few.

        So many pairs of no covariance are added where pairs are absent, none where nothing is.

        For a complete table this is the covariance, and EM has nothing to do.
        """
        pairs = self.counts + pseudo_pairs * (1.0 - self.counts / self.weight)
        covariance = self.products / np.where(pairs > 0, pairs, 1.0)
        seen = np.diagonal(self.counts)
        diagonal = np.where(seen > 0, np.diagonal(self.products) / np.where(seen > 0, seen, 1.0), 0.0)
        covariance[np.diag_indices_from(covariance)] = diagonal
        return PairwiseSpread(symmetric_part(covariance))


def chunk_pairs(chunk: Chunk, weights: Array, mean: Array | None = None) -> PairSums:
    values, mask = chunk.values, chunk.mask
    if mean is not None and mean.any():
        values = values - mask * mean
    if (weights != 1.0).any():
        roots = np.sqrt(weights)[:, None]
        values, mask = roots * values, roots * mask
    return PairSums(values.T @ values, mask.T @ mask, float(weights.sum()))


def block_pairs(block: Block) -> PairSums:
    """The task of ``rows.fold`` over prepared rows."""
    return chunk_pairs(block.prepared, block.weights * block.prepared.shown)


@dataclass(frozen=True)
class PairwiseSpread:
    """The covariance over pairs of observed cells."""

    matrix: Array

    @property
    def trace(self) -> float:
        return float(np.trace(self.matrix))

    def leading(self, q: int) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.matrix)
        return values[::-1][:q], vectors[:, ::-1][:, :q]

    def __matmul__(self, vector: Array) -> Array:
        return np.asarray(self.matrix @ vector)


@dataclass(frozen=True)
class SampledSpread:
    """From some rows with the mean in the holes: never d x d."""

    factor: Array  # (m, d); its products with itself are the covariance
    trace: float

    @classmethod
    def of(cls, chunk: Chunk, shares: Array, mean: Array | None = None) -> SampledSpread:
        values = chunk.values if mean is None else chunk.values - chunk.mask * mean
        seen = float(shares @ chunk.mask.sum(axis=1)) / values.shape[1]  # holes of 0 shrink a product by its square
        factor = np.sqrt(shares)[:, None] * values
        return cls(factor / seen, float((factor**2).sum()) / seen)

    def leading(self, q: int) -> tuple[Array, Array]:
        d = self.factor.shape[1]
        values, vectors = np.linalg.eigh(self.factor @ self.factor.T)
        values, vectors = np.maximum(values[::-1][:q], 0.0), vectors[:, ::-1][:, :q]
        short = q - values.size  # fewer rows than components: the EM decides what the others are for
        values, vectors = np.pad(values, (0, short)), np.pad(vectors, ((0, 0), (0, short)))
        axes = self.factor.T @ vectors
        lengths = np.linalg.norm(axes, axis=0)
        lost = lengths <= 1e-8 * max(lengths.max(initial=0.0), 1e-300)
        axes[:, lost] = np.random.default_rng(0).standard_normal((d, int(lost.sum())))
        return values, np.linalg.qr(axes)[0]

    def __matmul__(self, vector: Array) -> Array:
        return np.asarray(self.factor.T @ (self.factor @ vector))


def _pairs_fit(d: int, q: int) -> bool:
    """Whether the start sees every pair of columns."""
    return d <= max(SIZES.pairs, 2 * q)


def rows_spread(rows: Rows, shift: Array, scale: float, q: int) -> Spread:
    """Of prepared rows: over all pairs of columns, or from `LOOK.rows` rows where those are too many."""
    if _pairs_fit(len(shift), q):
        return rows.fold(block_pairs).spread()
    drawn = rows.fold(_smallest_rows, LOOK.rows)
    chunk = Chunk.of((drawn.rows.astype(np.float64) - shift) / scale)
    return SampledSpread.of(chunk, drawn.weights / drawn.weights.sum())


def _smallest_rows(block: Block, limit: int) -> SmallestRows:
    """The chunk may hide more cells than the block: what it hides is hidden here too."""
    hidden = np.where(block.prepared.mask > 0, block.X, np.nan)
    return SmallestRows.of(hidden, block.weights * block.prepared.shown, limit)


# ---------------------------------------------------------------- starting points


def start_from(spread: Spread, q: int, mean: Array) -> Parameters:
    """The leading eigenvectors of a spread, with the noise that is left."""
    d = len(mean)
    values, vectors = spread.leading(q)
    trace = spread.trace
    noise = max(float(noise_of_each_q(values, trace, d)[-1]), 1e-6 * trace / d)
    gains = np.sqrt(np.maximum(values - noise, 1e-3 * noise))  # a loading of exactly 0 would stay 0
    return Parameters(mean[None], (vectors * gains)[None], np.array([noise]))


def add_component(parameters: Parameters, spread: Spread) -> Parameters:
    """One component more: the axis along which the spread exceeds the model most."""
    loadings, noise = parameters.loadings[0], float(parameters.noise_variance.min())
    residual = np.random.default_rng(0).standard_normal(len(loadings))
    axis = residual / np.linalg.norm(residual)
    excess = 0.0
    for _ in range(10):  # EM does the rest
        residual = (spread @ axis) - loadings @ (loadings.T @ axis)
        excess = float(np.linalg.norm(residual))
        if excess == 0.0:
            break
        axis = residual / excess
    gain = np.sqrt(max(excess - noise, 1e-3 * noise))
    return Parameters(
        parameters.mean,
        np.concatenate([parameters.loadings, gain * axis[None, :, None]], axis=2),
        parameters.noise_variance,
        parameters.blocks,
    )


def with_random(start: Parameters, n_starts: int, rng: np.random.Generator) -> Parameters:
    """The start, and random loadings after it: of a table in units of its own standard deviation."""
    _, d, q = start.loadings.shape
    loadings = rng.standard_normal((n_starts, d, q)) / np.sqrt(2.0 * max(q, 1))
    noise = np.full((n_starts, *start.noise_variance.shape[1:]), 0.5)
    return Parameters(
        np.concatenate([start.mean, np.zeros((n_starts, d))]),
        np.concatenate([start.loadings, loadings]),
        np.concatenate([start.noise_variance, noise]),
        start.blocks,
    )


def random_starts(
    q: int,
    n_cells: float,
    n_rows: int,
    d: int,
    *,
    few_holes: float = 0.15,
    many_cells: float = 150.0,
    most: int = 26,
    most_work: float = 3e8,
) -> int:
    """How many random starts to race: some where a likelihood of several maxima must be feared, as the work allows.

    With less than ``few_holes`` of the cells missing, or more than ``many_cells`` cells per parameter, all starts were seen to
    end in one maximum, and the covariance finds it at once. Starts are raced while one step of all of them takes no more than
    ``most_work`` multiplications.
    """
    if q == 0 or n_cells > (1.0 - few_holes) * n_rows * d or n_cells > many_cells * d * (q + 1):
        return 0
    return min(most, int(most_work / (n_rows * d * (q + 1.0) ** 2)))


# ---------------------------------------------------------------- of tables in chunks


def covariance_start(
    table: MaskedTable,
    weights: Array,
    q: int,
    rng: np.random.Generator,
    mean: Array,
) -> Parameters:
    """The leading eigenvectors of the covariance over pairs of observed cells, or of a sample of rows where d is large."""
    if _pairs_fit(table.X.shape[1], q):
        return start_from(table_pairs(table, weights, mean).spread(), q, mean)
    rows = np.flatnonzero(weights > 1e-3 * weights.max())
    rows = np.sort(rng.choice(rows, LOOK.rows, replace=False)) if len(rows) > LOOK.rows else rows
    chunk = Chunk.of((table.X[rows].astype(np.float64) - table.shift) / table.scale)
    return start_from(SampledSpread.of(chunk, weights[rows] / weights[rows].sum(), mean), q, mean)


def table_pairs(table: MaskedTable, weights: Array, mean: Array) -> PairSums:
    """Sums over pairs of observed cells of all rows, chunk by chunk."""
    parts = enumerate(table.rows())
    return reduce(add, (chunk_pairs(table.chunk(index, rows), weights[rows], mean) for index, rows in parts))


def pairwise_spectrum(table: MaskedTable, weights: Array, mean: Array) -> tuple[Array, Array, float]:
    """Eigenvalues (largest first), eigenvectors and trace of the covariance over pairs of observed cells."""
    spread = table_pairs(table, weights, mean).spread()
    values, vectors = spread.leading(len(mean))
    return values, vectors, spread.trace
