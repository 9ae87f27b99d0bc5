"""Misprints of Montemurri & Mhedhbi: EM, the mixture's M-step, and the kernel model."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian import KernelPPCA, PPCAMixture
from gramian._arrays import Array
from gramian.kernels import RBF
from gramian.papers._claim import relative
from gramian.papers._misprint import Errors, Misprint
from gramian.papers.mm_laws import closed_form, em_step

Q = 2


def _rows(rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows, and responsibilities of two components for them."""
    X = rng.normal(size=(60, 5)) * [3.0, 2.0, 1.0, 0.7, 0.5]
    shares = rng.uniform(size=60) ** 2
    return X, np.column_stack([shares, 1.0 - shares])


def _scatter(X: Array, shares: Array) -> Array:
    offset = X - shares @ X / shares.sum()
    return np.asarray(offset.T @ (shares[:, None] * offset))


def _steps(X: Array, start: Array, steps: int = 1, **options: Any) -> PPCAMixture:
    """The library's mixture after so many M-steps from given responsibilities."""
    return PPCAMixture(2, Q, init=start, max_iter=steps, tol=0.0, **options).fit(X)


def sums(rng: np.random.Generator) -> Errors:
    """S W as a sum over rows in the M-step of 2.4.2: one EM step from the same W, against S as a mean."""
    X, start = _rows(rng)
    one, two = (_steps(X, start, steps, solver="em") for steps in (1, 2))
    shares = one.predict_proba(X)[:, 0]
    total, W, noise = _scatter(X, shares), one.loadings_[0], float(one.noise_variances_[0])
    wanted, printed = (em_step(S, W, noise)[0] for S in (total / shares.sum(), total))
    found = two.loadings_[0]
    return relative(printed @ printed.T, wanted @ wanted.T), relative(found @ found.T, wanted @ wanted.T)


def scatter(rng: np.random.Generator) -> Errors:
    """The M-step must be a maximum: the mean squared Mahalanobis distance of the weighted rows is then exactly d."""
    X, start = _rows(rng)
    shares = start[:, 0]
    total, mixing, d = _scatter(X, shares), float(shares.mean()), X.shape[1]
    values, axes, noise = closed_form(total / (mixing * shares.sum()), Q)
    model = _steps(X, start)
    W = model.loadings_[0]
    found = []
    for C in (
        (axes * (values - noise)) @ axes.T + noise * np.eye(d),
        W @ W.T + float(model.noise_variances_[0]) * np.eye(d),
    ):
        found.append(relative(np.trace(np.linalg.solve(C, total)) / shares.sum(), d))
    return found[0], found[1]


def old_noise(rng: np.random.Generator) -> Errors:
    """The gradient C^-1 S C^-1 W - C^-1 W of the expected likelihood after the step, relative to its second term."""
    X, start = _rows(rng)
    S = _scatter(X, start[:, 0]) / start[:, 0].sum()
    values, axes, noise = closed_form(S, Q)
    model = _steps(X, start)
    found = []
    for W, after in (
        (axes * np.sqrt(values - 0.4 * noise), noise),
        (model.loadings_[0], float(model.noise_variances_[0])),
    ):
        C = W @ W.T + after * np.eye(len(S))
        pull = np.linalg.solve(C, W)
        found.append(relative(np.linalg.solve(C, S @ pull), pull))
    return found[0], found[1]


def _kernel(rng: np.random.Generator, m: int, n: int = 20) -> tuple[Array, KernelPPCA]:
    """A centred kernel matrix, and the library's model of the same rows."""
    X = rng.normal(size=(n, 3))
    K = RBF(1.5)(X)
    centred = np.asarray(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())
    noise = 0.0 if m == n - 1 else "ml"  # all components: none is left
    return centred, KernelPPCA(m, kernel=RBF(1.5), noise_variance=noise, solver="eigh").fit(X)


def scales(rng: np.random.Generator) -> Errors:
    """The trace of C = B B* + sigma2 I must be the total variance tr(HKH)/n."""
    m = 3
    K, model = _kernel(rng, m)
    n = len(K)
    lam = np.linalg.eigvalsh(K)[::-1]
    values, printed = lam / n, lam[m:].sum() / (n - m)
    traces = [
        (values[:m] - printed).sum() + n * printed,
        (model.explained_variance_ - model.noise_variance_).sum() + n * model.noise_variance_,
    ]
    return relative(traces[0], values.sum()), relative(traces[1], values.sum())


def covariance(rng: np.random.Generator) -> Errors:
    """The m leading eigenvalues of C must be those of HKH/n, and its trace the total variance."""
    m = 3
    K, model = _kernel(rng, m)
    n = len(K)
    values = np.linalg.eigvalsh(K / n)[::-1]
    noise = values[m:].sum() / (n - m)
    E, own = model.eigenvectors_, model.noise_variance_
    right = (E * (model.explained_variance_ - own)) @ E.T + own * np.eye(n)
    wanted = np.append(values[:m], values.sum())
    found = [np.append(np.linalg.eigvalsh(C)[::-1][:m], np.trace(C)) for C in (K + noise * np.eye(n), right)]
    also = K / n + noise * np.eye(n)  # K on the scale of the right one
    printed = min(relative(found[0], wanted), relative(np.trace(also), values.sum()))
    return printed, relative(found[1], wanted)


def decomposition(rng: np.random.Generator) -> Errors:
    """Lambda A A^T, and A Lambda A^T of the library's eigenpairs, against the centred kernel matrix."""
    K, model = _kernel(rng, 19)
    values, vectors = np.linalg.eigh(K)
    A, lam = model.eigenvectors_, len(K) * model.explained_variance_
    return relative(np.diag(values) @ vectors @ vectors.T, K), relative((A * lam) @ A.T, K)


MM = (
    Misprint(
        "2-4-2", "MM 2.4.2", "S W = sum_n (x_n - mu){(x_n - mu)^T W}", "1/N sum_n ...", sums,
        "One EM step from the same W: with the sum it is another step.",
    ),
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
