"""What the process may use, and the refusal that comes before an allocation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gramian._checks import check_number
from gramian.policy import SIZES


def available_memory() -> int:
    """Bytes that the process may still use: the least of what the machine has free and what limits leave."""
    bounds = [bound for find in (_free, _left_by_cgroups, _left_by_the_shell) for bound in find()]
    return max(0, min(bounds, default=4 * 2**30))


def _free() -> Iterator[int]:
    """What the machine has."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield 1024 * int(line.split()[1])
    except (OSError, ValueError):
        return


def _left_by_cgroups(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> Iterator[int]:
    """What the limits of containers leave, those of the groups above the process's own too; pages of files do not count as used."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        lines = []
    groups = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    names = (("", "memory.max", "memory.current"), ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"))
    for folder, limit, usage in names:
        top = Path(root, folder)
        places = {top}
        for path in {path.strip("/") for _, kinds, path in groups if folder in kinds.split(",")}:
            place = Path(top, path)
            places |= {place, *(above for above in place.parents if above.is_relative_to(top))}
        for place in places:
            most = _number(place / limit)
            if most is not None:
                yield most - max(0, (_number(place / usage) or 0) - _file_pages(place))


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _file_pages(place: Path) -> int:
    """Bytes of a group that only keep files at hand: they are given back when they are needed."""
    try:
        lines = (place / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    values = dict(line.split()[:2] for line in lines if len(line.split()) >= 2)
    return sum(int(values.get(name, 0)) for name in ("inactive_file", "active_file"))


def _left_by_the_shell() -> Iterator[int]:
    """What ``ulimit -v`` leaves of the address space."""
    try:
        import resource
    except ImportError:
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        try:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        except (OSError, ValueError):
            used = 0
        yield int(soft) - used


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(i?)B?")


def memory_budget(memory_limit: Any, needed: int = 0) -> int:
    """``memory_limit`` in bytes; when None, what the process may use, which is found out only where more than `SIZES.modest` bytes are needed.

    >>> memory_budget("1MB"), memory_budget("0.5 GiB"), memory_budget(2048)
    (1000000, 536870912, 2048)
    """
    if memory_limit is None:
        return SIZES.modest if needed <= SIZES.modest else available_memory()
    if isinstance(memory_limit, str):
        found = _SIZE.fullmatch(memory_limit.strip())
        if found is None or float(found[1]) <= 0:
            raise ValueError(
                f"memory_limit={memory_limit!r} must be a number of bytes, or one with a unit, such as '500MB' or '2 GiB'."
            )
        return int(float(found[1]) * (1024 if found[3] else 1000) ** " kmgt".index(found[2].lower() or " "))
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
