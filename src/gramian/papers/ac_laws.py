"""AC equation by equation: stationarity, missing views, Stiefel steps, recursion, and decoding in primal and dual (AC's future work)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian import PPCA, MultiViewRKM, RKMForecaster, kernels
from gramian import features as maps
from gramian._arrays import Array
from gramian.datasets import make_sum_of_sines
from gramian.papers._claim import Claim, Result, formulas, relative, signs
from gramian.papers._recursion import forecast
from gramian.solvers import Stiefel

PLAIN: dict[str, Any] = {"n_folds": None, "solver": "eigh"}
S = 3


def views(rng: np.random.Generator, n: int = 40) -> list[Array]:
    """Three views that share three latents, none of them centred."""
    Z = rng.normal(size=(n, S)) * [2.0, 1.5, 1.0]
    return [
        np.asarray(Z @ rng.normal(size=(S, d)) + 0.3 * rng.normal(size=(n, d)) + rng.normal(size=d)) for d in (6, 5, 4)
    ]


def equations(full: bool, rng: np.random.Generator) -> Result:
    """Eqs. 5, 6, 9, 11, 13 to 16 with noise 0 in both spaces, and the Gaussian of which they are the limit."""
    parts, new = views(rng), [view[:7] for view in views(rng)]
    n = len(parts[0])
    means = [view.mean(axis=0) for view in parts]
    centred = [view - mean for view, mean in zip(parts, means)]
    K = sum(view @ view.T for view in centred)
    values, vectors = np.linalg.eigh(K)
    values, H = values[::-1][:S], vectors[:, ::-1][:, :S]
    gamma = np.diag(values)
    rows: list[tuple[Any, ...]] = []
    offsets = [x - mean for x, mean in zip(new, means)]
    for space in ("primal", "dual"):
        model = MultiViewRKM(S, kernel="linear", space=space, noise_variance=0.0, **PLAIN).fit(parts)
        optimiser = Stiefel(tol=1e-9, max_iter=5000, rotate=False)
        free = MultiViewRKM(S, kernel="linear", space=space, noise_variance=0.0, n_folds=None, solver=optimiser).fit(
            parts
        )
        own = H * signs(H, model.latents_)
        U = [view.T @ own for view in centred]
        pulls = sum(offset @ u for offset, u in zip(offsets[1:], U[1:]))
        missing = means[0] + pulls @ np.linalg.inv(gamma - U[0].T @ U[0]) @ U[0].T
        answer = model.predict_view([None, *new[1:]], 0)
        answer_free = free.predict_view([None, *new[1:]], 0)
        k_0 = pulls @ np.linalg.inv(gamma - own.T @ centred[0] @ centred[0].T @ own) @ own.T @ centred[0] @ centred[0].T
        whole = sum(offset @ u for offset, u in zip(offsets, U)) / values
        rows += [
            (f"eigenvalues (11, 14), {space}", relative(model.eigenvalues_, values)),
            (f"H (14), {space}", relative(model.latents_, own)),
            (f"U_v = Phi_v^T H (5), {space}", max(relative(np.sqrt(n) * W, u) for W, u in zip(model.loadings_, U))),
            (f"h = Gamma^-1 sum U_v^T phi_v (6), {space}", relative(model.transform(new) / np.sqrt(n), whole)),
            (f"Gamma' = H'^T K H' (9, 13), {space}", relative(free.gamma_, free.latents_.T @ K @ free.latents_)),
            (f"K H' = H' Gamma' (14), {space}", relative(K @ free.latents_, free.latents_ @ free.gamma_)),
            (f"the missing view (15), {space}", relative(answer, missing)),
            (f"the same from Gamma' (15), {space}", relative(answer_free, missing)),
            (f"its kernel values (16), {space}", relative((answer - means[0]) @ centred[0].T, k_0)),
            (f"the objective (8, 12), {space}", relative(free.objectives_[-1], 0.5 * np.trace(K) - 0.5 * values.sum())),
        ]
        for given in (0.2, "ml"):
            noisy = MultiViewRKM(S, kernel="linear", space=space, noise_variance=given, **PLAIN).fit(parts)
            noise = 0.2 if given == 0.2 else (np.trace(K) - values.sum()) / n / (15 - S)
            W = [u / np.sqrt(values) * np.sqrt(values / n - noise) for u in U]
            M = sum(w.T @ w for w in W[1:]) + noise * np.eye(S)
            latent = np.linalg.solve(M, sum(w.T @ offset.T for w, offset in zip(W[1:], offsets[1:]))).T
            found = noisy.posterior([None, *new[1:]])
            predicted, std = noisy.predict_view([None, *new[1:]], 0, return_std=True, small_sample=False)
            variance = np.diag(W[0] @ (noise * np.linalg.inv(M)) @ W[0].T) + noise
            rows += [
                (f"sigma2 {given}, {space}", relative(noisy.noise_variance_, noise)),
                (f"E[h | seen views], sigma2 {given}, {space}", relative(found.mean, latent)),
                (f"Cov[h | seen views], sigma2 {given}, {space}", relative(found.covariance, noise * np.linalg.inv(M))),
                (f"the missing view, sigma2 {given}, {space}", relative(predicted, means[0] + latent @ W[0].T)),
                (f"its variance, sigma2 {given}, {space}", relative(std**2, np.broadcast_to(variance, std.shape))),
            ]
    return formulas(
        rows,
        "Three linear views, by matrices. With noise 0 the library is AC's model, in primal and in dual, rotated and not. With noise it is the Gaussian whose limit eqs. 15 and 16 are "
        "(theory, section 8): the posterior given the views that are seen, and the law of the one that is not.",
        1e-7,
    )


def cayley_adam(B: Array, q: int, n_steps: int, rate: float, seed: int = 0) -> list[float]:
    """The objective along Cayley-Adam (Li, Li & Todorovic 2020, algorithm 2) with dense inverses, from the library's start."""
    rng = np.random.default_rng(seed)
    rng.standard_normal(len(B))  # the solver's look at the scale
    A = np.linalg.qr(rng.standard_normal((len(B), q)))[0]
    A = A * signs(A, _gram_schmidt(seed, len(B), q))
    momentum, second, found = np.zeros_like(A), 0.0, []
    identity = np.eye(len(B))
    for k in range(1, n_steps + 1):
        found.append(0.5 * float(np.trace(B)) - 0.5 * float(np.trace(A.T @ B @ A)))
        gradient = -B @ A
        momentum = 0.9 * momentum + 0.1 * gradient
        second = 0.99 * second + 0.01 * float(np.sum(gradient**2))
        length = (1 - 0.9**k) * np.sqrt(second / (1 - 0.99**k))
        half = momentum @ A.T - 0.5 * A @ (A.T @ momentum @ A.T)
        skew = (half - half.T) / length
        momentum = length * skew @ A
        before = A
        A = np.linalg.solve(identity + 0.5 * rate * skew, (identity - 0.5 * rate * skew) @ A)
        if np.trace(A.T @ B @ A) < np.trace(before.T @ B @ before) * (
            1 - 1e-14
        ):  # the library halves a step that went too far
            rate, momentum = 0.5 * rate, np.zeros_like(A)
    found.append(0.5 * float(np.trace(B)) - 0.5 * float(np.trace(A.T @ B @ A)))
    return found


