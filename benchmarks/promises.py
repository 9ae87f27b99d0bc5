"""Promises 1 to 3 as a judgement: what became of a call, and whether that is an outcome that users were promised.

An outcome is one of ``answer`` (finite numbers), ``said`` (an exception of a promised type, with words), ``exception`` (another one),
``silent NaN`` and ``warning`` (an answer with a warning of a type that was not promised).
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from gramian import ModelFileError
from gramian.exceptions import DataWarning, NumericalWarning

EXCEPTIONS = (
    ValueError,
    TypeError,
    MemoryError,
    ImportError,
    OSError,
    ModelFileError,
)  # NotFittedError is a ValueError
NEVER = (np.linalg.LinAlgError, UnicodeError, RecursionError)
WARNINGS = (ConvergenceWarning, NumericalWarning, DataWarning, DataConversionWarning)


@dataclass(frozen=True)
class Outcome:
    """What became of a call."""

    kind: str
    words: str = ""

    @property
    def promised(self) -> bool:
        """Whether it is an answer, or an exception of a promised type."""
        return self.kind in ("answer", "said")


class Endless(BaseException):
    """The time of a call is over."""


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Raise :class:`Endless` after so many seconds of CPU; None: never."""

    def over(signal_number: int, frame: Any) -> None:
        raise Endless(f"no end after {seconds} s of CPU")

    if seconds is None:
        yield
        return
    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def outcome(work: Callable[[], Iterable[Any]], seconds: float | None = None) -> Outcome:
    """Run ``work``, which gives arrays or numbers, and judge what came of it; after ``seconds`` of CPU it is an ``exception``."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            with within(seconds):
                answers = list(work())
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of Rust is no Exception
            answers, judged = [], Outcome(*_judged(error))
            if not judged.promised:
                return judged
        else:
            judged = Outcome("answer")
    for warning in heard:
        if not is_promised(warning):
            return Outcome("warning", f"{warning.category.__name__}: {warning.message}")
    for answer in answers:
        numbers = np.asarray(answer)
        if numbers.dtype.kind in "fc" and not np.isfinite(numbers).all():
            return Outcome("silent NaN", f"in an answer of shape {numbers.shape}")
    return judged


def _judged(error: BaseException) -> tuple[str, str]:
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, EXCEPTIONS) and not isinstance(error, NEVER) and str(error).strip():
        return "said", words
    return "exception", words


def is_promised(warning: warnings.WarningMessage) -> bool:
    """Whether a user was told of warnings of that type."""
    names = issubclass(warning.category, UserWarning) and "feature names" in str(warning.message)
    return issubclass(warning.category, WARNINGS) or names
