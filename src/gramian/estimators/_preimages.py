"""Feature points handed to a fitted pre-image: the one call, and the one warning where it did not settle [4]."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array
from gramian.exceptions import warn
from gramian.preimage import PreImage


def by_scores(method: Any) -> bool:
    """Whether a fitted pre-image that is given scores leaves the weights alone."""
    return isinstance(method, PreImage) and bool(method.inverts_scores) and not method.linear_


def inputs_of(method: Any, weights: Array, values: Array, scores: Array | None = None) -> tuple[Array, Any]:
    """Inputs of feature points by their weights γ and kernel values K₀γ, and the method's report (None where it has none).

    ``method`` is a fitted `PreImage`, which may look at the ``scores`` too, or any object with a ``transform(weights, values)``.
    """
    info: Any
    if isinstance(method, PreImage):
        rows, info = method.transform_with_info(weights, values, scores)
    elif hasattr(method, "transform_with_info"):
        rows, info = method.transform_with_info(weights, values)
    else:
        rows, info = method.transform(weights, values), getattr(method, "info", None)
    return np.asarray(rows), info


def warn_unsettled(info: Any, of: str = "") -> None:
    """Say how many pre-images did not converge."""
    converged = getattr(info, "converged", None)
    if converged is not None and not np.all(converged):
        count, total = int(np.size(converged) - np.sum(converged)), np.size(converged)
        warn(f"{count} of {total} pre-images{of} did not converge.", ConvergenceWarning)
