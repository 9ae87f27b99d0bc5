"""Rows per CPU second of one pass, d = 100, q = 20: the rates that docs/scaling.md reckons with.

Each is the difference of two fits that differ in their number of steps, or of rows: starts and set-up cancel.
Run: OPENBLAS_NUM_THREADS=1 python -m experiments.rates_of_rows
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gramian import PPCA, KernelPPCA, PPCAMixture
from gramian.rows import as_rows
from gramian.rows.draws import block_moments

N, D, Q, K, M = 5_000, 100, 20, 5, 500


def rows_of(holes: bool) -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, Q)) @ rng.standard_normal((Q, D)) + 2.0 * rng.standard_normal((N, D))
    X += 2.0 * rng.standard_normal((K, D))[np.arange(N) % K]
    if holes:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X


def cpu(task: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = task()
    return time.process_time() - start, result


def per_step(make: Callable[[int], Any], X: Any) -> float:
    """CPU seconds of one more step."""
    short, few = cpu(lambda: make(2).fit(X))
    long, many = cpu(lambda: make(8).fit(X))
    return (long - short) / (many.n_iter_ - few.n_iter_)


def of_more_rows(task: Callable[[Any], Any], X: Any) -> float:
    """CPU seconds that as many rows again add."""
    task(X)
    twice = np.vstack([X, X + 0.5])
    return cpu(lambda: task(twice))[0] - cpu(lambda: task(X))[0]


def main() -> None:
    warnings.simplefilter("ignore")  # the EM is cut off on purpose
    complete, holed = rows_of(False), rows_of(True)
    rates = {
        "PPCA, complete: moments": lambda: (
            of_more_rows(lambda X: as_rows(X).fold(block_moments), np.tile(complete, (4, 1))) / 4
        ),
        "PPCA, 20 % holes: one step of EM": lambda: per_step(lambda n: PPCA(Q, tol=1e-15, max_iter=n), holed),
        "KernelPPCA, 500 landmarks: feature moments": lambda: of_more_rows(
            lambda X: KernelPPCA(Q, approximation="nystroem", n_landmarks=M, preimage="smoother").fit(X), complete
        ),
        "PPCAMixture K = 5, complete: one step": lambda: per_step(
            lambda n: PPCAMixture(K, Q, tol=1e-15, max_iter=n, random_state=0), complete
        ),
        "PPCAMixture K = 5, 20 % holes: one step": lambda: per_step(
            lambda n: PPCAMixture(K, Q, tol=1e-15, max_iter=n, random_state=0), holed
        ),
    }
    for name, seconds in rates.items():
        print(f"{name:45s} {N / seconds():12,.0f} rows per CPU second", flush=True)


if __name__ == "__main__":
    main()
