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
    decoded = p.primal.inverse_transform(np.vstack([h, -h]) * p.flip)
    right = max(relative(decoded.mean(axis=0), p.mean), relative(decoded[0], p.W @ h + p.mean))
    return relative(printed, p.mean), right


def _conditional(p: Problem, phi: Array) -> tuple[Array, Array]:
    """Mean and covariance of h given phi, from the joint Gaussian of both."""
    gain = np.linalg.solve(p.covariance, p.W).T
    return np.asarray(gain @ (phi - p.mean)), np.asarray(np.eye(p.n_components) - gain @ p.W)


def eq_7(rng: np.random.Generator) -> Errors:
    """Against the conditional law of the joint Gaussian of h and phi."""
    p = Problem.draw(rng)
    phi = p.point(rng)
    mean, cov = _conditional(p, phi)
    inverse, pull = np.linalg.inv(p.Sigma), p.W.T @ (phi - p.mean)
    found = p.primal.posterior(phi[None])
    printed = min(relative(inverse @ pull, mean), relative(p.noise_variance * inverse, cov))
    turned = p.flip[:, None] * found.covariance * p.flip
    return printed, max(relative(found.mean[0] * p.flip, mean), relative(turned, cov))


def eq_15(rng: np.random.Generator) -> Errors:
    """The same law from k_c. For A k_c to be defined, A is taken as an operator of E (L in E, as DP says): zero columns behind."""
    p = Problem.draw(rng)
    phi = p.point(rng)
    k = p.centred.T @ (phi - p.mean)
    mean, cov = _conditional(p, phi)
    Sigma = np.linalg.inv(p.A.T @ p.K @ p.A + p.noise_variance * np.eye(p.n_components))
    whole = np.hstack([p.A, np.zeros((p.n, p.n - p.n_components))])
    printed = min(
        relative(Sigma @ (whole @ k)[: p.n_components], mean),
        relative(np.linalg.inv(Sigma) @ (whole @ k)[: p.n_components], mean),
        relative(np.linalg.inv(Sigma), cov),
    )
    found = p.dual.posterior(phi[None])
    return printed, max(relative(found.mean[0], mean), relative(found.covariance, cov))


def _singular(mean: Array, cov: Array, rows: Array) -> Array:
    """Log-densities of a Gaussian of less than full rank."""
    return np.asarray(multivariate_normal(mean, cov, allow_singular=True).logpdf(rows))


