"""Complete rows of a mixture of PPCA, with an M-step in closed form or by PX-EM [5, 6]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gramian._arrays import Array, row_chunks, thread_map
from gramian.latent.dimension import for_fraction
from gramian.latent.masked_em import Parameters, Statistics
from gramian.latent.mixture_lens import Lens, at_the_mean
from gramian.latent.mixture_rows import EMPTY, Evaluation, MixtureRows, px_step, shares_of, summed
from gramian.latent.model import LatentModel
from gramian.latent.primal import latent_model
from gramian.latent.sample import primal_sample
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum

START_ROWS = 1000
"""The PX-EM of a component starts from so many of its rows."""
NEGLIGIBLE = 1e-30
"""Rows of a smaller responsibility leave a weighted covariance as it is."""
LENS_ROWS = 4096
"""Rows go through the lens so many at a time: their scores stay in the cache."""


@dataclass(frozen=True)
class CompleteRows(MixtureRows):
    """Rows without holes: scores and squared norms of all components come from one product."""

    @property
    def values(self) -> Array:
        assert self.table.values is not None
        return self.table.values

    @property
    def squares(self) -> Array:
        return self.table.squares

    def cells(self) -> float:
        return float(self.weights.sum()) * self.dim

    def models(self, parameters: Parameters) -> list[LatentModel]:
        return [
            latent_model(mean, loadings[:, :q], float(noise))
            for mean, loadings, noise, q in zip(
                parameters.mean, parameters.loadings, parameters.noise_variance, self.counts
            )
        ]

    def expectation(self, parameters: Parameters, mixing: Array, gather: bool = True) -> Evaluation:
        lens = Lens.of(self.models(parameters), mixing)
        responsibilities = np.empty((self.size, self.n_clusters))

        def one(rows: slice) -> tuple[float, Statistics | None]:
            whitened, terms = lens(self.values[rows], self.squares[rows])
            shares, totals = shares_of(terms)
            responsibilities[rows] = shares
            weights = self.weights[rows]
            sums = self._statistics(rows, lens, whitened, shares * weights[:, None]) if gather else None
            return float(weights @ totals), sums

        parts = thread_map(one, row_chunks(self.size, LENS_ROWS), self.n_threads)
        level = sum(part[0] for part in parts)
        return Evaluation(level, responsibilities, summed([part[1] for part in parts]))

    def _statistics(self, rows: slice, lens: Lens, whitened: Array, weights: Array) -> Statistics | None:
        return None

    def _spectrum(self, shares: Array, q: int) -> tuple[Array, Spectrum]:
        """Mean and leading eigenpairs of a component, from the rows that it has a share of."""
        rows = np.flatnonzero(shares > NEGLIGIBLE)
        if len(rows) == self.size:
            return _weighted_spectrum(self.values, self.weights * shares, q)
        return _weighted_spectrum(self.values[rows], self.weights[rows] * shares[rows], q)

    def _closed(self, responsibilities: Array, parameters: Parameters) -> Parameters:
        masses = self.weights @ responsibilities
        mean, loadings = parameters.mean.copy(), parameters.loadings.copy()
        noise = parameters.noise_variance.copy()
        active = np.flatnonzero(masses > EMPTY * self.weights.sum())
        spectra = {}
        for k in active:
            mean[k], spectra[k] = self._spectrum(responsibilities[:, k], self.counts[k])
        kept = [spectra[k].eigenvalues for k in active]
        tails = np.array([spectra[k].trace for k in active])
        if self.shared:
            noise[active] = noise[:] = shared_noise(kept, tails, masses[active], self.dim, self.floor)
        else:
            rest = np.array([max(self.dim - self.counts[k], 1) for k in active])
            gone = np.array([values.sum() for values in kept])
            noise[active] = np.maximum((tails - gone) / rest, self.floor)
        for k in active:
            values, vectors = spectra[k].eigenvalues, spectra[k].eigenvectors
            loadings[k] = 0.0
            loadings[k][:, : len(values)] = vectors * np.sqrt(np.maximum(values - noise[k], 0.0))
        return Parameters(mean, loadings, noise)

    def _nothing(self) -> Parameters:
        shape = (self.n_clusters, self.dim)
        return Parameters(np.zeros(shape), np.zeros((*shape, max(self.counts))), np.ones(self.n_clusters))

    def fraction_counts(self, responsibilities: Array, fraction: float, which: int) -> int:
        _, spectrum = self._spectrum(responsibilities[:, which], self.dim)
        q = for_fraction(spectrum.eigenvalues, spectrum.trace, fraction)
        return min(self.dim - 1, len(spectrum.eigenvalues) if q is None else q)


@dataclass(frozen=True)
class ClosedRows(CompleteRows):
    """The M-step of each component is the closed form of its weighted covariance [2, 6]."""

    def start(self, responsibilities: Array) -> Parameters:
        return self._closed(responsibilities, self._nothing())

    def gathers(self, responsibilities: Array) -> bool:
        return False

    def maximization(self, evaluation: Evaluation, parameters: Parameters) -> Parameters:
        return self._closed(evaluation.responsibilities, parameters)


@dataclass(frozen=True)
class ExpandedRows(CompleteRows):
    """The M-step is one of PX-EM: products with d x K (q + 1) tables, never d x d [5, 6].

    Where nearly every row belongs to one cluster, and d is not too large, the closed form costs no more: then it is taken.
    """

    def gathers(self, responsibilities: Array) -> bool:
        n, d, K, q = self.size, self.dim, self.n_clusters, max(self.counts)
        shared_rows = int((responsibilities > NEGLIGIBLE).sum())
        return shared_rows * d * d + 4 * K * d**3 > 8 * n * d * K * (q + 1)

    def start(self, responsibilities: Array) -> Parameters:
        if not self.gathers(responsibilities):
            return self._closed(responsibilities, self._nothing())
        parameters = self._nothing()
        mean, loadings, noise = parameters.mean, parameters.loadings, parameters.noise_variance
        for k, count in enumerate(self.counts):
            weights = self.weights * responsibilities[:, k]
            rows = np.flatnonzero(weights > 0.5 * weights.max())
            most = max(START_ROWS, 20 * (count + 1))
            rows = rows[:: max(1, len(rows) // most)]
            mean[k], spectrum = _weighted_spectrum(self.values[rows], weights[rows], count)
            values = spectrum.eigenvalues
            noise[k] = max((spectrum.trace - values.sum()) / (self.dim - count), self.floor)
            gains = np.sqrt(np.maximum(values - noise[k], 1e-3 * noise[k]))  # a loading of 0 would stay 0
            loadings[k][:, : len(values)] = spectrum.eigenvectors * gains
        return self.bounded(parameters, self.weights @ responsibilities)

    def maximization(self, evaluation: Evaluation, parameters: Parameters) -> Parameters:
        if evaluation.statistics is None:
            return self._closed(evaluation.responsibilities, parameters)
        return px_step(self, evaluation, parameters)

    def _statistics(self, rows: slice, lens: Lens, whitened: Array, weights: Array) -> Statistics:
        n, K, q = whitened.shape
        size = q * (q + 1) // 2
        lower, other = np.tril_indices(q)
        block = np.empty((n, K, q + 1))
        np.multiply(whitened, weights[:, :, None], out=block[:, :, :q])
        block[:, :, q] = weights
        flat = block.reshape(n, -1)
        gains = np.column_stack([lens.gains, np.ones(K)])  # latents are whitened scores times these
        first = (flat.T @ self.values[rows]).reshape(K, q + 1, self.dim) * gains[:, :, None]
        sums = (np.ones(n) @ flat).reshape(K, q + 1) * gains
        totals = np.empty((size + q + 1, K))
        totals[size:] = sums.T
        for k, model in enumerate(lens.models):
            count = self.counts[k]
            second = np.eye(q) * sums[k, q]
            second[:count, :count] *= model.gaussian.posterior(at_the_mean(model.gaussian)).covariance
            second += (block[:, k, :q].T @ whitened[:, k]) * np.outer(lens.gains[k], lens.gains[k])
            totals[:size, k] = second[lower, other]
        # all columns are seen by all rows: the sums a column are the totals
        square = weights.T @ self.squares[rows]
        return Statistics(totals[:, :, None], np.moveaxis(first, 1, 0), totals, square, np.zeros(K))


def _weighted_spectrum(values: Array, weights: Array, q: int) -> tuple[Array, Spectrum]:
    """The weighted mean, and the leading eigenpairs (eigenvectors d x q) of the weighted covariance about it.

    The mean is subtracted first: far from it the scatter would lose its digits.
    """
    weights = weights / weights.sum()
    mean = weights @ values
    sample = primal_sample(values - mean, weights)
    spectrum = Eigh().solve(sample.operator(), min(q, values.shape[1]))
    kept = spectrum.eigenvalues > 1e-15 * max(spectrum.trace, 1e-300)
    spectrum = spectrum.leading(int(kept.sum()))
    subspace = sample.subspace(spectrum)
    return mean + subspace.mean, replace(spectrum, eigenvectors=subspace.components.T)


def shared_noise(eigenvalues: list[Array], traces: Array, masses: Array, dim: int, floor: float) -> float:
    """The one σ² of several components: Σ N_k (tr S_k - Σ l) / Σ N_k (d - q_k), over eigenvalues above it.

    Directions at or below the noise belong to it. Newton's steps on a convex piecewise linear function: finitely many.
    """
    noise = 0.0
    for _ in range(1 + sum(len(values) for values in eigenvalues)):
        above = [values[values > noise] for values in eigenvalues]
        rest = float(sum(n * (t - values.sum()) for n, t, values in zip(masses, traces, above)))
        size = float(sum(n * (dim - len(values)) for n, values in zip(masses, above)))
        new = max(rest / size, floor) if size > 0 else floor
        if abs(new - noise) <= 1e-14 * new:
            break
        noise = new
    return noise
