"""Rows on Dask: passes over blocks on two workers against the same work in one process, by CPU, and what moves between workers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._timing import Row, sized
from gramian import PPCA

N, D, Q = sized(1_000_000, 50_000), 20, 5
STEPS = 6
BLOCKS = 8


def block_of_rows(number: int) -> Any:
    """A block of a low-rank table with 20 % holes."""
    rng = np.random.default_rng(number)
    loadings = np.random.default_rng(-1 % 2**32).standard_normal((Q, D))
    rows = rng.standard_normal((N // BLOCKS, Q)) @ loadings + 0.5 * rng.standard_normal((N // BLOCKS, D))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    return rows


def cpu_of_worker(dask_worker: Any) -> float:
    return time.process_time()


def bytes_sent(dask_worker: Any) -> int:
    return sum(int(log["total"]) for log in dask_worker.transfer_outgoing_log)


def run() -> Iterator[Row]:
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    model = PPCA(Q, tol=1e-15, max_iter=STEPS)
    X = np.vstack([block_of_rows(number) for number in range(BLOCKS)])
    with (
        warnings.catch_warnings(),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        warnings.simplefilter("ignore")  # the EM is cut off on purpose
        parts = [
            da.from_delayed(dask.delayed(block_of_rows)(number), (N // BLOCKS, D), np.float64)
            for number in range(BLOCKS)
        ]
        rows = client.persist(da.concatenate(parts))
        wait(rows)
        ratios = []
        sent = sum(client.run(bytes_sent).values())
        for _ in range(3):  # interleaved, so that a busy machine is busy for both
            start = time.process_time()
            alone = model.fit(X).noise_variance_
            here = time.process_time() - start
            before, start = sum(client.run(cpu_of_worker).values()), time.process_time()
            spread = model.fit(rows).noise_variance_
            there = sum(client.run(cpu_of_worker).values()) - before + time.process_time() - start
            ratios.append(there / here)
        moved = (sum(client.run(bytes_sent).values()) - sent) / X.nbytes
    same = abs(spread / alone - 1)
    ratio = float(np.median(ratios))
    yield Row(
        "P21",
        f"PPCA with 20 % holes, {STEPS} steps, N={N:.0e} d={D} on two Dask workers",
        "one process",
        "1.3x CPU, < 1 % of the rows moved",
        "1.1x",
        f"{ratio:.2f}x CPU, {moved:.2%} of the rows moved, noise equal to {same:.0e}",
        ratio <= 1.3 and moved < 0.01 and same < 1e-9,
    )


if __name__ == "__main__":
    for row in run():
        print(row)
