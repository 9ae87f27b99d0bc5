"""Misprints of De Plaen & Suykens (2023): ranks, shapes, figures."""

from __future__ import annotations

import numpy as np

from gramian import KernelPPCA
from gramian._arrays import Array
from gramian.kernels import RBF
from gramian.papers._claim import relative
from gramian.papers._misprint import Errors, Misprint, Problem

FIGURES = {1: (31.23, 1.40, 50), 3: (54.03, 0.98, 50), 10: (91.93, 0.20, 50), 2: (27.97, 0.14, 500)}
"""Figures 3 and 4: q -> explained variance and noise in per cent as printed, and the N that gives them."""
CAPTION = {50: 20, 500: 500}


def full_rank(rng: np.random.Generator) -> Errors:
    """The rank of K_c of an RBF kernel (K itself has full rank N) against N and against N - 1."""
    n = 12
    K = RBF(1.0)(rng.normal(size=(n, 2)))
    K_c = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values = np.linalg.eigvalsh(K_c)
    rank = int((values > n * np.finfo(float).eps * values[-1]).sum())
    return relative(n, rank), relative(n - 1, rank)


def eq_19(rng: np.random.Generator) -> Errors:
    """Denominators of the smoother: centred kernels against K0 (1/N + H a) for points phi = Phi (1/N + H a)."""
    X = rng.normal(size=(12, 2))
    K0 = RBF(1.0)(X)
    n = len(X)
    H = np.eye(n) - 1.0 / n
    # an exact feature point: that of a training row, a = e_i
    weights = 1.0 / n + H @ np.eye(n)[:, 3]
    right = (K0 @ weights).sum()
    printed = (H @ K0 @ H)[:, 3].sum()
    return relative(printed, K0[:, 3].sum()), relative(right, K0[:, 3].sum())


def self_adjoint(rng: np.random.Generator) -> Errors:
    """B against its adjoint for the canonical basis; for the eigenvectors, with the same B B* for both."""
    p = Problem.draw(rng)
    canonical, own = p.B(np.eye(p.n)), p.B(p.spectrum[1])
    right = max(relative(own.T, own), relative(canonical @ canonical.T, own @ own.T))
    return relative(canonical.T, canonical), right


def eq_9(rng: np.random.Generator) -> Errors:
    """The gradient of log p(phi) + log p(h | phi) where phi_MAP is said to be, relative to its first term."""
    p = Problem.draw(rng)
    h = rng.normal(size=p.n_components)

    def slope(operator: Array) -> float:
        offset = operator @ h
        first = np.linalg.solve(p.covariance, offset)
        return relative(p.W @ (h - p.Sigma @ p.W.T @ offset) / p.noise_variance, first)

    return slope(np.linalg.pinv(p.Sigma @ p.W.T)), slope(p.W)


def eq_12(rng: np.random.Generator) -> Errors:
    """W = Phi_c A with A of N x q; with A of q x q, on the first q points, the best that least squares can do."""
    p = Problem.draw(rng)
    first = p.centred[:, : p.n_components]
    best, *_ = np.linalg.lstsq(first, p.W, rcond=None)
    values = p.spectrum[0][: p.n_components] / p.n - p.noise_variance
    axes = np.linalg.svd(p.centred)[0][:, : p.n_components]
    exact = (axes * values) @ axes.T  # W W*, which no rotation of the latents changes
    return relative(first @ best, p.W), relative(p.W @ p.W.T, exact)


def table_4(rng: np.random.Generator) -> Errors:
    """The share of cov(k_c) along each of its N - 1 directions that B B* gives: B of N x q (the best there is), and of N x N."""
    p = Problem.draw(rng)
    cov = p.centred.T @ p.covariance @ p.centred
    values, vectors = np.linalg.eigh(cov)
    values, vectors = values[1:], vectors[:, 1:]  # without the direction that centring removes
    top = vectors[:, -p.n_components :] * np.sqrt(values[-p.n_components :])
    B = p.B(np.eye(p.n))
    shares = [np.diag(vectors.T @ found @ vectors) / values for found in (top @ top.T, B @ B.T)]
    return relative(shares[0], np.ones(p.n - 1)), relative(shares[1], np.ones(p.n - 1))


def figure_noise(rng: np.random.Generator) -> Errors:
    """(100 - explained)/(N - q) as printed, to the digits printed: N of figure 3's caption, and N = 50."""

    def off(n_of: dict[int, int]) -> float:
        found = [round((100 - explained) / (n_of[n] - q), 2) for q, (explained, _, n) in FIGURES.items()]
        return relative(found, [noise for _, noise, _ in FIGURES.values()])

    return off(CAPTION), off({50: 50, 500: 500})


def figure_4c(rng: np.random.Generator) -> Errors:
    """The kernel vector of a grid point in B's u against `KernelPPCA.kernel_mean` of z = u and of z = u (1 - sigma2/l)^-1/2."""
    X = rng.normal(size=(25, 3))
    model = KernelPPCA(2, kernel=RBF(2.0), solver="eigh").fit(X)
    u = rng.uniform(-1, 1, size=(4, 2))
    lam = model.explained_variance_ * len(X)
    exact = (u * lam / np.sqrt(len(X))) @ model.eigenvectors_.T
    z = u / np.sqrt(1.0 - model.noise_variance_ / model.explained_variance_)
    return relative(model.kernel_mean(u), exact), relative(model.kernel_mean(z), exact)


DP_MORE = (
    Misprint(
        "full-rank", "DP throughout", "K_c of full rank N", "rank at most N - 1: use the numerical rank", full_rank,
        "An RBF kernel of 12 distinct points, whose K has full rank.",
    ),
    Misprint(
        "eq-19", "DP eq. 19", "smoother on centred kernels", "on the uncentred k = K0 (1/N + H a)", eq_19,
        "The sum of centred kernel values, by which the smoother divides, is zero at training points; the uncentred one is known exactly.",
    ),
    Misprint(
        "b-self-adjoint", "DP 4.4", "B self-adjoint for the canonical basis", "only when the basis is the eigenvectors", self_adjoint,
        "Either choice gives the same B B*, so the same law.",
    ),
    Misprint(
        "eq-9", "DP eq. 9", "phi_MAP = W_MAP h + phi_c", "W_ML h + phi_c", eq_9,
        "W_MAP is defined nowhere. Read as the operator that undoes h_MAP (the pseudo-inverse of eq. 8) it misses the maximum of p(phi | h).",
    ),
    Misprint(
        "eq-12", "DP eq. 12, 46", "A : L -> L", "A : L -> E, N x q", eq_12,
        "With q x q the product with Phi_c is only defined on q of the N points, and cannot give W.",
    ),
    Misprint(
        "table-4", "DP table 4", "B in R^(N x q)", "N x N", table_4, "No N x q matrix has the covariance of k_c, whose rank is N - 1."
    ),
    Misprint(
        "figures-noise", "DP fig. 3, 4", "sigma2 in per cent; figure 3 with N = 20", "(1 - explained)/(N - q) of the total, with N = 50 in figure 3",
        figure_noise, "The printed noise levels follow from the printed explained variances to the last digit with N = 50, and do not with 20.",
    ),
    Misprint(
        "figure-4c", "DP fig. 4c", "grid over z", "over B's u = z (1 - sigma2/l)^(1/2)", figure_4c, "Against the kernel vectors B u."
    ),
)  # fmt: skip
