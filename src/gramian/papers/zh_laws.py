"""ZH equation by equation: kernel models against the explicit features of a polynomial kernel, single EM steps, mixtures, the classifier's rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal

from gramian import KernelPPCA, KernelPPCAClassifier, KernelPPCAMixture, kernels
from gramian import features as maps
from gramian._arrays import Array
from gramian.papers._claim import Claim, Result, formulas, relative, signs
from gramian.papers.mm_laws import STEPS, em_levels
from gramian.solvers import Em

RHO = 0.05
KERNEL: dict[str, Any] = {"degree": 2, "gamma": 0.5, "coef0": 1.0}


def points(rng: np.random.Generator, n: int = 40) -> Array:
    """Rows of three columns, not about 0."""
    return np.asarray(rng.normal(size=(n, 3)) * [1.2, 0.9, 0.6] + [0.5, 0.0, -0.3])


def explicit(X: Array, fitted: Array) -> Array:
    """phi(x) of the polynomial kernel, (n, f)."""
    return np.asarray(maps.Polynomial(**KERNEL).fit(fitted).transform(X))


@dataclass(frozen=True)
class Density:
    """One PKPCA density N(mean, W W^T + rho I) of weighted features, by f x f matrices (ZH eqs. 1, 7, 19)."""

    features: Array
    weights: Array  # summing to 1
    q: int
    rho: float = RHO

    @cached_property
    def mean(self) -> Array:
        return np.asarray(self.weights @ self.features)

    @cached_property
    def pairs(self) -> tuple[Array, Array]:
        centred = self.features - self.mean
        values, vectors = np.linalg.eigh(centred.T @ (self.weights[:, None] * centred))
        return values[::-1][: self.q], np.asarray(vectors[:, ::-1][:, : self.q])

    @cached_property
    def W(self) -> Array:  # noqa: N802
        values, vectors = self.pairs
        return np.asarray(vectors * np.sqrt(values - self.rho))

    @cached_property
    def covariance(self) -> Array:
        return np.asarray(self.W @ self.W.T + self.rho * np.eye(len(self.mean)))

    def distance(self, F: Array) -> Array:
        """ZH eq. 12 by the whole inverse."""
        offset = F - self.mean
        return np.einsum("ni,ni->n", offset, np.linalg.solve(self.covariance, offset.T).T)

    def limiting(self, F: Array) -> Array:
        """ZH eq. 13: what the principal subspace leaves."""
        offset = F - self.mean
        return np.square(offset - offset @ self.pairs[1] @ self.pairs[1].T).sum(axis=1)

    def hat(self, F: Array) -> Array:
        """ZH eq. 16."""
        M = self.W.T @ self.W + self.rho * np.eye(self.q)
        return self.distance(F) + np.linalg.slogdet(M)[1] - self.q * np.log(self.rho)


def section_2(full: bool, rng: np.random.Generator) -> Result:
    """Eqs. 2 to 13, and the density of eq. 15."""
    rows: list[tuple[Any, ...]] = []
    for q in (1, 3) if full else (2,):
        X, new = points(rng), points(rng, 6)
        F, G = explicit(X, X), explicit(new, X)
        n, f = F.shape
        exact = Density(F, np.full(n, 1.0 / n), q)
        kernel = kernels.Polynomial(**KERNEL)
        model = KernelPPCA(q, kernel=kernel, noise_variance=RHO, noise_dim=f, solver="eigh").fit(X)
        limit = KernelPPCA(q, kernel=kernel, noise_variance=0.0, solver="eigh").fit(X)
        J = (np.eye(n) - 1.0 / n) / np.sqrt(n)
        Q = np.sqrt(n) * model.dual_coef_
        W = F.T @ J @ Q
        turn = signs(exact.W, W)
        M = exact.W.T @ exact.W + RHO * np.eye(q)
        latent = np.linalg.solve(M, exact.W.T @ (G - exact.mean).T).T
        scores = (G - exact.mean) @ exact.pairs[1]
        law = multivariate_normal(exact.mean, exact.covariance)
        own = KernelPPCA(q, kernel=kernel, solver="eigh").fit(X)
        total = float(np.square(F - exact.mean).sum()) / n
        rows += [
            ("K0 = Phi^T Phi (2, 3)", relative(kernel(X), F @ F.T)),
            ("K = J^T K0 J (2)", relative(model.center_kernel(X) / n, J.T @ F @ F.T @ J)),
            ("eigenvalues of C (5)", relative(model.explained_variance_, exact.pairs[0])),
            ("U^T (phi - mean) (5)", relative(limit.scores(new) * signs(limit.scores(new), scores), scores)),
            ("W = Phi J Q (8, 9)", relative(W * turn, exact.W)),
            ("E[z | x] = M^-1 W^T (phi - mean) (6, 10)", relative(model.transform(new) * turn, latent)),
            ("Cov[z | x] = rho M^-1 (6, 10)", relative(model.posterior(new).covariance, RHO * np.linalg.inv(M))),
            ("distance (10, 12)", relative(model.mahalanobis(new), exact.distance(G))),
            ("limiting distance (13)", relative(limit.residual(new), exact.limiting(G))),
            ("density (15)", relative(model.score_samples(new), law.logpdf(G))),
            ("maximum-likelihood noise with D = N (DP eq. 6)", relative(own.noise_variance_, (total - exact.pairs[0].sum()) / (n - q))),
        ]  # fmt: skip
    return formulas(
        rows,
        "The features of a polynomial kernel are known, so everything that ZH writes with the kernel trick can be computed without it: f x f matrices against KernelPPCA.",
    )


def single_steps(full: bool, rng: np.random.Generator) -> Result:
    """Eq. 11 step by step: likelihoods along plain EM, with a given noise and with its own; and the end is the closed form."""
    rows: list[tuple[Any, ...]] = []
    for q in (1, 3):
        X = points(rng)
        kernel = kernels.RBF(1.5)
        plain = Em(tol=0.0, max_iter=STEPS, accelerate=False, random_state=0)
        K = KernelPPCA(1, kernel=kernel, solver="eigh").fit(X).center_kernel(X) / len(X)
        for noise in (0.01, "ml"):
            fixed = None if noise == "ml" else 0.01
            model = KernelPPCA(q, kernel=kernel, noise_variance=noise, solver=plain).fit(X)
            wanted = em_levels(K, q, float(len(X)), 0, fixed)
            found = np.diff(model.log_likelihoods_)  # the constant of the dimension cancels
            rows.append((f"gains of single steps, q = {q}, noise {noise}", relative(found, np.diff(wanted))))
            both = [
                KernelPPCA(q, kernel=kernel, noise_variance=noise, solver=s, tol=1e-10, max_iter=20_000, random_state=0).fit(X)
                for s in ("em", "eigh")
            ]  # fmt: skip
            laws = [model.dual_coef_ @ model.dual_coef_.T for model in both]
            rows.append((f"the end is eq. 9, q = {q}, noise {noise}", relative(laws[0], laws[1]), 1e-5))
    return formulas(
        rows,
        "Q' = K Q (rho I + M^-1 Q^T K^2 Q)^-1, with W = K^(1/2) Q: the likelihood gained by every step of the library's plain EM must be that of eq. 11 from the same start. "
        "Where EM ends says less: the last span is rotated to its eigenvectors, which hides a wrong step.",
    )


def mixtures(full: bool, rng: np.random.Generator) -> Result:
    """Eqs. 14 to 20 from given responsibilities, after one step and after two."""
    rows: list[tuple[Any, ...]] = []
    X, q = points(rng, 60), 2
    X[30:] += [0.0, 2.0, 1.0]
    F, new = explicit(X, X), points(rng, 8)
    G = explicit(new, X)
    kernel = kernels.Polynomial(**KERNEL)
    shares = rng.dirichlet([1.0, 1.0], size=len(X))
    start = shares
    for steps in (1, 2):
        model = KernelPPCAMixture(2, q, kernel=kernel, noise_variance=RHO, init=start, max_iter=steps, tol=0.0).fit(X)
        masses = shares.sum(axis=0)
        parts = [Density(F, column / column.sum(), q) for column in shares.T]
        terms = np.column_stack([np.log(m) - 0.5 * part.hat(F) for m, part in zip(masses / len(X), parts)])
        at_new = np.column_stack([np.log(m) - 0.5 * part.hat(G) for m, part in zip(masses / len(X), parts)])
        level = np.logaddexp(*terms.T)
        shares = np.exp(terms - level[:, None])
        new_level = np.logaddexp(*at_new.T)
        rows += [
            (f"mixing (18), step {steps}", relative(model.weights_, masses / len(X))),
            (f"responsibilities (16, 17), step {steps}", relative(model.responsibilities_, shares)),
            (f"those of new rows, step {steps}", relative(model.predict_proba(new), np.exp(at_new - new_level[:, None]))),
            (f"log sum m exp(-L^/2) (14 to 16), step {steps}", relative(model.score_samples(new), new_level)),
        ]  # fmt: skip
    return formulas(
        rows,
        "A mixture of two densities of a polynomial kernel, from the same random responsibilities: means and covariances weighted by them (18, 19), q eigenpairs of each (20), the "
        "responsibilities that follow (17). The constant (2 pi rho)^(-f/2) is left out, as the paper's eq. 17 allows.",
    )


def classifier(full: bool, rng: np.random.Generator) -> Result:
    """Eqs. 21 to 23: which class, by the posterior and by the limiting distance."""
    X = np.vstack([points(rng, 40), points(rng, 30) + np.array([0.0, 1.5, 0.5])])
    y = np.repeat([0, 1], [40, 30])
    new = points(rng, 50) + np.array([0.0, 0.7, 0.2])
    F, G = explicit(X, X), explicit(new, X)
    kernel = kernels.Polynomial(**KERNEL)
    plain: dict[str, Any] = {"kernel": kernel, "standardize": False, "approximation": None}
    parts = [Density(F[y == c], np.full(n, 1.0 / n), 2) for c, n in ((0, 40), (1, 30))]
    priors = np.array([0.2, 0.8])
    model = KernelPPCAClassifier(2, noise_variance=RHO, priors=priors, **plain).fit(X, y)
    odds = np.log(priors[1] / priors[0]) - 0.5 * (parts[1].hat(G) - parts[0].hat(G))
    limit = KernelPPCAClassifier(2, noise_variance=None, **plain).fit(X, y)
    margin = parts[0].limiting(G) - parts[1].limiting(G)
    found = limit.decision_function(new)
    return formulas(
        [
            ("log odds (21)", relative(model.decision_function(new), odds)),
            ("probabilities (21)", relative(model.predict_proba(new)[:, 1], 1.0 / (1.0 + np.exp(-odds)))),
            ("class (21)", float(np.mean(model.predict(new) != (odds > 0)))),
            (
                "limiting margin, up to its unit (23)",
                relative(found / np.linalg.norm(found), margin / np.linalg.norm(margin)),
            ),
            ("class (23)", float(np.mean(limit.predict(new) != (margin > 0)))),
        ],
        "One density for each class. With a noise: priors and L^ (21, 22); without: the class of the smallest distance to its subspace (23).",
    )


CLAIMS = [
    Claim("zh-section-2", "ZH", "kernel PPCA equation by equation", "eqs. 2 to 13 and 15", section_2),
    Claim(
        "zh-em", "ZH", "EM for the empirical loadings, step by step", "eq. 11, whose fixed point is eq. 9", single_steps
    ),
    Claim("zh-section-3", "ZH", "the mixture equation by equation", "eqs. 14 to 20", mixtures),
    Claim("zh-section-4", "ZH", "the classifier's rules", "eqs. 21 to 23", classifier),
]
