"""A noise of each column where hidden cells prefer it, beside one noise for all.

``python -m experiments.column_noises [decide|report] [every k-th] [--write]`` simulates 4 factors in 20 columns with noises of .3 to 3, then hides a tenth of the cells of real
tables of 5 to 30 columns, at most 200 rows of each; errors are those of ``LatentImputer()`` over the same without that candidate.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from unittest.mock import patch

import numpy as np

from experiments._page import write_block
from experiments._tables import tables
from gramian import LatentImputer
from gramian.filling import choice

PAGE, BLOCK = Path(__file__).parents[1] / "docs" / "imputation.md", "column noises"
HIDDEN, MOST_ROWS, WIDEST = 0.1, 200, 30


def filled(X: np.ndarray, columns: bool) -> tuple[float, float, LatentImputer]:
    """Error of the hidden cells in deviations of their columns, CPU, and the model."""
    rng = np.random.default_rng(0)
    hidden = (rng.random(X.shape) < HIDDEN) & ~np.isnan(X)
    hidden &= (~np.isnan(X) & ~hidden).any(axis=1)[:, None]
    table = np.where(hidden, np.nan, X)
    one = (
        contextlib.nullcontext()
        if columns
        else patch.object(choice, "with_column_noises", lambda found, *a, **k: found)
    )
    with warnings.catch_warnings(), one:
        warnings.simplefilter("ignore")
        start = time.process_time()
        model = LatentImputer().fit(table)
        full = model.transform(table)
        seconds = time.process_time() - start
    error = ((full - X) / np.nanstd(X, axis=0))[hidden]
    return float(np.sqrt(np.mean(error**2))), seconds, model


def is_taken(model: LatentImputer) -> bool:
    """Whether each column has a noise of its own."""
    return np.ndim(model.estimator_.noise_variance_) > 0


def simulated(n_seeds: int = 5) -> str:
    """What is chosen, and what is gained, where it is true."""
    counts, ratios = [], []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((500, 4)) @ rng.standard_normal((4, 20))
        X += np.geomspace(0.3, 3.0, 20) * rng.standard_normal(X.shape)
        (one, _, before), (own, _, after) = filled(X, False), filled(X, True)
        counts.append((before.estimator_.n_components_, after.estimator_.n_components_))
        ratios.append(own / one)
    before, after = zip(*counts)
    return (
        f"Simulated (500 rows, 20 columns, 4 factors, noises of .3 to 3, {n_seeds} seeds): q {min(before)} to {max(before)} with one noise, "
        f"{min(after)} to {max(after)} now; error of hidden cells {np.exp(np.mean(np.log(ratios))):.3f} of that with one noise, at most {max(ratios):.3f}."
    )


def real_tables(which: str, step: int) -> Iterator[tuple[str, np.ndarray]]:
    with contextlib.redirect_stdout(io.StringIO()):
        found = [t for t in tables(which, min_rows=40, min_columns=5, max_rows=MOST_ROWS) if t.X.shape[1] <= WIDEST]
    for table in found[::step]:
        if ((~np.isnan(table.X)).mean(axis=0) > 0.5).all() and (np.nanstd(table.X, axis=0) > 0).all():
            yield table.name, table.X


def real(which: str, step: int) -> str:
    """What real tables gain and pay."""
    ratios, taken, seconds = [], [], []
    for name, X in real_tables(which, step):
        (one, spent, _), (own, more, model) = filled(X, False), filled(X, True)
        ratios.append(own / one)
        taken.append(is_taken(model))
        seconds.append((spent, more))
        if taken[-1]:
            print(f"{name} {X.shape}: {ratios[-1]:.3f}, q {model.estimator_.n_components_}", flush=True)
    ratio, at = np.array(ratios), np.array(taken)
    spent, more = np.sum(seconds, axis=0)
    return (
        f"{len(ratio)} real tables ({which}): taken on {at.sum()}, where the error is {np.exp(np.log(ratio[at]).mean()):.3f} of that with one noise (geometric mean), "
        f"{ratio[at].min():.3f} to {ratio[at].max():.3f}; the others are filled as before. CPU of fit and transform {more / spent:.2f} times."
    )


def main() -> None:
    words = sys.argv[1:]
    which = "decide" if "decide" in words else "report"
    step = next((int(word) for word in words if word.isdigit()), 2)
    said = [] if "real" in words else [simulated()]
    print(*said, flush=True)
    said.append(real(which, step))
    print(said[-1])
    if "--write" in words:
        write_block(PAGE, BLOCK, wrap(" ".join(said), 160, break_long_words=False, break_on_hyphens=False))


if __name__ == "__main__":
    main()
