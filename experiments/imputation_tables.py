"""`LatentImputer()` on real tables with a fifth of their cells hidden, against what a user would take instead.

    python -m experiments.imputation_tables [decide] [report] [--cache FILE] [--seconds S] [--write]

Errors are root mean squares over the hidden cells, each in units of the standard deviation of what its column still shows. "decide" is the half of the
tables on which rules may be decided, "report" the other half. With a cache the run may go in parts, each of about S seconds of CPU.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments._page import write_block
from experiments._tables import tables
from gramian import LatentImputer

PAGE = Path(__file__).resolve().parents[1] / "docs" / "imputation.md"
SHARE = 0.2
MAX_ROWS, MAX_COLUMNS = 400, 40


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


def measured(job: Job) -> list[float]:
    """Error and CPU of ours, then of each peer, then how many hidden cells their 90 % intervals cover, and of how many."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LatentImputer().fit(job.X)
        full, std = model.impute(job.X, return_std=True)
    ours = (job.error(full), time.process_time() - start)
    covered = np.abs(job.in_units(full) - job.truth) <= 1.6449 * (std / job.scale)[job.hidden]
    peers = [value for name in PEERS for value in peer_error(name, job)]
    print(
        f"{job.name:45s} {job.X.shape!s:12s} {ours[0]:.3f} mean {peers[0]:.3f} iterative {peers[2]:.3f} knn {peers[4]:.3f}",
        flush=True,
    )
    return [*ours, *peers, float(covered.sum()), float(covered.size)]


@dataclass(frozen=True)
class Summary:
    """What `measured` found, one row per table."""

    found: np.ndarray

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

    @property
    def covered(self) -> np.ndarray:
        """The share of the hidden cells inside their intervals, of each table."""
        return np.asarray(self.found[:, -2] / self.found[:, -1])

    @property
    def pooled(self) -> float:
        return float(self.found[:, -2].sum() / self.found[:, -1].sum())


class OutOfTimeError(Exception):
    """The part of a run is over; the cache knows the rest."""


@dataclass
class Cache:
    """Results by the name of the table, kept in a file where one is given."""

    path: Path | None = None
    seconds: float = np.inf

    def __post_init__(self) -> None:
        known = self.path is not None and self.path.is_file()
        self.found: dict[str, list[float]] = json.loads(self.path.read_text()) if self.path and known else {}
        self.end = time.process_time() + self.seconds

    def of(self, job: Job) -> list[float]:
        if job.name not in self.found:
            if time.process_time() > self.end:
                raise OutOfTimeError
            self.found[job.name] = measured(job)
            if self.path is not None:
                self.path.write_text(json.dumps(self.found))
        return self.found[job.name]


def summary(which: str, most: int | None = None, max_rows: int = MAX_ROWS, cache: Cache | None = None) -> Summary:
    cache = Cache() if cache is None else cache
    return Summary(np.array([cache.of(job) for job in islice(jobs(which, max_rows=max_rows), most)]))


def lines(
    parts: tuple[str, ...], most: int | None = None, max_rows: int = MAX_ROWS, cache: Cache | None = None
) -> list[str]:
    """A Markdown table with a line per half."""
    found = [
        "| tables | number | against IterativeImputer | KNNImputer | mean | above 1.02 of the mean's error | 90 % intervals, pooled | at worst | CPU over IterativeImputer's |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for part in parts:
        result = summary(part, most, max_rows, cache)
        ratios = " | ".join(
            f"{result.typical(result.ratio(name)):.3f}" for name in ("IterativeImputer", "KNNImputer", "mean")
        )
        found.append(
            f"| {part} | {len(result.found)} | {ratios} | {result.above:.1%} | {result.pooled:.1%} | "
            f"{result.covered.min():.1%} | {result.cpu('IterativeImputer'):.2f} |"
        )
        print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("halves", nargs="*", default=["decide"], choices=("decide", "report"))
    parser.add_argument("--cache", type=Path, help="a file for what was found so far")
    parser.add_argument("--seconds", type=float, default=np.inf, help="of CPU, for this part of the run")
    parser.add_argument("--write", action="store_true", help="put the table into docs/imputation.md")
    options = parser.parse_args()
    try:
        found = lines(tuple(options.halves), cache=Cache(options.cache, options.seconds))
    except OutOfTimeError:
        print("not yet done: run again with the same cache")
        return
    if options.write:
        write_block(PAGE, "tables", found)


if __name__ == "__main__":
    main()
