"""Where PX-EM on a table with holes starts: the covariance over pairs of observed cells, and random loadings."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array, symmetrized, thread_map
from gramian.latent.masked_em import Parameters
from gramian.latent.masked_table import MaskedTable

PAIRWISE_COLUMNS = 1000  # up to so many columns the start sees every pair of them
SAMPLE_ROWS = 2000  # above, it sees so many rows
FEW_HOLES = 0.15
MANY_CELLS = 150.0
RANDOM_STARTS = 26


def starting_points(
    table: MaskedTable, weights: Array, q: int, rng: np.random.Generator, n_threads: int = 1
) -> Parameters:
    """The start from the covariance, and random ones where a likelihood of several maxima must be feared.

    With less than `FEW_HOLES` of the cells missing, or more than `MANY_CELLS` cells a parameter, all starts were seen to
    end in one maximum, and the covariance finds it at once.
    """
    n, d = table.X.shape
    start = covariance_start(table, weights, q, rng, n_threads)
    cells = float(sum(chunk.counts.sum() for _, chunk in table.chunks()))
    if q == 0 or cells > (1.0 - FEW_HOLES) * n * d or cells > MANY_CELLS * d * (q + 1):
        return start
    shape = (RANDOM_STARTS, d, q)
    loadings = rng.standard_normal(shape) / np.sqrt(2.0 * q)
    return Parameters(
        np.concatenate([start.mean, np.zeros(shape[:2])]),
        np.concatenate([start.loadings, loadings]),
        np.concatenate([start.noise_variance, np.full(RANDOM_STARTS, 0.5)]),
    )


def covariance_start(
    table: MaskedTable,
    weights: Array,
    q: int,
    rng: np.random.Generator,
    n_threads: int = 1,
    mean: Array | None = None,
) -> Parameters:
    """The leading eigenvectors of the covariance over pairs of observed cells, or of a sample of rows where d is large.

    Entry (j, k) is the mean over the rows that show both columns, shrunk towards 0 where those are few. For a complete
    table this is the closed form, and the EM has nothing to do.
    """
    d = table.X.shape[1]
    mean = np.zeros(d) if mean is None else mean
    if d <= max(PAIRWISE_COLUMNS, 2 * q):
        values, vectors, trace = pairwise_spectrum(table, weights, mean, n_threads)
        values, vectors = values[:q], vectors[:, :q]
    else:
        values, vectors, trace = _row_sample_spectrum(table, weights, mean, q, rng)
    noise = (trace - values.sum()) / max(d - q, 1)
    noise = max(noise, 1e-6 * trace / d)
    gains = np.sqrt(np.maximum(values - noise, 1e-3 * noise))  # a loading of exactly 0 would stay 0
    return Parameters(mean[None], (vectors * gains)[None], np.array([noise]))


def pairwise_spectrum(
    table: MaskedTable, weights: Array, mean: Array, n_threads: int = 1
) -> tuple[Array, Array, float]:
    """Eigenvalues (largest first), eigenvectors and trace of the covariance over pairs of observed cells."""

    def one(item: tuple[int, slice]) -> tuple[Array, Array]:
        index, rows = item
        chunk = table.chunk(index, rows)
        values, mask = chunk.values, chunk.mask
        if mean.any():
            values = values - mask * mean
        if (weights[rows] != 1.0).any():
            roots = np.sqrt(weights[rows])[:, None]
            values, mask = roots * values, roots * mask
        return values.T @ values, mask.T @ mask

    parts = thread_map(one, enumerate(table.rows()), n_threads)
    products, counts = sum(part[0] for part in parts), sum(part[1] for part in parts)
    absent = 1.0 - counts / weights.sum()
    pairs = counts + 5.0 * absent  # five pseudo-pairs of no covariance, none where nothing is absent
    covariance = products / np.where(pairs > 0, pairs, 1.0)
    seen = np.diagonal(counts)
    diagonal = np.where(seen > 0, np.diagonal(products) / np.where(seen > 0, seen, 1.0), 0.0)
    covariance[np.diag_indices_from(covariance)] = diagonal
    values, vectors = np.linalg.eigh(symmetrized(covariance))
    return values[::-1], vectors[:, ::-1], float(diagonal.sum())


def _row_sample_spectrum(
    table: MaskedTable, weights: Array, mean: Array, q: int, rng: np.random.Generator
) -> tuple[Array, Array, float]:
    """From at most `SAMPLE_ROWS` rows with the mean in the holes: never d x d."""
    d = table.X.shape[1]
    rows = np.flatnonzero(weights > 1e-3 * weights.max())
    rows = np.sort(rng.choice(rows, SAMPLE_ROWS, replace=False)) if len(rows) > SAMPLE_ROWS else rows
    chunk = MaskedTable(table.X[rows], table.shift, table.scale)._chunk(slice(None))
    values = chunk.values - chunk.mask * mean
    shares = weights[rows] / weights[rows].sum()
    scaled = np.sqrt(shares)[:, None] * values
    eigenvalues, vectors = np.linalg.eigh(scaled @ scaled.T)
    eigenvalues, vectors = np.maximum(eigenvalues[::-1][:q], 0.0), vectors[:, ::-1][:, :q]
    short = q - eigenvalues.size  # fewer rows than components: the EM decides what the others are for
    eigenvalues, vectors = np.pad(eigenvalues, (0, short)), np.pad(vectors, ((0, 0), (0, short)))
    axes = scaled.T @ vectors
    lengths = np.linalg.norm(axes, axis=0)
    lost = lengths <= 1e-8 * max(lengths.max(initial=0.0), 1e-300)
    axes[:, lost] = rng.standard_normal((d, int(lost.sum())))
    axes, _ = np.linalg.qr(axes)
    seen = float(shares @ chunk.counts) / d  # holes of 0 shrink a product by the square of this share
    return eigenvalues / seen**2, axes, float((scaled**2).sum()) / seen
