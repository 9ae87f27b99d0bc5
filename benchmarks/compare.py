"""`python -m benchmarks.compare REVISION`: the same calls on the source of an earlier revision and on this one, by CPU.

Every parameter that could be chosen is given, so that both do the same work. The two take turns in fresh processes with one BLAS thread; of
each call the fastest run of a process counts, and of these the median. Nothing should have become slower by more than a twentieth.
"""

from __future__ import annotations

import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TURNS = 5
SECONDS = 0.5
"""A call is repeated for about so long in each process."""
SLOWER = 1.05


def calls() -> dict[str, Callable[[], Any]]:
    """What is compared, by name; only what both revisions have."""
    import inspect

    import numpy as np

    import gramian
    from gramian.kernels import RBF

    def made(cls: Any, *arguments: Any, **options: Any) -> Any:
        """The model, with those of the options that this revision knows."""
        known = inspect.signature(cls.__init__).parameters
        return cls(*arguments, **{name: value for name, value in options.items() if name in known})

    rng = np.random.default_rng(0)

    def curved(n: int, d: int) -> Any:
        inner = rng.normal(size=(n, 4))
        bent = np.hstack([inner, np.sin(2 * inner)]) @ rng.normal(size=(8, d))
        return bent + 0.3 * rng.normal(size=(n, d))

    X, wide, small = curved(4000, 20), curved(60, 2000), curved(200, 10)
    width, y = RBF(6.0), np.sin(X[:, 0]) + 0.1 * rng.normal(size=len(X))
    holes, many = X.copy(), curved(50_000, 50)
    holes[rng.random(holes.shape) < 0.2] = np.nan
    labels = (y > 0).astype(int)
    series = np.sin(np.arange(600) / 5) + 0.1 * rng.normal(size=600)
    views = [X[:, :10], X[:, 10:]]
    half_seen = [X[:, :10], np.where(np.arange(len(X))[:, None] % 5 == 0, np.nan, X[:, 10:])]
    kernel_model = gramian.KernelPPCA(10, kernel=width).fit(X)
    target = {"standardize": True, "n_folds": None, "approximation": None, "noise_variance": "per-view"}

    def streamed() -> None:
        model = gramian.PPCA(5)
        for start in range(0, len(many), 5000):
            model.partial_fit(many[start : start + 5000])
        model.components_  # noqa: B018  the decomposition waits for its first use

    return {
        "PPCA(5).fit, 50,000 x 50": lambda: gramian.PPCA(5).fit(many),
        "PPCA(5).partial_fit, 50,000 x 50": streamed,
        "PPCA(2).fit and transform, 200 x 10": lambda: gramian.PPCA(2).fit(small).transform(small),
        "PPCA(5).fit, 60 x 2,000": lambda: gramian.PPCA(5).fit(wide),
        "PPCA(5) with holes, 4,000 x 20": lambda: gramian.PPCA(5, max_iter=5000).fit(holes),
        "KernelPPCA(2), fit and transform, 200 x 10": lambda: (
            gramian.KernelPPCA(2, kernel=RBF(4.0)).fit(small).transform(small)
        ),
        "KernelPPCA(10).fit, 4,000 x 20": lambda: gramian.KernelPPCA(10, kernel=width).fit(X),
        "KernelPPCA(10).transform, 4,000 x 20": lambda: kernel_model.transform(X),
        "KernelPPCA(10).fit by 300 landmarks, 4,000 x 20": lambda: gramian.KernelPPCA(
            10, kernel=width, approximation="nystroem", n_landmarks=300, preimage="smoother", random_state=0
        ).fit(X),
        "PPCAMixture(3, 3).fit, 4,000 x 20": lambda: gramian.PPCAMixture(3, 3, random_state=0).fit(X),
        "PPCAMixture(3, 3) with holes, 4,000 x 20": lambda: gramian.PPCAMixture(3, 3, random_state=0).fit(holes),
        "KernelPPCAMixture(2, 2).fit, 800 x 20": lambda: gramian.KernelPPCAMixture(
            2, 2, kernel=width, random_state=0
        ).fit(X[:800]),
        "KernelPPCAClassifier(5).fit, 1,000 x 20": lambda: made(
            gramian.KernelPPCAClassifier, 5, kernel=width, noise_variance=0.01, standardize=True, approximation=None
        ).fit(X[:1000], labels[:1000]),
        "MultiViewRKM(4).fit, 2 views, 4,000 rows": lambda: made(
            gramian.MultiViewRKM, 4, noise_variance="ml", n_folds=None
        ).fit(views),
        "MultiViewRKM(4).fit, a view missing in a fifth of 4,000 rows": lambda: made(
            gramian.MultiViewRKM, 4, noise_variance="per-view", n_folds=None
        ).fit(half_seen),
        "RKMRegressor(20).fit, RBF, 600 rows": lambda: made(gramian.RKMRegressor, 20, kernel=width, **target).fit(
            X[:600], y[:600]
        ),
        "RKMClassifier(20).fit, RBF, 600 rows": lambda: made(gramian.RKMClassifier, 20, kernel=width, **target).fit(
            X[:600], labels[:600]
        ),
        "RKMForecaster(12).fit, RBF, 600 values": lambda: made(
            gramian.RKMForecaster, 12, 10, kernel=RBF(3.0), season=None, difference=0, transform=None, **target
        ).fit(series),
    }


def measured() -> dict[str, float]:
    """CPU seconds of each call in this process: the fastest of some runs, after one to warm up."""
    warnings.simplefilter("ignore")
    found = {}
    for name, call in calls().items():
        runs, started = [], time.perf_counter()
        call()
        while not runs or time.perf_counter() - started < SECONDS:
            before = time.process_time()
            call()
            runs.append(time.process_time() - before)
        found[name] = min(runs)
    return found


def turn(source: Path) -> dict[str, float]:
    """One fresh process on the given source."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.compare", "--measure"],
        cwd=source,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found


def main(revision: str) -> int:
    archive = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(folder, filter="data")
        sides = {"before": Path(folder) / "src", "now": ROOT / "src"}
        runs: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
        for _ in range(TURNS):
            for side, source in sides.items():
                runs[side].append(turn(source))
    print(f"| call | {revision}, ms | now, ms | now / before |\n|---|---|---|---|")
    slower = []
    for name in runs["now"][0]:
        before, now = (statistics.median(run[name] for run in runs[side]) for side in ("before", "now"))
        ratio = statistics.median(late[name] / early[name] for late, early in zip(runs["now"], runs["before"]))
        slower += [name] if ratio > SLOWER else []
        print(f"| {name} | {1e3 * before:.1f} | {1e3 * now:.1f} | {ratio:.2f} |")
    print(f"\nSlower by more than a twentieth: {', '.join(slower) or 'nothing'}.")
    return int(bool(slower))


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        print(json.dumps(measured()))
    elif len(sys.argv) == 2:
        sys.exit(main(sys.argv[1]))
    else:
        sys.exit((__doc__ or "").split("\n")[0])
