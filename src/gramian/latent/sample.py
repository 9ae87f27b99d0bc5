"""Samples: weighted training data in one coordinate system. A sample gives the operator to decompose and turns its spectrum
into a subspace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian._checks import SMALLEST, check_scale
from gramian._precision import EPS, ROUNDING
from gramian._types import Points
from gramian.kernels.base import Kernel
from gramian.latent.subspace import DualSubspace, PrimalSubspace, Space
from gramian.operators.base import SelfAdjoint
from gramian.operators.centering import Centering
from gramian.operators.covariance import FactoredCovariance, Stored
from gramian.operators.gram import CenteredGram
from gramian.operators.moments import Moments
from gramian.policy import SIZES
from gramian.solvers.spectrum import Spectrum, positive_signs


def kernel_rank(operator: SelfAdjoint, floor: float = 0.0) -> int:
    """The number of eigenvalues of a covariance in feature space that are more than rounding."""
    values = np.linalg.eigvalsh(operator.to_dense())
    return int((values > max(ROUNDING * values[-1], floor)).sum())


def _rounding(mean: Array) -> float:
    """The variance that rounding alone gives to columns of this mean: constant columns have no more."""
    return float((8 * np.finfo(float).eps * np.abs(mean).max(initial=0.0)) ** 2)


class Sample(Protocol[Space]):
    """What `fit_latent_model` needs of training data; it makes subspaces of one type."""

    @property
    def dim(self) -> float: ...
    @property
    def max_components(self) -> int: ...
    @property
    def rank_tol(self) -> float: ...
    @property
    def rank_floor(self) -> float: ...
    @property
    def positive_semidefinite(self) -> bool: ...
    def operator(self) -> SelfAdjoint: ...
    def subspace(self, spectrum: Spectrum) -> Space: ...


@dataclass(frozen=True)
class MomentSample:
    """Explicit features known by their moments alone: tall tables, streams, features computed chunk by chunk."""

    moments: Moments
    n_rows: int
    center: bool = True
    single: bool = False  # whether the rows were float32, whose products carry fewer digits
    noise_dim: float | None = None  # D, where it is not the number of features
    positive_semidefinite = True

    @property
    def dim(self) -> float:
        return float(len(self.moments.mean)) if self.noise_dim is None else self.noise_dim

    @property
    def max_components(self) -> int:
        return min(self.n_rows - int(self.center), len(self.moments.mean))

    @property
    def full_rank(self) -> int:
        """The rank of columns that do not depend on each other; constant ones have none."""
        spreads = np.diagonal(self.moments.covariance(self.center))
        return min(self.max_components, int((spreads > self.rank_floor).sum()))

    @property
    def rank_tol(self) -> float:
        return 1e-7 if self.single else 4 * max(len(self.moments.mean), 8) * np.finfo(float).eps

    @property
    def finite(self) -> bool:
        """False when rows hold NaN or infinity, or their squares overflow."""
        return bool(np.isfinite(np.trace(self.moments.scatter)))

    @property
    def rank_floor(self) -> float:
        return _rounding(self.moments.mean)

    @cached_property
    def _operator(self) -> Stored:
        matrix = self.moments.covariance(self.center)
        check_scale(float(np.sqrt(matrix.diagonal().max(initial=0.0))))
        return Stored(matrix)

    def operator(self) -> Stored:
        return self._operator

    def subspace(self, spectrum: Spectrum) -> PrimalSubspace:
        mean = self.moments.mean if self.center else np.zeros_like(self.moments.mean)
        return PrimalSubspace(mean, np.ascontiguousarray(spectrum.eigenvectors.T))


@dataclass(frozen=True)
class TableSample:
    """A dense or sparse table too wide or too large for its covariance: decomposed on the smaller side [1]."""

    X: Any
    weights: Array  # normalised
    center: bool = True
    positive_semidefinite = True

    @property
    def dim(self) -> float:
        return float(self.X.shape[1])

    @property
    def max_components(self) -> int:
        return min(self.X.shape[0] - int(self.center), self.X.shape[1])

    @property
    def full_rank(self) -> int:
        """The rank of columns that do not depend on each other; constant ones have none."""
        if sparse.issparse(self.X):
            return self.max_components
        varying = (self.X[0] != self.X).any(axis=0) if self.center else (self.X != 0).any(axis=0)
        return min(self.max_components, int(varying.sum()))

    @property
    def rank_tol(self) -> float:
        return 4 * max(self.X.shape) * np.finfo(float).eps

    @property
    def finite(self) -> bool:
        """False when rows hold NaN or infinity."""
        return bool(np.isfinite((self.X.data if sparse.issparse(self.X) else self.X).sum()))

    @property
    def rank_floor(self) -> float:
        return _rounding(self.mean)

    @cached_property
    def mean(self) -> Array:
        if not self.center:
            return np.zeros(self.X.shape[1])
        if sparse.issparse(self.X):
            return np.asarray(self.X.T @ self.weights)
        shift = self.X[0].astype(np.float64)  # first a point of the data, so that a large offset costs no digits
        return shift + self.weights @ (self.X - shift)

    @property
    def wide(self) -> bool:
        return bool(self.X.shape[1] > self.X.shape[0])

    @cached_property
    def _centred(self) -> Array:
        return (np.asarray(self.X, dtype=np.float64) - self.mean) * np.sqrt(self.weights)[:, None]

    def operator(self) -> SelfAdjoint:
        if self.wide and self.X.shape[0] <= SIZES.stored and not sparse.issparse(self.X):
            check_scale(float(np.abs(self.X - self.mean).max(initial=0.0)))
            return Stored(self._centred @ self._centred.T)
        return FactoredCovariance(self.X, Centering(self.weights, self.center), "dual" if self.wide else "primal")

    def subspace(self, spectrum: Spectrum) -> PrimalSubspace:
        if not self.wide:
            return PrimalSubspace(self.mean, np.ascontiguousarray(spectrum.eigenvectors.T))
        if sparse.issparse(self.X):
            axes = np.asarray(self.X.T @ Centering(self.weights, self.center).apply(spectrum.eigenvectors))
        else:
            axes = self._centred.T @ spectrum.eigenvectors
        axes, triangle = np.linalg.qr(axes / np.sqrt(spectrum.eigenvalues))  # the bridge, rounding removed
        axes = axes * np.sign(triangle.diagonal())
        return PrimalSubspace(self.mean, np.ascontiguousarray((axes * positive_signs(axes)).T))


def primal_sample(X: Points, raw_weights: Array, center: bool = True) -> MomentSample | TableSample:
    """The sample of a table: through its moments when it is tall, on the smaller side when it is wide or huge."""
    n, d = X.shape
    uniform = bool((raw_weights == raw_weights[0]).all())
    if d <= n and d <= SIZES.stored:
        moments = Moments.of(X, None if uniform and raw_weights[0] == 1 else raw_weights)
        return moment_sample(moments, X, center)
    return TableSample(X, raw_weights / raw_weights.sum(), center)


def moment_sample(moments: Moments, X: Points, center: bool = True) -> MomentSample:
    """The sample of a table whose moments are known."""
    if np.trace(moments.scatter) < SMALLEST and not sparse.issparse(X):
        check_scale(float(np.abs(X - X[0]).max()))  # constant columns, or squares that vanish?
    return MomentSample(moments, X.shape[0], center, single=X.dtype == np.float32)


@dataclass(frozen=True)
class DualSample:
    """Points known through a kernel: the weighted centred Gram matrix K = JᵀK₀J [1]."""

    kernel: Kernel
    points: Any  # training inputs; None with a precomputed kernel
    raw: Any  # K₀ as an operator: DenseGram, LazyGram, ...
    weights: Array  # normalised
    dim: float
    center: bool = True
    given_dtype: Any = np.float64  # of the rows or the Gram matrix as they were given: how exact kernel values can be

    @property
    def mean_diagonal(self) -> float:
        """Σᵢ sᵢ k(xᵢ, xᵢ)."""
        return float(self.weights @ self.raw.diagonal())

    @property
    def max_components(self) -> int:
        return len(self.weights) - int(self.center)

    @property
    def rank_tol(self) -> float:
        return ROUNDING

    @property
    def rank_floor(self) -> float:
        return 64 * EPS * self.mean_diagonal

    @property
    def positive_semidefinite(self) -> bool:
        return bool(self.kernel.positive_semidefinite)

    @cached_property
    def _operator(self) -> CenteredGram:
        return CenteredGram(self.raw, Centering(self.weights, self.center))

    def operator(self) -> CenteredGram:
        return self._operator

    def subspace(self, spectrum: Spectrum) -> DualSubspace:
        """axes = J V L^-½; K₀ axes = s^-½ V L^½ + 1 (K₀s)ᵀaxes follows from K V = V L, at no further product."""
        centering = self._operator.centering
        roots = np.sqrt(spectrum.eigenvalues)
        axes = centering.apply(spectrum.eigenvectors) / roots
        raw_mean = self._operator.raw_mean if self.center else np.zeros(len(self.weights))
        seen = self.weights > 0
        images = np.empty_like(axes)
        images[seen] = spectrum.eigenvectors[seen] * roots / np.sqrt(self.weights[seen])[:, None] + raw_mean @ axes
        if not seen.all():
            images[~seen] = (self.raw @ axes)[~seen]
        return DualSubspace(self.kernel, self.points, centering.affine, axes, raw_mean, images, self.dim)
