"""Transform of new rows: `KernelPPCA` against scikit-learn's `KernelPCA`, 10,000 training rows, 10 components, RBF."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sklearn.decomposition import KernelPCA

from benchmarks._data import curved_clusters, gamma_of, length_scale_of
from benchmarks._timing import Row, fresh, interleaved, sized
from gramian import KernelPPCA
from gramian.kernels import RBF

N, NEW, Q = sized(10_000, 2_000), sized(4_000, 1_000), 10
HERE = "benchmarks.bench_transform"


def ours() -> Callable[[], Any]:
    X = curved_clusters(N + NEW)
    model = KernelPPCA(Q, kernel=RBF(length_scale_of(X[:N])), random_state=0).fit(X[:N])
    return lambda: model.transform(X[N:])


def theirs() -> Callable[[], Any]:
    X = curved_clusters(N + NEW)
    model = KernelPCA(Q, kernel="rbf", gamma=gamma_of(X[:N]), eigen_solver="arpack", tol=1e-4, random_state=0).fit(
        X[:N]
    )
    return lambda: model.transform(X[N:])


def run() -> Iterator[Row]:
    took = interleaved({"ours": ours(), "theirs": theirs()}, repeats=5)
    ratio = took["theirs"].cpu / took["ours"].cpu
    mine, other = (fresh(f"{HERE}:{side}").peak_bytes for side in ("ours", "theirs"))
    found = f"{ratio:.1f}x, {mine / 2**20:.0f} MiB against {other / 2**20:.0f}"
    yield Row(
        "P7",
        f"transform of {NEW} new rows, N={N} d=64, one thread",
        "KernelPCA.transform",
        "1.4x, memory of one tile",
        "2.5x",
        found,
        ratio >= 1.4,
    )
