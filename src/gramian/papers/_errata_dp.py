"""Misprints of De Plaen & Suykens (2023): the distributions."""

from __future__ import annotations

import numpy as np
from scipy.stats import multivariate_normal

from gramian._arrays import Array
from gramian.papers._claim import relative
from gramian.papers._misprint import Errors, Misprint, Problem


def eq_2(rng: np.random.Generator) -> Errors:
    """The mean over the latent prior must be the mean of eq. 3; the latents +h and -h cancel."""
    p = Problem.draw(rng)
    h = rng.normal(size=p.n_components)
    printed = 0.5 * ((p.W @ h - p.mean) + (-p.W @ h - p.mean))
    right = 0.5 * ((p.W @ h + p.mean) + (-p.W @ h + p.mean))
    return relative(printed, p.mean), relative(right, p.mean)


def eq_7(rng: np.random.Generator) -> Errors:
    """Against the conditional law of the joint Gaussian of h and phi."""
    p = Problem.draw(rng)
    phi = rng.normal(size=len(p.Phi))
    gain = np.linalg.solve(p.covariance, p.W).T
    mean, cov = gain @ (phi - p.mean), np.eye(p.n_components) - gain @ p.W
    inverse, pull = np.linalg.inv(p.Sigma), p.W.T @ (phi - p.mean)
    printed = min(relative(inverse @ pull, mean), relative(p.noise_variance * inverse, cov))
    return printed, max(relative(p.Sigma @ pull, mean), relative(p.noise_variance * p.Sigma, cov))


def eq_15(rng: np.random.Generator) -> Errors:
    """The same law from k_c. For A k_c to be defined, A is taken as an operator of E (L in E, as DP says): zero columns behind."""
    p = Problem.draw(rng)
    phi = rng.normal(size=len(p.Phi))
    k = p.centred.T @ (phi - p.mean)
    gain = np.linalg.solve(p.covariance, p.W).T
    mean, cov = gain @ (phi - p.mean), np.eye(p.n_components) - gain @ p.W
    Sigma = np.linalg.inv(p.A.T @ p.K @ p.A + p.noise_variance * np.eye(p.n_components))
    whole = np.hstack([p.A, np.zeros((p.n, p.n - p.n_components))])
    printed = min(
        relative(Sigma @ (whole @ k)[: p.n_components], mean),
        relative(np.linalg.inv(Sigma) @ (whole @ k)[: p.n_components], mean),
        relative(np.linalg.inv(Sigma), cov),
    )
    return printed, max(relative(Sigma @ p.A.T @ k, mean), relative(p.noise_variance * Sigma, cov))


def eq_18(rng: np.random.Generator) -> Errors:
    """Against Phi_c* cov(phi) Phi_c; also B B* must be it, and the printed one must be the covariance of a."""
    p = Problem.draw(rng)
    cov = p.centred.T @ p.covariance @ p.centred
    coefficients = p.A @ p.A.T + p.noise_variance * p.inverse
    back = np.linalg.pinv(p.centred)
    B = p.B(np.eye(p.n))
    right = max(
        relative(p.K @ coefficients @ p.K, cov),
        relative(B @ B.T, cov),
        relative(coefficients, back @ p.covariance @ back.T),
    )
    return relative(coefficients, cov), right


def eq_57(rng: np.random.Generator) -> Errors:
    """Against the Mahalanobis distance of a feature point in the span of the data."""
    p = Problem.draw(rng)
    offset = p.centred @ rng.normal(size=p.n)
    k = p.centred.T @ offset
    exact = offset @ np.linalg.solve(p.covariance, offset)
    B = p.B(np.eye(p.n))
    return relative(k @ B @ B.T @ k, exact), relative(k @ np.linalg.pinv(B @ B.T, rcond=1e-11) @ k, exact)


def prop_7(rng: np.random.Generator) -> Errors:
    """Against the integral of the unnormalised density over the span of three points, by quadrature."""
    p = Problem.draw(rng, n=3, q=1)
    values = p.spectrum[0][:2]
    noise = p.noise_variance
    integral = 1.0
    for value in values:  # the exponent is a sum over eigenvectors
        reach = 12.0 * np.sqrt(noise * value)
        line = np.linspace(-reach, reach, 2001)
        integral *= float(np.exp(-(line**2) / (2 * noise * value)).sum()) * (line[1] - line[0])
    front = np.sqrt(2 * np.pi * noise) ** 2
    return relative(front * np.prod(values), integral), relative(front * np.prod(np.sqrt(values)), integral)


