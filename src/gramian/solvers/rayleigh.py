"""Rayleigh and Ritz: orthonormal blocks, the eigenpairs they give, and the certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from gramian._arrays import Array, symmetrized
from gramian.solvers.base import Operator

SAFE = (1e-12, 1e12)
"""Magnitudes of images within which squares are safe, in float32 too."""


def ritz(basis: Array, image: Array) -> tuple[Array, Array, Array]:
    """Ritz values, largest first, with the rotation to their vectors and to the images of those, for orthonormal Q, AQ."""
    values, rotation = np.linalg.eigh(symmetrized((basis.T @ image).astype(np.float64)))
    rotation = rotation[:, ::-1].astype(basis.dtype)
    return values[::-1], basis @ rotation, image @ rotation


def residuals(values: Array, vectors: Array, images: Array) -> Array:
    """|A v - θ v| a column."""
    return np.asarray(np.linalg.norm(images - vectors * values.astype(vectors.dtype), axis=0), dtype=np.float64)


def power_of_two(image: Array) -> float:
    """The power of two by which to divide an operator whose images would over- or underflow when squared; else 1."""
    magnitude = float(np.abs(image).max(initial=0.0))
    return 1.0 if magnitude == 0 or SAFE[0] <= magnitude <= SAFE[1] else 2.0 ** np.floor(np.log2(magnitude))


@dataclass(frozen=True)
class Scaled:
    """An operator divided by a power of two, which costs no digit."""

    operator: Operator
    scale: float

    @classmethod
    def of(cls, operator: Operator, rng: np.random.Generator) -> Scaled:
        """Scaled by what a random vector shows of its magnitude."""
        return cls(operator, power_of_two(operator @ rng.standard_normal((operator.size, 1))))

    @property
    def size(self) -> int:
        return self.operator.size

    @property
    def dtype(self) -> Any:
        return self.operator.dtype

    def __matmul__(self, block: Array) -> Array:
        image = self.operator @ block
        return image if self.scale == 1.0 else image / self.scale

    def trace(self) -> float:
        return self.operator.trace() / self.scale

    def to_dense(self) -> Array:
        return self.operator.to_dense() / self.scale


def orthonormal(block: Array, basis: Array | None = None) -> Array:
    """What the block adds to the basis, orthonormal, column after column; those lost in rounding are dropped.

    Cholesky's factor of the Gram matrix costs a tenth of Householder's; the second pass removes what the rounding of
    the first left.
    """
    eps = float(np.finfo(block.dtype).eps)
    for _ in range(2):
        if basis is not None:
            block = block - basis @ (basis.T @ block)
        norms = np.linalg.norm(block, axis=0)
        block = block[:, norms > 0] / norms[norms > 0]
        gram = (block.T @ block).astype(np.float64)
        kept = _independent(gram, 20 * block.shape[1] * eps)
        factor = np.linalg.cholesky(gram[np.ix_(kept, kept)])
        block = block[:, kept] @ linalg.solve_triangular(factor, np.eye(len(kept)), lower=True).T.astype(block.dtype)
    return block


def _independent(gram: Array, floor: float) -> list[int]:
    """The columns that add more than ``floor`` of their squared length to those before them."""
    rest, kept = gram.copy(), []
    for column in range(len(rest)):
        if rest[column, column] > floor:
            kept.append(column)
            side = rest[:, column] / np.sqrt(rest[column, column])
            rest -= np.outer(side, side)
    return kept
