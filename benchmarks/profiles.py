"""`python -m benchmarks.profiles [N]`: where the CPU time of every default fit goes, by function, at N rows (2,000)."""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks._timing import threads
from benchmarks.bench_growth import FITS, Fit

SHOWN = 5


def where(file: str, name: str) -> str:
    """A function, by the module that holds it."""
    if file == "~":
        return name.strip("<>")
    parts = Path(file).with_suffix("").parts
    for package in ("gramian", "sklearn", "scipy", "numpy"):
        if package in parts:
            return ".".join([*parts[parts.index(package) :], name])
    return f"{parts[-1]}.{name}"


def shares(fit: Fit, n: int) -> tuple[float, list[tuple[float, str]]]:
    """CPU seconds of a fit, and the functions with the largest own shares of them."""
    X, y = fit.data(n)
    given: tuple[Any, ...] = (X,) if y is None else (X, y)
    profile = cProfile.Profile(time.process_time)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit.ours().fit(*given)  # what is imported or compiled on first need
        profile.runcall(fit.ours().fit, *given)
    stats: Any = pstats.Stats(profile)
    own = sorted(((entry[2], where(key[0], key[2])) for key, entry in stats.stats.items()), reverse=True)
    return stats.total_tt, own[:SHOWN]


def main(n: int) -> None:
    print("| fit | CPU | most of it |\n|---|---|---|")
    with threads(1):
        for fit in FITS:
            total, own = shares(fit, n)
            words = ", ".join(f"`{name}` {seconds / total:.0%}" for seconds, name in own if seconds >= 0.03 * total)
            print(f"| {fit.words}, N = {n:,} | {total:.2f} s | {words} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
