"""Moments: the weight, mean and scatter of rows, with an exact merge; everything primal and streamed starts here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from gramian._arrays import Array, row_chunks
from gramian._types import Points
from gramian.policy import SIZES


@dataclass(frozen=True)
class Moments:
    """n, mean and Σ w (x - mean)(x - mean)ᵀ of weighted rows [1]; ``merge`` is exact (Chan), so batches never matter."""

    weight: Annotated[float, "nonnegative"]  # Σ w, the number of rows when weights are one
    mean: Annotated[Array, "d"]
    scatter: Annotated[Array, "d d"]

    @classmethod
    def of(cls, X: Points, weights: Array | None = None) -> Moments:
        """The moments of the rows of X; ``weights`` are raw (ones when None)."""
        if sparse.issparse(X):
            return _of_sparse(X, weights)
        n, d = X.shape
        shift = _shift(X)
        single = X.dtype == np.float32 and float(n) * d * d > SIZES.products
        # of many rows in one piece BLAS adds a chunk's BᵀB in place, to the upper triangle alone
        halved = X.flags.c_contiguous and not single and float(n) * d * d > SIZES.products / 10
        total, sums, scatter = 0.0, np.zeros(d), np.zeros((d, d), order="F" if halved else "C")
        # chunks stay in the cache from the shift to the sums, and few rows are summed in float32; of many columns, where the product is all
        # that counts, chunks are longer
        moved = bool(shift.any())
        copied = moved or weights is not None
        least = min(d, 1000) if copied else 16 * d
        entries = 100_000 if copied or halved or single else 1_600_000
        for rows in row_chunks(n, max(least, entries // max(d, 1))):
            block = X[rows] - shift if moved else X[rows]
            if not single:
                block = block.astype(np.float64, copy=False)
            w = None if weights is None else weights[rows]
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows in float32 is done again below
                if halved:
                    scatter = blas.dsyrk(1.0, _root(block, w).T, beta=1.0, c=scatter, overwrite_c=True)
                    chunk_sum = _sums(block, w)
                else:
                    chunk_scatter, chunk_sum = _products(block, w)
                    if single and not 1e-25 < np.trace(chunk_scatter) < 1e30:  # squares in float32 overflow or vanish
                        chunk_scatter, chunk_sum = _products(block.astype(np.float64), w)
                    scatter += chunk_scatter
            sums += chunk_sum
            total += block.shape[0] if w is None else float(w.sum())
        move = sums / total
        if halved:
            scatter = blas.dsyr(-total, move, a=scatter, overwrite_a=True)
            diagonal = scatter.diagonal().copy()
            scatter = scatter + scatter.T
        else:
            scatter -= total * np.outer(move, move)
            diagonal = scatter.diagonal()
        scatter.flat[:: d + 1] = np.maximum(diagonal, 0.0)
        return cls(total, shift.astype(np.float64) + move, scatter)

    def merge(self, other: Moments) -> Moments:
        """The moments of both sets of rows together (Chan, Golub & LeVeque)."""
        weight = self.weight + other.weight
        gap = other.mean - self.mean
        mean = self.mean + gap * (other.weight / weight)
        scatter = self.scatter + other.scatter
        between = np.outer(gap, gap)
        between *= self.weight * other.weight / weight
        scatter += between
        return Moments(weight, mean, scatter)

    def __add__(self, other: Moments) -> Moments:
        return self.merge(other)

    def faded(self, share: float) -> Moments:
        """The moments of the same rows, each with this share of its weight."""
        return self if share == 1 else Moments(share * self.weight, self.mean, share * self.scatter)

    def mapped(self, A: Array) -> Moments:
        """The moments of Aᵀx."""
        return Moments(self.weight, self.mean @ A, A.T @ self.scatter @ A)

    def covariance(self, center: bool = True) -> Array:
        """C = scatter / n, about the mean or (``center=False``) about zero."""
        matrix = self.scatter / self.weight
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # squares that overflow are refused by who looks at the scale
            return matrix if center else matrix + np.outer(self.mean, self.mean)


def _shift(X: Array) -> Array:
    """A point near the data, so that offsets cost no digits; zeros where there is no offset to speak of.

    It has the dtype of X, so that subtracting it is exact.
    """
    first = X[:64].astype(np.float64)
    mean = first.sum(axis=0) / len(first)
    if (mean**2 <= 9 * (first**2).sum(axis=0) / len(first) / 10).all():  # |mean| below 3 standard deviations
        return np.zeros(X.shape[1], dtype=X.dtype)
    return np.asarray(mean, dtype=X.dtype)


def _products(block: Array, weights: Array | None) -> tuple[Array, Array]:
    rooted = _root(block, weights)
    return rooted.T @ rooted, _sums(block, weights)


def _root(block: Array, weights: Array | None) -> Array:
    return block if weights is None else block * np.sqrt(weights).astype(block.dtype)[:, None]


def _sums(block: Array, weights: Array | None) -> Array:
    return (np.ones(len(block), block.dtype) if weights is None else weights) @ block


def _of_sparse(X: Points, weights: Array | None) -> Moments:
    """Never densified: XᵀX is the only product; sparse data have no large offsets to lose digits to."""
    X = sparse.csr_array(X).astype(np.float64)
    w = np.ones(X.shape[0]) if weights is None else weights
    total = float(w.sum())
    mean = np.asarray(X.T @ w) / total
    rooted = X * np.sqrt(w)[:, None]
    scatter = (rooted.T @ rooted).toarray() - total * np.outer(mean, mean)
    np.fill_diagonal(scatter, np.maximum(scatter.diagonal(), 0.0))
    return Moments(total, mean, scatter)
