"""How to measure: both sides interleaved in one run, medians of CPU and wall seconds; peak memory in a fresh process."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]
QUICK = "GRAMIAN_BENCH_QUICK"
"""Set in the environment by `--quick`: small sizes, one repeat, to see that all runs."""


def sized(full: int, quick: int) -> int:
    """A size, or the small one that stands for it in a quick run."""
    return quick if os.environ.get(QUICK) else full


@dataclass(frozen=True)
class Row:
    """A line of the table: what was measured against what, what must hold, what was found."""

    number: str
    work: str
    against: str
    floor: str
    goal: str
    found: str
    holds: bool | None  # None: reported only


@dataclass(frozen=True)
class Seconds:
    """Medians of repeated runs."""

    cpu: float
    wall: float


@contextmanager
def threads(count: int) -> Iterator[None]:
    """BLAS and OpenMP pinned alike for both sides."""
    with threadpool_limits(count):
        yield


def interleaved(candidates: dict[str, Callable[[], Any]], repeats: int = 3, n_threads: int = 1) -> dict[str, Seconds]:
    """Median CPU and wall seconds of each candidate; the candidates take turns, so that a busy machine is busy for all."""
    repeats = sized(repeats, 1)
    cpu: dict[str, list[float]] = {name: [] for name in candidates}
    wall: dict[str, list[float]] = {name: [] for name in candidates}
    with threads(n_threads):
        for _ in range(repeats):
            for name, candidate in candidates.items():
                start_cpu, start_wall = time.process_time(), time.perf_counter()
                candidate()
                cpu[name].append(time.process_time() - start_cpu)
                wall[name].append(time.perf_counter() - start_wall)
    return {name: Seconds(float(np.median(cpu[name])), float(np.median(wall[name]))) for name in candidates}


@dataclass(frozen=True)
class Fresh:
    """One run in a fresh process; the peak is less what the process held before the run."""

    cpu: float
    wall: float
    peak_bytes: int


def fresh(function: str, *arguments: Any, n_threads: int = 1) -> Fresh:
    """Run in a fresh process what ``function``, "module:name", prepares and returns when called with plain arguments."""
    pinned = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(n_threads))
    command = [sys.executable, "-m", "benchmarks._timing", function, json.dumps(arguments)]
    answer = subprocess.run(command, cwd=ROOT, env=os.environ | pinned, stdout=subprocess.PIPE, text=True, check=True)
    cpu, wall, peak = answer.stdout.split()[-3:]
    return Fresh(float(cpu), float(wall), int(peak))


def _status(field: str) -> int:
    """A field of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"{field} is not in /proc/self/status.")


def _measured(function: str, arguments: list[Any]) -> tuple[float, float, int]:
    module, name = function.split(":")
    run = getattr(importlib.import_module(module), name)(*arguments)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    before = _status("VmRSS")
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - cpu, time.perf_counter() - wall, _status("VmHWM") - before


if __name__ == "__main__":
    print(*_measured(sys.argv[1], json.loads(sys.argv[2])))
