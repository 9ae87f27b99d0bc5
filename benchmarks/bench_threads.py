"""Threads: default fits with as many threads of BLAS as the machine gives, which is what a user has, against one thread.

Threads that wait at full speed show as more CPU than with one; threads that help show as less wall time.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks._timing import Row, fresh, sized
from benchmarks.bench_growth import FITS

N = sized(3_000, 400)


def prepared(words: str, n: int) -> Callable[[], Any]:
    """A second fit, for a fresh process: the first has imported what it needs."""
    fit = next(fit for fit in FITS if fit.words == words)
    X, y = fit.data(n)

    def once() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit.ours().fit(X) if y is None else fit.ours().fit(X, y)

    once()
    return once


def run() -> Iterator[Row]:
    count = os.cpu_count() or 1
    for fit in FITS:
        turns = [
            [fresh("benchmarks.bench_threads:prepared", fit.words, N, n_threads=n) for n in (count, 1)]
            for _ in range(sized(3, 1))
        ]
        cpu, wall = (
            [float(np.median([getattr(turn[side], what) for turn in turns])) for side in (0, 1)]
            for what in ("cpu", "wall")
        )
        found = f"{cpu[0] / cpu[1]:.2f} of its CPU, {wall[0] / wall[1]:.2f} of its wall time ({wall[0]:.2g} s)"
        yield Row("-", f"{fit.words}, N={N}, {count} threads", "the same with one", "-", "1", found, None)
