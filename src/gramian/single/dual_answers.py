"""What a dual Gaussian offers beyond the shared methods: distances and densities of kernel rows, and kernel space [2, 3]."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import _num_samples, check_is_fitted

from gramian._arrays import Array, float_dtype
from gramian._checks import (
    check_count,
    check_number,
    check_random_state,
    check_table,
    finite_answers,
    is_count,
)
from gramian._types import Points, RandomState, Table
from gramian.kernels import as_kernel, is_precomputed
from gramian.kernels.precomputed import check_diagonal
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.kernel_coordinates import KernelCoordinates
from gramian.latent.model import KernelModel
from gramian.latent.subspace import KernelSubspace
from gramian.rows import lazily
from gramian.single.answers import LatentModelMixin


class DualMixin(LatentModelMixin):
    """The methods of `KernelPPCA` about rows in feature space and their latents."""

    _model: Annotated[KernelModel, "its q"]
    noise_variance_: Annotated[float, "nonnegative"]
    kernel: Any
    center: bool

    @property
    def _precomputed(self) -> bool:
        return is_precomputed(self.kernel)

    @property
    def _accepts_sparse(self) -> bool:
        try:
            return bool(as_kernel(self.kernel).accepts_sparse)
        except (TypeError, ValueError):
            return False  # an unknown kernel is refused by `fit`, in words

    def _check_rows(self, X: Table) -> Any:
        return check_table(self, X, reset=False, accept_sparse=self._accepts_sparse)

    def _project(self, X: Points, **options: Any) -> Projection:
        diagonal = options.get("diagonal")
        if self._precomputed and diagonal is None:
            diagonal = np.zeros(X.shape[0])  # scores do not need it; the methods that do have asked for it
        return self._model.subspace.project(self._moved(X), diagonal)

    def _moved(self, X: Points) -> Any:
        """Rows less the origin that a linear kernel was fitted about; as they are with any other kernel."""
        origin = self.__dict__.get("_origin")
        return X if origin is None else np.asarray(X, dtype=np.float64) - origin

    def _checked_diagonal(self, X: Table, diagonal: Table | None, method: str) -> Array | None:
        check_is_fitted(self)
        return check_diagonal(diagonal, _num_samples(X), method, precomputed=self._precomputed)

    def _with_diagonal(self, X: Table, diagonal: Table | None, verb: Any, method: str) -> Array:
        checked = self._checked_diagonal(X, diagonal, method)
        return self._evaluate(X, self._gaussian_of(verb), diagonal=checked)

    @lazily
    def score_samples(self, X: Table, diagonal: Table | None = None) -> Array:
        """The log-likelihood of each row in feature space; with D = N a score, comparable between points [2].

        ``diagonal`` is k(y, y) of the rows, with a precomputed kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        diagonal : array-like of shape (n_samples,), optional
            k(y, y) of the rows, with a precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logarithms.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> model.score_samples(X[:5]).shape
        (5,)
        """
        return self._with_diagonal(X, diagonal, LatentGaussian.log_density, "score_samples")

    @lazily
    def mahalanobis(self, X: Table, diagonal: Table | None = None) -> Array:
        """The squared Mahalanobis distance of each row in feature space ([ZH] eq. 12) [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        diagonal : array-like of shape (n_samples,), optional
            k(y, y) of the rows, with a precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> bool(model.mahalanobis(X + 9.0).min() > model.mahalanobis(X).max())
        True
        """
        return self._with_diagonal(X, diagonal, LatentGaussian.mahalanobis, "mahalanobis")

    @lazily
    def residual(self, X: Table, diagonal: Table | None = None) -> Array:
        """The squared distance of each row to the principal subspace of feature space ([ZH] eq. 13) [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        diagonal : array-like of shape (n_samples,), optional
            k(y, y) of the rows, with a precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> bool(model.residual(X + 9.0).min() > model.residual(X).max())
        True
        """
        return self._with_diagonal(X, diagonal, LatentGaussian.residual, "residual")

    def latent_grid(self, n_steps: int = 10, extent: float = 2.0, components: tuple[int, int] = (0, 1)) -> Array:
        """A grid over two latent coordinates in [-extent, extent]², the others 0: (n_steps², q), row by row from the top left [2].

        Parameters
        ----------
        n_steps : int, default=10
            Points per side.
        extent : float, default=2
            The grid goes from -extent to extent.
        components : tuple of two ints, default=(0, 1)
            Which coordinates move.

        Returns
        -------
        ndarray of shape (n_steps², n_components_)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> model.latent_grid(3)[:4] + 0.0
        array([[-2.,  2.],
               [ 0.,  2.],
               [ 2.,  2.],
               [-2.,  0.]])
        """
        check_is_fitted(self)
        steps = np.linspace(
            -check_number("extent", extent, 0.0, open_low=True), extent, check_count("n_steps", n_steps, 2)
        )
        if len({*components}) != 2 or not all(is_count(one) and 0 <= one < self.n_components_ for one in components):
            raise ValueError(
                f"components={components!r} must be two of the {self.n_components_} latent coordinates, counted from 0."
            )
        grid = np.zeros((n_steps * n_steps, self.n_components_))
        grid[:, components[0]] = np.tile(steps, n_steps)
        grid[:, components[1]] = np.repeat(steps[::-1], n_steps)
        return grid

    # ------------------------------------------------------------ kernel space

    def _kernel_space(self, method: str) -> KernelSubspace:
        check_is_fitted(self)
        subspace = self._model.subspace
        if not subspace.spans_kernel_space:
            raise ValueError(
                f"{method} lives on training points, which random features do not keep. Use approximation=None or 'nystroem'."
            )
        return subspace

    @finite_answers
    def center_kernel(self, X: Table) -> Array:
        """k_c(y)ᵢ = <φ(xᵢ) - μ, φ(y) - μ>, doubly centred with the training means only, (n, N) [3].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_training_rows)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> import numpy as np
        >>> np.allclose(model.center_kernel(X).sum(axis=1), 0.0, atol=1e-10)
        True
        """
        subspace = self._kernel_space("center_kernel")
        X = self._check_rows(X)
        return subspace.center_rows(self._moved(X)).astype(float_dtype(X), copy=False)

    @finite_answers
    def kernel_mean(self, Z: Table) -> Array:
        """E[k_c | z]: <φ(xᵢ) - μ, Wz>, (n, N) ([DP] eq. 14) [3].

        Parameters
        ----------
        Z : array-like of shape (n, n_components_)
            Latent coordinates, one point per row.

        Returns
        -------
        ndarray of shape (n, n_training_rows)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> model.kernel_mean([[0.0, 0.0], [1.0, 0.0]]).shape
        (2, 50)
        """
        return self._kernel_mean(self._check_latents(Z))

    def _kernel_mean(self, Z: Array) -> Array:
        return self._kernel_space("kernel_mean").center_scores(self._gaussian.decode(Z))

    def sample_kernel(
        self, n_samples: int = 1, *, latent: Table | None = None, random_state: RandomState = None
    ) -> Array:
        """Draws of k_c: covariance K_c A Aᵀ K_c + σ²K_c = B Bᵀ ([DP] sec. 3.3), or given the latents ([DP] eq. 14) [3].

        Parameters
        ----------
        n_samples : int, default=1
            How many rows to draw.
        latent : array-like of shape (n, n_components_), optional
            Latents to start from; then one row is drawn for each of them.
        random_state : None, int, Generator or RandomState
            None uses the estimator's own.

        Returns
        -------
        ndarray of shape (n_samples, n_training_rows)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> model.sample_kernel(4, random_state=0).shape
        (4, 50)
        """
        subspace = self._kernel_space("sample_kernel")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        Z = self._latents(n_samples, latent, rng)
        noise = subspace.unit_noise(len(Z), rng).centred if self.noise_variance_ > 0 else 0.0
        return self._kernel_mean(Z) + np.sqrt(self.noise_variance_) * noise

    def log_kernel_density(self, k_c: Table, latent: Table | None = None) -> Array:
        """log p(k_c), or log p(k_c | z): densities of kernel vectors on the span of the centred points ([DP] eqs. 53, 51, corrected) [3, 9].

        k_c ~ N(0, K_c A Aᵀ K_c + σ²K_c), and given z N(K_c A z, σ²K_c), over the rank of K_c (at most N - 1, and not N). It decomposes K_c: N³.

        Parameters
        ----------
        k_c : array-like of shape (n, n_training_rows)
            Centred kernel vectors: rows of `center_kernel`, `kernel_mean` or `sample_kernel`.
        latent : array-like of shape (n, n_components_) or (1, n_components_), optional
            The latents that the rows are given.

        Returns
        -------
        ndarray of shape (n,)
            Natural logarithms.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::5]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> k_c = model.center_kernel(X[:4])
        >>> bool((model.log_kernel_density(k_c, latent=model.transform(X[:4])) > model.log_kernel_density(k_c)).all())
        True
        """
        coordinates, x = self._span("log_kernel_density", check_table(None, k_c, reset=False, name="k_c"))
        if latent is None:
            return coordinates.log_density(self._gaussian, x) - coordinates.log_volume
        Z = self._check_latents(latent)
        if len(Z) not in (1, len(x)):
            raise ValueError(f"latent has {len(Z)} rows, but k_c has {len(x)}. Give one for each, or one for all.")
        return coordinates.log_density_given(self._gaussian, x, Z) - coordinates.log_volume

    def log_projected_density(self, X: Table) -> Array:
        """log p of the rows' features projected to the span of the training rows ([DP] sec. 3.4: φ = I_E φ(x)) [2, 3].

        A density on the span, where `score_samples` counts what leaves the span too. It decomposes K_c: N³.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logarithms.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import numpy as np
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::5]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> shift = model.log_projected_density(X) - model.score_samples(X)  # of training rows nothing leaves the span
        >>> np.allclose(shift, shift[0])
        True
        """
        coordinates, x = self._span("log_projected_density", self.center_kernel(X))
        return coordinates.log_density(self._gaussian, x)

    def _span(self, method: str, k_c: Array) -> tuple[KernelCoordinates, Array]:
        subspace = self._kernel_space(method)
        k_c = np.asarray(k_c, dtype=np.float64)
        if k_c.shape[1] != subspace.size:
            raise ValueError(f"k_c has {k_c.shape[1]} columns, but the model has {subspace.size} training points.")
        coordinates = KernelCoordinates.of(subspace, self.n_components_)
        return coordinates, coordinates(k_c)

    @finite_answers
    def decode_weights(self, Z: Table) -> Array:
        """Affine weights γ with E[φ | z] = Φγ, (n, N); rows sum to one unless uncentred [2].

        Parameters
        ----------
        Z : array-like of shape (n, n_components_)
            Latent coordinates, one point per row.

        Returns
        -------
        ndarray of shape (n, n_training_rows)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> round(float(model.decode_weights([[1.0, 0.0]]).sum()), 6)
        1.0
        """
        subspace = self._kernel_space("decode_weights")
        return np.asarray(subspace.embed(self._gaussian.decode(self._check_latents(Z))))

    def _latents(self, n_samples: int, latent: Table, rng: np.random.Generator) -> Array:
        if latent is not None:
            return self._check_latents(latent)
        return rng.standard_normal((check_count("n_samples", n_samples, 1), self.n_components_))