def eq_18(rng: np.random.Generator) -> Errors:
    """Against Phi_c* cov(phi) Phi_c, by the log-density of k_c; the printed one must be the covariance of the coefficients a."""
    p = Problem.draw(rng)
    cov = p.centred.T @ p.covariance @ p.centred
    coefficients = p.A @ p.A.T + p.noise_variance * p.inverse
    back = np.linalg.pinv(p.centred)
    k = p.kernel_vectors(rng)
    right = max(
        relative(p.dual.log_kernel_density(k), _singular(np.zeros(p.n), cov, k)),
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
    return relative(k @ B @ B.T @ k, exact), relative(p.dual.mahalanobis((p.mean + offset)[None])[0], exact)


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
    h = rng.normal(size=(1, 1))
    at_mean = p.dual.log_kernel_density(p.dual.kernel_mean(h), latent=h)[0]
    return relative(front * np.prod(values), integral), relative(np.exp(-at_mean), integral)


def eq_42(rng: np.random.Generator) -> Errors:
    """The likelihood of eq. 42 against the density of N(mu, W W* + sigma2 I), and s_p^2 + sigma2 of eq. 43 against lambda_p / N."""
    p = Problem.draw(rng)
    exact = multivariate_normal(p.mean, p.covariance).logpdf(p.Phi.T).sum()
    values, q, d = p.spectrum[0][: p.n_components] / p.n, p.n_components, len(p.Phi)
    axes = p.W / np.linalg.norm(p.W, axis=0)
    t = axes.T @ p.centred
    outside = (p.centred**2).sum() - (t**2).sum()
    printed = t.sum(axis=1) ** 2
    log_volume = (d - q) * np.log(p.noise_variance) + np.log(values).sum()
    inside = (printed / values).sum() / p.n
    likelihood = -0.5 * p.n * (d * np.log(2 * np.pi) + log_volume + outside / (p.n * p.noise_variance) + inside)
    scores = p.primal.scores(p.Phi.T)
    right = max(
        relative(p.primal.score_samples(p.Phi.T).sum(), exact),
        relative(np.square(scores).mean(axis=0), values),
        relative(p.primal.explained_variance_, values),
    )
    return min(relative(likelihood, exact), relative(printed / p.n, values)), right


def norms(rng: np.random.Generator) -> Errors:
    """Log densities relative to that of the mean, eqs. 35, 45 (and 52), 51, against the Gaussian laws themselves."""
    p = Problem.draw(rng)
    noise, (values, vectors) = p.noise_variance, p.spectrum
    kept = vectors[:, :-1]
    x, z, k = rng.normal(size=(20, len(p.Phi))), rng.normal(size=(20, p.n_components)), p.kernel_vectors(rng)
    along = k @ kept
    middle = np.zeros((1, p.n_components))
    density = p.primal.score_samples(np.vstack([x + p.mean, p.mean]))
    given = p.dual.log_kernel_density(np.vstack([k, np.zeros(p.n)]), latent=middle)
    posterior = p.dual.posterior(p.mean[None]).covariance
    cases = [  # points, the weight printed, the covariance of the law, what the printed exponent is divided by, the library's
        (x, p.covariance, p.covariance, 1.0, density[:-1] - density[-1]),
        (z, p.Sigma, noise * p.Sigma, noise, -0.5 * _squares(z, np.linalg.inv(posterior))),
        (along, np.diag(values[:-1]), noise * np.diag(values[:-1]), noise, given[:-1] - given[-1]),
    ]
    printed, right = [], []
    for points, weight, cov, scale, found in cases:
        law = multivariate_normal(np.zeros(len(cov)), cov)
        exact = law.logpdf(points) - law.logpdf(np.zeros(len(cov)))
        printed.append(relative(-0.5 * _squares(points, weight) / scale, exact))
        right.append(relative(found, exact))
    return min(printed), max(right)


def _squares(points: Array, weight: Array) -> Array:
    return np.asarray(np.einsum("ij,jk,ik->i", points, weight, points))


def eq_28(rng: np.random.Generator) -> Errors:
    """The exponent of p(phi | h) multiplied out, against -|phi - W h - mu|^2 / 2 sigma2; coordinates stand for v_i* phi."""
    p = Problem.draw(rng)
    phi, h = p.mean + p.point(rng), rng.normal(size=p.n_components)
    centre = p.primal.inverse_transform((h * p.flip)[None])[0]
    signal = p.W @ h
    exact = -np.square(phi - signal - p.mean).sum() / (2 * p.noise_variance)
    constant = -np.square(signal + p.mean).sum() / (2 * p.noise_variance)
    printed = -(phi**2 - phi * (2 * signal + p.mean)).sum() / (2 * p.noise_variance) + constant
    right = -(phi**2 - 2 * phi * centre).sum() / (2 * p.noise_variance) - centre @ centre / (2 * p.noise_variance)
    return relative(printed, exact), relative(right, exact)


def eq_29(rng: np.random.Generator) -> Errors:
    """The logarithm of the integral of p(phi | h) over phi, which is 0, by eq. 32: with exp(-C), and with exp(C)."""
    p = Problem.draw(rng)
    h = rng.normal(size=p.n_components)
    b = p.primal.inverse_transform((h * p.flip)[None])[0] / p.noise_variance
    C = -np.square(p.W @ h + p.mean).sum() / (2 * p.noise_variance)
    spread = 0.5 * p.noise_variance * float(b @ b)
    return relative((spread - C) / spread, 0.0), relative((spread + C) / spread, 0.0)


def eq_44(rng: np.random.Generator) -> Errors:
    """How the likelihood changes when the axes turn: rows turned by R have a model with turned axes, and the same s and sigma2."""
    p = Problem.draw(rng)
    turn = np.linalg.qr(rng.normal(size=(len(p.Phi), len(p.Phi))))[0]
    turned = type(p)(turn @ p.centred + p.mean[:, None], p.n_components, p.noise_variance)
    exact = (turned.primal.score_samples(p.Phi.T) - p.primal.score_samples(p.Phi.T)).sum()
    axes = p.W / np.linalg.norm(p.W, axis=0)
    s = np.square(p.W).sum(axis=0)
    weights = 1.0 / (s + p.noise_variance) - 1.0 / p.noise_variance

    def expression(frame: Array) -> float:
        return 0.5 * float((weights * np.square(frame.T @ p.centred).sum(axis=1)).sum())

    change = expression(turn @ axes) - expression(axes)
    laws = [multivariate_normal(p.mean, C) for C in (turn @ p.covariance @ turn.T, p.covariance)]
    wanted = laws[0].logpdf(p.Phi.T).sum() - laws[1].logpdf(p.Phi.T).sum()
    return relative(change, wanted), max(relative(-change, wanted), relative(exact, wanted))


def prop_3(rng: np.random.Generator) -> Errors:
    """W W*, which no rotation of the latents changes, from the eigenpairs of Phi_c Phi_c*."""
    p = Problem.draw(rng)
    axes, roots, _ = np.linalg.svd(p.centred)
    axes, values = axes[:, : p.n_components], roots[: p.n_components] ** 2 / p.n - p.noise_variance
    exact = (axes * values) @ axes.T
    printed = (axes * values**2) @ axes.T
    return relative(printed, exact), relative(p.primal.loadings_ @ p.primal.loadings_.T, exact)


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
        "Against the Gaussian with covariance Phi_c* cov(phi) Phi_c. The printed one (with A A* for A* A) is the covariance of the coefficients a; B is right.",
    ),
    Misprint(
        "eq-28", "DP eq. 28", "(v_i* phi)(2 sum_p (...) + v_i* mu)", "(v_i* phi) 2 (sum_p (...) + v_i* mu)", eq_28,
        "Against -|phi - W h - mu|^2 / 2 sigma2. The second form of C after it has its square inside the sum misplaced as well.",
    ),
    Misprint(
        "eq-29", "DP eq. 29 to 32", "exp(-C), and C = 1/2 sigma2 sum b_i^2", "exp(C), and C = -1/2 sigma2 sum b_i^2", eq_29,
        "The integral of a density is 1; with the printed sign its logarithm is 2 (counted in units of sigma2 sum b_i^2 / 2).",
    ),
    Misprint(
        "eq-44", "DP eq. 44", "1/2 sum_p (1/(s_p^2 + sigma2) - 1/sigma2) Phi_c* rho_p rho_p* Phi_c", "-1/2 sum_p ( ... ) tr(Phi_c* rho_p rho_p* Phi_c)", eq_44,
        "Against the change of the likelihood when the axes turn. Without the trace it is an operator; with the printed sign the best axes would be the worst.",
    ),
    Misprint(
        "prop-3", "DP prop. 3, last line of the proof", "W_ML = sum_p (lambda_p/N - sigma2) v_p r_p*", "sum_p (lambda_p/N - sigma2)^(1/2) v_p r_p*", prop_3,
        "As eq. 41 has it; W W* against the covariance.",
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
