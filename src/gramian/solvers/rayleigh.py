"""Rayleigh and Ritz: orthonormal blocks, the eigenpairs they give, and the certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from gramian._arrays import Array, symmetric_part
from gramian.solvers.base import Operator
from gramian.solvers.spectrum import power_of_two


def ritz(basis: Array, image: Array) -> tuple[Array, Array, Array]:
    """Ritz values, largest first, with the rotation to their vectors and to the images of those, for orthonormal Q, AQ."""
    values, rotation = np.linalg.eigh(symmetric_part((basis.T @ image).astype(np.float64)))
    rotation = rotation[:, ::-1].astype(basis.dtype)
    return values[::-1], basis @ rotation, image @ rotation


def residuals(values: Array, vectors: Array, images: Array) -> Array:
    """|A v - θ v|, one per column."""
    return np.asarray(np.linalg.norm(images - vectors * values.astype(vectors.dtype), axis=0), dtype=np.float64)


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
    the first left, and a column of which it removes more than half was nothing but that.
    """
    eps = float(np.finfo(block.dtype).eps)
    for least in (0.0, 0.5):
        if basis is not None:
            block = block - basis @ (basis.T @ block)
        norms = np.linalg.norm(block, axis=0)
        block = block[:, norms > least] / norms[norms > least]
        gram = (block.T @ block).astype(np.float64)
        kept, inverse = _independent(gram, 20 * block.shape[1] * eps)
        block = block[:, kept] @ inverse.astype(block.dtype)
    return block


@dataclass(frozen=True)
class Frame:
    """Orthonormal axes with their image, and the directions they came by, with theirs: conjugate steps need no more."""

    axes: Array
    image: Array
    past: Array
    past_image: Array

    @classmethod
    def of(cls, axes: Array, image: Array) -> Frame:
        """A frame without a past."""
        return cls(axes, image, axes[:, :0], image[:, :0])

    def best(self, operator: Scaled, target: Array) -> tuple[Array, Frame]:
        """Ritz values and the best frame in the spans of the axes, of their past and of the target: one product.

        The product is made with what the target adds, and the past is kept as a combination of that: differences of
        axes that are nearly the same would spoil their images.
        """
        q = self.axes.shape[1]
        basis, image = np.hstack([self.axes, self.past]), np.hstack([self.image, self.past_image])
        new = orthonormal(target, basis)
        basis, image = np.hstack([basis, new]), np.hstack([image, operator @ new])
        values, rotation = np.linalg.eigh(symmetric_part(basis.T @ image))
        rotation = rotation[:, : -q - 1 : -1]
        axes, axes_image = basis @ rotation, image @ rotation
        past, past_image = basis[:, q:] @ rotation[q:], image[:, q:] @ rotation[q:]
        for least in (0.0, 0.5):
            overlap = axes.T @ past
            past, past_image = past - axes @ overlap, past_image - axes_image @ overlap
            norms = np.linalg.norm(past, axis=0)
            norms[norms <= least] = np.inf
            past, past_image = past / norms, past_image / norms
            kept, inverse = _independent(past.T @ past, 1e-6)
            past, past_image = past[:, kept] @ inverse, past_image[:, kept] @ inverse
        return values[: -q - 1 : -1], Frame(axes, axes_image, past, past_image)


def _independent(gram: Array, floor: float) -> tuple[list[int], Array]:
    """The columns that add more than ``floor`` of their squared length to those before them, and the inverse of Cholesky's factor."""
    factor, failed = linalg.lapack.dpotrf(gram, lower=1, clean=1)
    if not failed and len(gram) and np.diagonal(factor).min() ** 2 > floor:  # all of them, as a rule
        return list(range(len(gram))), linalg.lapack.dtrtri(factor, lower=1)[0].T
    rest, kept, sides = gram.copy(), [], []
    for column in range(len(rest)):
        if rest[column, column] > floor:
            kept.append(column)
            sides.append(rest[:, column] / np.sqrt(rest[column, column]))
            rest -= np.outer(sides[-1], sides[-1])
    if not kept:  # SciPy before 1.13 does not solve systems without equations
        return kept, np.empty((0, 0))
    factor = np.tril(np.array(sides).T[kept])
    return kept, linalg.solve_triangular(factor, np.eye(len(kept)), lower=True).T
