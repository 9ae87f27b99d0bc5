"""What a page can ask for: one file per verb, one row each. JSON in, JSON out."""

from __future__ import annotations

from typing import Any

from gramian.explorer.session import Session
from gramian.explorer.verbs import (
    cancel,
    choose,
    clusters,
    columns,
    decode,
    edit,
    evidence,
    export,
    fill,
    map_points,
    odd,
    replace,
    row,
    rows,
    samples,
    search,
    select,
    series,
    state,
    tune,
    undo,
    views,
)
from gramian.explorer.verbs._input import InputError, Verb

__all__ = ["VERBS", "InputError", "call"]

VERBS: dict[str, Verb] = {
    "state": state.VERB,
    "map": map_points.VERB,
    "decode": decode.VERB,
    "row": row.VERB,
    "rows": rows.VERB,
    "fill": fill.VERB,
    "edit": edit.VERB,
    "replace": replace.VERB,
    "undo": undo.VERB,
    "select": select.VERB,
    "search": search.VERB,
    "odd": odd.VERB,
    "evidence": evidence.VERB,
    "choose": choose.VERB,
    "samples": samples.VERB,
    "views": views.VERB,
    "series": series.VERB,
    "clusters": clusters.VERB,
    "columns": columns.VERB,
    "tune": tune.VERB,
    "cancel": cancel.VERB,
    "export": export.VERB,
}


def call(session: Session, name: str, given: Any) -> dict[str, Any]:
    """Do what a page asks for.

    Examples
    --------
    >>> from gramian.explorer.session import Session
    >>> call(Session("nothing"), "state", {})["state"]
    'loading'
    """
    if name not in VERBS:
        raise KeyError(f"there is no verb {name[:60]!r}.")
    return VERBS[name](session, given)
