"""What a dual Gaussian offers beyond the shared verbs: densities of kernel rows, kernel space, and the way back to inputs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype
from gramian._checks import check_choice, check_count, check_flag, check_number, check_random_state, check_table
from gramian.estimators._base import LatentModelMixin
from gramian.kernels import Precomputed
from gramian.latent.feature_subspace import FeatureSubspace, RandomFeatureSubspace
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.noise_field import UnitNoise, noise_field
from gramian.operators.gram import DenseGram, LazyGram


class DualMixin(LatentModelMixin):
    """The methods of `KernelPPCA` once it is fitted."""

    kernel: Any
    _gram: Array

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _check_rows(self, X: Any) -> Any:
        return check_table(self, X, reset=False, accept_sparse=not self._precomputed)

    def _project(self, X: Any, **options: Any) -> Projection:
        diagonal = options.get("diagonal")
        if self._precomputed and diagonal is None:
            diagonal = np.zeros(X.shape[0])  # scores do not need it; the methods that do have asked for it
        return self._model.subspace.project(X, diagonal)

    def _with_diagonal(self, X: Any, diagonal: Any, verb: Any, method: str) -> Array:
        check_is_fitted(self)
        if self._precomputed:
            if diagonal is None:
                raise ValueError(f"{method} with kernel='precomputed' needs diagonal=, the values k(y, y) of the rows.")
            diagonal = np.asarray(diagonal, dtype=np.float64).ravel()
            if len(diagonal) != np.shape(X)[0]:
                raise ValueError(f"diagonal has {len(diagonal)} values, but X has {np.shape(X)[0]} rows.")
            if not np.isfinite(diagonal).all():
                raise ValueError("diagonal contains NaN or infinity.")
        elif diagonal is not None:
            raise ValueError("diagonal= goes with kernel='precomputed' only.")
        return self._evaluate(X, self._gaussian_of(verb), diagonal=diagonal)

    def score_samples(self, X: Any, diagonal: Any = None) -> Array:
        """The log-likelihood of each row in feature space; with D = N a score, comparable between points [2].

        ``diagonal`` is k(y, y) of the rows, with a precomputed kernel.
        """
        return self._with_diagonal(X, diagonal, LatentGaussian.log_density, "score_samples")

    def mahalanobis(self, X: Any, diagonal: Any = None) -> Array:
        """The squared Mahalanobis distance of each row in feature space ([ZH] eq. 12) [2]."""
        return self._with_diagonal(X, diagonal, LatentGaussian.mahalanobis, "mahalanobis")

    def residual(self, X: Any, diagonal: Any = None) -> Array:
        """The squared distance of each row to the principal subspace of feature space ([ZH] eq. 13) [2]."""
        return self._with_diagonal(X, diagonal, LatentGaussian.residual, "residual")

    # ------------------------------------------------------------ kernel space

    def _kernel_space(self, method: str) -> Any:
        check_is_fitted(self)
        subspace = self._model.subspace
        if isinstance(subspace, RandomFeatureSubspace):
            raise ValueError(
                f"{method} lives on training points, which random features do not keep. Use approximation=None or 'nystroem'."
            )
        return subspace

    def center_kernel(self, X: Any) -> Array:
        """k_c(y)ᵢ = <φ(xᵢ) - μ, φ(y) - μ>, doubly centred with the training means only, (n, N) [3]."""
        subspace = self._kernel_space("center_kernel")
        X = self._check_rows(X)
        if isinstance(subspace, FeatureSubspace):
            seen = np.asarray(subspace.feature_map.transform(X)) - subspace.primal.mean
            return (seen @ subspace.centred_points().T).astype(float_dtype(X), copy=False)
        centred = subspace.kernel_rows(X) - subspace.raw_mean
        centred -= (centred @ subspace.affine)[:, None]
        return centred.astype(float_dtype(X), copy=False)

    def kernel_mean(self, Z: Any) -> Array:
        """E[k_c | z]: <φ(xᵢ) - μ, Wz>, (n, N) ([DP] eq. 14) [3]."""
        return self._kernel_mean(self._check_latents(Z))

    def _kernel_mean(self, Z: Array) -> Array:
        subspace = self._kernel_space("kernel_mean")
        scores = self._gaussian.decode(Z)
        if isinstance(subspace, FeatureSubspace):
            return scores @ subspace.primal.components @ subspace.centred_points().T
        images = subspace.images - subspace.affine @ subspace.images
        return scores @ images.T

    def sample_kernel(self, n_samples: int = 1, *, latent: Any = None, random_state: Any = None) -> Array:
        """Draws of k_c: covariance K_c A Aᵀ K_c + σ²K_c = B Bᵀ ([DP] sec. 3.3), or given the latents ([DP] eq. 14) [3]."""
        self._kernel_space("sample_kernel")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        Z = self._latents(n_samples, latent, rng)
        noise = self._unit_noise(len(Z), rng).centred if self.noise_variance_ > 0 else 0.0
        return self._kernel_mean(Z) + np.sqrt(self.noise_variance_) * noise

    def decode_weights(self, Z: Any) -> Array:
        """Affine weights γ with E[φ | z] = Φγ, (n, N); rows sum to one unless uncentred [2]."""
        subspace = self._kernel_space("decode_weights")
        return np.asarray(subspace.embed(self._gaussian.decode(self._check_latents(Z))))

    def _unit_noise(self, n_draws: int, rng: np.random.Generator) -> UnitNoise:
        subspace = self._model.subspace
        if isinstance(subspace, FeatureSubspace):
            return subspace.unit_noise(n_draws, rng)
        raw = DenseGram(self._gram) if subspace.points is None else LazyGram(self.kernel_, subspace.points)
        return noise_field(raw).draw(n_draws, rng, subspace.affine)

    def _latents(self, n_samples: int, latent: Any, rng: np.random.Generator) -> Array:
        if latent is not None:
            return self._check_latents(latent)
        return rng.standard_normal((check_count("n_samples", n_samples, 1), self.n_components_))

    # ------------------------------------------------------------ back to inputs

    def inverse_transform(self, Z: Any, return_info: bool = False) -> Any:
        """Inputs whose features are nearest to E[φ | z], by the chosen pre-image [4].

        Parameters
        ----------
        Z : array-like of shape (n, n_components_)
        return_info : bool, default=False
            Also return what the method reports, such as ``info.converged``.
        """
        Z = self._check_latents(Z)
        rows, info = self._preimages(self._gaussian.decode(Z))
        rows = rows.astype(float_dtype(Z), copy=False)
        return (rows, info) if return_info else rows

    def reconstruct(self, X: Any, kind: str = "map") -> Array:
        """The rows as the model sees them: the pre-image of μ + W E[z|x] ("map") or of the projection ("projection") [2, 4]."""
        check_choice("kind", kind, ("map", "projection"))
        check_is_fitted(self)
        X = self._check_rows(X)
        seen = self._project(X)
        scores = seen.scores if kind == "projection" else self._gaussian.decode(self._gaussian.posterior(seen).mean)
        return self._preimages(scores)[0].astype(float_dtype(X), copy=False)

    def sample(self, n_samples: int = 1, *, latent: Any = None, noise: bool = True, random_state: Any = None) -> Array:
        """Draw inputs: latents (or ``latent=Z``), feature noise unless ``noise=False``, then the pre-image [3, 4]."""
        check_is_fitted(self)
        check_flag("noise", noise)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        Z = self._latents(n_samples, latent, rng)
        drawn = self._unit_noise(len(Z), rng) if noise and self.noise_variance_ > 0 else None
        return self._preimages(self._gaussian.decode(Z), drawn)[0]

    def _preimages(self, scores: Array, noise: UnitNoise | None = None) -> tuple[Array, Any]:
        if self.preimage_ is None:
            reason = "sparse inputs" if self.X_fit_ is not None else "a precomputed kernel without fit(K, inputs=X)"
            raise ValueError(
                f"There are no pre-images with {reason}: give dense inputs to fit. decode_weights works all the same."
            )
        subspace = self._model.subspace
        weights, values = subspace.embed(scores), subspace.kernel_values(scores)
        if noise is not None:
            level = np.sqrt(self.noise_variance_)
            weights, values = weights + level * noise.weights, values + level * noise.values
        if hasattr(self.preimage_, "transform_with_info"):
            rows, info = self.preimage_.transform_with_info(weights, values)
        else:
            rows, info = self.preimage_.transform(weights, values), getattr(self.preimage_, "info", None)
        converged = getattr(info, "converged", None)
        if converged is not None and not np.all(converged):
            warnings.warn(
                f"{int(np.size(converged) - np.sum(converged))} of {np.size(converged)} pre-images did not converge.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return np.asarray(rows), info

    def latent_grid(self, n_steps: int = 10, extent: float = 2.0, components: tuple[int, int] = (0, 1)) -> Array:
        """A grid over two latent coordinates in [-extent, extent]², the others 0: (n_steps², q), row by row from the top left."""
        check_is_fitted(self)
        steps = np.linspace(
            -check_number("extent", extent, 0.0, open_low=True), extent, check_count("n_steps", n_steps, 2)
        )
        grid = np.zeros((n_steps * n_steps, self.n_components_))
        grid[:, components[0]] = np.tile(steps, n_steps)
        grid[:, components[1]] = np.repeat(steps[::-1], n_steps)
        return grid

    def interpolate(self, a: Any, b: Any, n_steps: int = 10) -> Array:
        """Inputs on the straight latent line from one row to another, through the pre-image."""
        ends = self.transform(np.vstack([np.asarray(a, dtype=float).ravel(), np.asarray(b, dtype=float).ravel()]))
        share = np.linspace(0.0, 1.0, check_count("n_steps", n_steps, 2))[:, None]
        return np.asarray(self.inverse_transform((1 - share) * ends[0] + share * ends[1]))
