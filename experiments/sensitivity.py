"""How far the outcome of a decision moves when a tuned number of the policy is halved or doubled: ``python -m experiments.sensitivity [--write]``.

Outcomes are measured on the tables to decide on. A number that moves nothing does not belong in the policy.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.metrics import roc_auc_score

from experiments._page import write_block
from experiments._tables import tables
from gramian import PPCA, LatentOutlierDetector
from gramian import policy as numbers
from gramian.evidence import selection
from gramian.evidence import tables as choices

PAGE = Path(__file__).parents[1] / "docs" / "choosing.md"
TABLES, GROSS = 40, 0.02


def likelihood_of_usual_rows() -> float:
    """Mean over tables of the log-likelihood per column of new usual rows, where 2 % of the rows fitted are gross."""
    found = []
    for table in islice((t for t in tables("decide", max_rows=400) if not t.holes), TABLES):
        rng = np.random.default_rng(0)
        X = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0)
        X = X[rng.permutation(len(X))]
        half = len(X) // 2
        fit = X[:half].copy()
        gross = rng.random(half) < GROSS
        fit[gross] += 50.0 * rng.standard_normal((int(gross.sum()), X.shape[1]))
        model = PPCA().fit(fit)
        if model.noise_variance_ > 0:
            found.append(float(np.median(model.score_samples(X[half:]))) / X.shape[1])
    return float(np.mean(found))


def odd_rows_found() -> float:
    """Mean AUC of the detector on the problems to decide on, fitted to all rows."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "anomalies_adbench.npz") as data:
        names = [key[:-2] for key in data if key.endswith("_x") and int(key.split("_")[0]) % 4 == 0]
        found = [
            roc_auc_score(data[f"{n}_y"], -LatentOutlierDetector().fit(data[f"{n}_x"]).score_samples(data[f"{n}_x"]))
            for n in names
        ]
    return float(np.mean(found))


JOBS: dict[tuple[str, str], tuple[Callable[[], float], str]] = {
    ("Jury", "fence"): (
        likelihood_of_usual_rows,
        "log-likelihood per column of new usual rows, 2 % gross rows in the fit",
    ),
    ("Detector", "noise_floor"): (odd_rows_found, "AUC of the detector"),
}


def measured(record: object, name: str, factor: float, job: Callable[[], float]) -> float:
    """The outcome with one number multiplied."""
    changed = replace(record, **{name: factor * getattr(record, name)})
    constant = next(key for key, value in vars(numbers).items() if value is record)
    with ExitStack() as stack:
        for module in (numbers, selection, choices, sys.modules[LatentOutlierDetector.__module__]):
            if hasattr(module, constant):
                stack.enter_context(mock.patch.object(module, constant, changed))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        return job()


def lines() -> list[str]:
    """The table."""
    rows = ["| number | outcome | half | as it is | double |", "|---|---|---|---|---|"]
    for record in numbers.POLICIES:
        for (owner, name), (job, words) in JOBS.items():
            if owner == type(record).__name__:
                found = [measured(record, name, factor, job) for factor in (0.5, 1.0, 2.0)]
                rows.append(f"| {owner}.{name} | {words} | " + " | ".join(f"{value:.4f}" for value in found) + " |")
    return rows


if __name__ == "__main__":
    made = lines()
    print("\n".join(made))
    if "--write" in sys.argv:
        write_block(PAGE, "sensitivity", made)
