"""Orthonormal coordinates of the span of known feature points: where kernel vectors have a density [3]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gramian._arrays import Array
from gramian._precision import ROUNDING
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.subspace import KernelSubspace


@dataclass(frozen=True)
class KernelCoordinates:
    """x = Λ^-½Eᵀk_c with K_c = EΛEᵀ over its rank r: k_c = Φ_c*(φ - μ) as coordinates of φ - μ in the span of the centred points.

    ``axes`` are the principal axes U there. What φ has outside of the span no k_c shows: the point is DP's I_E φ.
    """

    vectors: Array  # E, (N, r)
    roots: Array  # Λ^½, (r,)
    axes: Array  # (r, q)

    @classmethod
    def of(cls, subspace: KernelSubspace, n_components: int) -> KernelCoordinates:
        points = subspace.gram if subspace.points is None else subspace.points
        K = subspace.center_rows(points)
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        kept = values > ROUNDING * max(float(values[-1]), 0.0)
        roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
        axes = subspace.center_scores(np.eye(n_components)) @ vectors / roots
        return cls(vectors, roots, axes.T)

    @property
    def log_volume(self) -> float:
        """½ log |Λ|: what log-densities of k_c are below those of its coordinates."""
        return float(np.log(self.roots).sum())

    def __call__(self, k_c: Array) -> Array:
        along = k_c @ self.vectors
        outside = np.linalg.norm(k_c - along @ self.vectors.T, axis=1)
        rounding = np.sqrt(ROUNDING) * float(self.roots.max(initial=0.0)) ** 2
        # eigenvalues that were cut off leave at most 1e-6 outside of the range of K_c
        if (outside > np.maximum(1e-3 * np.linalg.norm(k_c, axis=1), rounding)).any():
            raise ValueError(
                "k_c is not centred, or not of these points: give rows of center_kernel, kernel_mean or sample_kernel."
            )
        return np.asarray(along / self.roots)

    def log_density(self, gaussian: LatentGaussian, x: Array) -> Array:
        """log N(x; 0, W Wᵀ + σ²I) in r dimensions ([DP] eq. 3 on the span)."""
        on_span = replace(gaussian, dim=float(len(self.roots)))
        return on_span.log_density(Projection(x @ self.axes, np.einsum("nr,nr->n", x, x), len(self.roots)))

    def log_density_given(self, gaussian: LatentGaussian, x: Array, latent: Array) -> Array:
        """log N(x; W z, σ²I) in r dimensions ([DP] eq. 2 on the span)."""
        left = x - gaussian.decode(latent) @ self.axes.T
        noise = LatentGaussian(np.empty(0), gaussian.noise_variance, float(len(self.roots)))
        return noise.log_density(Projection(left[:, :0], np.einsum("nr,nr->n", left, left), len(self.roots)))
