"""What a dual Gaussian offers beyond the shared verbs: densities of kernel rows, kernel space, and the way back to inputs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, Kept, blas_for_rows, float_dtype
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_random_state,
    check_table,
    is_auto,
)
from gramian._content import row_hashes
from gramian._types import Points, RandomState, Table
from gramian.estimators._base import LatentModelMixin
from gramian.estimators._kernel_held_out import (
    HeldOutLimits,
    HeldOutRows,
    PreimageEvidence,
    held_out_std,
    preimage_evidence,
)
from gramian.estimators._preimages import by_scores, inputs_of, warn_unsettled
from gramian.kernels import as_kernel, is_precomputed
from gramian.latent.anomaly import Anomaly
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.model import KernelModel
from gramian.latent.noise_field import UnitNoise
from gramian.latent.subspace import KernelSubspace
from gramian.rows import lazily


class DualMixin(LatentModelMixin):
    """The methods of `KernelPPCA` once it is fitted."""

    _model: KernelModel
    kernel: Any
    preimage: Any
    center: bool
    X_fit_: Any
    _weights: Array | None
    _held: tuple[Any, Array] | None

    _kept: Kept

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

    def _checked_diagonal(self, X: Points, diagonal: Table, method: str) -> Array | None:
        check_is_fitted(self)
        if not self._precomputed:
            if diagonal is not None:
                raise ValueError("diagonal= goes with kernel='precomputed' only.")
            return None
        if diagonal is None:
            raise ValueError(f"{method} with kernel='precomputed' needs diagonal=, the values k(y, y) of the rows.")
        diagonal = np.asarray(diagonal, dtype=np.float64).ravel()
        if len(diagonal) != np.shape(X)[0]:
            raise ValueError(f"diagonal has {len(diagonal)} values, but X has {np.shape(X)[0]} rows.")
        if not np.isfinite(diagonal).all():
            raise ValueError("diagonal contains NaN or infinity.")
        return diagonal

    def _with_diagonal(self, X: Table, diagonal: Table, verb: Any, method: str) -> Array:
        diagonal = self._checked_diagonal(X, diagonal, method)
        return self._evaluate(X, self._gaussian_of(verb), diagonal=diagonal)

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

        References
        ----------
        [2] docs/theory.md, section 2: the Gaussian latent model.

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

        References
        ----------
        [2] docs/theory.md, section 2: the Gaussian latent model.

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

        References
        ----------
        [2] docs/theory.md, section 2: the Gaussian latent model.

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

    # ------------------------------------------------------------ kernel space

    def _kernel_space(self, method: str) -> KernelSubspace:
        check_is_fitted(self)
        subspace = self._model.subspace
        if not subspace.spans_kernel_space:
            raise ValueError(
                f"{method} lives on training points, which random features do not keep. Use approximation=None or 'nystroem'."
            )
        return subspace

    def center_kernel(self, X: Table) -> Array:
        """k_c(y)ᵢ = <φ(xᵢ) - μ, φ(y) - μ>, doubly centred with the training means only, (n, N) [3].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_training_rows)

        References
        ----------
        [3] docs/theory.md, section 3: generation in the kernel space.

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

    def kernel_mean(self, Z: Table) -> Array:
        """E[k_c | z]: <φ(xᵢ) - μ, Wz>, (n, N) ([DP] eq. 14) [3].

        Parameters
        ----------
        Z : array-like of shape (n, n_components_)
            Latent coordinates, one point per row.

        Returns
        -------
        ndarray of shape (n, n_training_rows)

        References
        ----------
        [3] docs/theory.md, section 3: generation in the kernel space.

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

        References
        ----------
        [3] docs/theory.md, section 3: generation in the kernel space.

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

    def decode_weights(self, Z: Table) -> Array:
        """Affine weights γ with E[φ | z] = Φγ, (n, N); rows sum to one unless uncentred [2].

        Parameters
        ----------
        Z : array-like of shape (n, n_components_)
            Latent coordinates, one point per row.

        Returns
        -------
        ndarray of shape (n, n_training_rows)

        References
        ----------
        [2] docs/theory.md, section 2: the Gaussian latent model.

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

    # ------------------------------------------------------------ back to inputs

    @property
    def preimage_(self) -> Any:
        """The fitted pre-image; with "auto" a dict with the keys "reconstruct", "denoise", "sample"; None without inputs."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} is not fitted: there is no preimage_ yet.")
        if "_preimage" not in self.__dict__ and "preimage_" in self.__dict__:
            return self.__dict__["preimage_"]  # from a model file of the first version
        if not self._auto_preimage:
            return self.__dict__.get("_preimage")
        return self._on_need("preimages", self._chosen_preimages) if self._has_inputs else None

    def _on_need(self, name: str, make: Any) -> Any:
        kept: Kept = self.__dict__.get("_kept") or Kept()  # model files of the first version have none
        with blas_for_rows(0 if self.X_fit_ is None else self.X_fit_.shape[0]):
            return kept.get(name, make)

    def _chosen_preimages(self) -> dict[str, Any]:
        fitted = {name: self._fitted_preimage(name) for name in dict.fromkeys(self._evidence.names.values())}
        return {job: fitted[name] for job, name in self._evidence.names.items()}

    @property
    def _auto_preimage(self) -> bool:
        return is_auto(self.preimage)

    @property
    def _has_inputs(self) -> bool:
        return self.X_fit_ is not None and not sparse.issparse(self.X_fit_)

    @property
    def _evidence(self) -> PreimageEvidence:
        """What held-out rows say of pre-images."""
        return self._on_need("evidence", lambda: preimage_evidence(self, self._held_source()))

    @property
    def _errors(self) -> Array:
        """Of held-out rows, one standard deviation per column."""
        method = self._evidence.names["reconstruct"] if self._auto_preimage else self.preimage
        return self._on_need("std", lambda: held_out_std(self, self._held_source(), method))

    @property
    def _limits(self) -> HeldOutLimits:
        """T² and SPE of held-out rows."""
        return self._on_need("limits", lambda: HeldOutLimits.of(self, self._held_source()))

    def _held_source(self) -> HeldOutRows:
        subspace = self._model.subspace
        held = self.__dict__.get("_held")
        if held is not None:
            return HeldOutRows(*held)
        weights = self.__dict__.get("_weights")
        if weights is None:  # a model file of the first version
            weights = np.ones(subspace.size)
        return HeldOutRows(self.X_fit_, weights, subspace.gram if self._precomputed else None)

    def _distinct_points(self) -> tuple[Array, Array]:
        """Positions of the first copies of the points that weights refer to, and for each point which it is."""
        _, first, inverse = np.unique(row_hashes(self.X_fit_), return_index=True, return_inverse=True)
        if len(first) < len(inverse) and not np.array_equal(self.X_fit_[first][inverse], self.X_fit_):
            # hashes see 24 bits: about a large offset they take different rows for one
            _, first, inverse = np.unique(self.X_fit_, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # in the order of the points
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return first[order], place[inverse.ravel()]

    def _map_scores(self, seen: Projection) -> Array:
        """The scores of μ + W E[z | x]."""
        return self._gaussian.decode(self._gaussian.posterior(seen).mean)

    def _decoded(self, method: Any, scores: Array) -> Array:
        """Inputs by a fitted pre-image, quietly: how held-out rows are answered."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.asarray(self._answers(method, scores)[0], dtype=np.float64)

    def _drawn(self, method: Any, n_samples: int, seed: int) -> Array:
        """Samples by a fitted pre-image."""
        rng = np.random.default_rng(seed)
        scores = self._gaussian.decode(rng.standard_normal((n_samples, self.n_components_)))
        noise = self._model.subspace.unit_noise(n_samples, rng) if self.noise_variance_ > 0 else None
        return np.asarray(self._answers(method, scores, noise)[0], dtype=np.float64)

    def inverse_transform(self, Z: Table, return_info: bool = False, return_std: bool = False) -> Any:
        """Inputs whose features are nearest to E[φ | z], by the chosen pre-image [4].

        Parameters
        ----------
        Z : array-like of shape (n, n_components_)
        return_info : bool, default=False
            Also return what the method reports, such as ``info.converged``.
        return_std : bool, default=False
            Also return standard deviations of the row itself, (n, n_features), in input units: the error of held-out rows.

        Returns
        -------
        rows, or a tuple (rows[, std][, info])

        References
        ----------
        [4] docs/theory.md, section 4: pre-images (feature point -> input point).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2, preimage="smoother").fit(X)
        >>> model.inverse_transform([[0.0, 0.0]]).shape
        (1, 4)
        >>> rows, info = model.inverse_transform([[0.0, 0.0]], return_info=True)
        """
        check_flag("return_info", return_info)
        check_flag("return_std", return_std)
        Z = self._check_latents(Z)
        rows, info = self._preimages(self._gaussian.decode(Z), "reconstruct")
        rows = rows.astype(float_dtype(Z), copy=False)
        found = (rows, *((self._std(rows),) if return_std else ()), *((info,) if return_info else ()))
        return found if len(found) > 1 else rows

    @lazily
    def reconstruct(self, X: Table, kind: str = "map", return_std: bool = False) -> Any:
        """The rows as the model sees them: the pre-image of μ + W E[z|x] ("map") or of the projection ("projection") [2, 4].

        With ``preimage="auto"`` rows farther off the subspace than 99 % of held-out rows are denoised. ``return_std=True`` adds standard
        deviations of the row itself, (n, n_features), in input units, from held-out rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        kind : {"map", "projection"}, default="map"
            Shrunk as the posterior is, or the nearest point of the subspace.
        return_std : bool, default=False
            Also return the standard deviations.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or (ndarray, std)

        References
        ----------
        [2] docs/theory.md, section 2: the Gaussian latent model.
        [4] docs/theory.md, section 4: pre-images (feature point -> input point).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2, preimage="smoother").fit(X)
        >>> model.reconstruct(X).shape
        (50, 4)
        """
        check_choice("kind", kind, ("map", "projection"))
        check_flag("return_std", return_std)
        check_is_fitted(self)
        X = self._check_rows(X)
        seen = self._project(X)
        scores = seen.scores if kind == "projection" else self._map_scores(seen)
        rows = self._preimages(scores, "reconstruct")[0]
        if (
            self._auto_preimage
            and not self._precomputed
            and self.preimage_["denoise"] is not self.preimage_["reconstruct"]
        ):
            noisy = self._gaussian.residual(seen) > self._limits.residual
            if noisy.any():
                rows = rows.copy()
                rows[noisy] = self._preimages(scores[noisy], "denoise")[0]
        rows = rows.astype(float_dtype(X), copy=False)
        return (rows, self._std(rows)) if return_std else rows

    def _std(self, rows: Array) -> Array:
        return np.broadcast_to(self._errors, rows.shape).astype(rows.dtype)

    def sample(
        self, n_samples: int = 1, *, latent: Table | None = None, noise: bool = True, random_state: RandomState = None
    ) -> Array:
        """Draw inputs: latents (or ``latent=Z``), feature noise unless ``noise=False``, then the pre-image [3, 4].

        Parameters
        ----------
        n_samples : int, default=1
            How many rows to draw.
        latent : array-like of shape (n, n_components_), optional
            Latents to start from; then one row is drawn for each of them.
        noise : bool, default=True
            False leaves the noise of feature space out.
        random_state : None, int, Generator or RandomState
            None uses the estimator's own.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        References
        ----------
        [3] docs/theory.md, section 3: generation in the kernel space.
        [4] docs/theory.md, section 4: pre-images (feature point -> input point).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2, preimage="smoother").fit(X)
        >>> model.sample(4, random_state=0).shape
        (4, 4)
        """
        check_is_fitted(self)
        check_flag("noise", noise)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        Z = self._latents(n_samples, latent, rng)
        drawn = self._model.subspace.unit_noise(len(Z), rng) if noise and self.noise_variance_ > 0 else None
        return self._preimages(self._gaussian.decode(Z), "sample", drawn)[0]

    def _preimages(self, scores: Array, job: str, noise: UnitNoise | None = None) -> tuple[Array, Any]:
        method = self.preimage_
        if method is None:
            reason = "sparse inputs" if self.X_fit_ is not None else "a precomputed kernel without fit(K, inputs=X)"
            raise ValueError(
                f"There are no pre-images with {reason}: give dense inputs to fit. decode_weights works all the same."
            )
        rows, info = self._answers(method[job] if isinstance(method, dict) else method, scores, noise)
        warn_unsettled(info)
        return rows, info

    def _answers(self, method: Any, scores: Array, noise: UnitNoise | None = None) -> tuple[Array, Any]:
        """What a fitted pre-image makes of feature points; copies of a row are one point to it."""
        subspace = self._model.subspace
        weights, values = subspace.embed(scores), subspace.kernel_values(scores)
        if noise is not None:
            level = np.sqrt(self.noise_variance_)
            values = values + level * noise.values
            if noise.scores is None or not by_scores(method):
                weights = weights + level * noise.weights
            scores = scores if noise.scores is None else scores + level * noise.scores
        first, inverse = self._distinct_points()
        if len(first) < len(inverse):
            merge = sparse.csr_array((np.ones(len(inverse)), (np.arange(len(inverse)), inverse)))
            weights, values = weights @ merge, values[:, first]
        return inputs_of(method, weights, values, scores)

    # ------------------------------------------------------------ what does not fit

    def anomaly(self, X: Table, level: float = 0.99, diagonal: Table | None = None) -> Anomaly:
        """T² along and SPE off the principal subspace of feature space, with p-values and limits from held-out rows [2, 10].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        level : float in (0, 1), default=0.99
            The share of new rows that the limits let pass.
        diagonal : array-like of shape (n_samples,), optional
            k(y, y) of the rows, with a precomputed kernel.

        Returns
        -------
        Anomaly
            ``contributions`` (n, d) are the squared errors of the reconstruction over those of held-out rows; without pre-images
            (n, 0).

        References
        ----------
        [2] docs/theory.md, section 2: the Gaussian latent model.
        [10] docs/theory.md, section 10: choosing, by what was not seen.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2, preimage="smoother").fit(X)
        >>> model.anomaly(X[:2]).flags.tolist()
        [False, False]
        """
        level = check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
        diagonal = self._checked_diagonal(X, diagonal, "anomaly")
        X = self._check_rows(X)
        seen = self._project(X, diagonal=diagonal)
        t2, spe, limits = self._gaussian.t_squared(seen), self._gaussian.residual(seen), self._limits
        contributions = np.empty((len(t2), 0))
        if self._has_inputs and not self._precomputed:
            spread = np.where(self._errors > 0, self._errors, 1.0)
            rebuilt = self._preimages(self._map_scores(seen), "reconstruct")[0]
            contributions = ((np.asarray(X, dtype=np.float64) - rebuilt) / spread) ** 2
        return Anomaly(
            t2,
            spe,
            limits.t2.p_values(t2) if self.n_components_ else np.ones_like(t2),
            limits.spe.p_values(spe),
            limits.t2.limit(level) if self.n_components_ else 0.0,
            limits.spe.limit(level),
            contributions,
            level,
        )

    def explain(self) -> str:
        """Which solver was run, and why, how q was chosen, and which pre-images, where they were needed already."""
        words = [super().explain()]
        if hasattr(self, "selection_"):
            words.append(f"{self.selection_.reason}.")
        evidence = self.__dict__["_kept"].peek("evidence") if "_kept" in self.__dict__ else None
        if evidence is not None:
            words.extend(f"{chosen.reason}." for chosen in evidence.selections.values())
        return " ".join(words)

    def latent_grid(self, n_steps: int = 10, extent: float = 2.0, components: tuple[int, int] = (0, 1)) -> Array:
        """A grid over two latent coordinates in [-extent, extent]², the others 0: (n_steps², q), row by row from the top left.

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

        References
        ----------
        [2] docs/theory.md, section 2: the Gaussian latent model.

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
        grid = np.zeros((n_steps * n_steps, self.n_components_))
        grid[:, components[0]] = np.tile(steps, n_steps)
        grid[:, components[1]] = np.repeat(steps[::-1], n_steps)
        return grid

    def interpolate(self, a: Any, b: Any, n_steps: int = 10) -> Array:
        """Inputs on the straight latent line from one row to another, through the pre-image.

        Parameters
        ----------
        a, b : array-like of shape (n_features,)
            The rows at the ends.
        n_steps : int, default=10
            Points on the line, ends included.

        Returns
        -------
        ndarray of shape (n_steps, n_features)

        References
        ----------
        [2] docs/theory.md, section 2: the Gaussian latent model.
        [4] docs/theory.md, section 4: pre-images (feature point -> input point).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2, preimage="smoother").fit(X)
        >>> model.interpolate(X[0], X[-1], n_steps=5).shape
        (5, 4)
        """
        ends = self.transform(np.vstack([np.asarray(a, dtype=float).ravel(), np.asarray(b, dtype=float).ravel()]))
        share = np.linspace(0.0, 1.0, check_count("n_steps", n_steps, 2))[:, None]
        return np.asarray(self.inverse_transform((1 - share) * ends[0] + share * ends[1]))