def eq_42(rng: np.random.Generator) -> Errors:
    """The likelihood of eq. 42 against the density of N(mu, W W* + sigma2 I), and s_p^2 + sigma2 of eq. 43 against lambda_p / N."""
    p = Problem.draw(rng)
    exact = multivariate_normal(p.mean, p.covariance).logpdf(p.Phi.T).sum()
    values, q, d = p.spectrum[0][: p.n_components] / p.n, p.n_components, len(p.Phi)
    axes = p.W / np.linalg.norm(p.W, axis=0)
    t = axes.T @ p.centred
    outside = (p.centred**2).sum() - (t**2).sum()

    def likelihood(squares: Array) -> float:
        inside = (squares / values).sum() / p.n
        log_volume = (d - q) * np.log(p.noise_variance) + np.log(values).sum()
        return float(-0.5 * p.n * (d * np.log(2 * np.pi) + log_volume + outside / (p.n * p.noise_variance) + inside))

    printed, right = t.sum(axis=1) ** 2, (t**2).sum(axis=1)
    return (
        min(relative(likelihood(printed), exact), relative(printed / p.n, values)),
        max(relative(likelihood(right), exact), relative(right / p.n, values)),
    )


def norms(rng: np.random.Generator) -> Errors:
    """Log densities relative to that of the mean, eqs. 35, 45 (and 52), 51, against the Gaussian laws themselves."""
    p = Problem.draw(rng)
    noise, (values, vectors) = p.noise_variance, p.spectrum
    kept = vectors[:, :-1]
    M = np.linalg.inv(p.Sigma)
    laws = [  # the weight printed, its inverse, the covariance of the law, what the printed exponent is divided by
        (p.covariance, np.linalg.inv(p.covariance), p.covariance, 1.0),
        (p.Sigma, M, noise * p.Sigma, noise),
        (np.diag(values[:-1]), np.diag(1.0 / values[:-1]), noise * kept.T @ p.K @ kept, noise),
    ]
    printed, right = [], []
    for weight, inverse, cov, scale in laws:
        points = rng.normal(size=(20, len(cov)))
        law = multivariate_normal(np.zeros(len(cov)), cov)
        exact = law.logpdf(points) - law.logpdf(np.zeros(len(cov)))
        printed.append(relative(-0.5 * _squares(points, weight) / scale, exact))
        right.append(relative(-0.5 * _squares(points, inverse) / scale, exact))
    return min(printed), max(right)


def _squares(points: Array, weight: Array) -> Array:
    return np.asarray(np.einsum("ij,jk,ik->i", points, weight, points))


DP = (
    Misprint(
        "eq-2", "DP eq. 2, table 1", "mean of phi given h: W h - mu", "W h + mu", eq_2,
        "By eq. 1, and because the mean over the latents must be mu.",
    ),
    Misprint(
        "eq-7", "DP eq. 7, table 1, prop. 4", "with Sigma = (W*W + sigma2 I)^-1: mean Sigma^-1 W*(phi - mu), covariance sigma2 Sigma^-1",
        "Sigma W*(phi - mu), sigma2 Sigma", eq_7, "Against the conditional law of the joint Gaussian.",
    ),
    Misprint(
        "eq-15", "DP eq. 15, table 1", "mean Sigma^-1 A k_c, covariance Sigma^-1", "Sigma A* k_c, sigma2 Sigma", eq_15,
        "Against the same conditional law; A k_c with either Sigma fails.",
    ),
    Misprint(
        "eq-18", "DP eq. 18, 53, table 1", "cov(k_c) = A* A + sigma2 K_c^-1", "K_c (A A* + sigma2 K_c^-1) K_c = B B*", eq_18,
        "Against Phi_c* cov(phi) Phi_c. The printed one (with A A* for A* A) is the covariance of the coefficients a; B is right.",
    ),
    Misprint(
        "eq-57", "DP eq. 57", "k_c* ( ... ) k_c", "k_c* ( ... )^-1 k_c", eq_57, "Against the Mahalanobis distance in feature space."
    ),
    Misprint(
        "prop-7", "DP prop. 7", "Z = (sigma sqrt(2 pi))^N prod lambda_i", "(sigma sqrt(2 pi))^N prod lambda_i^(1/2)", prop_7,
        "Against the integral by quadrature, on the two directions that three centred points have.",
    ),
    Misprint(
        "eq-42", "DP eq. 42, 43", "(sum_i rho_p*(phi_i - mu))^2", "sum_i (rho_p*(phi_i - mu))^2", eq_42,
        "Against the Gaussian log likelihood. The printed sum is zero, since the rows are centred.",
    ),
    Misprint(
        "norms", "DP eq. 35, 45, 51, 52", "norms weighted with Sigma", "with Sigma^-1", norms,
        "Log densities of points relative to that of the mean, against the Gaussian laws.",
    ),
)  # fmt: skip
