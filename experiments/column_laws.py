"""Tables of numbers with laws of columns and without: squared error, 90 % interval score and CPU, a tenth of the cells hidden.

``python -m experiments.column_laws [decide|report] [every k-th] [from]`` prints a line for each table where some column has a law of its own, and the summary.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings

import numpy as np

from experiments._tables import tables
from gramian import LatentImputer

HIDDEN, MOST_ROWS, MOST_COLUMNS = 0.1, 200, 30


def outcome(X: np.ndarray, margins: str | None) -> tuple[float, float, float, bool]:
    """Squared error and interval score in deviations of the columns, CPU, and whether some column has a law of its own."""
    rng = np.random.default_rng(0)
    hidden = (rng.random(X.shape) < HIDDEN) & ~np.isnan(X)
    hidden &= (~np.isnan(X) & ~hidden).any(axis=1)[:, None]
    table, unit = np.where(hidden, np.nan, X), np.nanstd(X, axis=0)
    start = time.process_time()
    model = LatentImputer(margins=margins).fit(table)
    full = model.transform(table)
    seconds = time.process_time() - start
    low, high = model.interval(table)
    score = high - low + 20.0 * (np.maximum(low - X, 0.0) + np.maximum(X - high, 0.0))
    squared = float(np.mean(np.square((full - X) / unit)[hidden]))
    return squared, float(np.mean((score / unit)[hidden])), seconds, model._margins is not None


def main(which: str, step: int, first: int) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        found = [
            t for t in tables(which, min_rows=40, min_columns=5, max_rows=MOST_ROWS) if t.X.shape[1] <= MOST_COLUMNS
        ]
    ratios, seconds, taken = [], [], 0
    for table in found[first::step]:
        X = table.X
        if (~np.isnan(X)).mean(axis=0).min() < 0.5 or np.nanstd(X, axis=0).min() <= 0:
            continue
        plain, own = outcome(X, None), outcome(X, "auto")
        ratios.append((own[0] / plain[0], own[1] / plain[1]))
        seconds.append((plain[2], own[2]))
        taken += own[3]
        if own[3]:
            print(f"{table.name} {X.shape} squared {ratios[-1][0]:.3f} interval {ratios[-1][1]:.3f}", flush=True)
    means, most = np.exp(np.log(ratios).mean(axis=0)), np.max(ratios, axis=0)
    spent = np.sum(seconds, axis=0)
    print(
        f"{len(ratios)} tables, laws on {taken}: squared {means[0]:.3f} (at most {most[0]:.2f}), interval score {means[1]:.3f} (at most {most[1]:.2f}), "
        f"CPU {spent[1] / spent[0]:.1f} times"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main("decide" if "decide" in sys.argv else "report", *(numbers + [3, 0][len(numbers) :]))
