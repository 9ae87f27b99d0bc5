"""Views as `MultiViewRKM` reads them, ready for nets."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.views.tables import ViewLayout, ViewRows


def clean_views(rows: ViewRows, names: list[Any]) -> list[Array]:
    """Arrays without NaN: 0 where a row does not show a view. A view in part is refused: nets see it whole or not at all."""
    for v, name in enumerate(names):
        rows.check_whole(v, name)
    return [
        view if rows.seen[:, v].all() else np.where(rows.seen[:, v : v + 1], view, 0).astype(view.dtype, copy=False)
        for v, view in enumerate(rows.views)
    ]


def split_views(layout: ViewLayout, filled: Any) -> list[Array]:
    """What `ViewLayout.contain` made, as a list of views again."""
    if isinstance(filled, Mapping):
        return [filled[name] for name in layout.names]
    if layout.columns is None:
        return list(filled)
    order = np.argsort(np.argsort(np.concatenate(layout.columns)))
    return [filled[:, order[a:b]] for a, b in pairwise(np.cumsum([0, *layout.widths]))]


def per_view(names: list[Any], parameter: str, value: Any) -> list[Any]:
    """One of a parameter per view: a dict or a list of them, or one for all."""
    if isinstance(value, Mapping):
        if set(value) != set(names):
            raise ValueError(
                f"{parameter} is a dict for the views {list(value)!r}, but the data have {names!r}. Give one per view."
            )
        return [value[name] for name in names]
    if isinstance(value, list):
        if len(value) != len(names):
            raise ValueError(f"{parameter} lists {len(value)}, but there are {len(names)} views. Give one per view.")
        return value
    return [value] * len(names)
