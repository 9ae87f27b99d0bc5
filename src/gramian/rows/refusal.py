"""Models that cannot be fitted to rows on Dask say what can."""

from __future__ import annotations

from typing import Any

from gramian.rows.dask_rows import is_dask

WHAT_WORKS = (
    "PPCA, PPCAMixture, LatentImputer, MultiViewRKM, RKMRegressor and RKMClassifier with linear views or feature maps, and KernelPPCA with "
    "approximation='nystroem' are fitted to Dask rows where they are. Use one of them"
)
"""For models that are fitted to tables in memory only."""


def refuse_dask(estimator: Any, *given: Any, advice: str = WHAT_WORKS) -> None:
    """Raise TypeError if anything that was given is a Dask collection: rows are never gathered silently."""
    if any(is_dask(part) for part in _parts(given)):
        raise TypeError(
            f"{type(estimator).__name__} cannot be fitted to a lazy Dask collection as it is. {advice}, or call .compute() on rows that "
            "fit into memory."
        )


def _parts(given: tuple[Any, ...]) -> list[Any]:
    """What was given, and the views in lists and dicts."""
    parts: list[Any] = []
    for part in given:
        parts.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list | tuple) else [part])
    return parts
