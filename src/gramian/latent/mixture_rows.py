"""Training rows of a mixture of PPCA: what every kind of them has in common [6]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gramian._arrays import Array, has_nan, row_chunks
from gramian._checks import check_scale
from gramian.latent.kernel_mixture import responsibilities_of
from gramian.latent.masked_em import Parameters, Statistics, maximization
from gramian.latent.masked_table import MaskedTable, location_and_scale
from gramian.latent.missing import fit_missing
from gramian.latent.noise import ZERO_NOISE
from gramian.latent.primal import latent_model

EMPTY = 1e-10
"""A component with a smaller share of the rows is empty."""
NEXT_TO_NOTHING = 1e-100
"""Responsibilities below this are 0."""


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
        masked = MaskedTable.standardized(X, weights) if has_nan(X) else None
        shift, scale = location_and_scale(X, weights, center=True) if masked is None else (masked.shift, masked.scale)
        if scale == 0.0:
            raise ValueError("All rows of X are identical: there is no variance to model. Give rows that differ.")
        if masked is not None:
            return cls(X, weights, shift, scale, None, masked)
        check_scale(scale)
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


def shares_of(terms: Array) -> tuple[Array, Array]:
    """Responsibilities and log-likelihoods; what is next to nothing is 0, for products with denormal numbers crawl."""
    shares, totals = responsibilities_of(terms)
    shares[shares < NEXT_TO_NOTHING] = 0.0
    return shares, totals


def summed(parts: list[Statistics | None]) -> Statistics | None:
    total: Statistics | None = None
    for part in parts:
        total = part if total is None or part is None else total + part
    return total


def px_step(rows: MixtureRows, evaluation: Evaluation, parameters: Parameters) -> Parameters:
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