def _gram_schmidt(seed: int, size: int, q: int) -> Array:
    """The random block that the start is made from."""
    rng = np.random.default_rng(seed)
    rng.standard_normal(size)
    return rng.standard_normal((size, q))


def stiefel_steps(full: bool, rng: np.random.Generator) -> Result:
    """Eq. 8 and eq. 12 by Cayley-Adam: the objective after every step against the algorithm with dense inverses."""
    rows: list[tuple[Any, ...]] = []
    for q in (1, 3):
        X = rng.normal(size=(50, 8)) * np.linspace(3.0, 0.5, 8)
        B = np.cov(X.T, bias=True)
        plain = Stiefel(tol=0.0, max_iter=12, accelerate=False)
        model = PPCA(q, solver=plain).fit(X)
        wanted = cayley_adam(B, q, 12, plain.learning_rate)
        rows.append((f"objectives of 12 steps, q = {q}", relative(model.objectives_, wanted)))
        best = 0.5 * (np.trace(B) - np.linalg.eigvalsh(B)[-q:].sum())
        ends = PPCA(q, solver=Stiefel(tol=1e-12, max_iter=5000)).fit(X)
        rows.append((f"the least objective (proposition 3.3), q = {q}", relative(ends.objectives_[-1], best)))
    return formulas(
        rows,
        "The library moves along the Cayley curve by inverses of 2q x 2q; here with those of the whole matrix, as the algorithm is printed. A wrong factor in the curve, the momentum "
        "or the step leaves orthonormal frames, and would be hidden by where it ends; not by the objective of every step.",
    )


