"""How the components of a mixture see complete rows: all of them through one matrix product [2, 6]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian._precision import HALF_DIGITS
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.model import PrimalModel


@dataclass(frozen=True)
class WhitenedComponents:
    """How all components see complete rows at once: whitened scores v_k = (1/σ² - 1/Λ)^½ Uᵀ(x - μ), from one product.

    Then Mahalanobis = |x - μ|² / σ² - |v|² [2, Woodbury], log p(x) = log p(μ) - Mahalanobis / 2, and the posterior mean
    E[z | x] = (σ² / Λ)^½ v. The Gaussians themselves say what log p(μ) is, and the posterior covariance.
    """

    models: list[PrimalModel]
    means: Array  # (K, d)
    table: Array  # (K q + K, d): whitened axes, those of fewer components padded with 0, then μ / σ²
    offsets: Array  # (K q,)
    at_mean: Array  # (K,) log π + log p(μ) - |μ|² / 2σ²
    precisions: Array  # (K,) 1 / σ²
    gains: Array  # (K, q): from whitened scores to latents; 0 where padded
    far: bool

    @classmethod
    def of(cls, models: list[PrimalModel], mixing: Array) -> WhitenedComponents:
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
            means,
            np.vstack([axes.reshape(K * q, d), means * precisions[:, None]]),
            np.einsum("kqd,kd->kq", axes, means).ravel(),
            at_mean,
            precisions,
            gains,
            bool((norms * precisions).max() > 1.0 / HALF_DIGITS),
        )

    def __call__(self, values: Array, squares: Array) -> tuple[Array, Array]:
        """Whitened scores (K, q, n), and log π_k + log p(x | k) (n, K).

        Both hold a vector over the rows per entry: sums over a few latents or components are then sums of long vectors.
        """
        K, q = self.gains.shape
        if self.far:
            return self._one_by_one(values)
        products = self.table @ values.T
        products[: K * q] -= self.offsets[:, None]
        whitened = products[: K * q].reshape(K, q, len(values))
        terms = np.einsum("kqn,kqn->kn", whitened, whitened)
        terms *= 0.5
        terms += products[K * q :]
        terms -= (0.5 * self.precisions)[:, None] * squares
        terms += self.at_mean[:, None]
        return whitened, terms.T

    def _one_by_one(self, values: Array) -> tuple[Array, Array]:
        """The same, each mean subtracted before the product: when clusters are far apart the digits are gone after it."""
        K, q = self.gains.shape
        whitened, terms = np.zeros((K, q, len(values))), np.empty((K, len(values)))
        for k, model in enumerate(self.models):
            seen = model.subspace.project(values)
            scores = seen.scores * whitening(model.gaussian)
            whitened[k, : scores.shape[1]] = scores.T
            norm = float(model.subspace.mean @ model.subspace.mean)
            distance = seen.squared_norm * self.precisions[k] - np.einsum("nq,nq->n", scores, scores)
            terms[k] = self.at_mean[k] + 0.5 * norm * self.precisions[k] - 0.5 * np.maximum(distance, 0.0)
        return whitened, terms.T


def whitening(gaussian: LatentGaussian) -> Array:
    """(1/σ² - 1/Λ)^½ = Δ / (σ Λ^½)."""
    return np.asarray(gaussian.gains / np.sqrt(gaussian.noise_variance * gaussian.eigenvalues))


def at_the_mean(gaussian: LatentGaussian) -> Projection:
    """What a Gaussian sees of its own mean."""
    return Projection(np.zeros((1, gaussian.n_components)), np.zeros(1), gaussian.dim)
