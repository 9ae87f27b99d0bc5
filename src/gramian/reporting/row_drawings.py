"""Drawings of rows and of the model: the map of rows, the plane of columns, distances, curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian._arrays import Array
from gramian.policy import PAGE
from gramian.reporting.svg import LETTER, LINE, Canvas, Frame, cut, number


def curve(
    places: Sequence[float],
    values: Sequence[float],
    chosen: float,
    labels: tuple[str, str],
) -> str:
    """Values over a count, the chosen one marked."""
    known = [v for v in values if np.isfinite(v)]
    margin = 0.08 * (max(known) - min(known)) or 0.5
    frame = Frame(
        (min(places) - 0.3, max(places) + 0.3),
        (min(known) - margin, max(known) + margin),
        labels=labels,
        whole=True,
    )
    canvas = frame.canvas
    canvas.path([(frame.x(p), frame.y(v)) for p, v in zip(places, values)], "curve")
    for place, value in zip(places, values):
        picked = place == chosen
        said = f"{number(place)}: {number(value)}" + (", chosen" if picked else "")
        canvas.circle(frame.x(place), frame.y(value), 6 if picked else 3.5, "chosen" if picked else "dot", said)
    return canvas.markup(f"{labels[1]} over {labels[0]}")


def near_the_best(known: Sequence[tuple[int, float]], chosen: float) -> list[tuple[int, float]]:
    """Counts and scores without those far worse than the others.

    Examples
    --------
    >>> near_the_best([(1, -4.0), (2, -3.0), (3, -3.5), (4, -1e9)], 2)
    [(1, -4.0), (2, -3.0), (3, -3.5)]
    """
    scores = [score for _, score in known]
    # A score below the best by so many times what the middle one is below it is not drawn: it would flatten all others.
    least = max(scores) - 10 * (max(scores) - float(np.median(scores)))
    return [(place, score) for place, score in known if score >= least or place == chosen]


def spectrum(variances: Array, noise: float, most: int = 20) -> str:
    """The variance along each kept direction, and the noise that stands for all others."""
    shown = np.asarray(variances, dtype=float)[:most]
    frame = Frame(
        (0.4, len(shown) + 0.6),
        (0.0, 1.08 * float(max(shown.max(), noise))),
        labels=("component", "variance"),
        whole=True,
        right=44,
    )
    for k, value in enumerate(shown, start=1):
        width = min(24.0, 0.7 * (frame.x(2) - frame.x(1)))
        frame.canvas.rect(
            frame.x(k) - width / 2,
            frame.y(value),
            width,
            frame.y(0) - frame.y(value),
            "bar",
            f"component {k}: {number(value)}",
        )
    frame.canvas.line(frame.left, frame.y(noise), frame.right, frame.y(noise), "dashed", f"noise {number(noise)}")
    frame.canvas.write(frame.right + 4, frame.y(noise) + 4, "noise", "start", "t soft")
    return frame.canvas.markup("Variance of the components and noise")


def row_map(
    points: Array,
    names: Sequence[str],
    classes: Sequence[str] | None = None,
    odd: Array | None = None,
    labels: tuple[str, str] = ("z1", "z2"),
) -> str:
    """Rows at two coordinates, with their names; coloured by class, odd ones ringed."""
    kinds = [] if classes is None else sorted(set(classes))
    position = {kind: k for k, kind in enumerate(kinds)}
    # Two classes stand in a line of the legend where no name is longer than so many pixels.
    across = 2 if all(len(kind) * LETTER <= 165 for kind in kinds) else 1
    legend = LINE * -(-len(kinds) // across) + (LINE if odd is not None and odd.any() else 0)
    ends = [(float(points[:, k].min()), float(points[:, k].max())) for k in (0, 1)]
    pads = [0.05 * (high - low) or 0.5 for low, high in ends]
    wide = [(low - pad, high + pad) for (low, high), pad in zip(ends, pads)]
    frame = Frame(wide[0], wide[1], size=(440, 340 + legend), labels=labels, top=8 + legend)
    canvas = frame.canvas
    _legend(canvas, kinds, odd is not None and bool(odd.any()), frame.left, across)
    radius = 3.5 if len(points) <= 300 else 2.6
    for i, (x, y) in enumerate(points):
        style = f"c{position[classes[i]] % 8}" if classes is not None else "dot"
        said = names[i] + (f" ({cut(classes[i], 200)})" if classes is not None else "")
        if odd is not None and odd[i]:
            canvas.circle(frame.x(x), frame.y(y), radius + 2.5, "ring", f"{said}: odd")
        canvas.circle(frame.x(x), frame.y(y), radius, style, said)
    return canvas.markup("Map of the rows")


def _legend(canvas: Canvas, kinds: Sequence[str], rings: bool, left: float, across: int) -> None:
    """The classes, ``across`` of them in a line, and what a ring means."""
    room = (canvas.width - left) / across
    for k, kind in enumerate(kinds):
        x, y = left + room * (k % across), 12 + LINE * (k // across)
        canvas.circle(x + 4, y - 4, 4, f"c{k % 8}")
        canvas.write(x + 13, y, cut(kind, room - 16))
    if rings:
        y = 12 + LINE * -(-len(kinds) // across)
        canvas.circle(left + 4, y - 4, 5, "ring")
        canvas.write(left + 13, y, "odd row")


def arrows(directions: Array, names: Sequence[str], labels: Sequence[str] | None = None) -> str:
    """Columns as arrows in the plane of the first two components; the names stand in two lists at the sides, so none pile up.

    The squared length is the share of the column's variance that the two components explain; the circle is all of it.
    """
    labels = names if labels is None else labels
    order = np.argsort(-(directions**2).sum(axis=1), kind="stable")[: PAGE.rows]
    radius, side, height = 115.0, 120.0, 270.0
    canvas = Canvas(2 * (radius + side) + 20, height + 20)
    middle, centre = canvas.width / 2, canvas.height / 2
    canvas.add("circle", "rim", "", cx=middle, cy=centre, r=radius)
    canvas.line(middle - radius, centre, middle + radius, centre, "grid")
    canvas.line(middle, centre - radius, middle, centre + radius, "grid")
    for sign in (1.0, -1.0):
        mine = [j for j in order if (directions[j, 0] >= 0) == (sign > 0)]
        wanted = [centre - radius * directions[j, 1] for j in mine]
        for j, y in zip(mine, spread_places(wanted, 16.0, 12.0, canvas.height - 12)):
            tip_x, tip_y = middle + radius * directions[j, 0], centre - radius * directions[j, 1]
            share = float((directions[j] ** 2).sum())
            said = f"{cut(names[j], 200)}: {100 * share:.0f} % explained"
            edge = middle + sign * (radius + 8)
            canvas.path([(tip_x, tip_y), (edge, y - 4)], "lead")
            canvas.line(middle, centre, tip_x, tip_y, "arrow", said)
            canvas.circle(tip_x, tip_y, 3.5, "tip", said)
            canvas.write(edge + sign * 4, y, cut(labels[j], side - 12), "start" if sign > 0 else "end")
    return canvas.markup("Columns in the plane of the first two components")


def spread_places(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Places as near as can be to those wanted, in their order, none closer than ``apart``.

    Examples
    --------
    >>> spread_places([10.0, 11.0, 40.0], 16, 0, 100)
    [2.5, 18.5, 40.0]
    """
    order = np.argsort(wanted, kind="stable")
    groups: list[list[float]] = []  # middle, size
    for place in (wanted[i] for i in order):
        groups.append([place, 1.0])
        while len(groups) > 1 and _gap(groups[-2], groups[-1], apart) < 0:
            last, before = groups.pop(), groups.pop()
            size = last[1] + before[1]
            groups.append([(last[0] * last[1] + before[0] * before[1]) / size, size])
    flat: list[float] = []
    for middle, size in groups:
        half = (size - 1) * apart / 2
        middle = min(max(middle, low + half), max(high - half, low + half))
        flat += [middle - half + k * apart for k in range(int(size))]
    out = [0.0] * len(wanted)
    for place, i in zip(flat, order):
        out[int(i)] = float(place)
    return out


