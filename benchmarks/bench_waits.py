"""Waits of the third part (P27, P28, P29, P31, P32, P34): default calls beside the peers that PERFORMANCE.md names."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

from benchmarks._data import curved_clusters
from benchmarks._timing import ROOT, Row, fresh, interleaved, sized
from benchmarks.bench_defaults import svc_search
from benchmarks.bench_missing import curved
from gramian import KernelPPCA, KernelPPCAMixture, LatentImputer, RKMClassifier

COLUMNS = 20


def compared(
    number: str, work: str, against: str, floor: float, goal: str, ours: Callable[[], Any], theirs: Callable[[], Any]
) -> Row:
    """The CPU of a call of ours over that of its peer, at most ``floor``."""
    took = interleaved({"ours": ours, "theirs": theirs}, repeats=1)
    ratio = took["ours"].cpu / took["theirs"].cpu
    found = f"{ratio:.2f}x ({took['ours'].cpu:.1f} s, {took['theirs'].cpu:.1f} s)"
    return Row(number, work, against, f"{floor:g}x its time", goal, found, ratio <= floor)


def default_kernel_fit(n: int) -> Callable[[], Any]:
    X = curved_clusters(n, COLUMNS)
    return lambda: KernelPPCA().fit(X)


def landmark_pca(n: int) -> Callable[[], Any]:
    X = curved_clusters(n, COLUMNS)
    return lambda: make_pipeline(Nystroem(n_components=500, gamma=1 / X.var() / COLUMNS), PCA(10)).fit(X)


def kernel_model() -> Iterator[Row]:
    """P27."""
    for n in (sized(5_000, 600), sized(10_000, 700)):
        X = curved_clusters(n, COLUMNS)
        gamma = 1 / (COLUMNS * X.var())
        peer = KernelPCA(10, kernel="rbf", gamma=gamma, eigen_solver="arpack")
        words = 'KernelPCA(10, eigen_solver="arpack")'
        yield compared(
            "P27",
            f"KernelPPCA() N={n}",
            words,
            4.0,
            "1.5x",
            lambda X=X: KernelPPCA().fit(X),
            lambda X=X, peer=peer: peer.fit(X),
        )
    n = sized(50_000, 11_000)
    mine, theirs = (fresh(f"benchmarks.bench_waits:{name}", n) for name in ("default_kernel_fit", "landmark_pca"))
    found = f"{mine.cpu:.1f} s, {mine.peak_bytes / 1e9:.2f} GB ({theirs.cpu:.1f} s, {theirs.peak_bytes / 1e9:.2f} GB)"
    holds = mine.cpu <= 30 and mine.peak_bytes <= 5e8
    yield Row("P27", f"KernelPPCA() N={n}", "Nystroem(500) + PCA(10)", "30 s and 0.5 GB", "10 s", found, holds)


def classifier() -> Iterator[Row]:
    """P28."""
    for n in (sized(1_000, 300), sized(3_000, 400)):
        for classes in (3, 10):
            X, y = make_classification(
                n, COLUMNS, n_informative=8, n_redundant=4, n_classes=classes, flip_y=0.05, random_state=0
            )
            work, words = f"RKMClassifier() N={n}, {classes} classes", "GridSearchCV(SVC), 12 settings, 5 folds"
            yield compared(
                "P28",
                work,
                words,
                1.0,
                "0.3x",
                lambda X=X, y=y: RKMClassifier().fit(X, y),
                lambda X=X, y=y: svc_search().fit(X, y),
            )


def kernel_mixture() -> Iterator[Row]:
    """P29."""
    n = sized(4_000, 500)
    X, half = curved_clusters(n, COLUMNS), curved_clusters(n // 2, COLUMNS)
    took = interleaved(
        {
            "half": lambda: KernelPPCAMixture(random_state=0).fit(half),
            "ours": lambda: KernelPPCAMixture(random_state=0).fit(X),
            "theirs": lambda: SpectralClustering(2, affinity="nearest_neighbors", random_state=0).fit(X),
        },
        repeats=1,
    )
    slope = float(np.log2(took["ours"].cpu / took["half"].cpu))
    found = f"{took['ours'].cpu:.1f} s, slope {slope:.1f} from half as many ({took['theirs'].cpu:.1f} s)"
    holds = took["ours"].cpu <= 5 and slope <= 2
    yield Row(
        "P29", f"KernelPPCAMixture() N={n}", "SpectralClustering (neighbours)", "5 s, slope 2", "2 s", found, holds
    )


def table_file(path: Path, n: int, d: int) -> None:
    """A CSV of correlated numbers, a category and holes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d - 1)) + rng.standard_normal((n, d - 1))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"x{j}" for j in range(d - 1)] + ["kind"])
        for row, hidden, kind in zip(X, rng.random(X.shape) < 0.02, rng.integers(0, 4, n)):
            writer.writerow(["" if gone else f"{value:.5f}" for value, gone in zip(row, hidden)] + ["abcd"[kind]])


