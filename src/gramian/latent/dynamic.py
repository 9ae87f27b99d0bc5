"""Latents that move: y_t = μ + Wz_t + ε_t, z_t = A₁z_(t-1) + ... + A_pz_(t-p) + η_t, with holes; filter, smoother and EM [5].

The state is s_t = (z_t, ..., z_(t-p+1)), its first law the stationary one. Of a row only what was seen enters, through C = WₒᵀR⁻¹Wₒ and
r = WₒᵀR⁻¹(yₒ - μₒ - Wₒ E z): systems of the size of the state, whatever the number of series.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgWarning, solve_discrete_lyapunov

from gramian._arrays import Array
from gramian._precision import EPS, LEAST_NOISE, ROUNDING, SEEN, TINY
from gramian.solvers.spectrum import positive_signs


@dataclass(frozen=True)
class DynamicModel:
    """μ (d,), W (d, q), A (p, q, q) with p = 0 for latents that do not move, Q (q, q), and the noise of each series (d,)."""

    mean: Array
    loadings: Array
    transition: Array
    state_noise: Array
    noise: Array

    @property
    def n_components(self) -> int:
        return self.loadings.shape[1]

    @property
    def companion(self) -> tuple[Array, Array]:
        """The transition and the noise of the whole state, (k, k)."""
        p, q = len(self.transition), self.n_components
        if not p:
            return np.zeros((q, q)), self.state_noise
        k = p * q
        step, noise = np.zeros((k, k)), np.zeros((k, k))
        step[:q] = np.concatenate(list(self.transition), axis=1)
        step[q:, : k - q] = np.eye(k - q)
        noise[:q, :q] = self.state_noise
        return step, noise

    @property
    def stationary(self) -> Array:
        """The covariance of the state before anything is seen."""
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", LinAlgWarning
            )  # latents of very unlike scales: the likelihood says what the answer is worth
            return np.asarray(solve_discrete_lyapunov(*self.companion))

    @property
    def largest_root(self) -> float:
        return float(np.abs(np.linalg.eigvals(self.companion[0])).max())


@dataclass(frozen=True)
class Filtered:
    """Laws of the state, time by time: before the row was seen, and after; and the log-density of each row given those before."""

    ahead_mean: Array  # (T, k)
    ahead: Array  # (T, k, k)
    mean: Array
    covariance: Array
    log_likelihoods: Array  # (T,)


def kalman_filter(model: DynamicModel, rows: Array) -> Filtered:
    """The law of the state at each row (T, d), NaN where not seen, given the rows up to it.

    With P the covariance before the row is seen and P_z its columns of z, the gain is P_z (I + C P_zz)⁻¹ and
    |S| = |R| |I + C P_zz|, so nothing of the size of a row is inverted.
    """
    T = len(rows)
    q = model.n_components
    step, noise = model.companion
    k = len(step)
    seen = ~np.isnan(rows)
    left = np.where(seen, rows - model.mean, 0.0)
    scaled = model.loadings / model.noise[:, None]
    products = np.einsum("di,dj->dij", scaled, model.loadings).reshape(len(scaled), -1)
    overlaps = (seen @ products).reshape(T, q, q)  # C of each row
    scores = left @ scaled
    sizes = np.square(left / np.sqrt(model.noise)).sum(axis=1)
    constants = seen @ np.log(2.0 * np.pi * model.noise)
    ahead_means, aheads = np.empty((T, k)), np.empty((T, k, k))
    means, covariances = np.empty((T, k)), np.empty((T, k, k))
    likelihoods = np.empty(T)
    mean, covariance = np.zeros(k), model.stationary
    same = (seen[1:] == seen[:-1]).all(axis=1)
    steady, volume, inverse, gain, after = False, 0.0, np.eye(q), np.zeros((k, q)), covariance
    for t in range(T):
        ahead_means[t], aheads[t] = mean, covariance
        C, z, P = overlaps[t], mean[:q], covariance[:q, :q]
        residual = scores[t] - C @ z
        if not steady:
            inverse, volume = _inverse_and_volume(C, P)
            gain = covariance[:, :q] @ inverse
            after = _symmetric(covariance - gain @ C @ covariance[:q])
        size = sizes[t] - 2.0 * z @ scores[t] + z @ C @ z - residual @ P @ inverse @ residual
        likelihoods[t] = -0.5 * (constants[t] + volume + size)
        means[t] = mean + gain @ residual
        covariances[t] = after
        mean = step @ means[t]
        following = covariance if steady else _symmetric(step @ after @ step.T + noise)
        # with the same cells seen, covariances come to rest: then nothing is solved anew
        steady = (
            t + 1 < T
            and bool(same[t])
            and (steady or np.abs(following - covariance).max() <= 1e-14 * np.abs(covariance).max())
        )
        covariance = following
    return Filtered(ahead_means, aheads, means, covariances, likelihoods)


def _inverse_and_volume(C: Array, P: Array) -> tuple[Array, float]:
    """(I + C P)⁻¹ and log |I + C P| of two covariances.

    So little noise makes C so large that the sum is singular in floating point. With P = L Lᵀ and Lᵀ C L = V λ Vᵀ, whose λ are not negative, the
    inverse is L⁻ᵀ V (1 + λ)⁻¹ Vᵀ Lᵀ and the volume Σ log(1 + λ).
    """
    system = np.eye(len(C)) + C @ P
    try:
        return np.linalg.inv(system), float(np.linalg.slogdet(system)[1])
    except np.linalg.LinAlgError:
        variances, axes = np.linalg.eigh(P)
        lengths = np.sqrt(np.maximum(variances, ROUNDING * max(float(variances[-1]), TINY)))
        values, vectors = np.linalg.eigh(_symmetric((axes * lengths).T @ C @ (axes * lengths)))
        values = np.maximum(values, 0.0)
        back, there = (axes / lengths) @ vectors, (axes * lengths) @ vectors
        return (back / (1.0 + values)) @ there.T, float(np.log1p(values).sum())


@dataclass(frozen=True)
class Smoothed:
    """Laws of the state given all rows, and its covariances with the state before (the first of them is none)."""

    mean: Array  # (T, k)
    covariance: Array  # (T, k, k)
    lagged: Array  # (T, k, k), Cov[s_t, s_(t-1)]


def kalman_smoother(model: DynamicModel, filtered: Filtered) -> Smoothed:
    """Rauch, Tung and Striebel: backwards with J_t = P_(t|t) Fᵀ P_(t+1|t)⁻¹."""
    step = model.companion[0]
    mean, covariance = np.array(filtered.mean), np.array(filtered.covariance)
    lagged = np.zeros_like(covariance)
    backs = filtered.covariance[:-1] @ step.T @ np.linalg.pinv(filtered.ahead[1:], hermitian=True)
    for t in range(len(mean) - 2, -1, -1):
        back = backs[t]
        mean[t] += back @ (mean[t + 1] - filtered.ahead_mean[t + 1])
        covariance[t] = _symmetric(filtered.covariance[t] + back @ (covariance[t + 1] - filtered.ahead[t + 1]) @ back.T)
        lagged[t + 1] = covariance[t + 1] @ back.T
    return Smoothed(mean, covariance, lagged)


def fit_dynamic(
    start: DynamicModel, rows: Array, *, isotropic: bool, tol: float, max_iter: int
) -> tuple[DynamicModel, Array, bool]:
    """EM from a start: the model, the log-likelihoods (they never fall), and whether it converged.

    The M-step of A and Q leaves out the first state's law, which depends on them too; so a step that does not raise the likelihood of all rows is
    halved until it does, or is the last.
    """
    model, filtered = start, kalman_filter(start, rows)
    history = [float(filtered.log_likelihoods.sum())]
    for _ in range(max_iter):
        wanted = _maximise(model, rows, kalman_smoother(model, filtered), isotropic)
        share = 1.0
        while True:
            candidate = _between(model, wanted, share)
            with np.errstate(over="ignore", invalid="ignore"):  # a step too far has no likelihood, and is halved
                found = kalman_filter(candidate, rows)
            total = float(found.log_likelihoods.sum())
            if total >= history[-1] or share < 1e-3:
                break
            share *= 0.5
        if not total >= history[-1]:
            return model, np.array(history), True
        model, filtered = candidate, found
        history.append(total)
        if history[-1] - history[-2] <= tol * np.count_nonzero(~np.isnan(rows)) ** 0.5:
            return model, np.array(history), True
    return model, np.array(history), max_iter == 0


def _between(model: DynamicModel, wanted: DynamicModel, share: float) -> DynamicModel:
    """Transition and its noise so far on the way to what is wanted; the rest as wanted."""
    if share == 1.0:
        return wanted
    parts = {
        name: (1 - share) * getattr(model, name) + share * getattr(wanted, name)
        for name in ("mean", "loadings", "transition", "state_noise", "noise")
    }
    return _drawn_in(DynamicModel(**parts))


def usual_variances(rows: Array) -> Array:
    """The variance of each series; one that varies by no more than rounding has that of the others, or 1.

    >>> usual_variances(np.array([[1e-150, 1.0], [1e-150, 3.0]])).tolist()
    [1.0, 1.0]
    >>> usual_variances(np.full((3, 2), 1e-145)).tolist()
    [1.0, 1.0]
    """
    spread = np.nanvar(rows, axis=0)
    rounding = np.square(64 * EPS * np.nanmax(np.abs(rows), axis=0))
    varies = spread > np.maximum(rounding, TINY)
    return np.where(varies, spread, spread[varies].mean() if varies.any() else 1.0)


def _maximise(model: DynamicModel, rows: Array, law: Smoothed, isotropic: bool) -> DynamicModel:
    """The M-step: a regression of each series on the latents, and of the latents on those before them."""
    T, q, p = len(rows), model.n_components, len(model.transition)
    seen = ~np.isnan(rows)
    values = np.where(seen, rows, 0.0)
    inputs = np.column_stack([law.mean[:, :q], np.ones(T)])
    products = np.einsum("ti,tj->tij", inputs, inputs)
    products[:, :q, :q] += law.covariance[:, :q, :q]
    sums = np.einsum("td,tij->dij", seen, products)
    solved = _solution(sums, (values.T @ inputs)[:, :, None])[:, :, 0]
    loadings, mean = solved[:, :q], solved[:, q]
    counts = seen.sum(axis=0)
    squares = np.square(values).sum(axis=0) - np.einsum("di,di->d", solved, values.T @ inputs)
    least = LEAST_NOISE * usual_variances(rows)
    noise = np.full(len(counts), squares.sum() / counts.sum()) if isotropic else squares / counts
    noise = np.maximum(noise, least.mean() if isotropic else least)
    if not p:
        return replace(model, mean=mean, loadings=loadings, noise=noise)
    second = law.covariance + np.einsum("ti,tj->tij", law.mean, law.mean)
    now = second[1:, :q, :q].sum(axis=0)
    before = second[:-1].sum(axis=0)
    both = law.lagged[1:, :q].sum(axis=0) + law.mean[1:, :q].T @ law.mean[:-1]
    step = _solution(before, both.T).T
    state_noise = _positive(_symmetric(now - step @ both.T) / (T - 1))
    transition = step.reshape(q, p, q).transpose(1, 0, 2)
    return _drawn_in(DynamicModel(mean, loadings, transition, state_noise, noise))


def _solution(moments: Array, products: Array) -> Array:
    """Of normal equations; the shortest one where latents that do not move leave them singular."""
    try:
        return np.linalg.solve(moments, products)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(moments, hermitian=True) @ products)


def _drawn_in(model: DynamicModel, largest_root: float = 0.999) -> DynamicModel:
    """The model with roots inside the unit circle, so that there is a stationary law."""
    largest = model.largest_root
    if largest <= largest_root:
        return model
    shrunk = (largest_root / largest) ** np.arange(1, len(model.transition) + 1)
    return replace(model, transition=model.transition * shrunk[:, None, None])


def canonical(model: DynamicModel) -> DynamicModel:
    """The same law of the rows with latents of variance I, so that they are PPCA's where nothing moves, and orthogonal loadings, the largest first."""
    q = model.n_components
    root = np.linalg.cholesky(_positive(_symmetric(model.stationary[:q, :q])))
    axes, gains, turn = np.linalg.svd(model.loadings @ root, full_matrices=False)
    signs = positive_signs(axes)
    turn = turn * signs[:, None]
    to = root @ turn.T  # z = to z'
    inverse = np.linalg.inv(to)
    return DynamicModel(
        model.mean,
        axes * signs * gains,
        np.array([inverse @ step @ to for step in model.transition]).reshape(model.transition.shape),
        _symmetric(inverse @ model.state_noise @ inverse.T),
        model.noise,
    )


