"""The four walks of docs/design.md: how many source files one task goes through, from the call to the answer.

Run as ``python -m benchmarks.walks [folder of another checkout]``; ``--files`` prints the files of each walk with the lines of the
functions that were called in them, and ``--write`` puts the table into docs/design.md. A file counts if one of its functions is called on the
way; importing it does not. Modules at the root of the package (checks of parameters, arrays, hashes, memory, progress bars) serve every
way: they are counted with the others, and told apart.

Each walk runs with the settings given, and as a user types it, who gives none. What `fit` asks of held-out rows besides (trusts of views; season, level and lags of a series)
was not there before the rebuild: those walks are counted once more with it turned off.
"""

from __future__ import annotations

import io
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
from experiments._page import write_block

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "design.md"
BEFORE = {
    "a hole in a CSV to its imputed cell": "27 + 3, 1,721",
    "a digit to its samples": "26 + 3, 897",
    "two views to a predicted one": "21 + 3, 1,027",
    "a series to its interval": "25 + 3, 1,456",
}
"""The walks through commit 0e460de, the last before the rebuild: files on the way, services, lines."""


def hole(*options: str) -> None:
    """A hole in a CSV to its imputed cell, by the command."""
    from gramian.cli import main

    with tempfile.TemporaryDirectory() as folder:
        rows = np.random.default_rng(0).standard_normal((60, 2)) @ np.ones((2, 4)) + np.arange(4)
        rows += 0.1 * np.random.default_rng(1).standard_normal(rows.shape)
        lines = [",".join(f"{value:.3f}" for value in row) for row in rows]
        lines[3] = ",".join(["", *lines[3].split(",")[1:]])
        source = Path(folder, "rows.csv")
        source.write_text("a,b,c,d\n" + "\n".join(lines) + "\n")
        words = ["impute", str(source), "-o", str(Path(folder, "full.csv")), *options]
        with suppress(SystemExit), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            main(words, standalone_mode=False)


def digit(*settings: Any, **options: Any) -> None:
    """A digit to its samples."""
    from sklearn.datasets import load_digits

    from gramian import KernelPPCA

    KernelPPCA(*settings, random_state=0, **options).fit(load_digits().data[:200]).sample(5)


def view(*settings: Any, **options: Any) -> None:
    """Two views to a predicted one."""
    from gramian import MultiViewRKM

    rng = np.random.default_rng(0)
    Z = rng.standard_normal((80, 2))
    tables = {"left": Z @ rng.standard_normal((2, 4)), "right": Z @ rng.standard_normal((2, 3))}
    noisy = {name: X + 0.1 * rng.standard_normal(X.shape) for name, X in tables.items()}
    MultiViewRKM(*settings, **options).fit(noisy).predict_view({"left": noisy["left"][:3]}, "right")


def series(*settings: Any, **options: Any) -> None:
    """A series to its interval."""
    from gramian import RKMForecaster

    steps = np.arange(150)
    y = np.sin(steps / 4) + 0.1 * np.random.default_rng(0).standard_normal(150)
    RKMForecaster(*settings, **options).fit(y).predict_interval(5)


WALKS: dict[str, Callable[[], None]] = {
    "a hole in a CSV to its imputed cell": partial(hole, "--components", "1"),
    "a digit to its samples": partial(digit, 5, kernel="rbf", preimage="smoother"),
    "two views to a predicted one": partial(view, 2),
    "a series to its interval": partial(series, 8, 3, kernel="rbf"),
}
TYPED: dict[str, tuple[str, Callable[[], None]]] = {
    "a hole in a CSV to its imputed cell": ("58", hole),
    "a digit to its samples": ("34", digit),
    "two views to a predicted one": ("34 + 12", view),
    "a series to its interval": ("45 + 13", series),
}
"""As a user types them: files before the jury (c0834db), and the walk."""


WITHOUT: dict[str, Callable[[], None]] = {
    "two views to a predicted one": partial(view, 2, n_folds=None),
    "a series to its interval": partial(series, 8, 3, kernel="rbf", season=None, difference=0, transform=None),
}
"""The same with what is asked of held-out rows turned off, as far as it can be."""


@dataclass(frozen=True)
class Crossed:
    """What a walk went through: files of the package, each with the lines of the functions that were called in it."""

    lines: dict[str, int]

    def told(self) -> str:
        """Files on the way + services, lines."""
        services = sum("/" not in name for name in self.lines)
        return f"{len(self.lines) - services} + {services}, {sum(self.lines.values()):,}"


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
    lines: dict[str, set[int]] = defaultdict(set)
    for code in codes:
        lines[code.co_filename.removeprefix(home)].update(line for *_, line in code.co_lines() if line is not None)
    return Crossed({name: len(found) for name, found in sorted(lines.items())})


def main(root: Path) -> None:
    """Print each walk with its files and lines, and, with ``--files``, their names."""
    package = root.resolve() / "src" / "gramian"
    sys.path.insert(0, package.parent.as_posix())
    rows = [
        "| walk | before: files + services, lines | now | now, without what held-out rows are asked | as typed, before the jury | as typed, now |",
        "|---|---|---|---|---|---|",
    ]
    for name, walk in WALKS.items():
        walk()  # imports and first calls
        found = crossed(walk, package)
        without = crossed(WITHOUT[name], package).told() if name in WITHOUT and root == ROOT else "the same"
        before, typed = TYPED[name]
        typed()
        now = crossed(typed, package).told()
        rows.append(f"| {name} | {BEFORE[name]} | {found.told()} | {without} | {before} | {now} |")
        print(rows[-1])
        if "--files" in sys.argv:
            print("\n".join(f"  {count:5d}  {file}" for file, count in found.lines.items()))
    if "--write" in sys.argv:
        write_block(PAGE, "walks", rows)


if __name__ == "__main__":
    main(Path(next((word for word in sys.argv[1:] if not word.startswith("-")), ROOT)))
