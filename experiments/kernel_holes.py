"""LatentImputer("auto") beside the default on real tables: a fifth of the cells hidden, errors, intervals and CPU.

``python -m experiments.kernel_holes [decide report] [--most 20] [--file RUNS.json] [--write]``. At most 300 x 15 of each table, the first tables of a half by name that are complete, at most two of a
package. The first ten of the half to report were looked at in an earlier session, the others were not. ``--file`` keeps what has ended; ``--write`` puts the tables into docs/imputation.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from experiments._page import write_block
from experiments._runs import Run, run_once
from experiments._tables import RealTable, tables
from gramian import LatentImputer
from gramian.datasets import make_missing

PAGE = Path(__file__).parents[1] / "docs" / "imputation.md"
MOST_ROWS, MOST_COLUMNS, PER_PACKAGE, FIRST = 300, 15, 2, 10
FAMILIES = ("PPCA", "PPCAMixture(3)", "PPCAMixture(6)", "KernelPPCA")


def error(found: np.ndarray, X: np.ndarray, holes: np.ndarray) -> float:
    """Root mean square over the hidden cells, in deviations of the columns."""
    return float(np.sqrt(np.mean(((found - X) / X.std(axis=0))[holes] ** 2)))


def geometric(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else np.nan


def run(X: np.ndarray) -> Run:
    """Errors of the default and of "auto", what was chosen, what intervals cover, and the CPU of both."""
    shown = make_missing(X, 0.2, random_state=0)
    holes = np.isnan(shown)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        linear = error(LatentImputer().fit_transform(shown), X, holes)
        middle = time.process_time()
        model = LatentImputer("auto").fit(shown)
        filled, std = model.impute(shown, return_std=True)
        end = time.process_time()
    chosen = model.model_selection_.chosen["estimator"] if hasattr(model, "model_selection_") else "PPCA"
    return {
        "linear": linear,
        "auto": error(filled, X, holes),
        "mean": error(np.where(holes, np.nanmean(shown, axis=0), X), X, holes),
        "covered": float(np.mean(np.abs(filled - X)[holes] < 1.645 * std[holes])),
        "cells": float(holes.sum()),
        "chosen": float(FAMILIES.index(chosen)),
        "before": middle - start,
        "after": end - middle,
    }


def some(half: str, most: int) -> list[tuple[RealTable, np.ndarray]]:
    """Tables that are complete and large enough, cut."""
    found: list[tuple[RealTable, np.ndarray]] = []
    packages: Counter[str] = Counter()
    for table in tables(half):
        X = table.X[:MOST_ROWS, :MOST_COLUMNS]
        package = table.name.split("/")[0]
        if table.holes or len(X) < 60 or (X.std(axis=0) == 0).any() or packages[package] == PER_PACKAGE:
            continue
        packages[package] += 1
        found.append((table, X))
        if len(found) == most:
            break
    return found


def lines(half: str, most: int, file: Path | None) -> list[str]:
    """A row per table, and their means."""
    told = [
        "| table | rows x columns | error over the default's | over the mean's | chosen | 90 % intervals | s of CPU (default) |",
        "|---|---|---|---|---|---|---|",
    ]
    ratios, covered, cells = [], [], []
    for table, X in some(half, most):
        found = run_once(file, f"{half} {table.name}", lambda X=X: run(X))
        ratios.append(found["auto"] / found["linear"])
        covered.append(found["covered"])
        cells.append(found["cells"])
        told.append(
            f"| {table.name} | {X.shape[0]} x {X.shape[1]} | {ratios[-1]:.3f} | {found['auto'] / found['mean']:.3f} | {FAMILIES[int(found['chosen'])]} "
            f"| {100 * covered[-1]:.1f} % | {found['after']:.1f} ({found['before']:.1f}) |"
        )
    told += [
        "",
        f"{half}: {len(ratios)} tables, geometric mean {geometric(ratios):.3f} (first {FIRST} {geometric(ratios[:FIRST]):.3f}, others {geometric(ratios[FIRST:]):.3f}), largest {max(ratios):.3f}; intervals cover {100 * np.average(covered, weights=cells):.1f} % of all hidden cells, "
        f"{100 * min(covered):.1f} to {100 * max(covered):.1f} % of a table's.",
    ]
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("halves", nargs="*", default=["decide", "report"])
    parser.add_argument("--most", type=int, default=20)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    told: list[str] = []
    for half in given.halves:
        told += [*lines(half, given.most, given.file), ""]
    print("\n".join(told))
    if given.write:
        write_block(PAGE, "kernel_holes", told[:-1])


if __name__ == "__main__":
    main()
