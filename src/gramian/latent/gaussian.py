"""LatentGaussian: all the probability of the library, once. Projection: what it needs to know of a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array, symmetrized
from gramian._checks import check_count, check_random_state

SEEN = 1e-10
"""Directions whose seen share is below this (relative) count as unseen when the noise is exactly zero."""


@dataclass(frozen=True)
class Projection:
    """What the model sees of n points: t = Uₒᵀ(φ - μ)ₒ, g = |(φ - μ)ₒ|², |o| and the overlap G = UₒᵀUₒ [2].

    ``overlap`` is None when everything was seen (G = I), (q, q) when all points miss the same part, else (n, q, q);
    ``dim`` is a number or one a point.
    """

    scores: Array  # (n, q)
    squared_norm: Array  # (n,)
    dim: Any
    overlap: Array | None = None

    def __getitem__(self, rows: Any) -> Projection:
        """The same for some of the points."""
        dim = self.dim[rows] if np.ndim(self.dim) else self.dim
        overlap = self.overlap[rows] if self.overlap is not None and self.overlap.ndim == 3 else self.overlap
        return Projection(self.scores[rows], self.squared_norm[rows], dim, overlap)


@dataclass(frozen=True)
class Posterior:
    """z | x ~ N(mean, covariance): one row a point; the covariance is shared (q, q) or one a point (n, q, q)."""

    mean: Array
    covariance: Array

    def sample(self, n_draws: int = 1, random_state: Any = None) -> Array:
        """Draws of the latents, shape (n_draws, n, q)."""
        n_draws = check_count("n_draws", n_draws, 1)
        rng = check_random_state(random_state)
        root = square_root(np.asarray(self.covariance, dtype=np.float64))
        noise = rng.standard_normal((n_draws, *self.mean.shape))
        if root.ndim == 2:
            return self.mean + noise @ root.T
        return self.mean + np.einsum("nij,mnj->mni", root, noise)


def square_root(covariance: Array) -> Array:
    """R with R Rᵀ = covariance, for singular ones too (batched)."""
    values, vectors = np.linalg.eigh(symmetrized(covariance))
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]


@dataclass(frozen=True)
class LatentGaussian:
    """φ = μ + Wz + ε, z ~ N(0, I), ε ~ N(0, σ²I_D), W = U(Λ - σ²I)^½ ([TB] eq. 7) [2].

    Knows Λ, σ² and D, and sees points only through a :class:`Projection`.
    """

    eigenvalues: Array  # Λ, (q,)
    noise_variance: float  # σ²
    dim: float  # D, the dimension that the noise lives in

    @property
    def n_components(self) -> int:
        return len(self.eigenvalues)

    @property
    def gains(self) -> Array:
        """Δ = (Λ - σ²)^½: from latents to scores."""
        return np.sqrt(np.maximum(self.eigenvalues - self.noise_variance, 0.0))

    # ------------------------------------------------------------ latents

    def posterior(self, seen: Projection, solved: tuple[Array, Array] | None = None) -> Posterior:
        """E[z | o] = Mₒ⁻¹ Δ Uₒᵀ(φ - μ)ₒ and Cov = σ² Mₒ⁻¹ with Mₒ = ΔGΔ + σ²I; Mₒ = Λ when all is seen [2].

        ``solved`` is `_inverse` of the same overlap, for calls that repeat it.
        """
        if seen.overlap is None:
            keep = self.eigenvalues > 0
            safe = np.where(keep, self.eigenvalues, 1.0)
            return Posterior(seen.scores * (self.gains / safe), np.diag(self.noise_variance / safe))
        inverse, covariance = self._inverse(seen.overlap) if solved is None else solved
        targets = seen.scores * self.gains
        return Posterior(_apply(inverse, targets), covariance)

    def decode(self, latent: Array) -> Array:
        """The scores of W z: from latents to coordinates along the principal axes."""
        return latent * self.gains

    def complete_scores(self, seen: Projection) -> Array:
        """E[t | o] = Uₒᵀrₒ + (I - G) Δ E[z | o]: the scores, what was not seen filled by its expectation [2]."""
        if seen.overlap is None:
            return seen.scores
        decoded = self.decode(self.posterior(seen).mean)
        return seen.scores + decoded - _apply(seen.overlap, decoded)

    # ------------------------------------------------------------ distances and densities

    def mahalanobis(self, seen: Projection) -> Array:
        """(φ - μ)ᵀ(WWᵀ + σ²I)⁻¹(φ - μ) over what was seen ([ZH] eq. 12) [2]."""
        self.require_noise("mahalanobis")
        if seen.overlap is None:
            return self.t_squared(seen) + self.residual(seen) / self.noise_variance
        targets = seen.scores * self.gains
        inverse, _ = self._inverse(seen.overlap)
        explained = np.einsum("ni,ni->n", targets, _apply(inverse, targets))
        return np.maximum(seen.squared_norm - explained, 0.0) / self.noise_variance

    def log_density(self, seen: Projection) -> Array:
        """log p of what was seen, with q x q systems only [2]."""
        self.require_noise("score_samples")
        q = self.n_components
        if seen.overlap is None:
            log_det = np.log(self.eigenvalues).sum()
            dim = self.dim
        else:
            log_det = np.linalg.slogdet(self._precision(seen.overlap))[1] if q else 0.0
            dim = seen.dim
        log_noise = (dim - q) * np.log(self.noise_variance)
        return -0.5 * (dim * np.log(2 * np.pi) + log_det + log_noise + self.mahalanobis(seen))

    def residual(self, seen: Projection) -> Array:
        """Squared distance of what was seen to the principal subspace: g - tᵀG⁺t ([ZH] eq. 13) [2]."""
        if seen.overlap is None:
            explained = np.einsum("ni,ni->n", seen.scores, seen.scores)
        else:
            inverse = np.linalg.pinv(seen.overlap, rcond=SEEN, hermitian=True)
            explained = np.einsum("ni,ni->n", seen.scores, _apply(inverse, seen.scores))
        return np.maximum(seen.squared_norm - explained, 0.0)

    def t_squared(self, seen: Projection) -> Array:
        """T² = Σ t²/l; over a part, E[z]ᵀ Cov(E[z])⁻¹ E[z] with Cov(E[z]) = I - σ²Mₒ⁻¹: chi² of the seen rank [2]."""
        if seen.overlap is None:
            safe = np.where(self.eigenvalues > 0, self.eigenvalues, np.inf)
            return np.einsum("ni,ni,i->n", seen.scores, seen.scores, 1.0 / safe)
        posterior = self.posterior(seen)
        spread = np.eye(self.n_components) - posterior.covariance
        inverse = np.linalg.pinv(symmetrized(spread), rcond=SEEN, hermitian=True)
        return np.einsum("ni,ni->n", posterior.mean, _apply(inverse, posterior.mean))

    def require_noise(self, method: str) -> None:
        """Densities need noise: without it the model is a subspace, and the distance to it is `residual`."""
        if self.noise_variance <= 0:
            raise ValueError(
                f"{method} needs a positive noise variance, but noise_variance_ is 0.0 (plain PCA): the density is degenerate. "
                "Use residual(X), the squared distance to the subspace, or fit fewer components."
            )

    # ------------------------------------------------------------ q x q systems

    def _precision(self, overlap: Array) -> Array:
        """Mₒ = ΔGΔ + σ²I."""
        gains = self.gains
        return overlap * np.outer(gains, gains) + self.noise_variance * np.eye(len(gains))

    def _inverse(self, overlap: Array) -> tuple[Array, Array]:
        """Mₒ⁻¹ and σ²Mₒ⁻¹. At zero noise their limits: the pseudo-inverse, and the prior on what was not seen."""
        precision = self._precision(overlap)
        if self.noise_variance > 0:
            inverse = np.linalg.inv(precision)
            return inverse, self.noise_variance * inverse
        values, vectors = np.linalg.eigh(symmetrized(precision))
        scale = float(self.eigenvalues.max(initial=0.0))
        known = values > SEEN * scale
        weights = np.where(known, 1.0 / np.where(known, values, 1.0), 0.0)
        inverse = (vectors * weights[..., None, :]) @ vectors.swapaxes(-1, -2)
        unseen = (vectors * (~known).astype(float)[..., None, :]) @ vectors.swapaxes(-1, -2)
        return inverse, unseen


def _apply(matrices: Array, rows: Array) -> Array:
    """Each row times its own symmetric matrix, or all times one."""
    return rows @ matrices if matrices.ndim == 2 else np.einsum("nij,nj->ni", matrices, rows)
