"""Fast paths: what trials of a kernel model share is computed once.

Distances do not depend on the width, and serve all widths of an isotropic kernel and all folds. An eigendecomposition does not
depend on q: the model with q components is the leading part of the one with more. So a trial decomposes once per fold, looks at
many q, and settles q itself (for KernelPPCA the smallest as good as the best, to a standard error over the folds); the search is
left with one parameter less. The scores are those of refitting, to rounding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances

from gramian._arrays import Array
from gramian._checks import is_auto, is_count
from gramian._threads import threads_for_rows
from gramian._types import Table
from gramian.evidence.held_out import ladder
from gramian.evidence.selection import choose
from gramian.kernels import as_kernel
from gramian.latent.gaussian import LatentGaussian, Projection, resolve_noise
from gramian.latent.model import fit_latent_model
from gramian.latent.sample import DualSample
from gramian.operators.gram import DenseGram
from gramian.policy import DEFAULTS, LOOK
from gramian.preimage import KernelSmoother, as_preimage
from gramian.solvers import Eigh
from gramian.tuning.evaluation import Evaluation, Outcome, run_trial
from gramian.tuning.space import Category, Integer, Space, with_params

_SHARED_OBJECTIVES = ("reconstruction", "kernel_error", "denoising")


def counts_of(space: Space) -> list[int] | None:
    """The values of ``n_components`` to try: of a range those of the jury's ladder, of a list all; None where it is not searched; [] where they are not all counts."""
    dimension = space.dimensions.get("n_components")
    if dimension is None:
        return None
    if isinstance(dimension, Integer) and dimension.prior is None:
        values = dimension.values()
        return [values[i] for i in ladder(0, len(values) - 1)]
    if isinstance(dimension, Category) and all(is_count(choice) for choice in dimension.choices):
        return sorted({int(choice) for choice in dimension.choices})
    return []


def only_kernel(space: Space) -> bool:
    """Whether nothing but the kernel and n_components is searched."""
    return all(name in ("kernel", "n_components") or name.startswith("kernel__") for name in space.dimensions)


def dense_table(X: Table) -> Array | None:
    """X as float64 where it is a finite dense table of moderate size and no kernel matrix; else None."""
    if hasattr(X, "tocsr") or isinstance(X, dict):
        return None
    try:
        table = np.asarray(X)
    except ValueError:
        return None
    if table.ndim != 2 or table.dtype.kind not in "fiu" or table.dtype.itemsize > 8 or len(table) > LOOK.rows:
        return None
    table = table.astype(np.float64)
    return table if np.isfinite(table).all() and table.shape[1] else None


def parsimonious(scores: Mapping[int, Any]) -> int:
    """The smallest q whose folds fall behind those of the best q by no more than a standard error of the difference.

    Pairing the folds matters: they differ from each other far more than two values of q do on one fold.
    """
    counts = sorted(scores)
    return int(choose(counts, np.column_stack([scores[q] for q in counts])).chosen)


# ---------------------------------------------------------------- kernel matrices


@dataclass(frozen=True)
class Distances:
    """-|x - y|²/2 between all rows, computed once, and between rows and further queries, computed once a query."""

    X: Array
    offset: Array
    products: Array
    queries: dict[Any, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Array) -> Distances:
        offset = X.mean(axis=0)  # left in, it would cancel digits of the distances
        X = X - offset
        return cls(X, offset, -0.5 * euclidean_distances(X, squared=True))

    def gram(self, kernel: Any, rows: Array, columns: Array) -> Array | None:
        """k(X[rows], X[columns]) for a kernel of the isotropic kind; None for others."""
        return _profile(kernel, self.products[np.ix_(rows, columns)])

    def against(self, kernel: Any, Y: Array, columns: Array, fold: int) -> Array | None:
        """k(Y, X[columns]) for other rows Y, whose distances are remembered."""
        if not _isotropic(kernel):
            return None
        key = (fold, digest(Y))
        if key not in self.queries:
            if len(self.queries) >= 16:
                self.queries.pop(next(iter(self.queries)))
            self.queries[key] = -0.5 * euclidean_distances(Y - self.offset, self.X[columns], squared=True)
        return _profile(kernel, self.queries[key])


