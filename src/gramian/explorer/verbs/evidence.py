"""evidence: what was tried, how it scored on held-out data, and why this one: of q and of the number of clusters."""

from __future__ import annotations

from typing import Any

from gramian.explorer.packing import plain
from gramian.explorer.session import Session
from gramian.explorer.verbs._input import Verb


def evidence(session: Session) -> dict[str, Any]:
    """One entry per thing that was chosen."""
    data, fitted = session.need()
    found: dict[str, Any] = {
        "q": fitted.q,
        "most_q": int(min(len(data.X) - 1, data.X.shape[1], 60)) or 1,
        "clusters": None if fitted.clusters is None else len(fitted.clusters.model.weights_),
        "components": selection_table(fitted.selection, "n_components"),
        "mixtures": None if fitted.clusters is None else selection_table(fitted.clusters.selection, "n_clusters"),
        "explained": [plain(v) for v in getattr(fitted.linear, "explained_variance_ratio_", [])],
    }
    return found


def selection_table(selection: Any, name: str) -> dict[str, Any] | None:
    """Candidates with their scores, and the reason."""
    if selection is None:
        return None
    counts: list[Any] = [c.get(name) if isinstance(c, dict) else c for c in selection.candidates]
    if any(count is None for count in counts):
        return None
    best: dict[int, tuple[float, float]] = {}
    for count, score, error in zip(counts, selection.scores, selection.errors):
        if int(count) not in best or score > best[int(count)][0]:
            best[int(count)] = (float(score), float(error))
    chosen: Any = selection.chosen.get(name) if isinstance(selection.chosen, dict) else selection.chosen
    return {
        "candidates": sorted(best),
        "scores": [plain(best[count][0]) for count in sorted(best)],
        "errors": [plain(best[count][1]) for count in sorted(best)],
        "chosen": int(chosen),
        "reason": str(selection.reason),
    }


VERB = Verb(evidence, {})
