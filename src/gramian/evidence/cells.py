"""Cells that are hidden from a table, and what models fitted to the others say of them [10].

In each draw about a tenth of the observed cells is hidden, the model of every candidate is fitted to the others, and the hidden cells are
scored: by their log predictive density where a law is asked for, by the squared error where the cells are to be filled. Which cells are
hidden follows from what rows hold [13].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import Folds, SmallestRows, cell_uniforms, row_hashes, smallest_distinct
from gramian._precision import ROUNDING
from gramian.latent.hole_em import covariance_of, filled_cells
from gramian.latent.masked_em import Parameters, predicted_cells, row_posterior
from gramian.latent.masked_start import add_component
from gramian.latent.masked_table import Chunk
from gramian.latent.missing import MissingFit, MissingProblem
from gramian.policy import LOOK
from gramian.rows import as_rows

LOOSE = 1e-2
"""Tolerance of the fits that are only compared."""
LOOSE_STEPS, NOISE_STEPS = 5, 1
"""So many cycles at most, for a q and for a noise: the model of the noise before is a near start."""
ALMOST_NONE, TIGHT, TIGHT_STEPS = 1e-4, 1e-6, 100
"""Where the noise falls below such a share of the variance before the end, the climb goes on to this tolerance."""
STANDS_OUT = 0.1
"""A component whose variance exceeds the noise by less than this share of it is none."""


def hidden_cells(X: Array, draw: int, hashes: Array | None = None, share: float = LOOK.hidden) -> Array:
    """Which observed cells a draw hides, (n, d): no column loses more than half of its cells or its last three, no row its last.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> hidden = hidden_cells(X, 0)
    >>> bool(0.05 < hidden.mean() < 0.15), bool((hidden_cells(X[::-1], 0) == hidden[::-1]).all())
    (True, True)
    """
    uniforms = cell_uniforms(row_hashes(X) if hashes is None else hashes, X.shape[1], draw)
    seen = ~np.isnan(X)
    hidden = seen & (uniforms < share)
    counts = seen.sum(axis=0)
    most = np.minimum(counts // 2, np.maximum(counts - 3, 0))
    for j in np.flatnonzero(hidden.sum(axis=0) > most):
        rows = np.flatnonzero(hidden[:, j])
        hidden[rows[np.argsort(uniforms[rows, j], kind="stable")[most[j] :]], j] = False
    for i in np.flatnonzero(hidden.any(axis=1) & ~(seen & ~hidden).any(axis=1)):
        hidden[i, np.argmax(np.where(hidden[i], uniforms[i], -1.0))] = False
    return hidden


@dataclass(frozen=True)
class HiddenDraw:
    """A table without the cells that one draw hides, and which these are."""

    number: int
    table: Array
    hidden: Array


def hidden_draws(X: Array, n_draws: int | Folds = LOOK.draws, hashes: Array | None = None) -> list[HiddenDraw]:
    """Draws that hide cells, no more than there are distinct rows; those that can hide none are left out. Of folds that were handed in, each draw hides cells of one.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> [int(np.isnan(draw.table).sum()) == int(draw.hidden.sum()) for draw in hidden_draws(X)]
    [True, True, True]
    """
    hashes = row_hashes(X) if hashes is None else hashes
    if isinstance(n_draws, Folds):
        fold, share = n_draws.assign(hashes), min(0.5, LOOK.hidden * n_draws.n_folds)
        draws = range(n_draws.n_folds)
        hides = [(k, hidden_cells(X, k, hashes, share) & (fold == k)[:, None]) for k in draws]
    else:
        hides = [(k, hidden_cells(X, k, hashes)) for k in range(len(smallest_distinct(hashes, n_draws)))]
    return [HiddenDraw(number, np.where(hidden, np.nan, X), hidden) for number, hidden in hides if hidden.any()]


def by_parts(losses: Array, hidden: Array, n_parts: int = LOOK.folds) -> tuple[Array, Array]:
    """Mean losses (..., parts) of the hidden cells of a draw (..., cells), and how many cells each part has: rows are dealt in turn, so that a draw says how far its parts differ.

    >>> import numpy as np
    >>> hidden = np.array([[True, False], [True, True], [False, True]])
    >>> by_parts(np.array([1.0, 2.0, 4.0, 5.0]), hidden, 2)
    (array([3., 3.]), array([2, 2]))
    """
    part = hidden.nonzero()[0] % n_parts
    counts = np.bincount(part, minlength=n_parts)
    some = counts > 0
    sums = np.stack([losses[..., part == k].sum(axis=-1) for k in np.flatnonzero(some)], axis=-1)
    return sums / counts[some], counts[some]


@dataclass(frozen=True)
class HiddenPredictions:
    """What the models fitted without some cells said of them: one entry per hidden cell, over all draws.

    ``values``, ``means`` and plug-in ``variances``; ``columns`` and ``draws`` say which cell it was, ``weights`` are those of its row,
    ``latents`` is |E z|².
    """

    values: Array
    means: Array
    variances: Array
    columns: Array
    draws: Array
    weights: Array
    latents: Array

    @property
    def log_densities(self) -> Array:
        return -0.5 * (np.log(2 * np.pi * self.variances) + self.squared_errors / self.variances)

    @property
    def squared_errors(self) -> Array:
        return np.asarray((self.values - self.means) ** 2)

    def score(self, by_error: bool) -> float:
        return float(np.average(-self.squared_errors if by_error else self.log_densities, weights=self.weights))

    def __add__(self, other: HiddenPredictions) -> HiddenPredictions:
        names = ("values", "means", "variances", "columns", "draws", "weights", "latents")
        return HiddenPredictions(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))


@dataclass
class CellDraw:
    """One draw: the rows without its hidden cells, and the model fitted last."""

    problem: MissingProblem
    chunk: Chunk
    values: Array  # of the hidden cells, in units of the problem
    where: tuple[Array, ...]
    weights: Array
    number: int
    parameters: Parameters | None = None
    model: MissingFit | None = None
    ended: bool = False

    @classmethod
    def of(
        cls,
        X: Array,
        hidden: Array,
        table: Array,
        weights: Array,
        number: int,
        noise_variance: Any = None,
        center: bool = True,
        blocks: Array | None = None,
        counted: Array | None = None,
    ) -> CellDraw:
        """The draw that hides ``hidden`` cells of X; models are fitted to ``table``, whose rows count by ``counted`` (their weights)."""
        rows = as_rows(table, weights if counted is None else counted)
        problem = MissingProblem.of(rows, noise_variance=noise_variance, center=center, blocks=blocks)
        where, unit = hidden.nonzero(), problem.scale or 1.0
        values = (X[where] - problem.shift[where[1]]) / unit
        return cls(problem, Chunk.of((table - problem.shift) / unit, blocks), values, where, weights, number)

    def beginning_at(self, model: MissingFit, steps: int) -> HiddenPredictions:
        """What the model of all cells but the hidden ones says of those, a few steps from one that is near."""
        problem, least = self.problem, self._least_noise
        if problem.noise_variance is not None:
            problem = replace(problem, noise_variance=max(problem.noise_variance, least))
        start = problem.scaled(replace(model, noise_variance=np.maximum(model.noise_variance, least)))
        found = problem.climb(start, LOOSE, steps)
        self.parameters, self.model = found.point, problem.result(found)
        return self._predicted(found.point)

    @property
    def _least_noise(self) -> float:
        """Noises are in units of the first draw: one that hides a wild cell has far smaller ones."""
        return ROUNDING * self.problem.scale**2

    def at(self, q: int) -> HiddenPredictions | None:
        """What the model of q components says of the hidden cells; None where no noise was left before."""
        if self.ended:
            return None
        found = self.problem.climb(self._start(q), LOOSE, LOOSE_STEPS)
        one_noise = self.problem.fixed is None and self.problem.blocks is None
        if one_noise and found.point.noise_variance[0] < ALMOST_NONE and not found.converged:
            found = self.problem.climb(found.point, TIGHT, TIGHT_STEPS)  # exact structure, or nearly: look closely
        self.parameters, self.model = found.point, self.problem.result(found)
        if self.problem.ends(found.point):
            self.ended = True
            self.parameters = replace(found.point, noise_variance=np.full(1, ROUNDING))
        return self._predicted(self.parameters)

    def at_noise(self, noise: float, q: int) -> HiddenPredictions:
        """What the model of this noise and of what stands out of it, at most q components, says of the hidden cells."""
        problem = replace(self.problem, noise_variance=max(noise, self._least_noise))
        before = self.parameters
        # by way of the latents an axis without loadings stays without: then the start is a fresh one
        kept = before is not None and before.n_components == q and problem.by_holes(problem.settled(before))
        found = problem.climb(before if before is not None and kept else self.problem.start(q), LOOSE, NOISE_STEPS)
        self.parameters, self.model = found.point, standing_out(problem.result(found))
        return self._predicted(found.point)

    def _start(self, q: int) -> Parameters:
        """The model before with further axes; beyond the first few the covariance over pairs of cells, where that is likelier (it mostly is)."""
        if self.parameters is None:
            return self.problem.start(q)
        before = self.parameters
        while before.n_components < q:
            before = add_component(before, self.problem.spread)
        if q < 8:  # one more axis than before
            return before
        fresh = self.problem.start(q)
        fresh_level, before_level = (
            self.problem.expectation(start).log_likelihood[0] for start in (fresh, self.problem.settled(before))
        )
        return fresh if fresh_level >= before_level else before

    def _predicted(self, parameters: Parameters) -> HiddenPredictions:
        rows, columns = self.where
        which, at = np.unique(rows, return_inverse=True)
        loadings, q, noise = parameters.loadings[0], parameters.n_components, parameters.column_noise[0]
        if self.problem.by_holes(parameters):
            residuals, spread = filled_cells(self.chunk[which], parameters.mean[0], covariance_of(parameters))
            latents = np.linalg.solve(loadings.T @ loadings + noise * np.eye(q), loadings.T @ residuals.T).T
            means, variances = residuals[at, columns] + parameters.mean[0, columns], spread[at, columns]
        else:
            posterior = row_posterior(self.chunk[which], parameters)
            latents = posterior.mean[:, 0].T
            means, variances = (part[0, at, columns] for part in predicted_cells(posterior, parameters))
        scale, shift = self.problem.scale, self.problem.shift[columns]
        return HiddenPredictions(
            shift + scale * self.values,
            shift + scale * means,
            scale**2 * variances,
            columns,
            np.full(len(rows), self.number),
            self.weights[rows],
            np.einsum("nq,nq->n", latents, latents)[at],
        )


def cell_draws(
    X: Array,
    weights: Array,
    n_draws: int | Folds,
    noise_variance: Any,
    center: bool,
    blocks: Array | None,
    n_rows: int = LOOK.rows,
) -> list[CellDraw]:
    """Draws of hidden cells of the rows of smallest hash."""
    drawn = SmallestRows.of(X, weights, n_rows)
    X, weights = drawn.rows.astype(np.float64), drawn.weights
    found = [
        CellDraw.of(X, draw.hidden, draw.table, weights, draw.number, noise_variance, center, blocks)
        for draw in hidden_draws(X, n_draws)
    ]
    return [draw for draw in found if draw.problem.scale > 0.0]


def standing_out(model: MissingFit) -> MissingFit:
    """The model without the components that do not stand out of its noise."""
    lengths = np.square(model.loadings).sum(axis=0)
    return replace(model, loadings=model.loadings[:, lengths > STANDS_OUT * model.noise_variance])
