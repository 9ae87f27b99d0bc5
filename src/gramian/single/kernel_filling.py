"""Cells filled by a kernel model: from the scores of a row to its inputs, held to what hidden cells say [18]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import linalg, optimize

from gramian._arrays import Array, symmetric_part
from gramian._content import SmallestRows
from gramian._threads import single_blas_thread
from gramian.evidence.cell_scales import column_scales
from gramian.evidence.cells import by_parts, hidden_cells
from gramian.evidence.selection import choose
from gramian.kernels import RBF
from gramian.policy import FILLING, LOOK
from gramian.single.column_regressions import ColumnRegressions


@dataclass(frozen=True)
class HeldOutFill:
    """A draw of hidden cells, and what settings that other draws chose say of them: means and standard deviations before any scale."""

    hidden: Array
    means: Array
    deviations: Array


@dataclass(frozen=True)
class KernelFilling:
    """x = w₀ E[x | seen] + w₁ (c₀ + Σⱼ r(t, tⱼ) cⱼ) + w₂ (E[x | seen] + f(x)): the input law, a regression on the scores t, and what columns on the others add to the law.

    ``scales`` multiply the standard deviations of the law; ``held_out`` is what was said of hidden cells.
    """

    centers: Array  # scores (m, q)
    length_scale: float
    constant: Array  # (d,)
    coefficients: Array  # (m, d)
    columns: ColumnRegressions
    shares: Array  # w, sums to one
    scales: Array  # (d,)
    held_out: tuple[HeldOutFill, ...]

    def __call__(self, scores: Array, X: Array, law: Any) -> Array:
        """Rows with holes, by their scores and by the law."""
        means, _ = law(X)
        found = self.constant + RBF(self.length_scale)(_rows(scores), _rows(self.centers)) @ self.coefficients
        mixed = means + self.shares[1] * (found - means)
        if self.shares[2] > 0:
            mixed += self.shares[2] * law.units.scale * self.columns(law.in_units(X), np.isnan(X))
        return np.where(self.coefficients.any(axis=0), mixed, means)  # a column of one value has that one only


def fit_filling(model: Any, table: Array, weights: Array, law: Any) -> KernelFilling:
    """The filling of a fitted kernel model. ``table`` are training rows, with NaN where cells miss; ``law`` is that of the inputs.

    Widths, penalties and shares are those that fill hidden cells best, in units of the columns.
    """
    drawn = SmallestRows.of(table, weights, LOOK.rows)
    table, weights = drawn.rows, drawn.weights
    few = slice(0, LOOK.few)
    hashes = drawn.hashes[few]
    trials = []
    for draw in range(LOOK.draws):
        hidden = hidden_cells(table[few], draw, hashes)
        if hidden.any():
            trials.append(_Trial.of(model, table[few], weights[few], hidden, law))
    best, held_out = _settle(trials)
    means, _ = law(table)
    scores = model._map_scores(model._project(table))
    smoother = _Smoother.of(scores, best.width, weights)
    targets = smoother.filled(best.penalty, means, np.isnan(table))
    constant, coefficients = smoother.solution(best.penalty, targets)
    coefficients[:, np.ptp(means, axis=0) == 0] = 0.0  # but for rounding
    columns = ColumnRegressions.of(law, table, weights) if best.shares[2] > 0 else ColumnRegressions(())
    return KernelFilling(
        scores,
        smoother.length_scale,
        constant,
        coefficients,
        columns,
        best.shares,
        _scales(trials, held_out, table.shape[1]),
        held_out,
    )


def _settle(trials: list[_Trial]) -> tuple[_Settings, tuple[HeldOutFill, ...]]:
    """The settings, and what each draw was told by those of the others; the law alone, unless a mix is better by more than a standard error."""
    said = [_Settings.of(trials[:k] + trials[k + 1 :]).said(trial) for k, trial in enumerate(trials)]
    best = _Settings.of(trials)
    if len(trials) > 1:
        told = [
            by_parts(trial.squares(np.array([trial.law, mixed])), trial.hidden) for trial, mixed in zip(trials, said)
        ]
        losses, cells = (np.concatenate(part, axis=-1) for part in zip(*told))
        selection = choose(["law", "mix"], -losses.T, cells, what="filling", score="squared error of hidden cells")
        if selection.chosen == "law":
            best, said = replace(best, shares=_Settings().shares), [trial.law for trial in trials]
    return best, tuple(HeldOutFill(trial.hidden, found, trial.deviations) for trial, found in zip(trials, said))


@dataclass(frozen=True)
class _Trial:
    """Rows without some of their cells, and what a law, maps and regressions that have not seen them say of these."""

    hidden: Array
    values: Array  # of the hidden cells, as all that follows
    law: Array
    deviations: Array  # of the law
    maps: Array  # (widths, penalties, cells)
    columns: Array
    units: Array

    @classmethod
    def of(cls, model: Any, table: Array, weights: Array, hidden: Array, law: Any) -> _Trial:
        shown = np.where(hidden, np.nan, table)
        law = law.refitted(shown, weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part = model._refitted(shown, weights, law)
            scores = part._map_scores(part._project(shown))
        means, variances = law(shown)
        holes = np.isnan(shown)
        smoothers = [_Smoother.of(scores, width, weights) for width in FILLING.widths]
        maps = [[one.filled(p, means, holes)[hidden] for p in FILLING.penalties] for one in smoothers]
        scale = np.broadcast_to(law.units.scale, hidden.shape)[hidden]
        added = ColumnRegressions.of(law, shown, weights)(law.in_units(shown), hidden)[hidden]
        return cls(
            hidden,
            table[hidden],
            means[hidden],
            np.sqrt(variances[hidden]),
            np.array(maps),
            means[hidden] + scale * added,
            scale,
        )

    def losses(self, found: Array) -> Array:
        """Mean squared errors in units of the columns, one per setting."""
        return np.asarray(self.squares(found).mean(axis=-1))

    def squares(self, found: Array) -> Array:
        """Squared errors of all hidden cells, in units of the columns."""
        return np.asarray(np.square((found - self.values) / self.units))


@dataclass(frozen=True)
class _Settings:
    """The width and the penalty of the map, and the shares of law, map and regressions."""

    place: tuple[int, int] = (0, 0)
    shares: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))

    @classmethod
    def of(cls, trials: list[_Trial]) -> _Settings:
        """Those that say best what some draws hid."""
        if not trials:
            return cls()
        losses = np.mean([trial.losses(trial.maps) for trial in trials], axis=0)
        width, penalty = np.unravel_index(int(losses.argmin()), losses.shape)
        chosen = cls((int(width), int(penalty)))
        scale = np.concatenate([trial.units for trial in trials])
        said = np.concatenate([chosen.answers(trial) for trial in trials], axis=1) / scale
        values = np.concatenate([trial.values for trial in trials]) / scale
        return replace(chosen, shares=mixing_shares(said, values))

    def answers(self, trial: _Trial) -> Array:
        """Of law, map and regressions, (3, cells)."""
        return np.array([trial.law, trial.maps[self.place], trial.columns])

    def said(self, trial: _Trial) -> Array:
        """What the mix says."""
        return np.asarray(self.shares @ self.answers(trial))

    @property
    def width(self) -> float:
        return FILLING.widths[self.place[0]]

    @property
    def penalty(self) -> float:
        return FILLING.penalties[self.place[1]]


def mixing_shares(said: Array, values: Array) -> Array:
    """Shares, none negative and one in all, of the rows of ``said`` (models, cells) whose mix is nearest to the values.

    >>> import numpy as np
    >>> said = np.array([[1.0, 3.0, 5.0], [3.0, 5.0, 9.0], [50.0, 1.0, 7.0]])
    >>> mixing_shares(said, 0.75 * said[0] + 0.25 * said[1]).round(6)
    array([0.75, 0.25, 0.  ])
    """
    gaps = said - values
    sizes = np.abs(gaps).max()
    if not sizes > 0 or not np.isfinite(sizes):
        return np.eye(len(said))[0]
    # |Σ wᵢ gᵢ| with Σ w = 1: what remains of the sum as one more, heavy equation
    scaled = (gaps / sizes).T
    heavy = 1e4 * np.sqrt(len(values))
    found, _ = optimize.nnls(np.vstack([scaled, np.full(len(said), heavy)]), np.append(np.zeros(len(values)), heavy))
    return np.asarray(found / found.sum())


def _scales(trials: list[_Trial], held_out: tuple[HeldOutFill, ...], n_columns: int) -> Array:
    """By how much to multiply the deviations of the law, from cells that neither it nor the settings have seen."""
    if not trials:
        return np.ones(n_columns)
    least = np.finfo(float).tiny
    beyond = [
        (trial.values - found.means) / np.maximum(found.deviations, least) for trial, found in zip(trials, held_out)
    ]
    columns = [trial.hidden.nonzero()[1] for trial in trials]
    return column_scales(np.concatenate(beyond), np.concatenate(columns), n_columns)


@dataclass(frozen=True)
class _Smoother:
    """Ridge regression on an RBF kernel of scores, ready for any penalty: S^½RS^½ = U E Uᵀ with S the row weights, of mean 1."""

    length_scale: float
    values: Array
    vectors: Array
    roots: Array  # S^½

    @classmethod
    def of(cls, scores: Array, width: float, weights: Array) -> _Smoother:
        rows = _rows(scores)
        median = float(RBF("median").resolve(rows).length_scale) if np.ptp(rows, axis=0).any() else 1.0
        roots = np.sqrt(weights / weights.mean())
        gram = RBF(width * median)(rows) * np.outer(roots, roots)
        with single_blas_thread():
            values, vectors = linalg.eigh(symmetric_part(gram))
        return cls(width * median, np.maximum(values, 0.0), vectors, roots)

    def filled(self, penalty: float, table: Array, holes: Array) -> Array:
        """The table with its holes as the regression of its own rows says, after some sweeps."""
        table = table.copy()
        shrink = (self.values / (self.values + penalty))[:, None]
        # Rounds in which the cells that a training row misses are replaced by what the map says of them.
        for _ in range(5):
            mean = self._mean(table)
            inner = self.vectors.T @ (self.roots[:, None] * (table - mean))
            said = mean + (self.vectors @ (shrink * inner)) / self.roots[:, None]
            table = np.where(holes, said, table)
        return table

    def solution(self, penalty: float, table: Array) -> tuple[Array, Array]:
        """The constant (d,) and the coefficients (n, d)."""
        mean = self._mean(table)
        inner = self.vectors.T @ (self.roots[:, None] * (table - mean))
        return mean, self.roots[:, None] * (self.vectors @ (inner / (self.values + penalty)[:, None]))

    def _mean(self, table: Array) -> Array:
        share = np.square(self.roots)
        return np.asarray(share @ table / share.sum())


def _rows(scores: Array) -> Array:
    """Scores as rows of a kernel: a model without components has one constant score."""
    return scores if scores.shape[1] else np.zeros((len(scores), 1))
