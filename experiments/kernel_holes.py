"""LatentImputer("auto") beside the default on real tables: a fifth of the cells hidden, errors, intervals and CPU.

``python -m experiments.kernel_holes report [--most N]``. At most 300 x 15 of each table, the first N tables of the half by name that are complete.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from experiments._tables import tables
from gramian import LatentImputer
from gramian.datasets import make_missing

MOST_ROWS, MOST_COLUMNS = 300, 15


def error(found: np.ndarray, X: np.ndarray, holes: np.ndarray) -> float:
    """Root mean square over the hidden cells, in deviations of the columns."""
    return float(np.sqrt(np.mean(((found - X) / X.std(axis=0))[holes] ** 2)))


def main(half: str = "report", most: int = 10) -> None:
    ratios, inside = [], []
    for table in tables(half):
        X = table.X[:MOST_ROWS, :MOST_COLUMNS]
        if table.holes or len(X) < 60 or (X.std(axis=0) == 0).any():
            continue
        shown = make_missing(X, 0.2, random_state=0)
        holes = np.isnan(shown)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            linear = error(LatentImputer().fit_transform(shown), X, holes)
            start = time.process_time()
            model = LatentImputer("auto").fit(shown)
            filled, std = model.impute(shown, return_std=True)
            seconds = time.process_time() - start
        covered = np.abs(filled - X)[holes] < 1.645 * std[holes]
        ratios.append(error(filled, X, holes) / linear)
        inside.append(covered.mean())
        chosen = model.model_selection_.chosen["estimator"] if hasattr(model, "model_selection_") else "PPCA"
        print(
            f"{table.name:40s} {X.shape} {chosen:15s} {ratios[-1]:.3f} covers {inside[-1]:.3f} {seconds:.1f} s",
            flush=True,
        )
        if len(ratios) == most:
            break
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(
        f"{half}: {len(ratios)} tables, geometric mean {mean:.3f}, largest {max(ratios):.3f}, covered {np.mean(inside):.3f}"
    )


if __name__ == "__main__":
    main(*(sys.argv[1:2] or ["report"]), int(sys.argv[sys.argv.index("--most") + 1]) if "--most" in sys.argv else 10)
