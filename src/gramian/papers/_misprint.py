"""A misprint, and the small problem of DP's sections 3 and 4 on which most of them are checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gramian._arrays import Array

Errors = tuple[float, float]
"""Relative errors of the printed and of the corrected formula."""


@dataclass(frozen=True)
class Misprint:
    """A printed formula, what is right, and the check of both."""

    name: str
    where: str
    printed: str
    right: str
    check: Callable[[np.random.Generator], Errors]
    how: str = ""


@dataclass(frozen=True)
class Problem:
    """N points in a feature space of finite dimension d, with DP's operators as matrices (Phi has the points as columns)."""

    Phi: Array
    n_components: int
    noise_variance: float

    @classmethod
    def draw(cls, rng: np.random.Generator, n: int = 7, d: int = 11, q: int = 2) -> Problem:
        """A random one whose mean is not zero and whose noise is below the last eigenvalue kept."""
        scales = np.concatenate([[4.0, 3.0], np.ones(d - 2)])
        Phi = scales[:, None] * rng.normal(size=(d, n)) + rng.normal(size=(d, 1)) + 2.0
        return cls(Phi, q, 0.4)

    @property
    def n(self) -> int:
        """Points."""
        return int(self.Phi.shape[1])

    @cached_property
    def mean(self) -> Array:
        """DP's phi_c."""
        return np.asarray(self.Phi.mean(axis=1))

    @cached_property
    def centred(self) -> Array:
        """DP's Phi_c."""
        return np.asarray(self.Phi - self.mean[:, None])

    @cached_property
    def K(self) -> Array:  # noqa: N802
        """K_c."""
        return np.asarray(self.centred.T @ self.centred)

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """lambda and epsilon of K_c, the largest first; the last lambda is 0."""
        values, vectors = np.linalg.eigh(self.K)
        values = np.maximum(values[::-1], 0.0)
        values[-1] = 0.0
        return values, np.asarray(vectors[:, ::-1])

    @cached_property
    def inverse(self) -> Array:
        """The pseudo-inverse of K_c."""
        values, vectors = self.spectrum
        kept = vectors[:, :-1]
        return np.asarray((kept / values[:-1]) @ kept.T)

    @cached_property
    def A(self) -> Array:  # noqa: N802
        """DP eq. 13, N x q."""
        values, vectors = self.spectrum
        q = self.n_components
        return np.asarray(vectors[:, :q] * np.sqrt(1.0 / self.n - self.noise_variance / values[:q]))

    @cached_property
    def W(self) -> Array:  # noqa: N802
        """W = Phi_c A."""
        return np.asarray(self.centred @ self.A)

    @cached_property
    def covariance(self) -> Array:
        """W W* + sigma2 I."""
        return np.asarray(self.W @ self.W.T + self.noise_variance * np.eye(len(self.Phi)))

    @cached_property
    def Sigma(self) -> Array:  # noqa: N802
        """(W* W + sigma2 I)^-1."""
        return np.asarray(np.linalg.inv(self.W.T @ self.W + self.noise_variance * np.eye(self.n_components)))

    def B(self, basis: Array) -> Array:  # noqa: N802
        """DP's B for an orthonormal basis in columns."""
        values, vectors = self.spectrum
        scale = np.sqrt(self.noise_variance * values)
        scale[: self.n_components] = values[: self.n_components] / np.sqrt(self.n)
        return np.asarray((vectors * scale) @ basis.T)
