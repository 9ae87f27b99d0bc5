"""map: where rows lie on two axes of the map, and a colour for each."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from gramian._arrays import Array, row_chunks
from gramian.explorer.data import Data
from gramian.explorer.packing import pack, plain
from gramian.explorer.session import Fitted, Session
from gramian.explorer.verbs._input import InputError, Verb, flag, integer, list_of, text
from gramian.explorer.verbs.row import covariance_of
from gramian.policy import SIZES

MOST_LABELS = 16
"""Values that are told apart on the map: eight colours, as discs and as rings."""


def map_points(session: Session, axes: list[int], colour: str, ellipses: bool) -> dict[str, Any]:
    """Points and colours; with ``ellipses`` how surely each row lies there."""
    data, fitted = session.need()
    x, y = (axis_values(fitted, axis) for axis in pair(axes))
    found = {"x": pack(x), "y": pack(y), "axes": axes, "n": len(x), "colour": colour_of(data, fitted, colour)}
    if ellipses and max(axes) < fitted.q:
        most = session.limits.ellipses
        if len(x) > most:
            raise InputError(f"ellipses are drawn of at most {most:,} rows; the table has {len(x):,}.")
        found["ellipses"] = pack(spreads(data, fitted, axes))
    return found


def spreads(data: Data, fitted: Fitted, axes: list[int]) -> Array:
    """Var, Cov, Var of each row's place on two axes, given what it shows: (n, 3)."""
    x, y = axes
    out = np.empty((len(data.X), 3))
    for rows in row_chunks(len(out), SIZES.block):
        covariance = covariance_of(fitted, data.X[rows])
        out[rows] = np.stack([covariance[..., x, x], covariance[..., x, y], covariance[..., y, y]], axis=-1)
    return out


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
        labels = [f"cluster {k + 1}" for k in range(min(count, MOST_LABELS))]
        return _codes("cluster", fitted.clusters.labels, labels, ["others"] if count > MOST_LABELS else [])
    if colour == "oddness" and fitted.odd is not None:
        return _numbers("oddness", fitted.oddness)
    if colour.startswith("column:") and colour[7:] in data.table:
        name = colour[7:]
        column = data.table[name]
        if column.dtype != object:
            return _numbers(name, column)
        texts = ["" if v is None else str(v)[:60] for v in column]
        counts = Counter(text for text in texts if text)
        labels = sorted(text for text, _ in counts.most_common(MOST_LABELS))
        rank = {text: i for i, text in enumerate(labels)}
        rest = (["others"] if len(counts) > MOST_LABELS else []) + (["missing"] if "" in texts else [])
        return _codes(name, np.array([rank.get(text, MOST_LABELS) for text in texts]), labels, rest)
    return {"kind": "none", "name": ""}


def _numbers(name: str, values: Array) -> dict[str, Any]:
    seen = values[np.isfinite(values)]
    low, high = np.quantile(seen, [0.01, 0.99]) if len(seen) else (0.0, 1.0)
    return {"kind": "number", "name": name, "values": pack(values), "low": plain(low), "high": plain(high)}


def _codes(name: str, codes: Array, labels: list[str], rest: list[str]) -> dict[str, Any]:
    """Codes with a colour each; what has none is the ``rest``."""
    told = pack(np.minimum(codes, MOST_LABELS), "u1")
    return {"kind": "category", "name": name, "codes": told, "labels": labels, "rest": rest}


VERB = Verb(
    map_points,
    {
        "axes": (list_of(integer(0, 10_000), 2), [0, 1]),
        "colour": (text(), "none"),
        "ellipses": (flag, False),
    },
)
