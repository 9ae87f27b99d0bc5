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
    """The rank of K_c of an RBF kernel (K itself has full rank N) against N and against the components that the library finds."""
    n = 12
    X = rng.normal(size=(n, 2))
    K = RBF(1.0)(X)
    K_c = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values = np.linalg.eigvalsh(K_c)
    rank = int((values > n * np.finfo(float).eps * values[-1]).sum())
    model = KernelPPCA(n - 1, kernel=RBF(1.0), noise_variance=0.0, solver="eigh").fit(X)
    try:
        KernelPPCA(n, kernel=RBF(1.0), solver="eigh").fit(X)
    except ValueError:
        return relative(n, rank), relative(model.n_components_, rank)
    return relative(n, rank), 1.0  # N components were fitted


def self_adjoint(rng: np.random.Generator) -> Errors:
    """B against its adjoint for the canonical basis; for the eigenvectors, with the law of the library's k_c for both."""
    p = Problem.draw(rng)
    canonical, own = p.B(np.eye(p.n)), p.B(p.spectrum[1])
    k = p.kernel_vectors(rng)
    found = p.dual.log_kernel_density(np.vstack([k, np.zeros(p.n)]))
    inverse = np.linalg.pinv(canonical @ canonical.T, rcond=1e-11)
    right = max(
        relative(own.T, own),
        relative(canonical @ canonical.T, own @ own.T),
        relative(found[:-1] - found[-1], -0.5 * np.einsum("ni,ij,nj->n", k, inverse, k)),
    )
    return relative(canonical.T, canonical), right


def eq_9(rng: np.random.Generator) -> Errors:
    """The gradient of log p(phi) + log p(h | phi) where phi_MAP is said to be, relative to its first term."""
    p = Problem.draw(rng)
    h = rng.normal(size=p.n_components)

    def slope(offset: Array) -> float:
        first = np.linalg.solve(p.covariance, offset)
        return relative(p.W @ (h - p.Sigma @ p.W.T @ offset) / p.noise_variance, first)

    decoded = p.primal.inverse_transform((h * p.flip)[None])[0] - p.mean
    return slope(np.linalg.pinv(p.Sigma @ p.W.T) @ h), slope(decoded)


def eq_12(rng: np.random.Generator) -> Errors:
    """W = Phi_c A with A of N x q; with A of q x q, on the first q points, the best that least squares can do."""
    p = Problem.draw(rng)
    first = p.centred[:, : p.n_components]
    best, *_ = np.linalg.lstsq(first, p.W, rcond=None)
    values = p.spectrum[0][: p.n_components] / p.n - p.noise_variance
    axes = np.linalg.svd(p.centred)[0][:, : p.n_components]
    exact = (axes * values) @ axes.T  # W W*, which no rotation of the latents changes
    W = p.centred @ p.dual.dual_coef_
    return relative(first @ best, p.W), relative(W @ W.T, exact)


def table_4(rng: np.random.Generator) -> Errors:
    """The share of cov(k_c) along each of its N - 1 directions that B B* gives (B of N x q: the best there is), and the rank of draws."""
    p = Problem.draw(rng)
    cov = p.centred.T @ p.covariance @ p.centred
    values, vectors = np.linalg.eigh(cov)
    values, vectors = values[1:], vectors[:, 1:]  # without the direction that centring removes
    top = vectors[:, -p.n_components :] * np.sqrt(values[-p.n_components :])
    B = p.B(np.eye(p.n))
    shares = [np.diag(vectors.T @ found @ vectors) / values for found in (top @ top.T, B @ B.T)]
    drawn = p.dual.sample_kernel(30, random_state=0)
    rank = np.linalg.matrix_rank(drawn, tol=1e-9 * np.linalg.norm(drawn, 2))
    return relative(shares[0], np.ones(p.n - 1)), max(relative(shares[1], np.ones(p.n - 1)), relative(rank, p.n - 1))


def figure_noise(rng: np.random.Generator) -> Errors:
    """(100 - explained)/(N - q) as printed, to the digits printed: N of figure 3's caption, and N = 50; and a model of 50 points."""

    def off(n_of: dict[int, int]) -> float:
        found = [round((100 - explained) / (n_of[n] - q), 2) for q, (explained, _, n) in FIGURES.items()]
        return relative(found, [noise for _, noise, _ in FIGURES.values()])

    model = KernelPPCA(3, kernel=RBF(2.0), solver="eigh").fit(rng.normal(size=(50, 2)))
    explained = model.explained_variance_ratio_.sum()
    total = model.explained_variance_.sum() / explained
    ours = relative(model.noise_variance_ / total, (1 - explained) / (50 - 3))
    return off(CAPTION), max(off({50: 50, 500: 500}), ours)


DP_MORE = (
    Misprint(
        "full-rank", "DP throughout", "K_c of full rank N", "rank at most N - 1: use the numerical rank", full_rank,
        "An RBF kernel of 12 distinct points, whose K has full rank.",
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
)  # fmt: skip
