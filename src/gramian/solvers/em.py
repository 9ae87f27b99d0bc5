"""Em: expectation maximisation for the Gaussian latent model, on any covariance or Gram matrix [5]."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array, single_blas_thread, symmetrized
from gramian._checks import check_flag, check_random_state, check_tolerance
from gramian.solvers.base import Operator, Solver
from gramian.solvers.rayleigh import Scaled, orthonormal, residuals, ritz
from gramian.solvers.spectrum import Spectrum

NOISE_FLOOR = 1e-13
"""A noise below this share of the mean variance is none: the data lie in the subspace."""


class Em(Solver):
    """EM for φ = μ + W z + ε on the matrix B of second moments (C, or K in the dual) [5].

    With M = WᵀW + σ²I, a step is

        W' = B W (σ² I + M⁻¹ Wᵀ B W)⁻¹,    σ²' = [tr B - tr(M⁻¹ W'ᵀ B W)] / D.

    In the dual B = K and W = K^½ Q, which makes it [ZH] eq. 11. A step maps the span of W to that of B W. With
    ``accelerate`` it is followed by the exact maximum of the likelihood over the spans of the last three steps, at the
    price of no further product: still monotone, but as fast as conjugate gradients where EM is as slow as powers.

    The noise is that of the model: fixed when ``solve`` is given a number, else found by maximum likelihood.

    Parameters
    ----------
    tol : float
        Relative change of the mean log-likelihood at which to stop; the relative residual must be within tol / 10 too.
    max_iter : int
        Steps at most; a `ConvergenceWarning` tells when they did not suffice.
    accelerate : bool
        Whether to maximise over the last three spans, or to take plain EM steps.
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

    rtol = 1e-8
    atol = 1e-8

    def __init__(self, tol: float = 1e-6, max_iter: int = 1000, accelerate: bool = True, random_state: Any = 0) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.accelerate = accelerate
        self.random_state = random_state

    def solve(
        self, operator: Operator, n_components: int, *, dim: float | None = None, noise_variance: float | None = None
    ) -> Spectrum:
        tol, max_iter = check_tolerance(self.tol, self.max_iter)
        accelerate = check_flag("accelerate", self.accelerate)
        rng = check_random_state(self.random_state)
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
        with single_blas_thread() if size * q < 1 << 16 else _nothing():
            state, history, converged = _climb(scaled, model, tol, max_iter, accelerate, rng)
            values, vectors, images = ritz(state.axes, scaled @ state.axes)
        residual = float(residuals(values, vectors, images).max() / max(abs(values[0]), np.finfo(float).tiny))
        if not converged:
            warnings.warn(
                f"Em stopped after max_iter={max_iter} steps at a relative residual of {residual:.2g}, before tol={tol:g} "
                f"was reached. Raise max_iter, lower n_components={q}, or use solver='eigh'.",
                ConvergenceWarning,
                stacklevel=2,
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


class _nothing:  # noqa: N801
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True)
class _State:
    """W = V C with orthonormal V, so that a loading which vanishes keeps its direction; the image B V; the noise."""

    axes: Array
    image: Array
    coefficients: Array
    noise: float

    @property
    def moments(self) -> Array:
        return symmetrized(self.axes.T @ self.image)


@dataclass(frozen=True)
class _Model:
    """What does not change: tr B, D, q and the noise if it is fixed."""

    trace: float
    dim: float
    q: int
    fixed: float | None

    @property
    def floor(self) -> float:
        return NOISE_FLOOR * self.trace / max(self.dim, 1.0)

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

    def best_within(self, axes: Array, image: Array) -> _State | None:
        """The maximum of the likelihood among W in the span of orthonormal axes; None where a loading would vanish."""
        values, vectors, images = ritz(axes, image)
        values, vectors, images = values[: self.q], vectors[:, : self.q], images[:, : self.q]
        noise = self.noise(float(values.sum()))
        if len(values) < self.q or values[-1] <= noise:
            return None
        return _State(vectors, images, np.diag(np.sqrt(values - noise)), noise)


def _climb(
    scaled: Scaled, model: _Model, tol: float, max_iter: int, accelerate: bool, rng: np.random.Generator
) -> tuple[_State, list[float], bool]:
    """Steps until the likelihood and the residual settle."""
    axes = orthonormal(rng.standard_normal((scaled.size, model.q)))
    start = model.trace / max(model.dim, 1.0)
    noise = model.fixed if model.fixed is not None else start
    state = _State(axes, scaled @ axes, math.sqrt(max(start, np.finfo(float).tiny)) * np.eye(model.q), noise)
    history = [model.log_likelihood(state)]
    earlier: _State | None = None
    converged = _settled(state, tol) and model.trace == 0
    while not converged and len(history) < max_iter:
        after = _step(scaled, model, state)
        likelihood = model.log_likelihood(after)
        if accelerate:
            better = _accelerated(model, after, state, earlier)
            if better is not None and (reached := model.log_likelihood(better)) >= likelihood:
                after, likelihood = better, reached
        earlier, state = state, after
        history.append(likelihood)
        if np.isfinite(likelihood):
            change = abs(history[-1] - history[-2]) <= tol * max(abs(history[-1]), np.finfo(float).tiny)
        else:
            change = True  # no noise, no likelihood: the residual decides
        converged = change and _settled(state, tol)
    return state, history, converged


def _step(scaled: Scaled, model: _Model, state: _State) -> _State:
    """One EM step, W' = B W (σ² I + M⁻¹ Wᵀ B W)⁻¹; without noise the M step alone (Roweis' limit)."""
    C, moments, q = state.coefficients, state.moments, model.q
    axes, triangle = np.linalg.qr(state.image)
    M = C.T @ C + state.noise * np.eye(q)
    inner = C.T @ moments @ C
    if state.noise <= model.floor:
        coefficients = np.eye(q) * np.sqrt(np.maximum(np.diag(moments), np.finfo(float).tiny))
        return _State(axes, scaled @ axes, coefficients, 0.0 if model.fixed is None else model.fixed)
    coefficients = triangle @ C @ np.linalg.inv(state.noise * np.eye(q) + np.linalg.solve(M, inner))
    noise = model.fixed
    if noise is None:
        explained = float(np.trace(np.linalg.solve(M, coefficients.T @ triangle @ C)))
        noise = max((model.trace - explained) / model.dim, 0.0)
    return _State(axes, scaled @ axes, coefficients, noise if noise > model.floor or model.fixed is not None else 0.0)


def _accelerated(model: _Model, after: _State, state: _State, earlier: _State | None) -> _State | None:
    """The best model in the spans of the last steps, whose images are all known."""
    axes, image = after.axes, after.image
    for old in (state, earlier):
        if old is None:
            continue
        # the same projections are applied to the images, twice as for the axes; what is lost in rounding is dropped
        new, new_image = old.axes, old.image
        for _ in range(2):
            overlap = axes.T @ new
            new, new_image = new - axes @ overlap, new_image - image @ overlap
        left, lengths, right = np.linalg.svd(new, full_matrices=False)
        solid = lengths > 1e-7
        axes = np.hstack([axes, left[:, solid]])
        image = np.hstack([image, new_image @ (right[solid].T / lengths[solid])])
    return model.best_within(axes, image)


def _settled(state: _State, tol: float) -> bool:
    values, vectors, images = ritz(state.axes, state.image)
    top = max(abs(values[0]), np.finfo(float).tiny)
    return bool(residuals(values, vectors, images).max() <= max(0.1 * tol, 1e-13) * top)
