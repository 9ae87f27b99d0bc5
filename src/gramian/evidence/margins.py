"""Which law each column has, by the interval score of hidden cells in the units of the table, one standard error towards the line [10, 15]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from gramian._arrays import Array
from gramian._content import SmallestRows
from gramian.evidence.cell_scales import column_scales
from gramian.evidence.cells import CellDraw, HiddenDraw, hidden_draws
from gramian.evidence.selection import Evidence, choose_by
from gramian.latent.missing import MissingFit
from gramian.latent.units import Units
from gramian.policy import DEFAULTS, JURY, LOOK
from gramian.rows import as_rows
from gramian.tables.margins import IDENTITY, Margin, Margins, log_margin, score_margin

KINDS = ("identity", "log", "scores")
STEPS = 2
"""Cycles of EM in a trial."""


@dataclass(frozen=True)
class MarginTrial:
    """A table in its own units, and what is asked of its columns.

    ``kinds`` says which maps each column may have; ``low`` and ``high`` what it may hold; ``origin`` where 0 is. ``model`` is the one
    that was fitted without maps, in units of the columns, and ``noise_variance`` its noise where that is not estimated: every trial begins at it,
    so that what columns nearly determine of each other is not lost to a few steps of EM.
    """

    table: Array
    weights: Array
    kinds: Sequence[Sequence[str]]
    low: Array
    high: Array
    origin: Array
    model: MissingFit
    noise_variance: float | None = None
    center: bool = True
    n_draws: int = LOOK.folds

    @property
    def q(self) -> int:
        return int(self.model.loadings.shape[1])

    def chosen(self) -> Margins:
        """The map of each column: the line where nothing is better by more than a standard error. All are lines where the maps together are
        not better by more than two, or the squared error would grow."""
        d = self.table.shape[1]
        lines = Margins((IDENTITY,) * d, self.low, self.high)
        drawn = SmallestRows.of(self.table, self.weights, LOOK.rows)
        rows, weights = drawn.rows.astype(np.float64), drawn.weights
        if self.q == 0 or len(rows) < LOOK.fewest:
            return lines
        hidden = hidden_draws(rows, self.n_draws)
        if len(hidden) < 2:
            return lines
        judged = np.sum([draw.hidden.sum(axis=0) for draw in hidden], axis=0) >= LOOK.fewest
        maps = {
            (j, kind): self._margin(self.table[:, j], j, kind)
            for j, allowed in enumerate(self.kinds)
            for kind in ("identity", *allowed)
        }
        made = {kind for (_, kind), margin in maps.items() if margin is not IDENTITY}
        if not made or not judged.any():
            return lines
        tried = [("identity",) * d] + [
            tuple(kind if kind in allowed else "identity" for allowed in self.kinds)
            for kind in KINDS[1:]
            if kind in made
        ]
        found = [self._losses(rows, weights, hidden, kinds) for kinds in tried]
        best = ["identity"] * d
        for j in range(d):
            own = [k for k, kinds in enumerate(tried) if k == 0 or kinds[j] != "identity"]
            best[j] = best_kind(j, [tried[k][j] for k in own], [found[k] for k in own])
        if tuple(best) != tried[0] and tuple(best) not in tried:
            found.append(self._losses(rows, weights, hidden, tuple(best)))
            tried.append(tuple(best))
        if tuple(best) != tried[0]:
            together = found[tried.index(tuple(best))]
            worse = together.squared.sum() > found[0].squared.sum()
            if worse or not _clearly_better(together, found[0]):
                return lines
        return Margins(tuple(maps[key] for key in enumerate(best)), self.low, self.high)

    def _margin(self, column: Array, j: int, kind: str) -> Margin:
        made: Callable[[], Margin | None] = {
            "identity": lambda: IDENTITY,
            "log": lambda: log_margin(column, float(self.origin[j])),
            "scores": lambda: score_margin(column),
        }[kind]
        return made() or IDENTITY

    def _losses(self, rows: Array, weights: Array, hidden: Sequence[HiddenDraw], kinds: Sequence[str]) -> MarginLosses:
        """What intervals and means of the models with these maps lose on the hidden cells; maps are made without those cells."""
        parts = []
        for number, cells, shown in ((draw.number, draw.hidden, draw.table) for draw in hidden):
            margins = Margins(
                tuple(self._margin(shown[:, j], j, kind) for j, kind in enumerate(kinds)), self.low, self.high
            )
            mapped = margins.into(shown)
            units = Units.of(as_rows(mapped, weights))
            scaled = units.into(margins.into(rows))
            blocks = None if np.ndim(self.model.noise_variance) == 0 else np.arange(rows.shape[1])
            options = (self.noise_variance, self.center, blocks)
            draw = CellDraw.of(scaled, cells, units.into(mapped), weights, number, *options)
            if draw.problem.scale == 0:
                continue
            said = draw.beginning_at(self.model, STEPS)
            std = np.sqrt(said.variances)
            std *= column_scales((said.values - said.means) / std, said.columns, rows.shape[1])[said.columns]
            parts.append(self._judged(rows, cells, margins, units, said.means, std, number))
        names = ("columns", "draws", "score", "squared")
        return MarginLosses(
            *(np.concatenate([getattr(part, name) for part in parts]) if parts else np.empty(0) for name in names)
        )

    def _judged(
        self, rows: Array, cells: Array, margins: Margins, units: Units, mean: Array, std: Array, number: int
    ) -> MarginLosses:
        columns, reach = cells.nonzero()[1], float(ndtri((1 + DEFAULTS.cover) / 2))
        truth, score, squared = rows[cells], np.empty(len(mean)), np.empty(len(mean))
        for j in np.unique(columns):
            at = columns == j
            m, s, margin = mean[at] * units.scale[j] + units.mean[j], std[at] * units.scale[j], margins.columns[j]
            ends = (np.clip(margin.back(m + sign * reach * s), self.low[j], self.high[j]) for sign in (-1, 1))
            below, above = ends
            missed = np.maximum(below - truth[at], 0) + np.maximum(truth[at] - above, 0)
            unit = float(np.nanstd(rows[:, j])) or 1.0
            score[at] = (above - below + 2 / (1 - DEFAULTS.cover) * missed) / unit
            filled = np.clip(margin.moments(m, s, self.low[j], self.high[j])[0], self.low[j], self.high[j])
            with np.errstate(over="ignore"):  # a law that is so far off has lost
                squared[at] = np.square((filled - truth[at]) / unit)
        return MarginLosses(columns, np.full(len(mean), number), score, squared)


@dataclass(frozen=True)
class MarginLosses:
    """Interval score and squared error of hidden cells, in deviations of their columns."""

    columns: Array
    draws: Array
    score: Array
    squared: Array

    def of_column(self, j: int) -> MarginLosses:
        at = self.columns == j
        return MarginLosses(self.columns[at], self.draws[at], self.score[at], self.squared[at])


def best_kind(j: int, kinds: list[str], found: list[MarginLosses]) -> str:
    """The map of a column: the line where too few hidden cells speak for another, or none is better by more than a standard error."""
    mine = [each.of_column(j) for each in found]
    if len(mine[0].score) < LOOK.fewest or len(np.unique(mine[0].draws)) < 2:
        return "identity"
    kept = [k for k, each in enumerate(mine) if k == 0 or each.squared.sum() <= mine[0].squared.sum()]
    return str(choose_by(_evidence([kinds[k] for k in kept], [mine[k] for k in kept])).chosen)


def _evidence(kinds: list[str], found: list[MarginLosses]) -> Evidence:
    """Interval scores by draw."""
    draws, sizes = np.unique(found[0].draws, return_counts=True)
    losses = np.array([[each.score[each.draws == draw].mean() for draw in draws] for each in found])
    return Evidence(kinds, losses, sizes.astype(float), "margin", "interval score")


def _clearly_better(own: MarginLosses, lines: MarginLosses) -> bool:
    """Whether the interval score is better by more than two standard errors, over draws."""
    if len(own.score) != len(lines.score) or not len(own.score):
        return False
    return choose_by(_evidence(["lines", "own"], [lines, own]), JURY.clear).chosen == "own"
