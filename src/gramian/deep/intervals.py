"""Standard deviations of predicted views in input units, from rows that the maps have not seen [11].

Features have densities, inputs behind a decoder have not: what a prediction misses is measured on held-out rows, one number
per column, such that 1.645 of them cover 90 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian.evidence.limits import COVERING, covering_rank

Shown = tuple[int, ...]


@dataclass(frozen=True)
class HeldOutError:
    """What view ``view`` misses when the views ``shown`` are known."""

    shown: Annotated[Shown, "*: count"]
    view: Annotated[int, "count"]
    std: Annotated[Array, "+ d"]  # 1.645 of them cover 90 % of held-out rows
    noise: Annotated[Array, "+ d"]  # what is left of it beside the spread of the latents


def covering_std(errors: Array) -> Array:
    """Per column, the deviation of which 1.645 cover 90 % of the errors; few rows: their root mean square."""
    n = len(errors)
    rank = covering_rank(n)
    if rank > n:
        return np.sqrt((errors**2).mean(axis=0))
    return np.sort(np.abs(errors), axis=0)[rank - 1] / COVERING


def questions(n_views: int) -> list[tuple[Shown, int]]:
    """The sets of shown views that are measured for each view: all of up to three views; of more none, each alone, and all others."""
    asked = []
    for v in range(n_views):
        others = [w for w in range(n_views) if w != v]
        sizes = range(len(others) + 1) if n_views <= 3 else sorted({0, 1, len(others)})
        asked += [(shown, v) for size in sizes for shown in combinations(others, size)]
    return asked


def held_out_errors(
    views: list[Array],
    seen: Array,
    predict: Callable[[list[Array], int], Array],
    spread: Callable[[list[Array], int], Array],
) -> list[HeldOutError]:
    """The errors of every question on held-out rows.

    Parameters
    ----------
    views : list of arrays (n, d_v)
    seen : bool array (n, V)
    predict : function of (views with NaN where hidden, v)
        The predicted view v.
    spread : function of (views with NaN where hidden, v)
        Variances of view v by the latents alone, per column.
    """
    found = []
    for shown, v in questions(len(views)):
        rows = np.flatnonzero(seen[:, [*shown, v]].all(axis=1))
        if not len(rows):
            continue
        given = [
            view[rows] if w in shown else np.full((len(rows), view.shape[1]), np.nan) for w, view in enumerate(views)
        ]
        std = covering_std(np.asarray(views[v][rows], dtype=np.float64) - predict(given, v))
        found.append(HeldOutError(shown, v, std, np.sqrt(np.maximum(std**2 - spread(given, v), 0.0))))
    return found


def error_of(errors: Sequence[HeldOutError], shown: Shown, view: int) -> HeldOutError | None:
    """The measured question nearest to "view from shown": the largest measured subset of the views shown."""
    fitting = [error for error in errors if error.view == view and set(error.shown) <= set(shown)]
    return max(fitting, key=lambda error: (len(error.shown), -float(error.std.sum())), default=None)
