"""What objects in files of earlier releases lack: attributes that later releases added, from what the file does hold.

A file keeps its format version as long as a new attribute can be worked out from the others. Attributes with a value of the
class, fields of dataclasses with a default and parameters of constructors need no entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gramian._arrays import Array


def _same(value: float, n: int) -> Array:
    """n times one number, stored once: a file that claims a large n costs no memory."""
    return np.broadcast_to(np.float64(value), (n,))


ADDED: dict[str, dict[str, Callable[[Mapping[str, Any]], Any]]] = {
    "PPCA": {
        # every row counted for every column, which is exact for rows without holes
        "_column_weights": lambda state: _same(float(state["n_samples_"]), len(state["mean_"])),
    },
    "MultiViewRKM": {"_widths": lambda state: [len(columns) for columns in state["_columns"]]},
    "KernelPPCAMixture": {"_width": lambda state: max(state["n_components_"])},
    "preimage.KernelSmoother": {"half_diagonal_": lambda state: None},  # of kernels whose diagonal is constant
    "LatentImputer": {
        "_units": lambda state: None,  # the columns were taken as they are
        "std_scales_": lambda state: _same(1.0, int(state["n_features_in_"])),  # and the law as it is
        "_spreads": lambda state: _same(0.0, int(state["n_features_in_"])),
    },
}
"""Name in the registry -> attribute -> its value from the rest of the state."""

FITTED = {
    "PPCA": "components_",
    "LatentImputer": "estimator_",
    "MultiViewRKM": "latents_",
    "KernelPPCAMixture": "weights_",
    "preimage.KernelSmoother": "X_",
}
"""The attribute that a model has once it is fitted: before, nothing is added."""


def complete(name: str, state: dict[str, Any]) -> None:
    """Put into ``state`` what the release that wrote it did not know."""
    if FITTED.get(name, name) not in state:
        return
    for attribute, value in ADDED.get(name, {}).items():
        if attribute not in state:
            state[attribute] = value(state)
