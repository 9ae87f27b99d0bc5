"""Em: expectation maximisation for the Gaussian latent model, on any covariance or Gram matrix [5]."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array, symmetric_part
from gramian._checks import check_flag, check_tolerance, starting_generator
from gramian._precision import HALF_DIGITS, ROUNDING, TINY
from gramian._threads import single_blas_thread
from gramian._types import RandomState
from gramian.exceptions import warn
from gramian.solvers.base import Operator, Solver
from gramian.solvers.rayleigh import Frame, Scaled, orthonormal, residuals, ritz
from gramian.solvers.spectrum import Spectrum


class Em(Solver):
    """EM for φ = μ + W z + ε on the matrix B of second moments (C, or K in the dual) [5].

    With M = WᵀW + σ²I, a step is

        W' = B W (σ² I + M⁻¹ Wᵀ B W)⁻¹,    σ²' = [tr B - tr(M⁻¹ W'ᵀ B W)] / D.

    In the dual B = K and W = K^½ Q, which makes it [ZH] eq. 11. A step maps the span of W to that of B W. With
    ``accelerate`` it goes on to the exact maximum of the likelihood over the spans of W, of B W and of the direction by
    which W was reached, at the price of no further product: still monotone, but as fast as conjugate gradients
    where EM is as slow as powers.

    The noise is that of the model: fixed when ``solve`` is given a number, else found by maximum likelihood.

    Parameters
    ----------
    tol : float
        Relative change of the mean log-likelihood at which to stop; the relative residual must be within tol / 10 and
        1e-8 too, so that noise and subspace are those of the closed form.
    max_iter : int
        Steps at most; a `ConvergenceWarning` tells when they did not suffice.
    accelerate : bool
        Whether to maximise over those spans, or to take plain EM steps.
    random_state : None, int, Generator or RandomState
        Seeds the start.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.operators.covariance import Stored
    >>> spectrum = Em().solve(Stored(np.diag([5.0, 3.0, 1.0, 1.0])), 2)
    >>> spectrum.eigenvalues.round(6).tolist(), bool((np.diff(spectrum.log_likelihoods) > -1e-9).all())
    ([5.0, 3.0], True)
    """

    suits = ("primal", "dual")
    rtol = 1e-8
    atol = 1e-8

    tol: Annotated[float, "nonnegative"]

    def __init__(
        self, tol: float = 1e-6, max_iter: int = 1000, accelerate: bool = True, random_state: RandomState = 0
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.accelerate = accelerate
        self.random_state = random_state

    def solve(
        self, operator: Operator, n_components: int, *, dim: float | None = None, noise_variance: float | None = None
    ) -> Spectrum:
        tol, max_iter = check_tolerance(self.tol, self.max_iter)
        accelerate = check_flag("accelerate", self.accelerate)
        rng = starting_generator(self.random_state)
        size, q = operator.size, min(n_components, operator.size)
        if q == 0:
            return Spectrum(np.empty(0), np.empty((size, 0)), operator.trace())
        scaled = Scaled.of(operator, rng)
        model = _Model(
            trace=max(scaled.trace(), 0.0),
            dim=float(size if dim is None else dim),
            q=q,
            fixed=None if noise_variance is None else float(noise_variance) / scaled.scale,
        )
        with single_blas_thread() if size * q < 1 << 16 else nullcontext():
            state, history, converged = _climb(scaled, model, tol, max_iter, accelerate, rng)
            axes = orthonormal(state.frame.axes)
            values, vectors, images = ritz(axes, scaled @ axes)
        residual = float(residuals(values, vectors, images).max() / max(abs(values[0]), TINY))
        if not converged:
            warn(
                f"Em stopped after max_iter={max_iter} steps at a relative residual of {residual:.2g}, before tol={tol:g} "
                f"was reached. Raise max_iter, lower n_components={q}, or use solver='eigh'.",
                ConvergenceWarning,
            )
        shift = 0.5 * model.dim * math.log(scaled.scale)  # log-densities are those of the data as they were
        return Spectrum(
            values * scaled.scale,
            vectors,
            operator.trace(),
            residual,
            n_iter=len(history),
            converged=converged,
            log_likelihoods=np.array([value - shift for value in history if np.isfinite(value)]),
        ).signed()

    def bytes_needed(self, size: int, n_components: int) -> int:
        return 8 * size * 12 * (n_components + 1)


@dataclass(frozen=True)
class _State:
    """W = V C with orthonormal V, so that a loading which vanishes keeps its direction; and the noise."""

    frame: Frame
    coefficients: Array
    noise: float

    @property
    def moments(self) -> Array:
        return symmetric_part(self.frame.axes.T @ self.frame.image)


@dataclass(frozen=True)
class _Model:
    """What does not change: tr B, D, q and the noise if it is fixed."""

    trace: float
    dim: float
    q: int
    fixed: float | None

    @property
    def floor(self) -> float:
        return ROUNDING * self.trace / max(self.dim, 1.0)

    def log_likelihood(self, state: _State) -> float:
        """-½ [D log 2π + log|M| + (D - q) log σ² + (tr B - tr M⁻¹WᵀBW) / σ²], the mean over the rows [2]."""
        if state.noise <= self.floor:
            return math.inf
        C = state.coefficients
        M = C.T @ C + state.noise * np.eye(self.q)
        explained = np.trace(np.linalg.solve(M, C.T @ state.moments @ C))
        log_volume = np.linalg.slogdet(M)[1] + (self.dim - self.q) * math.log(state.noise)
        distance = (self.trace - explained) / state.noise
        return float(-0.5 * (self.dim * math.log(2 * math.pi) + log_volume + distance))

    def noise(self, explained: float) -> float:
        """The maximum-likelihood noise, given the variance in the subspace; 0 where none is left."""
        if self.fixed is not None:
            return self.fixed
        left = self.trace - explained
        return left / (self.dim - self.q) if left > self.floor * self.dim and self.dim > self.q else 0.0

    def best(self, scaled: Scaled, frame: Frame) -> _State | None:
        """The maximum of the likelihood in the spans of V, B V and the past; None where a loading would vanish."""
        values, frame = frame.best(scaled, frame.image)
        noise = self.noise(float(values.sum()))
        return None if values[-1] <= noise else _State(frame, np.diag(np.sqrt(values - noise)), noise)


def _climb(
    scaled: Scaled, model: _Model, tol: float, max_iter: int, accelerate: bool, rng: np.random.Generator
) -> tuple[_State, list[float], bool]:
    """Steps until the likelihood and the residual settle."""
    axes = orthonormal(rng.standard_normal((scaled.size, model.q)))
    start = model.trace / max(model.dim, 1.0)
    state = _State(
        Frame.of(axes, scaled @ axes),
        math.sqrt(max(start, TINY)) * np.eye(model.q),
        model.fixed if model.fixed is not None else start,
    )
    history = [model.log_likelihood(state)]
    converged = model.trace == 0
    while not converged and len(history) < max_iter:
        better = model.best(scaled, state.frame) if accelerate else None
        if better is None or not model.log_likelihood(better) >= history[-1]:
            better = _step(scaled, model, state)
        state = better
        history.append(model.log_likelihood(state))
        # no noise, no likelihood: then the residual alone decides
        still = math.isinf(history[-1]) or abs(history[-1] - history[-2]) <= tol * abs(history[-1])
        converged = still and _residual(state.frame) <= max(min(0.1 * tol, HALF_DIGITS), 1e-13)
    return state, history, converged


def _step(scaled: Scaled, model: _Model, state: _State) -> _State:
    """One EM step, W' = B W (σ² I + M⁻¹ Wᵀ B W)⁻¹; without noise only the span moves (Roweis' limit)."""
    C = state.coefficients
    axes, triangle = np.linalg.qr(state.frame.image)
    frame = Frame.of(axes, scaled @ axes)
    if state.noise <= model.floor:
        return _State(frame, C, state.noise)
    loadings, explained = em_step(triangle @ C, C.T @ state.moments @ C, C.T @ C, state.noise)
    noise = model.fixed
    if noise is None:
        noise = (model.trace - explained) / model.dim
        noise = noise if noise > model.floor else 0.0
    return _State(frame, loadings, noise)


def em_step(image: Array, moments: Array, gram: Array, noise: float) -> tuple[Array, float]:
    """W' = B W (σ² I + M⁻¹ Wᵀ B W)⁻¹ with M = WᵀW + σ²I, and tr(M⁻¹ W'ᵀ B W), what it explains of tr B ([MM] 2.4.2, [ZH] eq. 11) [5].

    ``image`` is B W, ``moments`` WᵀBW and ``gram`` WᵀW, in any orthonormal coordinates of the first side of W. The noise after the
    step is (tr B - explained) / D.

    >>> import numpy as np
    >>> B, W = np.diag([5.0, 1.0]), np.array([[1.0], [1.0]])
    >>> loadings, explained = em_step(B @ W, W.T @ B @ W, W.T @ W, 1.0)
    >>> loadings.ravel().round(3), round(explained, 3)
    (array([1.667, 0.333]), 2.889)
    """
    identity = np.eye(len(gram))
    M = gram + noise * identity
    loadings = image @ np.linalg.inv(noise * identity + np.linalg.solve(M, moments))
    return loadings, float(np.trace(np.linalg.solve(M, loadings.T @ image)))


def _residual(frame: Frame) -> float:
    values, vectors, images = ritz(frame.axes, frame.image)
    return float(residuals(values, vectors, images).max() / max(abs(values[0]), TINY))
