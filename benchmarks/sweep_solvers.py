"""The sweep behind `Auto`: CPU seconds of each solver over sizes, numbers of components and spectra (by hand; minutes)."""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from benchmarks._data import curved_clusters, length_scale_of
from gramian._threads import single_blas_thread
from gramian.kernels import RBF
from gramian.operators.centering import Centering
from gramian.operators.gram import CenteredGram, LazyGram
from gramian.solvers import Eigh, Krylov

SIZES = (200, 350, 500, 700, 1000, 1400, 2000, 3000, 4500)
SHARES = (1, 3, 10, 30, 1 / 32, 1 / 16, 1 / 8, 1 / 4)


def spectra(size: int) -> dict[str, CenteredGram]:
    """Fast, usual and slow decay."""
    X = curved_clusters(size)
    flat = np.random.default_rng(0).normal(size=(size, 30))
    uniform = Centering(np.full(size, 1 / size))
    return {
        "fast": CenteredGram(LazyGram(RBF(1.0), flat[:, :2]), uniform),
        "usual": CenteredGram(LazyGram(RBF(length_scale_of(X)), X), uniform),
        "slow": CenteredGram(LazyGram(RBF(2.5), flat), uniform),
    }


def main() -> None:
    print("size spectrum q eigh krylov  (CPU seconds; krylov to the tolerance that Auto asks of it)")
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    for size in sizes:
        for kind in ("fast", "usual", "slow"):
            for q in sorted({int(share if share >= 1 else share * size) for share in SHARES}):
                tol = 1e-12 if size < 2000 else 5e-5
                row = []
                for solver in (Eigh(), Krylov(tol=tol)):
                    operator = spectra(size)[kind]
                    with single_blas_thread(), warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        start = time.process_time()
                        solver.solve(operator, q)
                        row.append(f"{time.process_time() - start:8.3f}{'!' if caught else ' '}")
                print(f"{size:5d} {kind:6s} {q:5d}", *row, flush=True)


if __name__ == "__main__":
    main()
