"""select: the rows inside a shape on the map, and what sets rows apart from the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.data import Data
from gramian.explorer.packing import pack, plain
from gramian.explorer.session import Fitted, Session, shown_cell
from gramian.explorer.verbs._input import InputError, Verb, integer, list_of, number
from gramian.explorer.verbs.map_points import axis_values, pair


def select(
    session: Session, axes: list[int], polygon: list[list[float]] | None, rows: list[int] | None, cluster: int | None
) -> dict[str, Any]:
    """Rows inside a polygon, or of a list, or of a cluster; with the columns that set them apart, the clearest first."""
    data, fitted = session.need()
    inside = np.zeros(len(data.X), dtype=bool)
    if polygon is not None:
        if len(polygon) < 3 or any(len(corner) != 2 for corner in polygon):
            raise InputError("polygon is a list of three or more pairs of numbers.")
        x, y = (axis_values(fitted, axis) for axis in pair(axes))
        inside = within(x, y, np.array(polygon))
    elif cluster is not None and fitted.clusters is not None:
        inside = np.asarray(fitted.clusters.labels == cluster)
    elif rows is not None:
        inside[[row for row in rows if row < len(inside)]] = True
    found = np.flatnonzero(inside)
    return {"n": len(found), "rows": pack(found, "i4"), "apart": apart(data, fitted, inside)}


def within(x: Array, y: Array, corners: Array) -> Array:
    """Which points lie inside a polygon: the line to the right crosses its rim an odd number of times.

    Examples
    --------
    >>> square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    >>> within(np.array([0.5, 2.0]), np.array([0.5, 0.5]), square).tolist()
    [True, False]
    """
    inside = np.zeros(len(x), dtype=bool)
    for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0)):
        if y1 == y2:
            continue
        crosses = (y1 > y) != (y2 > y)
        inside ^= crosses & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
    return inside


def apart(data: Data, fitted: Fitted, inside: Array, most: int = 12) -> list[dict[str, Any]]:
    """The largest differences between rows inside and outside, in standard deviations of the column; of categories, the value that differs most."""
    if not inside.any() or inside.all():
        return []
    prepare, X = data.prepare, fitted.full
    here, there = prepare.restore(X[inside].mean(axis=0)[None]), prepare.restore(X[~inside].mean(axis=0)[None])
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0) * prepare.scale
    found = []
    for j, name in enumerate(prepare.names):
        block = np.flatnonzero(data.owner == j)
        if prepare.categories[j]:
            column = data.table[name]
            best: dict[str, Any] | None = None
            for value in prepare.categories[j]:
                has = np.array([cell is not None and str(cell) == value for cell in column])
                share, rest = has[inside].mean(), has[~inside].mean()
                effect = (share - rest) / max(float(np.sqrt(has.mean() * (1 - has.mean()))), 1e-9)
                if best is None or abs(effect) > abs(best["effect"]):
                    best = {
                        "column": name,
                        "value": shown_cell(value),
                        "inside": share,
                        "outside": rest,
                        "effect": effect,
                    }
            found.append(best)
        else:
            k = int(block[0])
            effect = (here[0, k] - there[0, k]) / spread[k]
            found.append({"column": name, "inside": here[0, k], "outside": there[0, k], "effect": effect})
    told = sorted((f for f in found if f is not None), key=lambda f: -abs(f["effect"]))[:most]
    return [{key: value if isinstance(value, str) else plain(value) for key, value in f.items()} for f in told]


VERB = Verb(
    select,
    {
        "axes": (list_of(integer(0, 10_000), 2), [0, 1]),
        "polygon": (list_of(list_of(number(), 2), 5000), None),
        "rows": (list_of(integer(), 1_000_000), None),
        "cluster": (integer(0, 1000), None),
    },
)
