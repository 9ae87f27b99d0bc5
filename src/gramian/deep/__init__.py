"""Trained feature maps: encoders and decoders learnt together with the latent model (needs torch) [11].

Everything is imported on first use. Without torch the error names what to install.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {"DeepRKM": "gramian.deep.deep_rkm", "TorchMap": "gramian.deep.torch_map"}

__all__ = ["DeepRKM", "TorchMap", "nets"]


def __getattr__(name: str) -> Any:
    if name == "nets":
        return import_module("gramian.deep.nets")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'gramian.deep' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
