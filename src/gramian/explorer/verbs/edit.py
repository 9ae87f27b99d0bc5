"""edit: another value for a cell, or none; the row is filled and placed again, without a new fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.data import Data
from gramian.explorer.session import Fitted, Session
from gramian.explorer.verbs._input import NEEDED, ROW, InputError, Verb, cell, check_row, text
from gramian.explorer.verbs.fill import column_of, latent_of
from gramian.explorer.verbs.row import row as row_facts
from gramian.tables.table import Table


def edit(session: Session, row: int, column: str, value: Any) -> dict[str, Any]:
    """The row as it is now; undo brings the old cell back."""
    data, _ = session.need()
    check_row(len(data.X), row)
    if column not in data.prepare.names:
        raise InputError(f"{column[:60]!r} is not a column of the model.")
    new = column_of(data, data.prepare.names.index(column), value)[0]
    old = data.table[column][row]
    position = data.table.names.index(column)
    was_edited = position in session.edited.get(row, set())

    def back() -> None:
        _set(session, row, column, old)
        if not was_edited:
            session.edited.get(row, set()).discard(position)

    with session.lock:
        _set(session, row, column, new)
        session.edited.setdefault(row, set()).add(position)
        session.remember(f"the edit of {column[:40]}", back)
    session.changed(drawn=True)
    return row_facts(session, row)


def _set(session: Session, row: int, column: str, value: Any) -> None:
    data, fitted = session.need()
    data.table[column][row] = value
    data.forget()
    cells = [data.table[name][row : row + 1] for name in data.prepare.names]
    data.X[row] = data.prepare.matrix(Table(list(data.prepare.names), cells))[0]
    _place(data, fitted, row)


def _place(data: Data, fitted: Fitted, row: int) -> None:
    """What the models say of the row, in the arrays that panels read."""
    x: Array = data.X[row : row + 1]
    full, std = fitted.filler.impute(x, return_std=True) if np.isnan(x).any() else (x, np.zeros_like(x))
    fitted.full[row], fitted.std[row] = np.asarray(full)[0], np.asarray(std)[0]
    fitted.latents[row] = latent_of(fitted, x)
    fitted.__dict__.pop("tree", None)
    if fitted.odd is not None:
        found = fitted.linear.anomaly(x)
        for name in ("t2", "spe", "p_t2", "p_spe", "contributions"):
            getattr(fitted.odd, name)[row] = getattr(found, name)[0]
        fitted.oddness[row] = fitted.oddness_of(found, x)[0]


VERB = Verb(edit, {"row": (ROW, NEEDED), "column": (text(), NEEDED), "value": (cell, None)})
