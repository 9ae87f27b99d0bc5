"""The fast path of cross-validating `KernelPPCAClassifier`: every q and every noise of one kernel from one eigendecomposition.

The model with q components is the leading part of the one with more, and the noise enters after the decomposition. So a fold
costs one decomposition per class and kernel, whatever the number of q and noises compared; scores equal those of refitting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from gramian._arrays import Array
from gramian._checks import check_n_components, check_number, check_table
from gramian.latent.dimension import DEFAULT_FRACTION, for_fraction
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.sample import DUAL_FLOOR, DUAL_RANK
from gramian.mixtures.kernel_component import CONSTANT_FREE
from gramian.operators.held_out_gram import HeldOutGram
from gramian.single.kernel_fit import resolved_kernel, stored_gram
from gramian.solvers.turned import turned


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
        values = self.eigenvalues
        squares = np.square(self.seen.scores)
        explained = _running(squares)
        distances = _running(squares / values)
        log_volumes = _running(np.log(values))
        found = np.empty((len(rules), len(squares)))
        for i, (count, noise) in enumerate(rules):
            q = count_of(values, self.trace, count, 0.0 if noise is None else noise)
            residual = np.maximum(self.seen.squared_norm - explained[:, q], 0.0)
            if noise is None:
                found[i] = -residual
            else:
                volume = log_volumes[q] - q * np.log(noise)
                found[i] = self.log_prior - 0.5 * (volume + distances[:, q] + residual / noise)
        return found


def _running(values: Array) -> Array:
    """Sums of the first 0, 1, 2, ... entries along the last axis."""
    return np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)


def count_of(eigenvalues: Array, trace: float, n_components: Any, noise_variance: float) -> int:
    """How many of these eigenvalues a class keeps: a count or a fraction, None for all above the noise (else 95 %)."""
    above = int((eigenvalues > noise_variance).sum())
    if n_components is None and noise_variance > 0:
        return above
    if isinstance(n_components, int):
        return min(n_components, above)
    fraction = DEFAULT_FRACTION if n_components is None else n_components
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
        values, found = turned(block.matrix, block.shown)
        diagonal = float(block.centering.weights @ np.diagonal(gram)[own])
        floor = max(DUAL_RANK * float(values[0]), DUAL_FLOOR * diagonal)
        kept = min(int((values > floor).sum()), len(own) - 1 if most is None else most)
        scores = np.ascontiguousarray((found[:kept] / np.sqrt(values[:kept])[:, None]).T)
        seen = Projection(scores, block.squared_norms, CONSTANT_FREE)
        paths.append(ClassPath(values[:kept], trace, seen, float(np.log(float(weights[own].sum()) / total))))
    return paths


def classifier_cv_scores(
    X: Any,
    y: object,
    kernels: Sequence[Any],
    n_components: Sequence[Any] = (DEFAULT_FRACTION,),
    noise_variances: Sequence[float | None] = (None,),
    *,
    cv: Any = 5,
) -> Array:
    """Accuracies of `KernelPPCAClassifier` by cross-validation, for every kernel, n_components and noise at once.

    Parameters
    ----------
    X, y : training rows and labels
    kernels : sequence of kernels
        Each is settled on the rows that a fold trains on.
    n_components : sequence of int, float, None or lists of them (one entry for each class)
    noise_variances : sequence of float or None
        None is the limiting rule; with a number, priors are the frequencies of the classes.
    cv : int, splitter or iterable of (train, test), default=5
        An int is stratified and unshuffled, as in scikit-learn.

    Returns
    -------
    ndarray of shape (len(kernels), len(n_components), len(noise_variances), n_folds)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian.classes.path import classifier_cv_scores
    >>> from gramian.kernels import RBF
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = classifier_cv_scores(X, y, [RBF(1.0), RBF(3.0)], [2, 5, 10], [None, 1e-2])
    >>> scores.shape, bool(scores.mean(axis=-1).max() > 0.95)
    ((2, 3, 2, 5), True)
    """
    X = check_table(None, X, reset=False)
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    counts = [check_class_components(q) for q in n_components]
    n_classes = int(codes.max()) + 1
    counts = [q if isinstance(q, list) else [q] * n_classes for q in counts]
    wrong = [q for q in counts if len(q) != n_classes]
    if wrong:
        raise ValueError(f"n_components={wrong[0]!r} must have one entry for each of the {n_classes} classes.")
    noises = [None if v is None else check_number("noise_variance", v, 0.0, open_low=True) for v in noise_variances]
    folds = list(check_cv(cv, codes, classifier=True).split(X, codes))
    every = [q for listed in counts for q in listed]
    most = max(every) if all(isinstance(q, int) for q in every) else None
    scores = np.empty((len(kernels), len(counts), len(noises), len(folds)))
    weights = np.ones(len(X))
    for i, kernel in enumerate(kernels):
        for f, (train, test) in enumerate(folds):
            resolved = resolved_kernel(kernel, X[train])
            gram = stored_gram(resolved, X, "Use fewer rows.")
            paths = class_paths(gram, codes, weights, train, test, most)
            present = np.unique(codes[train])
            rules = [[(q[code], noise) for q in counts for noise in noises] for code in present]
            columns = [path.evidences(own) for path, own in zip(paths, rules)]
            right = present[np.stack(columns).argmax(axis=0)] == codes[test]
            scores[i, :, :, f] = right.mean(axis=-1).reshape(len(counts), len(noises))
    return scores
