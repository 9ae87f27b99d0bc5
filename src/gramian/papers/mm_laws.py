"""MM sections 2, 3 and 5, formula by formula: PPCA, its EM, holes, the mixture's two stages and expected improvement against matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import multivariate_normal

from gramian import PPCA, PPCAMixture
from gramian._arrays import Array
from gramian.papers._claim import Claim, Result, formulas, relative, signs
from gramian.solvers import Em
from gramian.tuning.space import Space, parse_dimension
from gramian.tuning.surrogate import Surrogate, propose

SPREADS = np.array([3.0, 2.0, 1.5, 0.8, 0.7, 0.6])
STEPS = 6


def _table(rng: np.random.Generator, n: int = 60) -> Array:
    """Rows whose covariance is not diagonal and whose mean is not 0."""
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    return np.asarray((rng.normal(size=(n, 6)) * SPREADS) @ turn + 5.0 * rng.normal(size=6))


def closed_form(S: Array, q: int) -> tuple[Array, Array, float]:
    """The q leading eigenvalues and eigenvectors of S, and the mean of the others (MM 2.3)."""
    values, vectors = np.linalg.eigh(S)
    values, vectors = values[::-1], vectors[:, ::-1]
    return values[:q], vectors[:, :q], float(values[q:].mean())


def em_step(S: Array, W: Array, noise: float) -> tuple[Array, float]:
    """MM 2.4.2, as printed."""
    q = W.shape[1]
    inverse = np.linalg.inv(W.T @ W + noise * np.eye(q))
    new = S @ W @ np.linalg.inv(noise * np.eye(q) + inverse @ W.T @ S @ W)
    return new, float(np.trace(S) - np.trace(S @ W @ inverse @ new.T)) / len(S)


def level(S: Array, W: Array, noise: float) -> float:
    """The mean log-likelihood of MM 2.2."""
    C = W @ W.T + noise * np.eye(len(S))
    return float(-0.5 * (len(S) * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S))))


def em_levels(B: Array, q: int, dim: float, seed: int, fixed: float | None = None) -> list[float]:
    """Mean log-likelihoods along plain EM from the library's start: random orthonormal axes times the root of the mean variance."""
    rng = np.random.default_rng(seed)
    rng.standard_normal(len(B))  # the solver's look at the scale
    start = float(np.trace(B)) / dim
    W = np.sqrt(start) * np.linalg.qr(rng.standard_normal((len(B), q)))[0]
    noise = start if fixed is None else fixed
    found = []
    for _ in range(STEPS):
        rest = (dim - len(B)) * (np.log(2 * np.pi) + np.log(noise))  # directions of the noise that B does not have
        found.append(level(B, W, noise) - 0.5 * rest)
        W, estimated = em_step(B, W, noise)
        noise = estimated * len(B) / dim if fixed is None else fixed
    return found


