"""Rows with holes of a mixture of PPCA: densities and moments from what each row shows, exactly [5, 6]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array, thread_map
from gramian.latent.dimension import for_fraction
from gramian.latent.masked_em import Parameters, RowPosterior, Statistics, row_posterior, row_statistics
from gramian.latent.masked_start import covariance_start, pairwise_spectrum
from gramian.latent.masked_table import MaskedTable
from gramian.latent.mixture_rows import Evaluation, MixtureRows, px_step, shares_of, summed

GROUP_ROWS = 8192
"""So many systems are eliminated together."""


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
            shares, totals = shares_of(terms)
            responsibilities[rows] = shares
            weights = (shares * self.weights[rows, None]).T
            sums = [row_statistics(chunk, part, weights[group]) for part, group in zip(posteriors, groups)]
            return float(self.weights[rows] @ totals), _side_by_side(sums)

        parts = thread_map(one, enumerate(self.masked.rows()), self.n_threads)
        return Evaluation(sum(part[0] for part in parts), responsibilities, summed([part[1] for part in parts]))

    def maximization(self, evaluation: Evaluation, parameters: Parameters) -> Parameters:
        return px_step(self, evaluation, parameters)

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
