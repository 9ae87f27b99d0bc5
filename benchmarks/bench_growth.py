"""Growth: CPU and memory of every default call as rows grow, beside what a user would take instead.

`python -m benchmarks growth` also writes the table of docs/scaling.md. Each fit runs in a forked process of its own; a size is left out
where the one before says that it would take more than `GRAMIAN_BENCH_LIMIT` seconds of CPU (60 by default). `GRAMIAN_BENCH_FITS` names
the fits to measure (any part of their words, with commas between); the rows of the others stay as they are.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import SpectralClustering
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA, KernelPCA
from sklearn.ensemble import IsolationForest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.mixture import GaussianMixture

from benchmarks._data import curved_clusters
from benchmarks._timing import QUICK, ROOT, Row, _status
from benchmarks.bench_defaults import labelled_rows, ridge_search, svc_search, target_rows
from benchmarks.bench_missing import curved
from gramian import (
    PPCA,
    KernelPPCA,
    KernelPPCAClassifier,
    KernelPPCAMixture,
    LatentImputer,
    LatentOutlierDetector,
    MultiViewRKM,
    PPCAMixture,
    RKMClassifier,
    RKMForecaster,
    RKMRegressor,
    fill,
    odd_rows,
)

PAGE = ROOT / "docs" / "scaling.md"
MARKS = "<!-- growth: from python -m benchmarks growth -->", "<!-- growth ends -->"
SIZES = (300, 1_000, 3_000, 10_000, 30_000, 50_000)
BEYOND = 3_000
"""Slopes are taken from here on."""
HERE, MOST_SECONDS, MOST_TIMES = 10_000, 10.0, 4.0
"""What must hold: at so many rows no default call takes more seconds, or more times the CPU of its peer."""


def rows(n: int) -> tuple[Any, Any]:
    return curved_clusters(n, 20), None


def holes(n: int) -> tuple[Any, Any]:
    return curved(n, 20), None


def halves(n: int) -> tuple[Any, Any]:
    X = curved_clusters(n, 20)
    return [X[:, :10], X[:, 10:]], None


def series(n: int) -> tuple[Any, Any]:
    steps = np.arange(n)
    return np.sin(steps / 5.0) + 0.3 * np.cos(steps / 1.7) + 0.1 * np.random.default_rng(0).standard_normal(n), None


def frames(n: int) -> tuple[Any, Any]:
    """A data frame of numbers with holes beside a category of four values."""
    table = pd.DataFrame(curved(n, 20), columns=[f"x{j}" for j in range(20)])
    ranks = table["x0"].fillna(table["x0"].mean()) + np.random.default_rng(0).standard_normal(n)
    return table.assign(kind=pd.qcut(ranks, 4, labels=list("abcd")).astype(object)), None


@dataclass(frozen=True)
class Call:
    """A function of a table as something that can be fitted."""

    function: Callable[[Any], Any]

    def fit(self, X: Any) -> Any:
        return self.function(X)


def numbers_of(frame: Any) -> Any:
    return frame.select_dtypes("number")


def forest_of_known(frame: Any) -> Any:
    return IsolationForest().fit(numbers_of(frame))


@dataclass(frozen=True)
class Fit:
    """A default of ours, its data, and what a user would take instead."""

    ours: Callable[[], Any]
    words: str
    data: Callable[[int], tuple[Any, Any]]
    theirs: Callable[[], Any] | None = None
    peer: str = "-"
    floor: float = 1.5
    beyond: str = ""  # what to take when it ends
    pairs: bool = False  # whether the peer stores all pairs of rows


IMPUTER, FOREST, GRID = "`IterativeImputer()`", "`IsolationForest()`", "12 settings, 5 folds"


def kernel_pca() -> Any:
    return KernelPCA(10, kernel="rbf", eigen_solver="arpack")


FITS = (
    Fit(PPCA, "`PPCA()`", rows, lambda: PCA("mle"), '`PCA("mle")`', beyond="`partial_fit`, `fit_batches`, Dask"),
    Fit(PPCA, "`PPCA()` with holes", holes, IterativeImputer, IMPUTER, beyond="`fit_batches`, Dask"),
    Fit(LatentImputer, "`LatentImputer()`", holes, IterativeImputer, IMPUTER, beyond="`fit_batches`, Dask"),
    Fit(
        lambda: Call(fill),
        "`gramian.fill(frame)`",
        frames,
        lambda: Call(lambda frame: IterativeImputer().fit_transform(numbers_of(frame))),
        "`IterativeImputer()`, numbers only",
        beyond="`gramian impute`",
    ),
    Fit(
        lambda: PPCAMixture(3, random_state=0),
        "`PPCAMixture(3)`",
        rows,
        lambda: GaussianMixture(3, random_state=0),
        "`GaussianMixture(3)`",
        beyond="`fit_batches`, Dask",
    ),
    Fit(
        KernelPPCA,
        "`KernelPPCA()`",
        rows,
        kernel_pca,
        '`KernelPCA(10, kernel="rbf", eigen_solver="arpack")`',
        2.3,
        '`n_components=10`, then `approximation="nystroem"`',
        pairs=True,
    ),
    Fit(
        lambda: KernelPPCA(10),
        "`KernelPPCA(10)`",
        rows,
        kernel_pca,
        '`KernelPCA(10, kernel="rbf", eigen_solver="arpack")`',
        2.3,
        '`approximation="nystroem"`',
        pairs=True,
    ),
    Fit(
        lambda: KernelPPCAMixture(3, random_state=0),
        "`KernelPPCAMixture(3)`",
        rows,
        lambda: SpectralClustering(3, affinity="nearest_neighbors", random_state=0),
        "`SpectralClustering(3)` of neighbours",
        beyond="`fit_batches`, Dask",
    ),
    Fit(
        KernelPPCAClassifier,
        "`KernelPPCAClassifier()`",
        labelled_rows,
        svc_search,
        f"`GridSearchCV(SVC())`, {GRID}",
        beyond="a linear model",
    ),
    Fit(
        RKMClassifier,
        "`RKMClassifier()`",
        labelled_rows,
        svc_search,
        f"`GridSearchCV(SVC())`, {GRID}",
        beyond='`kernel="linear"`',
    ),
    Fit(
        RKMRegressor,
        "`RKMRegressor()`",
        target_rows,
        ridge_search,
        f"`GridSearchCV(KernelRidge())`, {GRID}",
        beyond='`kernel="linear"`',
        pairs=True,
    ),
    Fit(RKMForecaster, "`RKMForecaster()`", series, beyond='`kernel="linear"`'),
    Fit(
        MultiViewRKM,
        "`MultiViewRKM()`",
        halves,
        lambda: Call(lambda views: CCA(2).fit(*views)),
        "`CCA(2)`",
        beyond='views of `"linear"` or `"nystroem"`',
    ),
    Fit(
        LatentOutlierDetector,
        "`LatentOutlierDetector()`",
        rows,
        IsolationForest,
        FOREST,
        beyond="`PPCA` in batches",
    ),
    Fit(
        lambda: Call(odd_rows),
        "`gramian.odd_rows(frame)`",
        frames,
        lambda: Call(forest_of_known),
        "`IsolationForest()`, numbers only",
        beyond="`PPCA` in batches",
    ),
)


@dataclass
class Costs:
    """What the sizes cost so far, of a fit whose slope may be up to ``floor``."""

    floor: float
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    mebibytes: list[float] = field(default_factory=list)

    def expected(self, n: int) -> float:
        """The cost of a further size: as the last two grew, and at least in proportion."""
        if not self.sizes:
            return 0.0
        power = 1.0
        if len(self.sizes) > 1 and self.floor >= 2:  # the others are linear, or fail their floor
            power = max(
                1.0, float(np.log(self.seconds[-1] / self.seconds[-2]) / np.log(self.sizes[-1] / self.sizes[-2]))
            )
        return self.seconds[-1] * (n / self.sizes[-1]) ** power

    def add(self, n: int, seconds: float, mebibytes: float) -> None:
        self.sizes.append(n)
        self.seconds.append(max(seconds, 1e-4))
        self.mebibytes.append(mebibytes)

    @property
    def slope(self) -> float | None:
        """Of log CPU on log N beyond 3,000 rows; None of fewer than two sizes."""
        kept = [i for i, n in enumerate(self.sizes) if n >= BEYOND]
        if len(kept) < 2:
            return None
        return float(np.polyfit(np.log([self.sizes[i] for i in kept]), np.log([self.seconds[i] for i in kept]), 1)[0])


def cost(make: Callable[[], Any], data: Callable[[int], tuple[Any, Any]], n: int) -> tuple[float, float]:
    """CPU seconds of a fit and its peak memory in MiB, in a forked process."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)

    def child() -> None:
        warnings.simplefilter("ignore")
        X, y = data(n)
        model = make()
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
        before, start = _status("VmRSS"), time.process_time()
        model.fit(X) if y is None else model.fit(X, y)
        writer.send((time.process_time() - start, (_status("VmHWM") - before) / 2**20))

    process = context.Process(target=child)
    process.start()
    writer.close()
    try:
        found: tuple[float, float] = reader.recv()
    except EOFError:
        raise RuntimeError(f"a fit of {n} rows ended its process") from None
    finally:
        process.join()
    return found


