"""series: the history of a column, a fan of what comes, and how a forecast of its hidden end compares."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer import fitting
from gramian.explorer.packing import plain
from gramian.explorer.session import Session, shown_cell
from gramian.explorer.verbs._input import InputError, Verb, integer, text


def series(session: Session, column: str, steps: int, shown: int = 400) -> dict[str, Any]:
    """The last values, as many as are ``shown``, and the next; ``working`` while the forecaster is being fitted."""
    data = session.need_data()
    if not data.series or data.clock is None:
        raise InputError("the table has no column that tells the time at even steps.")
    column = column or data.series[0]
    if column not in data.series:
        raise InputError(f"{column[:60]!r} is not a column of numbers that goes on in time.")
    known = session.series.get(column)
    if known is None:
        if not session.jobs.has(f"series {column}"):
            fitting.series(session, column)
        return {"working": True, "columns": data.series, "column": column}
    values = np.asarray(data.table[column], dtype=float)
    clock = data.table[data.clock.names[0]]
    hidden = known["hidden"]
    return {
        "working": False,
        "columns": data.series,
        "column": column,
        "times": [shown_cell(value) for value in clock[-shown:]],
        "history": [plain(value) for value in values[-shown:]],
        "ahead": [shown_cell(value) for value in data.clock.after(steps)] if not data.clock.parts else [],
        "fan": _fan(known["model"], steps),
        "hidden": hidden,
        "past": _fan(known["past"], hidden),
        "season": getattr(known["model"], "season_", None),
        "lags": int(np.max(known["model"].lags_)),
        "skill": {name: plain(value) for name, value in (getattr(known["model"], "skill_", None) or {}).items()},
    }


def _fan(model: Any, steps: int) -> dict[str, Any]:
    """The mean and the quantiles of every step."""
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    bands: Array = np.asarray(model.predict_quantiles(steps, levels)).reshape(len(levels), steps)
    mean = np.reshape(model.predict(steps), steps)
    return {"mean": [plain(v) for v in mean], "bands": [[plain(v) for v in line] for line in bands]}


VERB = Verb(series, {"column": (text(), ""), "steps": (integer(1, 500), 24)})
