"""clusters: how many rows each has, and what sets it apart."""

from __future__ import annotations

from typing import Any

from gramian.explorer.packing import plain
from gramian.explorer.session import Session
from gramian.explorer.verbs._input import Verb
from gramian.explorer.verbs.select import apart

TOLD = 4
SHOWN = 20


def clusters(session: Session) -> dict[str, Any]:
    """The largest first; ``working`` while they are looked for."""
    data, fitted = session.need()
    found = fitted.clusters
    if found is None:
        return {"working": session.jobs.has("clusters"), "clusters": []}
    count = min(len(found.model.weights_), SHOWN)
    members = [found.labels == k for k in range(count)]
    return {
        "working": session.jobs.has("clusters"),
        "count": len(found.model.weights_),
        "clusters": [
            {
                "cluster": k,
                "rows": int(inside.sum()),
                "share": plain(inside.mean()),
                "apart": apart(data, fitted, inside)[:TOLD],
            }
            for k, inside in enumerate(members)
        ],
    }


VERB = Verb(clusters, {})
