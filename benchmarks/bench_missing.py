"""Missing entries: `PPCA` by PX-EM against the PPCA packages of PyPI, N = 100,000, d = 50, 20 % missing, 5 components.

Ours runs to its default end, 1e-9 a cell from the maximum. `ppca` and `pyppca` fill and repeat (not the likelihood of what
was observed) until their own defaults; `ppca-rs` is exact, and runs its default of 10 steps from a random start. Reached
log-likelihoods are given beside the times, where a package tells its noise.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks._timing import Row, interleaved, threads
from gramian import PPCA
from gramian.latent.missing import MaskedTable, covariance_start, expectation

N, D, Q = 100_000, 50, 5
WORK = f"exact fit with holes, N={N:.0e} d={D} 20 % q={Q}"


def holed(n: int = N, d: int = D, q: int = Q, share: float = 0.2) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + rng.standard_normal((n, d)) + rng.standard_normal(d)
    X[rng.random((n, d)) < share] = np.nan
    return X


def ours(X: np.ndarray) -> Callable[[], Any]:
    return lambda: PPCA(Q).fit(X)


def ppca(X: np.ndarray) -> Callable[[], Any]:
    module = importlib.import_module("ppca")
    return lambda: module.PPCA().fit(X.copy(), d=Q)


def pyppca(X: np.ndarray) -> Callable[[], Any]:
    module = importlib.import_module("pyppca")
    return lambda: module.ppca(X.copy(), Q, False)


def ppca_rs(X: np.ndarray) -> Callable[[], Any]:
    module = importlib.import_module("ppca_rs")

    def fit() -> Any:
        with contextlib.redirect_stdout(io.StringIO()):
            return module.PPCATrainer(module.Dataset(X)).train(state_size=Q, quiet=True)

    return fit


PEERS = {"ppca": (ppca, 12.0, "12x"), "pyppca": (pyppca, 12.0, "12x"), "ppca-rs": (ppca_rs, 1.0, "not slower")}


def run() -> Iterator[Row]:
    X = holed()
    np.random.seed(0)  # noqa: NPY002  two of the peers draw from it
    yield rate(X)
    sides, absent = {"ours": ours(X)}, []
    for name, (make, _, _) in PEERS.items():
        try:
            sides[name] = make(X)
        except ImportError:
            absent.append(name)
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        took = interleaved(sides)
    for name, (_, least, floor) in PEERS.items():
        if name in absent:
            yield Row("P10", WORK, name, floor, "25x", "not installed (pip install gramian[bench])", None)
            continue
        ratio = took[name].cpu / took["ours"].cpu
        note = f"; {reached(X, sides[name])}" if name == "ppca-rs" else ""
        yield Row("P10", WORK, name, floor, "25x", f"{ratio:.1f}x{note}", ratio >= least)


def reached(X: np.ndarray, fit: Callable[[], Any]) -> str:
    """The mean log-likelihoods a row that ours and ppca-rs end with."""
    module = importlib.import_module("ppca_rs")
    theirs = fit().llk(module.Dataset(X)) / len(X)
    return f"mean log-likelihood {PPCA(Q).fit(X).log_likelihoods_[-1]:.4f} against {theirs:.4f}"


def rate(X: np.ndarray) -> Row:
    """Rows a second of one E- and M-step, on one thread."""
    table, weights = MaskedTable.of(X, np.nanmean(X, axis=0), float(np.nanstd(X))), np.ones(len(X))
    with threads(1):
        start = covariance_start(table, weights, Q, np.random.default_rng(0))
        took = interleaved({"step": lambda: expectation(table, weights, start)}, repeats=5)
    found = N / took["step"].cpu / 1e6
    return Row("P10", "E-step, rows a CPU second", "-", "-", "1.6 M", f"{found:.2f} M", None)


if __name__ == "__main__":
    for row in run():
        print(row.number, row.against, row.found)