def section_2(full: bool, rng: np.random.Generator) -> Result:
    """The law, the posterior and the maximum of the likelihood; EM step by step."""
    rows: list[tuple[Any, ...]] = []
    q = 2
    for _ in range(10 if full else 1):
        X = _table(rng)
        mean, S = X.mean(axis=0), np.cov(X.T, bias=True)
        values, axes, noise = closed_form(S, q)
        model = PPCA(q, solver="eigh").fit(X)
        W = axes * np.sqrt(values - noise)
        W *= signs(W, model.loadings_)
        C, M = W @ W.T + noise * np.eye(6), W.T @ W + noise * np.eye(q)
        new = rng.normal(size=(5, 6)) * 3.0 + mean
        latent = np.linalg.solve(M, W.T @ (new - mean).T).T
        found = model.posterior(new)
        pull = np.linalg.solve(C, W)
        steps = PPCA(q, solver=Em(tol=0.0, max_iter=STEPS, accelerate=False)).fit(X)
        drawn = model.sample(20_000, random_state=0)
        white = np.linalg.solve(np.linalg.cholesky(C), (drawn - mean).T)
        rows += [
            ("sigma2: the mean discarded variance", relative(model.noise_variance_, noise)),
            ("W = U (L - sigma2)^(1/2)", relative(model.loadings_, W)),
            (
                "dL/dW = 0 at the library's W",
                relative(np.linalg.solve(C, S @ pull), np.linalg.solve(C, model.loadings_)),
            ),
            ("C = W W^T + sigma2 I", relative(model.get_covariance(), C)),
            ("C^-1", relative(model.get_precision(), np.linalg.inv(C))),
            ("log p(x)", relative(model.score_samples(new), multivariate_normal(mean, C).logpdf(new))),
            ("the log-likelihood of all rows", relative(model.score(X), level(S, W, noise))),
            ("E[z | x]", relative(found.mean, latent)),
            ("Cov[z | x]", relative(found.covariance, noise * np.linalg.inv(M))),
            ("W z + mu", relative(model.inverse_transform(latent), latent @ W.T + mean)),
            ("W E[z | x] + mu", relative(model.reconstruct(new), latent @ W.T + mean)),
            ("EM, likelihoods of single steps (2.4)", relative(steps.log_likelihoods_, em_levels(S, q, 6.0, 0))),
            ("covariance of draws, whitened", relative(np.cov(white), np.eye(6)), 3 * np.sqrt(6 / len(drawn))),
        ]
    return formulas(
        rows,
        "Every formula of MM's section 2 from the data's covariance matrix, against what PPCA answers. EM is followed step by step from the library's start: its "
        "likelihoods must be those of the printed M-step (with S as a mean, errata-mm-2-4-2).",
    )


def _observed_likelihood(X: Array, mean: Array, W: Array, noise: float) -> tuple[float, Array, float]:
    """Mean log-likelihood of what rows show, and its derivatives in W and in the noise."""
    C = W @ W.T + noise * np.eye(len(mean))
    total, slope, in_noise = 0.0, np.zeros_like(W), 0.0
    for row in X:
        o = ~np.isnan(row)
        inverse = np.linalg.inv(C[np.ix_(o, o)])
        r = inverse @ (row - mean)[o]
        total += float(multivariate_normal(mean[o], C[np.ix_(o, o)]).logpdf(row[o]))
        slope[o] += (np.outer(r, r) - inverse) @ W[o]
        in_noise += 0.5 * float(r @ r - np.trace(inverse))
    return total / len(X), slope / len(X), in_noise / len(X)


def holes(full: bool, rng: np.random.Generator) -> Result:
    """Rows with holes: the conditional laws, and the maximum of the likelihood of what was seen."""
    rows: list[tuple[Any, ...]] = []
    stationary: list[float] = []
    for share in (0.1, 0.4):  # few holes and many: the library has an EM for each
        X = _table(rng, 120)
        T = np.where(rng.random(X.shape) < share, np.nan, X)
        T[np.isnan(T).all(axis=1), 0] = 0.0
        model = PPCA(3, tol=1e-12).fit(T)
        W, mean, noise = model.loadings_, model.mean_, model.noise_variance_
        best, slope, in_noise = _observed_likelihood(T, mean, W, noise)
        size = np.linalg.norm(np.linalg.solve(W @ W.T + noise * np.eye(6), W))
        stationary.append(max(float(np.linalg.norm(slope) / size), float(abs(in_noise) * noise / 6)))
        C, some = W @ W.T + noise * np.eye(6), T[np.isnan(T).any(axis=1)][:6]
        posterior = model.posterior(some)
        filled, std = model.impute(some, return_std=True, small_sample=False)
        parts: dict[str, list[float]] = {}
        for i, row in enumerate(some):
            o, m = ~np.isnan(row), np.isnan(row)
            gain = W[o].T @ np.linalg.inv(C[np.ix_(o, o)])
            fill = C[np.ix_(m, o)] @ np.linalg.inv(C[np.ix_(o, o)])
            left = C[np.ix_(m, m)] - fill @ C[np.ix_(o, m)]
            law = multivariate_normal(mean[o], C[np.ix_(o, o)])
            for name, error in {
                "E[z | x_o]": relative(posterior.mean[i], gain @ (row - mean)[o]),
                "Cov[z | x_o]": relative(posterior.covariance[i], np.eye(3) - gain @ W[o]),
                "E[x_m | x_o]": relative(filled[i, m], mean[m] + fill @ (row - mean)[o]),
                "Var[x_m | x_o]": relative(std[i, m] ** 2, np.diag(left)),
                "log p(x_o)": relative(model.score_samples(some[i : i + 1])[0], law.logpdf(row[o])),
                "Mahalanobis over x_o": relative(
                    model.mahalanobis(some[i : i + 1])[0], (row - mean)[o] @ np.linalg.solve(law.cov, (row - mean)[o])
                ),
            }.items():
                parts.setdefault(name, []).append(error)
        rows += [(f"{name}, {share:.0%} holes", max(errors)) for name, errors in parts.items()]
        rows.append((f"the likelihood reached, {share:.0%} holes", relative(model.log_likelihoods_[-1], best)))
        rows.append((f"its derivatives vanish, {share:.0%} holes", stationary[-1], 1e-6))
    return formulas(
        rows,
        "MM fills holes by column means; the model itself says what a hole is, given what was seen. Conditional Gaussians row by row, and the derivatives of the likelihood of "
        "the seen entries in W and in the noise at the library's fit (relative; to 1e-6, where an optimiser stops).",
        derivatives=float(np.max(stationary)),
    )