def digest(values: Array) -> bytes:
    """A key for an array's contents."""
    return hashlib.sha1(np.ascontiguousarray(values).data, usedforsecurity=False).digest()


def _isotropic(kernel: Any) -> bool:
    return bool(getattr(kernel, "isotropic", False)) and hasattr(kernel, "squared_radius")


def _profile(kernel: Any, products: Array) -> Array | None:
    if not _isotropic(kernel):
        return None
    return np.asarray(kernel.profile(products / float(kernel.length_scale) ** 2))


# ---------------------------------------------------------------- KernelPPCA


@dataclass(frozen=True)
class KernelEvaluation(Evaluation):
    """Trials of KernelPPCA: one Gram matrix and one eigendecomposition per fold, whatever q."""

    counts: list[int] | None = None
    distances: Any = None

    def __call__(self, params: Mapping[str, Any]) -> Outcome:
        with threads_for_rows(len(self.X)):
            return run_trial(lambda: self._settled(params))

    def _settled(self, params: Mapping[str, Any]) -> tuple[list[float], dict[str, Any]]:
        folds = self.fold_models(params)
        if self.counts is None:
            return [self.fold_score(fold, len(fold.model.spectrum.eigenvalues)) for fold in folds], {}
        most = min(fold.limit for fold in folds)
        found = {q: [self.fold_score(fold, q) for fold in folds] for q in self.counts if q <= most}
        scores = {q: of_folds for q, of_folds in found.items() if np.isfinite(of_folds).all()}
        if not scores:
            raise ValueError(
                f"no n_components of {self.counts[0]}..{self.counts[-1]} could be fitted and scored on every fold."
            )
        # a pre-image is shown the whole row, so that further components rarely hurt, and rarely help
        chosen = parsimonious(scores)
        return scores[chosen], {"n_components": chosen}

    def fold_models(self, params: Mapping[str, Any]) -> list[FoldModel]:
        """The largest model of every fold at a setting of the kernel."""
        template = with_params(self.estimator, params)
        most = None if self.counts is None else self.counts[-1]
        return [FoldModel.fit(template, self, number, most) for number in range(len(self.folds))]

    def fold_score(self, fold: FoldModel, q: int) -> float:
        """The objective of the model with q components on the fold's held-out rows; nan where there is none."""
        try:
            return float(self.objective(fold.at(q), self.X[self.folds[fold.number][1]], None))
        except ValueError:
            return float("nan")