def measured(fit: Fit, limit: float) -> tuple[Costs, Costs]:
    """Both sides in turn, size by size."""
    mine, other = Costs(fit.floor), Costs(2.0)
    sizes = SIZES[:2] if os.environ.get(QUICK) else SIZES
    for n in sizes:
        for path, make in ((mine, fit.ours), (other, fit.theirs)):
            if path is other and fit.pairs and n > HERE:
                continue
            if make is not None and path.expected(n) <= limit and (not path.sizes or path.sizes[-1] == _before(n)):
                path.add(n, *cost(make, fit.data, n))
    return mine, other


def _before(n: int) -> int:
    return max((size for size in SIZES if size < n), default=0)


def cells(path: Costs) -> list[str]:
    found = dict(zip(path.sizes, path.seconds))
    return [f"{found[n]:.3g}" if n in found else "" for n in SIZES]


def line(words: str, path: Costs, times: str, beyond: str) -> str:
    """A row of the table on the page."""
    slope = "-" if path.slope is None else f"{path.slope:.1f}"
    known = dict(zip(path.sizes, path.mebibytes))
    peak = ", ".join(f"{known[n]:.0f} at {n:,}" for n in sorted({HERE, path.sizes[-1]}) if n in known)
    return f"| {words} | {' | '.join(cells(path))} | {slope} | {peak} | {times} | {beyond} |"


