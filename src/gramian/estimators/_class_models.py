"""The models of the classes behind `KernelPPCAClassifier`, and the calibration of its probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp

from gramian._arrays import Array, single_blas_thread
from gramian.estimators._kernel_fit import stored_gram
from gramian.kernels import Kernel, Precomputed
from gramian.latent.dimension import DEFAULT_FRACTION
from gramian.latent.kernel_kmeans import graph_start
from gramian.latent.kernel_mixture import DualRows, fit_kernel_mixture, least_diagonal, log_terms, project_rows
from gramian.latent.model import LatentModel
from gramian.solvers import Eigh

CALIBRATION_FOLDS = 3
"""Their decompositions cost together about as much as the fit itself."""
MIXTURE_NOISE = 0.01
"""The noise, over the mean k(x, x), at which clusters of a class are found when the rule itself needs none."""
ADVICE = "Fit on fewer rows: the classifier stores the Gram matrix of each class."


@dataclass(frozen=True)
class LabelledRows:
    """Training rows with the codes of their classes; ``X`` is the Gram matrix where the kernel is precomputed."""

    kernel: Kernel
    X: Array
    codes: Array
    weights: Array

    @property
    def precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed)

    @property
    def n_classes(self) -> int:
        return int(self.codes.max()) + 1

    def dual(self, own: Array) -> DualRows:
        """Some of the rows, with their Gram matrix."""
        if self.precomputed:
            return DualRows(self.kernel, None, stored_gram(self.kernel, self.X[np.ix_(own, own)], ADVICE))
        return DualRows(self.kernel, self.X[own], stored_gram(self.kernel, self.X[own], ADVICE))


@dataclass(frozen=True)
class ClassRule:
    """How classes are modelled: q (one for all, or a list), the noise (0: the limiting rule) and the number of clusters."""

    n_components: Any
    noise_variance: float
    n_clusters: int

    def for_classes(self, classes: Array) -> ClassRule:
        """The rule with a list of q, one for each class."""
        if not isinstance(self.n_components, list):
            return replace(self, n_components=[self.n_components] * len(classes))
        if len(self.n_components) != len(classes):
            raise ValueError(
                f"n_components={self.n_components!r} has {len(self.n_components)} entries, but must have one for each of "
                f"classes_={classes!r}, in that order."
            )
        return self

    def fit(
        self, code: int, rows: DualRows, weights: Array, rng: np.random.Generator
    ) -> tuple[list[LatentModel], Array]:
        """The components of class ``code``, and their mixing weights.

        A mixture is found at a finite noise; under the limiting rule its clusters are then fitted once more without.
        """
        noise = self.noise_variance
        count: Any = self.n_components[code]
        if count is None:
            count = rows.size if noise > 0 else DEFAULT_FRACTION
        clusters = min(self.n_clusters, rows.size)
        solver = Eigh()
        with single_blas_thread():
            if clusters == 1:
                return [rows.component(weights, count, noise, solver)], np.ones(1)
            finite = noise if noise > 0 else MIXTURE_NOISE * float(np.diagonal(rows.gram).mean())
            start = graph_start(rows, weights, clusters, rng)
            found = fit_kernel_mixture(
                rows, start, weights, [count] * clusters, finite, solver=solver, tol=1e-4, max_iter=100
            )
            alive = np.flatnonzero(found.mixing > 0)
            if noise > 0:
                return [found.components[i] for i in alive], found.mixing[alive]
            shares = weights[:, None] * found.responsibilities[:, alive]
            return [rows.component(share, count, 0.0, solver) for share in shares.T], found.mixing[alive]


def evidence(
    classes: list[list[LatentModel]], mixing: list[Array], views: list[Any], diagonal: Array | None, limiting: bool
) -> Array:
    """log Σ_i m_i exp(-L^_i/2) of every class, or minus the limiting distance to its nearest component, (n, C) [7].

    ``views`` are the rows as each class takes them: inputs, or kernel values with the class's training rows.
    """
    if diagonal is None and isinstance(classes[0][0].subspace.kernel, Precomputed):
        diagonal = np.max([least_diagonal(models, X) for models, X in zip(classes, views)], axis=0)
    columns = []
    for models, shares, X in zip(classes, mixing, views):
        seen = project_rows(models, X, diagonal)
        if limiting:
            columns.append(-np.min([model.gaussian.residual(part) for model, part in zip(models, seen)], axis=0))
        else:
            columns.append(logsumexp(log_terms(models, shares, seen), axis=1))
    return np.column_stack(columns)


def calibrated_noise(rows: LabelledRows, rule: ClassRule, rng: np.random.Generator) -> float:
    """The ρ for which softmax(-distance / 2ρ) has the smallest log-loss on held-out rows, under the limiting rule."""
    parts = [_held_out(rows, rule, fold, rng) for fold in range(CALIBRATION_FOLDS)]
    distances = np.concatenate([part[0] for part in parts])
    labels = np.concatenate([part[1] for part in parts])
    weights = np.concatenate([part[2] for part in parts])
    finite = np.where(np.isfinite(distances), distances, np.nan)
    spread = np.nanmax(finite, axis=1) - np.nanmin(finite, axis=1) if len(labels) else np.zeros(0)
    unit = float(np.median(spread[spread > 0])) if (spread > 0).any() else 0.0
    if unit == 0:
        return 1.0  # nothing was held out, or all distances are alike: there is nothing to calibrate
    picked = np.arange(len(labels)), labels
    total = float(weights.sum())

    def loss(log_ratio: float) -> float:
        return -float(weights @ log_softmax(-distances / unit * np.exp(log_ratio), axis=1)[picked]) / total

    found = minimize_scalar(loss, bounds=(-5.0, 7.0), method="bounded", options={"xatol": 1e-3})
    return float(0.5 * unit * np.exp(-found.x))


def _held_out(rows: LabelledRows, rule: ClassRule, fold: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Limiting distances (n, C) of the fold's rows, inf to a class without other rows; their labels and weights.

    Rows are dealt to folds within their class, in their order.
    """
    n_classes = rows.n_classes
    dealt = np.empty(len(rows.codes), dtype=int)
    for code in range(n_classes):
        own = np.flatnonzero(rows.codes == code)
        dealt[own] = np.arange(len(own)) % CALIBRATION_FOLDS
    train, test = np.flatnonzero(dealt != fold), np.flatnonzero(dealt == fold)
    known = np.unique(rows.codes[train])
    test = test[np.isin(rows.codes[test], known)]
    distances = np.full((len(test), n_classes), np.inf)
    if len(test) and len(known) > 1:
        groups = [train[rows.codes[train] == code] for code in known]
        fitted = [rule.fit(c, rows.dual(own), rows.weights[own], rng) for c, own in zip(known, groups)]
        views = [rows.X[np.ix_(test, own)] if rows.precomputed else rows.X[test] for own in groups]
        diagonal = rows.X[test, test] if rows.precomputed else None
        distances[:, known] = -evidence([m for m, _ in fitted], [s for _, s in fitted], views, diagonal, True)
        return distances, rows.codes[test], rows.weights[test]
    return distances[:0], rows.codes[:0], rows.weights[:0]
