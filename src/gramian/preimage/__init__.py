"""Pre-images: from a point of feature space back to an input; one file per method, one table of names, one call of them [4]."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array
from gramian._plug_ins import Rows
from gramian.exceptions import warn
from gramian.kernels.base import Kernel
from gramian.preimage.base import PreImage, PreImageInfo, has_identity_features
from gramian.preimage.exact import Exact
from gramian.preimage.fixed_point import FixedPoint
from gramian.preimage.gradient import Gradient
from gramian.preimage.mds import MDS
from gramian.preimage.ridge import KernelRidge
from gramian.preimage.smoother import KernelSmoother
from gramian.preimage.transport import Transport

_OWN: dict[str, type[PreImage]] = {
    "smoother": KernelSmoother,
    "fixed_point": FixedPoint,
    "mds": MDS,
    "ridge": KernelRidge,
    "gradient": Gradient,
    "transport": Transport,
    "exact": Exact,
}
PREIMAGES = Rows("preimages", _OWN)
"""The names that ``preimage=`` accepts. Other packages add rows by entry points of the group ``gramian.preimages``."""

__all__ = [
    "MDS",
    "PREIMAGES",
    "Exact",
    "FixedPoint",
    "Gradient",
    "KernelRidge",
    "KernelSmoother",
    "PreImage",
    "PreImageInfo",
    "Transport",
    "as_preimage",
    "has_identity_features",
    "preimage_for",
]


def as_preimage(preimage: Any, **options: Any) -> Any:
    """The pre-image that ``preimage`` names, with those of the ``options`` (tol, max_iter) that it takes [4].

    An object with ``fit(X, K0, *, kernel, scores)`` and ``transform(weights, kernel_values)`` is passed on as it is.

    Parameters
    ----------
    preimage : str or object
    **options : keyword arguments
        Settings of the named method, such as ``n_neighbors``.

    Returns
    -------
    pre-image

    Examples
    --------
    >>> from gramian.preimage import as_preimage
    >>> as_preimage("smoother", n_neighbors=5)
    KernelSmoother(n_neighbors=5)
    """
    check_preimage_method(preimage)
    if not isinstance(preimage, str):
        return preimage
    made = PREIMAGES[preimage]
    return made(**{name: value for name, value in options.items() if name in signature(made).parameters})


def check_preimage_method(preimage: Any) -> None:
    """Refuse what names no pre-image and is none, without making one."""
    names = ", ".join(map(repr, PREIMAGES))
    if isinstance(preimage, str):
        if preimage not in PREIMAGES:
            raise ValueError(f"preimage={preimage!r} is not known. Use one of {names}, or a pre-image object.")
        return
    verbs = (getattr(preimage, verb, None) for verb in ("fit", "transform"))
    if isinstance(preimage, type) or not all(map(callable, verbs)):
        raise ValueError(
            f"preimage={preimage!r} is not a pre-image. Use one of {names}, or an object with "
            "fit(X, K0, *, kernel, scores) and transform(weights, kernel_values)."
        )


def preimage_for(kernel: Kernel, preimage: Any, **options: Any) -> Any:
    """As :func:`as_preimage`, but `Exact` where the kernel is linear and ``preimage`` is one of this package [4].

    Parameters
    ----------
    kernel : Kernel or its name
    preimage : str or object
    **options : keyword arguments
        As in `as_preimage`.

    Returns
    -------
    pre-image

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> from gramian.preimage import preimage_for
    >>> preimage_for(Linear(), "smoother")
    Exact()
    """
    found = as_preimage(preimage, **options)
    return Exact() if isinstance(found, PreImage) and has_identity_features(kernel) else found


def by_scores(method: Any) -> bool:
    """Whether a fitted pre-image that is given scores leaves the weights alone."""
    return isinstance(method, PreImage) and not method.linear_ and bool(method.inverts_scores)


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