def algorithm_1(full: bool, rng: np.random.Generator) -> Result:
    """Responsibilities and both M-steps from given responsibilities, one step and two."""
    rows: list[tuple[Any, ...]] = []
    X = np.vstack([_table(rng, 60), _table(rng, 40)])
    start = rng.dirichlet([1.0, 1.0], size=len(X))
    q, d = 2, 6
    for solver in ("auto", "em"):
        for noise_kind in ("separate", "shared"):
            options: dict[str, Any] = {"init": start, "solver": solver, "noise": noise_kind, "tol": 0.0}
            models = [PPCAMixture(2, q, max_iter=n, **options).fit(X) for n in (1, 2)]
            shares = start
            old: list[Array] = []
            noises = np.empty(2)
            for step, model in enumerate(models):
                masses = shares.sum(axis=0)
                scatter = []
                for k in range(2):
                    mean = shares[:, k] @ X / masses[k]
                    scatter.append((X - mean).T @ (shares[:, k, None] * (X - mean)) / masses[k])
                    rows.append((f"mean, {solver}, step {step + 1}", relative(model.means_[k], mean)))
                rows.append((f"mixing, {solver}, step {step + 1}", relative(model.weights_, masses / len(X))))
                if solver == "em" and step:
                    found = [em_step(S, W, s) for S, W, s in zip(scatter, old, noises)]
                    noises = np.array([s for _, s in found])
                    if noise_kind == "shared":
                        noises = np.full(2, masses @ noises / masses.sum())
                    new = [W for W, _ in found]
                else:
                    pairs = [closed_form(S, q) for S in scatter]
                    noises = np.array([s for *_, s in pairs])
                    if noise_kind == "shared":
                        noises = np.full(2, masses @ noises / masses.sum())
                    new = [U * np.sqrt(values - s) for (values, U, _), s in zip(pairs, noises)]
                name = f"{solver}, {noise_kind} noise, step {step + 1}"
                rows.append((f"sigma2_k, {name}", relative(model.noise_variances_, noises)))
                laws = [multivariate_normal(m, W @ W.T + s * np.eye(d)) for m, W, s in zip(model.means_, new, noises)]
                for W, mine in zip(new, model.loadings_):
                    rows.append((f"W_k W_k^T, {name}", relative(mine @ mine.T, W @ W.T)))
                joint = np.column_stack([law.pdf(X) * weight for law, weight in zip(laws, masses / len(X))])
                shares = joint / joint.sum(axis=1, keepdims=True)
                rows.append((f"responsibilities, {name}", relative(model.predict_proba(X), shares)))
                rows.append((f"log-likelihood, {name}", relative(model.score_samples(X), np.log(joint.sum(axis=1)))))
                old = new
    return formulas(
        rows,
        "MM's algorithm 1 from the same responsibilities: both stages of the M-step (with the eigendecomposition, and with the iterative step of 2.4.2), a noise for each "
        "component and one for all, the responsibilities and the likelihood after one step and after two. Corrected: 1/N_k, and the new noise (errata-mm-algorithm-1-*).",
    )


