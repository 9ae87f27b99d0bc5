"""Lines and branches that tests reach, by package, from the JSON report of coverage.

Run as ``python -m benchmarks.coverage_rooms build/coverage.json [words about the run]``; ``make coverage`` writes that file.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks._results import note


def rooms(files: dict[str, Any]) -> dict[str, list[Any]]:
    """Per package: lines, per cent of them reached, branches, per cent of them reached; and of all together."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for path, found in files.items():
        within = Path(path).parts[Path(path).parts.index("gramian") + 1 :]
        summary = found["summary"]
        counts = [summary[name] for name in ("num_statements", "covered_lines", "num_branches", "covered_branches")]
        for room in (within[0] if len(within) > 1 else "gramian itself", "all"):
            sums[room] = [a + b for a, b in zip(sums[room], counts)]
    order = sorted(sums, key=lambda room: (room == "all", room))
    return {
        room: [lines, _share(reached, lines), branches, _share(taken, branches)]
        for room, (lines, reached, branches, taken) in ((room, sums[room]) for room in order)
    }


def _share(part: int, whole: int) -> float:
    return round(100.0 * part / whole, 1) if whole else 100.0


def main() -> None:
    """Keep the shares, and print them."""
    found = rooms(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["files"])
    how = " ".join(sys.argv[2:]) or "`make coverage`: all tests but those of the trained maps and of the browser."
    note("coverage", {"how": how, "rooms": found})
    for room, counts in found.items():
        print(f"{room:16}", *counts)


if __name__ == "__main__":
    main()
