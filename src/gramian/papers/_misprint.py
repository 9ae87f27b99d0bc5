"""A misprint, and the small problem of DP's sections 3 and 4 on which most of them are checked: by matrices, and by the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gramian import PPCA, KernelPPCA
from gramian._arrays import Array
from gramian.kernels import Linear
from gramian.papers._claim import signs

Errors = tuple[float, float]
"""Relative errors of the printed formula and of the library, which has the corrected one."""


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
    """N points in a feature space of finite dimension d, with DP's operators as matrices (Phi has the points as columns).

    ``primal`` and ``dual`` are the library's models of the same points; the matrices do not come from them, but for the signs of A.
    """

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
    def primal(self) -> PPCA:
        """The model of the points themselves."""
        return PPCA(self.n_components, noise_variance=self.noise_variance, solver="eigh").fit(self.Phi.T)

    @cached_property
    def dual(self) -> KernelPPCA:
        """The same through the linear kernel."""
        noise, dim = self.noise_variance, len(self.Phi)
        model = KernelPPCA(self.n_components, kernel=Linear(), noise_variance=noise, noise_dim=dim, solver="eigh")
        return model.fit(self.Phi.T)

    @cached_property
    def flip(self) -> Array:
        """Signs from the latents of A to those of the primal model."""
        return np.asarray(signs(self.primal.loadings_, self.W))

    def point(self, rng: np.random.Generator) -> Array:
        """A feature point anywhere."""
        return rng.normal(size=len(self.Phi))

    def kernel_vectors(self, rng: np.random.Generator, count: int = 20) -> Array:
        """k_c of points of the span, (count, N)."""
        return np.asarray(rng.normal(size=(count, self.n)) @ self.centred.T @ self.centred)

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
        A = vectors[:, :q] * np.sqrt(1.0 / self.n - self.noise_variance / values[:q])
        return np.asarray(A * signs(A, self.dual.dual_coef_))

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
