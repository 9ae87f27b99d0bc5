"""Gram matrices, stored or recomputed tile by tile, and their weighted centring K = JᵀK₀J [1]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Annotated, Any

import numpy as np
from scipy import linalg

from gramian._arrays import Array, all_eigenpairs, row_chunks, symmetric_part
from gramian._threads import own_threads, single_blas_thread, thread_count, thread_map
from gramian._types import DType
from gramian.kernels.base import Kernel, Tile
from gramian.operators.base import SelfAdjoint
from gramian.operators.centering import Centering
from gramian.policy import SIZES


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
    def columns(self, indices: Array, dtype: DType = np.float64, rows: Any = None) -> Array:
        """The columns K₀[:, indices], or only their ``rows`` (indices or a slice)."""

    def column_chunks(self, indices: Array, dtype: DType = np.float64) -> Callable[[slice], Array]:
        """A function from a slice of rows to those rows of the columns."""
        columns = self.columns(indices, dtype)
        return lambda rows: columns[rows]

    @abstractmethod
    def to_dense(self) -> Array:
        """K₀ itself, a new float64 array."""


@dataclass(frozen=True)
class DenseGram(RawGram):
    """A stored Gram matrix, such as a precomputed one."""

    matrix: Annotated[Array, "n n"]

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

    def columns(self, indices: Array, dtype: DType = np.float64, rows: Any = None) -> Array:
        chosen = self.matrix if rows is None else self.matrix[rows]
        return chosen[:, indices].astype(dtype, copy=False)

    def to_dense(self) -> Array:
        return np.array(self.matrix, dtype=np.float64)


@dataclass(frozen=True)
class LazyGram(RawGram):
    """The Gram matrix of the rows of X, computed tile by tile: once, or at every product where it would not fit.

    Only tiles on and above the diagonal are computed; each serves K₀ᵢⱼVⱼ and K₀ⱼᵢVᵢ. Threads (as many as BLAS has)
    share the tiles; BLAS runs on one thread meanwhile. ``memory`` is what kept tiles may take, in bytes; by default
    64 MiB or four times X, whichever is more.
    """

    kernel: Kernel
    X: Any
    memory: Annotated[int | None, "count"] = None

    @property
    def size(self) -> int:
        return int(self.X.shape[0])

    @cached_property
    def _kept(self) -> dict[tuple[int, int], Array] | None:
        """Tiles computed so far, where all of them fit into the memory."""
        budget = max(SIZES.modest, 4 * getattr(self.X, "nbytes", 0)) if self.memory is None else self.memory
        return {} if 4 * self.size * (self.size + SIZES.tile) <= budget else None

    def __matmul__(self, block: Array) -> Array:
        images = [np.zeros_like(block) for _ in range(self._n_threads)]

        def add(rows: slice, columns: slice, values: Array, thread: int) -> None:
            images[thread][rows] += values @ block[columns]
            if rows.start != columns.start:
                images[thread][columns] += values.T @ block[rows]

        self._over_tiles(block.dtype, add)
        for other in images[1:]:
            images[0] += other
        return images[0]

    @property
    def _n_threads(self) -> int:
        return min(thread_count(), -(-self.size // self._tile_rows))

    @property
    def _tile_rows(self) -> int:
        return SIZES.tile if self.X.shape[1] < 256 else 2 * SIZES.tile  # of many columns the product is all that counts

    def _over_tiles(self, dtype: DType, use: Callable[[slice, slice, Array, int], None]) -> None:
        """Hand every tile on and above the diagonal to ``use``, on threads, each with its own share and number."""
        tile, n_threads = self._tiles(dtype), self._n_threads
        edges = list(row_chunks(self.size, self._tile_rows))
        pairs = [(rows, columns) for i, rows in enumerate(edges) for columns in edges[i:]]

        def share(thread: int) -> None:
            for rows, columns in pairs[thread::n_threads]:
                use(rows, columns, tile(rows, columns), thread)

        with single_blas_thread():
            thread_map(share, range(n_threads), n_threads)

    def _tiles(self, dtype: DType) -> Tile:
        """Tiles of the dtype. Those to be kept are computed once, in float64."""
        kept = self._kept
        if kept is None:
            return self.kernel.tiles(self.X, self.X, dtype)
        exact: list[Tile] = []

        def tile(rows: slice, columns: slice) -> Array:
            key = (rows.start, columns.start)
            if key not in kept:
                if not exact:
                    exact.append(self.kernel.tiles(self.X, self.X, np.float64))
                kept[key] = exact[0](rows, columns)
            return kept[key].astype(dtype, copy=False)

        return tile

    def diagonal(self) -> Array:
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    def columns(self, indices: Array, dtype: DType = np.float64, rows: Any = None) -> Array:
        chosen = self.X if rows is None else self.X[rows]
        tile = self.kernel.tiles(chosen, self.X[indices], dtype)
        return tile(slice(0, chosen.shape[0]), slice(0, len(indices)))

    def column_chunks(self, indices: Array, dtype: DType = np.float64) -> Callable[[slice], Array]:
        if self._kept is None:
            tile = self.kernel.tiles(self.X, self.X[indices], dtype)
            return lambda rows: tile(rows, slice(0, len(indices)))
        # the tiles will be needed all the same
        out = np.empty((self.size, len(indices)), dtype=dtype)

        def gather(rows: slice, columns: slice, values: Array, thread: int) -> None:
            for along, across, block in ((rows, columns, values), (columns, rows, values.T)):
                inside = np.flatnonzero((indices >= across.start) & (indices < across.stop))
                out[along, inside] = block[:, indices[inside] - across.start]

        self._over_tiles(np.float64, gather)
        return lambda rows: out[rows]

    def to_dense(self) -> Array:
        tile = self.kernel.tiles(self.X, self.X, np.float64)
        edges = list(row_chunks(self.size, SIZES.tile))
        out = np.empty((self.size, self.size))
        for i, rows in enumerate(edges):
            for columns in edges[i:]:
                values = tile(rows, columns)
                if rows == columns:
                    values = symmetric_part(values)  # products of rounded factors are only nearly symmetric
                out[rows, columns] = values
                out[columns, rows] = values.T
        return out


@dataclass(frozen=True)
class SumGram(RawGram):
    """K₀ = Σᵥ βᵥ K₀ᵥ: the Gram matrix of concatenated views [8]."""

    parts: Annotated[Sequence[RawGram], "p: object"]
    scales: Annotated[Sequence[float], "p: number"]

    @property
    def size(self) -> int:
        return self.parts[0].size

    def _scaled(self) -> Iterator[tuple[RawGram, float]]:
        return zip(self.parts, self.scales)

    def __matmul__(self, block: Array) -> Array:
        return reduce(np.add, ((part @ block) * block.dtype.type(scale) for part, scale in self._scaled()))

    def diagonal(self) -> Array:
        return reduce(np.add, (part.diagonal() * scale for part, scale in self._scaled()))

    def columns(self, indices: Array, dtype: DType = np.float64, rows: Any = None) -> Array:
        parts = (part.columns(indices, dtype, rows) for part in self.parts)
        return reduce(np.add, (part * part.dtype.type(scale) for part, scale in zip(parts, self.scales)))

    def to_dense(self) -> Array:
        out = np.zeros((self.size, self.size))
        for part, scale in self._scaled():
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
        rides = block.dtype == np.float64 and self.centering.center and "raw_mean" not in self.__dict__
        inner = self.centering.apply(block)
        if rides:  # K₀s rides on the first float64 product: alone it would cost as much as the whole block
            inner = np.column_stack([inner, self.centering.weights])
        image = self.raw @ inner
        del inner
        if rides:
            self.__dict__["raw_mean"] = image[:, -1].copy()
            image = image[:, :-1]
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

    def sketch(self, n_vectors: int, rng: np.random.Generator) -> tuple[Array, Array] | None:
        """Leading eigenpairs (values, float32 vectors) of Nystroem's approximation Jᵀ C W⁻¹ Cᵀ J of K.

        C holds the columns of K₀ at landmarks drawn with the weights, W their rows at the landmarks. The work is that
        of a product with K. None where W is indefinite.
        """
        with own_threads():
            return self._sketch(n_vectors, rng)

    def _sketch(self, n_vectors: int, rng: np.random.Generator) -> tuple[Array, Array] | None:
        weights = np.asarray(self.centering.weights, dtype=np.float64)
        # 7 √N landmarks: their N m² work is that of a product; of many vectors the last need landmarks beyond their number
        n_landmarks = max(int(7 * np.sqrt(self.size)), 3 * n_vectors // 2)
        n_landmarks = min(n_landmarks, int(np.count_nonzero(weights)))
        n_vectors = min(n_vectors, n_landmarks)
        chosen = np.sort(rng.choice(self.size, n_landmarks, replace=False, p=weights))
        corner = self.raw.columns(chosen, np.float64, rows=chosen)  # of which only the lower half is read
        # the sketch is made in float32
        corner[np.diag_indices(n_landmarks)] += 1e-4 * np.trace(corner) / n_landmarks
        try:
            factor = linalg.cholesky(corner, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None  # indefinite, or not finite
        # The features of a row are c L⁻ᵀ. First their moments, then their principal directions: rows in chunks, and
        # made twice, since to keep them would take more memory than all the rest.
        whiten = linalg.lapack.dtrtri(factor, lower=1, overwrite_c=1)[0].T.astype(np.float32)
        del corner, factor
        columns = self.raw.column_chunks(chosen, np.float32)
        roots = np.sqrt(weights).astype(np.float32)[:, None]
        chunks = list(row_chunks(self.size, 2 * SIZES.tile))
        n_threads = min(thread_count(), len(chunks))

        def moments(start: int) -> tuple[Array, Array]:
            second, first = np.zeros((n_landmarks, n_landmarks), dtype=np.float32), np.zeros(n_landmarks)
            for rows in chunks[start::n_threads]:
                features = columns(rows) @ whiten
                features *= roots[rows]
                second += features.T @ features
                first += roots[rows, 0] @ features
            return second, first

        parts = thread_map(moments, range(n_threads), n_threads)
        second, mean = (reduce(np.add, sums) for sums in zip(*parts))
        rounding = float(np.finfo(np.float32).eps * np.trace(second))
        if not np.isfinite(rounding):
            return None
        if self.centering.center:
            second -= np.outer(mean, mean).astype(np.float32)
        # the whole of it: LAPACK's subset driver is no faster here, and fails where all eigenvalues are alike
        values, axes = all_eigenpairs(second)
        values, axes = values[: -n_vectors - 1 : -1].astype(np.float64), axes[:, : -n_vectors - 1 : -1]
        solid = values > max(100 * np.finfo(np.float32).eps * values[0], rounding)
        values, axes = values[solid], (axes[:, solid] / np.sqrt(values[solid])).astype(np.float32)
        del parts, second
        coefficients, offset = whiten @ axes, mean.astype(np.float32) @ axes if self.centering.center else np.float32(0)
        vectors = np.empty((self.size, len(values)), dtype=np.float32)

        def project(rows: slice) -> None:
            np.matmul(columns(rows), coefficients, out=vectors[rows])
            vectors[rows] -= offset
            vectors[rows] *= roots[rows]

        thread_map(project, chunks, n_threads)
        return values, vectors

    def to_dense(self) -> Array:
        weights = np.asarray(self.centering.weights, dtype=np.float64)
        dense, mean = Centering(weights, self.centering.center).gram(self.raw.to_dense())
        if self.centering.center:
            self.__dict__.setdefault("raw_mean", mean)
        return dense


@dataclass(frozen=True)
class HeldOutGram:
    """What one Gram matrix says of the rows that are fitted and of those held out, all that a fold is scored by [1]: with JᵀK₀J = VLVᵀ the scores of these are (VᵀB)ᵀL^-½, B = ``shown``.

    >>> import numpy as np
    >>> X = np.array([[0.0], [2.0], [5.0]])
    >>> block = HeldOutGram.of(X @ X.T, np.ones(3), np.array([0, 1]), np.array([2]))
    >>> block.matrix.trace().round(9).item(), block.squared_norms.round(9).tolist()
    (1.0, [16.0])
    """

    matrix: Array  # JᵀK₀J of the fitted rows
    centering: Centering
    shown: Array  # Jᵀ(k_x - K₀s), one column per held-out row
    squared_norms: Array  # |φ - μ|² of the held-out rows

    @classmethod
    def of(cls, gram: Array, weights: Array, kept: Array, held: Array, center: bool = True) -> HeldOutGram:
        """From K₀ (n, n), raw weights (n,), and the positions of the rows that are fitted and of those held out."""
        centering = Centering(weights[kept] / weights[kept].sum(), center)
        matrix, mean = centering.gram(gram[np.ix_(kept, kept)])
        seen = gram[np.ix_(held, kept)]
        norms = gram[held, held] - (2 * seen - mean) @ centering.affine
        return cls(matrix, centering, centering.transpose((seen - mean).T), np.maximum(norms, 0.0))
