"""Kernels: k(x, y) = <φ(x), φ(y)>, one small file each, and the table of their names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from gramian._plug_ins import Rows
from gramian.kernels.algebra import Constant, Product, Scaled, Sum
from gramian.kernels.base import Kernel
from gramian.kernels.cosine import Cosine
from gramian.kernels.function import CallableKernel
from gramian.kernels.gaussian_process import GaussianProcessKernel
from gramian.kernels.gram_checks import finite_gram
from gramian.kernels.laplacian import Laplacian
from gramian.kernels.linear import Linear
from gramian.kernels.matern import Matern
from gramian.kernels.periodic import Periodic
from gramian.kernels.polynomial import Polynomial
from gramian.kernels.precomputed import Precomputed
from gramian.kernels.rational_quadratic import RationalQuadratic
from gramian.kernels.rbf import RBF
from gramian.kernels.sigmoid import Sigmoid

_OWN: dict[str, Callable[[], Kernel]] = {
    "rbf": partial(RBF, "median"),
    "linear": Linear,
    "polynomial": Polynomial,
    "poly": Polynomial,
    "laplacian": partial(Laplacian, "median"),
    "matern": partial(Matern, "median"),
    "rational_quadratic": partial(RationalQuadratic, "median"),
    "periodic": partial(Periodic, "median"),
    "cosine": Cosine,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
}
KERNELS = Rows("kernels", _OWN)
"""What a name stands for: call the entry to get the kernel. Stationary ones take the median distance as their scale. Other packages
add rows by entry points of the group ``gramian.kernels``."""


def as_kernel(kernel: Any) -> Kernel:
    """The kernel that a name, a kernel object, a function ``k(X, Y)`` or a scikit-learn GP kernel stands for [1].

    Parameters
    ----------
    kernel : str, Kernel, callable or scikit-learn GP kernel

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from gramian.kernels import as_kernel
    >>> as_kernel("rbf")
    RBF(length_scale='median')
    """
    if isinstance(kernel, Kernel):
        return kernel
    names = ", ".join(map(repr, KERNELS))
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(f"kernel={kernel!r} is not known. Use one of {names}, or a kernel object.")
        return KERNELS[kernel]()
    if isinstance(kernel, type):
        raise TypeError(f"kernel={kernel.__name__} is a class. Make one of it: {kernel.__name__}().")
    # who has such a kernel has imported its module; importing it here would cost everyone
    processes = sys.modules.get("sklearn.gaussian_process.kernels")
    if processes is not None and isinstance(kernel, processes.Kernel):
        return GaussianProcessKernel(kernel)
    if callable(kernel):
        return CallableKernel(kernel)
    raise TypeError(f"kernel={kernel!r} is no kernel. Use one of {names}, a kernel object, or a function k(X, Y).")


def is_precomputed(kernel: Any) -> bool:
    """Whether the rows are kernel values already."""
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


__all__ = [
    "KERNELS",
    "RBF",
    "CallableKernel",
    "Constant",
    "Cosine",
    "GaussianProcessKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Periodic",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Sum",
    "as_kernel",
    "finite_gram",
]
