"""KernelPPCA: the dual of probabilistic PCA, with density, samples and the way back to inputs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype, row_chunks
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_random_state,
    check_seed,
    check_table,
    check_tolerance,
    check_weights,
    is_count,
    positive_rows,
)
from gramian._memory import memory_budget, require_memory
from gramian.estimators._base import BaseEstimator, LatentModelMixin, atomic, forget
from gramian.exceptions import NumericalWarning
from gramian.features import FEATURE_MAPS
from gramian.kernels import Precomputed, as_kernel
from gramian.latent.dimension import check_n_components
from gramian.latent.feature_subspace import FeatureSubspace, NystroemSubspace, RandomFeatureSubspace
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.latent.model import LatentModel, fit_latent_model
from gramian.latent.noise_field import UnitNoise, noise_field
from gramian.latent.sample import DUAL_RANK, DualSample, MomentSample
from gramian.operators.centering import Centering
from gramian.operators.gram import DenseGram, LazyGram
from gramian.operators.moments import Moments
from gramian.preimage import as_preimage
from gramian.solvers import as_solver
from gramian.solvers.budget import Budgeted

KERNEL_SOLVERS = ("auto", "eigh", "krylov", "em", "stiefel", "arpack")
APPROXIMATIONS = ("nystroem", "rff")
DEFAULT_FRACTION = 0.95
DEFAULT_LANDMARKS = 500
ASYMMETRY = 1e-8


class KernelPPCA(LatentModelMixin, BaseEstimator):
    """Kernel probabilistic PCA: φ(x) = μ + Wz + ε in the feature space of any kernel [1-4].

    All that scikit-learn's ``KernelPCA`` does (``noise_variance=0`` is exactly that), and a density, posterior uncertainty,
    samples in kernel and input space, sample weights, pre-images, and a matrix-free solver for tables whose Gram matrix does not fit.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Latent dimension q; a float in (0, 1) is a fraction of the variance. None: as many as exceed ``noise_variance`` if that is
        a positive number, else the smallest q that explains 95 %.
    kernel : str, Kernel, callable, scikit-learn GP kernel or "precomputed", default="rbf"
        "rbf" is ``RBF("median")``: the median distance between training rows.
    noise_variance : "ml" or float, default="ml"
    noise_dim : None, int or "rank"
        D, the dimension that the noise lives in. None is N (the total weight), or the number of features under an approximation.
    center : bool, default=True
    solver : {"auto", "eigh", "krylov", "em", "stiefel"} or object, default="auto"
    approximation : None, "nystroem", "rff" or a feature map, default=None
    n_landmarks : int or None
        Landmarks, or random features; None is min(N, 500).
    preimage : {"smoother", "fixed_point", "mds", "ridge", "gradient"} or object, default="smoother"
    memory_limit : int or None
        Bytes that a solver may store; None: what the process may use.
    tol : float, default=5e-5
        Relative residual of iterative eigensolvers; their eigenvalues are then good to 1e-8 or better.
    max_iter : int, default=1000
    random_state : None, int, Generator or RandomState
    verbose : int, default=0

    Attributes
    ----------
    kernel_ : Kernel
        A clone with every parameter a number.
    eigenvectors_ : ndarray of shape (N, n_components_)
        V; the largest entry of each column is positive.
    dual_coef_ : ndarray of shape (N, n_components_)
        A = diag(√s) Q.
    X_fit_ : the training rows, or the landmarks; None with a precomputed kernel
    n_components_, noise_variance_, explained_variance_, explained_variance_ratio_, residual_norm_, n_iter_

    Notes
    -----
    Indefinite kernels: whatever q, negative eigenvalues count as no variance, and a ``NumericalWarning`` says how large they are.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from gramian import KernelPPCA
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> model = KernelPPCA(n_components=4, random_state=0).fit(X)
    >>> model.transform(X).shape, model.sample(3).shape
    ((200, 4), (3, 2))
    """

    def __init__(
        self,
        n_components: Any = None,
        *,
        kernel: Any = "rbf",
        noise_variance: Any = "ml",
        noise_dim: Any = None,
        center: bool = True,
        solver: Any = "auto",
        approximation: Any = None,
        n_landmarks: int | None = None,
        preimage: Any = "smoother",
        memory_limit: Any = None,
        tol: float = 5e-5,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.noise_dim = noise_dim
        self.center = center
        self.solver = solver
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.preimage = preimage
        self.memory_limit = memory_limit
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, inputs: Any = None) -> KernelPPCA:
        """Fit the model to rows, or (``kernel="precomputed"``) to their Gram matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        inputs : array-like of shape (n_samples, n_inputs), optional
            With a precomputed kernel: the rows behind it, so that pre-images and samples can be had.
        """
        self._check_params()
        forget(self, "_model", "_gram")
        if inputs is not None and not self._precomputed:
            raise ValueError("inputs= goes with kernel='precomputed' only: otherwise X holds the inputs already.")
        if self._precomputed:
            sample, points, raw_weights = self._precomputed_sample(X, sample_weight, inputs)
        else:
            X = check_table(self, X, reset=True, accept_sparse=True, min_samples=2)
            kept, raw_weights = positive_rows(X, check_weights(sample_weight, X))
            X = kept.copy() if kept is X else kept  # what is kept must not change with the caller's array
            self.kernel_ = as_kernel(self.kernel).resolve(X)
            points = X
            if self.approximation is not None:
                self._fit_features(X, raw_weights)
                return self
            sample = self._dual_sample(self.kernel_, X, LazyGram(self.kernel_, X), raw_weights)
        self._fit_dual(sample, points)
        return self

    def _check_params(self) -> None:
        check_n_components(self.n_components, rules=())
        if isinstance(self.noise_variance, str):
            check_choice("noise_variance", self.noise_variance, ("ml",))
        else:
            check_number("noise_variance", self.noise_variance, 0.0)
        if isinstance(self.noise_dim, str):
            check_choice("noise_dim", self.noise_dim, ("rank",))
        elif self.noise_dim is not None:
            check_count("noise_dim", self.noise_dim, 1)
        check_flag("center", self.center)
        if isinstance(self.solver, str):
            check_choice("solver", self.solver, KERNEL_SOLVERS)
        if isinstance(self.approximation, str):
            check_choice("approximation", self.approximation, APPROXIMATIONS)
        if self.approximation is not None and self._precomputed:
            raise ValueError(f"approximation={self.approximation!r} needs the inputs, not a precomputed Gram matrix.")
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks, 1)
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)
        memory_budget(self.memory_limit)

    def _dual_sample(self, kernel: Any, points: Any, raw: Any, raw_weights: Array) -> DualSample:
        diagonal = raw.diagonal()
        if not np.isfinite(diagonal).all():
            raise ValueError(
                f"kernel values not finite: {kernel!r} overflows on these data. Rescale X or choose a tamer kernel."
            )
        total = float(raw_weights.sum())
        dim = float(self.noise_dim) if is_count(self.noise_dim) else total
        sample = DualSample(kernel, points, raw, raw_weights / total, dim, self.center)
        if self.noise_dim == "rank":
            values = np.linalg.eigvalsh(sample.operator().to_dense())
            rank = int((values > max(DUAL_RANK * values[-1], sample.rank_floor)).sum())
            sample = DualSample(kernel, points, raw, sample.weights, float(rank), self.center)
        return sample

    def _precomputed_sample(self, K: Any, sample_weight: Any, inputs: Any) -> tuple[DualSample, Any, Array]:
        K = check_table(self, K, reset=True, min_samples=2)
        check_gram(K)
        weights = check_weights(sample_weight, K)
        points = None if inputs is None else check_table(None, inputs, reset=False, name="inputs")
        if points is not None and len(points) != len(K):
            raise ValueError(f"inputs has {len(points)} rows, but the Gram matrix has {len(K)}.")
        self.kernel_ = as_kernel(self.kernel)
        K = np.asarray(K, dtype=np.float64)
        return self._dual_sample(self.kernel_, None, DenseGram(0.5 * (K + K.T)), weights), points, weights

    def _solver(self) -> Budgeted:
        named = as_solver(self.solver, tol=self.tol, max_iter=self.max_iter, random_state=self.random_state)
        return Budgeted(named, memory_budget(self.memory_limit))

    def _fit_dual(self, sample: DualSample, points: Any) -> None:
        solver = self._solver()
        q = check_n_components(self.n_components, rules=())
        model = fit_latent_model(sample, q, solver, self.noise_variance, default_fraction=DEFAULT_FRACTION)
        self.solver_, self.solver_reason_ = solver.used, solver.reason
        self._warn_without_structure(model, sample)
        self._store(model)
        gaussian = model.gaussian
        self.eigenvectors_ = model.spectrum.eigenvectors
        shrink = np.sqrt(1 - gaussian.noise_variance / gaussian.eigenvalues) if gaussian.n_components else np.empty(0)
        self.dual_coef_ = np.sqrt(sample.weights)[:, None] * self.eigenvectors_ * shrink
        self.X_fit_ = points
        if sample.points is None:
            self._gram = sample.raw.matrix
        self._fit_preimage(sample.raw)

    def _warn_without_structure(self, model: LatentModel, sample: DualSample) -> None:
        """KERN-05: all eigenvalues alike (K = I), or none (K = 11ᵀ)."""
        n, values, trace = len(sample.weights), model.gaussian.eigenvalues, model.spectrum.trace
        alike = n > 3 and values.size > 0 and values[0] * (n - int(self.center)) <= 1.001 * trace
        if alike or (model.gaussian.n_components == 0 and model.spectrum.trace <= sample.rank_floor * n):
            extent = "too small: every point resembles only itself" if alike else "too large: all points look the same"
            warnings.warn(
                f"The kernel matrix carries no structure; its length scale is probably {extent}.",
                NumericalWarning,
                stacklevel=4,
            )

    def _fit_preimage(self, raw: Any) -> None:
        """Pre-images are fitted to the rows that affine weights refer to; with none (precomputed, no inputs) there are none."""
        self.preimage_ = None
        as_preimage(self.preimage)  # a bad name is an error now, not at the first inverse_transform
        if self.X_fit_ is None or sparse.issparse(self.X_fit_):
            return
        preimage = clone(as_preimage(self.preimage, kernel=self.kernel_))
        gram = None
        if getattr(preimage, "needs_gram", True):
            size = raw.size
            require_memory(
                16 * size * size,
                memory_budget(self.memory_limit),
                f"preimage={self.preimage!r} on {size} points",
                "Use preimage='smoother', which stores nothing, or approximation='nystroem'.",
            )
            gram = raw.to_dense()
        self.preimage_ = preimage.fit(self.X_fit_, gram, kernel=self.kernel_, scores=self._training_scores())

    def _training_scores(self) -> Array:
        """The scores of the rows that weights refer to; training rows need no kernel evaluation: t = K₀axes - c."""
        if isinstance(self._model.subspace, FeatureSubspace):
            return self._model.subspace.primal.project(self._model.subspace.point_features).scores
        subspace = self._model.subspace
        return np.asarray(subspace.images - subspace.raw_mean @ subspace.axes)

    # ------------------------------------------------------------ approximations

    def _fit_features(self, X: Any, raw_weights: Array) -> None:
        """Nyström or random features: primal moments of φ̂(x), streamed over chunks of rows."""
        n = X.shape[0]
        feature_map = self._feature_map(n).fit(X, raw_weights)
        first = np.asarray(feature_map.transform(X[:1]))
        chunk = max(256, 16_000_000 // (8 * first.shape[1]))
        moments: Moments | None = None
        for rows in row_chunks(n, chunk):
            part = Moments.of(np.asarray(feature_map.transform(X[rows]), dtype=np.float64), raw_weights[rows])
            moments = part if moments is None else moments.merge(part)
        assert moments is not None
        sample = MomentSample(moments, n, self.center)
        if is_count(self.noise_dim):
            sample = _WithDim(moments, n, self.center, noise_dim=float(self.noise_dim))
        elif self.noise_dim == "rank":
            values = np.linalg.eigvalsh(moments.covariance(self.center))
            sample = _WithDim(moments, n, self.center, noise_dim=float((values > DUAL_RANK * values[-1]).sum()))
        solver = self._solver()
        q = check_n_components(self.n_components, rules=())
        model = fit_latent_model(sample, q, solver, self.noise_variance, default_fraction=DEFAULT_FRACTION)
        self.solver_, self.solver_reason_ = solver.used, solver.reason
        primal, gaussian = model.subspace, model.gaussian
        if hasattr(feature_map, "landmark_weights"):
            points = feature_map.landmarks_
            features = np.asarray(feature_map.transform(points), dtype=np.float64)
            subspace: FeatureSubspace = NystroemSubspace(feature_map, primal, points, features)
            self.dual_coef_ = np.asarray(feature_map.landmark_weights((primal.components.T * gaussian.gains).T)).T
        else:
            features = np.asarray(feature_map.transform(X), dtype=np.float64)
            centering = Centering(raw_weights / raw_weights.sum(), self.center)
            vectors = centering.transpose(features @ primal.components.T) / np.sqrt(gaussian.eigenvalues)
            axes = centering.apply(vectors) / np.sqrt(gaussian.eigenvalues)
            subspace = RandomFeatureSubspace(feature_map, primal, X, features, centering.affine, axes)
            self.dual_coef_ = axes * gaussian.gains
            points = X
        self._store(LatentModel(subspace, gaussian, model.spectrum))
        self.eigenvectors_ = model.spectrum.eigenvectors
        self.X_fit_ = points
        self._fit_preimage(LazyGram(self.kernel_, points))

    def _feature_map(self, n: int) -> Any:
        if not isinstance(self.approximation, str):
            return clone(self.approximation)
        count = self.n_landmarks if self.n_landmarks is not None else min(n, DEFAULT_LANDMARKS)
        if self.approximation == "nystroem":
            if count > n:
                raise ValueError(f"n_landmarks={count} exceeds the {n} training rows.")
            return FEATURE_MAPS["nystroem"](self.kernel_, n_landmarks=count, random_state=self.random_state)
        return FEATURE_MAPS["rff"](self.kernel_, n_features=count, random_state=self.random_state)

    # ------------------------------------------------------------ rows

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

    def _check_latents(self, Z: Any) -> Array:
        check_is_fitted(self)
        Z = check_table(None, Z, reset=False, name="Z", ensure_min_features=0)
        if Z.shape[1] != self.n_components_:
            raise ValueError(f"Z has {Z.shape[1]} columns, but the model has n_components_={self.n_components_}.")
        return Z

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


def check_gram(K: Array) -> None:
    """A Gram matrix is square, symmetric and has no negative diagonal."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"A precomputed Gram matrix must be square, got shape {K.shape}.")
    scale = float(np.abs(K).max(initial=0.0))
    asymmetry = float(np.abs(K - K.T).max(initial=0.0))
    if asymmetry > ASYMMETRY * scale:
        raise ValueError(
            f"The precomputed Gram matrix is not symmetric: max |K - K.T| = {asymmetry:.3g}. Symmetrise it first."
        )
    if (K.diagonal() < 0).any():
        raise ValueError(
            f"The precomputed Gram matrix has a negative diagonal entry ({K.diagonal().min():.3g}): it is not a kernel's."
        )


@dataclass(frozen=True)
class _WithDim(MomentSample):
    """Moments whose noise lives in another dimension than their own."""

    noise_dim: float = 0.0

    @property
    def dim(self) -> float:
        return self.noise_dim
