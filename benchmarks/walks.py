"""The four walks of docs/design.md: how many source files one task goes through, from the call to the answer.

Run as ``python -m benchmarks.walks [folder of another checkout]``; ``--write`` puts the table into docs/design.md. A file counts if one of its functions is called on the way; importing
it does not. Each walk runs with the settings given, so that no default choice of one version is compared with none of another.
"""

from __future__ import annotations

import io
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "design.md"
START, END = "<!-- walks -->", "<!-- end of walks -->"
BEFORE = {
    "a hole in a CSV to its imputed cell": "30, 1,721",
    "a digit to its samples": "29, 897",
    "two views to a predicted one": "24, 1,027",
    "a series to its interval": "28, 1,456",
}
"""The walks through commit 0e460de, the last before the rebuild."""


def hole() -> None:
    """A hole in a CSV to its imputed cell, by the command."""
    from gramian.cli import main

    with tempfile.TemporaryDirectory() as folder:
        rows = np.random.default_rng(0).standard_normal((60, 2)) @ np.ones((2, 4)) + np.arange(4)
        rows += 0.1 * np.random.default_rng(1).standard_normal(rows.shape)
        lines = [",".join(f"{value:.3f}" for value in row) for row in rows]
        lines[3] = ",".join(["", *lines[3].split(",")[1:]])
        source = Path(folder, "rows.csv")
        source.write_text("a,b,c,d\n" + "\n".join(lines) + "\n")
        words = ["impute", str(source), "-o", str(Path(folder, "full.csv")), "--components", "1"]
        with suppress(SystemExit), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            main(words, standalone_mode=False)


def digit() -> None:
    """A digit to its samples."""
    from sklearn.datasets import load_digits

    from gramian import KernelPPCA

    KernelPPCA(5, kernel="rbf", preimage="smoother", random_state=0).fit(load_digits().data[:200]).sample(5)


def view() -> None:
    """Two views to a predicted one."""
    from gramian import MultiViewRKM

    rng = np.random.default_rng(0)
    Z = rng.standard_normal((80, 2))
    tables = {"left": Z @ rng.standard_normal((2, 4)), "right": Z @ rng.standard_normal((2, 3))}
    noisy = {name: X + 0.1 * rng.standard_normal(X.shape) for name, X in tables.items()}
    MultiViewRKM(2, noise_variance="per-view").fit(noisy).predict_view({"left": noisy["left"][:3]}, "right")


def series() -> None:
    """A series to its interval."""
    from gramian import RKMForecaster

    steps = np.arange(150)
    y = np.sin(steps / 4) + 0.1 * np.random.default_rng(0).standard_normal(150)
    RKMForecaster(8, 3, kernel="rbf").fit(y).predict_interval(5)


WALKS: dict[str, Callable[[], None]] = {
    "a hole in a CSV to its imputed cell": hole,
    "a digit to its samples": digit,
    "two views to a predicted one": view,
    "a series to its interval": series,
}


@dataclass(frozen=True)
class Crossed:
    """What a walk went through: files of the package, and the lines of the functions that were called in them."""

    files: frozenset[str]
    n_lines: int


def crossed(walk: Callable[[], None], package: Path) -> Crossed:
    """The files in which a function was called; a nested function counts with the one around it only where it was called itself."""
    codes: set[CodeType] = set()
    home = package.as_posix() + "/"

    def see(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(home) and code.co_name != "<module>":
            codes.add(code)

    threading.setprofile(see)
    sys.setprofile(see)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    lines = {(code.co_filename, line) for code in codes for *_, line in code.co_lines() if line is not None}
    return Crossed(frozenset(code.co_filename.removeprefix(home) for code in codes), len(lines))


def main(root: Path) -> None:
    """Print each walk with its files and lines, and, with ``--files``, their names."""
    package = root.resolve() / "src" / "gramian"
    sys.path.insert(0, package.parent.as_posix())
    rows = []
    for name, walk in WALKS.items():
        walk()  # imports and first calls
        found = crossed(walk, package)
        rows.append(f"| {name} | {BEFORE[name]} | {len(found.files)}, {found.n_lines:,} |")
        print(rows[-1])
        if "--files" in sys.argv:
            print("  " + " ".join(sorted(found.files)))
    if "--write" in sys.argv:
        table = "\n".join(["| walk | before: files, lines | now |", "|---|---|---|", *rows])
        before, rest = PAGE.read_text().split(START)
        PAGE.write_text(f"{before}{START}\n{table}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main(Path(next((word for word in sys.argv[1:] if not word.startswith("-")), ROOT)))
