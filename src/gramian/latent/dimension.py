"""Choosing q: a count, a fraction of variance, above a noise level, Minka's evidence, BIC [2]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

from gramian._arrays import Array
from gramian._precision import ROUNDING
from gramian.latent.gaussian import log_likelihoods_of_each_q, noise_of_each_q


def for_fraction(eigenvalues: Array, trace: float, fraction: float) -> int | None:
    """The smallest q that explains ``fraction`` of the trace; None when these eigenvalues do not reach it."""
    reached = np.cumsum(np.maximum(eigenvalues, 0.0)) >= fraction * trace * (1 - 1e-12)
    return int(reached.argmax()) + 1 if reached.any() else None


def above_noise(eigenvalues: Array, noise_variance: float) -> int | None:
    """#{p : l_p > σ²}; None when even the last of these eigenvalues is above."""
    above = eigenvalues > noise_variance
    return None if above.all() and above.size else int(above.sum())


def free_parameters(n_features: int, n_components: int, *, noise: int = True, mean: bool = True) -> int:
    """d q - q(q-1)/2 + the number of estimated noises + d (estimated mean), with q <= d - 1 [2]."""
    q = min(n_components, max(n_features - 1, 0))
    return n_features * q - q * (q - 1) // 2 + int(noise) + n_features * int(mean)


def by_bic(eigenvalues: Array, trace: float, n_features: int, weight: float) -> int:
    """The q in 0..rank-1 of the smallest BIC, from the whole spectrum: the maximised likelihood is closed form.

    0 says that there is no structure above isotropic noise.
    """
    count = max(1, min(len(eigenvalues), n_features)) - 1
    levels = log_likelihoods_of_each_q(
        eigenvalues[:count], trace, n_features, eigenvalues[:count], trace, floor=ROUNDING * trace / n_features
    )
    noise = noise_of_each_q(eigenvalues[:count], trace, n_features)
    sizes = [free_parameters(n_features, q) for q in range(count + 1)]
    bic = np.array(sizes) * np.log(weight) - 2 * weight * levels
    bic[noise <= ROUNDING * trace / n_features] = np.inf
    return int(bic.argmin()) if np.isfinite(bic).any() else 0


def by_evidence(eigenvalues: Array, n_features: int, weight: float) -> int:
    """The q in 1..d-1 of the largest Laplace evidence (Minka 2000, eq. 77)."""
    if len(eigenvalues) < 2:
        return len(eigenvalues)
    evidences = [
        minka_evidence(eigenvalues, q, n_features, weight) for q in range(1, min(len(eigenvalues), n_features))
    ]
    return int(np.argmax(evidences)) + 1


def minka_evidence(eigenvalues: Array, q: int, n_features: int, weight: float) -> float:
    """log p(data | q) up to a constant; ``eigenvalues`` is the whole spectrum, zeros beyond the rank left out."""
    d = n_features
    spectrum = np.zeros(d)
    spectrum[: len(eigenvalues)] = eigenvalues
    if spectrum[q - 1] <= 0:
        return -np.inf
    noise = max(spectrum[q:].sum() / (d - q), np.finfo(float).tiny)
    steps = np.arange(1, q + 1)
    prior = -q * np.log(2.0) + (gammaln((d - steps + 1) / 2) - np.log(np.pi) * (d - steps + 1) / 2).sum()
    fit = -0.5 * weight * (np.log(spectrum[:q]).sum() + (d - q) * np.log(noise))
    size = d * q - q * (q + 1) / 2
    smoothed = np.concatenate([spectrum[:q], np.full(d - q, noise)])
    rows, columns = np.triu_indices(d, 1)
    inside = rows < q
    i, j = rows[inside], columns[inside]
    curvature = (spectrum[i] - spectrum[j]) * (1 / smoothed[j] - 1 / smoothed[i])
    if (curvature <= 0).any():
        return -np.inf
    hessian = np.log(curvature).sum() + len(i) * np.log(weight)
    return float(prior + fit + np.log(2 * np.pi) * (size + q) / 2 - 0.5 * hessian - q * np.log(weight) / 2)


def lowest_of_valley(height: Callable[[int], float], last: int) -> int:
    """The lowest place in 0..last of a function that falls and then rises, in about 2 log2 evaluations.

    >>> lowest_of_valley(lambda q: (q - 11) ** 2, 60)
    11
    """
    low, high = 0, min(1, last)
    while high < last and height(high) < height(low):
        low, high = high, min(2 * high, last)
    low //= 2  # the lowest place may lie before the last one that still fell
    while high - low > 2:
        middle = (low + high) // 2
        if height(middle) < height(middle + 1):
            high = middle + 1
        else:
            low = middle
    return min(range(low, high + 1), key=height)
