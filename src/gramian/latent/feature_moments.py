"""Moments of explicit features, summed over blocks of rows: a table of features never exists whole [13]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array, row_chunks
from gramian._content import SmallestRows
from gramian._precision import ROUNDING
from gramian._types import DType
from gramian.features import Nystroem
from gramian.features.base import FeatureMap
from gramian.kernels import finite_gram
from gramian.kernels.base import Kernel
from gramian.operators.moments import Moments
from gramian.policy import SIZES
from gramian.rows import Block, Rows


@dataclass(frozen=True)
class DrawnRows:
    """The distinct rows of smallest hash, and how many rows of positive weight there are."""

    rows: SmallestRows
    n_rows: int

    def __add__(self, other: DrawnRows) -> DrawnRows:
        return DrawnRows(self.rows + other.rows, self.n_rows + other.n_rows)


def draw_rows(block: Block, limit: int) -> DrawnRows:
    """The draw from one block: what landmarks, widths and held-out rows are taken from."""
    return DrawnRows(SmallestRows.of(block.X, block.weights, limit), int(np.count_nonzero(block.weights)))


def precision(feature_map: FeatureMap, dtype: DType, n_rows: int, tol: float) -> Any:
    """The dtype of kernel values that the moments can be gathered from; None if they need the features themselves.

    Rounding ε of kernel values becomes at most about ε k(x, x) / λ_min(K_mm) in the moments of Nyström features, over their trace
    (measured: 0.03 to 1 of it). Long tables are gathered in float32 where that is below the tolerance.
    """
    if not isinstance(feature_map, Nystroem):
        return None
    magnified = feature_map.magnification
    coarse = dtype == np.float32 or (n_rows >= SIZES.single and feature_map.kernel_.stationary)
    if coarse and np.finfo(np.float32).epsneg * magnified <= tol:
        return np.float32
    return np.float64 if np.finfo(np.float64).epsneg * magnified <= ROUNDING else None


def feature_moments(feature_map: FeatureMap, rows: Rows, n_rows: int, tol: float = 0.0) -> Moments:
    """The weighted moments of φ̂(x) over the rows, good to ``tol``.

    Nyström features are linear in the kernel values k_m(x). Where L^-½ magnifies rounding little, the moments of those
    are gathered and mapped once, which saves the larger half of the work.
    """
    dtype = precision(feature_map, getattr(feature_map, "landmarks_", np.empty(0)).dtype, n_rows, tol)
    if dtype is None:
        return rows.fold(_moments_of_features, feature_map)
    # about a point near their mean, kernel values lose no digits, and need no further shift
    shift = feature_map.kernel_values(feature_map.landmarks_[:256], dtype).mean(axis=0)
    moments = rows.fold(_sums_of_values, feature_map, dtype, shift)
    moments = moments.moments() if isinstance(moments, Products) else moments
    return replace(moments, mean=moments.mean + shift).mapped(feature_map.normalization_)


@dataclass(frozen=True)
class Products:
    """Σ w, Σ w x and Σ w x xᵀ, of rows that are near 0 on average: their sum is quicker than that of `Moments`."""

    weight: float
    sums: Array
    scatter: Array

    @classmethod
    def of(cls, X: Array, weights: Array | None) -> Products:
        """Of some rows, in float64."""
        weights = np.ones(len(X)) if weights is None else weights
        rooted = X if (weights == 1.0).all() else X * np.sqrt(weights)[:, None]
        return cls(float(weights.sum()), weights @ X, rooted.T @ rooted)

    def __add__(self, other: Products) -> Products:
        return Products(self.weight + other.weight, self.sums + other.sums, self.scatter + other.scatter)

    def moments(self) -> Moments:
        """About the mean."""
        mean = self.sums / self.weight
        scatter = self.scatter - self.weight * np.outer(mean, mean)
        np.fill_diagonal(scatter, np.maximum(scatter.diagonal(), 0.0))
        return Moments(self.weight, mean, scatter)


def _sums_of_values(block: Block, feature_map: FeatureMap, dtype: DType, shift: Array) -> Any:
    """`Products`, or in float32 `Moments`, of the kernel values at the landmarks, less ``shift``."""
    own = feature_map.kernel_.stationary  # a user's function may keep what it returns
    width = len(shift) * np.dtype(dtype).itemsize

    def values(part: slice) -> Array:
        found = feature_map.kernel_values(block.X[part], dtype)
        return np.subtract(found, shift, out=found if own else None)

    of = Products.of if np.dtype(dtype) == np.float64 else Moments.of
    return _sums(block, values, of, width, feature_map.kernel_)


def _moments_of_features(block: Block, feature_map: FeatureMap) -> Moments:
    def features(part: slice) -> Array:
        return np.asarray(feature_map.transform(block.X[part]), dtype=np.float64)

    found: Moments = _sums(block, features, Moments.of, 8 * feature_map.dim, None)
    return found


def _sums(block: Block, make: Any, of: Any, width: int, kernel: Kernel | None) -> Any:
    """The sums ``of(make(part), weights)`` over the parts of a block."""
    weighted = bool((block.weights != 1.0).any())
    total: Any = None
    for part in row_chunks(len(block), max(256, SIZES.chunk // max(1, width))):
        weights = block.weights[part] if weighted else None
        if weights is not None and not weights.any():
            continue
        values = make(part)
        found = of(values, weights)
        if kernel is not None and not np.isfinite(np.trace(found.scatter)):
            finite_gram(values, kernel)  # says what is wrong
        total = found if total is None else total + found
    if total is None:
        like = of(make(slice(0, 1)), None)
        return type(like)(0.0, np.zeros(len(like.scatter)), np.zeros_like(like.scatter))
    return total
