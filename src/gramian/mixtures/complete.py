"""Complete rows of a mixture of PPCA: all components see a block through one product, and are refitted in closed form or by PX-EM [5, 6]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gramian._arrays import Array, lower_triangle
from gramian._content import SmallestRows
from gramian.latent.gaussian import maximum_likelihood
from gramian.latent.masked_em import Parameters, Statistics
from gramian.latent.sample import primal_sample
from gramian.mixtures.mixture import Seen, responsibilities_of
from gramian.mixtures.rows import Components, GaussianRows, Responsibilities, component_rows
from gramian.mixtures.whitened_components import WhitenedComponents, at_the_mean
from gramian.operators.covariance import Stored
from gramian.policy import LOOK, SIZES
from gramian.rows import Block
from gramian.solvers.eigh import Eigh
from gramian.solvers.em import em_step
from gramian.solvers.spectrum import Spectrum

CLOSED_SIZE = 64
"""Up to this many columns the M-step is the closed form, whatever q."""
CLOSED_SHARE = 8
"""So it is where d is at most this multiple of q + 1: PX-EM would cost as much."""


@dataclass(frozen=True)
class ClusterSums:
    """The weight, the sum and (where gathered) the scatter of the rows of each component about given centres."""

    masses: Array  # (K,)
    pairs: int  # of a row and a component that has a share of it
    n_rows: int
    sums: Array  # (K, d), of x - centre
    scatter: Array | None  # (K, d, d)

    def __add__(self, other: ClusterSums) -> ClusterSums:
        both = self.scatter is not None and other.scatter is not None
        return ClusterSums(
            self.masses + other.masses,
            self.pairs + other.pairs,
            self.n_rows + other.n_rows,
            self.sums + other.sums,
            self.scatter + other.scatter if both else None,  # type: ignore[operator]
        )


@dataclass(frozen=True)
class CompleteSums:
    """What an E-step adds up: the log-likelihood, and the sums for one kind of M-step."""

    level: float
    weighted: ClusterSums
    statistics: Statistics | None  # of PX-EM

    def __add__(self, other: CompleteSums) -> CompleteSums:
        both = self.statistics is not None and other.statistics is not None
        return CompleteSums(
            self.level + other.level,
            self.weighted + other.weighted,
            self.statistics + other.statistics if both else None,  # type: ignore[operator]
        )


def cluster_sums(values: Array, shares: Array, weights: Array, centers: Array | None, scatter: bool) -> ClusterSums:
    """Of one block. Centres are subtracted first: far from them the scatter would lose its digits."""
    d, K = values.shape[1], shares.shape[1]
    weighted = shares * weights[:, None]
    masses = weighted.sum(axis=0)
    if not scatter or centers is None:
        sums = weighted.T @ values
        pairs = int((shares > 0.0).sum())
        return ClusterSums(
            masses, pairs, len(values), sums if centers is None else sums - masses[:, None] * centers, None
        )
    pairs, sums, products = 0, np.zeros((K, d)), np.zeros((K, d, d))
    for k in range(K):
        taken = np.flatnonzero(shares[:, k] > 0.0)
        if len(taken):
            pairs += len(taken)
            part = values.take(taken, axis=0)
            part -= centers[k]
            roots = np.sqrt(weighted[taken, k])
            if (roots != 1.0).any():  # where clusters are apart, nearly every share is 1 to the last digit
                part *= roots[:, None]
            sums[k] = roots @ part
            np.matmul(part.T, part, out=products[k])  # a product of one array with itself costs half
    return ClusterSums(masses, pairs, len(values), sums, products)


def start_rows(block: Block, responsibilities: Responsibilities, centers: Array | None, scatter: bool) -> ClusterSums:
    return cluster_sums(block.prepared.values, responsibilities(block), block.weights, centers, scatter)


def complete_sums(block: Block, seen_by: WhitenedComponents, expand: bool) -> CompleteSums:
    """The E-step of a block."""
    rows = block.prepared
    whitened, terms = seen_by(rows.values, rows.squares)
    shares, totals = responsibilities_of(terms)
    level = float(block.weights @ totals)
    if not expand:
        return CompleteSums(level, cluster_sums(rows.values, shares, block.weights, seen_by.means, True), None)
    weighted = shares * block.weights[:, None]
    pairs = int((shares > 0.0).sum())
    sums = ClusterSums(weighted.sum(axis=0), pairs, len(shares), np.zeros_like(seen_by.means), None)
    return CompleteSums(level, sums, expanded_statistics(rows.values, rows.squares, seen_by, whitened, weighted))


def expanded_statistics(
    values: Array, squares: Array, seen_by: WhitenedComponents, whitened: Array, weights: Array
) -> Statistics:
    """The sums of PX-EM: products with d x K (q + 1) tables, never d x d [5]."""
    K, q, n = whitened.shape
    size = q * (q + 1) // 2
    lower, other = lower_triangle(q)
    block = np.empty((K, q + 1, n))
    np.multiply(whitened, weights.T[:, None], out=block[:, :q])
    block[:, q] = weights.T
    gains = np.column_stack([seen_by.gains, np.ones(K)])  # latents are whitened scores times these
    first = (block.reshape(-1, n) @ values).reshape(K, q + 1, values.shape[1]) * gains[:, :, None]
    sums = block.sum(axis=2) * gains
    totals = np.empty((size + q + 1, K))
    totals[size:] = sums.T
    for k, model in enumerate(seen_by.models):
        count = model.gaussian.n_components
        second = np.eye(q) * sums[k, q]
        second[:count, :count] *= model.gaussian.posterior(at_the_mean(model.gaussian)).covariance
        second += (block[k, :q] @ whitened[k].T) * np.outer(seen_by.gains[k], seen_by.gains[k])
        totals[:size, k] = second[lower, other]
    # all columns are seen by all rows: the sums per column are the totals
    return Statistics(totals[:, :, None], np.moveaxis(first, 1, 0), totals, weights.T @ squares, np.zeros(K))


@dataclass(frozen=True)
class CompleteView:
    """The responsibilities of fitted components for complete rows."""

    seen_by: WhitenedComponents

    def __call__(self, block: Block) -> Array:
        return responsibilities_of(self.seen_by(block.prepared.values, block.prepared.squares)[1])[0]


@dataclass(frozen=True)
class CompleteRows(GaussianRows):
    """Rows without holes.

    The M-step is the closed form of the weighted covariances where d is small, and where nearly every row belongs to one cluster and
    d is not too large; otherwise a step of PX-EM. With ``em`` it is a step of EM always.
    """

    @property
    def closed(self) -> bool:
        """Whether the M-step is always the closed form."""
        largest = SIZES.stored if self.n_clusters == 1 else max(CLOSED_SIZE, CLOSED_SHARE * (max(self.counts) + 1))
        return self.dim <= largest

    @property
    def exact(self) -> bool:
        return self.closed and self.n_clusters == 1

    def expands(self, n_rows: int, pairs: int) -> bool:
        """Whether an M-step of PX-EM costs less than the closed form with so many pairs of a row and a component, or EM was asked for."""
        if self.em or self.closed:
            return self.em
        d, K, q = self.dim, self.n_clusters, max(self.counts)
        return pairs * d * d + 4 * K * d**3 > 8 * n_rows * d * K * (q + 1)

    def start(self, responsibilities: Responsibilities) -> tuple[Components, Array]:
        rows = self.table.rows
        first = rows.fold(start_rows, responsibilities, None, False)
        centers = first.sums / np.where(first.masses > 0, first.masses, 1.0)[:, None]
        expand = self.expands(first.n_rows, first.pairs)
        if self.closed or not expand:
            about = rows.fold(start_rows, responsibilities, centers, True)
            return Components(self._closed_form(about, replace(self.nothing(), mean=centers)), expand), first.masses
        parameters = replace(self.nothing(), mean=centers)
        limit = max(LOOK.gram, 20 * (max(self.counts) + 1))
        for k, drawn in enumerate(rows.fold(component_rows, responsibilities, limit).parts):
            if not len(drawn.rows):
                continue
            parameters.mean[k], spectrum = weighted_spectrum(
                self.table.scaled(drawn.rows), drawn.weights, self.counts[k]
            )
            values = spectrum.eigenvalues
            noise = max(maximum_likelihood(spectrum, self.dim), self.floor)
            gains = np.sqrt(np.maximum(values - noise, 1e-3 * noise))  # a loading of 0 would stay 0
            parameters.noise_variance[k] = noise
            parameters.loadings[k][:, : len(values)] = spectrum.eigenvectors * gains
        return Components(self.bounded(parameters, first.masses)), first.masses

    def see(self, components: Components, mixing: Array) -> Seen:
        seen_by = WhitenedComponents.of(self.models(components.parameters), mixing)
        sums = self.table.rows.fold(complete_sums, seen_by, components.expand)
        return Seen(sums.level, sums.weighted.masses, sums)

    def refit(self, seen: Seen, components: Components) -> Components:
        sums: CompleteSums = seen.details
        expand = self.expands(sums.weighted.n_rows, sums.weighted.pairs)
        if sums.statistics is not None:
            step = self._em_step if self.em else self.expanded_step
            return Components(step(sums.statistics, components.parameters), expand)
        return Components(self._closed_form(sums.weighted, components.parameters), expand)

    def view(self, components: Components, mixing: Array) -> CompleteView:
        return CompleteView(WhitenedComponents.of(self.models(components.parameters), mixing))

    def spectrum_of(self, drawn: SmallestRows) -> tuple[Array, float]:
        spectrum = weighted_spectrum(self.table.scaled(drawn.rows), drawn.weights, self.dim)[1]
        return spectrum.eigenvalues, spectrum.trace

    def _em_step(self, statistics: Statistics, parameters: Parameters) -> Parameters:
        """[MM]'s two stages with EM in the second: the mean, then one EM step of W and σ² about it ([MM] 2.4.2 with S_k for S) [6].

        S_k W_k M⁻¹ is Σ r (x - μ_k)E[z]ᵀ / N_k, so that S_k is never formed.
        """
        mean, loadings = parameters.mean.copy(), parameters.loadings.copy()
        noise = parameters.noise_variance.copy()
        models, masses = self.models(parameters), statistics.totals[-1]
        active = self.active(masses)
        for k in active:
            gaussian, subspace = models[k].gaussian, models[k].subspace
            q, W = gaussian.n_components, subspace.loadings(gaussian.gains)
            mean[k] = statistics.first[-1, k] / masses[k]
            moves = statistics.totals[-1 - max(self.counts) : -1, k][:q]  # Σ r E[z]
            gram = W.T @ W
            products = (statistics.first[:q, k] - np.outer(moves, mean[k])).T / masses[k]
            image = products @ (gram + gaussian.noise_variance * np.eye(q))
            step, explained = em_step(image, W.T @ image, gram, gaussian.noise_variance)
            noise[k] = (statistics.square[k] / masses[k] - mean[k] @ mean[k] - explained) / self.dim
            loadings[k] = 0.0
            loadings[k][:, :q] = step
        found = self.bounded(Parameters(mean[active], loadings[active], noise[active]), masses[active])
        noise[slice(None) if self.shared else active] = found.noise_variance[0] if self.shared else found.noise_variance
        return Parameters(mean, loadings, noise)

    def _closed_form(self, about: ClusterSums, parameters: Parameters) -> Parameters:
        """Section 2 in each component: mean, leading eigenpairs and noise of its weighted covariance; the empty ones stay."""
        assert about.scatter is not None
        mean, loadings = parameters.mean.copy(), parameters.loadings.copy()
        noise = parameters.noise_variance.copy()
        active = self.active(about.masses)
        spectra = {}
        for k in active:
            move = about.sums[k] / about.masses[k]
            mean[k] = parameters.mean[k] + move
            spectra[k] = _spectrum(about.scatter[k] / about.masses[k] - np.outer(move, move), self.counts[k])
        kept = [spectra[k].eigenvalues for k in active]
        traces = np.array([spectra[k].trace for k in active])
        if self.shared:
            noise[:] = shared_noise(kept, traces, about.masses[active], self.dim, self.floor)
        else:
            noise[active] = [max(maximum_likelihood(spectra[k], self.dim), self.floor) for k in active]
        for k in active:
            values, vectors = spectra[k].eigenvalues, spectra[k].eigenvectors
            loadings[k] = 0.0
            loadings[k][:, : len(values)] = vectors * np.sqrt(np.maximum(values - noise[k], 0.0))
        return Parameters(mean, loadings, noise)


def _spectrum(covariance: Array, q: int) -> Spectrum:
    """The leading eigenpairs of a covariance, without those that are rounding."""
    np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), 0.0))
    spectrum = Eigh().solve(Stored(covariance), q)
    return spectrum.leading(int((spectrum.eigenvalues > 1e-15 * max(spectrum.trace, 1e-300)).sum()))


def weighted_spectrum(values: Array, weights: Array, q: int) -> tuple[Array, Spectrum]:
    """The weighted mean, and the leading eigenpairs of the weighted covariance about it, on the smaller side of the table."""
    weights = weights / weights.sum()
    mean = weights @ values
    sample = primal_sample(values - mean, weights)
    spectrum = Eigh().solve(sample.operator(), min(q, *values.shape))
    spectrum = spectrum.leading(int((spectrum.eigenvalues > 1e-15 * max(spectrum.trace, 1e-300)).sum()))
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
