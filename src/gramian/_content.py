"""What rows hold decides what is drawn from them, never where they stand: hashes, folds, samples and hidden cells [13].

A draw by content is the same for any order of the rows, any cut into blocks, any repetition, float32 or float64, sparse or dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array, row_chunks
from gramian.policy import LOOK

_DROPPED_BITS = np.uint64(29)  # 52 - 23: what is left has the 24 bits of a float32
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_CACHED_CELLS = 1 << 14  # cells hashed at once: all passes over them stay in the cache
_NAN_BITS = np.uint64(0x7FF8000000000000)


def _mix_bits(values: Array) -> Array:
    """The finalizer of splitmix64: every input bit reaches every output bit. Works in place."""
    scratch = np.empty_like(values)
    with np.errstate(over="ignore"):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            np.right_shift(values, np.uint64(shift), out=scratch)
            values ^= scratch
            values *= np.uint64(factor)
        np.right_shift(values, np.uint64(31), out=scratch)
        values ^= scratch
    return values


def _keys(positions: Array, salt: int = 0) -> Array:
    """One 64-bit key per column position (or draw)."""
    with np.errstate(over="ignore"):
        return _mix_bits((positions.astype(np.uint64) + np.uint64(salt + 1)) * _GOLDEN)


def _value_bits(values: Array) -> Array:
    """The bits of float64 values rounded to 24 bits of mantissa; NaN is one value. ``values`` is a copy that may be used up."""
    missing = np.isnan(values)
    bits = values.view(np.uint64)
    carry = bits >> _DROPPED_BITS
    carry &= np.uint64(1)
    carry += (np.uint64(1) << (_DROPPED_BITS - np.uint64(1))) - np.uint64(1)
    with np.errstate(over="ignore"):
        bits += carry
    bits &= ~((np.uint64(1) << _DROPPED_BITS) - np.uint64(1))
    if missing.any():
        bits[missing] = _NAN_BITS
    return bits


def row_hashes(X: Any, first_column: int = 0) -> Array:
    """One 64-bit hash per row: the sum over its columns j of mix(j, x_j), modulo 2⁶⁴; an exact zero adds nothing [13].

    ``first_column`` is the position of the first column, so that the hashes of blocks of columns add up.

    >>> import numpy as np
    >>> X = np.array([[1.5, 0.0, 2.0], [np.nan, 1.0, -0.0]])
    >>> bool((row_hashes(X) == row_hashes(X.astype(np.float32))).all())
    True
    >>> bool((row_hashes(X[:, :1]) + row_hashes(X[:, 1:], 1) == row_hashes(X)).all())
    True
    """
    if sparse.issparse(X):
        return _sparse_hashes(X.tocsr(), first_column)
    X = np.asarray(X)
    keys = _keys(np.arange(first_column, first_column + X.shape[1]))
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    for rows in row_chunks(X.shape[0], max(1, _CACHED_CELLS // max(1, X.shape[1]))):
        values = np.array(X[rows], dtype=np.float64, order="C")
        zero = values == 0
        terms = _value_bits(values)
        terms ^= keys
        _mix_bits(terms)
        terms[zero] = 0
        hashes[rows] = terms.sum(axis=1, dtype=np.uint64)
    return hashes


def _sparse_hashes(X: Any, first_column: int) -> Array:
    values = np.array(X.data, dtype=np.float64)
    zero = values == 0
    terms = _mix_bits(_value_bits(values) ^ _keys(X.indices.astype(np.int64) + first_column))
    terms[zero] = 0
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    with np.errstate(over="ignore"):
        return running[X.indptr[1:]] - running[X.indptr[:-1]]


def cell_uniforms(hashes: Array, n_columns: int, draw: int) -> Array:
    """A number in [0, 1) per cell from (row hash, column, draw): which cells a draw hides [10]."""
    keys = _keys(np.arange(n_columns), salt=1 + 1_000_003 * (draw + 1))
    mixed = _mix_bits(hashes[:, None] ^ keys)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class SmallestRows:
    """The at most ``limit`` distinct rows of smallest hash: a uniform draw of distinct rows that merges with ``+``.

    ``weights`` is the total raw weight of all copies of a row.
    """

    limit: Annotated[int, "count"]
    hashes: Annotated[Array, "m"]  # rising
    rows: Annotated[Array, "m d"]
    weights: Annotated[Array, "+ m"]

    @classmethod
    def of(cls, X: Array, weights: Array, limit: int, hashes: Array | None = None) -> SmallestRows:
        """The draw from one block; rows of zero weight, and rows that show nothing, are not there."""
        hashes = row_hashes(X) if hashes is None else hashes
        nothing = row_hashes(np.full((1, X.shape[1]), np.nan))
        kept = np.flatnonzero((weights > 0) & (hashes != nothing))
        kept = kept[_among_smallest(hashes[kept], limit)]
        distinct, first, inverse = np.unique(hashes[kept], return_index=True, return_inverse=True)
        totals = np.bincount(inverse, weights[kept], minlength=len(distinct))
        return cls(limit, distinct, X[kept[first]], totals)

    def __add__(self, other: SmallestRows) -> SmallestRows:
        hashes = np.concatenate([self.hashes, other.hashes])
        distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        totals = np.bincount(inverse, np.concatenate([self.weights, other.weights]), minlength=len(distinct))
        m = min(self.limit, len(distinct))
        rows = np.concatenate([self.rows, other.rows])[first[:m]]
        return SmallestRows(self.limit, distinct[:m], rows, totals[:m])


def smallest_positions(hashes: Array, limit: int) -> Array:
    """Positions of the first copies of the at most ``limit`` distinct rows of smallest hash, by rising hash."""
    among = _among_smallest(hashes, limit)
    return among[np.unique(hashes[among], return_index=True)[1]]


def content_sample(X: Array, most: int) -> Array:
    """At ``most`` so many rows, drawn by what they hold, not by where they stand, in the order of the table."""
    return X if len(X) <= most else X[np.sort(smallest_positions(row_hashes(X), most))]


def smallest_distinct(hashes: Array, limit: int) -> Array:
    """The at most ``limit`` smallest of the distinct hashes, rising; of many hashes only the smallest are sorted.

    >>> import numpy as np
    >>> smallest_distinct(np.array([7, 3, 3, 9, 1] * 4, dtype=np.uint64), 2).tolist()
    [1, 3]
    """
    part = 2 * limit
    if 2 * part < len(hashes):
        few = np.unique(np.partition(hashes, part)[:part])
        if len(few) >= limit:  # else copies fill the part
            return few[:limit]
    return np.unique(hashes)[:limit]


def content_order(X: Array, weights: Array) -> tuple[Array, Array]:
    """Positions of the rows in an order that follows from what they hold, and which of these differ from the one before.

    >>> import numpy as np
    >>> X = np.array([[1.0, np.nan], [2.0, 3.0], [1.0, np.nan]])
    >>> order, differs = content_order(X, np.ones(3))
    >>> bool((content_order(X[::-1], np.ones(3))[1] == differs).all()), int(differs.sum())
    (True, 2)
    """
    hashes = row_hashes(X)
    order = np.argsort(hashes, kind="stable")
    differs = np.ones(len(order), dtype=bool)
    differs[1:] = hashes[order[1:]] != hashes[order[:-1]]
    alike = np.flatnonzero(~differs)
    if alike.size:  # copies, and rows that differ beyond the digits of a hash
        among = np.union1d(alike - 1, alike)
        some = order[among]
        order[among] = some[np.lexsort((weights[some], *X[some].T, hashes[some]))]
        before, after = X[order[alike - 1]], X[order[alike]]
        differs[alike] = ~((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=1)
    return order, differs


def merged_copies(X: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Positions of the distinct rows in such an order, the weight of all copies of each, and which of them each row is.

    >>> import numpy as np
    >>> X = np.array([[1.0, np.nan], [2.0, 3.0], [1.0, np.nan]])
    >>> first, totals, which = merged_copies(X, np.ones(3))
    >>> sorted(totals.tolist()), bool(np.array_equal(X[first][which], X, equal_nan=True))
    ([1.0, 2.0], True)
    """
    order, differs = content_order(X, weights)
    which = np.empty(len(order), dtype=np.intp)
    which[order] = np.cumsum(differs) - 1
    return order[differs], np.add.reduceat(weights[order], np.flatnonzero(differs)), which


