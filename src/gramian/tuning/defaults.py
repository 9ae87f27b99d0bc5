"""What to search, and by which objective, when the user says nothing: one table by the name of the estimator's class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from gramian._checks import check_table, is_auto
from gramian._types import Table
from gramian.kernels import Kernel
from gramian.tuning.space import Category, Dimension, Integer, Real, Space, build_space, named_object, parse_dimension


@dataclass(frozen=True)
class Shape:
    """What the default ranges depend on: the rows that a fold trains on, the columns, the widest of them."""

    n_train: int
    n_features: int
    n_smallest_class: int


def default_key(estimator: BaseEstimator) -> str | None:
    """The row of the table that an estimator belongs to; a pipeline belongs to that of its last step."""
    final = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    for base in type(final).__mro__:
        if base.__name__ in DEFAULTS and base.__module__.startswith("gramian."):
            return base.__name__
    return None


def default_objective(estimator: BaseEstimator, space: Space | None = None) -> str | None:
    """The name of the objective, or None for the estimator's own ``score``.

    A kernel mixture's likelihood compares numbers of clusters and of components, not kernels or noises; where the space moves
    these, reconstruction takes its place.
    """
    key = default_key(estimator)
    if key is None:
        return None
    objective = DEFAULTS[key].objective
    if objective == "log_likelihood" and space is not None and moves_the_measure(estimator, space):
        return "reconstruction"
    return objective


def moves_the_measure(estimator: BaseEstimator, space: Space) -> bool:
    """Whether the space holds parameters that change the space in which a dual model's density is measured."""
    final = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    final = getattr(final, "estimator", None) or final
    if "kernel" not in final.get_params(deep=False):
        return False
    words = {word for name in space.dimensions for word in name.split("__")}
    fixed = {"kernel", "noise_dim"} | ({"noise_variance"} if "Mixture" in type(final).__name__ else set())
    return bool(words & fixed)


def default_space(estimator: BaseEstimator, X: Table, shape: Shape) -> Space:
    """The space of the table's row, as far as it is one: what has a single value left is not searched."""
    key = default_key(estimator)
    if key is None:
        raise ValueError(
            f"space=None: there is no default space for {type(estimator).__name__}. Give a dict from parameter names to dimensions."
        )
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    final = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    dimensions = DEFAULTS[key].space(final, X, shape)
    kept = {
        f"{prefix}{name}": dimension
        for name, dimension in dimensions.items()
        if isinstance(dimension, Category) or dimension.low < dimension.high
    }
    return build_space(kept, estimator)


# ---------------------------------------------------------------- rows of the table


def _count(low: int, high: int) -> Integer:
    """A count that is searched on a log scale: between 1 and 2 there is as much to see as between 50 and 100."""
    return Integer(float(low), float(max(low, high)), log=low > 0)


def kernel_dimensions(name: str, kernel: Any, X: Table) -> dict[str, Dimension]:
    """Ranges of a kernel's own parameters: length scales around the median distance, the rest around their usual values."""
    kernel = named_object(name, kernel)
    if not hasattr(kernel, "get_params"):
        return {}
    params = kernel.get_params(deep=True)
    found: dict[str, Dimension] = {}
    for parameter in params:
        if parameter.split("__")[-1] == "length_scale":
            middle = usual_distance(X)
            if isinstance(kernel, Kernel):
                middle = kernel.typical_distance(middle, np.shape(X)[1])
            found[f"{name}__{parameter}"] = Real(middle / 20.0, middle * 20.0, log=True)
    for parameter, dimension in getattr(kernel, "search", {}).items():
        found[f"{name}__{parameter}"] = parse_dimension(f"{name}__{parameter}", dimension)
    return found


def usual_distance(X: Table) -> float:
    """The median heuristic, as the kernels themselves resolve it; 1 where all rows are equal."""
    from gramian.kernels import RBF

    table = check_table(None, X, reset=False, missing=True, accept_sparse=True)
    table = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=float)
    table = table[np.isfinite(table).all(axis=1)]
    if len(np.unique(table, axis=0)) < 2:
        return 1.0
    return float(RBF(length_scale="median").resolve(table).length_scale)


