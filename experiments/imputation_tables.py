"""`LatentImputer()` on real tables with a fifth of their cells hidden, against what a user would take instead.

Errors are root mean squares over the hidden cells, each in units of the standard deviation of what its column still shows. Run with "decide" (the half of the
tables on which rules may be decided) or "report" (the other half).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments._tables import tables
from gramian import LatentImputer

SHARE = 0.2
MAX_ROWS, MAX_COLUMNS = 1000, 40


@dataclass(frozen=True)
class Job:
    name: str
    X: np.ndarray  # with the hidden cells missing
    truth: np.ndarray  # of the hidden cells, standardised
    hidden: tuple[np.ndarray, ...]
    mean: np.ndarray
    scale: np.ndarray

    def error(self, filled: np.ndarray) -> float:
        return float(np.sqrt(np.mean((self.in_units(filled) - self.truth) ** 2)))

    def in_units(self, filled: np.ndarray) -> np.ndarray:
        return ((filled - self.mean) / self.scale)[self.hidden]


def jobs(which: str, max_rows: int = MAX_ROWS, max_columns: int = MAX_COLUMNS, seed: int = 0) -> Iterator[Job]:
    """The tables of a half, a fifth of the observed cells hidden; columns that then show fewer than two values are left out."""
    for table in tables(which, max_rows=max_rows):
        X = table.X[:, :max_columns]
        rng = np.random.default_rng(seed)
        hide = (rng.random(X.shape) < SHARE) & ~np.isnan(X)
        shown = np.where(hide, np.nan, X)
        rows = ~np.isnan(shown).all(axis=1)
        X, shown, hide = X[rows], shown[rows], hide[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scale = np.nanstd(shown, axis=0)
        keep = np.isfinite(scale) & (scale > 0)
        X, shown, hide, scale = X[:, keep], shown[:, keep], hide[:, keep], scale[keep]
        rows = ~np.isnan(shown).all(axis=1)
        X, shown, hide = X[rows], shown[rows], hide[rows]
        if X.shape[1] < 4 or len(X) < 30:
            continue
        mean = np.nanmean(shown, axis=0)
        hidden = hide.nonzero()
        truth = ((X - mean) / scale)[hidden]
        yield Job(table.name, shown, truth, hidden, mean, scale)


def filled_by(make: Callable[[], Any], job: Job) -> tuple[np.ndarray, float]:
    """The filled table and the CPU seconds that it took."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        filled = make().fit_transform(job.X)
    return filled, time.process_time() - start


PEERS: dict[str, Callable[[], Any]] = {
    "mean": SimpleImputer,
    "IterativeImputer": IterativeImputer,
    "KNNImputer": lambda: make_pipeline(StandardScaler(), KNNImputer()),
}


def peer_error(name: str, job: Job) -> tuple[float, float]:
    filled, seconds = filled_by(PEERS[name], job)
    if name == "KNNImputer":  # its pipeline ends in standard units
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scaler = StandardScaler().fit(job.X)
        filled = scaler.inverse_transform(filled)
    return job.error(filled), seconds


@dataclass(frozen=True)
class Summary:
    """One row per table: error and CPU of ours, then of each peer, then what intervals cover; and cells inside, cells in all."""

    found: np.ndarray
    inside: int
    cells: int

    def ratio(self, name: str) -> np.ndarray:
        return self.found[:, 0] / self.found[:, 2 + 2 * list(PEERS).index(name)]

    def cpu(self, name: str) -> float:
        return float(self.found[:, 1].sum() / self.found[:, 3 + 2 * list(PEERS).index(name)].sum())

    @staticmethod
    def typical(values: np.ndarray) -> float:
        return float(np.exp(np.log(values).mean()))

    @property
    def above(self) -> float:
        """The share of tables above 1.02 of the mean's error."""
        return float((self.ratio("mean") > 1.02).mean())


def lines(parts: tuple[str, ...], most: int, max_rows: int = MAX_ROWS) -> list[str]:
    """A Markdown table with a line per half."""
    found = [
        "| tables | number | against IterativeImputer | KNNImputer | mean | above 1.02 of the mean's error | 90 % intervals, pooled | at worst | CPU over IterativeImputer's |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for part in parts:
        result = summary(part, most, max_rows)
        ratios = " | ".join(
            f"{result.typical(result.ratio(name)):.3f}" for name in ("IterativeImputer", "KNNImputer", "mean")
        )
        found.append(
            f"| {part} | {len(result.found)} | {ratios} | {result.above:.1%} | {result.inside / result.cells:.1%} | "
            f"{result.found[:, -1].min():.1%} | {result.cpu('IterativeImputer'):.2f} |"
        )
        print(found[-1], flush=True)
    return found


def summary(which: str, most: int | None = None, max_rows: int = MAX_ROWS) -> Summary:
    rows: list[tuple[float, ...]] = []
    inside = cells = 0
    for job in islice(jobs(which, max_rows=max_rows), most):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LatentImputer().fit(job.X)
            full, std = model.impute(job.X, return_std=True)
        ours = (job.error(full), time.process_time() - start)
        covered = np.abs(job.in_units(full) - job.truth) <= 1.6449 * (std / job.scale)[job.hidden]
        inside, cells = inside + int(covered.sum()), cells + covered.size
        peers = [value for name in PEERS for value in peer_error(name, job)]
        rows.append((*ours, *peers, float(covered.mean())))
        print(
            f"{job.name:45s} {job.X.shape!s:12s} {ours[0]:.3f} mean {peers[0]:.3f} iterative {peers[2]:.3f} knn {peers[4]:.3f}",
            flush=True,
        )
    return Summary(np.array(rows), inside, cells)


def main(which: str = "decide") -> None:
    result = summary(which)
    print(f"\n{len(result.found)} tables, geometric means of the ratio of errors")
    for name in PEERS:
        print(f"  against {name}: {result.typical(result.ratio(name)):.3f}, CPU {result.cpu(name):.2f}x")
    print(f"  above 1.02 of the mean's error: {result.above:.1%}, worst {result.ratio('mean').max():.3f}")
    print(f"  90 % intervals cover {result.inside / result.cells:.1%} pooled, {result.found[:, -1].min():.1%} at worst")


if __name__ == "__main__":
    main(*sys.argv[1:])
