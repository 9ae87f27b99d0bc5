"""Mixtures: one EM iteration of `PPCAMixture` against scikit-learn's full-covariance `GaussianMixture`, from the same start."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from benchmarks._timing import Row, interleaved
from gramian import PPCAMixture

N, D, K, Q = int(os.environ.get("GRAMIAN_BENCH_ROWS", 100_000)), 100, 10, 5
STEPS = 4


def clusters(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Rows of K clusters with their own subspaces, and responsibilities that know them roughly."""
    rng = np.random.default_rng(0)
    labels = rng.integers(K, size=n)
    X = 0.5 * rng.standard_normal((n, D))
    for k in range(K):
        rows = labels == k
        X[rows] += rng.standard_normal((rows.sum(), Q)) @ rng.standard_normal((Q, D)) + rng.standard_normal(D)
    return X, 0.8 * np.eye(K)[labels] + 0.2 * rng.dirichlet(np.full(K, 0.3), n)


class Started(GaussianMixture):
    """scikit-learn's mixture from given responsibilities."""

    start: np.ndarray

    def _initialize_parameters(self, X: Any, random_state: Any, xp: Any = None) -> None:
        self._initialize(X, self.start)


def run(n: int = N) -> Iterator[Row]:
    X, start = clusters(n)
    Started.start = start

    def ours(steps: int) -> Any:
        return lambda: PPCAMixture(K, Q, init=start, tol=0.0, max_iter=steps).fit(X)

    def theirs(steps: int) -> Any:
        return lambda: Started(K, tol=0.0, max_iter=steps).fit(X)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        took = interleaved(
            {
                "ours one": ours(1),
                "theirs one": theirs(1),
                "ours many": ours(1 + STEPS),
                "theirs many": theirs(1 + STEPS),
            }
        )
    each = {side: (took[f"{side} many"].cpu - took[f"{side} one"].cpu) / STEPS for side in ("ours", "theirs")}
    ratio = each["theirs"] / each["ours"]
    model = PPCAMixture(K, Q, random_state=0).fit(X)
    steps = model.n_iter_ if model.converged_ else None
    yield Row(
        "P11",
        f"mixture iteration N={n:.0e} d={D} K={K} q={Q}",
        "GaussianMixture full",
        "14x; converged in 10 iterations",
        "30x in float32",
        f"{ratio:.1f}x; converged in {steps} iterations from k-means",
        ratio >= 14 and steps is not None and steps <= 10,
    )


if __name__ == "__main__":
    for row in run(*map(int, sys.argv[1:])):
        print(row.number, row.work, row.found, row.holds)