def autoregression(latents: Array, order: int) -> Array:
    """The least-squares regression of rows (n, q) on the ``order`` rows before them, (order, q, q)."""
    n, q = latents.shape
    past = np.concatenate([latents[order - lag : n - lag] for lag in range(1, order + 1)], axis=1)
    step = np.linalg.lstsq(past, latents[order:], rcond=SEEN)[0].T  # a latent that is nothing but rounding says nothing
    return np.asarray(step.reshape(q, order, q).transpose(1, 0, 2))


def forecast_laws(model: DynamicModel, mean: Array, covariance: Array, steps: int) -> tuple[Array, Array]:
    """Means and standard deviations (steps, d) of the rows after a state."""
    step, noise = model.companion
    q = model.n_components
    means, variances = [], []
    for _ in range(steps):
        mean, covariance = step @ mean, _symmetric(step @ covariance @ step.T + noise)
        means.append(model.mean + model.loadings @ mean[:q])
        variances.append(row_variance(model, covariance[None, :q, :q])[0] + model.noise)
    return np.array(means), np.sqrt(np.array(variances))


def row_variance(model: DynamicModel, covariances: Array) -> Array:
    """diag(W P Wᵀ) of covariances (T, q, q), (T, d)."""
    return np.einsum("di,tij,dj->td", model.loadings, covariances, model.loadings)


def _positive(covariance: Array) -> Array:
    """The covariance; where rounding has made it no covariance, the nearest that is one."""
    values, axes = np.linalg.eigh(covariance)
    least = ROUNDING * max(float(values[-1]), TINY)
    return covariance if values[0] >= least else _symmetric((axes * np.maximum(values, least)) @ axes.T)


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)
