"""Cover of filled cells on real tables whose holes follow the seen cells, or the missing ones themselves.

Run as ``python -m experiments.holes_not_at_random [decide|report] [most tables]``. Complete rows of real tables; a fifth of the cells of all columns but two
is hidden: anywhere ("at random"), where the two are large ("by seen cells"), or where the cell itself is ("by themselves"). The share of
truths inside the interval of 90 %, over all cells (each table counts alike), and in the worst tables.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks._results import git, note, noted

from experiments._tables import tables
from gramian import LatentImputer

SHARE = 0.2
STEEP = 1.5
ROWS = 400


def chances(push: Any) -> Any:
    """Probabilities that rise with ``push``, `SHARE` of them on average."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        found = 1.0 / (1.0 + np.exp(np.clip(-(middle + STEEP * push), -500, 500)))
        low, high = (middle, high) if found.mean() < SHARE else (low, middle)
    return found


def holes(rng: np.random.Generator, X: Any, kind: str) -> Any:
    """Which cells are hidden."""
    ranks = np.argsort(np.argsort(X, axis=0), axis=0) / (len(X) - 1.0) - 0.5  # outliers push no more than others
    push = {
        "at random": 0.0 * ranks,
        "by seen cells": 4.0 * ranks[:, :2].sum(axis=1)[:, None] + 0.0 * ranks,
        "by themselves": 6.0 * ranks,
    }
    hidden = rng.random(X.shape) < np.apply_along_axis(chances, 0, push[kind])
    hidden[:, :2] = False
    return hidden


def covers(which: str, most: int) -> Iterator[tuple[str, dict[str, float]]]:
    """The cover of each kind of holes, table by table."""
    count = 0
    for table in tables(which, min_rows=40, min_columns=4):
        X = table.X[~np.isnan(table.X).any(axis=1)]
        if len(X) < 40 or X.shape[1] > 30 or count >= most:
            continue
        rng = np.random.default_rng(count)
        X = X[np.sort(rng.choice(len(X), min(len(X), ROWS), replace=False))]
        count += 1
        found = {}
        for kind in ("at random", "by seen cells", "by themselves"):
            hidden = holes(np.random.default_rng([count, 7]), X, kind)
            holed = np.where(hidden, np.nan, X)
            if np.isnan(holed).all(axis=0).any() or not hidden.any():
                continue
            try:
                low, high = LatentImputer().fit(holed).interval(holed, level=0.9)
            except ValueError:
                continue
            found[kind] = float(
                np.mean((X[hidden] >= np.asarray(low)[hidden]) & (X[hidden] <= np.asarray(high)[hidden]))
            )
        yield table.name, found


def main() -> None:
    """Print and keep the covers."""
    which = sys.argv[1] if len(sys.argv) > 1 else "decide"
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    drawn: dict[str, dict[str, float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, found in covers(which, most):
            for kind, share in found.items():
                drawn.setdefault(kind, {})[name] = share
    for kind, found in drawn.items():
        shares = np.array(list(found.values()))
        worst = min(found, key=found.get)  # type: ignore[arg-type]
        print(
            f"{which}, {kind}: {shares.mean():.3f} of {len(shares)} tables, below .8 in {(shares < 0.8).sum()}, worst {shares.min():.2f} ({worst})"
        )
        kept = {"tables": len(shares), "mean": round(float(shares.mean()), 3), "below 80 %": int((shares < 0.8).sum()),
                "worst": round(float(shares.min()), 3), "name": worst, "commit": git("log", "-1", "--format=%h")}  # fmt: skip
        note("holes", noted().get("holes", {}) | {f"{which}, {kind}": kept})


if __name__ == "__main__":
    main()
