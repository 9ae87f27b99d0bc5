"""Categories of many values that help nobody stand aside: hidden cells of the others say so, with and without them [10]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gramian._arrays import Array
from gramian._content import row_hashes, smallest_positions
from gramian.evidence import choose
from gramian.evidence.cells import hidden_cells
from gramian.evidence.selection import clear_errors
from gramian.policy import LOOK
from gramian.tables.preprocessing import Preprocessing

MOST_CELLS = 40_000
"""Larger tables are judged on so many cells, of the rows of smallest hash."""


@dataclass(frozen=True)
class Filled:
    """Features without holes, their standard deviations, and what says the chances of categories by name (for every row), which is work of its own."""

    full: Array
    std: Array
    chances: Callable[[], dict[str, Array]] = dict


Filler = Callable[[list[Array], Array], list[Filled | None]]
"""Draws of the same features with NaN in their holes, and which of the features take part (d,) -> these of each draw filled; None where they cannot be."""


@dataclass(frozen=True)
class HiddenTable:
    """The features of a table, which cells of its columns a draw hides, and the features without them."""

    X: Array
    hidden: Array  # (rows, columns)
    hidden_features: Array  # (rows, features): those of a category are missing together
    order: Array  # the rows by their hashes, an order that tells nothing

    @property
    def masked(self) -> Array:
        """The features without what is hidden."""
        return np.where(self.hidden_features, np.nan, self.X)

    def shuffled(self, features: Array) -> Array:
        """The same, where these features of each row are those of another."""
        masked = self.masked
        others = np.empty_like(self.order)
        others[self.order] = np.roll(self.order, 1)
        return np.where(features, masked[others], masked)


def hidden_tables(prepare: Preprocessing, X: Array) -> list[HiddenTable]:
    """Draws of hidden cells of a table, of the rows of smallest hash where it is large; none of a table of few rows.

    Which cells of the narrow columns are hidden does not change with categories of many values beside them.
    """
    owner, widths = prepare.owner, np.array(prepare.widths)
    narrow = widths[owner] == 1
    told = X[:, narrow] if narrow.any() else X
    most = MOST_CELLS // max(X.shape[1], 1)
    if len(X) > most:
        rows = np.sort(smallest_positions(row_hashes(told), max(most, LOOK.fewest)))
        X, told = X[rows], told[rows]
    if len(X) < LOOK.fewest or not prepare.names:
        return []
    order = np.argsort(widths > 1, kind="stable")
    place = np.argsort(order)
    first, hashes = np.searchsorted(owner, order), row_hashes(told)
    draws = (hidden_cells(X[:, first], draw, hashes)[:, place] for draw in range(LOOK.draws))
    by_hash = np.argsort(hashes, kind="stable")
    return [HiddenTable(X, hidden, hidden[:, owner] & ~np.isnan(X), by_hash) for hidden in draws if hidden.any()]


@dataclass(frozen=True)
class Aside:
    """The columns that take no part in the model of the others, the tables on which this was judged, and how each of these was filled."""

    columns: list[str] = field(default_factory=list)
    tables: list[HiddenTable] = field(default_factory=list)
    filled: list[Filled | None] = field(default_factory=list)


def is_wide(prepare: Preprocessing) -> bool:
    """Whether some category has more than two values."""
    return max(prepare.widths, default=0) > 1


def columns_aside(prepare: Preprocessing, X: Array, fill: Filler) -> Aside:
    """Ask of each category of more than two values, widest first, whether the other columns are filled better with it.

    Judged is the squared error of hidden cells of the others, in units of the columns, paired over rows. A category takes part where it clearly helps them, and clearly
    more than it does where each row has the value of another: what columns that tell nothing change in a model is no help of theirs.
    """
    tables = hidden_tables(prepare, X)
    if not tables:
        return Aside()
    wide = [int(j) for j in np.argsort(prepare.widths, kind="stable")[::-1] if prepare.widths[j] > 1]
    aside: list[int] = []
    here = whole = _fill(prepare, [table.masked for table in tables], aside, fill)
    for j in wide:
        if len(aside) + 1 == len(prepare.names):
            break
        without = _fill(prepare, [table.masked for table in tables], [*aside, j], fill)
        if any(part is None for part in (*here, *without)):
            break
        others, own = ~np.isin(prepare.owner, [*aside, j]), prepare.owner == j
        if not any(table.hidden_features[:, others].any() for table in tables):
            continue
        n_errors = clear_errors(len(wide))
        if _helps(tables, without, here, others, n_errors):
            shuffled = _fill(prepare, [table.shuffled(own) for table in tables], aside, fill)
            if any(part is None for part in shuffled) or _helps(tables, shuffled, here, others, n_errors):
                continue
        aside.append(j)
        here = without
    own = np.isin(prepare.owner, aside)
    filled = [_join(*parts, own) for parts in zip(here, whole)] if aside else here
    return Aside([prepare.names[j] for j in aside], tables, filled)


def _join(others: Filled | None, whole: Filled | None, aside: Array) -> Filled | None:
    """How columns are filled in the end: those aside by the model of all of them."""
    if others is None or whole is None:
        return others
    full, std = np.where(aside, whole.full, others.full), np.where(aside, whole.std, others.std)
    return Filled(full, std, lambda: whole.chances() | others.chances())


def _helps(
    tables: Sequence[HiddenTable],
    plain: Sequence[Filled | None],
    rich: Sequence[Filled | None],
    features: Array,
    n_errors: float,
) -> bool:
    """Whether hidden cells of these features are filled clearly better by the second."""
    sizes = np.sum([table.hidden_features[:, features].sum(axis=1) for table in tables], axis=0)
    seen = sizes > 0
    losses = [_losses(tables, found, features)[seen] for found in (plain, rich)]
    scores = -np.column_stack(losses) / sizes[seen, None]
    asked = choose((False, True), scores, sizes[seen], what="category", score="error", n_errors=n_errors)
    return bool(asked.chosen)


def _losses(tables: Sequence[HiddenTable], found: Sequence[Filled | None], features: Array) -> Array:
    """The squared error of the hidden cells of each row, over all draws; that of a cell is the sum over its features."""
    parts = [
        np.where(table.hidden_features & features, table.X - part.full, 0.0) ** 2
        for table, part in zip(tables, found)
        if part is not None
    ]
    return np.asarray(np.sum(parts, axis=(0, 2)))


def _fill(prepare: Preprocessing, masked: Sequence[Array], aside: Sequence[int], fill: Filler) -> list[Filled | None]:
    """Draws filled by models of the columns that are not aside; those are filled with their means."""
    kept = ~np.isin(prepare.owner, aside)
    found: list[Filled | None] = []
    for X, told in zip(masked, fill(list(masked), kept)):
        holes = np.isnan(X)
        full, std = np.where(holes, np.nanmean(X, axis=0), X), np.where(holes, np.nanstd(X, axis=0), 0.0)
        if told is not None:
            full[:, kept], std[:, kept] = told.full, told.std
        found.append(None if told is None else Filled(full, std, told.chances))
    return found
