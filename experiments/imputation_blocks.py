"""Blocks of cells missing where another column of the row is large: `LatentImputer()` beside forests, regressions and means.

    python -m experiments.imputation_blocks [decide|report] [most tables] [--write]

Complete rows of real tables, at most 200 x 12. One column is seen everywhere; where it is large, a third of the other columns (neighbours) is missing in a
third of the rows. Errors are root mean squares over the missing cells. The forests are scikit-learn's `IterativeImputer` of random forests of 30 trees.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from experiments._page import write_block
from experiments._tables import tables
from gramian import LatentImputer

PAGE = Path(__file__).resolve().parents[1] / "docs" / "imputation.md"
ROWS, COLUMNS, STEEP = 200, 12, 6.0
EXACT = 0.01
"""Errors below so many deviations count as that: whoever finds an identity, or a twin row, has none."""
METHODS = ("LatentImputer", "forests", "IterativeImputer", "mean")


def blocks(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which cells are missing."""
    n, d = X.shape
    width = max(1, (d - 1) // 3)
    first = int(rng.integers(1, d - width + 1))
    ranks = np.argsort(np.argsort(X[:, 0])) / (n - 1.0) - 0.5
    order = np.argsort(-(STEEP * ranks + rng.logistic(size=n)))
    holes = np.zeros(X.shape, dtype=bool)
    holes[order[: n // 3], first : first + width] = True
    return holes


def filled(T: np.ndarray) -> dict[str, np.ndarray]:
    forest = RandomForestRegressor(30, random_state=0, n_jobs=1)
    return {
        "LatentImputer": LatentImputer().fit(T).transform(T),
        "forests": IterativeImputer(forest, max_iter=4, random_state=0).fit_transform(T),
        "IterativeImputer": IterativeImputer(random_state=0).fit_transform(T),
        "mean": np.where(np.isnan(T), np.nanmean(T, axis=0), T),
    }


def lines(which: str, most: int) -> list[str]:
    """Geometric means of our error over that of each peer, and the worst tables."""
    ratios: list[list[float]] = []
    names = []
    start = time.process_time()
    for table in tables(which, min_rows=60, min_columns=4):
        X = table.X[~np.isnan(table.X).any(axis=1)]
        rng = np.random.default_rng(len(names))
        X = X[np.sort(rng.choice(len(X), min(len(X), ROWS), replace=False))][:, :COLUMNS]
        if len(X) < 60 or (X.std(axis=0) == 0).any():
            continue
        holes = blocks(X, rng)
        T = np.where(holes, np.nan, X)
        spread = np.nanstd(T, axis=0)
        if (spread == 0).any():
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = filled(T)
        errors = [float(np.sqrt(np.square(((found[m] - X) / spread)[holes]).mean())) for m in METHODS]
        names.append(table.name)
        ratios.append([max(errors[0], EXACT) / max(error, EXACT) for error in errors[1:]])
        print(
            f"{table.name:32s} {X.shape!s:10s} " + " ".join(f"{m} {e:.3f}" for m, e in zip(METHODS, errors)), flush=True
        )
        if len(names) == most:
            break
    logs = np.log(np.array(ratios))
    worst = np.argsort(-logs[:, 0])[:5]
    print(f"CPU {time.process_time() - start:.0f} s")
    return [
        f"| tables | {len(names)}, {which} |",
        "|---|---|",
        *(
            f"| error over that of {method}: geometric mean, at worst | {np.exp(one.mean()):.3f}, {np.exp(one.max()):.2f} ({names[int(one.argmax())]}) |"
            for method, one in zip(METHODS[1:], logs.T)
        ),
        "| farthest behind forests | " + ", ".join(f"{names[i]} {np.exp(logs[i, 0]):.2f}" for i in worst) + " |",
    ]


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    which, most = (words[:1] or ["decide"])[0], int((words[1:2] or ["40"])[0])
    found = lines(which, most)
    print("\n".join(found))
    if "--write" in sys.argv:
        write_block(PAGE, f"mar blocks {which}", found)


if __name__ == "__main__":
    main()