@dataclass(frozen=True)
class FoldModel:
    """The largest model of a fold; :meth:`at` cuts it to q components."""

    evaluation: KernelEvaluation
    number: int
    template: Any
    kernel: Any
    gram: Array
    model: Any
    limit: int
    seen: dict[Any, Projection] = field(default_factory=dict)
    fitted: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def fit(cls, template: Any, evaluation: KernelEvaluation, number: int, most: int | None) -> FoldModel:
        train = evaluation.folds[number][0]
        rows = evaluation.X[train]
        kernel = as_kernel(template.kernel).resolve(rows)
        gram = evaluation.distances.gram(kernel, train, train)
        if gram is None:
            gram = np.asarray(kernel(rows), dtype=np.float64)
        if not np.isfinite(gram).all():
            raise ValueError(f"kernel values not finite: {kernel!r} overflows on these data.")
        n = len(train)
        dim = float(template.noise_dim) if is_count(template.noise_dim) else float(n)
        sample = DualSample(kernel, rows, DenseGram(gram), np.full(n, 1.0 / n), dim, template.center)
        count = template.n_components if most is None else min(most, sample.max_components)
        noise = template.noise_variance if most is None else "ml"
        model = fit_latent_model(sample, count, Eigh(), noise, default_fraction=DEFAULTS.explained)
        return cls(evaluation, number, template, kernel, gram, model, sample.max_components)

    def kernel_rows(self, Y: Any) -> Array:
        """k(Y, training rows)."""
        train = self.evaluation.folds[self.number][0]
        shared = self.evaluation.distances.against(self.kernel, Y, train, self.number)
        return np.asarray(self.kernel(Y, self.evaluation.X[train]), dtype=np.float64) if shared is None else shared

    def project(self, Y: Any) -> Projection:
        """What the largest model sees of rows, once for all q."""
        Y = np.ascontiguousarray(Y, dtype=np.float64)
        key = digest(Y)
        if key not in self.seen:
            rows_only = self.model.subspace.without_map()
            self.seen[key] = rows_only.project(self.kernel_rows(Y), self.kernel.diagonal(Y))
        return self.seen[key]

    def preimage(self, gaussian: LatentGaussian) -> Any:
        """The pre-image of a cut model, fitted; the smoother does not look at scores and so serves every q."""
        if "smoother" in self.fitted:
            return self.fitted["smoother"]
        given = self.template.preimage
        # "auto" is judged by what it starts from: to choose a method in each trial would cost more than the trial
        given = "smoother" if is_auto(given) else given
        method = clone(as_preimage(given, kernel=self.kernel))
        rows = self.evaluation.X[self.evaluation.folds[self.number][0]]
        vectors = self.model.spectrum.eigenvectors[:, : gaussian.n_components]
        method.fit(rows, self.gram, kernel=self.kernel, scores=vectors * np.sqrt(gaussian.eigenvalues * len(rows)))
        if isinstance(method, KernelSmoother):
            self.fitted["smoother"] = method
        return method

    def at(self, q: int) -> CutModel:
        """The model with q components, or as many as the rank allows."""
        spectrum = self.model.spectrum.leading(q)
        whole = self.model.subspace
        noise = resolve_noise(self.template.noise_variance, spectrum, whole.dim)
        gaussian = LatentGaussian(spectrum.eigenvalues, noise, whole.dim)
        return CutModel(self, gaussian, whole.without_map().take(q))


@dataclass(frozen=True)
class CutModel:
    """As much of KernelPPCA as the objectives ask for."""

    fold: FoldModel
    gaussian: LatentGaussian
    subspace: Any

    def _project(self, X: Table) -> Projection:
        whole = self.fold.project(X)
        return replace(whole, scores=whole.scores[:, : self.gaussian.n_components])

    def scores(self, X: Table) -> Array:
        return self._project(X).scores

    def residual(self, X: Table) -> Array:
        return self.gaussian.residual(self._project(X))

    def reconstruct(self, X: Table) -> Array:
        scores = self.gaussian.decode(self.gaussian.posterior(self._project(X)).mean)
        preimage = self.fold.preimage(self.gaussian)
        return np.asarray(preimage.transform(self.subspace.embed(scores), self.subspace.kernel_values(scores)))


def fast_evaluation(plan: Any) -> Evaluation | None:
    """The shared evaluation that serves a search, or None where every trial has to be fitted on its own.

    It serves KernelPPCA with exact solvers and dense rows, by an objective that looks at projections only.
    """
    from gramian.estimators.kernel_ppca import KernelPPCA

    model, counts = plan.estimator, counts_of(plan.space)
    if (
        type(model) is not KernelPPCA
        or plan.fit_params
        or plan.name not in _SHARED_OBJECTIVES
        or counts == []
        or not only_kernel(plan.space)
    ):
        return None
    if model.approximation is not None or model.noise_dim == "rank" or model.solver not in ("auto", "eigh"):
        return None
    if _is_precomputed(plan) or (counts is None and model.n_components == "auto"):
        return None  # a kernel matrix; or a q that each fit chooses for itself
    table = dense_table(plan.X)
    if table is None:
        return None
    settles = () if counts is None else ("n_components",)
    return KernelEvaluation(
        model, plan.objective, table, None, plan.folds, {}, None, settles, counts=counts, distances=Distances.of(table)
    )


def _is_precomputed(plan: Any) -> bool:
    from gramian.kernels import is_precomputed

    dimension = plan.space.dimensions.get("kernel")
    choices = dimension.choices if isinstance(dimension, Category) else (plan.estimator.kernel,)
    return any(is_precomputed(choice) for choice in choices)
