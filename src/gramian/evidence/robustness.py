"""Whether the wild cells of a table are believed, decided on hidden cells by a loss that wild cells cannot own [10, 14].

The candidates are to believe everything, and to take cells that the others of their row contradict as holes; where that is taken, a bolder look is one more. The loss is the squared error of
hidden cells in the units of the columns' own tails, each no larger than a bound; not to believe must gain some of it, because heavy tails may be real.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import SmallestRows, row_hashes
from gramian._quantiles import weighted_quantile
from gramian.evidence.cells import CellDraw, HiddenPredictions, hidden_cells
from gramian.evidence.selection import Selection, choose
from gramian.latent.cell_seer import CellSeer
from gramian.latent.wild_cells import NORMAL_MAD, split_rows
from gramian.policy import LOOK, ROBUST

BOLD = "more cells"
"""What a bolder look finds, as a candidate."""
STEPS = 2
"""Cycles of EM in a trial, from the model of the believed cells."""


def check_robust(robust: Any) -> Any:
    """``robust`` if it is False, "rows", "cells" or "auto"."""
    if robust is False or robust in ("rows", "cells", "auto"):
        return robust
    raise ValueError(f"robust={robust!r} must be False, 'rows', 'cells' or 'auto'.")


@dataclass(frozen=True)
class Robust:
    """What is believed of a table: ``kind`` False, "cells" or "rows", with the flags (n, d) and the weights (n,) of that.

    ``selection`` is there where there was a trial, ``seer`` where cells are not believed: it knows those of other rows.
    """

    kind: Any
    flags: Array
    row_weights: Array
    degrees_of_freedom: float | None = None
    selection: Selection | None = None
    seer: CellSeer | None = None

    @classmethod
    def everything(cls, X: Array, selection: Selection | None = None) -> Robust:
        return cls(False, np.zeros(X.shape, dtype=bool), np.ones(len(X)), selection=selection)

    def all_flags(self, X: Array) -> Array:
        """The cells that are not believed, those of rows that count for nothing too."""
        return self.flags | ((self.row_weights == 0)[:, None] & ~np.isnan(X))


def believe_cells(X: Array, weights: Array, kind: str, able: Array | None = None) -> Robust:
    """What is believed of a table with NaN in the holes: ``kind`` "cells" takes wild cells as holes, "auto" where hidden cells say so.

    ``able`` (d,) says which columns can hold wild cells. Wild cells are looked for on the rows of smallest hash, and found in all.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((100, 1)) @ np.ones((1, 4))
    >>> X += 0.3 * np.random.default_rng(1).standard_normal((100, 4))
    >>> believe_cells(X, np.ones(100), "auto").kind
    False
    >>> X[3, 1] += 30.0
    >>> found = believe_cells(X, np.ones(100), "auto")
    >>> found.kind, np.argwhere(found.flags).tolist()
    ('cells', [[3, 1]])
    """
    seer, selection = find_seer(SmallestRows.of(X, weights, LOOK.rows), kind, able)
    if seer is None:
        return Robust.everything(X, selection)
    flags, whole = split_rows(X, seer.flags(X, weights))
    return Robust("cells", flags, np.where(whole, 0.0, 1.0), selection=selection, seer=seer)


def find_seer(drawn: SmallestRows, kind: str, able: Array | None = None) -> tuple[CellSeer | None, Selection | None]:
    """What tells wild cells, from the rows of smallest hash, None where all are believed; and what hidden cells said, where they were asked."""
    seer = CellSeer.of(np.asarray(drawn.rows, dtype=np.float64), drawn.weights, able)
    if kind != "auto":
        return seer, None
    selection, seer = _selection(seer, drawn, able)
    return (None if selection is None or selection.chosen is False else seer), selection


def _selection(seer: CellSeer, drawn: SmallestRows, able: Array | None) -> tuple[Selection | None, CellSeer]:
    """What hidden cells say, and who sees wild cells then; None where no cell is wild, or none can be hidden."""
    X, weights = np.asarray(drawn.rows, dtype=np.float64), drawn.weights
    rows, wild = seer.tails.into(X), seer.flags(X, weights)
    hashes = row_hashes(rows)  # in units of the columns: another unit hides the same cells
    hidden = [hidden_cells(X, number, hashes) for number in range(LOOK.draws)]
    if not wild.any() or not all(cells.any() for cells in hidden):
        return None, seer

    def said_without(holes: Array) -> list[HiddenPredictions]:
        draws = (
            CellDraw.of(rows, cells, np.where(cells | holes, np.nan, rows), weights, number, ROBUST.noise)
            for number, cells in enumerate(hidden)
        )
        return [draw.beginning_at(seer.model, STEPS) for draw in draws]

    found = [said_without(np.zeros(X.shape, dtype=bool)), said_without(wild)]
    values, counts = [each.values for each in found[0]], [each.weights for each in found[0]]

    def judged(names: tuple[Any, ...], further: int) -> Selection:
        means = [[each.means for each in said] for said in found]
        return choose_by_hidden_cells(names, values, means, counts, further)

    selection = judged((False, "cells"), 0)
    if selection.chosen is False:
        return selection, seer
    bold = CellSeer.of(X, weights, able, bold=True)
    found.append(said_without(bold.flags(X, weights)))
    selection = judged((False, "cells", BOLD), 1)
    return selection, bold if selection.chosen == BOLD else seer


def choose_by_hidden_cells(
    candidates: Sequence[Any], values: list[Array], means: list[list[Array]], weights: list[Array], further: int = 0
) -> Selection:
    """By the bounded squared error of hidden cells; what is believed changes only where that gains enough.

    The last ``further`` candidates go on from there: they are asked where it does, and then the least error is enough. ``values`` and ``weights`` hold the hidden cells of each draw, ``means`` what each candidate says of them, draw by draw.
    """
    errors = [[value - mean for value, mean in zip(values, each)] for each in means]
    every = np.concatenate(weights)
    typical = min(weighted_quantile(np.abs(np.concatenate(each)), every, 0.5, halfway=True) for each in errors)
    bound = np.square(ROBUST.bound * NORMAL_MAD * typical)
    scores = [
        [-np.average(np.minimum(np.square(error), bound), weights=weight) for error, weight in zip(each, weights)]
        for each in errors
    ]
    sizes = np.array([weight.sum() for weight in weights])
    found = choose(
        list(candidates), np.array(scores).T, sizes, what="robust", score="bounded squared error of hidden cells"
    )
    first = len(candidates) - further
    chosen = best = int(found.scores[:first].argmax())
    gain = 1.0 - found.scores[best] / found.scores[0] if found.scores[0] < 0 else 0.0
    if gain < ROBUST.gain:
        chosen = 0
    elif found.scores[first:].max(initial=-np.inf) > found.scores[best]:
        chosen = best = first + int(found.scores[first:].argmax())
        gain = 1.0 - found.scores[best] / found.scores[0]
    reason = f"robust={candidates[best]!r} gains {gain:.0%} of the bounded squared error of hidden cells"
    if chosen != best:
        reason += f", less than the {ROBUST.gain:.0%} that are asked"
    return replace(found, chosen=candidates[chosen], reason=reason)
