"""Defaults: what a newcomer types against what a user would take instead, one function per row of PERFORMANCE.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks._timing import Row, interleaved, sized
from benchmarks.bench_missing import curved
from gramian import KernelPPCAClassifier, LatentImputer, RKMClassifier, RKMRegressor

Rows = Callable[[int], tuple[np.ndarray, np.ndarray]]
SVC_GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.05, 0.2]}
"""12 settings around scikit-learn's defaults for 20 columns of unit variance."""
RIDGE_GRID = {"alpha": [0.01, 0.1, 1.0], "gamma": [0.005, 0.02, 0.05, 0.2]}
"""12 settings around the median distance of 20 columns of unit variance."""
SMALL, LARGE = sized(1_000, 300), sized(4_000, 600)


def labelled_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of several clusters each, 20 columns, 5 % of the labels wrong."""
    X, y = make_classification(n, 20, n_informative=8, n_redundant=4, flip_y=0.05, random_state=0)
    return X, y


def target_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A bend, an interaction and noise in 20 columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)


def tuned(
    ours: Callable[[], Any], peer: Callable[[], Any], words: str, data: Rows, sizes: tuple[int, ...] = (SMALL, LARGE)
) -> Iterator[Row]:
    """P17: a default that tunes itself against a grid search of 12 settings in 5 folds."""
    for n in sizes:
        X, y = data(n)
        took = interleaved(
            {"ours": lambda X=X, y=y: ours().fit(X, y), "theirs": lambda X=X, y=y: peer().fit(X, y)},
            repeats=3 if n == SMALL else 1,
        )
        ratio = took["ours"].cpu / took["theirs"].cpu
        yield Row(
            "P17",
            f"{type(ours()).__name__}() N={n}",
            f"GridSearchCV({words}), 12 settings, 5 folds",
            "1x its time",
            "0.3x",
            f"{ratio:.2f}x ({took['ours'].cpu:.2f} s)",
            ratio <= 1.0,
        )


def imputation(sizes: tuple[int, ...] = (SMALL, sized(5_000, 500), sized(20_000, 600))) -> Iterator[Row]:
    """P16: the default imputer on curved rows with a fifth of their cells missing."""
    for n in sizes:
        X = curved(n, 20)
        took = interleaved(
            {
                "ours": lambda X=X: LatentImputer().fit_transform(X),
                "theirs": lambda X=X: IterativeImputer().fit_transform(X),
            },
            repeats=3 if n == SMALL else 1,
        )
        ratio = took["ours"].cpu / took["theirs"].cpu
        found = f"{ratio:.2f}x ({took['ours'].cpu:.2f} s)"
        yield Row("P16", f"LatentImputer() N={n} d=20", "IterativeImputer()", "3x its time", "1x", found, ratio <= 3.0)


def svc_search() -> Any:
    return GridSearchCV(SVC(), SVC_GRID, cv=5)


def ridge_search() -> Any:
    return GridSearchCV(KernelRidge(kernel="rbf"), RIDGE_GRID, cv=5)


ROWS: tuple[Callable[[], Iterator[Row]], ...] = (
    imputation,
    lambda: tuned(KernelPPCAClassifier, svc_search, "SVC", labelled_rows),
    lambda: tuned(RKMRegressor, ridge_search, "KernelRidge", target_rows),
    lambda: tuned(RKMClassifier, svc_search, "SVC", labelled_rows),
)


def run() -> Iterator[Row]:
    for row in ROWS:
        yield from row()
