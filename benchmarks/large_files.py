"""A Parquet file with holes that need not fit into memory: PPCA, PPCAMixture, KernelPPCA on landmarks and `gramian impute`, peak memory each.

    python -m benchmarks.large_files --size 4GB --limit 1GB [--only ppca,impute] [--folder DIR]

The file is made once. Each fit runs in a process of its own, whose peak of resident memory is read; ``--limit`` is told to the command as
``--memory`` and is what the peaks are held against.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS, RANK, SHARE = 20, 3, 0.1
GROUP = 65_536
STEPS = 3
"""Steps of each EM: memory does not depend on how many there are."""
WORK = ("ppca", "mixture", "nystroem", "impute")


def bytes_of(text: str) -> int:
    """Bytes from 4GB, 200MB or a number."""
    units = {"KB": 10, "MB": 20, "GB": 30}
    return int(float(text[:-2]) * 2 ** units[text[-2:].upper()]) if text[-2:].upper() in units else int(text)


def make_file(path: Path, size: int) -> int:
    """Rows of low rank in two groups, one cell in ten missing; the number of rows."""
    import pyarrow as pa
    from pyarrow import parquet

    loadings = np.random.default_rng(0).standard_normal((RANK, COLUMNS))
    names = [f"x{j}" for j in range(COLUMNS)]
    count = size // (8 * COLUMNS)
    with parquet.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names]), compression="none") as out:
        for number, start in enumerate(range(0, count, GROUP)):
            rng = np.random.default_rng(number)
            rows = min(GROUP, count - start)
            X = rng.standard_normal((rows, RANK)) @ loadings + 0.5 * rng.standard_normal((rows, COLUMNS))
            X[::2] += 4.0
            holes = rng.random(X.shape) < SHARE
            arrays = [pa.array(column, mask=mask) for column, mask in zip(X.T, holes.T)]
            out.write_table(pa.table(arrays, names=names))
    return count


def filled_batches(path: str) -> object:
    """Batches with column means in the holes: kernels take complete rows."""
    from pyarrow import parquet

    def batches() -> object:
        for batch in parquet.ParquetFile(path, pre_buffer=False).iter_batches(GROUP):
            X = np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
            yield np.where(np.isnan(X), 2.0, X)

    return batches


def fit(work: str, path: str, limit: int) -> None:
    """One fit in this process; prints the seconds of CPU and the peak of resident memory."""
    import warnings

    from gramian import PPCA, KernelPPCA, PPCAMixture

    warnings.simplefilter("ignore")  # the EM is cut off on purpose
    if work == "ppca":
        PPCA(RANK, tol=1e-15, max_iter=STEPS).fit_batches(path)
    elif work == "mixture":
        PPCAMixture(2, RANK, tol=1e-15, max_iter=STEPS, random_state=0).fit_batches(path)
    elif work == "nystroem":
        KernelPPCA(RANK, approximation="nystroem", n_landmarks=100).fit_batches(filled_batches(path))
    else:
        from gramian.cli import main

        out = str(Path(path).with_name("filled.parquet"))
        try:
            main(["impute", path, "-o", out, "--components", str(RANK), "--memory", str(limit), "--force", "--quiet"])
        except SystemExit as end:
            if end.code:
                raise
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{time.process_time():.1f} {peak}")


def run(size: int, limit: int, folder: Path, only: tuple[str, ...] = WORK) -> dict[str, tuple[float, int]]:
    """CPU seconds and peak bytes of each piece of work on a file of about ``size`` bytes."""
    path = folder / f"holes-{size}.parquet"
    count = make_file(path, size)
    print(f"{path.name}: {path.stat().st_size / 2**20:.0f} MiB, {count} rows x {COLUMNS} columns", flush=True)
    found = {}
    for work in only:
        command = [sys.executable, "-m", "benchmarks.large_files", "--fit", work, str(path), "--limit", str(limit)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise RuntimeError(f"{work}: {ran.stderr[-2000:]}")
        seconds, peak = ran.stdout.split()[-2:]
        found[work] = float(seconds), int(peak)
        verdict = "holds" if int(peak) <= limit else "DOES NOT HOLD"
        print(f"P22 {work}: {float(seconds):.0f} s of CPU, peak {int(peak) / 2**20:.0f} MiB: {verdict}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="200MB")
    parser.add_argument("--limit", default="1GB")
    parser.add_argument("--only", default=",".join(WORK))
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--fit", nargs=2, metavar=("WORK", "FILE"), help="one fit in this process")
    given = parser.parse_args()
    limit = bytes_of(given.limit)
    if given.fit:
        fit(*given.fit, limit)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        run(bytes_of(given.size), limit, Path(folder), tuple(given.only.split(",")))


if __name__ == "__main__":
    main()
