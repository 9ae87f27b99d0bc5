"""Views behind a kernel of which rows miss some cells: those are filled by the law of the view's own cells [18]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.kernels import is_precomputed
from gramian.single.input_law import InputLaw
from gramian.views.specs import is_linear
from gramian.views.tables import ViewRows


def view_laws(rows: ViewRows, weights: Array, specs: Sequence[Any]) -> list[InputLaw | None]:
    """For each view the law of its cells, where it has a kernel and some training row shows it in part; else None.

    A view's law knows no other view, so that what one view says of another stays what is measured.
    """
    laws: list[InputLaw | None] = []
    for v, spec in enumerate(specs):
        partly = rows.seen[:, v] & ~rows.whole(v) & (weights > 0)
        needed = bool(partly.any()) and not is_linear(spec) and not is_precomputed(spec)
        shown = rows.seen[:, v] & (weights > 0)
        laws.append(InputLaw.of(np.asarray(rows.views[v])[shown], weights[shown]) if needed else None)
    return laws


def filled_views(rows: ViewRows, law_of: Callable[[int], InputLaw | None]) -> ViewRows:
    """The rows with the cells that a view shows in part at their means; a view that a row does not show at all stays missing."""
    views = list(rows.views)
    for v, view in enumerate(views):
        partly = rows.seen[:, v] & ~rows.whole(v)
        law = law_of(v) if view is not None and partly.any() else None
        if law is not None:
            views[v] = view.copy()
            views[v][partly] = law(view[partly])[0]
    return rows if all(a is b for a, b in zip(views, rows.views)) else ViewRows.of(views)


def law_of_part(subspace: Any) -> InputLaw | None:
    """The law of a kernel view that was fitted to complete rows, from the rows or the landmarks that it keeps."""
    features = subspace.feature_map
    points = subspace.points if features is None else getattr(features, "landmarks_", None)
    return None if points is None else InputLaw.of(np.asarray(points, dtype=np.float64), np.ones(len(points)))
