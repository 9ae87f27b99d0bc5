"""Missing entries: `PPCA` by PX-EM against the PPCA packages of PyPI, each run to its own default end.

Ours ends 1e-9 a cell from the maximum. `ppca` and `pyppca` fill and repeat (which is not the likelihood of what was observed), in a
number of steps that depends on the noise; `ppca-rs` is exact, and runs its default of 10 steps from a random start;
`vbpca-py` is variational Bayes, with priors on the loadings.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks._timing import Row, interleaved, sized, threads
from gramian import PPCA
from gramian.latent.masked_em import Parameters, expectation
from gramian.latent.masked_start import covariance_start
from gramian.latent.masked_table import MaskedTable
from gramian.latent.missing import MissingProblem
from gramian.rows import as_rows

os.environ.setdefault("RAYON_NUM_THREADS", "1")  # ppca-rs has threads of its own; read when it is imported

N, D, Q = sized(100_000, 5_000), 50, 5


def holed(n: int = N, noise: float = 0.5) -> np.ndarray:
    """Loadings and latents from N(0, 1), noise of this standard deviation, 20 % missing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, Q)) @ rng.standard_normal((Q, D)) + noise * rng.standard_normal((n, D))
    X += rng.standard_normal(D)
    X[rng.random(X.shape) < 0.2] = np.nan
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


def vbpca(X: np.ndarray) -> Callable[[], Any]:
    module = importlib.import_module("vbpca_py")
    return lambda: module.VBPCA(Q, random_state=0, num_cpu=1, runtime_tuning="off").fit(X)


Peer = tuple[Callable[[np.ndarray], Callable[[], Any]], float | None, str]
PEERS: dict[str, Peer] = {
    "ppca": (ppca, 12.0, "12x"),
    "pyppca": (pyppca, 12.0, "12x"),
    "ppca-rs": (ppca_rs, 1.0, "not slower"),
}
SLOW: dict[str, Peer] = {"vbpca-py": (vbpca, None, "-")}  # on a tenth of the rows, or it would take most of the run


def curved(n: int = 5_000, d: int = 50, noise: float = 0.1) -> np.ndarray:
    """Cosines of three latents, 20 % missing: no linear model fits, and EM is slow."""
    rng = np.random.default_rng(0)
    X = np.cos(rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + rng.uniform(0.0, 2 * np.pi, d))
    X += noise * rng.standard_normal((n, d))
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


class Plain(MissingProblem):
    """By the latents, whatever the holes."""

    def by_holes(self, start: Parameters) -> bool:
        return False


def leaps(n: int = sized(5_000, 1_000), q: int = 20) -> Row:
    """P19: the climb against plain PX-EM, which the first version had, from the same start and to the same tolerance."""
    problem = MissingProblem.of(as_rows(curved(n)))
    start = problem.start(q)
    plain = Plain(**vars(replace(problem, leaps=False)))
    took = interleaved(
        {"ours": lambda: problem.climb(start, 1e-6, 1000), "plain": lambda: plain.climb(start, 1e-6, 1000)}, repeats=3
    )
    fast, slow = problem.climb(start, 1e-6, 1000), plain.climb(start, 1e-6, 1000)
    ratio = took["ours"].cpu / took["plain"].cpu
    found = f"{ratio:.2f}x, {fast.n_evaluations} against {slow.n_evaluations} E-steps"
    return Row(
        "P19",
        f"EM with holes, curved, N={n:.0e} d=50 q={q}",
        "plain PX-EM",
        "a third",
        "a sixth",
        found,
        ratio <= 1 / 3,
    )


def run(n: int = N) -> Iterator[Row]:
    yield leaps()
    yield rate(holed(n))
    yield from compared(holed(n), PEERS)
    yield from compared(holed(n // 10), SLOW)
    for row in compared(curved(n, D), PEERS):
        yield replace(row, work=f"{row.work}, curved", floor="-", goal="-", holds=None)
    for row in compared(holed(n, 1.0), PEERS):  # the peers' own tests end them sooner there
        yield replace(row, work=f"{row.work}, noise 1 instead of 0.5", floor="-", goal="-", holds=None)


def compared(X: np.ndarray, peers: dict[str, Peer]) -> Iterator[Row]:
    work = f"exact fit with holes, N={len(X):.0e} d={D} 20 % q={Q}"
    sides, absent = {"ours": ours(X)}, []
    for name, (make, _, _) in peers.items():
        try:
            sides[name] = make(X)
        except ImportError:
            absent.append(name)
    np.random.seed(0)  # noqa: NPY002  two of the peers draw from it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        took = interleaved(sides)
    for name, (_, least, floor) in peers.items():
        goal = "-" if least is None else "25x"
        if name in absent:
            yield Row("P10", work, name, floor, goal, "not installed (see the group bench of pyproject.toml)", None)
            continue
        ratio = took[name].cpu / took["ours"].cpu
        note = f"; {reached(X, sides[name])}" if name == "ppca-rs" else ""
        yield Row("P10", work, name, floor, goal, f"{ratio:.1f}x{note}", None if least is None else ratio >= least)


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
    found = len(X) / took["step"].cpu / 1e6
    return Row("P10", "E-step, rows a CPU second", "-", "-", "1.6 M", f"{found:.2f} M", None)


if __name__ == "__main__":
    for row in run(*map(int, sys.argv[1:])):
        print(row.number, row.work, row.against, row.found, flush=True)