def _among_smallest(hashes: Array, limit: int) -> Array:
    """Positions of all copies of the at most ``limit`` distinct hashes that are smallest."""
    if len(hashes) <= limit:
        return np.arange(len(hashes))
    smallest = smallest_distinct(hashes, limit)
    return np.flatnonzero(hashes <= smallest[-1]) if len(smallest) else np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class DistinctHashes:
    """The distinct hashes of rows, as far as folds must know them; merges with ``+``."""

    hashes: Array  # rising, at most LOOK.drawn + 1

    @classmethod
    def of(cls, hashes: Array) -> DistinctHashes:
        return cls(smallest_distinct(hashes, LOOK.drawn + 1))

    def __add__(self, other: DistinctHashes) -> DistinctHashes:
        if not len(self.hashes):
            return other
        return DistinctHashes.of(np.concatenate([self.hashes, other.hashes]))


@dataclass(frozen=True)
class Folds:
    """Which fold a row belongs to, from its hash alone: copies of a row are always in one fold [13].

    ``ranked`` holds the sorted distinct hashes where there are few enough to be dealt in turn, else None: then the hash itself tells.
    ``numbers`` holds the fold of each of these where folds were handed in. ``n_folds`` is 0 where nothing can be held out.
    """

    n_folds: int
    ranked: Array | None = None
    numbers: Array | None = None

    @classmethod
    def of(cls, distinct: DistinctHashes, n_folds: int) -> Folds:
        """``n_folds`` folds by content."""
        count = len(distinct.hashes)
        if count < 3:
            return cls(0)
        return cls(min(n_folds, count), distinct.hashes if count <= LOOK.drawn else None)

    @classmethod
    def given(cls, hashes: Array, numbers: Array) -> Folds:
        """Folds that were handed in: the number of each row."""
        distinct, first = np.unique(hashes, return_index=True)
        used, numbers = np.unique(numbers[first], return_inverse=True)
        return cls(len(used) if len(used) > 1 else 0, distinct, numbers)

    def __bool__(self) -> bool:
        return self.n_folds > 0

    def assign(self, hashes: Array) -> Array:
        """The fold of each row, 0 to n_folds - 1. Rows that were not there when folds were dealt by content get one too."""
        if self.ranked is None:
            return (hashes % np.uint64(max(self.n_folds, 1))).astype(np.intp)
        place = np.searchsorted(self.ranked, hashes)
        if self.numbers is None:
            return place % self.n_folds
        place = place.clip(max=len(self.ranked) - 1)
        if not (self.ranked[place] == hashes).all():
            raise ValueError("n_folds: a row is in no fold that was given.")
        return np.asarray(self.numbers[place])


def content_folds(X: Any, n_folds: int | Folds, hashes: Array | None = None) -> tuple[Folds, Array]:
    """The folds of a table in memory, and the fold of each of its rows; ``n_folds`` may be folds that were handed in.

    >>> import numpy as np
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> folds, fold = content_folds(X, 3)
    >>> folds.n_folds, np.bincount(fold).tolist()
    (3, [2, 2, 2])
    >>> bool((content_folds(X[::-1], 3)[1] == fold[::-1]).all())
    True
    """
    hashes = row_hashes(X) if hashes is None else hashes
    folds = n_folds if isinstance(n_folds, Folds) else Folds.of(DistinctHashes.of(hashes), n_folds)
    return folds, folds.assign(hashes)
