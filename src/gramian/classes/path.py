"""The fast path of cross-validating `KernelPPCAClassifier`: every q and every noise of one kernel from one eigendecomposition.

The model with q components is the leading part of the one with more, and the noise enters after the decomposition. So a fold
costs one decomposition per class and kernel, whatever the number of q and noises compared; scores equal those of refitting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_n_components
from gramian._precision import EPS, ROUNDING
from gramian.latent.dimension import for_fraction
from gramian.latent.gaussian import LatentGaussian, Projection, SeenByEachQ
from gramian.mixtures.kernel_component import CONSTANT_FREE
from gramian.operators.gram import HeldOutGram
from gramian.policy import DEFAULTS
from gramian.solvers.turned import turn_block


@dataclass(frozen=True)
class ClassPath:
    """All eigenvalues of a class, and what it sees of some rows along all its axes: any q and noise can be read off."""

    eigenvalues: Array
    trace: float
    seen: Projection
    log_prior: float

    def cut(self, n_components: Any, noise_variance: float | None) -> tuple[LatentGaussian, Projection]:
        """The Gaussian with fewer components and this noise (None: 0, the limit), and the rows as it sees them."""
        values = self.eigenvalues
        noise = 0.0 if noise_variance is None else noise_variance
        q = count_of(values, self.trace, n_components, noise)
        gaussian = LatentGaussian(values[:q], noise, CONSTANT_FREE)
        return gaussian, Projection(self.seen.scores[:, :q], self.seen.squared_norm, CONSTANT_FREE)

    def evidence(self, n_components: Any, noise_variance: float | None) -> Array:
        """log p(c) - L^_c/2, or minus the limiting distance: the class with the largest wins [7]."""
        gaussian, seen = self.cut(n_components, noise_variance)
        if noise_variance is None:
            return -gaussian.residual(seen)
        return self.log_prior + gaussian.log_density(seen)

    def evidences(self, rules: Sequence[tuple[Any, float | None]]) -> Array:
        """`evidence` of every (q, noise) from running sums of squared scores, (len(rules), n)."""
        seen = SeenByEachQ.of(self.eigenvalues, np.square(self.seen.scores), self.seen.squared_norm)
        found = np.empty((len(rules), len(self.seen.scores)))
        for i, (count, noise) in enumerate(rules):
            q = count_of(self.eigenvalues, self.trace, count, 0.0 if noise is None else noise)
            found[i] = -seen.left[:, q] if noise is None else self.log_prior + seen.log_density(q, noise, CONSTANT_FREE)
        return found


def count_of(eigenvalues: Array, trace: float, n_components: Any, noise_variance: float) -> int:
    """How many of these eigenvalues a class keeps: a count or a fraction, None for all above the noise (else 95 %)."""
    above = int((eigenvalues > noise_variance).sum())
    if n_components is None and noise_variance > 0:
        return above
    if isinstance(n_components, int):
        return min(n_components, above)
    fraction = DEFAULTS.explained if n_components is None else n_components
    enough = for_fraction(eigenvalues, trace, fraction)
    return above if enough is None else min(above, enough)


def check_class_components(n_components: Any) -> Any:
    """``n_components`` of a classifier if it is a count, a fraction or None, or a list of them for the classes."""
    if isinstance(n_components, list | tuple | np.ndarray):
        return [check_n_components(q, rules=()) for q in n_components]
    return check_n_components(n_components, rules=())


def class_paths(
    gram: Array, codes: Array, weights: Array, train: Array, test: Array, most: int | None
) -> list[ClassPath]:
    """One decomposition per class on the training rows of a Gram matrix, and its view of the test rows."""
    total = float(weights[train].sum())
    paths = []
    for code in np.unique(codes[train]):
        own = train[codes[train] == code]
        block = HeldOutGram.of(gram, weights, own, test)
        trace = float(np.trace(block.matrix))
        values, found = turn_block(block.matrix, block.shown)
        diagonal = float(block.centering.weights @ np.diagonal(gram)[own])
        floor = max(ROUNDING * float(values[0]), 64 * EPS * diagonal)
        kept = min(int((values > floor).sum()), len(own) - 1 if most is None else most)
        scores = np.ascontiguousarray((found[:kept] / np.sqrt(values[:kept])[:, None]).T)
        seen = Projection(scores, block.squared_norms, CONSTANT_FREE)
        paths.append(ClassPath(values[:kept], trace, seen, float(np.log(float(weights[own].sum()) / total))))
    return paths
