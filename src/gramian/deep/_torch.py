"""The one import of torch: without it the error says what to install."""

from __future__ import annotations

from typing import Any

try:
    import torch as _torch
except ImportError as error:
    raise ImportError('gramian.deep needs torch. Install it with: pip install "gramian[deep]"') from error

torch: Any = _torch
Tensor = Any
Module = Any

__all__ = ["Module", "Tensor", "torch"]
