"""Threads: those of BLAS, and our own over tiles and blocks of rows.

A thread of BLAS that has had work waits for more at full speed, for tens of milliseconds, and takes the processor from ours and from
others: fits that change between small products and threads of their own took four times the processor time, and twice the time. So a
fit keeps BLAS on one thread, shares tiles and blocks among threads of its own, and gives BLAS all threads for large decompositions only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import lru_cache
from threading import RLock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from gramian.policy import SIZES

Item = TypeVar("Item")
Result = TypeVar("Result")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # kept for the process: a fresh one costs milliseconds


def _blas_count() -> int:
    return max((pool["num_threads"] for pool in _controller().info() if pool["user_api"] == "blas"), default=1)


class _Wishes:
    """Who asks for what in this process, whichever of several threads comes first or last.

    BLAS has one thread as long as anyone asks for one thread in ``all``, or for one of ``blas`` beside threads of our own while nobody
    has a ``large`` matrix.
    """

    def __init__(self) -> None:
        self.asking: dict[str, set[int]] = {"all": set(), "blas": set(), "large": set()}
        self._lock = RLock()  # an interrupted `with` may end while this thread holds the lock
        self._limit: Any = None
        self._before = 1

    def ask(self, wish: str, who: int) -> None:
        with self._lock:
            self.asking[wish].add(who)
            self._settle()

    def leave(self, wish: str, who: int) -> None:
        with self._lock:
            self.asking[wish].discard(who)
            self._settle()

    def _settle(self) -> None:
        one = bool(self.asking["all"] or (self.asking["blas"] and not self.asking["large"]))
        if one and self._limit is None:
            self._before = _blas_count()
            self._limit = _controller().limit(limits=1, user_api="blas")
        elif not one and self._limit is not None:
            limit, self._limit = self._limit, None
            limit.restore_original_limits()

    @property
    def for_us(self) -> int:
        """How many threads of our own may share work now."""
        if self.asking["all"]:
            return 1
        return self._before if self._limit is not None else _blas_count()


_wishes = _Wishes()


class _Asking:
    """One who asks. Python may lose the end of a `with` to an interrupt: then nobody knows this object any longer, which ends it too."""

    def __init__(self, wish: str) -> None:
        self.wish = wish

    def __enter__(self) -> None:
        _wishes.ask(self.wish, id(self))

    def __exit__(self, *error: object) -> None:
        _wishes.leave(self.wish, id(self))

    def __del__(self) -> None:
        if id(self) in _wishes.asking[self.wish]:
            _wishes.leave(self.wish, id(self))


def single_blas_thread() -> AbstractContextManager[None]:
    """One thread in all: for small matrices in loops, and within threads of our own."""
    return _Asking("all")


def own_threads() -> AbstractContextManager[None]:
    """BLAS on one thread, beside threads of our own over tiles and blocks of rows."""
    return _Asking("blas")


def threads_for_rows(n_rows: float) -> AbstractContextManager[None]:
    """What a fit to so many rows works with: one thread in all for few."""
    return single_blas_thread() if n_rows <= SIZES.one_thread else own_threads()


def threads_for_size(size: int) -> AbstractContextManager[None]:
    """What the decomposition of a matrix of this size works with: all threads of BLAS if it is large, unless one in all is asked for."""
    return _Asking("large") if size >= SIZES.all_threads else nullcontext()


def single_thread() -> AbstractContextManager[Any]:
    """BLAS and OpenMP on one thread, for a call into scikit-learn with few rows."""
    return _controller().limit(limits=1)


def thread_count() -> int:
    """How many threads of our own may share work now: as many as BLAS may have, and one where one in all is asked for."""
    return _wishes.for_us


def thread_map(function: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> list[Result]:
    """``[function(item) for item in items]`` on threads, in order."""
    items = list(items)
    if n_threads <= 1 or len(items) <= 1:
        return [function(item) for item in items]
    contexts = [copy_context() for _ in items]  # np.errstate of the caller holds in its threads too
    with single_blas_thread(), ThreadPoolExecutor(min(n_threads, len(items))) as pool:
        return list(pool.map(lambda context, item: context.run(function, item), contexts, items))
