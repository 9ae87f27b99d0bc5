"""clusters: how many rows each has, and what sets it apart."""

from __future__ import annotations

from typing import Any

from gramian.explorer.packing import plain
from gramian.explorer.session import Session
from gramian.explorer.verbs._input import Verb
from gramian.explorer.verbs.select import apart


def clusters(session: Session, most: int = 20, told: int = 4) -> dict[str, Any]:
    """The largest first, at ``most`` so many, each with the columns that set it apart; ``working`` while they are looked for."""
    data, fitted = session.need()
    found = fitted.clusters
    if found is None:
        return {"working": session.jobs.has("clusters"), "clusters": []}
    count = min(len(found.model.weights_), most)
    members = [found.labels == k for k in range(count)]
    return {
        "working": session.jobs.has("clusters"),
        "count": len(found.model.weights_),
        "clusters": [
            {
                "cluster": k,
                "rows": int(inside.sum()),
                "share": plain(inside.mean()),
                "apart": apart(data, fitted, inside, told),
            }
            for k, inside in enumerate(members)
        ],
    }


VERB = Verb(clusters, {})
