"""Work in the background of a session: one thread, one piece of work at a time, progress and cancel."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gramian._progress import Cancelled, listening

Work = Callable[[], None]


@dataclass
class Job:
    """A piece of work: what people call it, how far it is, whether it is to end."""

    key: str
    title: str
    work: Work
    step: str = ""
    done: int = 0
    total: int | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def heard(self, step: str, done: int, total: int | None) -> None:
        """What the library says while it works; ends it where somebody wishes so."""
        if self.cancelled.is_set():
            raise Cancelled(self.title)
        if step:
            self.step, self.done, self.total = step, done, total

    def facts(self) -> dict[str, Any]:
        """For the progress bar."""
        return {"key": self.key, "title": self.title, "step": self.step, "done": self.done, "total": self.total}


class Jobs:
    """A line of work. A job of the same key as one that waits or runs takes its place: the latest wins.

    ``changed()`` is called whenever there is something new to tell, ``failed(job, error)`` when a job could not be done.
    """

    def __init__(self, changed: Callable[[], None], failed: Callable[[Job, BaseException], None]) -> None:
        self._changed, self._failed = changed, failed
        self._waiting: list[Job] = []
        self._running: Job | None = None
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, key: str, title: str, work: Work, *, instead_of_all: bool = False) -> None:
        """One more piece of work; ``instead_of_all`` of what runs and waits."""
        with self._wake:
            if self._closed:
                return
            if instead_of_all:
                self._drop(lambda _: True)
            self._drop(lambda job: job.key == key)
            self._waiting.append(Job(key, title, work))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="gramian-explorer", daemon=True)
                self._thread.start()
            self._wake.notify_all()
        self._changed()

    def cancel(self) -> str | None:
        """End what runs and forget what waits; the title of what ran."""
        with self._wake:
            title = self._running.title if self._running else None
            self._drop(lambda _: True)
        self._changed()
        return title

    def close(self) -> None:
        """End everything for good."""
        with self._wake:
            self._closed = True
            self._drop(lambda _: True)
            self._wake.notify_all()

    def facts(self) -> list[dict[str, Any]]:
        """What runs, then what waits."""
        with self._wake:
            running = self._running
            jobs = ([running] if running and not running.cancelled.is_set() else []) + self._waiting
            return [job.facts() for job in jobs]

    def has(self, key: str) -> bool:
        """Whether work of that key runs or waits."""
        return any(job["key"] == key for job in self.facts())

    def wait(self, timeout: float | None = None) -> bool:
        """Until there is nothing left to do; False where the time is up before."""
        with self._wake:
            return self._wake.wait_for(lambda: self._running is None and not self._waiting, timeout)

    def _drop(self, which: Callable[[Job], bool]) -> None:
        self._waiting = [job for job in self._waiting if not which(job)]
        if self._running is not None and which(self._running):
            self._running.cancelled.set()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._running = None
                self._wake.notify_all()
                self._wake.wait_for(lambda: self._closed or self._waiting)
                if self._closed:
                    return
                job = self._running = self._waiting.pop(0)
            self._changed()
            try:
                with listening(job.heard), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the page shows what was found; explain() says how
                    job.work()
            except Cancelled:
                pass
            except Exception as error:
                self._failed(job, error)
            self._changed()
