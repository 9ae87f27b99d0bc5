"""Ctrl-C at random moments of a second fit: the model must hold its first fit, or the second one, whole.

Run as ``python -m benchmarks.soak_interrupts [moments] [seed]``: for every estimator so many interrupts at moments drawn uniformly over the
time of a fit. A moment is a hit where the fit was broken off. Python itself may lose the end of a ``with`` to an interrupt: how often
the filters of warnings or what NumPy does on errors are left changed by that is counted apart.
"""

from __future__ import annotations

import signal
import sys
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np

from benchmarks._results import note
from benchmarks.faults import X, target_of
from benchmarks.subjects import OURS, Subject

OTHER = X[::-1] ** 2 + 0.1 * X


def _refit(subject: Subject, model: Any) -> None:
    rows = OTHER[:, 0] if subject.name == "RKMForecaster" else OTHER
    model.fit(rows, target_of(subject, len(OTHER))) if subject.target else model.fit(rows)


def _said(subject: Subject, model: Any) -> list[Any]:
    return [np.asarray(answer) for answer in subject.answers(model, X)]


def _same(one: list[Any], two: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def interrupted(subject: Subject, moments: int, seed: int = 0) -> Counter[str]:
    """How many of the moments hit a fit, missed it, and left something broken."""
    rng = np.random.default_rng(seed)
    model = subject.fitted(X, target_of(subject, len(X)))
    first = _said(subject, model)
    start = time.perf_counter()
    second_model = subject.fitted(X, target_of(subject, len(X)))
    _refit(subject, second_model)
    seconds = (time.perf_counter() - start) / 2
    second = _said(subject, second_model)
    found = Counter[str]()
    for moment in np.maximum(rng.uniform(0, 1.2 * seconds, moments), 1e-5):
        if _same(_said(subject, model), second):
            model = subject.fitted(X, target_of(subject, len(X)))
        errors, filters = np.geterr(), list(warnings.filters)
        found[_once(subject, model, float(moment))] += 1
        if np.geterr() != errors or warnings.filters != filters:
            found["surroundings"] += 1
            np.seterr(**errors)
            warnings.filters[:] = filters
        now = _said(subject, model)
        if not (_same(now, first) or _same(now, second)):
            found["broken"] += 1
            model = subject.fitted(X, target_of(subject, len(X)))
    return found


def _once(subject: Subject, model: Any, moment: float) -> str:
    """Fit again, broken off after so many seconds: whether that hit it."""
    fired = []

    def interrupt(number: int, frame: Any) -> None:
        fired.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, moment)
        _refit(subject, model)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return "missed"
    except KeyboardInterrupt:
        return "hit"
    except TypeError:  # within a comparison of records NumPy answers an interrupt with an error of its own
        if not fired:
            raise
        return "hit"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> None:
    """Interrupt and keep the counts."""
    moments = int(sys.argv[1]) if sys.argv[1:] else 100
    seed = int(sys.argv[2]) if sys.argv[2:] else 0
    counts = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for subject in OURS.values():
            counts[subject.name] = dict(interrupted(subject, moments, seed))
            print(subject.name, counts[subject.name], flush=True)
    note("interrupts", {"moments": moments, "seed": seed, "by estimator": counts})


if __name__ == "__main__":
    main()
