"""Gram matrices, stored or recomputed tile by tile, and their weighted centring K = JᵀK₀J [1]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian._arrays import Array, blas_threads, single_blas_thread, symmetrized, thread_map
from gramian.kernels.base import Kernel
from gramian.operators.base import SelfAdjoint
from gramian.operators.centering import Centering

TILE = 512
"""Rows of a tile: 512 x 512 stays in the cache from the product to its last use."""


class RawGram(ABC):
    """The uncentred Gram matrix K₀ of ``size`` points, known by what it does to a block of vectors."""

    dtype: np.dtype[Any] = np.dtype(np.float64)

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of points."""

    @abstractmethod
    def __matmul__(self, block: Array) -> Array:
        """K₀ V for V of shape (size, m), in the dtype of V."""

    @abstractmethod
    def diagonal(self) -> Array:
        """k(xᵢ, xᵢ)."""

    @abstractmethod
    def columns(self, indices: Array, dtype: Any = np.float64) -> Array:
        """The columns K₀[:, indices], (size, m)."""

    @abstractmethod
    def to_dense(self) -> Array:
        """K₀ itself, a new float64 array."""


@dataclass(frozen=True)
class DenseGram(RawGram):
    """A stored Gram matrix, such as a precomputed one."""

    matrix: Array

    @property
    def size(self) -> int:
        return int(self.matrix.shape[0])

    @cached_property
    def _single(self) -> Array:
        return self.matrix.astype(np.float32, copy=False)  # made once: a float32 block meets it at every step

    def __matmul__(self, block: Array) -> Array:
        return (self._single if block.dtype == np.float32 else self.matrix) @ block

    def diagonal(self) -> Array:
        return np.diagonal(self.matrix).astype(np.float64)

    def columns(self, indices: Array, dtype: Any = np.float64) -> Array:
        return self.matrix[:, indices].astype(dtype, copy=False)

    def to_dense(self) -> Array:
        return np.array(self.matrix, dtype=np.float64)


@dataclass(frozen=True)
class LazyGram(RawGram):
    """The Gram matrix of the rows of X, recomputed tile by tile at every product.

    Only tiles on and above the diagonal are computed; each serves K₀ᵢⱼVⱼ and K₀ⱼᵢVᵢ.
    """

    kernel: Kernel
    X: Any

    @property
    def size(self) -> int:
        return int(self.X.shape[0])

    def __matmul__(self, block: Array) -> Array:
        dtype = block.dtype
        tile = self.kernel.tiles(self.X, self.X, dtype)
        edges = self._edges()
        n_threads = blas_threads()
        pairs = [(i, j) for i in range(len(edges)) for j in range(i, len(edges))]

        def share(start: int) -> Array:
            image = np.zeros_like(block)
            for i, j in pairs[start::n_threads]:
                rows, columns = edges[i], edges[j]
                values = tile(rows, columns)
                image[rows] += values @ block[columns]
                if i != j:
                    image[columns] += values.T @ block[rows]
            return image

        with single_blas_thread():
            images = thread_map(share, range(n_threads), n_threads)
        for other in images[1:]:
            images[0] += other
        return images[0]

    def _edges(self) -> list[slice]:
        return [slice(start, min(start + TILE, self.size)) for start in range(0, self.size, TILE)]

    def diagonal(self) -> Array:
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    def columns(self, indices: Array, dtype: Any = np.float64) -> Array:
        tile = self.kernel.tiles(self.X, self.X[indices], dtype)
        out = np.empty((self.size, len(indices)), dtype=dtype)
        for rows in self._edges():
            out[rows] = tile(rows, slice(0, len(indices)))
        return out

    def to_dense(self) -> Array:
        tile = self.kernel.tiles(self.X, self.X, np.float64)
        edges = self._edges()
        out = np.empty((self.size, self.size))
        for i, rows in enumerate(edges):
            for columns in edges[i:]:
                values = tile(rows, columns)
                if rows == columns:
                    values = symmetrized(values)  # products of rounded factors are only nearly symmetric
                out[rows, columns] = values
                out[columns, rows] = values.T
        return out


@dataclass(frozen=True)
class SumGram(RawGram):
    """K₀ = Σᵥ βᵥ K₀ᵥ: the Gram matrix of concatenated views [8]."""

    parts: Sequence[RawGram]
    scales: Sequence[float]

    @property
    def size(self) -> int:
        return self.parts[0].size

    def __matmul__(self, block: Array) -> Array:
        image = np.zeros_like(block)
        for part, scale in zip(self.parts, self.scales):
            image += block.dtype.type(scale) * (part @ block)
        return image

    def diagonal(self) -> Array:
        return np.sum([scale * part.diagonal() for part, scale in zip(self.parts, self.scales)], axis=0)

    def columns(self, indices: Array, dtype: Any = np.float64) -> Array:
        out = np.zeros((self.size, len(indices)), dtype=dtype)
        for part, scale in zip(self.parts, self.scales):
            out += np.dtype(dtype).type(scale) * part.columns(indices, dtype)
        return out

    def to_dense(self) -> Array:
        out = np.zeros((self.size, self.size))
        for part, scale in zip(self.parts, self.scales):
            out += scale * part.to_dense()
        return out


@dataclass(frozen=True)
class CenteredGram(SelfAdjoint):
    """K = JᵀK₀J, the dual of the weighted covariance ([ZH] eqs. 2, 19) [1]; only blocks are centred, never K₀."""

    raw: RawGram
    centering: Centering

    @property
    def size(self) -> int:
        return self.raw.size

    def __matmul__(self, block: Array) -> Array:
        inner = self.centering.apply(block)
        if block.dtype == np.float64 and self.centering.center and "raw_mean" not in self.__dict__:
            # K₀s rides on the first float64 product: alone it would cost as much as the whole block
            image = self.raw @ np.column_stack([inner, self.centering.weights])
            self.__dict__["raw_mean"] = image[:, -1].copy()
            image = image[:, :-1]
        else:
            image = self.raw @ inner
        return self.centering.transpose(image)

    @cached_property
    def raw_mean(self) -> Array:
        """K₀ s, the kernel values of the mean at the training points; zeros when uncentred."""
        if not self.centering.center:
            return np.zeros(self.size)
        return (self.raw @ np.asarray(self.centering.weights, dtype=np.float64)[:, None])[:, 0]

    def trace(self) -> float:
        """tr K = s·diag(K₀) - s·(K₀s)."""
        weights = self.centering.weights
        return float(weights @ self.raw.diagonal() - weights @ self.raw_mean)

    def to_dense(self) -> Array:
        dense = self.raw.to_dense()
        weights = np.asarray(self.centering.weights, dtype=np.float64)
        if self.centering.center:
            mean = dense @ weights
            self.__dict__.setdefault("raw_mean", mean)
            dense -= mean[:, None]
            dense -= (mean - weights @ mean)[None, :]
        root = np.sqrt(weights)
        dense *= root[:, None]
        dense *= root[None, :]
        return dense
