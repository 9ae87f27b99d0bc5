"""Reading numbers, and starting the command: `gramian` against pandas and pyarrow."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks._timing import ROOT, Row, sized

ROWS, COLUMNS = sized(500_000, 50_000), 20
REPEATS = sized(3, 1)


def write_tables(folder: Path) -> None:
    """185 MB of CSV, the same as Parquet, and tiny ones."""
    import pyarrow as arrow
    from pyarrow import csv, parquet

    for name, rows in (("big", ROWS), ("tiny", 20)):
        X = np.random.default_rng(0).normal(size=(rows, COLUMNS))
        table = arrow.table({f"c{j}": X[:, j] for j in range(COLUMNS)})
        csv.write_csv(table, folder / f"{name}.csv")
        parquet.write_table(table, folder / f"{name}.parquet")
    (folder / "holes.csv").write_text((folder / "tiny.csv").read_text() + "," * (COLUMNS - 1) + "1\n")


def cpu(folder: Path, words: Sequence[str]) -> float:
    """CPU seconds of a process, user and system."""
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    # compiled modules are kept, as they are where a package is installed
    environment.update(PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX=str(folder / "compiled"))
    before = os.times()
    subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def beyond_tiny(folder: Path, words: Sequence[str]) -> float:
    """CPU seconds of a process on the big table, less those on the tiny one."""
    return cpu(folder, [w.replace("SIZE", "big") for w in words]) - cpu(
        folder, [w.replace("SIZE", "tiny") for w in words]
    )


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        sides = {
            "csv": ("import gramian.io as io; io.read_table", "import pandas; pandas.read_csv"),
            "parquet": ("import gramian.io as io; io.read_table", "import pyarrow.parquet as p; p.read_table"),
        }
        for suffix, (ours, theirs) in sides.items():
            took: dict[str, list[float]] = {"ours": [], "theirs": [], "fit": []}
            for _ in range(REPEATS):
                took["ours"].append(beyond_tiny(folder, ["-c", f"{ours}('SIZE.{suffix}')"]))
                took["theirs"].append(beyond_tiny(folder, ["-c", f"{theirs}('SIZE.{suffix}')"]))
                fit = ["-m", "gramian", "fit", f"SIZE.{suffix}", "-m", "m", "-f", "-q"]
                took["fit"].append(beyond_tiny(folder, fit))
            mine, other, whole = (float(np.median(took[side])) for side in ("ours", "theirs", "fit"))
            floor = 3.5 if suffix == "csv" else 2.5
            yield Row(
                "P20",
                f"reading {ROWS} x {COLUMNS} numbers of {suffix}, {(folder / f'big.{suffix}').stat().st_size / 1e6:.0f} MB",
                "pandas.read_csv" if suffix == "csv" else "pyarrow.parquet.read_table",
                f"{floor}x its CPU",
                "1.5x",
                f"{mine / other:.2f}x (gramian fit, the fit included: {whole / other:.1f}x)",
                mine / other <= floor,
            )
        took = {"ours": [], "theirs": [], "sklearn": []}
        cpu(folder, ["-c", "import pandas, sklearn.base"])
        cpu(folder, ["-m", "gramian", "impute", "holes.csv", "-o", "o.csv", "-f", "-q"])
        for _ in range(2 * REPEATS + 1):
            took["theirs"].append(cpu(folder, ["-c", "import pandas"]))
            took["sklearn"].append(cpu(folder, ["-c", "import sklearn.base"]))
            took["ours"].append(cpu(folder, ["-m", "gramian", "impute", "holes.csv", "-o", "o.csv", "-f", "-q"]))
        mine, other, base = (float(np.median(took[side])) for side in ("ours", "theirs", "sklearn"))
        yield Row(
            "P25",
            "start-up: gramian impute of 21 rows",
            "python -c 'import pandas'",
            "1.5x its CPU",
            "1x",
            f"{mine / other:.2f}x (import sklearn.base alone: {base / other:.2f}x)",
            mine / other <= 1.5,
        )
