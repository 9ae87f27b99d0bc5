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


READING = """
import time
{imports}
{read}("tiny.{suffix}")
before = time.process_time()
table = {read}("big.{suffix}")
print(time.process_time() - before)
"""


def reading(folder: Path, imports: str, read: str, suffix: str) -> float:
    """CPU seconds of reading the big table in a fresh process that has read the tiny one.

    Told by the process itself: start-ups differ by more from run to run than reading a Parquet file takes.
    """
    code = READING.format(imports=imports, read=read, suffix=suffix)
    return float(run_python(folder, ["-c", code]))


def cpu(folder: Path, words: Sequence[str]) -> float:
    """CPU seconds of a process, user and system."""
    before = os.times()
    run_python(folder, words)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def run_python(folder: Path, words: Sequence[str]) -> str:
    """What a Python process says."""
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    # compiled modules are kept, as they are where a package is installed
    environment.update(PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX=str(folder / "compiled"))
    ran = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return ran.stdout


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
            "csv": ("import pandas", "pandas.read_csv"),
            "parquet": ("import pyarrow.parquet", "pyarrow.parquet.read_table"),
        }
        for suffix, (imports, read) in sides.items():
            took: dict[str, list[float]] = {"ours": [], "theirs": [], "fit": []}
            for _ in range(2 * REPEATS + 1):
                took["ours"].append(reading(folder, "import gramian.io", "gramian.io.read_table", suffix))
                took["theirs"].append(reading(folder, imports, read, suffix))
                fit = ["-m", "gramian", "fit", f"SIZE.{suffix}", "-m", "m", "-f", "-q"]
                took["fit"].append(beyond_tiny(folder, fit))
            mine, other, whole = (float(np.median(took[side])) for side in ("ours", "theirs", "fit"))
            floor = 3.5 if suffix == "csv" else 2.5
            yield Row(
                "P20",
                f"reading {ROWS} x {COLUMNS} numbers of {suffix}, {(folder / f'big.{suffix}').stat().st_size / 1e6:.0f} MB",
                read,
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