def recursion(full: bool, rng: np.random.Generator) -> Result:
    """The recursion in both spaces, and as the forecaster takes it: eq. 15 on the last window, its answer appended, again."""
    series = make_sum_of_sines(300) + 0.1 * rng.normal(size=300)
    lags, q, steps = 12, 4, 25
    windows = np.lib.stride_tricks.sliding_window_view(series, lags + 1)
    mean = windows.mean(axis=0)
    centred = windows - mean
    values, vectors = np.linalg.eigh(centred.T @ centred)
    U = vectors[:, ::-1][:, :q] * np.sqrt(values[::-1][:q])
    gamma = np.diag(values[::-1][:q])
    known = list(series)
    for _ in range(steps):
        pull = U[:lags].T @ (np.array(known[-lags:]) - mean[:lags])
        known.append(float(mean[lags] + U[lags] @ np.linalg.solve(gamma - np.outer(U[lags], U[lags]), pull)))
    answers = {space: forecast(series, steps, lags, q, space=space, solver="eigh") for space in ("primal", "dual")}
    answers["forecaster"] = RKMForecaster(
        lags, q, kernel="linear", season=None, difference=0, transform=None,
        noise_variance=0.0, view_weights=None, n_folds=None, standardize=False,
    ).fit(series).predict(steps)  # fmt: skip
    rows = [(f"{steps} steps ahead, {name}", relative(answer, known[300:])) for name, answer in answers.items()]
    return formulas(rows, "A noisy sum of sines, twelve lags, four components; every answer is fed back.")


def generation(full: bool, rng: np.random.Generator) -> Result:
    """One model in primal and dual, explicit polynomial features against their kernel: what the same latents decode to."""
    X = rng.normal(size=(50, 3)) * [1.2, 0.9, 0.6]
    parts = [X, X @ rng.normal(size=(3, 2)) + 0.1 * rng.normal(size=(50, 2))]
    options: dict[str, Any] = {"degree": 2, "gamma": 0.5, "coef0": 1.0}
    rows: list[tuple[Any, ...]] = []
    spaces = {
        "linear": (["linear", "linear"], ["linear", "linear"]),
        "polynomial": ([maps.Polynomial(**options), "linear"], [kernels.Polynomial(**options), "linear"]),
    }
    Z = rng.normal(size=(30, S))
    for name, (explicit, implicit) in spaces.items():
        for noise in (0.0, 0.01):
            primal = MultiViewRKM(S, kernel=explicit, space="primal", noise_variance=noise, **PLAIN).fit(parts)
            dual = MultiViewRKM(S, kernel=implicit, space="dual", noise_variance=noise, **PLAIN).fit(parts)
            turn = signs(primal.transform(parts), dual.transform(parts))
            pairs = [(primal.inverse_transform(Z * turn)[1], dual.inverse_transform(Z)[1])]
            if name == "linear":
                pairs.append((primal.inverse_transform(Z * turn)[0], dual.inverse_transform(Z)[0]))
                exact = Z @ np.asarray(dual.loadings_[0]).T + X.mean(axis=0)
                pairs.append((dual.inverse_transform(Z)[0], exact))
            rows.append((f"decoded latents, {name}, sigma2 {noise:g}", max(relative(a, b) for a, b in pairs)))
            rows.append(
                (f"latents, {name}, sigma2 {noise:g}", relative(primal.transform(parts) * turn, dual.transform(parts)))
            )
    drawn = [
        MultiViewRKM(S, kernel="linear", space=space, noise_variance=0.01, **PLAIN).fit(parts).sample(20_000, random_state=0)
        for space in ("primal", "dual")
    ]  # fmt: skip
    stacked = [np.hstack(one) for one in drawn]
    joint = np.hstack(parts)
    values, vectors = np.linalg.eigh(np.cov(joint.T, bias=True))
    axes = vectors[:, ::-1][:, :S]
    C = axes @ np.diag(values[::-1][:S] - 0.01) @ axes.T + 0.01 * np.eye(5)
    for space, rows_drawn in zip(("primal", "dual"), stacked):
        white = np.linalg.solve(np.linalg.cholesky(C), (rows_drawn - joint.mean(axis=0)).T)
        rows.append(
            (f"covariance of draws, whitened, {space}", relative(np.cov(white), np.eye(5)), 3 * np.sqrt(5 / 20_000))
        )
    return formulas(
        rows,
        "The paper leaves equivalence for generative modelling to future work. It holds: the same latents decode to the same points in primal and in dual, and draws of both have the "
        "covariance W W^T + sigma2 I. (A polynomial view decodes through a pre-image, which both spaces share; the linear view is compared.)",
    )


CLAIMS = [
    Claim("ac-equations", "AC", "stationarity and missing views", "eqs. 5 to 16", equations),
    Claim("ac-stiefel-steps", "AC", "Cayley-Adam step by step", "algorithms 3 and 4, line 5", stiefel_steps),
    Claim("ac-recursion", "AC", "the recursive forecast", "section 5: eq. 15, fed back", recursion),
    Claim("ac-generation", "AC", "decoding and drawing in primal and dual", "future work: equivalence for generative modelling", generation),
]  # fmt: skip
