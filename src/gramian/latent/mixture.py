"""Mixtures of PPCA: EM in which every component is the latent Gaussian with its responsibilities as sample weights [6].

Complete rows are seen by all components through one matrix product, and each component's probability is that of
`LatentGaussian`. Its M-step is the closed form of the weighted covariance where that is small, and otherwise a step of
PX-EM, which never forms d x d. Rows with holes are seen through the systems of `missing`, exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gramian._arrays import Array, blas_threads, row_chunks, single_blas_thread, thread_map
from gramian._checks import check_scale
from gramian._progress import Progress
from gramian.latent.dimension import for_fraction
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.kernel_mixture import responsibilities_of
from gramian.latent.masked_em import (
    Parameters,
    RowPosterior,
    Statistics,
    maximization,
    row_posterior,
    row_statistics,
)
from gramian.latent.masked_start import covariance_start, pairwise_spectrum
from gramian.latent.masked_table import MaskedTable, location_and_scale
from gramian.latent.missing import fit_missing
from gramian.latent.model import LatentModel
from gramian.latent.noise import ZERO_NOISE
from gramian.latent.primal import latent_model
from gramian.latent.sample import primal_sample
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum

EMPTY = 1e-10
"""A component with a smaller share of the rows is empty."""
CLOSED_SIZE = 64
"""Up to this many columns (or rows) the M-step is the closed form, whatever q."""
START_ROWS = 1000
"""The PX-EM of a component starts from so many of its rows."""
FAR = 1e8
"""Means further apart than this (squared, in noise variances) are subtracted before the product, not after."""
NEGLIGIBLE = 1e-30
"""Rows of a smaller responsibility leave a weighted covariance as it is."""
NEXT_TO_NOTHING = 1e-100
"""Responsibilities below this are 0."""
LENS_ROWS = 4096
"""Complete rows go through the lens so many at a time: their scores stay in the cache."""
GROUP_ROWS = 8192
"""So many systems of rows with holes are eliminated together."""


@dataclass(frozen=True)
class MixtureFit:
    """What EM found.

    Attributes
    ----------
    components : list of LatentModel
    mixing : array (K,)
    responsibilities : array (n, K)
    log_likelihoods : list of float
        Weighted mean over the rows after each step, never falling.
    converged : bool
    n_rescued : int
        How often an empty component, or one of too few rows, was given a part of another.
    at_floor : list of int
        The components whose noise is held at the floor.
    noise_floor : float
    """

    components: list[LatentModel]
    mixing: Array
    responsibilities: Array
    log_likelihoods: list[float]
    converged: bool
    n_rescued: int
    at_floor: list[int]
    noise_floor: float


# ---------------------------------------------------------------- training rows


@dataclass(frozen=True)
class MixtureTable:
    """A weighted table, shifted and scaled once for all starts: ``values`` if it is complete, else ``masked``."""

    X: Array
    weights: Array  # raw
    shift: Array
    scale: float
    values: Array | None
    masked: MaskedTable | None

    @classmethod
    def of(cls, X: Array, weights: Array) -> MixtureTable:
        """Raises ValueError if a column shows no value, if no column varies, or if squares would overflow."""
        shift, scale = location_and_scale(X, weights, center=True)
        if scale == 0.0:
            raise ValueError("All rows of X are identical: there is no variance to model. Give rows that differ.")
        check_scale(scale)
        if np.isnan(X.sum(dtype=np.float64)) and np.isnan(X).any():
            return cls(X, weights, shift, scale, None, MaskedTable.of(X, shift, scale))
        return cls(X, weights, shift, scale, (X.astype(np.float64) - shift) / scale, None)

    @cached_property
    def squares(self) -> Array:
        """|x|² a row, of a complete table."""
        assert self.values is not None
        return np.einsum("nd,nd->n", self.values, self.values)

    def filled(self, q: int) -> Array:
        """The scaled values, holes filled by one PPCA of all rows: good enough to start from."""
        if self.values is not None:
            return self.values
        assert self.masked is not None
        scaled = (self.X.astype(np.float64) - self.shift) / self.scale
        fit = fit_missing(scaled, min(q, self.X.shape[1] - 1), weights=self.weights, tol=1e-2, max_iter=20)
        model = latent_model(fit.mean, fit.loadings, max(fit.noise_variance, ZERO_NOISE))
        for rows in row_chunks(len(scaled)):
            latents = model.gaussian.posterior(model.subspace.project(scaled[rows])).mean
            filled = model.subspace.embed(model.gaussian.decode(latents))
            scaled[rows] = np.where(np.isnan(scaled[rows]), filled, scaled[rows])
        return scaled

    def rows(self, counts: Sequence[int], *, shared: bool, rng: np.random.Generator) -> MixtureRows:
        """Ready for components of these numbers of latents: with holes, small (closed form) or large (PX-EM)."""
        counts = tuple(counts)
        parts = (self, counts, shared, ZERO_NOISE, rng, blas_threads())
        if self.masked is not None:
            return MaskedRows(*parts)
        if len(counts) == 1 or min(self.X.shape) <= max(CLOSED_SIZE, 8 * (max(counts) + 1)):
            return ClosedRows(*parts)
        return ExpandedRows(*parts)


@dataclass(frozen=True)
class Evaluation:
    """One E-step: the weighted log-likelihood (a sum), the responsibilities, and the sums that PX-EM needs."""

    level: float
    responsibilities: Array
    statistics: Statistics | None


@dataclass(frozen=True)
class MixtureRows(ABC):
    """Training rows, shifted and scaled, and how components see them and are fitted to them."""

    table: MixtureTable
    counts: tuple[int, ...]  # q of each component
    shared: bool  # one noise for all
    floor: float  # the least noise, in scaled units
    rng: np.random.Generator
    n_threads: int

    @property
    def weights(self) -> Array:
        return self.table.weights

    @property
    def size(self) -> int:
        return len(self.table.weights)

    @property
    def n_clusters(self) -> int:
        return len(self.counts)

    @property
    def dim(self) -> int:
        return int(self.table.X.shape[1])

    @abstractmethod
    def start(self, responsibilities: Array) -> Parameters:
        """The first components, from responsibilities alone."""

    @abstractmethod
    def expectation(self, parameters: Parameters, mixing: Array, gather: bool = True) -> Evaluation:
        """The E-step; ``gather``: with the sums that an M-step of PX-EM needs, if rows of this kind ever do one."""

    def gathers(self, responsibilities: Array) -> bool:
        """Whether the M-step after such responsibilities is to be one of PX-EM."""
        return True

    @abstractmethod
    def maximization(self, evaluation: Evaluation, parameters: Parameters) -> Parameters:
        """The M-step, of the components that are not empty."""

    @abstractmethod
    def cells(self) -> float:
        """Weighted number of observed cells."""

    @abstractmethod
    def fraction_counts(self, responsibilities: Array, fraction: float, which: int) -> int:
        """The q of a component that explains the fraction."""

    def first_scores(self, parameters: Parameters, which: int) -> Array:
        """Where each row lies along the first axis of a component."""
        axis = parameters.loadings[which, :, 0] if parameters.n_components else np.zeros(self.dim)
        if not axis.any():
            axis = self.rng.standard_normal(self.dim)
        out = np.empty(self.size)
        for rows in row_chunks(self.size):
            values = (self.table.X[rows].astype(np.float64) - self.table.shift) / self.table.scale
            values -= parameters.mean[which]
            out[rows] = np.where(np.isnan(values), 0.0, values) @ axis
        return out

    def bounded(self, parameters: Parameters, cells: Array) -> Parameters:
        """The noise shared if asked, and not below the floor: the maximum under that constraint."""
        noise = parameters.noise_variance
        if self.shared:
            noise = np.full_like(noise, (noise * cells).sum() / cells.sum())
        return replace(parameters, noise_variance=np.maximum(noise, self.floor))


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
            shares, totals = _shares(terms)
            responsibilities[rows] = shares
            weights = self.weights[rows]
            sums = self._statistics(rows, lens, whitened, shares * weights[:, None]) if gather else None
            return float(weights @ totals), sums

        parts = thread_map(one, row_chunks(self.size, LENS_ROWS), self.n_threads)
        level = sum(part[0] for part in parts)
        return Evaluation(level, responsibilities, _summed([part[1] for part in parts]))

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
class Lens:
    """How all components see complete rows at once: whitened scores v_k = (1/σ² - 1/Λ)^½ Uᵀ(x - μ), from one product.

    Then Mahalanobis = |x - μ|² / σ² - |v|² [2, Woodbury], log p(x) = log p(μ) - Mahalanobis / 2, and the posterior mean
    E[z | x] = (σ² / Λ)^½ v. The Gaussians themselves say what log p(μ) is, and the posterior covariance.
    """

    models: list[LatentModel]
    table: Array  # (K q + K, d): whitened axes, those of fewer components padded with 0, then μ / σ²
    offsets: Array  # (K q,)
    at_mean: Array  # (K,) log π + log p(μ) - |μ|² / 2σ²
    precisions: Array  # (K,) 1 / σ²
    gains: Array  # (K, q): from whitened scores to latents; 0 where padded
    far: bool

    @classmethod
    def of(cls, models: list[LatentModel], mixing: Array) -> Lens:
        K, d = len(models), len(models[0].subspace.mean)
        q = max(model.gaussian.n_components for model in models)
        axes, gains = np.zeros((K, q, d)), np.zeros((K, q))
        means = np.stack([model.subspace.mean for model in models])
        precisions = np.array([1.0 / model.gaussian.noise_variance for model in models])
        at_mean = np.empty(K)
        for k, model in enumerate(models):
            gaussian = model.gaussian
            count = gaussian.n_components
            axes[k, :count] = model.subspace.components * whitening(gaussian)[:, None]
            gains[k, :count] = np.sqrt(gaussian.noise_variance / gaussian.eigenvalues)
            at_mean[k] = gaussian.log_density(at_the_mean(gaussian))[0]
        norms = np.einsum("kd,kd->k", means, means)
        with np.errstate(divide="ignore"):
            at_mean += np.log(mixing) - 0.5 * norms * precisions
        return cls(
            models,
            np.vstack([axes.reshape(K * q, d), means * precisions[:, None]]),
            np.einsum("kqd,kd->kq", axes, means).ravel(),
            at_mean,
            precisions,
            gains,
            bool((norms * precisions).max() > FAR),
        )

    def __call__(self, values: Array, squares: Array) -> tuple[Array, Array]:
        """Whitened scores (n, K, q), and log π_k + log p(x | k) (n, K)."""
        K, q = self.gains.shape
        if self.far:
            return self._one_by_one(values)
        products = values @ self.table.T
        products[:, : K * q] -= self.offsets
        whitened = products[:, : K * q].reshape(len(values), K, q)
        terms = np.einsum("nkq,nkq->nk", whitened, whitened)
        terms *= 0.5
        terms += products[:, K * q :]
        terms -= (0.5 * squares)[:, None] * self.precisions
        terms += self.at_mean
        return whitened, terms

    def _one_by_one(self, values: Array) -> tuple[Array, Array]:
        """The same, each mean subtracted before the product: when clusters are far apart the digits are gone after it."""
        K, q = self.gains.shape
        whitened, terms = np.zeros((len(values), K, q)), np.empty((len(values), K))
        for k, model in enumerate(self.models):
            seen = model.subspace.project(values)
            scores = seen.scores * whitening(model.gaussian)
            whitened[:, k, : scores.shape[1]] = scores
            norm = float(model.subspace.mean @ model.subspace.mean)
            distance = seen.squared_norm * self.precisions[k] - np.einsum("nq,nq->n", scores, scores)
            terms[:, k] = self.at_mean[k] + 0.5 * norm * self.precisions[k] - 0.5 * np.maximum(distance, 0.0)
        return whitened, terms


def whitening(gaussian: LatentGaussian) -> Array:
    """(1/σ² - 1/Λ)^½ = Δ / (σ Λ^½)."""
    return np.asarray(gaussian.gains / np.sqrt(gaussian.noise_variance * gaussian.eigenvalues))


def at_the_mean(gaussian: LatentGaussian) -> Projection:
    """What a Gaussian sees of its own mean."""
    return Projection(np.zeros((1, gaussian.n_components)), np.zeros(1), gaussian.dim)


def _shares(terms: Array) -> tuple[Array, Array]:
    """Responsibilities and log-likelihoods; what is next to nothing is 0, for products with denormal numbers crawl."""
    shares, totals = responsibilities_of(terms)
    shares[shares < NEXT_TO_NOTHING] = 0.0
    return shares, totals


def _summed(parts: list[Statistics | None]) -> Statistics | None:
    total: Statistics | None = None
    for part in parts:
        total = part if total is None or part is None else total + part
    return total


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


@dataclass(frozen=True)
class ClosedRows(CompleteRows):
    """The M-step of each component is the closed form of its weighted covariance [2, 6]."""

    def start(self, responsibilities: Array) -> Parameters:
        return self._closed(responsibilities, self._nothing())

    def gathers(self, responsibilities: Array) -> bool:
        return False

    def maximization(self, evaluation: Evaluation, parameters: Parameters) -> Parameters:
        return self._closed(evaluation.responsibilities, parameters)


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
        return _expanded(self, evaluation, parameters)

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


def _expanded(rows: MixtureRows, evaluation: Evaluation, parameters: Parameters) -> Parameters:
    """The PX-EM step of the components that are not empty; the others stay."""
    statistics = evaluation.statistics
    assert statistics is not None
    shape = (*statistics.second.shape[:2], rows.dim)
    statistics = replace(statistics, second=np.broadcast_to(statistics.second, shape))
    active = np.flatnonzero(statistics.totals[-1] > EMPTY * statistics.totals[-1].sum())
    found = maximization(statistics[active], parameters[active])
    found = rows.bounded(found, statistics.cells[active])
    mean, loadings = parameters.mean.copy(), parameters.loadings.copy()
    noise = parameters.noise_variance.copy()
    if rows.shared:
        noise[:] = found.noise_variance[0]
    mean[active], loadings[active], noise[active] = found.mean, found.loadings, found.noise_variance
    return Parameters(mean, loadings, noise)


@dataclass(frozen=True)
class MaskedRows(MixtureRows):
    """Rows with holes: densities and moments from what each row shows [5, 6]."""

    @property
    def masked(self) -> MaskedTable:
        assert self.table.masked is not None
        return self.table.masked

    def cells(self) -> float:
        return float(sum(self.weights[rows] @ chunk.counts for rows, chunk in self.masked.chunks()))

    def _means(self, responsibilities: Array) -> Array:
        """The mean of what each component's rows show, 0 where they show nothing."""
        sums, counts = np.zeros((self.n_clusters, self.dim)), np.zeros((self.n_clusters, self.dim))
        for rows, chunk in self.masked.chunks():
            weights = (responsibilities[rows] * self.weights[rows, None]).T
            sums += weights @ chunk.values
            counts += weights @ chunk.mask
        return np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), 0.0)

    def start(self, responsibilities: Array) -> Parameters:
        means = self._means(responsibilities)
        q = max(self.counts)
        loadings = np.zeros((*means.shape, q))
        noise = np.ones(self.n_clusters)
        for k, count in enumerate(self.counts):
            weights = self.weights * responsibilities[:, k]
            part = covariance_start(self.masked, weights, count, self.rng, self.n_threads, means[k])
            loadings[k, :, :count] = part.loadings[0]
            noise[k] = max(float(part.noise_variance[0]), 1e-3)
        return self.bounded(Parameters(means, loadings, noise), self.weights @ responsibilities)

    def expectation(self, parameters: Parameters, mixing: Array, gather: bool = True) -> Evaluation:
        K = self.n_clusters
        responsibilities = np.empty((self.size, K))
        with np.errstate(divide="ignore"):
            log_mixing = np.log(mixing)

        def one(item: tuple[int, slice]) -> tuple[float, Statistics]:
            index, rows = item
            chunk = self.masked.chunk(index, rows)
            together = max(1, GROUP_ROWS // len(chunk.counts))
            groups = [slice(k, min(k + together, K)) for k in range(0, K, together)]
            posteriors: list[RowPosterior] = [row_posterior(chunk, parameters[group]) for group in groups]
            terms = np.concatenate([part.log_density for part in posteriors]).T + log_mixing
            shares, totals = _shares(terms)
            responsibilities[rows] = shares
            weights = (shares * self.weights[rows, None]).T
            sums = [row_statistics(chunk, part, weights[group]) for part, group in zip(posteriors, groups)]
            return float(self.weights[rows] @ totals), _side_by_side(sums)

        parts = thread_map(one, enumerate(self.masked.rows()), self.n_threads)
        return Evaluation(sum(part[0] for part in parts), responsibilities, _summed([part[1] for part in parts]))

    def maximization(self, evaluation: Evaluation, parameters: Parameters) -> Parameters:
        return _expanded(self, evaluation, parameters)

    def fraction_counts(self, responsibilities: Array, fraction: float, which: int) -> int:
        weights = self.weights * responsibilities[:, which]
        values, _, trace = pairwise_spectrum(self.masked, weights, self._means(responsibilities)[which], self.n_threads)
        q = for_fraction(values, trace, fraction)
        return min(self.dim - 1, self.dim if q is None else q)


def _side_by_side(parts: list[Statistics]) -> Statistics:
    """The sums of several groups of components as those of all."""
    return Statistics(
        np.concatenate([part.second for part in parts], axis=1),
        np.concatenate([part.first for part in parts], axis=1),
        np.concatenate([part.totals for part in parts], axis=1),
        np.concatenate([part.square for part in parts]),
        np.concatenate([part.log_likelihood for part in parts]),
    )


# ---------------------------------------------------------------- the EM of the mixture


def fit_mixture(
    rows: MixtureRows,
    start: Array,
    *,
    mixing: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    progress: Progress | None = None,
) -> MixtureFit:
    """EM from responsibilities ``start`` (n, K), rows summing to one; ``mixing`` replaces their means in the first step.

    Stops when the mean log-likelihood changes by less than ``tol``, relatively. A component that is empty, or that has
    closed in on too few different rows, is given half of a larger one, and the history starts anew.
    """
    with single_blas_thread():
        ascent = _Ascent(rows, start, mixing)
        converged = False
        for _ in range(max_iter - 1):
            bad = ascent.collapsed()
            if bad and ascent.n_rescued < 2 * rows.n_clusters:
                ascent.rescue(bad)
                continue
            gain = ascent.step()
            level = ascent.levels[-1]
            if progress is not None:
                progress.step(log_likelihood=level / float(rows.weights.sum()))
            total = float(rows.weights.sum())
            if gain <= tol * max(abs(level), total):
                converged = gain > -1e-9 * max(abs(level), total)
                break
        else:
            converged = rows.n_clusters == 1 and isinstance(rows, ClosedRows)
    return ascent.result(converged)


class _Ascent:
    """The state of one EM."""

    def __init__(self, rows: MixtureRows, start: Array, mixing: Array | None) -> None:
        self.rows = rows
        self.n_rescued = 0
        self._begin(nonempty(start), mixing)

    def _begin(self, responsibilities: Array, mixing: Array | None = None) -> None:
        self.parameters = self.rows.start(responsibilities)
        self.mixing = self._mixing(responsibilities) if mixing is None else mixing
        gather = self.rows.gathers(responsibilities)
        self.evaluation = self.rows.expectation(self.parameters, self.mixing, gather)
        self.levels = [self.evaluation.level]

    def _mixing(self, responsibilities: Array) -> Array:
        masses = self.rows.weights @ responsibilities
        masses = np.where(masses > EMPTY * masses.sum(), masses, 0.0)
        return np.asarray(masses / masses.sum())

    def step(self) -> float:
        """One M- and E-step; its gain. A loss, which only rounding can bring, is not taken."""
        parameters = self.rows.maximization(self.evaluation, self.parameters)
        mixing = self._mixing(self.evaluation.responsibilities)
        gather = self.rows.gathers(self.evaluation.responsibilities)
        evaluation = self.rows.expectation(parameters, mixing, gather)
        gain = evaluation.level - self.levels[-1]
        if gain >= 0.0:
            self.parameters, self.mixing, self.evaluation = parameters, mixing, evaluation
            self.levels.append(evaluation.level)
        return gain

    def collapsed(self) -> list[int]:
        """Components that are empty or rest on no more different rows than their subspace can hold exactly.

        None if all are so: then there is no larger one to divide.
        """
        low = self.parameters.noise_variance <= self.rows.floor * (1.0 + 1e-9)
        bad = [
            k
            for k, q in enumerate(self.rows.counts)
            if self.mixing[k] == 0.0 or (low[k] and self._n_distinct(k, q + 1) <= q + 1)
        ]
        return bad if len(bad) < self.rows.n_clusters else []

    def _n_distinct(self, k: int, enough: int) -> int:
        """The number of different rows of a component, counted no further than needed."""
        rows = np.flatnonzero(self.evaluation.responsibilities[:, k] > 0.5)
        return len(np.unique(self.rows.table.X[rows[: 50 * (enough + 1)]], axis=0))

    def rescue(self, bad: list[int]) -> None:
        """Give the first of the collapsed components half of a larger one, cut at its mean along its first axis."""
        k = bad[0]
        shares = self.evaluation.responsibilities.copy()
        shares[:, k] = 0.0
        masses = self.rows.weights @ shares
        masses[bad] = -1.0
        donors = np.argsort(-masses)[: self.rows.n_clusters - len(bad)]
        donor = int(donors[self.n_rescued % len(donors)])
        lost = shares.sum(axis=1) < 1e-12
        shares[lost, donor] = 1.0
        shares /= shares.sum(axis=1, keepdims=True)
        side = self.rows.first_scores(self.parameters, donor) > 0.0
        shares[side, k] = shares[side, donor]
        shares[side, donor] = 0.0
        self.n_rescued += 1
        self._begin(nonempty(shares))

    def result(self, converged: bool) -> MixtureFit:
        rows, found = self.rows, self.parameters
        scale = rows.table.scale
        components = [
            latent_model(
                rows.table.shift + scale * found.mean[k],
                scale * found.loadings[k][:, : rows.counts[k]],
                scale**2 * float(found.noise_variance[k]),
            )
            for k in range(rows.n_clusters)
        ]
        levels = (np.asarray(self.levels) - rows.cells() * np.log(scale)) / rows.weights.sum()
        low = found.noise_variance <= rows.floor * (1.0 + 1e-9)
        return MixtureFit(
            components,
            self.mixing,
            self.evaluation.responsibilities,
            levels.tolist(),
            converged,
            self.n_rescued,
            np.flatnonzero(low).tolist(),
            rows.floor * scale**2,
        )


def nonempty(start: Array) -> Array:
    """The start with rows that sum to one; where a component would be empty, all get a share of every row."""
    start = start / start.sum(axis=1, keepdims=True)
    if (start.sum(axis=0) <= EMPTY * len(start)).any():
        start = 0.9 * start + 0.1 / start.shape[1]
    return start
