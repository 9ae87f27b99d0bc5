"""Inputs with explicit features and a target, known by their moments fold by fold: all of ECM and cross-validation [8, 13]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.evidence.held_out import HeldOut, Part
from gramian.operators.moments import Moments
from gramian.rows import Block
from gramian.rows.draws import FoldMoments
from gramian.targets.axes import Decomposition, TargetAxes, eigenpairs
from gramian.targets.single import Fold, HeldOutProducts
from gramian.targets.survey import InputReading, TargetCoding


@dataclass(frozen=True)
class TargetFeatures:
    """φ(x) and the target side by side, (n, D + m), of a block of rows."""

    reading: InputReading
    feature_map: Any  # None: the inputs themselves
    coding: TargetCoding

    def __call__(self, block: Block) -> Array:
        return np.hstack([self.inputs(block.X), self.coding(block.target)])

    def inputs(self, X: Array) -> Array:
        """φ(x), (n, D)."""
        read = self.reading(X)
        return read if self.feature_map is None else np.asarray(self.feature_map.transform(read), dtype=np.float64)


@dataclass(frozen=True)
class MomentInputs:
    """The moments of features and target, fold by fold, and the drawn rows whose predictions are looked at."""

    folds: FoldMoments
    n_features: int
    rank_tol: float
    features: Array  # of the drawn rows, (n, D)
    target: Array  # of the drawn rows, (n, m)
    weights: Array  # of the drawn rows, normalised

    @cached_property
    def total(self) -> Moments:
        return self.folds.total

    def decomposed(self, without: int | None = None) -> Decomposition:
        """One eigendecomposition of the covariance of the features: of all rows, or of those not in the fold ``without``."""
        moments = self.total if without is None else self.folds.without(without)
        covariance, D = moments.covariance(), self.n_features
        values, axes = eigenpairs(covariance[:D, :D].copy(), self.rank_tol)
        found = TargetAxes.of(values, axes.T @ covariance[:D, D:], covariance[D:, D:], moments.mean[D:])
        return Decomposition(found, self, np.empty(0, dtype=np.intp), axes, moments.mean[:D], axes)

    def projected(self, parts: Decomposition, rows: Array) -> Array:
        """(f - μ)ᵀU of some of the drawn rows."""
        return np.asarray((self.features[rows] - parts.offset) @ parts.coefficients)

    def decomposed_folds(self, folds: HeldOut) -> list[Fold]:
        """One decomposition per fold; ``folds`` are those of the drawn rows."""
        return folds.each(self._path)

    def _path(self, part: Part) -> Fold:
        total, held = self.total.weight, self.folds.parts[part.number]
        assert held is not None
        parts = self.decomposed(part.number)
        products = self._products(parts, held, total)
        return Fold(part.held, parts, parts.scores(part.held), total - held.weight, products)

    def _products(self, parts: Decomposition, held: Moments, total: float) -> HeldOutProducts:
        """The sums over a fold about the means of the others, along their axes."""
        D, axes = self.n_features, parts.axes
        gap = held.mean - np.concatenate([parts.offset, axes.mean])
        second = (held.scatter + held.weight * np.outer(gap, gap)) / total
        U = parts.coefficients
        return HeldOutProducts(
            U.T @ second[:D, :D] @ U,
            U.T @ (second[:D, D:] @ axes.directions),
            float(np.trace(second[D:, D:])),
            held.weight / total,
        )
