"""One input view along its own principal axes, with the moments of the target: all that a target model is fitted from [8, 13].

The axes of the inputs are found once per set of rows. Scaled by c_x = 1/σ_x and c_y = 1/σ_y, inputs and target together are then a
diagonal matrix with one more row and column per target, whatever the scales: an arrowhead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian._arrays import Array, all_eigenpairs, symmetric_part
from gramian._checks import LARGEST, check_scale
from gramian._precision import ROUNDING
from gramian.evidence.held_out import HeldOut
from gramian.operators.centering import Centering
from gramian.operators.gram import HeldOutGram
from gramian.solvers.arrowhead import ArrowheadPairs, arrowhead_pairs
from gramian.solvers.spectrum import Spectrum
from gramian.solvers.turned import Reflected, turn_block
from gramian.views.view import ExplicitView, FactoredView, View, ViewSample


@dataclass(frozen=True)
class TargetAxes:
    """Principal variances of the inputs of some rows, and how the target goes with the scores along them."""

    values: Array  # λ, (k,), falling
    cross: Array  # Σ s t yᵀ, (k, m'), along the directions of the target
    target: Array  # covariance of y along its directions, (m', m')
    directions: Array  # (m, m'), orthonormal
    mean: Array  # of y, (m,)

    @classmethod
    def of(cls, values: Array, cross: Array, covariance: Array, mean: Array) -> TargetAxes:
        """The same from moments with all columns of the target."""
        spread, axes = np.linalg.eigh(symmetric_part(covariance))
        kept = spread > ROUNDING * max(float(spread[-1]), 0.0)
        directions = axes[:, kept] if kept.any() else axes[:, -1:]
        return cls(values, cross @ directions, directions.T @ covariance @ directions, directions, mean)

    def joint(
        self, scales: Array, count: int, vectors: bool = True, above: float = 0.0, formed: bool = True
    ) -> ArrowheadPairs:
        """Leading eigenpairs of c_x²K_x + c_y²K_y ``above`` a value, its axes in the coordinates (inputs' axes, target's directions)."""
        x, y = float(scales[0]), float(scales[1])
        if max(x, y) > LARGEST:  # deviations of a noise so small that squares vanish
            check_scale(1.0 / max(x, y))
        poles = x**2 * self.values
        # eigenvalues lie between those of the inputs: no more of them are above than there are poles, and one per border
        count = min(count, int((poles > above).sum()) + self.cross.shape[1])
        pairs = arrowhead_pairs(poles, x * y * self.cross, y**2 * self.target, count, vectors, formed, above)
        least = max(above, ROUNDING * max(float(pairs.values.max(initial=0.0)), 0.0))
        return pairs.leading(int((pairs.values > least).sum()))


@dataclass(frozen=True)
class Decomposition:
    """The axes of some rows, and the scores of any other rows along them."""

    axes: TargetAxes
    inputs: Any
    rows: Array
    coefficients: Array  # over the features; empty with a Gram matrix
    offset: Array  # K₀s, or the mean of the features
    vectors: Any  # of the decomposition, orthonormal: over the features, or over the kept rows as `Reflected`

    def scores(self, rows: Array) -> Array:
        """t = Uᵀ(φ - μ) of other rows of the same table, (n, k)."""
        return self.inputs.projected(self, rows)


@dataclass(frozen=True)
class GramInputs:
    """Inputs known through a Gram matrix."""

    gram: Array  # K₀, (N, N)
    target: Array  # (N, m)
    weights: Array  # normalised

    def decomposed(self, rows: Array) -> Decomposition:
        """One eigendecomposition of the centred Gram matrix of some rows."""
        s = self.weights[rows] / self.weights[rows].sum()
        K, offset = Centering(s).gram(self.gram[np.ix_(rows, rows)])
        parts = Reflected.of(K)
        values = self._solid(parts.values)
        mean, Y = self._target(rows, s)
        axes = TargetAxes.of(values, np.sqrt(values)[:, None] * parts.turned(Y)[: len(values)], Y.T @ Y, mean)
        return Decomposition(axes, self, rows, np.empty(0), offset, parts)

    def seen_by(self, kept: Array, held: Array) -> tuple[Decomposition, Array]:
        """The axes of the rows that were kept and the scores of those that were not, (k_x - K₀s)ᵀJVΛ^-½, without V itself."""
        block = HeldOutGram.of(self.gram, self.weights, kept, held)
        mean, Y = self._target(kept, block.centering.weights)
        values, found = turn_block(block.matrix, np.hstack([block.shown, Y]))
        values = self._solid(values)
        found = found[: len(values)]
        axes = TargetAxes.of(values, np.sqrt(values)[:, None] * found[:, len(held) :], Y.T @ Y, mean)
        nothing = np.empty(0)
        parts = Decomposition(axes, self, kept, nothing, nothing, nothing)
        return parts, np.ascontiguousarray((found[:, : len(held)] / np.sqrt(values)[:, None]).T)

    def _solid(self, values: Array) -> Array:
        """The eigenvalues that are more than rounding."""
        return values[values > ROUNDING * max(float(values[0]), 0.0)]

    def _target(self, rows: Array, s: Array) -> tuple[Array, Array]:
        """The mean of the target, and √s(y - mean)."""
        mean = s @ self.target[rows]
        return mean, np.sqrt(s)[:, None] * (self.target[rows] - mean)

    def projected(self, parts: Decomposition, rows: Array) -> Array:
        """(k_x - K₀s)ᵀ J V Λ^-½."""
        values, s = parts.axes.values, self.weights[parts.rows] / self.weights[parts.rows].sum()
        shown = Centering(s).transpose((self.gram[np.ix_(rows, parts.rows)] - parts.offset).T)
        return np.asarray(parts.vectors.turned(shown)[: len(values)].T / np.sqrt(values))


@dataclass(frozen=True)
class FeatureInputs:
    """Inputs with explicit features; the moments of a fold are taken from those of all rows."""

    features: Array  # (N, D)
    target: Array
    weights: Array
    folds: HeldOut | None
    rank_tol: float

    @cached_property
    def _shifted(self) -> Array:
        """Features and target about the mean of all rows, side by side."""
        both = np.hstack([self.features, self.target])
        shift = both[0] + self.weights @ (both - both[0])
        both -= shift
        return both

    @cached_property
    def _shift(self) -> Array:
        both = np.concatenate([self.features[0], self.target[0]])
        rest = np.concatenate(
            [self.weights @ (self.features - self.features[0]), self.weights @ (self.target - self.target[0])]
        )
        return both + rest

    def _sums(self, rows: Array) -> tuple[float, Array, Array]:
        block, s = self._shifted[rows], self.weights[rows]
        weighted = np.sqrt(s)[:, None] * block
        return float(s.sum()), s @ block, weighted.T @ weighted

    @cached_property
    def _total(self) -> tuple[float, Array, Array]:
        if self.folds is None:
            return self._sums(np.arange(len(self.weights)))
        parts = list(self._fold_sums.values())
        return sum(p[0] for p in parts), np.sum([p[1] for p in parts], axis=0), np.sum([p[2] for p in parts], axis=0)

    @cached_property
    def _fold_sums(self) -> dict[int, tuple[float, Array, Array]]:
        assert self.folds is not None
        return dict(self.folds.each(lambda part: (part.number, self._sums(part.held))))

    def decomposed(self, rows: Array, without: int | None = None) -> Decomposition:
        """One eigendecomposition of the covariance of the features: of all rows, or of those not in the fold ``without``."""
        weight, first, second = self._total
        if without is not None:
            w, f, S = self._fold_sums[without]
            weight, first, second = weight - w, first - f, second - S
        mean = first / weight
        covariance = second / weight - np.outer(mean, mean)
        D = self.features.shape[1]
        values, axes = eigenpairs(covariance[:D, :D].copy(), self.rank_tol)
        whole = self._shift + mean
        found = TargetAxes.of(values, axes.T @ covariance[:D, D:], covariance[D:, D:], whole[D:])
        return Decomposition(found, self, rows, axes, mean[:D], axes)

    def projected(self, parts: Decomposition, rows: Array) -> Array:
        """(f - μ)ᵀU."""
        return (self._shifted[rows, : self.features.shape[1]] - parts.offset) @ parts.coefficients


def eigenpairs(matrix: Array, tol: float) -> tuple[Array, Array]:
    """Eigenpairs above rounding, largest first; the matrix is overwritten."""
    values, vectors = all_eigenpairs(symmetric_part(matrix))
    kept = values > tol * max(float(values[-1]), 0.0)
    return values[kept][::-1].copy(), np.ascontiguousarray(vectors[:, kept][:, ::-1])


def target_inputs(sample: ViewSample, working: View | None, folds: HeldOut | None) -> Any:
    """The one input view of a sample as a Gram matrix or as features, whichever is decomposed at less cost."""
    table = sample.table
    view = table.views[0] if working is None else working
    target = table.views[-1]
    assert isinstance(target, ExplicitView)
    if isinstance(view, ExplicitView) and (sample.space == "primal" or isinstance(view, FactoredView)):
        tol = ROUNDING if isinstance(view, FactoredView) else sample.rank_tol
        return FeatureInputs(view.features, target.features, table.weights, folds, tol)
    return GramInputs(view.gram(table.weights).to_dense(), target.features, table.weights)


def joint_spectrum(sample: ViewSample, parts: Decomposition, pairs: ArrowheadPairs) -> Spectrum:
    """The eigenpairs of the scaled sample, in the coordinates that `ViewSample` has: rows in the dual, features in primal."""
    axes, basis = parts.axes, parts.vectors
    assert pairs.shafts is not None
    trace = float(sample.scales**2 @ sample.table.traces)
    tips = axes.directions @ pairs.tips
    if sample.space == "primal":
        return Spectrum(pairs.values, np.vstack([basis @ pairs.shafts, tips]), trace)
    # H = √s(φ - μ)ᵀU l^-½, of the inputs' part and the target's
    if isinstance(parts.inputs, GramInputs):
        inputs = basis @ (np.sqrt(axes.values)[:, None] * pairs.shafts)
    else:
        rows = np.arange(len(sample.table.weights))
        inputs = np.sqrt(sample.table.weights)[:, None] * (parts.scores(rows) @ pairs.shafts)
    block = sample.table.centred[-1]
    assert block is not None
    H = (float(sample.scales[0]) * inputs + float(sample.scales[1]) * (block @ tips)) / np.sqrt(pairs.values)
    return Spectrum(pairs.values, H, trace)
