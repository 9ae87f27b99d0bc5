"""The frame: running moments of the features, and three ways to keep their principal axes while the maps move [11].

Plain NumPy in double precision: no gradient passes through the frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gramian._arrays import Array, symmetric_part
from gramian._checks import check_choice
from gramian._precision import LEAST_NOISE
from gramian._threads import single_blas_thread
from gramian.latent.gaussian import noise_of_each_q
from gramian.solvers.rayleigh import ritz
from gramian.solvers.stiefel import cayley_adam


@dataclass(frozen=True)
class Frame:
    """Mean, scales and principal axes of the concatenated features, each view divided by the root of its own trace."""

    mean: Array  # (D,)
    scales: Array  # (D,): √tr C_v, repeated over the features of view v
    axes: Array  # (D, q), orthonormal
    eigenvalues: Array  # (q,), of the scaled covariance, largest first
    noise: float  # σ² = (tr C - tr UᵀCU) / (D - q)

    @property
    def explained(self) -> float:
        """tr UᵀCU, in units where every view has variance 1."""
        return float(self.eigenvalues.sum())

    @property
    def loadings(self) -> Array:
        """W = U (L - σ²)^½, of the scaled features [2]."""
        return self.axes * np.sqrt(np.maximum(self.eigenvalues - self.noise, 0.0))


class RunningMoments:
    """Means and covariances of the features of all views, with forgetting; rows that miss views add what they show.

    For complete rows and no forgetting this is the exact merge of `operators.Moments`.
    """

    def __init__(self, widths: list[int], forgetting: float = 0.98) -> None:
        self.widths = list(widths)
        self.forgetting = forgetting
        self.mean = np.zeros(sum(widths))
        self.covariance = np.zeros((sum(widths), sum(widths)))
        self.mass = np.zeros((len(widths), len(widths)))

    def update(self, features: Array, seen: Array | None = None) -> None:
        """One batch: features (n, D), and which rows show which views (None: all)."""
        F = np.asarray(features, dtype=np.float64)
        shown = np.ones((len(F), len(self.widths))) if seen is None else np.asarray(seen, dtype=np.float64)
        pairs = shown.T @ shown
        mass = self.forgetting * self.mass + pairs
        share = np.divide(pairs, mass, out=np.zeros_like(pairs), where=mass > 0)
        rows = np.repeat(shown, self.widths, axis=1)
        counts = np.maximum(np.repeat(pairs.diagonal(), self.widths), 1.0)
        batch_mean = (rows * F).sum(axis=0) / counts
        move = np.repeat(share.diagonal(), self.widths) * (batch_mean - self.mean)
        self.mean = self.mean + move
        centred = rows * (F - self.mean)
        scatter = (centred.T @ centred) / np.maximum(self._spread(pairs), 1.0)
        weight = self._spread(share)
        kept = self.covariance + np.outer(move, move)  # about the new mean
        self.covariance = symmetric_part((1 - weight) * kept + weight * scatter)
        self.mass = mass

    def _spread(self, pairs: Array) -> Array:
        """A number per pair of views, repeated over their features."""
        return np.repeat(np.repeat(pairs, self.widths, axis=0), self.widths, axis=1)

    def scales(self) -> Array:
        """√tr C_v, repeated over the features of view v; 1 for a constant view."""
        stops = np.cumsum([0, *self.widths])
        diagonal = self.covariance.diagonal()
        traces = np.array([diagonal[a:b].sum() for a, b in pairwise(stops)])
        return np.repeat(np.sqrt(np.where(traces > 0, traces, 1.0)), self.widths)

    def scaled_covariance(self) -> Array:
        """C with every view divided by the root of its own trace."""
        scales = self.scales()
        return self.covariance / np.outer(scales, scales)


def exact_moments(features: Array, widths: list[int], seen: Array | None = None) -> RunningMoments:
    """The moments of all rows at once: the closed form."""
    moments = RunningMoments(widths, forgetting=1.0)
    moments.update(features, seen)
    return moments


def frame_of(moments: RunningMoments, axes: Array) -> Frame:
    """The frame of orthonormal axes, turned to the eigenvectors of UᵀCU."""
    C = moments.scaled_covariance()
    values, vectors, _ = ritz(axes, C @ axes)
    dim = len(axes)
    trace = float(np.trace(C))
    noise = max(float(noise_of_each_q(values, trace, dim)[-1]), LEAST_NOISE * trace / dim)
    return Frame(moments.mean, moments.scales(), vectors, values, noise)


def principal_axes(C: Array, n_components: int) -> Array:
    """The leading eigenvectors."""
    with single_blas_thread():
        return np.ascontiguousarray(np.linalg.eigh(C)[1][:, ::-1][:, :n_components])


# ---------------------------------------------------------------- the table of ways


class Eigh:
    """Eigenvectors of the running covariance, at every step."""

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components
        self.axes: Array | None = None

    def step(self, C: Array, rate: float = 1.0) -> Array:
        """The axes after one more batch; ``rate`` is the share of the largest learning rate."""
        self.axes = principal_axes(C, self.n_components)
        return self.axes

    def state(self) -> dict[str, Array]:
        """Arrays to go on from."""
        return {} if self.axes is None else {"axes": self.axes}

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from the arrays of `state`."""
        self.axes = state.get("axes")


