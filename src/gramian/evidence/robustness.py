"""Whether the wild cells of a table are believed, decided on hidden cells by a loss that wild cells cannot own [10, 14].

The candidates are to believe everything, to take cells that the others of their row contradict as holes, and a bolder look. Each is fitted as a table is, not as the search for wild cells would have it: a wild cell that is
believed stretches the unit of its column and turns the axes. The loss is the absolute error of hidden cells in the units of the columns' own tails, as far as these are clear; not to believe must gain some of it, because heavy tails may be real.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import SmallestRows, row_hashes
from gramian.evidence.cells import CellDraw, hidden_cells
from gramian.evidence.selection import Selection, choose
from gramian.latent.cell_seer import CellSeer
from gramian.latent.units import Units
from gramian.latent.wild_cells import split_rows
from gramian.policy import LOOK, ROBUST

BOLD = "more cells"
"""What a bolder look finds, as a candidate."""


def check_robust(robust: Any) -> Any:
    """``robust`` if it is False, "rows", "cells" or "auto"."""
    if robust is False or (isinstance(robust, str) and robust in ("rows", "cells", "auto")):
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
    wild = seer.flags(X, weights)
    if not wild.any():
        return None, seer
    bold = CellSeer.of(X, weights, able, bold=True)
    rows = bold.tails.into(X)  # tails are heavy where that is clear: one wild cell makes none
    hashes = row_hashes(rows)  # in units of the columns: another unit hides the same cells
    hidden = [hidden_cells(X, number, hashes) for number in range(LOOK.draws)]
    if not all(cells.any() for cells in hidden):
        return None, seer
    counts = [np.broadcast_to(weights[:, None], cells.shape)[cells] for cells in hidden]

    def errors(holes: Array) -> list[Array]:
        return [_errors(rows, cells, holes, weights, len(seer.loadings.T)) for cells in hidden]

    without = errors(wild)
    selection = choose_by_hidden_cells((False, "cells"), [errors(np.zeros(X.shape, dtype=bool)), without], counts)
    if selection.chosen is False:
        return selection, seer
    further = choose_by_hidden_cells(("cells", BOLD), [without, errors(bold.flags(X, weights))], counts)
    return selection, bold if further.chosen == BOLD else seer


def _errors(X: Array, cells: Array, holes: Array, weights: Array, n_components: int) -> Array:
    """What hidden ``cells`` are, less what a model of the others says of them that believes no ``holes``."""
    shown = np.where(cells | holes, np.nan, X)
    units = Units.of(shown, weights)
    draw = CellDraw.of(units.into(X), cells, units.into(shown), weights, 0)
    if draw.problem.scale == 0.0:  # columns of one value each
        return (X - units.mean)[cells]
    said = draw.at(n_components)
    assert said is not None
    return np.asarray((said.values - said.means) * units.scale[said.columns])


def choose_by_hidden_cells(candidates: Sequence[Any], errors: list[list[Array]], weights: list[Array]) -> Selection:
    """By the absolute error of hidden cells, which a few wild ones do not own: the first candidate, unless the best of the others gains enough over it.

    ``errors`` holds those of each candidate, draw by draw, ``weights`` those of the hidden cells of each draw.
    """
    scores = [[-np.average(np.abs(error), weights=weight) for error, weight in zip(each, weights)] for each in errors]
    sizes = np.array([weight.sum() for weight in weights])
    found = choose(list(candidates), np.array(scores).T, sizes, what="robust", score="absolute error of hidden cells")
    best = int(found.scores.argmax())
    gain = 1.0 - found.scores[best] / found.scores[0] if found.scores[0] < 0 else 0.0
    reason = f"robust={candidates[best]!r} gains {gain:.0%} of the absolute error of hidden cells"
    if gain < ROBUST.gain:
        reason += f", less than the {ROBUST.gain:.0%} that are asked" if best else ""
        best = 0
    return replace(found, chosen=candidates[best], reason=reason)
