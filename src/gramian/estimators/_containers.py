"""Give a table back in the container it came in."""

from __future__ import annotations

from typing import Any

from gramian._arrays import Array


def like(X: Any, values: Array) -> Any:
    """``values`` as a pandas or polars frame with the names (and index) of X, if X is one; else as they are."""
    module = type(X).__module__.split(".")[0]
    if module == "pandas" and hasattr(X, "columns"):
        import pandas as pd

        return pd.DataFrame(values, index=X.index, columns=X.columns)
    if module == "polars" and hasattr(X, "columns"):
        import polars as pl

        return pl.DataFrame(values, schema=list(X.columns))
    return values