class Power(Eigh):
    """One orthogonal iteration U ← qr(C U) per step, from the eigenvectors of the first batch."""

    def step(self, C: Array, rate: float = 1.0) -> Array:
        """The axes after one more batch."""
        if self.axes is None:
            return super().step(C)
        with single_blas_thread():
            self.axes = np.linalg.qr(C @ self.axes)[0]
        return self.axes


class CayleyAdam(Eigh):
    """One Cayley-Adam step on -½ tr(UᵀCU) / tr C per batch (AC algorithms 3 and 4), re-orthonormalised."""

    def __init__(self, n_components: int) -> None:
        super().__init__(n_components)
        self.momentum: Array | None = None
        self.second, self.n_steps = 0.0, 0

    def step(self, C: Array, rate: float = 1.0) -> Array:
        """The axes after one more batch."""
        if self.axes is None:
            # any fixed start will do: a stretch of the cosine basis is never orthogonal to the data for long
            grid = np.outer(np.arange(len(C)) + 0.5, np.arange(1, self.n_components + 1))
            self.axes = np.linalg.qr(np.cos(np.pi * grid / len(C)))[0]
        momentum = np.zeros_like(self.axes) if self.momentum is None else self.momentum
        self.n_steps += 1
        with single_blas_thread():
            image = C @ self.axes / max(float(np.trace(C)), np.finfo(float).tiny)
            if not image.any():
                return self.axes
            moved, self.momentum, self.second = cayley_adam(
                self.axes, image, momentum, self.second, self.n_steps, 0.5 * rate
            )
            self.axes = np.linalg.qr(moved)[0]
        return self.axes

    def state(self) -> dict[str, Array]:
        """Arrays to go on from."""
        numbers = {"second": np.array(self.second), "n_steps": np.array(self.n_steps)}
        return {**super().state(), **numbers, **({} if self.momentum is None else {"momentum": self.momentum})}

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from the arrays of `state`."""
        super().restore(state)
        self.momentum = state.get("momentum")
        self.second, self.n_steps = float(state.get("second", 0.0)), int(state.get("n_steps", 0))


FRAMES: dict[str, type[Eigh]] = {"eigh": Eigh, "power": Power, "stiefel": CayleyAdam}


def as_frame(frame: Any, dim: int, n_components: int) -> Eigh:
    """The way to keep the frame that a name stands for; "auto" decomposes at every step up to 128 features, beyond it iterates once."""
    check_choice("frame", frame, ("auto", *FRAMES))
    if frame == "auto":
        frame = "eigh" if dim <= 128 else "power"
    return FRAMES[frame](n_components)
