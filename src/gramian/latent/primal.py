"""Models in primal coordinates: canonical form, reconstruction, and the predictive law of every cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._precision import SEEN
from gramian.latent.gaussian import LatentGaussian, Posterior, Projection, signal_variance
from gramian.latent.model import LatentModel, PrimalModel
from gramian.latent.small_sample import SmallSample
from gramian.latent.subspace import PrimalSubspace
from gramian.solvers.spectrum import Spectrum, positive_signs


def latent_model(mean: Array, loadings: Array, noise_variance: Any) -> PrimalModel:
    """The canonical model (axes, eigenvalues of WᵀW + σ²) of a mean, loadings and a noise.

    With a noise per column the axes are those of the rows in units in which every column has the mean noise.
    """
    d, q = loadings.shape
    scale = None
    if np.ndim(noise_variance):
        mean_noise = float(np.mean(noise_variance))
        scale = np.sqrt(noise_variance / mean_noise)
        loadings, noise_variance = loadings / scale[:, None], mean_noise
    axes, gains, _ = np.linalg.svd(loadings, full_matrices=False)
    axes = axes[:, :q] * positive_signs(axes[:, :q])
    axes[~loadings.any(axis=1)] = 0.0  # but for rounding
    eigenvalues = gains**2 + noise_variance
    trace = float((gains**2).sum() + d * noise_variance)
    spectrum = Spectrum(eigenvalues, np.empty((0, q)), trace)
    subspace = PrimalSubspace(mean, np.ascontiguousarray(axes.T), scale)
    return LatentModel(subspace, LatentGaussian(eigenvalues, noise_variance, float(d)), spectrum)


def rebuild_rows(model: PrimalModel, seen: Projection, kind: str) -> Array:
    """The rows as a component sees them: μ + W E[z | x] ("map"), or the nearest point of its subspace ("projection") [2]."""
    if kind == "map":
        return np.asarray(model.subspace.embed(model.gaussian.decode(model.gaussian.posterior(seen).mean)))
    scores = seen.scores
    if seen.overlap is not None:
        inverse = seen.of_overlaps(lambda G: np.linalg.pinv(G, rcond=SEEN, hermitian=True))
        scores = np.einsum("nij,nj->ni", inverse, scores)
    return np.asarray(model.subspace.embed(scores))


def predictive(model: PrimalModel, seen: Projection, correction: SmallSample | None = None) -> tuple[Array, Array]:
    """Mean μ + W E[z | o] and variance diag(W Cov[z | o] Wᵀ) + σ² of every cell given what was seen [5].

    With ``correction`` the variance has what estimating the parameters adds, such that 1.645 standard deviations cover 90 % [12].
    """
    posterior, mean, signal = _signal(model, seen)
    noise = model.subspace.column_noise(model.gaussian.noise_variance)
    if correction is None:
        return mean, np.broadcast_to(signal + noise, mean.shape)
    return mean, correction.cell_variance(signal, noise, posterior.mean)


def signal_std(
    model: PrimalModel, seen: Projection, correction: SmallSample | None = None, unseen: Array | None = None
) -> Array:
    """Standard deviation of every cell of μ + Wz given what was seen, without the noise; ``unseen`` cells matter to the correction."""
    posterior, mean, signal = _signal(model, seen)
    if correction is None:
        return np.broadcast_to(np.sqrt(signal), mean.shape)
    noise = model.subspace.column_noise(model.gaussian.noise_variance)
    variance = correction.signal_variance(signal, noise, posterior.mean, unseen)
    return np.asarray(np.sqrt(variance))


def _signal(model: PrimalModel, seen: Projection) -> tuple[Posterior, Array, Array]:
    """The posterior, μ + W E[z | o] and diag(W Cov[z | o] Wᵀ)."""
    posterior = model.gaussian.posterior(seen)
    mean = model.subspace.embed(model.gaussian.decode(posterior.mean))
    loadings = model.subspace.loadings(model.gaussian.gains)
    return posterior, mean, signal_variance(loadings, posterior.covariance)
