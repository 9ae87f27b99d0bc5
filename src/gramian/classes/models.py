"""The models of the classes behind `KernelPPCAClassifier`: exact or on Nyström features, one Gaussian or a mixture per class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy.special import logsumexp

from gramian._arrays import Array
from gramian._threads import single_blas_thread
from gramian.classes.blend import Blend
from gramian.classes.path import ClassPath
from gramian.kernels import Kernel, Precomputed
from gramian.latent.dimension import for_fraction
from gramian.latent.gaussian import Projection
from gramian.latent.model import LatentModel
from gramian.mixtures.kernel_component import DualRows, FeatureRows, KernelRows, least_diagonal, project_rows
from gramian.mixtures.kernel_fit import fit_kernel_mixture
from gramian.mixtures.kernel_kmeans import graph_start
from gramian.mixtures.mixture import log_terms
from gramian.policy import CLASSES, DEFAULTS, SIZES
from gramian.single.kernel_fit import stored_gram
from gramian.solvers import Eigh

ADVICE = "Fit on fewer rows: the classifier stores the Gram matrix of each class. Or use approximation='nystroem', which stores none."


ClassModel = LatentModel[Any]
"""A component of a class, in dual coordinates or behind features."""


@dataclass(frozen=True)
class LabelledRows:
    """Training rows with the codes of their classes and the hashes that deal them to folds.

    ``X`` is the Gram matrix where the kernel is precomputed. ``features`` stand for the kernel under an approximation.
    """

    kernel: Kernel
    X: Array
    codes: Array
    weights: Array
    hashes: Array
    features: FeatureRows | None = None

    @property
    def precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed)

    @property
    def n_classes(self) -> int:
        return int(self.codes.max()) + 1

    def some(self, positions: Array) -> LabelledRows:
        """A part of the rows, known by the kernel itself."""
        X = self.X[np.ix_(positions, positions)] if self.precomputed else self.X[positions]
        return LabelledRows(self.kernel, X, self.codes[positions], self.weights[positions], self.hashes[positions])

    def on_features(self, name: str, count: int, random_state: Any = None) -> LabelledRows:
        """The same rows on the features of that name, one set for all classes; landmarks are drawn by content."""
        return replace(self, features=FeatureRows.of(name, self.kernel, self.X, count, random_state=random_state))

    def of_class(self, own: Array) -> DualRows | FeatureRows:
        """What a model of these rows is fitted to: their Gram matrix, or their features."""
        if self.features is not None:
            return replace(self.features, features=self.features.features[own])
        X = self.X[np.ix_(own, own)] if self.precomputed else self.X[own]
        return DualRows(self.kernel, None if self.precomputed else X, stored_gram(self.kernel, X, ADVICE))

    def seen_by(self, classes: list[list[ClassModel]], rows: Array, groups: list[Array]) -> list[list[Projection]]:
        """What the models of the classes, fitted to the rows of ``groups``, see of other rows."""
        if self.features is not None:
            features = self.features.features[rows]
            return [[model.subspace.primal.project(features) for model in models] for models in classes]
        diagonal = self.X[rows, rows] if self.precomputed else None
        views = [self.X[np.ix_(rows, own)] if self.precomputed else self.X[rows] for own in groups]
        return projections(classes, views, diagonal)


@dataclass(frozen=True)
class ClassRule:
    """How classes are modelled: q (one for all, or a list), the noise (0: the limiting rule) and the number of clusters.

    With a ``blend`` the model keeps all directions above the smallest of its noises.
    """

    n_components: Any
    noise_variance: Annotated[float, "nonnegative"]
    n_clusters: Annotated[int, "count"]
    blend: Blend | None = None

    @classmethod
    def of_blend(cls, blend: Blend) -> ClassRule:
        return cls(None, float(blend.noises.min()), 1, blend)

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
        self, code: int, rows: KernelRows[Any], weights: Array, rng: np.random.Generator
    ) -> tuple[list[ClassModel], Array]:
        """The components of class ``code``, and their mixing weights.

        A mixture is found at a finite noise; under the limiting rule its clusters are then fitted once more without.
        """
        noise = self.noise_variance
        count: Any = self.n_components[code]
        if count is None:
            count = rows.size if noise > 0 else DEFAULTS.explained
        clusters = min(self.n_clusters, rows.size)
        solver = Eigh()
        with single_blas_thread():
            if clusters == 1:
                return [single(rows, weights, count, noise)], np.ones(1)
            finite = noise if noise > 0 else CLASSES.noise * rows.mean_diagonal
            start = graph_start(rows, weights, clusters, rng)
            found = fit_kernel_mixture(
                rows, [start], weights, [count] * clusters, finite, solver=solver, tol=1e-4, max_iter=100
            )
            alive = np.flatnonzero(found.mixing > 0)
            if noise > 0:
                return [found.components[i] for i in alive], found.mixing[alive]
            shares = weights[:, None] * found.responsibilities[:, alive]
            return [rows.component(share, count, 0.0, solver) for share in shares.T], found.mixing[alive]


def single(rows: KernelRows[Any], weights: Array, count: int | float, noise: float) -> ClassModel:
    """One component. For a fraction the spectrum is grown by doubling until it is explained, not found whole."""
    solver = Eigh()
    if isinstance(count, int) or not isinstance(rows, DualRows) or not rows.kernel.positive_semidefinite:
        return rows.component(weights, count, noise, solver)
    pairs = SIZES.first_pairs
    while 4 * pairs < rows.size:
        model = rows.component(weights, pairs, noise, solver)
        values, trace = model.spectrum.eigenvalues, model.spectrum.trace
        if len(values) < pairs or values.sum() >= count * trace:
            enough = for_fraction(values, trace, count)
            return model if enough is None else leading(model, enough)
        pairs *= 2
    return rows.component(weights, count, noise, solver)


def leading(model: ClassModel, q: int) -> ClassModel:
    """The model with its first q components only."""
    gaussian = replace(model.gaussian, eigenvalues=model.gaussian.eigenvalues[:q])
    return replace(model, subspace=model.subspace.take(q), gaussian=gaussian, spectrum=model.spectrum.leading(q))


def projections(classes: list[list[ClassModel]], views: list[Any], diagonal: Array | None) -> list[list[Projection]]:
    """What every component of every class sees of rows; ``views`` are the rows as each class takes them.

    These are inputs, or kernel values with the class's training rows. Features are computed once for all classes.
    """
    first = classes[0][0].subspace
    if first.feature_map is not None:
        seen = iter(project_rows([model for models in classes for model in models], views[0]))
        return [[next(seen) for _ in models] for models in classes]
    if diagonal is None and first.takes_kernel_values:
        diagonal = np.max([least_diagonal(models, X) for models, X in zip(classes, views)], axis=0)
    return [project_rows(models, X, diagonal) for models, X in zip(classes, views)]


def evidence(
    classes: list[list[ClassModel]],
    mixing: list[Array],
    seen: list[list[Projection]],
    limiting: bool,
    blend: Blend | None = None,
) -> Array:
    """log Σ_i m_i exp(-L^_i/2) of every class, or minus the limiting distance to its nearest component, (n, C) [7].

    With a ``blend`` Σ_k share_k (-L^_k/2), where L^_k is read off the class's one model at the q and the noise of rule k.
    """
    columns = []
    for models, shares, parts in zip(classes, mixing, seen):
        if blend is not None:
            path = ClassPath(models[0].gaussian.eigenvalues, models[0].spectrum.trace, parts[0], 0.0)
            columns.append(blend(path.evidences(blend.rules)))
        elif limiting:
            columns.append(-np.min([model.gaussian.residual(part) for model, part in zip(models, parts)], axis=0))
        else:
            columns.append(logsumexp(log_terms(models, shares, parts), axis=1))
    return np.column_stack(columns)
