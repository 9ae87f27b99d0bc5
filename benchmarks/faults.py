"""The faults that are tried on every estimator, as data, and one runner: fault, estimator, outcome.

Run as ``python -m benchmarks.faults [ours] [peers] [names]``; the table is printed and kept for docs/reliability.md. Faults of the data are also tried on
scikit-learn's PCA, KernelPCA and GaussianMixture, and on ppca-rs, vbpca-py and pyppca where they are installed.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from benchmarks._results import note, noted
from benchmarks.promises import Outcome, outcome
from benchmarks.subjects import OURS, Subject, peers
from gramian.kernels import RBF

_rng = np.random.default_rng(3)
LABELS = np.repeat([0, 1], 20)
X = (
    _rng.standard_normal((40, 2)) @ _rng.standard_normal((2, 5))
    + 0.3 * _rng.standard_normal((40, 5))
    + 2.0 * LABELS[:, None]
)
NUMBERS = X @ np.array([1.0, -0.5, 0.3, 0.0, 0.2]) + 0.1 * _rng.standard_normal(40)
ANSWER, SAID, EITHER = ("answer",), ("said",), ("answer", "said")


@dataclass(frozen=True)
class Fault:
    """What is wrong, and what may come of it.

    ``rows`` makes the bad table of the good one; ``at`` says where it goes: to ``fit`` (and then to the methods), or only to the
    methods of a model that was fitted to good rows (``use``). ``y`` makes a bad target; ``options`` are bad parameters, tried
    on estimators that have them.
    """

    id: str
    what: str
    rows: Callable[[Any], Any] = lambda X: X
    allowed: tuple[str, ...] = EITHER
    at: str = "fit"
    y: Callable[[Any], Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    holes: bool = False
    frame: bool = False

    @property
    def plain(self) -> bool:
        """Whether it is in the data alone, so that it can be tried on any estimator of anybody."""
        return self.y is None and not self.options

    def concerns(self, subject: Subject) -> bool:
        """Whether the estimator has what the fault is about."""
        if self.y is not None and not subject.target:
            return False
        if subject.name == "RKMForecaster" and (self.at == "use" or self.frame):
            return False
        return all(name in subject.built().get_params() for name in self.options)

    def allowed_for(self, subject: Subject) -> tuple[str, ...]:
        """Estimators that take no holes must say so."""
        return SAID if self.holes and not subject.holes else self.allowed


def put(value: Any, row: int = 3, column: int = 0) -> Callable[[Any], Any]:
    """The table with one cell changed."""

    def change(X: Any) -> Any:
        X = X.copy() if not isinstance(value, str) and value is not None else X.astype(object)
        X[row, column] = value
        return X

    return change


def tiny(n: int, d: int) -> Callable[[Any], Any]:
    """A table of that shape."""
    return lambda X: np.random.default_rng(n * d).standard_normal((n, d))


def _frame(names: Any) -> Callable[[Any], Any]:
    return lambda X: pd.DataFrame(X, columns=names)


FAULTS = [
    Fault("DATA-01", "+inf in a cell at fit", put(np.inf), SAID),
    Fault("DATA-01", "-inf in a cell at fit", put(-np.inf), SAID),
    Fault("DATA-01", "inf in a cell at use", put(np.inf), SAID, at="use"),
    Fault("DATA-01", "infinities of both signs at fit", lambda X: X * np.where(np.arange(len(X)) % 2, np.inf, -np.inf)[:, None], SAID),
    Fault("DATA-01", "infinities of both signs at use", lambda X: X * np.where(np.arange(len(X)) % 2, np.inf, -np.inf)[:, None], SAID, at="use"),
    Fault("DATA-02", "NaN in a cell", put(np.nan), ANSWER, holes=True),
    Fault("DATA-06", "complex numbers", lambda X: X + 1j, SAID),
    Fault("DATA-07", "dates", lambda X: X.astype(int).astype("datetime64[D]"), SAID),
    Fault("DATA-07", "durations", lambda X: X.astype(int).astype("timedelta64[s]"), SAID),
    Fault("DATA-08", "text", lambda X: np.full(X.shape, "a", dtype=object), SAID),
    Fault("DATA-09", "numbers written as text", lambda X: X.astype(str), SAID),
    Fault("DATA-09", "numbers written as text, as objects", lambda X: X.astype(str).astype(object), SAID),
    Fault("DATA-10", "None in a cell", put(None), ANSWER, holes=True),
    Fault("DATA-14", "a sparse table", sparse.csr_array),
    Fault("DATA-16", "two columns of one name", _frame(list("abbde")), SAID, frame=True),
    Fault("DATA-17", "names that are texts and numbers", _frame(["a", 1, "c", 2, "e"]), SAID, frame=True),
    Fault("DATA-20", "two columns less at use", lambda X: X[:, :3], SAID, at="use"),
    Fault("DATA-22", "bool", lambda X: np.median(X) < X),
    Fault("DATA-22", "int8", lambda X: np.round(3 * X).astype(np.int8), ANSWER),
    Fault("DATA-22", "float16", lambda X: X.astype(np.float16), ANSWER),
    Fault("DATA-22", "long double", lambda X: X.astype(np.longdouble), ANSWER),
    Fault("DATA-22", "big-endian", lambda X: X.astype(">f8"), ANSWER),
    Fault("DATA-22", "Decimal", np.vectorize(lambda v: Decimal(str(round(v, 6))), otypes=[object]), ANSWER),
    Fault("DATA-23", "float32", lambda X: X.astype(np.float32), ANSWER),
    Fault("DATA-24", "Fortran order", np.asfortranarray, ANSWER),
    Fault("DATA-24", "negative strides", lambda X: X[::-1, ::-1], ANSWER),
    Fault("DATA-24", "one row, broadcast", lambda X: np.broadcast_to(X[:1], X.shape)),
    Fault("DATA-27", "one dimension", lambda X: X[:, 0], SAID, frame=True),
    Fault("DATA-27", "three dimensions", lambda X: X[:, :, None], SAID),
    Fault("DATA-27", "no rows", lambda X: X[:0], SAID),
    Fault("DATA-27", "no columns", lambda X: X[:, :0], SAID, frame=True),
    Fault("NUM-01", "a constant column", lambda X: np.column_stack([X, np.full(len(X), 0.1)]), ANSWER),
    Fault("NUM-02", "a constant table", lambda X: np.full(X.shape, 3.0)),
    Fault("NUM-02", "a table of zeros", lambda X: np.zeros(X.shape)),
    Fault("NUM-03", "a row alone", lambda X: X[:1]),
    *(Fault("NUM-04", f"{n} x {d}", tiny(n, d)) for n, d in ((2, 3), (3, 3), (4, 3), (6, 1), (4, 8), (5, 40))),
    Fault("NUM-05", "times 1e200", lambda X: 1e200 * X),
    Fault("NUM-05", "times 1e160", lambda X: 1e160 * X),
    Fault("NUM-06", "times 1e-200", lambda X: 1e-200 * X),
    Fault("NUM-06", "denormal", lambda X: 1e-310 * X),
    Fault("NUM-07", "columns of scales 1e-12 to 1e12", lambda X: X * np.array([1e-12, 1.0, 1e12, 1.0, 1.0])),
    Fault("NUM-08", "an offset of 1e8", lambda X: X + 1e8),
    Fault("NUM-08", "an offset of 1e15", lambda X: X + 1e15),
    Fault("NUM-09", "float32 of 1e30", lambda X: (1e30 * X).astype(np.float32)),
    Fault("NUM-10", "integers near 2**62", lambda X: (1000 * X).astype(np.int64) + 2**62),
    Fault("NUM-11", "every row twice", lambda X: np.repeat(X[:20], 2, axis=0), ANSWER),
    Fault("NUM-14", "a column twice", lambda X: X[:, [0, 0, 1, 2, 3]], ANSWER),
    Fault("NUM-15", "a condition of 1e16", lambda X: X * np.logspace(0, -8, 5)),
    Fault("NUM-16", "exact rank 2", lambda X: np.outer(X[:, 0], X[0]) + np.outer(X[:, 1], X[1])),
    Fault("NUM-16", "exact rank 1", lambda X: np.outer(X[:, 0], X[0])),
    Fault("NUM-18", "one wild row", lambda X: np.vstack([X[1:], np.full((1, 5), 1e9)])),
    Fault("NUM-18", "rows far away at use", lambda X: 1e6 * X, at="use"),
    Fault("MISS-03", "all cells missing", lambda X: np.full(X.shape, np.nan), SAID),
    Fault("MISS-04", "a row missing", lambda X: np.where(np.arange(len(X))[:, None] == 3, np.nan, X), holes=True),
    Fault("MISS-04", "a column missing", lambda X: np.where(np.arange(X.shape[1]) == 1, np.nan, X), holes=True),
    Fault("MISS-05", "nine cells of ten missing", lambda X: np.where(np.random.default_rng(0).random(X.shape) < 0.9, np.nan, X), holes=True),
    Fault("MISS-11", "NaN in the target", y=lambda y: np.where(np.arange(len(y)) == 2, np.nan, y), allowed=SAID),
    Fault("MISS-11", "infinity in the target", y=lambda y: np.where(np.arange(len(y)) == 2, np.inf, y), allowed=SAID),
    Fault("MIX-06", "one value in the target", y=lambda y: np.zeros(len(y), dtype=y.dtype)),
    Fault("MIX-06", "a target too short", y=lambda y: y[:-1], allowed=SAID),
    Fault("MIX-06", "no target", y=lambda y: None, allowed=SAID),
    Fault("PARAM-01", "0 components", options={"n_components": 0}),
    Fault("PARAM-01", "-1 components", options={"n_components": -1}, allowed=SAID),
    Fault("PARAM-01", "1000 components", options={"n_components": 1000}),
    Fault("PARAM-01", "NaN components", options={"n_components": float("nan")}, allowed=SAID),
    Fault("PARAM-01", "'two' components", options={"n_components": "two"}, allowed=SAID),
    Fault("PARAM-02", "True components", options={"n_components": True}, allowed=SAID),
    Fault("PARAM-05", "an unknown kernel", options={"kernel": "quantum"}, allowed=SAID),
    Fault("PARAM-05", "a kernel of the wrong shape", options={"kernel": lambda A, B: np.ones((3, 3))}, allowed=SAID),
    Fault("PARAM-05", "a kernel that is NaN", options={"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, allowed=SAID),
    Fault("PARAM-06", "a width of 0", options={"kernel": RBF(0.0)}, allowed=SAID),
    Fault("PARAM-07", "a tolerance of -1", options={"tol": -1.0}, allowed=SAID),
    Fault("PARAM-07", "no rounds", options={"max_iter": 0}, allowed=SAID),
    Fault("PARAM-08", "a seed of -1", options={"random_state": -1}, allowed=SAID),
    Fault("PARAM-09", "a noise of -1", options={"noise_variance": -1.0}, allowed=SAID),
    Fault("PARAM-09", "0 clusters", options={"n_clusters": 0}, allowed=SAID),
    Fault("PARAM-09", "100 clusters", options={"n_clusters": 100}),
]  # fmt: skip


def target_of(subject: Subject, n: int) -> Any:
    """A good target for n rows."""
    if not subject.target:
        return None
    if subject.target == "class":
        return LABELS if n == len(LABELS) else np.arange(n) % 2
    return NUMBERS if n == len(NUMBERS) else np.linspace(0.0, 1.0, n)


def tried(fault: Fault, subject: Subject, seconds: float | None = None) -> Outcome:
    """What becomes of the fault with that estimator, within so many seconds of CPU."""
    bad = fault.rows(X)
    given = X if fault.at == "use" else bad
    y = target_of(subject, np.shape(given)[0])
    if fault.y is not None:
        y = fault.y(y)

    def work() -> Iterator[Any]:
        model = subject.fitted(given, y, **fault.options)
        return subject.answers(model, bad)

    with contextlib.redirect_stdout(io.StringIO()):
        return outcome(work, seconds)


def kept(fault: Fault, subject: Subject, found: Outcome) -> bool:
    """Whether the outcome is one that the fault allows."""
    return found.kind in fault.allowed_for(subject)


def main() -> None:
    """Print the table, and keep the counts."""
    counts: dict[str, Any] = noted().get("faults", {})
    for owner, subjects, faults in (
        ("ours", OURS, FAULTS),
        ("peers", peers(), [fault for fault in FAULTS if fault.plain]),
    ):
        for subject in subjects.values():
            if sys.argv[1:] and not {owner, subject.name} & set(sys.argv[1:]):
                continue
            found = Counter[str]()
            broken = []
            for fault in faults:
                if owner == "ours" and not fault.concerns(subject):
                    continue
                result = tried(fault, subject, 5.0)
                fine = kept(fault, subject, result)
                found["kept" if fine else result.kind if not result.promised else f"{result.kind} instead"] += 1
                if not fine:
                    broken.append(f"{fault.id} {fault.what}: {result.kind} {result.words[:160]}")
            counts[subject.name] = {
                "owner": owner,
                "tried": sum(found.values()),
                "outcomes": dict(found),
                "broken": broken,
            }
            print(subject.name, dict(found), flush=True)
            print(*("   " + line for line in broken), sep="\n", flush=True)
            note("faults", counts)


if __name__ == "__main__":
    main()