def command(*words: str) -> tuple[float, int]:
    """CPU seconds and peak memory of a command in a process of its own."""
    code = (
        "import resource,subprocess,sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "use = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(use.ru_utime + use.ru_stime, use.ru_maxrss * 1024)"
    )
    run = [sys.executable, "-c", code, sys.executable, *words]
    pinned = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    found = subprocess.run(run, cwd=ROOT, env=os.environ | pinned, stdout=subprocess.PIPE, text=True, check=True)
    cpu, peak = found.stdout.split()
    return float(cpu), int(peak)


def report() -> Iterator[Row]:
    """P31."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        n = sized(100_000, 2_000)
        table_file(path, n, 12)
        cpu, peak = command("-m", "gramian", "report", str(path), "-o", str(Path(folder) / "page.html"))
        size = path.stat().st_size / 1e6
    found, holds = f"{cpu:.1f} s, {peak / 1e9:.2f} GB", cpu <= 15 and peak <= 1e9
    yield Row("P31", f"gramian report of {size:.0f} MB ({n} x 12)", "-", "15 s, 1 GB", "5 s", found, holds)


def reading() -> Iterator[Row]:
    """P32: numbers of a CSV, the command's CPU less that on a tiny file, against pandas less its start."""
    with tempfile.TemporaryDirectory() as folder:
        large, tiny = Path(folder) / "large.csv", Path(folder) / "tiny.csv"
        rng = np.random.default_rng(0)
        n = sized(300_000, 5_000)
        X = rng.standard_normal((n, 20))
        np.savetxt(large, X, fmt="%.6f", delimiter=",", header=",".join(f"x{j}" for j in range(20)), comments="")
        np.savetxt(tiny, X[:200], fmt="%.6f", delimiter=",", header=",".join(f"x{j}" for j in range(20)), comments="")
        size = large.stat().st_size / 1e6
        ours, theirs = [], []
        reader = "import sys, pandas; pandas.read_csv(sys.argv[1])"
        mine = "import sys; from gramian.io.tables import read_table; read_table(sys.argv[1])"
        for path in (tiny, large):
            ours.append(command("-c", mine, str(path))[0])
            theirs.append(command("-c", reader, str(path))[0])
    ratio = (ours[1] - ours[0]) / max(theirs[1] - theirs[0], 1e-3)
    yield Row("P32", f"CSV of {size:.0f} MB", "pandas.read_csv", "3.5x its time", "1.5x", f"{ratio:.2f}x", ratio <= 3.5)


def robust_imputer() -> Iterator[Row]:
    """P34."""
    X = curved(sized(2_000, 300), COLUMNS)
    yield compared(
        "P34",
        f"LatentImputer() N={len(X)}, flags of wild cells",
        "itself with robust=False",
        2.0,
        "1.3x",
        lambda: LatentImputer().fit_transform(X),
        lambda: LatentImputer(robust=False).fit_transform(X),
    )


ROWS = {
    "KernelPPCA": kernel_model,
    "RKMClassifier": classifier,
    "KernelPPCAMixture": kernel_mixture,
    "report": report,
    "CSV": reading,
    "LatentImputer": robust_imputer,
}


def run() -> Iterator[Row]:
    wanted = os.environ.get("GRAMIAN_BENCH_FITS", "").split(",")
    for name, rows in ROWS.items():
        if any(part in name for part in wanted):
            begin = time.perf_counter()
            yield from rows()
            print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
