"""columns: what each column is: its kind, its holes, its distribution, its values."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.packing import plain
from gramian.explorer.session import Session, shown_cell
from gramian.explorer.verbs._input import Verb, integer


def columns(session: Session, start: int, count: int) -> dict[str, Any]:
    """A part of the columns, in the order of the table."""
    data = session.need_data()
    names = data.table.names
    return {"total": len(names), "columns": [_words(session, name) for name in names[start : start + count]]}


def _words(session: Session, name: str) -> dict[str, Any]:
    data = session.need_data()
    column, prepare = data.table[name], data.prepare
    role = "modelled"
    if name not in prepare.names:
        role = "label" if name == data.label else "name" if name in prepare.ids else "left out"
    facts = _texts(column) if column.dtype == object else _numbers(column)
    why = next((note for note in prepare.notes if repr(name) in note or name in note), "") if role == "left out" else ""
    codes = [[plain(value), int(np.count_nonzero(column == value))] for value in data.codes.get(name, ())]
    emptied = [[plain(value), len(rows)] for value, rows in data.emptied.get(name, {}).items()]
    return {"name": name, "role": role, "why": why[:300], "codes": codes, "emptied": emptied, **facts}


def _numbers(column: Array, most: int = 24) -> dict[str, Any]:
    seen = column[~np.isnan(column)]
    facts: dict[str, Any] = {"kind": "number", "holes": int(len(column) - len(seen)), "distinct": len(np.unique(seen))}
    if len(seen):
        whole = bool((seen == np.round(seen)).all())
        low, high = np.quantile(seen, [0.002, 0.998])
        inside = seen[(seen >= low) & (seen <= high)] if high > low else seen
        bins = min(most, int(inside.max() - inside.min()) + 1) if whole else most
        counts, edges = np.histogram(inside, bins=bins)
        quartiles = [plain(v) for v in np.quantile(seen, [0, 0.25, 0.5, 0.75, 1])]
        facts |= {
            "kind": "whole number" if whole else "number",
            "counts": counts.tolist(),
            "edges": [plain(edges[0]), plain(edges[-1])],
            "quartiles": quartiles,
        }
    return facts


def _texts(column: Array, most: int = 8) -> dict[str, Any]:
    counts = Counter(shown_cell(value) for value in column if value is not None)
    return {
        "kind": "category" if len(counts) <= len(column) / 2 else "text",
        "holes": int(len(column) - sum(counts.values())),
        "distinct": len(counts),
        "values": [[value[:80], count] for value, count in counts.most_common(most)],
    }


VERB = Verb(columns, {"start": (integer(), 0), "count": (integer(1, 200), 60)})
