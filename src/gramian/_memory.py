"""What the process may use, and the refusal that comes before an allocation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gramian._checks import check_number


def available_memory() -> int:
    """Bytes that the process may still use: the least of what the machine has free and what limits leave."""
    bounds = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                bounds.append(1024 * int(line.split()[1]))
        for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
            text = Path(name).read_text().strip() if Path(name).exists() else "max"
            if text.isdigit():
                bounds.append(int(text))
    except OSError:
        pass
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            bounds.append(int(soft))
    except ImportError:
        pass
    return min(bounds, default=4 * 2**30)


def memory_budget(memory_limit: Any) -> int:
    """``memory_limit`` in bytes, or what the process may use when None."""
    if memory_limit is None:
        return available_memory()
    return int(check_number("memory_limit", memory_limit, 0.0, open_low=True))


def require_memory(needed: int, budget: int, what: str, advice: str) -> None:
    """Refuse before allocating, in words that say what would fit."""
    if needed > budget:
        raise MemoryError(f"{what} would store {readable(needed)}, but {readable(budget)} may be used. {advice}")


def readable(size: float) -> str:
    """A byte count for people: 95.6 GiB.

    >>> readable(3 * 2**30)
    '3.0 GiB'
    """
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
