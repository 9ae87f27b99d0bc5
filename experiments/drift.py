"""Drift charts: rows until a false alarm, and until a shift is found, beside the limits of single rows.

Run with ``python -m experiments.drift [--repeats 200] [--write]``. Rows of a model with 8 columns and 2 latents; fits on n of them, then a stream without a
change, and streams whose column 3 is moved by a multiple of its noise. `--write` puts the table into docs/ppca.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from experiments._page import write_block
from gramian import PPCA

COLUMNS, LATENTS, NOISE, LENGTH = 8, 2, 0.5, 4000
CHARTS = ("ewma_t2", "ewma_spe", "cusum_t2", "cusum_spe")


def rows(n: int, W: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, LATENTS)) @ W + NOISE * rng.standard_normal((n, COLUMNS))


def first(beyond: np.ndarray) -> int:
    """The number of rows until the first alarm, the length of the stream without one."""
    return int(np.argmax(np.append(beyond, True))) + 1


def measured(n: int, shift: float, repeats: int, run_length: float) -> np.ndarray:
    """Mean rows until an alarm: of each chart, of any of them, and of single rows beyond limits with the same run length."""
    found = []
    for repeat in range(repeats):
        rng = np.random.default_rng([n, repeat])
        W = rng.standard_normal((LATENTS, COLUMNS))
        model = PPCA(n_components=LATENTS).fit(rows(n, W, rng))
        stream = rows(LENGTH, W, rng)
        stream[:, 3] += shift * NOISE
        drift, single = model.drift(stream, run_length=run_length), model.anomaly(stream, level=1 - 1 / run_length)
        charts = [first(getattr(drift, name) > drift.limit_of(name)) for name in CHARTS]
        found.append([*charts, first(drift.alarms), first(single.flags)])
    return np.mean(found, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--run-length", type=float, default=1000.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    head = [
        "rows fitted",
        "shift of one column",
        *(name.replace("_", " ").upper().replace("T2", "T²") for name in CHARTS),
        "any chart",
        "single rows",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for n in (100, 1000, 10_000):
        for shift in (0.0, 1.0, 2.0):
            values = measured(n, shift, options.repeats, options.run_length)
            lines.append(
                f"| {n:,} | {shift:g} deviations of its noise | "
                + " | ".join(f"{value:,.0f}" for value in values)
                + " |"
            )
            print(lines[-1], flush=True)
    if options.write:
        write_block(Path(__file__).parents[1] / "docs" / "ppca.md", "drift", lines)


if __name__ == "__main__":
    main()