def times_of_peer(mine: Costs, other: Costs) -> tuple[str, float | None]:
    """Our CPU over the peer's at 10,000 rows, or where the peer ended before; and the number."""
    shared = [n for n in mine.sizes if n in other.sizes and n <= HERE]
    if not shared:
        return "-", None
    ratio = dict(zip(mine.sizes, mine.seconds))[shared[-1]] / dict(zip(other.sizes, other.seconds))[shared[-1]]
    return f"{ratio:.2g}x" + ("" if shared[-1] == HERE else f" at {shared[-1]:,}"), ratio


def run() -> Iterator[Row]:
    limit = float(os.environ.get("GRAMIAN_BENCH_LIMIT", 60))
    wanted = os.environ.get("GRAMIAN_BENCH_FITS", "").split(",")
    table: dict[str, list[str]] = {}
    for fit in (fit for fit in FITS if any(part in fit.words for part in wanted)):
        mine, other = measured(fit, limit)
        times, ratio = times_of_peer(mine, other)
        lines = table[fit.words] = [line(fit.words, mine, times, fit.beyond)]
        if other.sizes:
            lines.append(line(f"&nbsp;&nbsp;{fit.peer}", other, "", ""))
        told = ", ".join(f"{seconds:.2g} s at {n:,}" for n, seconds in zip(mine.sizes, mine.seconds))
        found = f"slope {mine.slope:.2f} ({told})" if mine.slope is not None else told
        holds = None if mine.slope is None else mine.slope <= fit.floor
        yield Row("P18", f"{fit.words}, N beyond 3,000", "linear growth", f"slope {fit.floor}", "1.1", found, holds)
        known = dict(zip(mine.sizes, mine.seconds))
        if HERE in known:
            works = known[HERE] <= MOST_SECONDS and (ratio is None or ratio <= MOST_TIMES)
            floor = f"{MOST_SECONDS:g} s and {MOST_TIMES:g}x its time"
            yield Row("", f"{fit.words}, N={HERE}", fit.peer, floor, "1x", f"{known[HERE]:.2g} s, {times}", works)
        if not os.environ.get(QUICK):
            write(table)  # after each: a run that is cut leaves what it found


def written(page: str) -> dict[str, list[str]]:
    """The rows of the table on the page, by the words of our fit."""
    found: dict[str, list[str]] = {}
    words = {fit.words for fit in FITS}
    for text in page.partition(MARKS[0])[2].partition(MARKS[1])[0].splitlines():
        first = text.split("|")[1].strip() if text.startswith("|") else ""
        if first in words:
            found[first] = [text]
        elif first.startswith("&nbsp;"):
            found[next(reversed(found))].append(text)
    return found


def write(measured: dict[str, list[str]]) -> None:
    """Put the table between its marks in docs/scaling.md."""
    page = PAGE.read_text()
    rows = {**written(page), **measured}
    lines = [text for fit in FITS for text in rows.get(fit.words, [])]
    head = " | ".join(f"{n:,}" for n in SIZES)
    table = [
        MARKS[0],
        "",
        "CPU seconds of one call with nothing but defaults, one BLAS thread, 20 columns; sizes that would take too long for a run are left out, and so are peers that store all pairs of more than 10,000 rows. "
        "The slope is that of log CPU on log N from 3,000 rows on; the peak is the memory of a fit beyond its rows. The last column but one is our CPU over the peer's at 10,000 rows: none may be "
        "above 4, or above 10 s (`python -m benchmarks growth`, [benchmarks](benchmarks.md)). "
        "Models with a target, classes or kernel clusters are exact up to 2,000 rows and take landmarks beyond: their cost falls there before it grows.",
        "",
        f"| call | {head} | slope | peak memory, MiB | of its peer | what to take when it ends |",
        "|---|" + "---:|" * len(SIZES) + "---|---|---|---|",
        *lines,
        "",
        MARKS[1],
    ]
    before, _, rest = page.partition(MARKS[0])
    after = rest.partition(MARKS[1])[2] if rest else ""
    if not rest:
        before = before.rstrip() + "\n\n## How default fits grow\n\n"
    PAGE.write_text(before + "\n".join(table) + (after or "\n"))
