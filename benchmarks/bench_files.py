"""Files that need not fit: peak memory of fits and of `gramian impute` from a Parquet file with holes.

Memory must not grow with the file: it is measured at two sizes of file, and what is said of 4 GB is the line through both. The number
of EM steps does not change it, and is kept small.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._timing import Row, fresh, sized
from gramian import PPCA, KernelPPCA, PPCAMixture
from gramian.kernels import RBF

COLUMNS = 20
SMALL, LARGE = sized(300_000, 20_000), sized(1_200_000, 60_000)
WANTED = 4e9
"""Bytes of the file that the floor speaks of."""
HERE = "benchmarks.bench_files"


def write_table(path: Path, n: int) -> None:
    """A low-rank table with a fifth of its cells missing, in pieces."""
    import pyarrow as arrow
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((3, COLUMNS))
    schema = arrow.schema([(f"c{j}", arrow.float64()) for j in range(COLUMNS)])
    with parquet.ParquetWriter(path, schema) as writer:
        for _ in range(0, n, 50_000):
            X = rng.standard_normal((min(n, 50_000), 3)) @ loadings + 0.5 * rng.standard_normal(
                (min(n, 50_000), COLUMNS)
            )
            X[rng.random(X.shape) < 0.2] = np.nan
            columns = [arrow.array(column, mask=np.isnan(column)) for column in X.T]
            writer.write_table(arrow.Table.from_arrays(columns, schema=schema))


def quietly(run: Callable[[], Any]) -> Callable[[], Any]:
    import warnings

    def quiet() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few steps, on purpose
            run()

    return quiet


def ppca(path: str) -> Callable[[], Any]:
    """For a fresh process."""
    return quietly(lambda: PPCA(3, max_iter=2).fit_batches(path))


def mixture(path: str) -> Callable[[], Any]:
    """For a fresh process."""
    return quietly(lambda: PPCAMixture(2, 2, max_iter=2, random_state=0).fit_batches(path))


def nystroem(path: str) -> Callable[[], Any]:
    """For a fresh process; a kernel needs all cells, so holes are read as 0."""
    import pyarrow.parquet as parquet

    def batches() -> Iterator[np.ndarray]:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(50_000):
                yield np.nan_to_num(
                    np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
                )

    return lambda: KernelPPCA(5, kernel=RBF(5.0), approximation="nystroem", n_landmarks=300).fit_batches(batches)


def impute(path: str) -> Callable[[], Any]:
    """For a fresh process."""
    from gramian.cli import main

    def run() -> None:
        sys.stdout.flush()
        with contextlib.suppress(SystemExit):
            main(["impute", path, "-o", path + ".full.parquet", "-f", "-q", "--components", "3"])
        if not Path(path + ".full.parquet").exists():
            raise RuntimeError("gramian impute wrote nothing")

    return quietly(run)


def run() -> Iterator[Row]:
    jobs = {"PPCA": "ppca", "PPCAMixture": "mixture", "KernelPPCA by landmarks": "nystroem", "gramian impute": "impute"}
    with tempfile.TemporaryDirectory() as name:
        files = {}
        for n in (SMALL, LARGE):
            files[n] = Path(name) / f"{n}.parquet"
            write_table(files[n], n)
        bytes_each = files[LARGE].stat().st_size / LARGE
        for words, job in jobs.items():
            peaks = [fresh(f"{HERE}:{job}", str(files[n])).peak_bytes for n in (SMALL, LARGE)]
            growth = max(peaks[1] - peaks[0], 0) / (LARGE - SMALL)
            at_wanted = peaks[1] + growth * (WANTED / bytes_each - LARGE)
            mebi = [peak / 2**20 for peak in peaks]
            sizes = [bytes_each * n / 1e6 for n in (SMALL, LARGE)]
            yield Row(
                "P22",
                f"{words} from a Parquet file with holes",
                "-",
                "1 GiB of memory at 4 GB",
                "0.5 GiB",
                f"{mebi[0]:.0f} MiB at {sizes[0]:.0f} MB, {mebi[1]:.0f} MiB at {sizes[1]:.0f} MB; at 4 GB by the line through both "
                f"{at_wanted / 2**20:.0f} MiB",
                at_wanted <= 2**30,
            )
