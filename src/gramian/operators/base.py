"""SelfAdjoint: a covariance or Gram matrix, known by what it does to a block of vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from gramian._arrays import Array


class SelfAdjoint(ABC):
    """A symmetric matrix of ``size`` rows that need not be stored."""

    dtype: np.dtype[Any] = np.dtype(np.float64)

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of rows."""

    @abstractmethod
    def __matmul__(self, block: Array) -> Array:
        """The matrix times a block of column vectors, (size, m) -> (size, m), in the block's dtype."""

    @abstractmethod
    def trace(self) -> float:
        """The total variance, without the eigenvalues."""

    def to_dense(self) -> Array:
        """The matrix itself, for exact solvers."""
        return self @ np.eye(self.size)
