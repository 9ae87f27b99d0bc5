"""Contracts that kernels, feature maps, solvers and pre-images of your own can be run against."""

from importlib import import_module
from typing import Any

_HOMES = {
    "check_feature_map": "gramian.testing.feature_contract",
    "check_kernel": "gramian.testing.kernel_contract",
    "check_preimage": "gramian.testing.preimage_contract",
    "check_solver": "gramian.testing.solver_contract",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'gramian.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
