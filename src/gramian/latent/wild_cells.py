"""Wild cells: cells that the other cells of their row and column contradict; they are taken as holes [14].

Given the others of its row, the seen cell j has, with r = x_o - μ_o and z, Cov from what the row shows,

    e_j = (r_j - w_jᵀE[z]) / h_j,   v_j = σ² / h_j,   h_j = 1 - w_jᵀ Cov[z] w_j / σ²,

its residual and the variance of that. The flags and the model maximise one penalised likelihood in turns: the log-likelihood of the
cells that are not flagged, less (c² + ln 2πv_j) / 2 for each that is, with v_j the variance of column j given the others in the first model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from gramian._arrays import Array
from gramian._precision import LEAST_NOISE
from gramian.latent.gaussian import signal_variance
from gramian.latent.masked_em import LOG_2PI, Parameters, row_posterior
from gramian.latent.masked_table import Chunk
from gramian.latent.missing import MissingFit, MissingProblem
from gramian.rows import as_rows

THRESHOLD = 4.0
"""c: a cell farther than so many deviations from what the others say of it may be wild. Normal cells are with a chance of 6e-5."""
FIRST_MARGIN = 1.0
"""The first flags are cells beyond c + 1 deviations of their column: columns may have heavy tails, and no cell was looked at beside others yet."""
COLUMN_SHARE, ROW_SHARE = 0.25, 0.5
"""At most such a share of a column's, and of a row's, cells is flagged: what most cells do is not wild."""
ROUNDS = 10
"""Of flags and models in turns; most tables need three."""
CLIMB_TOL, CLIMB_STEPS = 1e-2, 5
"""Of the model between flags: it is only looked at through deviations of four and more."""
FIRST_VALUES = 100
"""Columns mostly show a third value among so many."""
NORMAL_MAD = 1.482602218505602
"""The deviation of a normal law over its median absolute deviation."""


@dataclass(frozen=True)
class WildCells:
    """The flags (n, d), the rows that are wild as a whole (n,), the model of the other cells, and the penalised log-likelihood after each change; it never falls."""

    flags: Array
    rows: Array
    model: MissingFit
    levels: list[float]


def find_wild_cells(
    X: Array,
    n_components: int,
    *,
    weights: Array | None = None,
    noise_variance: float | None = None,
    center: bool = True,
    threshold: Any = THRESHOLD,
    first: Array | None = None,
    start: MissingFit | None = None,
    spread: Any = 1.0,
    rounds: int = ROUNDS,
) -> WildCells:
    """Which cells are wild, and the model of the others.

    Parameters
    ----------
    X : array (n, d), NaN in the holes
    n_components : int, q of the model
    weights : raw row weights, ones when None
    noise_variance : None for maximum likelihood, or a fixed number > 0
    center : estimate the mean, or fix it at 0
    threshold : c, or one per column (inf: none of its cells is wild)
    first : array (n, d) of bool, optional
        The flags to begin with; None: `first_flags`.
    start : MissingFit, optional
        A model of the other cells to begin with.
    spread : of each column, as `CellModel.spreads`
    rounds : at most so many, of flags and models in turns

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((100, 1)) @ np.ones((1, 4)) + 0.1 * rng.standard_normal((100, 4))
    >>> X[3, 1] = -X[3, 1] + 2.0
    >>> np.argwhere(find_wild_cells(X, 1).flags).tolist()
    [[3, 1]]
    """
    weights = np.ones(len(X)) if weights is None else weights
    flags = first_flags(X, weights, threshold) if first is None else first.copy()
    penalty: Array | None = None
    levels: list[float] = []
    for _ in range(rounds):
        table = as_rows(np.where(flags, np.nan, X), weights)
        problem = MissingProblem.of(table, noise_variance=noise_variance, center=center)
        if problem.scale == 0.0:
            return WildCells(flags, np.zeros(len(X), dtype=bool), problem.constant(n_components), levels)
        begin = problem.start(n_components) if start is None else problem.scaled(start)
        model = problem.result(problem.climb(begin, CLIMB_TOL, CLIMB_STEPS))
        seer = CellModel.of(model.mean, model.loadings, model.noise_variance, spread)
        if penalty is None:
            penalty = seer.penalty(threshold)
        if levels:
            levels.append(_level(seer, X, weights, flags, penalty))
        updated = updated_flags(seer, X, weights, flags, threshold, penalty)
        levels.append(_level(seer, X, weights, updated, penalty))
        start, same, flags = model, bool((updated == flags).all()), updated
        if same:
            break
    return WildCells(*split_rows(X, flags), model, levels)


# ---------------------------------------------------------------- one cell given the others


@dataclass(frozen=True)
class CellModel:
    """μ, W and the noise of each column, as one sees a cell by the others of its row."""

    parameters: Parameters
    spread: Any = 1.0  # s: the deviation of each column given the others, over what the model says

    @classmethod
    def of(cls, mean: Array, loadings: Array, noise_variance: Any, spread: Any = 1.0) -> CellModel:
        """With a little noise at least: one for all, or one per column."""
        noise = np.asarray(noise_variance, dtype=np.float64)
        least = LEAST_NOISE * (float(noise.mean()) + float(np.square(loadings).sum(axis=1).mean()))
        noise = np.maximum(noise, max(least, float(np.finfo(float).tiny)))
        blocks = None if noise.ndim == 0 else np.arange(len(mean))
        return cls(Parameters(mean[None], loadings[None], noise[None], blocks), spread)

    def updated(self, X: Array, weights: Array, flags: Array, threshold: Any) -> Array:
        """Flags as the model has them, its own variances in the penalty."""
        return updated_flags(self, X, weights, flags, threshold, self.penalty(threshold))

    def flags(self, X: Array, threshold: Any = THRESHOLD) -> Array:
        """The wild cells of new rows, each row by itself."""
        return self.updated(X, np.zeros(len(X)), np.zeros(X.shape, dtype=bool), threshold)

    def spreads(self, X: Array, weights: Array, flags: Array) -> Array:
        """The deviations that the columns show given the others, over what the model says: it has one noise, columns may have theirs.

        By the upper quartile of |e| / √v over the cells that are not flagged, over that of the normal law: a quarter may be wild.
        """
        seen = ~np.isnan(X) & ~flags
        residuals, variances = self.residuals(X, seen)
        sizes = np.where(seen, np.abs(residuals) / np.sqrt(variances), np.nan)
        level = 1.0 - COLUMN_SHARE  # so many cells of a column are not wild
        found = np.array([weighted_quantile(column, weights, level) for column in sizes.T])
        return np.asarray(found / ndtri(0.5 + 0.5 * level))

    def penalty(self, threshold: Any) -> Array:
        """What a flag costs, but ln 2π: c² s² + ln v of each column given all others."""
        return np.asarray(np.square(threshold * self.spread) + self.log_variances())

    def residuals(self, X: Array, seen: Array) -> tuple[Array, Array]:
        """e and v (n, d) of every cell given the others that are seen: of seen cells without themselves, of the others as predicted."""
        parameters = self.parameters
        mean, loadings = parameters.mean[0], parameters.loadings[0]
        noise = np.broadcast_to(parameters.column_noise[0], mean.shape)
        centred = X - mean
        posterior = row_posterior(Chunk.of(np.where(seen, centred, np.nan), parameters.blocks), _centre(parameters))
        residual = centred - posterior.mean[:, 0].T @ loadings.T
        signal = signal_variance(loadings, symmetric_matrices(posterior.covariance[:, 0].T, loadings.shape[1]))
        left = np.maximum(1.0 - signal / noise, np.finfo(float).eps)
        return np.where(seen, residual / left, residual), np.where(seen, noise / left, noise + signal)

    def log_densities(self, X: Array, seen: Array) -> Array:
        """log p of what is seen of each row."""
        centred = np.where(seen, X - self.parameters.mean[0], np.nan)
        return row_posterior(Chunk.of(centred, self.parameters.blocks), _centre(self.parameters)).log_density[0]

    def log_variances(self) -> Array:
        """ln v_j of each column given all others, (d,)."""
        mean = self.parameters.mean
        return np.log(self.residuals(mean, np.ones(mean.shape, dtype=bool))[1][0])


def _centre(parameters: Parameters) -> Parameters:
    return Parameters(np.zeros_like(parameters.mean), parameters.loadings, parameters.noise_variance, parameters.blocks)


def symmetric_matrices(packed: Array, q: int) -> Array:
    """(n, q, q) symmetric matrices from lower triangles (n, q (q + 1) / 2)."""
    lower, other = np.tril_indices(q)
    full = np.empty((len(packed), q, q))
    full[:, lower, other] = full[:, other, lower] = packed
    return full


def _level(seer: CellModel, X: Array, weights: Array, flags: Array, penalty: Array) -> float:
    """The penalised log-likelihood."""
    return float(weights @ _row_levels(seer, X, flags, penalty))


def _row_levels(seer: CellModel, X: Array, flags: Array, penalty: Array) -> Array:
    """That of each row."""
    seen = ~np.isnan(X) & ~flags
    price = np.where(np.isfinite(penalty), penalty + LOG_2PI, 0.0)
    return np.asarray(seer.log_densities(X, seen) - 0.5 * (flags @ price))


# ---------------------------------------------------------------- flags given the model


def updated_flags(seer: CellModel, X: Array, weights: Array, flags: Array, threshold: Any, penalty: Array) -> Array:
    """The flags as the model has them: cells are taken back, then flagged, in each row one at a time and the clearest first.

    One wild cell makes its neighbours look wild. A cell is better flagged if e² / v + ln v exceeds its ``penalty`` (d,); only one beyond its
    ``threshold`` is: in rows of many holes v is large, and the likelihood alone would be rid of what is hardly predicted. Rows without
    weight do not count towards the share of a column.
    """
    flags = flags.copy()
    shown = ~np.isnan(X)
    rows = np.flatnonzero(flags.any(axis=1))
    while rows.size:
        excess = _excess(seer, X[rows], shown[rows] & ~flags[rows], penalty)
        excess[~flags[rows]] = np.inf
        worst = excess.argmin(axis=1)
        back = excess[np.arange(len(rows)), worst] <= 0
        flags[rows[back], worst[back]] = False
        rows = rows[back]
        rows = rows[flags[rows].any(axis=1)]
    most_of_row = (ROW_SHARE * shown.sum(axis=1)).astype(int)
    most_of_column = COLUMN_SHARE * (weights @ shown)
    rows = np.flatnonzero(flags.sum(axis=1) < most_of_row)
    while rows.size:
        excess = _excess(seer, X[rows], shown[rows] & ~flags[rows], penalty, threshold)
        room = most_of_column - weights @ flags
        excess[~(shown[rows] & ~flags[rows] & (room >= 0))] = -np.inf
        worst = excess.argmax(axis=1)
        most = excess[np.arange(len(rows)), worst]
        wild = np.flatnonzero(most > 0)
        wild = wild[_within(worst[wild], most[wild], weights[rows[wild]], room)]
        flags[rows[wild], worst[wild]] = True
        rows = rows[wild]
        rows = rows[flags[rows].sum(axis=1) < most_of_row[rows]]
    return _with_wild_rows(seer, X, weights, flags, threshold, penalty)


def _with_wild_rows(seer: CellModel, X: Array, weights: Array, flags: Array, threshold: Any, penalty: Array) -> Array:
    """Rows half of which is flagged, and of which what is left is still wild, are flagged as a whole where that is likelier."""
    shown, can = ~np.isnan(X), np.isfinite(penalty)
    rows = np.flatnonzero((flags.sum(axis=1) >= (ROW_SHARE * shown.sum(axis=1)).astype(int)) & flags.any(axis=1))
    if rows.size:
        left = shown[rows] & ~flags[rows]
        rows = rows[(_excess(seer, X[rows], left, penalty, threshold) > 0).any(axis=1, where=left)]
    if not rows.size:
        return flags
    whole = flags[rows] | (shown[rows] & can)
    gains = _row_levels(seer, X[rows], whole, penalty) - _row_levels(seer, X[rows], flags[rows], penalty)
    room = COLUMN_SHARE * (weights @ shown) - weights @ flags
    flags = flags.copy()
    for k in np.argsort(-gains, kind="stable"):
        taken = weights[rows[k]] * (whole[k] & ~flags[rows[k]])
        if gains[k] > 0 and (taken <= np.maximum(room, 0.0)).all():
            flags[rows[k]], room = whole[k], room - taken
    return flags


def split_rows(X: Array, flags: Array) -> tuple[Array, Array]:
    """The flags of cells, and which rows are wild as a whole, more than half of them flagged: those have no flags, and count for nothing."""
    whole = flags.sum(axis=1) > ROW_SHARE * (~np.isnan(X)).sum(axis=1)
    return flags & ~whole[:, None], whole


def _excess(seer: CellModel, X: Array, seen: Array, penalty: Array, threshold: Any = 0.0) -> Array:
    """e² / v + ln v - penalty: above 0 where a cell is better flagged, at most e² / (v with the noise of the column) - c²; -inf in the holes."""
    residuals, variances = seer.residuals(X, seen)
    squares = residuals**2
    own = variances + (np.square(seer.spread) - 1.0) * seer.parameters.column_noise
    found = np.minimum(squares / variances + np.log(variances) - penalty, squares / own - np.square(threshold))
    return np.where(np.isnan(found), -np.inf, found)


def _within(columns: Array, excess: Array, weights: Array, room: Array) -> Array:
    """Positions of the entries that find room in their column, the largest first."""
    order = np.lexsort((-excess, columns))
    ordered, before = columns[order], np.cumsum(weights[order])
    before = before - before[np.searchsorted(ordered, ordered)] + weights[order][np.searchsorted(ordered, ordered)]
    return order[before <= room[ordered]]


# ---------------------------------------------------------------- the start


def first_flags(X: Array, weights: Array, threshold: Any = THRESHOLD) -> Array:
    """Cells beyond c + 1 deviations of their column, by its median and median absolute deviation; the farthest first where they are too many.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> X[7, 2] = -999.0
    >>> np.argwhere(first_flags(X, np.ones(50))).tolist()
    [[7, 2]]
    """
    middle, deviation = medians(X, weights)
    far = np.abs(X - middle) / np.where(deviation > 0, deviation, np.inf)
    far = np.where(far > threshold + FIRST_MARGIN, far, 0.0)
    shown = ~np.isnan(X)
    rank = (-far).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    far = np.where(rank < (ROW_SHARE * shown.sum(axis=1, keepdims=True)).astype(int), far, 0.0)
    rows, columns = np.nonzero(far)
    kept = _within(columns, far[rows, columns], weights[rows], COLUMN_SHARE * (weights @ shown))
    flags = np.zeros(X.shape, dtype=bool)
    flags[rows[kept], columns[kept]] = True
    return flags


def column_thresholds(X: Array, threshold: float) -> Array:
    """c of each column; none of a column of two values, such as yes and no, is wild.

    >>> import numpy as np
    >>> column_thresholds(np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 3.0], [np.nan, 4.0]]), 4.0)
    array([inf,  4.])
    """
    few = [len(np.unique(column[~np.isnan(column)][:FIRST_VALUES])) <= 2 for column in X.T]
    some = [two and len(np.unique(column[~np.isnan(column)])) <= 2 for two, column in zip(few, X.T)]
    return np.where(some, np.inf, threshold)


def medians(X: Array, weights: Array) -> tuple[Array, Array]:
    """The median of each column and 1.4826 times its median absolute deviation; of a column that mostly shows one value that of the others.

    >>> import numpy as np
    >>> medians(np.array([[1.0], [2.0], [3.0], [4.0], [100.0]]), np.ones(5))[0]
    array([3.])
    """
    middle = np.array([weighted_quantile(column, weights) for column in X.T])
    away = np.abs(X - middle)
    deviation = np.array([weighted_quantile(column, weights) for column in away.T])
    for j in np.flatnonzero(deviation == 0):
        deviation[j] = weighted_quantile(np.where(away[:, j] > 0, away[:, j], np.nan), weights)
    return middle, NORMAL_MAD * deviation


def weighted_quantile(values: Array, weights: Array, level: float = 0.5) -> float:
    """The weighted quantile of what is not NaN, halfway between two values where both are; 0 of nothing."""
    kept = ~np.isnan(values) & (weights > 0)
    if not kept.any():
        return 0.0
    order = np.argsort(values[kept], kind="stable")
    ordered, below = values[kept][order], np.cumsum(weights[kept][order])
    half = level * below[-1]
    low = int(np.searchsorted(below, half * (1 - 1e-12)))
    high = int(np.searchsorted(below, half * (1 + 1e-12), side="right"))
    return float((ordered[low] + ordered[min(high, len(ordered) - 1)]) / 2)
