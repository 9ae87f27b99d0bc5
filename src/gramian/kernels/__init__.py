"""Kernels: k(x, y) = <φ(x), φ(y)>, one small file each, and the table of their names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gramian.kernels.base import Kernel, finite_gram
from gramian.kernels.linear import Linear
from gramian.kernels.polynomial import Polynomial
from gramian.kernels.rbf import RBF

KERNELS: dict[str, Callable[[], Kernel]] = {
    "rbf": partial(RBF, "median"),
    "linear": Linear,
    "polynomial": Polynomial,
    "poly": Polynomial,
}
"""What a name stands for: call the entry to get the kernel. Stationary kernels take the median distance as their length scale."""


def as_kernel(kernel: Any) -> Kernel:
    """The kernel that a name or a kernel object stands for."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(
                f"kernel={kernel!r} is not known. Use one of {', '.join(map(repr, KERNELS))}, or a kernel object."
            )
        return KERNELS[kernel]()
    raise TypeError(f"kernel={kernel!r} is no kernel. Use one of {', '.join(map(repr, KERNELS))}, or a kernel object.")


__all__ = ["KERNELS", "RBF", "Kernel", "Linear", "Polynomial", "as_kernel", "finite_gram"]
