"""Memory that a task has freed stays with it until it ends: workers of Dask hand every freed array back at once, which costs a pass as
much again in pages that are mapped anew."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

_lock = Lock()
_tasks = 0


@lru_cache(maxsize=1)
def _libc() -> Any:
    """glibc, where the process runs on it."""
    try:
        library = ctypes.CDLL("libc.so.6")
        return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
    except OSError:
        return None


@contextmanager
def kept_memory() -> Iterator[None]:
    """Within it freed memory is used again; where the environment asks for memory to be handed back, that is done at the end."""
    asked = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    library = _libc() if asked.isdigit() else None
    if library is None:
        yield
        return
    _count(library, 1, int(asked))
    try:
        yield
    finally:
        _count(library, -1, int(asked))


def _count(library: Any, change: int, asked: int) -> None:
    """The first task to come sets the thresholds so that freed blocks up to 256 MiB are used again, the last to go sets them back."""
    trim_threshold, mmap_threshold = -1, -3  # as glibc's mallopt knows them
    global _tasks
    with _lock:
        _tasks += change
        if change > 0 and _tasks == 1:
            library.mallopt(mmap_threshold, 1 << 28)
            library.mallopt(trim_threshold, 1 << 28)
        elif _tasks == 0:
            library.mallopt(mmap_threshold, 1 << 17)  # glibc's own
            library.mallopt(trim_threshold, asked)
            library.malloc_trim(0)
