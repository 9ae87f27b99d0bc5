"""Random data, holes, parameters and estimators for as long as asked: promises 1 to 3, and memory that does not grow.

Run as ``python -m benchmarks.soak [minutes of CPU] [seed]``. Every case is a function of the seed and its number, so that a line of
the log is enough to try it again: ``python -m benchmarks.soak case NUMBER SEED``. ``python -m benchmarks.soak memory FITS [names]`` watches
memory over so many fits.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._results import note
from benchmarks.promises import Outcome, outcome
from benchmarks.subjects import OURS, Subject
from gramian import kernels, load, save

KERNELS = (
    "rbf",
    "linear",
    "polynomial",
    "laplacian",
    "cosine",
    kernels.Matern("median", nu=2.5),
    kernels.RBF(1.0) + kernels.Linear(),
)
PARAMETERS: dict[str, tuple[Any, ...]] = {
    "n_components": (1, 2, 3, "auto", 0.9, 50),
    "kernel": KERNELS,
    "noise_variance": ("ml", 0.1, 0.0),
    "center": (True, False),
    "n_clusters": (1, 2, 4),
    "solver": ("auto", "eigh", "krylov", "em"),
    "max_iter": (1, 20, 1000),
    "noise": ("separate", "shared"),
    "standardize": (True, False),
    "lags": (1, 3, 8),
    "random_state": (0, 1, None),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One estimator with its parameters, rows and target, made from a seed and a number."""

    subject: Subject
    options: dict[str, Any]
    X: Any
    y: Any
    story: str

    @classmethod
    def of(cls, seed: int, number: int, subject: Subject | None = None) -> Case:
        """The case of that number; of the estimator whose turn it is, unless one is given."""
        rng = np.random.default_rng([seed, number])
        subject = subject or list(OURS.values())[number % len(OURS)]
        X, story = random_rows(rng, subject.holes)
        known = subject.built().get_params()
        options = {}
        for name, values in PARAMETERS.items():
            if name in known and rng.random() < 0.3:
                options[name] = values[int(rng.integers(len(values)))]
        return cls(subject, options, X, random_target(rng, subject, X), story)

    def tried(self) -> Outcome:
        """Fit, ask everything, save, load, ask again."""

        def work() -> Iterator[Any]:
            model = self.subject.fitted(self.X, self.y, **self.options)
            yield from self.subject.answers(model, self.X)
            with tempfile.TemporaryDirectory() as folder:
                save(model, Path(folder) / "m")
                again = load(Path(folder) / "m")
            yield from self.subject.answers(again, self.X[: max(2, len(self.X) // 3)])

        return outcome(work)

    def __str__(self) -> str:
        return f"{self.subject.name}({self.options}) on {self.story}"


def random_rows(rng: np.random.Generator, holes: bool) -> tuple[Any, str]:
    """A small table: size, rank, noise, scale, offset, dtype, and what may be wrong with it, all drawn."""
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 12))
    rank = int(rng.integers(0, min(n, d) + 1))
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    X += float(rng.choice([0.0, 1e-9, 0.1, 1.0])) * rng.standard_normal((n, d))
    words = [f"{n} x {d}, rank {rank}"]
    changes = {
        "heavy tails": lambda X: X * np.exp(rng.standard_normal(X.shape) * 2),
        "few values": lambda X: np.round(X),
        "scaled columns": lambda X: X * 10.0 ** rng.integers(-6, 7, X.shape[1]),
        "an offset": lambda X: X + 10.0 ** int(rng.integers(0, 9)),
        "a constant column": lambda X: np.where(np.arange(X.shape[1]) == 0, 1.5, X),
        "rows again": lambda X: X[rng.integers(0, len(X), len(X))],
        "a wild cell": lambda X: np.where(np.arange(X.size).reshape(X.shape) == 0, 1e12, X),
        "small": lambda X: 1e-140 * X,
        "tiny": lambda X: 1e-150 * X,
        "huge": lambda X: 1e150 * X,
        "float32": lambda X: X.astype(np.float32),
        "Fortran order": np.asfortranarray,
    }
    for name, change in changes.items():
        if rng.random() < 0.12:
            with np.errstate(over="ignore", under="ignore"):
                X = change(X)
            words.append(name)
    if holes and rng.random() < 0.5:
        share = float(rng.choice([0.02, 0.2, 0.6]))
        X = np.where(rng.random(X.shape) < share, np.nan, X).astype(X.dtype)
        words.append(f"{share:.0%} missing")
    return X, ", ".join(words)


def random_target(rng: np.random.Generator, subject: Subject, X: Any) -> Any:
    """A target for the rows: of one to four classes, or numbers on some scale."""
    if subject.target == "class":
        return rng.integers(0, int(rng.integers(1, 5)), len(X)).astype(rng.choice(["int64", "U2"]))
    if subject.target == "number":
        return float(rng.choice([1e-9, 1.0, 1e9])) * rng.standard_normal((len(X), int(rng.integers(1, 3)))).squeeze()
    return None


def soak(minutes: float, seed: int = 0, first: int = 0, most: int | None = None) -> dict[str, Any]:
    """Cases until the CPU time is over, or ``most`` of them; what became of them."""
    start, number = time.process_time(), first
    counts: Counter[str] = Counter()
    by_subject: dict[str, Counter[str]] = {}
    broken: list[str] = []
    while time.process_time() - start < 60 * minutes and (most is None or number - first < most):
        case = Case.of(seed, number)
        found = case.tried()
        counts[found.kind] += 1
        by_subject.setdefault(case.subject.name, Counter())[found.kind] += 1
        if not found.promised:
            broken.append(f"case {number} of seed {seed}: {found.kind}: {found.words[:200]}: {case}")
            print(broken[-1], flush=True)
        number += 1
        if number % 500 == 0:
            print(f"{number} cases, {time.process_time() - start:.0f} s of CPU: {dict(counts)}", flush=True)
    return {
        "minutes of CPU": round((time.process_time() - start) / 60, 1),
        "seed": seed,
        "cases": number - first,
        "outcomes": dict(counts),
        "by estimator": {name: dict(found) for name, found in by_subject.items()},
        "broken": broken,
    }


def growth(n_fits: int = 1000, names: tuple[str, ...] = tuple(OURS)) -> dict[str, float]:
    """MiB that the process grows by over the last nine tenths of so many fits, per estimator."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 3))
    grown = {}
    for name in names:
        subject = OURS[name]
        y = {"": None, "class": np.arange(len(X)) % 2, "number": X @ rng.standard_normal(3)}[subject.target]
        for number in range(n_fits):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                list(subject.answers(subject.fitted(X, y), X))
            if number == n_fits // 10:
                before = _resident()
        grown[name] = round((_resident() - before) / 2**20, 1)
        print(f"{n_fits} fits of {name}: {grown[name]} MiB more", flush=True)
    return grown


def _resident() -> int:
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Soak and keep the counts, or try one case again."""
    words = sys.argv[1:]
    if words[:1] == ["case"]:
        case = Case.of(int(words[2]), int(words[1]))
        print(case, case.tried(), sep="\n")
        return
    if words[:1] == ["memory"]:
        note("memory", {"fits": int(words[1]), "MiB more": growth(int(words[1]), tuple(words[2:]) or tuple(OURS))})
        return
    found = soak(float(words[0]) if words else 30.0, int(words[1]) if len(words) > 1 else 0)
    print(f"{found['cases']} cases, {len(found['broken'])} broken promises, {found['outcomes']}")
    note("soak", found)


if __name__ == "__main__":
    main()
