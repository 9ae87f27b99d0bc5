"""Fast paths: what trials of a kernel model share is computed once.

An eigendecomposition does not depend on q: the model with q components is the leading part of the one with more (`KernelPPCA.truncate`). So a
trial fits once per fold, looks at many q, and settles q itself (the smallest as good as the best, to a standard error over the folds); the
search is left with one parameter less. The scores are those of refitting, to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import is_auto, is_count
from gramian._threads import threads_for_rows
from gramian._types import Table
from gramian.evidence.held_out import ladder
from gramian.evidence.selection import choose
from gramian.policy import LOOK
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


@dataclass(frozen=True)
class KernelEvaluation(Evaluation):
    """Trials of KernelPPCA: one fit per fold, cut to every q."""

    counts: list[int] | None = None

    def __call__(self, params: Mapping[str, Any]) -> Outcome:
        with threads_for_rows(len(self.X)):
            return run_trial(lambda: self._settled(params))

    def _settled(self, params: Mapping[str, Any]) -> tuple[list[float], dict[str, Any]]:
        template = self._template(params)
        if self.counts is None:
            return [self._score(clone(template).fit(self.X[train]), test) for train, test in self.folds], {}
        scores = {q: found for q, found in self.scores(params).items() if np.isfinite(found).all()}
        if not scores:
            raise ValueError(
                f"no n_components of {self.counts[0]}..{self.counts[-1]} could be fitted and scored on every fold."
            )
        # a pre-image is shown the whole row, so that further components rarely hurt, and rarely help
        chosen = parsimonious(scores)
        return scores[chosen].tolist(), {"n_components": chosen}

    def scores(self, params: Mapping[str, Any]) -> dict[int, Array]:
        """The objective of every q on every fold, nan where there is none."""
        template, counts = self._template(params), self.counts or []
        found = np.full((len(counts), len(self.folds)), np.nan)
        for fold, (train, test) in enumerate(self.folds):
            limit = len(train) - bool(template.center)
            largest = clone(template).set_params(n_components=min(counts[-1], limit), noise_variance="ml")
            model = largest.fit(self.X[train]).set_params(noise_variance=template.noise_variance)
            for place, q in enumerate(counts):
                if q <= limit:
                    with suppress(ValueError):
                        found[place, fold] = self._score(model.truncate(min(q, model.n_components_)), test)
        return dict(zip(counts, found))

    def _template(self, params: Mapping[str, Any]) -> Any:
        """The model of a trial. A pre-image "auto" is judged by what it starts from: to choose one in each trial would cost more than the trial."""
        template = with_params(self.estimator, params)
        return template.set_params(preimage="smoother") if is_auto(template.preimage) else template

    def _score(self, model: Any, test: Array) -> float:
        return float(self.objective(model, self.X[test], None))


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
    if model.approximation is not None or model.solver not in ("auto", "eigh"):
        return None
    if _is_precomputed(plan) or (counts is None and model.n_components == "auto"):
        return None  # a kernel matrix; or a q that each fit chooses for itself
    table = dense_table(plan.X)
    if table is None:
        return None
    settles = () if counts is None else ("n_components",)
    return KernelEvaluation(model, plan.objective, table, None, plan.folds, {}, None, settles, counts=counts)


def _is_precomputed(plan: Any) -> bool:
    from gramian.kernels import is_precomputed

    dimension = plan.space.dimensions.get("kernel")
    choices = dimension.choices if isinstance(dimension, Category) else (plan.estimator.kernel,)
    return any(is_precomputed(choice) for choice in choices)
