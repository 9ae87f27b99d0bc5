"""Probabilistic PCA on complete data, streams, small problems and import, against scikit-learn."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
from scipy.linalg import blas
from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA

from benchmarks._timing import Row, interleaved, sized
from gramian import PPCA, KernelPPCA, kernels

BATCH = 10_000


def tall(n: int = sized(1_000_000, 50_000), d: int = 100) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)) * np.linspace(3, 1, d)


def run() -> Iterator[Row]:
    X = tall()
    yield streaming(X)
    yield from closed_form(X)
    del X
    yield from small_problems()
    yield import_time()


def streaming(X: np.ndarray) -> Row:
    def ours() -> None:
        model = PPCA(10)
        for start in range(0, len(X), BATCH):
            model.partial_fit(X[start : start + BATCH])
        model.components_  # noqa: B018  the decomposition waits for its first use

    def theirs() -> None:
        model = IncrementalPCA(10)
        for start in range(0, len(X), BATCH):
            model.partial_fit(X[start : start + BATCH])

    def least() -> None:
        """The product XᵀX and the sums of the columns, which no way of streaming moments can do without."""
        ones = np.ones(BATCH)
        for start in range(0, len(X), BATCH):
            batch = X[start : start + BATCH]
            blas.dsyrk(1.0, batch.T)
            ones @ batch

    took = interleaved({"ours": ours, "theirs": theirs, "least": least}, repeats=7)
    ratio, limit = (took["theirs"].cpu / took[side].cpu for side in ("ours", "least"))
    return Row(
        "P9",
        f"`partial_fit`, {len(X):.0e} x 100, batches of {BATCH}",
        "IncrementalPCA",
        "14x",
        "20x",
        f"{ratio:.1f}x (one product and the sums of the columns of each batch, and nothing else: {limit:.1f}x)",
        ratio >= 14,
    )


def closed_form(X: np.ndarray) -> Iterator[Row]:
    single = X.astype(np.float32)
    sides = {
        "ours": lambda: PPCA(10).fit(X),
        "ours32": lambda: PPCA(10).fit(single),
        "theirs": lambda: PCA(10, svd_solver="covariance_eigh").fit(X),
        "theirs32": lambda: PCA(10, svd_solver="covariance_eigh").fit(single),
    }
    took = interleaved(sides, repeats=5)
    ratio = took["theirs"].cpu / took["ours"].cpu
    ratio32 = took["theirs"].cpu / took["ours32"].cpu
    same = took["theirs32"].cpu / took["ours32"].cpu
    yield Row(
        "P9b",
        "`fit` complete data, 1e6 x 100, float64",
        "PCA covariance_eigh",
        "0.95x",
        "",
        f"{ratio:.2f}x",
        ratio >= 0.95,
    )
    found = f"{ratio32:.2f}x ({same:.2f}x against PCA in float32)"
    yield Row("P9b", "the same in float32", "PCA covariance_eigh in float64", "1.6x", "1.8x", found, ratio32 >= 1.6)


def small_problems() -> Iterator[Row]:
    X = np.random.default_rng(0).standard_normal((200, 10))
    pairs = {
        "PCA": (lambda: PPCA(2).fit(X).transform(X), lambda: PCA(2).fit(X).transform(X)),
        "KernelPCA": (
            lambda: KernelPPCA(2, kernel=kernels.RBF(2.0)).fit(X).transform(X),
            lambda: KernelPCA(2, kernel="rbf", gamma=1 / 8).fit(X).transform(X),
        ),
    }
    for name, (ours, theirs) in pairs.items():
        many = {
            "ours": lambda run=ours: [run() for _ in range(50)],
            "theirs": lambda run=theirs: [run() for _ in range(50)],
        }
        ours(), theirs()
        took = interleaved(many, repeats=7)
        ratio = took["ours"].cpu / took["theirs"].cpu
        yield Row(
            "P13", "N=200, d=10, q=2: fit + transform, time over theirs", name, "1.5", "1", f"{ratio:.2f}", ratio <= 1.5
        )


def import_time() -> Row:
    def seconds(statement: str) -> float:
        """CPU of a process of its own: on cores that are not free wall time says nothing."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", statement], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    sides = {
        "ours": "from gramian import PPCA, KernelPPCA",
        "bare": "import gramian",
        "theirs": "import sklearn.decomposition",
    }
    took: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(7):
        for name, statement in sides.items():
            took[name].append(seconds(statement))
    ours, bare, theirs = (float(np.median(took[name])) for name in sides)
    found = f"{ours / theirs:.2f} (bare `import gramian`: {bare / theirs:.2f})"
    return Row(
        "P14",
        "import of PPCA and KernelPPCA, time over theirs",
        "sklearn.decomposition",
        "1.2",
        "1.05",
        found,
        ours / theirs <= 1.2,
    )
