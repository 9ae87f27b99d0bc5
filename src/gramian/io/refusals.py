"""Why a value cannot be saved, and what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np


def refusal(value: Any, path: str) -> str:
    """The message about a value of no class that model files hold; ``path`` says where it was met."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return (
            f"{path} is a random generator, which cannot be saved: call set_params(random_state=None), or an "
            "integer seed, first."
        )
    if any(base.__module__.startswith("torch.nn") for base in type(value).__mro__):
        return (
            f"{path} is the torch module {type(value).__name__}, which cannot be saved: a model file holds data, never code. "
            "Use a net from a spec (gramian.deep.nets.MLP, nets.Conv), or keep the module's state_dict() yourself and fit again "
            "with max_epochs=0."
        )
    if callable(value) and not hasattr(value, "get_params"):
        name = getattr(value, "__qualname__", kind)
        return (
            f"{path} is the callable {name!r}, which cannot be saved: a model file holds data, never code. "
            "Use a kernel of gramian.kernels (sums and products included), or fit on the Gram matrix with "
            "kernel='precomputed'."
        )
    if hasattr(value, "best_estimator_"):
        return (
            f"{path} is a {type(value).__name__}, which cannot be saved in a model file. Save its best_estimator_, which is "
            "all that predicting needs."
        )
    if kind.startswith("sklearn.pipeline"):
        return (
            f"{path} is a {type(value).__name__}, which cannot be saved in a model file. Save its gramian step, "
            "or the whole with skops.io.dump."
        )
    return (
        f"{path} is a {kind}, which cannot be saved: model files hold gramian's own estimators, kernels, feature maps, "
        "solvers and pre-images only. For other scikit-learn objects use skops.io.dump."
    )
