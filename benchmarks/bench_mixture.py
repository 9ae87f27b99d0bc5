"""Mixtures: one EM iteration of `PPCAMixture` against scikit-learn's full-covariance `GaussianMixture`, from the same start."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from benchmarks._data import curved_clusters
from benchmarks._timing import Row, interleaved, sized
from gramian import PPCAMixture
from gramian.mixtures.mixture import shares_of_weight
from gramian.mixtures.ppca_fit import gaussian_rows
from gramian.mixtures.rows import MixtureTable
from gramian.mixtures.start import Given

N, D, K, Q = sized(100_000, 5_000), 100, 10, 5
STEPS = 5


def clusters(n: int, d: int = D, n_clusters: int = K, q: int = Q) -> tuple[np.ndarray, np.ndarray]:
    """Rows of clusters with their own subspaces, and the cluster of each."""
    rng = np.random.default_rng(0)
    labels = rng.integers(n_clusters, size=n)
    X = 0.5 * rng.standard_normal((n, d))
    for k in range(n_clusters):
        rows = labels == k
        X[rows] += rng.standard_normal((rows.sum(), q)) @ rng.standard_normal((q, d)) + rng.standard_normal(d)
    return X, labels


def with_holes(X: np.ndarray, words: str = "") -> Row:
    """P26: the default fit of six clusters with a tenth of the cells missing, against that of the complete rows; both choose q."""
    n, d = X.shape
    holed = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    took = interleaved(
        {
            "ours": lambda: PPCAMixture(6, random_state=0).fit(holed),
            "theirs": lambda: PPCAMixture(6, random_state=0).fit(X),
        },
        repeats=1 if words else 3,
    )
    ratio = took["ours"].cpu / took["theirs"].cpu
    return Row(
        "P26",
        f"PPCAMixture(6) N={n} d={d}{words}, 10 % missing",
        "the same rows complete",
        "15x its time",
        "5x",
        f"{ratio:.1f}x ({took['ours'].cpu:.2f} s)",
        ratio <= 15.0,
    )


def curved(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of K curved clusters, which no Gaussian fits, and the cluster of each."""
    return curved_clusters(n, D, K), np.random.default_rng(0).integers(K, size=n)  # the labels that it draws first


def rough(labels: np.ndarray) -> np.ndarray:
    """Responsibilities that know the clusters roughly."""
    return 0.8 * np.eye(K)[labels] + 0.2 * np.random.default_rng(1).dirichlet(np.full(K, 0.3), len(labels))


class Started(GaussianMixture):
    """scikit-learn's mixture from given responsibilities."""

    start: np.ndarray

    def _initialize_parameters(self, X: Any, random_state: Any, xp: Any = None) -> None:
        self._initialize(X, self.start)


def compared(X: np.ndarray, labels: np.ndarray, words: str, floor: float | None) -> Row:
    """The cost of an iteration, E- and M-step: both sides take turns, step by step from the same start.

    Whole fits differ by their set-up, which a difference of two fits of few steps does not take out.
    """
    start = Started.start = rough(labels)
    table = MixtureTable.of(X, None, start)
    ours = gaussian_rows(table, [Q] * K, shared=False, rng=np.random.default_rng(0))
    components, masses = ours.start(Given())
    theirs = Started(K, tol=0.0, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(X)
    at: dict[str, Any] = {"components": components, "masses": masses}

    def our_step() -> None:
        seen = ours.see(at["components"], shares_of_weight(at["masses"]))
        at.update(components=ours.refit(seen, at["components"]), masses=seen.masses)

    def their_step() -> None:
        theirs._m_step(X, theirs._e_step(X)[1])

    took = interleaved({"ours": our_step, "theirs": their_step}, repeats=STEPS)
    ratio = took["theirs"].cpu / took["ours"].cpu
    model = PPCAMixture(K, Q, random_state=0).fit(X)
    steps = model.n_iter_ if model.converged_ else None
    return Row(
        "P11",
        f"mixture iteration N={len(X):.0e} d={D} K={K} q={Q}{words}",
        "GaussianMixture full",
        "14x; converged in 10 iterations" if floor else "-",
        "30x in float32",
        f"{ratio:.1f}x ({1e3 * took['ours'].cpu:.0f} ms); converged in {steps} iterations from k-means",
        None if floor is None else ratio >= floor and steps is not None and steps <= 10,
    )


def run() -> Iterator[Row]:
    yield compared(*clusters(N), "", 14.0)
    yield compared(*curved(N), ", curved", None)
    yield with_holes(clusters(sized(1_000, 300), 50, 6, 3)[0])
    yield with_holes(clusters(sized(30_000, 1_000), 10, 6, 3)[0])
    yield with_holes(curved_clusters(sized(1_000, 300), sized(50, 12), 6), ", curved")
