"""Figures 2, 3, 5, 7 and tables 2, 3 of Achten et al. as numbers, and the laser of figures 4 and 6: docs/views.md.

Run with ``python -m experiments.ac_figures`` (``--write`` puts the tables into the page). The laser needs GRAMIAN_DATA.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments._page import write_block
from gramian.datasets import make_sum_of_sines
from gramian.features import RandomFourier
from gramian.kernels import RBF
from gramian.papers._recursion import forecast
from gramian.papers.ac_claims import FOUR, LAGS, WIDTH, Q

PAGE = Path(__file__).resolve().parents[1] / "docs" / "views.md"


def sines() -> list[str]:
    """Figures 2, 3 and table 2: the forecasts of 100 steps with 1 to 4 components, by all four algorithms."""
    series = make_sum_of_sines(500)
    lines = [
        "| components | " + " | ".join(FOUR) + " | largest difference |",
        "|---" * 6 + "|",
    ]
    for q in (1, 2, 3, 4):
        settings: dict[str, Any] = {"tol": 1e-12, "max_iter": 20_000, "random_state": 0}
        forecasts = [forecast(series[:400], 100, 40, q, **how, **settings) for how in FOUR.values()]
        errors = [np.mean((f - series[400:]) ** 2) for f in forecasts]
        apart = max(np.abs(f - forecasts[0]).max() for f in forecasts)
        lines.append(f"| {q} | " + " | ".join(f"{e:.3g}" for e in errors) + f" | {apart:.1e} |")
    return lines


def laser() -> list[str]:
    """Figures 4, 6 and table 3: random Fourier features (5000), lag 70, width 2.1856, 144 components, noise 0."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "santafe_laser.npz") as data:
        train, test = data["train"], data["test"]
    features = RandomFourier(RBF(WIDTH), 5000, random_state=0)
    cases: dict[str, dict[str, Any]] = {
        "primal, eigh": {"kernel": features, "space": "primal", "solver": "eigh"},
        "dual, eigh": {"kernel": features, "space": "dual", "solver": "eigh"},
        "dual, exact kernel": {"kernel": RBF(WIDTH), "space": "dual", "solver": "eigh"},
    }
    lines = ["| model | mean squared error | of the training variance | CPU seconds |", "|---|---|---|---|"]
    forecasts = {}
    for name, options in cases.items():
        begin = time.process_time()
        forecasts[name] = forecast(train, 100, LAGS, Q, **options)
        seconds = time.process_time() - begin
        error = float(np.mean((forecasts[name] - test) ** 2))
        lines.append(f"| {name} | {error:.4f} | {error / train.var():.4f} | {seconds:.0f} |")
        print(lines[-1], flush=True)
    apart = np.abs(forecasts["primal, eigh"] - forecasts["dual, eigh"]).max()
    lines += [
        "",
        f"Largest difference between the primal and the dual forecast over 100 steps: {apart:.1e} (the series spans 2 to 255).",
    ]
    return lines


def main() -> None:
    write = "--write" in sys.argv
    found = {"ac-sines": sines()}
    print("\n".join(found["ac-sines"]), flush=True)
    if "GRAMIAN_DATA" in os.environ:
        found["ac-laser"] = laser()
        print("\n".join(found["ac-laser"]))
    if write:
        for name, lines in found.items():
            write_block(PAGE, name, lines)


if __name__ == "__main__":
    main()
