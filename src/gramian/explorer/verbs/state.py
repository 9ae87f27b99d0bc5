"""state: what the page is about, which panels it has, what works in the background."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.explorer.packing import plain
from gramian.explorer.session import Session
from gramian.explorer.verbs._input import Verb


def state(session: Session) -> dict[str, Any]:
    """Everything around the panels."""
    data, fitted = session.data, session.fitted
    found: dict[str, Any] = {
        "state": session.state,
        "version": session.version,
        "revision": session.revision,
        "title": session.title,
        "panels": session.panels,
        "jobs": session.jobs.facts(),
        "error": session.error,
        "note": session.note,
        "undo": session.last_done,
    }
    if data is not None:
        found |= {
            "rows": len(data.X),
            "columns": list(data.table.names),
            "modelled": list(data.prepare.names),
            "features": int(data.X.shape[1]),
            "holes": int(np.isnan(data.X[:, data.first_feature]).sum()),
            "emptied": sorted({plain(code) for codes in data.emptied.values() for code in codes}),
            "label": data.label,
            "image": data.image,
            "views": {name: len(members) for name, members in data.views.items()},
            "series": data.series,
        }
    if fitted is not None:
        ratio = getattr(fitted.model, "explained_variance_ratio_", None)
        found["model"] = {
            "kind": fitted.kind,
            "name": type(fitted.model).__name__,
            "q": fitted.q,
            "words": fitted.words,
            "explained": [plain(share) for share in ratio[: fitted.q]] if ratio is not None else [],
            "kernel": kernel_words(fitted.model),
            "clusters": None if fitted.clusters is None else len(fitted.clusters.model.weights_),
            "ranges": [[plain(low), plain(high)] for low, high in zip(fitted.latents.min(0), fitted.latents.max(0))],
        }
    return found


def kernel_words(model: Any) -> str | None:
    """The kernel with its width, for people."""
    kernel = getattr(model, "kernel_", None)
    return None if kernel is None else " ".join(str(kernel).split())[:80]


VERB = Verb(state, {})
