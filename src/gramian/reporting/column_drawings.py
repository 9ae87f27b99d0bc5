"""Drawings of columns: histograms, correlations, the map of holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.reporting.svg import LETTER, LINE, Canvas, cut, number


def histogram(values: Array) -> str:
    """How a column of numbers is spread, small enough for a cell of a table."""
    seen = values[~np.isnan(values)]
    if not len(seen) or seen.min() == seen.max():
        return ""
    low, high = float(seen.min()), float(seen.max())
    whole = bool((seen == np.round(seen)).all()) and high - low < 20
    edges = np.arange(low - 0.5, high + 1) if whole else np.linspace(low, high, 20 + 1)
    counts, edges = np.histogram(seen, edges)
    canvas = Canvas(124, 30)
    width = 120 / len(counts)
    for i, count in enumerate(counts):
        height = 26 * count / counts.max()
        if count:
            said = number(edges[i] + 0.5) if whole else f"{number(edges[i])} to {number(edges[i + 1])}"
            canvas.rect(
                2 + i * width, 28 - max(height, 1.0), max(width - 1, 0.8), max(height, 1.0), "bar", f"{said}: {count}"
            )
    canvas.line(2, 28.5, 122, 28.5)
    return canvas.markup("Histogram")


def value_bars(cells: Sequence[Any], most: int = 8) -> str:
    """How often each category occurs, likewise."""
    counts = Counter(str(cell) for cell in cells if cell is not None).most_common()
    if not counts:
        return ""
    canvas = Canvas(124, 30)
    total = sum(count for _, count in counts)
    shown = counts if len(counts) <= most else [*counts[: most - 1], ("others", sum(c for _, c in counts[most - 1 :]))]
    place = 2.0
    for i, (value, count) in enumerate(shown):
        width = 120 * count / total
        canvas.rect(place, 6, max(width - 1, 0.6), 18, f"c{i % 8}", f"{cut(value, 300)}: {count}")
        place += width
    return canvas.markup("Shares of values")


def correlations(R: Array, names: Sequence[str]) -> str:
    """Correlations as squares: orange rises together, blue against each other, the deeper the stronger."""
    d = len(names)
    cell = 20.0
    space = min(150.0, max(len(name) for name in names) * LETTER + 8)
    canvas = Canvas(space + d * cell + 0.72 * space, space * 0.72 + d * cell + 26)
    top = space * 0.72 + 20
    for i in range(d):
        canvas.write(space - 5, top + i * cell + 14, cut(names[i], space - 8), "end")
        canvas.write(space + i * cell + 13, top - 5, cut(names[i], space - 8), "start", "t", -45)
        for j in range(d):
            value = R[i, j]
            if i == j or not np.isfinite(value):
                canvas.rect(space + j * cell, top + i * cell, cell - 1, cell - 1, "empty")
                continue
            style, depth = ("up" if value > 0 else "down"), abs(float(value))
            said = f"{cut(names[i], 200)} and {cut(names[j], 200)}: {number(round(float(value), 2))}"
            canvas.rect(space + j * cell, top + i * cell, cell - 1, cell - 1, "empty")
            canvas.rect(space + j * cell, top + i * cell, cell - 1, cell - 1, style, said, fill_opacity=f"{depth:.2f}")
    return canvas.markup("Correlations of the columns")


def hole_map(holes: Array, names: Sequence[str]) -> str:
    """Where cells are missing: rows from top to bottom, columns from left to right, missing cells dark."""
    n, d = holes.shape
    # More rows than these share lines in the map of holes.
    lines = min(n, 180)
    owner = (np.arange(n) * lines) // n
    share = np.zeros((lines, d))
    np.add.at(share, owner, holes)
    share /= np.bincount(owner, minlength=lines)[:, None]
    height = max(1.5, min(8.0, 300 / lines))
    cell = max(9.0, min(34.0, 620 / d))
    space = min(130.0, max(len(name) for name in names) * LETTER + 8)
    left = 8 + len(str(n)) * LETTER
    top = space * 0.72 + 22
    canvas = Canvas(left + d * cell + 0.72 * space, top + lines * height + 8)
    every = -(-LINE // cell)
    for j in range(d):
        if j % every == 0:
            canvas.write(left + (j + 0.5) * cell + 3, top - 6, cut(names[j], space - 8), "start", "t", -45)
        said = f"{cut(names[j], 200)}: {int(holes[:, j].sum())} of {n} missing ({100 * holes[:, j].mean():.3g} %)"
        canvas.rect(left + j * cell, top, cell - 1, lines * height, "seen", said)
        for depth in (1, 2, 3):
            wanted = np.ceil(share[:, j] * 3 - 1e-9) == depth
            runs = _runs(wanted)
            if runs:
                x, wide = left + j * cell, cell - 1
                boxes = "".join(
                    f"M{x:.4g} {top + a * height:.5g}h{wide:.4g}v{(b - a) * height:.4g}h-{wide:.4g}z" for a, b in runs
                )
                canvas.add("path", f"hole{depth}", said, d=boxes)
    for i in sorted({0, lines // 2, lines - 1}):
        canvas.write(left - 5, top + (i + 0.5) * height + 4, str(int(np.flatnonzero(owner == i)[0]) + 1), "end")
    return canvas.markup("Map of missing cells")


def _runs(wanted: Array) -> list[tuple[int, int]]:
    """Where runs of True begin and end.

    >>> _runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2])]
