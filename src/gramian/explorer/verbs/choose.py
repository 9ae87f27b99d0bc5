"""choose: q, a kernel, a number of clusters, views; the models are fitted anew in the background, the latest wins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gramian.explorer import fitting
from gramian.explorer.session import Session
from gramian.explorer.verbs._input import InputError, Verb, choice, integer, list_of, number, text

KERNELS = ("linear", "rbf", "laplacian", "matern", "polynomial", "cosine", "sigmoid", "rational_quadratic")


def choose(
    session: Session,
    q: int | None,
    kernel: str | None,
    length_scale: float | None,
    clusters: int | None,
    views: list[list[str]] | None,
    again: str | None,
) -> dict[str, Any]:
    """``q`` 0 and ``clusters`` 0: whatever held-out data prefer. ``again``: fit once more, edited cells and all."""
    data, before = session.need()
    if views is not None:
        session.data = replace(data, views=_views(data, views))
        session.views = None
        session.remember("views", lambda: setattr(session, "data", data))
        session.changed(drawn=True)
        return {"working": False}
    asked: dict[str, Any] = {}
    if clusters is not None:
        asked["clusters"] = clusters or None
        most = len(data.X) // 3
        if clusters > most:
            raise InputError(f"clusters={clusters} is too many for {len(data.X)} rows: at most {most}.")
    if q is not None:
        most = min(len(data.X) - 1, data.X.shape[1]) if before.kind != "kernel" else len(data.X) - 1
        if q > most:
            raise InputError(f"q={q} is too many: at most {most}.")
        asked["q"] = q or None
    if kernel is not None:
        asked["kernel"] = None if kernel == "linear" else kernel
        asked["length_scale"] = length_scale
        if q is None:
            asked["q"] = None
    if again is not None:
        asked.setdefault("q", session.options.get("q"))
    if not asked:
        raise InputError("name what to choose: q, kernel, clusters, views, or again.")
    session.remember(" and ".join(word for word in asked if word != "length_scale"), session.keeper())
    fitting.again(session, **asked)
    return {"working": True}


def _views(data: Any, groups: list[list[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for group in groups:
        if len(group) < 2:
            raise InputError("a view is a name and one or more columns.")
        name, *members = group
        strange = [member for member in members if member not in data.prepare.names]
        if strange:
            raise InputError(f"there is no column {strange[0][:60]!r}.")
        found[name] = members
    taken = [member for members in found.values() for member in members]
    if len(found) < 2 or len(taken) != len(set(taken)):
        raise InputError("two or more views are needed, and a column is in one of them only.")
    return found


VERB = Verb(
    choose,
    {
        "q": (integer(0, 10_000), None),
        "kernel": (choice(*KERNELS), None),
        "length_scale": (number(1e-9, 1e9), None),
        "clusters": (integer(0, 100), None),
        "views": (list_of(list_of(text(), 10_000), 50), None),
        "again": (choice("whole"), None),
    },
)
