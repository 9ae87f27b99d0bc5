"""Cells filled by a kernel model: from the scores of a row to its inputs, held to what hidden cells say [18]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from gramian._arrays import Array, symmetrized
from gramian._content import SmallestRows
from gramian._threads import single_blas_thread
from gramian.evidence.cell_scales import column_scales
from gramian.evidence.cells import hidden_cells
from gramian.kernels import RBF

CHOOSING_ROWS, MOST_CENTERS = 500, 1000
"""Rows that the width and the penalty are chosen on, and that the map is made of."""
N_DRAWS = 2
"""Draws of hidden cells; each needs a fit of its own."""
WIDTHS = (2.0, 1.0, 0.5, 0.25)  # of the median distance between scores, the smoothest first
PENALTIES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
SWEEPS = 5
"""Rounds in which the cells that a training row misses are replaced by what the map says of them."""


@dataclass(frozen=True)
class Filling:
    """x = share (c₀ + Σⱼ r(t, tⱼ) cⱼ) + (1 - share) E[x | seen], r an RBF kernel of the scores t, the expectation that of the input law.

    ``scales`` multiply the standard deviations of the law; ``error`` is the mean squared error of hidden cells over that of the law.
    """

    centers: Array  # scores (m, q)
    length_scale: float
    constant: Array  # (d,)
    coefficients: Array  # (m, d)
    share: float
    scales: Array  # (d,)
    error: float

    def __call__(self, scores: Array, means: Array) -> Array:
        """Inputs of rows by their scores and by their means under the law."""
        found = self.constant + RBF(self.length_scale)(_rows(scores), _rows(self.centers)) @ self.coefficients
        return self.share * found + (1.0 - self.share) * means


def fit_filling(model: Any, table: Array, weights: Array, law: Any) -> Filling:
    """The map of a fitted kernel model. ``table`` are training rows, with NaN where cells miss; ``law`` is that of the inputs.

    Width, penalty and share are those that fill hidden cells best, in units of the columns.
    """
    drawn = SmallestRows.of(table, weights, MOST_CENTERS)
    table, weights = drawn.rows, drawn.weights
    few, units = slice(0, CHOOSING_ROWS), law.units.scale
    hashes = drawn.hashes[few]
    trials = []
    for draw in range(N_DRAWS):
        hidden = hidden_cells(table[few], draw, hashes)
        if hidden.any():
            trials.append(_Trial.of(model, table[few], weights[few], hidden, law))
    width, penalty, share, scales, error = 1.0, 1.0, 0.0, np.ones(table.shape[1]), 1.0
    if trials:
        losses = np.mean([trial.losses(units) for trial in trials], axis=0)
        place = np.unravel_index(int(losses.argmin()), losses.shape)
        width, penalty = WIDTHS[place[0]], PENALTIES[place[1]]
        found = [trial.predictions(*place) for trial in trials]
        share, scales, error = _settled(trials, found, units)
    means, _ = law(table)
    scores = model._map_scores(model._project(table))
    smoother = _Smoother.of(scores, width, weights)
    targets = smoother.filled(penalty, means, np.isnan(table))
    constant, coefficients = smoother.solution(penalty, targets)
    return Filling(scores, smoother.length_scale, constant, coefficients, share, scales, error)


@dataclass(frozen=True)
class _Trial:
    """Rows without some of their cells, and a model of them."""

    values: Array  # of the hidden cells
    hidden: Array
    holes: Array
    means: Array
    deviations: Array  # of the law
    scores: Array
    weights: Array

    @classmethod
    def of(cls, model: Any, table: Array, weights: Array, hidden: Array, law: Any) -> _Trial:
        shown = np.where(hidden, np.nan, table)
        law = law.refitted(shown, weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part = model._refitted(shown, weights, law)
            scores = part._map_scores(part._project(shown))
        means, variances = law(shown)
        return cls(table[hidden], hidden, np.isnan(shown), means, np.sqrt(variances), scores, weights)

    def _filled(self, width: float, penalties: tuple[float, ...]) -> list[Array]:
        smoother = _Smoother.of(self.scores, width, self.weights)
        return [smoother.filled(penalty, self.means, self.holes)[self.hidden] for penalty in penalties]

    def losses(self, units: Array) -> Array:
        """Mean squared errors of the hidden cells in units of the columns, (widths, penalties)."""
        scale = np.broadcast_to(units, self.hidden.shape)[self.hidden]
        return np.array(
            [
                [float(np.square((found - self.values) / scale).mean()) for found in self._filled(width, PENALTIES)]
                for width in WIDTHS
            ]
        )

    def predictions(self, width: Any, penalty: Any) -> Array:
        """What the map says of the hidden cells."""
        return self._filled(WIDTHS[width], (PENALTIES[penalty],))[0]


def _settled(trials: list[_Trial], found: list[Array], units: Array) -> tuple[float, Array, float]:
    """How much of the map to take beside the law, the scales of the standard deviations, and the error over that of the law."""
    columns = np.concatenate([trial.hidden.nonzero()[1] for trial in trials])
    values = np.concatenate([trial.values for trial in trials])
    means = np.concatenate([trial.means[trial.hidden] for trial in trials])
    deviations = np.concatenate([trial.deviations[trial.hidden] for trial in trials])
    step, wanted = (np.concatenate(found) - means) / units[columns], (values - means) / units[columns]
    size = float(step @ step)
    share = float(np.clip(step @ wanted / size, 0.0, 1.0)) if size > 0 else 0.0
    left = wanted - share * step
    safe = np.maximum(deviations / units[columns], np.finfo(float).tiny)
    error = float(left @ left) / (float(wanted @ wanted) or 1.0)
    return share, column_scales(left / safe, columns, len(units)), error


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
            values, vectors = linalg.eigh(symmetrized(gram))
        return cls(width * median, np.maximum(values, 0.0), vectors, roots)

    def filled(self, penalty: float, table: Array, holes: Array) -> Array:
        """The table with its holes as the regression of its own rows says, after some sweeps."""
        table = table.copy()
        shrink = (self.values / (self.values + penalty))[:, None]
        for _ in range(SWEEPS):
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
