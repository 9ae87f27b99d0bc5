"""`python -m benchmarks [names]` runs bench_*.py (all, or those named) and writes their sections of docs/benchmarks.md."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import re
import sys
from datetime import date
from pathlib import Path

import numpy as np
import scipy
import sklearn

from benchmarks._timing import QUICK, ROOT, Row

PAGE = ROOT / "docs" / "benchmarks.md"
SOME = "GRAMIAN_BENCH_FITS"
"""Where this is set, only some of the rows of a section are measured."""
NUMBERS = [f"P{number}" for number in range(1, 35)]
HEAD = """# Benchmarks

Made by `make bench` (`python -m benchmarks [names]`); the sides are interleaved in one run, medians of at least three, BLAS threads
pinned alike. Ratios are "theirs over ours": above 1 is faster here. CPU seconds unless wall is said. Peak memory is that of a fresh
process less what it held before `fit`. A single absolute time says little; ratios travel. Long runs (P3, P5, P8, P17 at 4,000 rows,
P18) are made once. `--quick` runs everything at small sizes. Where cores were not free, wall times decide nothing: such rows are "reported".
"""


def main() -> int:
    known = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"which to run, of {', '.join(known)}; all by default")
    parser.add_argument("--dry", action="store_true", help="print only, leave docs/benchmarks.md alone")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that all runs: verdicts mean little; implies --dry"
    )
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}. Use {', '.join(known)}.")
    if options.quick:
        os.environ[QUICK] = "1"
    failed, missing = False, set(NUMBERS)
    for name in options.names or known:
        module = importlib.import_module(f"benchmarks.bench_{name}")
        rows = []
        for row in module.run():
            floor = "" if row.floor in ("", "-") else f"; floor {row.floor}"
            print(f"{row.number:4} {row.work} against {row.against}: {row.found}{floor}  [{verdict(row)}]", flush=True)
            missing.discard(row.number)
            rows.append(row)
            if not options.dry and not options.quick:  # after each row: a run that is cut leaves what it found
                write(name, (module.__doc__ or "").strip().splitlines()[0], rows)
        failed |= any(row.holds is False for row in rows) and not options.quick
    if missing and not options.names:
        print(f"not measured: {', '.join(number for number in NUMBERS if number in missing)}")
    return int(failed)


def verdict(row: Row) -> str:
    if os.environ.get(QUICK):
        return "quick run: no verdict"
    return {True: "holds", False: "FAILS", None: "reported"}[row.holds]


def write(name: str, title: str, rows: list[Row]) -> None:
    """Put one section into the page, in place of its earlier self."""
    page = PAGE.read_text() if PAGE.exists() else HEAD
    machine = f"{os.cpu_count()} cores, {platform.machine()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    lines = [
        f"## {name}",
        "",
        title,
        f"{date.today()}; {machine}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}.",
        "",
        "| # | work | against | floor | goal | found | |",
        "|---|---|---|---|---|---|---|",
    ]
    sections = re.split(r"(?m)^(?=## )", page)
    earlier = "".join(part for part in sections[1:] if part.startswith(f"## {name}\n"))
    found = {
        (
            r.work,
            r.against,
        ): f"| {r.number} | {r.work} | {r.against} | {r.floor} | {r.goal} | {r.found} | {verdict(r)} |"
        for r in rows
    }
    if os.environ.get(SOME):  # what was not measured this time stays
        before = {tuple(c.strip() for c in line.split("|")[2:4]): line for line in _table(earlier)}
        if before.keys() - found.keys():
            lines[3] += " Some rows are of an earlier run."
        found = {**before, **found}
    section = "\n".join([*lines, *found.values()]) + "\n"
    kept = [part.rstrip() + "\n" for part in sections[1:] if not part.startswith(f"## {name}\n")]
    PAGE.write_text("\n".join([sections[0].rstrip() + "\n", *sorted([*kept, section])]))


def _table(section: str) -> list[str]:
    """The rows of the table of a section."""
    return [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| # |")]


if __name__ == "__main__":
    sys.exit(main())
