"""A target and one input view: noises and both cross-validations from one decomposition per fold [8, 13].

Seen through the inputs alone, UᵧᵀUᵧ is missing from the overlap of the joint axes, so that with D = Δ² + κ
W_y(W_xᵀW_x + κI)⁻¹W_xᵀφ = (I - UᵧΔD⁻¹ΔUᵧᵀ)⁻¹ UᵧΔD⁻¹Δt / c_y: for all ridges κ two matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._precision import EPS
from gramian._progress import Progress
from gramian.evidence.held_out import HeldOut, Part
from gramian.latent.gaussian import LatentGaussian, Projection, noise_of_each_q
from gramian.policy import TARGETS
from gramian.targets.axes import Decomposition, FeatureInputs, TargetAxes
from gramian.targets.path import HeldOutPredictions, ridge_predictions
from gramian.views.noise import ROUNDS, ecm_rounds, mean_log_likelihood, scales_of
from gramian.views.subspace import ridges_up_to


@dataclass(frozen=True)
class HeldOutProducts:
    """Sums over all rows held out, about the means of the rows kept: enough for the squared error of any linear prediction [13]."""

    spread: Array  # Σ s t tᵀ, (k, k)
    cross: Array  # Σ s t yᵀ along the target's directions, (k, m')
    target: float  # Σ s |y|², all columns
    weight: float  # Σ s

    def squares(self, coefficients: Array) -> Array:
        """Σ s |y - Bᵀt|² for each B of (k', r, m') on the leading k' scores."""
        k, r, m = coefficients.shape
        flat = coefficients.reshape(k, r * m)
        quadratic = np.einsum("ka,ka->a", flat, self.spread[:k, :k] @ flat).reshape(r, m).sum(axis=1)
        linear = np.einsum("krm,km->r", coefficients, self.cross[:k])
        return np.maximum(quadratic - 2 * linear + self.target, 64 * EPS * self.target)


@dataclass(frozen=True)
class Fold:
    """A model of the rows that were kept, and the scores of the rows that were not.

    With ``products`` those say all about the rows held out, and ``held`` and ``scores`` are of the drawn ones among them.
    """

    held: Array
    parts: Decomposition
    scores: Array  # (n_held, k)
    total_weight: float
    products: HeldOutProducts | None = None

    @property
    def axes(self) -> TargetAxes:
        return self.parts.axes

    def weight(self, weights: Array) -> float:
        """The weight of the rows held out."""
        return float(weights[self.held].sum()) if self.products is None else self.products.weight


def decomposed_folds(inputs: Any, folds: HeldOut, total_weight: float) -> list[Fold]:
    """One decomposition per fold, for everything that is cross-validated."""

    def path(part: Part) -> Fold:
        if isinstance(inputs, FeatureInputs):
            whole = inputs.decomposed(part.kept, without=part.number)
            scores = whole.scores(part.held)
            # what later steps read is the axes and the scores: the coefficients can go
            parts = replace(whole, coefficients=np.empty(0), offset=np.empty(0), vectors=np.empty(0))
        else:
            parts, scores = inputs.seen_by(part.kept, part.held)
        return Fold(part.held, parts, scores, total_weight * float(inputs.weights[part.kept].sum()))

    return folds.each(path)


@dataclass(frozen=True)
class PathLosses:
    """Held-out losses of a path, one row per fold: weighted sums over the rows held out."""

    loss: Array  # (folds, sizes, ridges)
    squares: Array  # (folds, sizes, ridges)
    weights: Array  # (folds,)
    ridges: Array
    sizes: list[int]

    def best(self) -> tuple[int, int]:
        """The fewest components within 1 % of the least loss, and of equal ridges there the largest."""
        total = self.loss.sum(axis=0)
        of_size = total.min(axis=1)
        k = int(np.flatnonzero(of_size <= TARGETS.improvement * of_size.min())[0])
        return k, int(np.flatnonzero(total[k] <= of_size[k] * (1 + 1e-9))[-1])