def expected_improvement(full: bool, rng: np.random.Generator) -> Result:
    """The surrogate and E[max(0, f - best)] against the Gaussian process by matrices and quadrature; the proposal is its maximum."""
    space = Space({name: parse_dimension(name, (0.0, 1.0)) for name in "ab"}, {})
    points = rng.random((18, 2))
    scores = -((points - [0.3, 0.6]) ** 2).sum(axis=1) + 0.01 * rng.normal(size=18)
    surrogate = Surrogate.fit(points, scores)
    kernel, noise = surrogate.regressor.kernel_.k1, surrogate.regressor.kernel_.k2.noise_level
    K = kernel(points) + (noise + 1e-10) * np.eye(18)
    new = rng.random((400, 2))
    cross = kernel(new, points)
    standard = np.maximum(scores, np.median(scores) - 2 * (scores.max() - np.median(scores)))
    centre, unit = standard.mean(), standard.std()
    mean = centre + unit * cross @ np.linalg.solve(K, (standard - centre) / unit)
    variance = kernel.diag(new) - np.einsum("ij,ji->i", cross, np.linalg.solve(K, cross.T))
    std = unit * np.sqrt(np.maximum(variance, 1e-12))
    best = float((centre + unit * kernel(points) @ np.linalg.solve(K, (standard - centre) / unit)).max())
    nodes, weights = np.polynomial.legendre.leggauss(400)
    top = mean + 12 * std
    gains = np.zeros(len(new))
    reach = np.maximum(top - best, 0.0)
    low = np.maximum(best, mean - 12 * std)
    half = 0.5 * np.maximum(top - low, 0.0)
    for node, weight in zip(nodes, weights):
        f = low + half * (node + 1)
        density = np.exp(-0.5 * ((f - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
        gains += weight * half * (f - best) * density
    sure = reach > 6 * std  # elsewhere the quadrature has too few digits to take a logarithm of
    found = surrogate.log_improvement(new, best) + np.log(unit)
    proposal = propose(space, surrogate, points, np.random.default_rng(0))
    assert proposal is not None
    at_proposal = float(surrogate.log_improvement(proposal[None], best)[0])
    behind = max(0.0, float(surrogate.log_improvement(new, best).max()) - at_proposal)
    predicted = surrogate.predict(new)
    return formulas(
        [
            ("the incumbent", relative(surrogate.best_mean(), best)),
            ("mean of f", relative(predicted[0], mean)),
            ("deviation of f", relative(predicted[1], std)),
            ("expected improvement", relative(found[sure], np.log(gains[sure]))),
            ("no random point beats the proposal", behind),
        ],
        "MM's 5.1: the Gaussian process with its own hyper-parameters by matrices, the expected improvement by quadrature. The library maximises its score, so the improvement is of "
        "f above the best, where MM minimises an error.",
        1e-5,
    )


CLAIMS = [
    Claim("mm-section-2", "MM", "PPCA, formula by formula, and EM step by step", "sections 2.2 to 2.4", section_2),
    Claim("mm-holes", "MM", "rows with holes, by the model itself", "EM when the data is incomplete (2.4)", holes),
    Claim("mm-algorithm-1", "MM", "the mixture's E-step and both M-steps", "algorithm 1, and its iterative version", algorithm_1),
    Claim("mm-search", "MM", "expected improvement of the tuned kernels", "a(theta) = E[max(0, f_best - f)] (5.1)", expected_improvement),
]  # fmt: skip