def _gap(above: Sequence[float], below: Sequence[float], apart: float) -> float:
    return (below[0] - (below[1] - 1) * apart / 2) - (above[0] + (above[1] - 1) * apart / 2) - apart


def distances(values: Array, odd: Array, rows: Array, names: Sequence[str], label: str) -> str:
    """A distance of every row in the order of the table; odd rows in another colour. What is far above is drawn at the top."""
    ordinary = values[~odd]
    top = float(min(values.max(), 3 * ordinary.max() if len(ordinary) else np.inf)) or 1.0
    frame = Frame((0, float(rows.max()) + 1), (0.0, 1.06 * top), size=(700, 190), labels=("row", label))
    for row, value, is_odd, name in zip(rows, values, odd, names):
        frame.canvas.circle(
            frame.x(row + 1),
            frame.y(min(float(value), top)),
            3.5 if is_odd else 2.2,
            "chosen" if is_odd else "dot",
            f"{name}: {number(float(value))}",
        )
    return frame.canvas.markup(f"{label} of the rows")


def coverage_bar(share: float, level: float) -> str:
    """The share of hidden cells inside their intervals, beside what was promised."""
    canvas = Canvas(280, 44)
    canvas.rect(2, 10, 260, 14, "empty")
    canvas.rect(2, 10, 260 * share, 14, "bar", f"{100 * share:.0f} % inside")
    canvas.line(2 + 260 * level, 5, 2 + 260 * level, 29, "mark", f"promised {100 * level:.0f} %")
    canvas.write(2 + 260 * level, 41, f"promised {100 * level:.0f} %", "end" if level > 0.5 else "start", "t soft")
    return canvas.markup(f"{100 * share:.0f} % inside, {100 * level:.0f} % promised")
