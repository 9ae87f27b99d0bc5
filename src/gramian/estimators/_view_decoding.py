"""From principal scores back to the inputs of a view: exact where it is linear, by the map's own inverse, or through a pre-image [4, 8]."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian.estimators._preimages import inputs_of, warn_unsettled
from gramian.kernels import Precomputed
from gramian.latent.view_subspace import ViewPart
from gramian.latent.views import ExplicitView, KernelView, View
from gramian.preimage import preimage_for


def needs_preimage(view: View) -> bool:
    """Whether neither the view itself nor its feature map leads back to inputs, and there are inputs to learn the way from."""
    return view.points is not None


def fitted_preimage(view: View, preimage: Any, scores: Array | None) -> Any:
    """The pre-image of a view over its rows; None where none is needed."""
    if not needs_preimage(view):
        return None
    few: View = view.anchors
    scores = scores if few is view else None
    view = few
    feature_map = view.feature_map if isinstance(view, ExplicitView) else None
    kernel: Any = view.kernel if isinstance(view, KernelView) else getattr(feature_map, "kernel_", Precomputed())
    method = preimage_for(kernel, preimage)
    method = clone(method) if hasattr(method, "get_params") else method
    uniform = np.full(view.n_rows, 1 / view.n_rows)
    gram = view.gram(uniform).to_dense() if getattr(method, "needs_gram", True) else None
    return method.fit(view.points, gram, kernel=kernel, scores=scores)


def decoded_inputs(part: ViewPart, scores: Array, method: Any, name: Any) -> Array:
    """Inputs of a view from principal scores (n, q)."""
    subspace: Any = part.subspace
    unscaled = part.unscaled(scores)
    inputs = subspace.inputs(unscaled)
    if inputs is not None:
        return inputs
    if method is None:
        raise ValueError(f"View {name!r} has a precomputed kernel, so there are no inputs to map back to.")
    weights, values = subspace.embed(unscaled), subspace.kernel_values(unscaled)
    rows, info = inputs_of(method, weights, values)
    warn_unsettled(info, of=f" of view {name!r}")
    return np.asarray(rows, dtype=np.float64)