def component_losses(
    folds: list[Fold], target: Array, weights: Array, sizes: list[int], robust: bool = False
) -> PathLosses:
    """Ridge regression on the leading components of the inputs alone, for every size and ridge: Σ_p t_p c_p/(λ_p + κ)."""
    # a fold may leave rows that are all alike, which have no axes
    ridges = ridges_up_to(next((float(fold.axes.values[0]) for fold in folds if len(fold.axes.values)), 0.0))
    loss = np.empty((len(folds), len(sizes), len(ridges)))
    squares = np.empty_like(loss)
    for f, fold in enumerate(folds):
        axes, s = fold.axes, weights[fold.held]
        m = axes.cross.shape[1]
        if fold.products is not None:
            for k, size in enumerate(sizes):
                shares = 1.0 / (axes.values[:size, None] + ridges)
                loss[f, k] = squares[f, k] = fold.products.squares(shares[:, :, None] * axes.cross[:size, None, :])
            continue
        truth = target[fold.held] - axes.mean
        found = np.zeros((len(fold.held), len(ridges), m))
        start = 0
        for k, size in enumerate(sizes):
            part = slice(start, size)
            shares = 1.0 / (axes.values[part, None] + ridges)
            spread = (shares[:, :, None] * axes.cross[part, None, :]).reshape(-1, len(ridges) * m)
            found += (fold.scores[:, part] @ spread).reshape(found.shape)
            start = size
            loss[f, k], squares[f, k] = _losses(found, axes, truth, s, robust)
    return PathLosses(loss, squares, np.array([fold.weight(weights) for fold in folds]), ridges, sizes)


def component_predictions(folds: list[Fold], shape: tuple[int, ...], size: int, ridge: float) -> Array:
    """The held-out predictions behind `component_losses`, at one size and ridge."""
    predictions = np.empty(shape)
    for fold in folds:
        axes = fold.axes
        slopes = axes.cross[:size] / (axes.values[:size] + ridge)[:, None]
        predictions[fold.held] = axes.mean + fold.scores[:, :size] @ slopes @ axes.directions.T
    return predictions


def _losses(found: Array, axes: TargetAxes, truth: Array, weights: Array, robust: bool) -> tuple[Array, Array]:
    """Weighted sums of |error| (or its square), and of its square, per ridge; ``found`` is along the target's directions."""
    along = truth @ axes.directions
    error = found - along[:, None, :]
    outside = np.square(truth).sum(axis=1) - np.square(along).sum(
        axis=1
    )  # what no direction of the kept rows can reach
    squares = np.einsum("n,nrm->r", weights, np.square(error)) + float(weights @ np.maximum(outside, 0.0))
    if not robust:
        return squares, squares
    whole = found @ axes.directions.T - truth[:, None, :]
    return np.einsum("n,nrm->r", weights, np.abs(whole)), squares


@dataclass(frozen=True)
class JointPath:
    """The joint model of one fold, seen through its inputs: linear in the scores t of the inputs alone."""

    fold: Fold
    gains: Array  # Δ² = l - σ²
    tips: Array  # U_y along the target's directions, (m', q)
    shafts: Any  # U_x along the axes of the inputs, (k, q), for products
    scales: Array  # c_x, c_y

    @classmethod
    def of(cls, fold: Fold, scales: Array, count: int, noise: float) -> JointPath:
        pairs = fold.axes.joint(scales, count, above=noise, formed=False)
        return cls(fold, pairs.values - noise, pairs.tips, pairs.shafts, scales)

    def slopes(self, ridges: Array) -> Array:
        """B with Bᵀt = prediction less mean along the target's directions, (k, r, m')."""
        m, q = self.tips.shape
        if q == 0 or self.scales[1] == 0:
            return np.zeros((len(self.fold.axes.values), len(ridges), m))
        shares = self.gains[:, None] / (self.gains[:, None] + ridges)  # (q, r)
        # Σ over the axes of shares times tips, then (I - S)⁻¹, before the long product with the shafts
        spread = np.einsum("qr,mq,rmk->qrk", shares, self.tips, self._inverses(shares), optimize=True)
        return (self.shafts @ spread.reshape(q, -1)).reshape(-1, len(ridges), m) * (self.scales[0] / self.scales[1])

    def _inverses(self, shares: Array) -> Array:
        """(I - S)⁻¹ with S = U_y Δ²/(Δ² + κ) U_yᵀ, one per ridge, (r, m', m')."""
        S = np.einsum("aq,qr,bq->rab", self.tips, shares, self.tips, optimize=True)
        rest = np.eye(len(self.tips)) - S
        if len(self.tips) == 1:
            return 1.0 / np.maximum(rest, np.finfo(float).tiny)
        return np.linalg.pinv(rest, hermitian=True, rcond=1e-14)

    def leverages(self, ridge: float, offsets: Array) -> Array:
        """|E[z | x]|² / N of the rows held out, z = D⁻¹Δ(t + U_yᵀ c_y offset)."""
        z = (
            np.sqrt(self.gains)
            / (self.gains + ridge)
            * (self.scales[0] * (self.fold.scores @ self.shafts) + self.scales[1] * (offsets @ self.tips))
        )
        return np.square(z).sum(axis=1) / self.fold.total_weight


