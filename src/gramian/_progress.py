"""Progress on long work: a rich bar on a terminal where rich is installed, plain lines otherwise, and whoever listens.

A listener hears every step of every fit and search below it, and ends them by raising :class:`Cancelled`: fits are atomic.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any

Listener = Callable[[str, int, int | None], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Cancelled(Exception):  # noqa: N818  (not an error: somebody wished it)
    """Raised by a listener to end the work that it hears of."""


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let ``listener(title, done, total)`` hear of every step inside; it may raise :class:`Cancelled`.

    Examples
    --------
    >>> heard = []
    >>> with listening(lambda title, done, total: heard.append((title, done, total))):
    ...     with Progress("EM", total=3) as bar:
    ...         bar.step()
    >>> heard
    [('EM', 1, 3)]
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def checkpoint(title: str = "", done: int = 0, total: int | None = None) -> None:
    """Tell the listener that work goes on, where there is one: the place at which it may end it."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(title, done, total)


class Progress:
    """``with Progress("EM", total=100, verbose=1) as bar: bar.step(loss=0.1)``; silent when verbose is 0.

    On a terminal with rich there is a bar; elsewhere at most one line every five seconds, on stderr.
    """

    def __init__(self, title: str, total: int | None = None, verbose: int | bool = 0) -> None:
        self.title, self.total, self.verbose = title, total, int(verbose)
        self.done = 0
        self._bar: Any = None
        self._last = time.monotonic()

    def __enter__(self) -> Progress:
        if self.verbose and sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import Progress as Rich
            except ImportError:
                return self
            self._bar = Rich(console=Console(stderr=True), transient=self.verbose < 2)
            self._task = self._bar.add_task(self.title, total=self.total)
            self._bar.start()
        return self

    def step(self, advance: int = 1, **values: Any) -> None:
        """One more piece is done; ``values`` are shown beside it."""
        self.done += advance
        checkpoint(self.title, self.done, self.total)
        if not self.verbose:
            return
        text = " ".join(
            f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}" for name, value in values.items()
        )
        if self._bar is not None:
            self._bar.update(self._task, advance=advance, description=f"{self.title} {text}".strip())
        elif time.monotonic() - self._last >= 5.0 or self.verbose > 1:
            self._last = time.monotonic()
            of = f"/{self.total}" if self.total else ""
            print(f"{self.title}: {self.done}{of} {text}".rstrip(), file=sys.stderr)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
