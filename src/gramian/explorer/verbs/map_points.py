"""map: where rows lie on two axes of the map, and a colour for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.data import Data
from gramian.explorer.packing import packed, plain
from gramian.explorer.session import Fitted, Session
from gramian.explorer.verbs._input import InputError, Verb, integer, list_of, text

MOST_LABELS = 8
"""Colours that can be told apart; the other values are one more."""


def map_points(session: Session, axes: list[int], colour: str) -> dict[str, Any]:
    """Points, colours, and the axes in words."""
    data, fitted = session.need()
    x, y = (axis_values(fitted, axis) for axis in pair(axes))
    return {"x": packed(x), "y": packed(y), "axes": pair(axes), "n": len(x), "colour": colour_of(data, fitted, colour)}


def pair(axes: list[int]) -> list[int]:
    """Two axes."""
    if len(axes) != 2:
        raise InputError("axes are two whole numbers.")
    return axes


def axis_values(fitted: Fitted, axis: int) -> Array:
    """The latents along an axis; the one after the last is the distance off the model."""
    if axis < fitted.q:
        return np.asarray(fitted.latents[:, axis])
    if axis == fitted.q and fitted.odd is not None:
        return np.asarray(np.sqrt(np.maximum(fitted.odd.spe, 0.0)))
    return np.zeros(len(fitted.latents))


def colour_of(data: Data, fitted: Fitted, colour: str) -> dict[str, Any]:
    """``none``, ``cluster``, ``oddness``, or ``column:NAME``."""
    if colour == "cluster" and fitted.clusters is not None:
        count = len(fitted.clusters.model.weights_)
        return _codes("cluster", fitted.clusters.labels, [f"cluster {k + 1}" for k in range(count)])
    if colour == "oddness" and fitted.odd is not None:
        return _numbers("oddness", fitted.oddness)
    if colour.startswith("column:") and colour[7:] in data.table:
        name = colour[7:]
        column = data.table[name]
        if column.dtype != object:
            return _numbers(name, column)
        values, counts = np.unique([("" if v is None else str(v)[:60]) for v in column], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        place = {values[k]: i for i, k in enumerate(order)}
        labels = sorted(str(values[k]) for k in order[:MOST_LABELS])
        rank = {label: i for i, label in enumerate(labels)}
        codes = np.array([rank.get(("" if v is None else str(v)[:60]), MOST_LABELS) for v in column])
        more = ["others"] if len(place) > MOST_LABELS else []
        return _codes(name, codes, [label or "missing" for label in labels] + more)
    return {"kind": "none", "name": ""}


def _numbers(name: str, values: Array) -> dict[str, Any]:
    seen = values[np.isfinite(values)]
    low, high = np.quantile(seen, [0.01, 0.99]) if len(seen) else (0.0, 1.0)
    return {"kind": "number", "name": name, "values": packed(values), "low": plain(low), "high": plain(high)}


def _codes(name: str, codes: Array, labels: list[str]) -> dict[str, Any]:
    return {"kind": "category", "name": name, "codes": packed(np.minimum(codes, 255), "u1"), "labels": labels[:256]}


VERB = Verb(map_points, {"axes": (list_of(integer(0, 10_000), 2), [0, 1]), "colour": (text(), "none")})