def _ppca(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    most = max(0, min(shape.n_train - 1, shape.n_features - 1))
    if most == 0:
        return {"n_components": Category((0,))}  # one column: a Gaussian, without a latent
    return {"n_components": Integer(0.0, float(most)) if most <= 20 else _count(1, most)}


def _kernel_ppca(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    return {
        **kernel_dimensions("kernel", estimator.kernel, X),
        # beyond half of the rows hardly any noise is left, and at the rank none: then there is no density
        "n_components": _count(1, min(shape.n_train // 2, 100)),
    }


def _ppca_mixture(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    return {
        "n_clusters": Integer(1.0, float(max(1, min(8, shape.n_train // 10)))),
        "n_components": _count(1, min(shape.n_features - 1, max(1, shape.n_train // 20))),
    }


def _kernel_mixture(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    return {
        "n_clusters": Integer(1.0, float(max(1, min(6, shape.n_train // 10)))),
        "n_components": _count(1, min(10, max(1, shape.n_train // 20))),
    }


def _classifier(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    return {
        **kernel_dimensions("kernel", estimator.kernel, X),
        "n_components": _count(1, min(50, shape.n_smallest_class - 1)),
    }


def _views(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    return {
        "n_components": _count(1, min(50, shape.n_features - 1, shape.n_train - 1)),
        "noise_variance": Category((0.0, "ml", "per-view")),
    }


def _deep(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    return {
        "n_components": _count(1, min(50, shape.n_train - 1)),
        "learning_rate": Real(2e-4, 2e-2, log=True),
    }


def _rkm(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    return {
        **kernel_dimensions("kernel", estimator.kernel, X),
        "n_components": _count(1, min(100, shape.n_train - 2)),
    }


def _forecaster(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    most = max(2, min(60, shape.n_train // 5))
    found: dict[str, Dimension] = {
        "lags": _count(min(2, most), most),
        "n_components": _count(1, max(1, min(150, shape.n_train - most - 2))),
    }
    # a kernel that the model chooses itself has no width to search
    kernel = None if is_auto(estimator.kernel) else named_object("kernel", estimator.kernel)
    if "length_scale" in getattr(kernel, "get_params", dict)():
        # standardised windows of p values lie about sqrt(2 p) apart
        found["kernel__length_scale"] = Real(0.3, 30.0, log=True)
    return found


def _dynamic(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    return {
        "n_components": _count(1, min(6, shape.n_features - 1)),
        "order": _count(1, max(1, min(3, shape.n_train // 20))),
    }


def _face(estimator: BaseEstimator, X: Table, shape: Shape) -> dict[str, Dimension]:
    """An estimator that holds another model: the space of that model, under its name."""
    inner = estimator.estimator
    if inner is None:  # the default model has no parameters to set before it exists, so whole models are offered
        from gramian.estimators.ppca import PPCA

        most = max(0, min(shape.n_train - 1, shape.n_features - 1))
        counts = sorted(set(np.rint(np.geomspace(1, most, 12)).astype(int).tolist())) if most else [0]
        return {"estimator": Category(tuple(PPCA(q) for q in counts))}
    key = default_key(inner)
    rows = DEFAULTS[key].space(inner, X, shape) if key else {}
    return {f"estimator__{name}": dimension for name, dimension in rows.items()}


@dataclass(frozen=True)
class Default:
    """A row of the table."""

    objective: str | None
    space: Callable[[Any, Any, Shape], dict[str, Dimension]]


DEFAULTS: dict[str, Default] = {
    "PPCA": Default("log_likelihood", _ppca),
    "KernelPPCA": Default("reconstruction", _kernel_ppca),
    "PPCAMixture": Default("log_likelihood", _ppca_mixture),
    "KernelPPCAMixture": Default("log_likelihood", _kernel_mixture),
    "KernelPPCAClassifier": Default("accuracy", _classifier),
    "MultiViewRKM": Default("reconstruction", _views),
    "DeepRKM": Default("reconstruction", _deep),
    "RKMRegressor": Default(None, _rkm),
    "RKMClassifier": Default("accuracy", _rkm),
    "RKMForecaster": Default("forecast", _forecaster),
    "DynamicPPCA": Default("forecast", _dynamic),
    "LatentImputer": Default("reconstruction", _face),
    "LatentOutlierDetector": Default("log_likelihood", _face),
}
