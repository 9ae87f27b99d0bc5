"""Defaults: what a newcomer types against what a user would take instead, one function per row of PERFORMANCE.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks._timing import Row, interleaved
from gramian import KernelPPCAClassifier

SVC_GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.05, 0.2]}
"""12 settings around scikit-learn's defaults for 20 columns of unit variance."""
SLOPE_ROWS = (2_500, 10_000, 40_000)


def labelled_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of several clusters each, 20 columns, 5 % of the labels wrong."""
    X, y = make_classification(n, 20, n_informative=8, n_redundant=4, flip_y=0.05, random_state=0)
    return X, y


def classifier(sizes: tuple[int, ...] = (1_000, 4_000)) -> Iterator[Row]:
    """P17: `KernelPPCAClassifier()`, which tunes itself, against a grid search of SVC."""
    for n in sizes:
        X, y = labelled_rows(n)
        took = interleaved(
            {
                "ours": lambda X=X, y=y: KernelPPCAClassifier().fit(X, y),
                "theirs": lambda X=X, y=y: GridSearchCV(SVC(), SVC_GRID, cv=5).fit(X, y),
            }
        )
        ratio = took["ours"].cpu / took["theirs"].cpu
        yield Row(
            "P17",
            f"KernelPPCAClassifier() N={n}",
            "GridSearchCV(SVC), 12 settings, 5 folds",
            "1x its time",
            "0.3x",
            f"{ratio:.2f}x ({took['ours'].cpu:.2f} s)",
            ratio <= 1.0,
        )


def classifier_growth(sizes: tuple[int, ...] = SLOPE_ROWS) -> Iterator[Row]:
    """P18: the growth of `KernelPPCAClassifier()` beyond 2,000 rows."""
    candidates = {}
    for n in sizes:
        X, y = labelled_rows(n)
        candidates[str(n)] = lambda X=X, y=y: KernelPPCAClassifier().fit(X, y)
    took = interleaved(candidates, repeats=1)
    seconds = [took[str(n)].cpu for n in sizes]
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    told = ", ".join(f"{value:.1f} s" for value in seconds)
    yield Row(
        "P18",
        f"KernelPPCAClassifier() N={sizes}",
        "linear growth",
        "slope 1.5",
        "1.1",
        f"{slope:.2f} ({told})",
        slope <= 1.5,
    )


ROWS: tuple[Callable[[], Iterator[Row]], ...] = (classifier, classifier_growth)


def run() -> Iterator[Row]:
    for row in ROWS:
        yield from row()
