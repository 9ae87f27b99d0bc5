"""replace: every cell of a column that holds a value gets another, or none; a code that was taken as missing comes back; the models are fitted anew."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from gramian.explorer import fitting
from gramian.explorer.data import Data
from gramian.explorer.session import Session
from gramian.explorer.verbs._input import NEEDED, InputError, Verb, cell, text
from gramian.explorer.verbs.fill import column_of
from gramian.tables.preprocessing import Preprocessing, Roles


def replace(session: Session, column: str, old: Any, new: Any) -> dict[str, Any]:
    """How many cells; undo brings them back. Without an ``old`` value ``new`` is a code that was taken as missing, and is kept."""
    data, _ = session.need()
    if column not in data.prepare.names:
        raise InputError(f"{column[:60]!r} is not a column of the model.")
    place = data.prepare.names.index(column)
    before, after = (column_of(data, place, value)[0] for value in (old, new))
    emptied = {name: dict(codes) for name, codes in data.emptied.items()}
    kept = old is None
    if kept and after not in emptied.get(column, {}):
        raise InputError(f"{new!r} was not taken for a code of missing in {column[:60]!r}.")
    rows = emptied[column].pop(after) if kept else np.flatnonzero(data.table[column] == before)

    def back() -> None:
        if not kept:
            session.replaced.pop()
        data.table[column][rows] = before
        _look_at(session, data)

    with session.lock:
        data.table[column][rows] = after
        if not kept:
            session.replaced.append((column, before, after))
        session.remember(f"{len(rows)} cells of {column[:40]}", back)
        _look_at(session, _remeasure(session, dataclasses.replace(data, emptied=emptied)))
    return {"cells": len(rows)}


def _remeasure(session: Session, data: Data) -> Data:
    """The same table in the units that its cells have now; those of a model that was given stay."""
    prepare = data.prepare
    if session.given is None:
        prepare = Preprocessing.fit([data.table], Roles(id=tuple(prepare.ids), target=prepare.target))
    return dataclasses.replace(data, prepare=prepare, X=prepare.matrix(data.table))


def _look_at(session: Session, data: Data) -> None:
    session.data, session.stale = data, True
    session.changed(drawn=True)
    fitting.again(session, q=session.options.get("q"))


VERB = Verb(replace, {"column": (text(), NEEDED), "old": (cell, None), "new": (cell, None)})
