"""rows: a page of the table, holes filled, sorted and filtered."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.data import Data
from gramian.explorer.packing import plain
from gramian.explorer.session import Session, cells_of, shown_cell
from gramian.explorer.verbs._input import InputError, Verb, choice, flag, integer, list_of, text
from gramian.explorer.verbs.search import matching


def rows(
    session: Session,
    start: int,
    count: int,
    sort: str,
    descending: bool,
    filter: str,
    only: str,
    rows: list[int] | None,
    first_column: int,
    columns: int,
) -> dict[str, Any]:
    """Cells are values, or ``{"v": value, "lo": ..., "hi": ...}`` where the table has a hole (``p``: the chance of a category)."""
    data = session.need_data()
    order = _order(session, data, sort, descending)
    keep = np.ones(len(data.X), dtype=bool)
    if rows is not None:
        keep = np.zeros(len(data.X), dtype=bool)
        keep[[row for row in rows if row < len(keep)]] = True
    if only == "holes":
        keep &= np.isnan(data.X).any(axis=1)
    if filter:
        keep &= matching(data, filter)
    found = order[keep[order]]
    page = found[start : start + count]
    names = data.table.names[first_column : first_column + columns]
    return {
        "total": len(found),
        "start": start,
        "names": names,
        "kinds": ["text" if data.table[name].dtype == object else "number" for name in names],
        "modelled": [name in data.prepare.names for name in names],
        "all_columns": len(data.table.names),
        "rows": _cells(session, data, page, names),
    }


def _order(session: Session, data: Data, sort: str, descending: bool) -> Array:
    n = len(data.X)
    if sort in ("", "row"):
        return np.arange(n)[::-1] if sort and descending else np.arange(n)
    if sort == "oddness":
        fitted = session.need()[1]
        keys = fitted.oddness if fitted.odd is not None else np.zeros(n)
        return np.argsort(-keys if descending else keys, kind="stable")
    if not sort.startswith("column:") or sort[7:] not in data.table:
        raise InputError("sort is row, oddness, or column:NAME.")
    column = data.table[sort[7:]]
    if column.dtype == object:
        empty = np.array([v is None for v in column])
        _, codes = np.unique(["" if v is None else str(v) for v in column], return_inverse=True)
        keys = codes.astype(float)
    else:
        empty, keys = np.isnan(column), np.nan_to_num(column)
    return np.lexsort((-keys if descending else keys, empty))


def _cells(session: Session, data: Data, page: Array, names: list[str]) -> list[dict[str, Any]]:
    fitted, prepare = session.fitted, data.prepare
    place = {name: j for j, name in enumerate(prepare.names)}
    fills = (
        cells_of(data, fitted.full[page], fitted.std[page], possible=True) if fitted is not None and len(page) else None
    )
    out = []
    for i, row in enumerate(page.tolist()):
        cells: list[Any] = []
        for name in names:
            value = data.table[name][row]
            if value is None or value != value:
                cells.append(None if fills is None or name not in place else _hole(fills[i][place[name]]))
            else:
                cells.append(plain(value) if isinstance(value, float) else shown_cell(value))
        edited = [data.table.names[j] for j in session.edited.get(row, ())]
        out.append({"row": row, "name": data.row_name(row), "cells": cells, "edited": edited})
    return out


def _hole(found: list[Any]) -> dict[str, Any]:
    if len(found) == 2:
        return {"v": found[0], "p": found[1]}
    return {"v": found[0], "lo": found[1], "hi": found[2]}


VERB = Verb(
    rows,
    {
        "start": (integer(), 0),
        "count": (integer(1, 500), 50),
        "sort": (text(1100), ""),
        "descending": (flag, False),
        "filter": (text(), ""),
        "only": (choice("all", "holes"), "all"),
        "rows": (list_of(integer(), 1_000_000), None),
        "first_column": (integer(), 0),
        "columns": (integer(1, 200), 40),
    },
)
