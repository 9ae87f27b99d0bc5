"""`as_rows`: the only door through which estimators get rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.rows.array import ArrayRows
from gramian.rows.base import Rows


def as_rows(X: Any, weights: Array | None = None, target: Array | None = None) -> Rows:
    """The rows of X, wherever they live. X has been checked by the caller; rows already made are handed on."""
    if hasattr(X, "fold") and hasattr(X, "map"):
        return X
    return ArrayRows(X, np.ones(X.shape[0]) if weights is None else weights, target)
