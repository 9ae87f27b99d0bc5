"""KernelPPCA: the dual of probabilistic PCA, with density, samples and the way back to inputs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    check_table,
    check_tolerance,
    check_weights,
    is_count,
    positive_rows,
)
from gramian._memory import memory_budget, require_memory
from gramian.estimators._base import BaseEstimator, atomic, forget
from gramian.estimators._dual import DualMixin
from gramian.exceptions import NumericalWarning
from gramian.features import FEATURE_MAPS
from gramian.kernels import as_kernel
from gramian.kernels.precomputed import check_gram
from gramian.latent.dimension import DEFAULT_FRACTION, check_n_components
from gramian.latent.feature_moments import feature_moments
from gramian.latent.feature_subspace import FeatureSubspace, NystroemSubspace, RandomFeatureSubspace
from gramian.latent.model import LatentModel, fit_latent_model
from gramian.latent.sample import DUAL_RANK, DualSample, MomentSample
from gramian.operators.centering import Centering
from gramian.operators.gram import DenseGram, LazyGram
from gramian.preimage import as_preimage
from gramian.solvers import as_solver
from gramian.solvers.budget import Budgeted

KERNEL_SOLVERS = ("auto", "eigh", "krylov", "em", "stiefel", "arpack")
APPROXIMATIONS = ("nystroem", "rff")
DEFAULT_LANDMARKS = 500


class KernelPPCA(DualMixin, BaseEstimator):
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
        Relative residual of iterative eigensolvers; their eigenvalues are then good to 1e-8 or better. With "nystroem", what
        rounding may cost: long tables are gathered in float32 where that costs less.
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
            kept = None if self.memory_limit is None else memory_budget(self.memory_limit) // 4
            sample = self._dual_sample(self.kernel_, X, LazyGram(self.kernel_, X, memory=kept), raw_weights)
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
        moments = feature_moments(feature_map, X, raw_weights, float(self.tol))
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


@dataclass(frozen=True)
class _WithDim(MomentSample):
    """Moments whose noise lives in another dimension than their own."""

    noise_dim: float = 0.0

    @property
    def dim(self) -> float:
        return self.noise_dim
