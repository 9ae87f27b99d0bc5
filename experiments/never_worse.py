"""Never worse than nothing: `gramian impute` of real tables with a date, an id, a wide category or a total beside the numbers.

Run with ``python -m experiments.never_worse [--half decide|report] [--first 0] [--tables 60] [--rows 150]``; ``--write FILE ...`` reads lines that were printed and puts what they
say into docs/imputation.md. Rows are shuffled and a tenth of the cells is hidden. Each line is a table: the error of hidden cells (root mean square, in deviations of the columns) of column means, of means as whole numbers where a column
holds such, of the numbers alone, and of the numbers with each column or row that tells nothing, as a ratio to the numbers alone.
"""

from __future__ import annotations

import argparse
import datetime
import tempfile
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from experiments._page import write_block
from experiments._tables import tables
from gramian.cli import main as command
from gramian.io.tables import read_table, write_table
from gramian.tables.bounds import Bounds

EXTRAS = ("date", "id", "wide", "total")
WORDS = ("a date", "numbers that name rows", "a random category of 37 values", "a row of totals")


def texts(values: list[str]) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def written(folder: Path, X: np.ndarray, extra: str | None, rng: np.random.Generator) -> Path:
    """The table as a file, with one thing more."""
    names, columns = [f"c{j}" for j in range(X.shape[1])], list(X.T)
    n = len(X)
    if extra == "date":
        start = datetime.date(2020, 1, 1)
        names = ["date", *names]
        columns = [texts([(start + datetime.timedelta(days=i)).isoformat() for i in range(n)]), *columns]
    if extra == "id":
        names, columns = ["customer_id", *names], [rng.permutation(n) + 1000.0, *columns]
    if extra == "wide":
        names, columns = [*names, "word"], [*columns, texts([f"w{k}" for k in rng.integers(0, 37, n)])]
    if extra == "total":
        names, columns = ["name", *names], [texts([*(f"r{i}" for i in range(n)), "Total"]), *columns]
        columns = [columns[0], *(np.append(column, np.nansum(column)) for column in columns[1:])]
    path = folder / f"{extra}.csv"
    write_table(path, names, columns, digits=17)
    return path


def error(path: Path, X: np.ndarray, hidden: np.ndarray) -> float:
    out = path.with_name(f"full-{path.name}")
    ran = CliRunner().invoke(command, ["impute", str(path), "-o", str(out), "--quiet", "--digits", "17"])
    if not out.exists():
        raise ValueError(ran.output)
    table = read_table(out)
    full = np.column_stack([table[f"c{j}"] for j in range(X.shape[1])])[: len(X)]
    return float(np.sqrt(np.mean(((full - X) / X.std(axis=0))[hidden] ** 2)))


def write_page(files: list[Path]) -> None:
    """The table of docs/imputation.md from printed lines: name, rows, columns, mean, possible mean, numbers, then a ratio for each extra."""
    lines = [line.split() for file in files for line in file.read_text().splitlines() if "/" in line.split(" ")[0]]
    found = {line[0]: np.array(line[3:], dtype=float) for line in lines if len(line) == 6 + len(EXTRAS)}
    numbers = np.array([values[2] / values[0] for values in found.values()])
    possible = np.array([values[2] / values[1] for values in found.values()])
    ratios = np.array([values[3:] for values in found.values()])
    out = [f"| {len(found)} tables | geometric mean | largest | above 1.02 |", "|---|---|---|---|"]
    rows = [("error of the numbers alone over that of their means", numbers)]
    rows += [("the same over that of means as possible values (whole where the column is)", possible)]
    rows += [(f"with {words}, over without", column) for words, column in zip(WORDS, ratios.T)]
    for name, column in rows:
        mean = np.exp(np.log(column).mean())
        out.append(f"| {name} | {mean:.3f} | {column.max():.3f} | {int((column > 1.02).sum())} |")
    write_block(Path(__file__).parents[1] / "docs" / "imputation.md", "never worse", out)
    print(*out, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", default="decide", choices=["decide", "report"])
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--first", type=int, default=0, help="tables to pass over")
    parser.add_argument("--write", nargs="*", type=Path, help="files with printed lines")
    parser.add_argument("--extras", nargs="*", default=list(EXTRAS))
    options = parser.parse_args()
    if options.write:
        write_page(options.write)
        return
    print("table, rows, columns, mean, possible mean, numbers,", ", ".join(options.extras), flush=True)
    ratios: list[list[float]] = []
    number = 0
    for found in tables(options.half, max_rows=options.rows):
        if found.holes or found.X.shape[1] > 10 or not found.X.std(axis=0).all():
            continue
        number += 1
        if number <= options.first:
            continue
        rng = np.random.default_rng(0)
        X = found.X[rng.permutation(len(found.X))]
        hidden = rng.random(X.shape) < 0.1
        hidden[hidden.all(axis=1)] = False
        holed = np.where(hidden, np.nan, X)
        means, possible = np.nanmean(holed, axis=0), Bounds.of(list(holed.T), range(X.shape[1]), "auto")
        guesses = [np.where(hidden, means, X), np.where(hidden, possible.held(slice(None), means), X)]
        with tempfile.TemporaryDirectory() as folder:
            plain = error(written(Path(folder), holed, None, rng), X, hidden)
            others = [error(written(Path(folder), holed, extra, rng), X, hidden) / plain for extra in options.extras]
        mean, rounded = (float(np.sqrt(np.mean(((one - X) / X.std(axis=0))[hidden] ** 2))) for one in guesses)
        ratios.append([plain / mean, plain / rounded, *others])
        print(
            found.name,
            *X.shape,
            f"{mean:.3f} {rounded:.3f} {plain:.3f}",
            *(f"{ratio:.3f}" for ratio in others),
            flush=True,
        )
        if len(ratios) >= options.tables:
            break
    shown = np.array(ratios)
    for name, column in zip(["numbers over the mean", "over the possible mean", *options.extras], shown.T):
        print(
            f"{name}: {np.exp(np.log(column).mean()):.3f} on average, {column.max():.3f} at worst, worse than 1.02 in {int((column > 1.02).sum())} of {len(column)}"
        )


if __name__ == "__main__":
    main()
