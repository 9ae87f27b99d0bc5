"""views: one view of a row predicted from its other views, beside what was seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.explorer import fitting
from gramian.explorer.packing import plain
from gramian.explorer.session import Session, cells_of
from gramian.explorer.verbs._input import ROW, InputError, Verb, check_row, text


def views(session: Session, row: int, view: str) -> dict[str, Any]:
    """``working`` while the views are being fitted."""
    data, fitted = session.need()
    check_row(len(data.X), row)
    if not data.views:
        raise InputError("the table has no views: name them first.")
    known = session.views
    if known is None:
        if not session.jobs.has("views"):
            fitting.views(session)
        return {"working": True, "views": list(data.views)}
    columns, model = known["columns"], known["model"]
    view = view if view in columns else next(iter(columns))
    x = fitted.full[row : row + 1]
    mean, std = model.predict_view(fitting.others(x, columns, view), view, return_std=True)
    whole, spread = x.copy(), np.zeros_like(x)
    whole[:, columns[view]], spread[:, columns[view]] = mean, std
    members = [data.prepare.names.index(name) for name in data.views[view]]
    guessed, seen = cells_of(data, whole, spread, possible=True)[0], cells_of(data, x)[0]
    hidden = np.isnan(data.X[row])
    return {
        "working": False,
        "views": [
            {"name": name, "columns": len(c), "skill": _maybe(known["skill"].get(name))} for name, c in columns.items()
        ],
        "view": view,
        "row": row,
        "name": data.row_name(row),
        "columns": [
            {
                "column": data.prepare.names[j],
                "seen": None if hidden[data.owner == j].any() else seen[j][0],
                "predicted": guessed[j],
            }
            for j in members
        ],
    }


def _maybe(value: float | None) -> float | None:
    return None if value is None else plain(value)


VERB = Verb(views, {"row": (ROW, 0), "view": (text(), "")})
