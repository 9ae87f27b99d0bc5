"""Centering: J = (I - s 1ᵀ) diag(√s) and its transpose, applied and never formed [1]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gramian._arrays import Array


@dataclass(frozen=True)
class Centering:
    """Column i of ΦJ is √sᵢ(φᵢ - μ) with μ = Φs; uncentred, J = diag(√s) and μ = 0."""

    weights: Annotated[Array, "+ n"]  # s, summing to one
    center: bool = True

    @property
    def affine(self) -> Array:
        """The coefficients of the mean: μ = Φ affine (s, or zeros when uncentred)."""
        return self.weights if self.center else np.zeros_like(self.weights)

    def apply(self, block: Array) -> Array:
        """J V = √s V - s (√sᵀ V)."""
        root = np.sqrt(self.weights).astype(block.dtype, copy=False)[:, None]
        scaled = root * block
        if self.center:
            scaled -= self.weights.astype(block.dtype, copy=False)[:, None] * scaled.sum(axis=0)
        return scaled

    def transpose(self, block: Array) -> Array:
        """Jᵀ U = √s (U - 1 sᵀU)."""
        root = np.sqrt(self.weights).astype(block.dtype, copy=False)[:, None]
        return root * (block - self.weights.astype(block.dtype, copy=False) @ block) if self.center else root * block

    def gram(self, raw: Array) -> tuple[Array, Array]:
        """JᵀK₀J in the place of ``raw`` = K₀, which is spent, and K₀s (zeros when uncentred)."""
        mean = raw @ self.weights if self.center else np.zeros(len(raw))
        if self.center:
            raw -= mean[:, None]
            raw -= mean - self.weights @ mean
        roots = np.sqrt(self.weights)
        raw *= roots[:, None]
        raw *= roots
        return raw, mean