def checked_model(
    folds: list[Fold], target: Array, weights: Array, scales: Array, count: int, robust: bool, variance: float
) -> HeldOutPredictions:
    """Cross-validated predictions of the model with these noises, at the ridge κσ² that predicts best."""
    paths = [JointPath.of(fold, scales, count, 1.0) for fold in folds]
    ridges = ridges_up_to(float(paths[0].gains.max(initial=0.0)))
    loss, squares = np.zeros(len(ridges)), np.zeros(len(ridges))
    for path in paths:
        more, square = _path_losses(path.fold, path.slopes(ridges), target, weights, robust)
        loss, squares = loss + more, squares + square
    r = int(np.flatnonzero(loss <= loss.min() * (1 + 1e-9))[-1])
    predictions, leverages = np.empty(target.shape), np.empty(len(target))
    for path in paths:
        fold = path.fold
        offsets = fold.scores @ path.slopes(ridges[r : r + 1])[:, 0]
        predictions[fold.held] = fold.axes.mean + offsets @ fold.axes.directions.T
        leverages[fold.held] = path.leverages(float(ridges[r]), offsets)
    return HeldOutPredictions(predictions, leverages, count, float(ridges[r]), float(squares[r]) / (variance or 1.0))


def checked_at_its_word(
    folds: list[Fold], target: Array, scales: Array, count: int, noise: float, variance: float
) -> HeldOutPredictions:
    """Cross-validated predictions of the model with one noise, which is not chosen; rows held out are known by their products."""
    predictions, leverages, squares = np.empty(target.shape), np.empty(len(target)), 0.0
    for fold in folds:
        axes = fold.axes
        pairs = axes.joint(scales, count, above=noise)
        assert pairs.shafts is not None
        assert fold.products is not None
        shafts, tips = pairs.shafts, axes.directions @ pairs.tips
        gaussian = LatentGaussian(pairs.values, noise, 0.0)
        W = tips * (gaussian.gains / scales[1] if scales[1] else 0.0)
        # each score by itself is a row: what it adds to the prediction, and to z
        seen = Projection(float(scales[0]) * shafts, np.zeros(len(shafts)), 0.0, shafts.T @ shafts)
        slopes, _ = ridge_predictions(gaussian, seen, W, count, np.array([noise]))
        squares += float(fold.products.squares((slopes[0] @ axes.directions)[:, None, :])[0])
        predictions[fold.held] = axes.mean + fold.scores @ slopes[0]
        shown = replace(seen, scores=fold.scores @ seen.scores, squared_norm=np.zeros(len(fold.scores)))
        _, sizes = ridge_predictions(gaussian, shown, W, count, np.array([noise]))
        leverages[fold.held] = sizes[0] / fold.total_weight
    return HeldOutPredictions(predictions, leverages, count, noise, squares / (variance or 1.0))


def _path_losses(fold: Fold, slopes: Array, target: Array, weights: Array, robust: bool) -> tuple[Array, Array]:
    if fold.products is not None:
        squares = fold.products.squares(slopes)
        return squares, squares
    k, r, m = slopes.shape
    found = (fold.scores @ slopes.reshape(k, r * m)).reshape(-1, r, m)
    return _losses(found, fold.axes, target[fold.held] - fold.axes.mean, weights[fold.held], robust)


def view_noises(
    axes: TargetAxes,
    traces: Array,
    dims: Array,
    count: int,
    least: Array,
    *,
    tol: float,
    leaps: bool = True,
    progress: Progress | None = None,
) -> tuple[Array, int, bool]:
    """The ECM of section 8, its rounds from the arrowhead: σ²_v = [tr K_v - Σ_p (l_p - 1)|u_vp|²σ²_v] / D_v.

    The inputs begin with the noise that they would have by themselves: most of the components are theirs.
    Returns the noises, the number of rounds, and whether they settled.
    """

    def step(noises: Array) -> tuple[Array, float]:
        pairs = axes.joint(scales_of(noises), count, vectors=False, above=1.0)
        excess, shares = pairs.values - 1.0, np.square(pairs.tips).sum(axis=0)
        explained = np.array([float(excess @ (1.0 - shares)), float(excess @ shares)]) * noises
        return (traces - explained) / dims, mean_log_likelihood(traces, dims, pairs.values, noises)

    alone = noise_of_each_q(axes.values[:count], float(traces[0]), float(dims[0]))[-1]
    start = np.maximum([alone or traces[0] / dims[0], traces[1] / dims[1]], least)
    noises, history, settled = ecm_rounds(step, start, least, tol, ROUNDS, leaps, progress)
    return noises, len(history), settled
