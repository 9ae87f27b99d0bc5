"""Sampling and pre-images: what a second call of `KernelPPCA.sample` costs, and each pre-image per point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._data import curved_clusters
from benchmarks._timing import Row, interleaved, sized
from gramian import KernelPPCA

N, DRAWS = sized(2_000, 300), 25
METHODS = ("smoother", "ridge", "mds", "fixed_point", "gradient")


def run() -> Iterator[Row]:
    X = curved_clusters(N, 20)
    model = KernelPPCA(10).fit(X)
    model.sample(DRAWS, random_state=0)  # the first call learns how to draw
    Z = model.transform(X[:DRAWS])
    model.inverse_transform(Z)
    took = interleaved(
        {"ours": lambda: model.sample(DRAWS, random_state=1), "theirs": lambda: model.inverse_transform(Z)}, repeats=9
    )
    ratio = took["ours"].cpu / took["theirs"].cpu
    yield Row(
        "P23",
        f"`KernelPPCA.sample({DRAWS})` after the first call, N={N}",
        f"`inverse_transform` of {DRAWS} points",
        "10x its time",
        "2x",
        f"{ratio:.2f}x ({1e3 * took['ours'].cpu:.1f} ms)",
        ratio <= 10,
    )
    each = {}
    for method in METHODS:
        decoding = KernelPPCA(10, preimage=method).fit(X)
        decoding.inverse_transform(Z[:2])
        found = interleaved(
            {"one": lambda m=decoding: m.inverse_transform(Z[:1]), "all": lambda m=decoding: m.inverse_transform(Z)}
        )
        each[method] = 1e3 * max(found["all"].cpu - found["one"].cpu, 0.0) / (DRAWS - 1)
    words = ", ".join(f"{method} {value:.2f}" for method, value in each.items())
    yield Row("-", f"pre-images, CPU ms per further point, N={N} d=20", "-", "-", "-", words, None)


if __name__ == "__main__":
    np.set_printoptions(precision=3)
    for row in run():
        print(row.work, row.found)
