"""Cells that are known with an error, or only to lie in an interval: exact EM, and its best Gaussian approximation [5, 15].

The true cell is y = μ + wᵀz + ε with noise σ²; what was measured is x = y + e with a known deviation s per cell. Given z the cell
has the precision a = 1 / (σ² + s²), 0 in a hole, so that of a row

    M = I + Σ a w wᵀ,   b = Σ a (x - μ) w,   E[z | x] = M⁻¹b,   Cov[z | x] = M⁻¹,

which are the products of `masked_em` with a in the place of the mask. One step regresses each column on the latents with the weights a, and
moves the noise by σ² ← mean of σ⁴a²E(x - μ - wᵀz)² + σ²(1 - σ²a), the EM of y; neither lowers the likelihood.

A cell that is known to lie in an interval is a cell with an error too: that x and s for which y has the mean and the variance of
the normal law given the other cells, cut to the interval (expectation propagation; exact where a row has one such cell). An interval
without ends has a = 0: it is a hole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array, row_chunks
from gramian._precision import HALF_DIGITS
from gramian.latent.gaussian import Posterior, noisy_rows, signal_variance
from gramian.latent.interval import Interval
from gramian.latent.masked_em import (
    Parameters,
    RowPosterior,
    Statistics,
    expand,
    regress_columns,
    row_posterior,
    row_statistics,
)
from gramian.latent.masked_table import Chunk, ColumnSums
from gramian.latent.missing import MissingFit, canonical_loadings
from gramian.latent.small_sample import SmallSample
from gramian.latent.squarem import Squarem
from gramian.latent.wild_cells import symmetric_matrices


@dataclass(frozen=True)
class NoisyCells:
    """What is known of each cell: x with precision 1 / s² as ``precision`` (inf: exactly, 0: not at all) and ``product`` = x / s².

    Where the precision is infinite the product is x itself.
    """

    precision: Array
    product: Array

    @classmethod
    def of(cls, X: Array, X_std: Array | None) -> NoisyCells:
        """Values with NaN in the holes, and a deviation per cell (0: none known)."""
        seen = ~np.isnan(X)
        std = np.zeros_like(X) if X_std is None else np.where(seen, X_std, 0.0)
        with np.errstate(divide="ignore"):
            precision = np.where(seen, 1.0 / np.square(std), 0.0)
        exact = np.isinf(precision)
        values = np.where(seen, X, 0.0)
        return cls(precision, np.where(exact, values, values * np.where(exact, 1.0, precision)))

    def chunk(self, noise: Array) -> Chunk:
        """The products that `masked_em` needs, with a in the place of the mask; the noise is one per column."""
        exact = np.isinf(self.precision)
        tau = np.where(exact, 0.0, self.precision)
        weights = np.where(exact, 1.0 / noise, tau / (1.0 + tau * noise))
        values = np.where(exact, self.product / noise, self.product / (1.0 + tau * noise))
        safe = np.where(weights > 0, weights, 1.0)
        squares = (values**2 / safe).sum(axis=1)
        return Chunk(values, weights, squares, (weights > 0).sum(axis=1).astype(np.float64))

    def put(self, cells: Array, precision: Array, product: Array) -> NoisyCells:
        """With other knowledge of some cells."""
        return NoisyCells(np.where(cells, precision, self.precision), np.where(cells, product, self.product))

    def __getitem__(self, rows: slice) -> NoisyCells:
        return NoisyCells(self.precision[rows], self.product[rows])


@dataclass(frozen=True)
class Known:
    """What is known of the cells of a table beside their values: a deviation of the error of each (0: none), and intervals."""

    std: Array | None = None
    interval: Interval | None = None

    @classmethod
    def of(cls, std: Array | None, interval: Interval | None) -> Known | None:
        """None where there is nothing."""
        std = std if std is not None and std.any() else None
        interval = interval if interval is not None and interval.cells.any() else None
        return None if std is None and interval is None else cls(std, interval)

    def __getitem__(self, rows: Any) -> Known:
        std, interval = self.std, self.interval
        return Known(None if std is None else std[rows], None if interval is None else interval[rows])

    def moved(self, shift: Array, scale: Any) -> Known:
        """In other units: (x - shift) / scale."""
        std, interval = self.std, self.interval
        if interval is not None:
            interval = interval.mapped(lambda ends: (ends - shift) / scale)
        return Known(None if std is None else std / scale, interval)

    @property
    def ends(self) -> Array | None:
        """The finite end of each interval, NaN elsewhere: where a first model may take such a cell to be."""
        if self.interval is None:
            return None
        ends = np.where(np.isfinite(self.interval.high), self.interval.high, self.interval.low)
        return np.where(self.interval.cells, ends, np.nan)

    def put_ends(self, X: Array) -> Array:
        """The table with cells of intervals at their finite ends; as they are where there is none."""
        ends = self.ends
        return X if ends is None else np.where(np.isfinite(ends), ends, X)


@dataclass(frozen=True)
class NoisySums:
    """The sums of one E-step: those of the loadings, those of the noise, Σ a of each column, and the log-likelihood."""

    columns: Statistics
    noise: Statistics
    squares: Array  # Σ s a² x² of each column
    weights: Array  # Σ s a of each column
    counts: Array  # Σ s of each column
    log_likelihood: float


@dataclass(frozen=True)
class NoisyModel:
    """μ, W and the noise as they see rows of cells with errors."""

    parameters: Parameters

    @classmethod
    def of(cls, mean: Array, loadings: Array, noise_variance: Any) -> NoisyModel:
        """The noise is one number or one per column."""
        noise = np.asarray(noise_variance, dtype=np.float64)
        noise = np.maximum(noise, HALF_DIGITS * float(np.square(loadings).sum(axis=1).mean() + noise.mean()))
        blocks = np.arange(len(mean)) if noise.ndim else None
        return cls(Parameters(mean[None], loadings[None], noise[None], blocks))

    @property
    def noise(self) -> Array:
        """Of each column."""
        return np.broadcast_to(self.parameters.column_noise[0], self.parameters.mean[0].shape)

    @property
    def unit(self) -> Parameters:
        """With noise 1, as the noise is in the weights."""
        return Parameters(self.parameters.mean, self.parameters.loadings, np.ones(1))

    def seen(self, X: Array, known: Known) -> tuple[NoisyCells, Posterior]:
        """The cells of rows with NaN in the holes and what is known of them, and z of each row."""
        cells = NoisyCells.of(X, known.std)
        if known.interval is not None:
            cells = self.with_intervals(cells, known.interval)
        return cells, self.posterior(cells)

    def predictive(self, X: Array, known: Known, correction: SmallSample | None = None) -> tuple[Array, Array]:
        """Mean and variance of every true cell that is a hole, or lies in an interval, given what is known of its row."""
        cells, posterior = self.seen(X, known)
        mean, loadings = self.parameters.mean[0], self.parameters.loadings[0]
        signal = signal_variance(loadings, posterior.covariance)
        factor = 1.0 if correction is None else correction.cell_variance(np.ones(1), 0.0, posterior.mean)
        means, variances = posterior.mean @ loadings.T + mean, (signal + self.noise) * factor
        if known.interval is not None:
            at = known.interval.cells
            m, v = self.without_itself(cells, posterior)
            m, v = known.interval.everywhere.moments(m, v * factor)
            means, variances = np.where(at, m, means), np.where(at, v, variances)
        return means, variances

    def drawn(
        self, X: Array, known: Known, n_draws: int, correction: SmallSample | None, rng: np.random.Generator
    ) -> Array:
        """Draws (n_draws, n, d) of every true cell that is a hole, or lies in an interval: latents first, then cells."""
        posterior = self.seen(X, known)[1]
        mean, loadings = self.parameters.mean[0], self.parameters.loadings[0]
        centre = posterior.mean @ loadings.T + mean
        signal = posterior.sample(n_draws, rng) @ loadings.T + mean
        draws = noisy_rows(signal, self.noise, rng)
        if correction is not None:
            draws = centre + correction.stretched(draws - centre, posterior.mean, rng)
        if known.interval is not None:
            at = known.interval.cells
            cut = known.interval.everywhere.draws(signal, np.sqrt(self.noise), rng)
            draws = np.where(at, cut, draws)
        return draws

    def posterior(self, cells: NoisyCells) -> Posterior:
        """z | x of each row."""
        found = row_posterior(cells.chunk(self.noise), self.unit)
        q = self.parameters.n_components
        return Posterior(found.mean[:, 0].T, symmetric_matrices(found.covariance[:, 0].T, q))

    def without_itself(self, cells: NoisyCells, posterior: Posterior) -> tuple[Array, Array]:
        """Mean and variance of every true cell given what is known of the others of its row."""
        mean, loadings = self.parameters.mean[0], self.parameters.loadings[0]
        centred, signal = posterior.mean @ loadings.T, signal_variance(loadings, posterior.covariance)
        chunk = cells.chunk(self.noise)
        left = np.maximum(1.0 - chunk.mask * signal, np.finfo(float).eps)
        own = chunk.values - chunk.mask * mean  # a (x - μ)
        return mean + (centred - signal * own) / left, signal / left + self.noise

    def with_intervals(self, cells: NoisyCells, interval: Interval) -> NoisyCells:
        """Cells of intervals as cells with an error: those whose law given all others is that of the cut one."""
        at = interval.cells
        if not at.any():
            return cells
        cut = interval.everywhere
        # Of the cells of a row that are known to lie in intervals, at most, one after all others.
        for _ in range(8):
            mean, variance = self.without_itself(cells, self.posterior(cells))
            m, v = cut.moments(mean, variance)
            precision = np.maximum(1.0 / v - 1.0 / variance, 0.0)
            product = np.where(precision > 0, m / v - mean / variance, 0.0)
            before, cells = cells, cells.put(at, precision, product)
            moved = np.abs(cells.precision[at] - before.precision[at])
            if (at.sum(axis=1) <= 1).all() or (moved <= 1e-6 * cells.precision[at] + 1e-12).all():
                break
        return cells

    def sums(self, cells: NoisyCells, weights: Array) -> NoisySums:
        """The E-step."""
        noise, d = self.noise, len(self.noise)
        parts = [self._sums(cells[rows], weights[rows], noise) for rows in row_chunks(len(weights), _rows_together(d))]
        first = parts[0]
        for part in parts[1:]:
            first = NoisySums(
                first.columns + part.columns,
                first.noise + part.noise,
                first.squares + part.squares,
                first.weights + part.weights,
                first.counts + part.counts,
                first.log_likelihood + part.log_likelihood,
            )
        return first

    def _sums(self, cells: NoisyCells, weights: Array, noise: Array) -> NoisySums:
        chunk = cells.chunk(noise)
        posterior = row_posterior(chunk, self.unit)
        weights = weights * chunk.shown
        seen = chunk.mask > 0
        volumes = 0.5 * np.log(np.where(seen, chunk.mask, 1.0)).sum(axis=1)
        twice = replace(chunk, values=chunk.values * chunk.mask, mask=chunk.mask**2)
        return NoisySums(
            row_statistics(chunk, posterior, weights),
            row_statistics(twice, _lean(posterior), weights),
            weights @ np.square(chunk.values),
            weights @ chunk.mask,
            weights @ seen,
            float(weights @ (posterior.log_density[0] + volumes)),
        )

    def stepped(self, sums: NoisySums, center: bool, fixed: Any = None) -> NoisyModel:
        """The M-step; ``fixed`` is a noise that stays."""
        old = self.parameters
        loadings, mean = regress_columns(sums.columns, self.unit, center)
        noise = old.noise_variance
        if fixed is None:
            errors = _squared_errors(sums, loadings[0], mean[0])
            own = self.noise
            moved = own**2 * errors + own * (sums.counts - own * sums.weights)
            if old.blocks is None:
                noise = np.array([moved.sum() / sums.counts.sum()])
            else:
                noise = (moved / np.maximum(sums.counts, np.finfo(float).tiny))[None]
            noise = np.maximum(noise, HALF_DIGITS)
        return NoisyModel(expand(sums.columns, Parameters(mean, loadings, noise, old.blocks), center))


def fit_noisy(
    X: Array,
    known: Known,
    start: MissingFit,
    sums: ColumnSums,
    *,
    weights: Array,
    noise_variance: float | None = None,
    center: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> MissingFit:
    """Maximum likelihood of cells with known errors, and of cells known to lie in intervals.

    Parameters
    ----------
    X : array (n, d), NaN in the holes and in the cells of intervals
    known : Known
        The deviation of the error of each cell, and the intervals of those that are in one.
    start : MissingFit
        A model without the errors; its noise is one number or one per column.
    sums : ColumnSums, of X
    weights : raw row weights
    noise_variance : None for maximum likelihood, or a fixed number > 0
    center : estimate the mean, or fix it at 0
    tol, max_iter : as `fit_missing`

    Returns
    -------
    MissingFit

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.latent.masked_table import column_sums
    >>> from gramian.latent.missing import fit_missing
    >>> from gramian.rows import as_rows
    >>> rng = np.random.default_rng(0)
    >>> std = rng.uniform(0, 2, (400, 5))
    >>> X = rng.standard_normal((400, 1)) @ np.ones((1, 5)) + 0.5 * rng.standard_normal((400, 5)) + std * rng.standard_normal((400, 5))
    >>> sums = as_rows(X).fold(column_sums)
    >>> fit = fit_noisy(X, Known(std), fit_missing(X, 1), sums, weights=np.ones(400))
    >>> round(fit.noise_variance, 1), fit.converged
    (0.2, True)
    """
    shift, scale = sums.location_and_scale(center)
    scale = scale or 1.0
    known = known.moved(shift, scale)
    cells, cut = NoisyCells.of((X - shift) / scale, known.std), known.interval
    fixed = None if noise_variance is None else noise_variance / scale**2
    noise = np.maximum(np.asarray(start.noise_variance, dtype=np.float64) / scale**2, HALF_DIGITS)
    model = NoisyModel.of((start.mean - shift) / scale, start.loadings / scale, noise if fixed is None else fixed)
    total = float(weights.sum())
    tolerance = tol / 1000.0 * float(sums.counts.sum())
    levels: list[float] = []
    # Of intervals and models in turns, at most; most tables need ten.
    rounds, steps, converged = (1, max_iter, False) if cut is None else (60, 3, False)
    for _ in range(rounds):
        before = model
        if cut is not None:
            cells = model.with_intervals(cells, cut)
        found = _squarem(cells, weights, center, fixed).climb(
            model, tolerance=tolerance, max_iter=steps, scale=float(sums.counts.sum()), per_row=total
        )
        model, levels, converged = found.point, found.levels, found.converged
        # Relative change of mean, covariance and noise after which the turns end.
        if cut is not None and _largest_change(before, model) < 1e-5:
            converged = True
            break
    parameters = model.parameters
    noise = parameters.noise_variance[0] * scale**2
    loadings = scale * canonical_loadings(parameters.loadings[0])
    told = ((np.asarray(levels) - float(sums.counts.sum()) * np.log(scale)) / total).tolist()
    mean = shift + scale * parameters.mean[0]
    return MissingFit(mean, loadings, float(noise) if noise.ndim == 0 else noise, told, len(told), converged)


def _squarem(cells: NoisyCells, weights: Array, center: bool, fixed: Any) -> Squarem[NoisyModel, NoisySums]:
    def coordinates(point: NoisyModel) -> list[Array]:
        own = point.parameters
        return [own.loadings, own.mean, np.log(own.noise_variance)]

    def at(point: NoisyModel, parts: Any) -> NoisyModel:
        loadings, mean, noise = parts
        return NoisyModel(replace(point.parameters, loadings=loadings, mean=mean, noise_variance=np.exp(noise)))

    return Squarem(
        lambda point: point.sums(cells, weights),
        lambda sums: sums.log_likelihood,
        lambda sums, point: point.stepped(sums, center, fixed),
        coordinates,
        at,
    )


def _squared_errors(sums: NoisySums, loadings: Array, mean: Array) -> Array:
    """Σ s a² E(x - μ - wᵀz)² of each column."""
    q = loadings.shape[1]
    size = q * (q + 1) // 2
    second, first = sums.noise.second[:, 0], sums.noise.first[:, 0]
    lower, other = np.tril_indices(q)
    products = (loadings[:, lower] * loadings[:, other] * np.where(lower == other, 1.0, 2.0)).T
    latents = 2.0 * mean * np.einsum("qd,dq->d", second[size:-1], loadings)
    squares = np.einsum("pd,pd->d", second[:size], products) + latents + second[-1] * mean**2
    cross = np.einsum("qd,dq->d", first[:-1], loadings) + first[-1] * mean
    return np.maximum(sums.squares - 2.0 * cross + squares, 0.0)


def _lean(posterior: RowPosterior) -> RowPosterior:
    return replace(posterior, log_density=np.zeros_like(posterior.log_density))


def _largest_change(before: NoisyModel, after: NoisyModel) -> float:
    """The largest relative change of mean, covariance and noise."""
    found = 0.0
    for old, new in zip(_compared_parts(before), _compared_parts(after)):
        found = max(found, float(np.linalg.norm(new - old)) / max(float(np.linalg.norm(old)), 1.0))
    return found


def _compared_parts(model: NoisyModel) -> Iterator[Array]:
    parameters = model.parameters
    yield parameters.mean[0]
    yield parameters.loadings[0] @ parameters.loadings[0].T
    yield parameters.noise_variance


def _rows_together(d: int) -> int:
    return max(256, 2**20 // max(d, 1))
