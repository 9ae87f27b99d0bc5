"""Misprints of Montemurri & Mhedhbi: the mixture's M-step, and the kernel model."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian.kernels import RBF
from gramian.papers._claim import relative
from gramian.papers._misprint import Errors, Misprint


def _weighted(rng: np.random.Generator) -> tuple[Array, Array, float]:
    """The scatter of a component's rows around its mean, responsibilities as weights; their sum; the mixing weight."""
    X = rng.normal(size=(60, 5)) * [3.0, 2.0, 1.0, 0.7, 0.5]
    shares = rng.uniform(size=60) ** 2
    offset = X - shares @ X / shares.sum()
    return np.asarray(offset.T @ (shares[:, None] * offset)), shares, float(shares.sum() / 60)


def _closed_form(S: Array, q: int) -> tuple[Array, Array, float]:
    values, vectors = np.linalg.eigh(S)
    values, vectors = values[::-1], vectors[:, ::-1]
    return values[:q], vectors[:, :q], float(values[q:].mean())


def scatter(rng: np.random.Generator) -> Errors:
    """The M-step must be a maximum: the mean squared Mahalanobis distance of the weighted rows is then exactly d."""
    total, shares, mixing = _weighted(rng)
    d = len(total)
    found = []
    for S in (total / (mixing * shares.sum()), total / shares.sum()):
        values, axes, noise = _closed_form(S, 2)
        C = (axes * (values - noise)) @ axes.T + noise * np.eye(d)
        found.append(relative(np.trace(np.linalg.solve(C, total)) / shares.sum(), d))
    return found[0], found[1]


def old_noise(rng: np.random.Generator) -> Errors:
    """The gradient C^-1 S C^-1 W - C^-1 W of the expected likelihood after the step, relative to its second term."""
    total, shares, _ = _weighted(rng)
    S = total / shares.sum()
    values, axes, noise = _closed_form(S, 2)
    found = []
    for used in (0.4 * noise, noise):
        W = axes * np.sqrt(values - used)
        C = W @ W.T + noise * np.eye(len(S))
        pull = np.linalg.solve(C, W)
        found.append(relative(np.linalg.solve(C, S @ pull), pull))
    return found[0], found[1]


def _centred(rng: np.random.Generator, n: int = 20) -> Array:
    K = RBF(1.5)(rng.normal(size=(n, 3)))
    return np.asarray(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())


def scales(rng: np.random.Generator) -> Errors:
    """The trace of C = B B* + sigma2 I must be the total variance tr(HKH)/n."""
    K, m = _centred(rng), 3
    n = len(K)
    lam = np.linalg.eigvalsh(K)[::-1]
    values = lam / n
    traces = [(values[:m] - noise).sum() + n * noise for noise in (lam[m:].sum() / (n - m), values[m:].sum() / (n - m))]
    return relative(traces[0], values.sum()), relative(traces[1], values.sum())


def covariance(rng: np.random.Generator) -> Errors:
    """The m leading eigenvalues of C must be those of HKH/n, and its trace the total variance."""
    K, m = _centred(rng), 3
    n = len(K)
    values, vectors = np.linalg.eigh(K / n)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = values[m:].mean() * (n - m) / (n - m)
    right = (vectors[:, :m] * (values[:m] - noise)) @ vectors[:, :m].T + noise * np.eye(n)
    wanted = np.append(values[:m], values.sum())
    found = [np.append(np.linalg.eigvalsh(C)[::-1][:m], np.trace(C)) for C in (K + noise * np.eye(n), right)]
    also = K / n + noise * np.eye(n)  # K on the scale of the right one
    printed = min(relative(found[0], wanted), relative(np.trace(also), values.sum()))
    return printed, relative(found[1], wanted)


def decomposition(rng: np.random.Generator) -> Errors:
    """Lambda A A^T and A Lambda A^T against the centred kernel matrix."""
    K = _centred(rng)
    values, vectors = np.linalg.eigh(K)
    return relative(np.diag(values) @ vectors @ vectors.T, K), relative((vectors * values) @ vectors.T, K)


MM = (
    Misprint(
        "algorithm-1-scatter", "MM alg. 1", "S_k = 1/(pi_k N_k) sum ...", "1/N_k", scatter,
        "After an M-step the mean squared Mahalanobis distance of the weighted rows is d, or the step is no maximum.",
    ),
    Misprint(
        "algorithm-1-noise", "MM alg. 1", "W_k from the old sigma_k^2", "from the new one", old_noise,
        "The gradient of the expected likelihood after the step, with an old noise of 0.4 times the new; at convergence the two agree.",
    ),
    Misprint(
        "4-2-4", "MM 4.2.4", "sigma2 from lambda of HKH, but U, Lambda of HKH/n", "one scale for both: l = lambda/n", scales,
        "The trace of the covariance against the total variance.",
    ),
    Misprint(
        "4-2-3", "MM 4.2.3", "C = K + sigma2 I_n", "C = U_m (L_m - sigma2 I) U_m^T + sigma2 I_n, with U, L of HKH/n", covariance,
        "The leading eigenvalues and the trace of C against those of HKH/n; also with K divided by n the trace is wrong.",
    ),
    Misprint("algorithm-2", "MM alg. 2", "K~ = Lambda A A^T", "A Lambda A^T", decomposition, "A A^T is the identity."),
)  # fmt: skip
