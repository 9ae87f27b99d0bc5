"""search: rows by what their cells say."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.data import Data
from gramian.explorer.session import Session
from gramian.explorer.verbs._input import NEEDED, Verb, integer, text


def search(session: Session, text: str, most: int) -> dict[str, Any]:
    """The first rows whose texts, names or number hold the text."""
    data = session.need_data()
    found = np.flatnonzero(matching(data, text))
    return {"total": len(found), "rows": [{"row": int(r), "name": data.row_name(int(r))} for r in found[:most]]}


def matching(data: Data, text: str) -> Array:
    """Which rows have a text with these letters, a number that is this one, or are of this number (``row 12``)."""
    wanted = text.strip().lower()
    keep = np.zeros(len(data.X), dtype=bool)
    if not wanted:
        return ~keep
    number = wanted.removeprefix("row").strip()
    if number.isdigit() and 1 <= int(number) <= len(keep) and (wanted != number or int(number) <= len(keep)):
        keep[int(number) - 1] = True
    try:
        value = float(wanted)
    except ValueError:
        value = np.nan
    for column in data.table.columns:
        if column.dtype == object:
            keep |= np.array([v is not None and wanted in str(v)[:10_000].lower() for v in column], dtype=bool)
        elif value == value and wanted != number:
            keep |= column == value
    return keep


VERB = Verb(search, {"text": (text(200), NEEDED), "most": (integer(1, 100), 20)})
