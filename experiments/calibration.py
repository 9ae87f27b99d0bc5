"""Whether 90 % means 90 %: simulated truths, the probability that each model gave them, rank histograms and coverage.

Run as ``python -m experiments.calibration [name ...] [--truths N] [--seed S]``: the simulations of experiments/simulated.py, tables drawn anew until
there are so many truths. The rank of a truth is the predictive probability below it: calibrated ones are uniform. Rows that are
no anomaly have uniform p-values: of them the share below 0.05 and 0.01 counts. What was found is printed and kept for docs/reliability.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from benchmarks._results import note, noted

from experiments.simulated import ALARMS, INTERVALS

LEVELS = (0.5, 0.8, 0.9, 0.95)
ALARM_LEVELS = (0.05, 0.01)
BINS = 10
FEWEST = 30


def coverage(probabilities: Any, level: float) -> float:
    """The share of truths inside the central interval of that level."""
    return float(np.mean(np.abs(probabilities - 0.5) <= level / 2))


def histogram(probabilities: Any) -> list[int]:
    """How many truths fall into each tenth of the predictive distribution."""
    return np.bincount(np.minimum((probabilities * BINS).astype(int), BINS - 1), minlength=BINS).tolist()


def calibration(name: str, n: int, n_truths: int, seed: int = 0, most: int = 400) -> dict[str, Any]:
    """Coverage and rank histogram by name, over simulated tables until there are so many truths of each, or ``most`` tables.

    Truths of one table share what was estimated from it: fewer than `FEWEST` tables say little however many truths they have.
    """
    simulate = (INTERVALS | ALARMS)[name][0]
    drawn: dict[str, list[Any]] = {}
    tables = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while tables < most and (
            tables < min(FEWEST, most) or min(sum(map(len, found)) for found in drawn.values()) < n_truths
        ):
            for part, below in simulate(np.random.default_rng([seed, n, tables]), n).items():
                drawn.setdefault(part, []).append(below)
            tables += 1
    return {part: _counted(np.concatenate(found), tables, name in ALARMS) for part, found in drawn.items()}


def _counted(found: Any, tables: int, alarms: bool) -> dict[str, Any]:
    shares = (
        {"alarms": {f"{level:g}": round(float(np.mean(found < level)), 4) for level in ALARM_LEVELS}}
        if alarms
        else {"coverage": {f"{level:.0%}": round(coverage(found, level), 3) for level in LEVELS}}
    )
    return {"tables": tables, "truths": len(found), "histogram": histogram(found), **shares}


def main() -> None:
    """Print and keep what was found."""
    every = INTERVALS | ALARMS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(every), help=f"of {', '.join(every)}")
    parser.add_argument("--truths", type=int, default=1500, help="truths of each")
    parser.add_argument("--seed", type=int, default=0, help="of the tables: another one than rules were decided on")
    parser.add_argument("--most", type=int, default=400, help="tables of each at most")
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=None, help="numbers of rows; as the simulation says by default"
    )
    options = parser.parse_args()
    for name in options.names:
        for n in options.sizes or every[name][1]:
            start = time.process_time()
            for part, found in calibration(name, n, options.truths, options.seed, options.most).items():
                shares = found.get("coverage", found.get("alarms"))
                print(
                    f"{part}, n = {n}: {shares} of {found['truths']}, {time.process_time() - start:.0f} s", flush=True
                )
                kept = {f"{part}, n = {n}": found | {"seed": options.seed}}
                note("calibration", noted().get("calibration", {}) | kept)


if __name__ == "__main__":
    main()
