"""Stiefel: Cayley-Adam on the manifold of orthonormal frames, as the trainable maps of [AC] use it [8]."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Annotated

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array, symmetric_part
from gramian._checks import check_flag, check_number, check_random_state, check_tolerance
from gramian._threads import single_blas_thread
from gramian._types import RandomState
from gramian.exceptions import warn
from gramian.solvers.base import Operator, Solver
from gramian.solvers.rayleigh import Frame, Scaled, orthonormal
from gramian.solvers.spectrum import Spectrum, residual_norm


class Stiefel(Solver):
    """min -½ tr(Aᵀ B A) subject to AᵀA = I, by Cayley-Adam (Li, Li & Todorovic 2020; [AC] algorithms 3, 4).

    The momentum is projected to the tangent space as W A with the skew W = M̂Aᵀ - A M̂ᵀ, and A moves along the Cayley
    curve (I + ½ηW)⁻¹ (I - ½ηW) A, which stays orthonormal; W has rank 2q, so the inverse is that of a 2q x 2q
    matrix. The step is halved whenever the objective rises, so that the iteration settles. With ``accelerate`` each step
    goes on to the exact minimum over the spans of A, of the frame moved to and of the direction by which A was reached,
    at the price of no further product; alone, Cayley-Adam takes thousands of steps where eigenvalues are close. At the end A is rotated by the eigenvectors of
    Γ = AᵀBA, which gives the eigenvectors of B. For fixed features every other solver is faster: this one is for
    comparison, and for frames that are trained together with maps.

    Parameters
    ----------
    tol : float
        Relative residual |B A - A Γ| / |Γ| (spectral norms) at which to stop.
    max_iter : int
        Steps at most; a `ConvergenceWarning` tells when they did not suffice.
    learning_rate : float
        First step, in units of the gradient's length.
    accelerate : bool
        Whether to minimise over those spans, or to take plain Cayley-Adam steps.
    rotate : bool
        Whether to rotate at the end. Without it the spectrum carries A as found, and Γ as ``gamma``. With or without, ``objectives`` of the
        spectrum are ½ tr B - ½ tr(AᵀBA) at the start and after every step.
    random_state : None, int, Generator or RandomState
        Seeds the start.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.operators.covariance import Stored
    >>> spectrum = Stiefel(tol=1e-8).solve(Stored(np.diag([5.0, 3.0, 1.0, 0.5])), 2)
    >>> spectrum.eigenvalues.round(6).tolist()
    [5.0, 3.0]
    """

    learning_rate: Annotated[float, "positive"]

    rtol = 1e-8
    atol = 1e-8

    tol: Annotated[float, "nonnegative"]

    def __init__(
        self,
        tol: float = 1e-6,
        max_iter: int = 1000,
        learning_rate: float = 4.0,
        accelerate: bool = True,
        rotate: bool = True,
        random_state: RandomState = 0,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.accelerate = accelerate
        self.rotate = rotate
        self.random_state = random_state

    def solve(
        self, operator: Operator, n_components: int, *, dim: float | None = None, noise_variance: float | None = None
    ) -> Spectrum:
        tol, max_iter = check_tolerance(self.tol, self.max_iter)
        step = check_number("learning_rate", self.learning_rate, 0.0, open_low=True)
        accelerate, rotate = check_flag("accelerate", self.accelerate), check_flag("rotate", self.rotate)
        rng = check_random_state(self.random_state)
        size, q = operator.size, min(n_components, operator.size)
        if q == 0:
            return Spectrum(np.empty(0), np.empty((size, 0)), operator.trace())
        scaled = Scaled.of(operator, rng)
        start = orthonormal(rng.standard_normal((size, q)))
        with single_blas_thread() if size * q < 1 << 16 else nullcontext():
            found, residual, captured = _descend(scaled, start, step, tol, max_iter, accelerate)
        frame = orthonormal(found.axes)
        image = scaled @ frame
        converged = residual <= max(tol, 100 * np.finfo(float).eps)
        if not converged:
            warn(
                f"Stiefel stopped after max_iter={max_iter} steps at a relative residual of {residual:.2g}, above "
                f"tol={tol:g}. Raise max_iter, lower n_components={q}, or use solver='eigh'.",
                ConvergenceWarning,
            )
        gamma = symmetric_part(frame.T @ image)
        values, rotation = np.linalg.eigh(gamma)
        values, rotation = values[::-1], rotation[:, ::-1]
        spectrum = Spectrum(
            values * scaled.scale,
            frame @ rotation,
            operator.trace(),
            residual_norm(image @ rotation, values, frame @ rotation),
            n_iter=len(captured) - 1,
            converged=converged,
            objectives=0.5 * (operator.trace() - scaled.scale * np.array(captured)),
        )
        if rotate:
            return spectrum.signed()
        return spectrum.unrotated(frame, gamma * scaled.scale).signed()

    def bytes_needed(self, size: int, n_components: int) -> int:
        return 8 * size * 10 * (n_components + 1)


def _descend(
    scaled: Scaled, axes: Array, step: float, tol: float, max_iter: int, accelerate: bool
) -> tuple[Frame, float, list[float]]:
    """Cayley-Adam from orthonormal axes; the frame reached, its relative residual, and tr(AᵀBA) at the start and after every step."""
    momentum, second = np.zeros_like(axes), 0.0
    frame = Frame.of(axes, scaled @ axes)
    captured: list[float] = []
    for n_iter in range(max_iter + 1):
        axes, image = frame.axes, frame.image
        gamma = symmetric_part(axes.T @ image)
        captured.append(float(np.trace(gamma)))
        top = max(float(np.linalg.norm(gamma, 2)), np.finfo(float).tiny)
        residual = float(np.linalg.norm(image - axes @ gamma, 2) / top)
        if residual <= max(tol, 100 * np.finfo(float).eps) or n_iter == max_iter:
            break
        moved, momentum, second = cayley_adam(axes, image, momentum, second, n_iter + 1, step)
        if accelerate:
            frame = _turn(frame.best(scaled, moved)[1], moved)
        else:
            moved = orthonormal(moved)  # it is, but for rounding
            frame = Frame.of(moved, scaled @ moved)
        if np.vdot(frame.axes, frame.image) < np.vdot(axes, image) * (1 - 1e-14):
            step, momentum = 0.5 * step, np.zeros_like(axes)
    return frame, residual, captured


def cayley_adam(
    axes: Array,
    image: Array,
    momentum: Array,
    second: float,
    n_step: int,
    rate: float,
    *,
    kept: float = 0.9,
    kept_square: float = 0.99,
) -> tuple[Array, Array, float]:
    """One step (the ``n_step``-th, from 1) from the axes A with image B A: the axes moved to, and the two moments of the gradient.

    ``kept`` and ``kept_square`` are what a step keeps of the two moments before it (Adam's betas).
    """
    momentum = kept * momentum - (1 - kept) * image  # the gradient is -B A
    second = kept_square * second + (1 - kept_square) * float(np.vdot(image, image))
    length = (1 - kept**n_step) * np.sqrt(second / (1 - kept_square**n_step))
    half = momentum - 0.5 * axes @ (axes.T @ momentum)
    momentum = half - axes @ (half.T @ axes)  # W A, up to the length
    return _cayley(axes, half, 0.5 * rate / length), momentum, second


def _turn(frame: Frame, moved: Array) -> Frame:
    """The frame turned within its span as close to the moved one as it goes: the momentum stays true."""
    left, _, right = np.linalg.svd(frame.axes.T @ moved)
    return replace(frame, axes=frame.axes @ (left @ right), image=frame.image @ (left @ right))


def _cayley(frame: Array, half: Array, rate: float) -> Array:
    """(I + ηW)⁻¹ (I - ηW) A for W = H Aᵀ - A Hᵀ = L Rᵀ with L = [H, -A], R = [A, H]: A - 2η L (I + η RᵀL)⁻¹ RᵀA."""
    left, right = np.hstack([half, -frame]), np.hstack([frame, half])
    inner = np.eye(left.shape[1]) + rate * (right.T @ left)
    return np.asarray(frame - 2 * rate * left @ np.linalg.solve(inner, right.T @ frame))
