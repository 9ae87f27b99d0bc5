"""KernelPPCA: the dual of probabilistic PCA, with density, samples and the way back to inputs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, Kept, fitted_array, float_dtype
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_n_components,
    check_number,
    check_scale,
    check_seed,
    check_table,
    check_tolerance,
    check_weights,
    is_auto,
    is_count,
    positive_rows,
    refuse_dask,
)
from gramian._memory import memory_budget
from gramian._types import DType, RandomState, Table, Weights
from gramian.evidence.dimension import GramFamily, choose_by_kernel
from gramian.evidence.held_out import HeldOut
from gramian.features import approximations
from gramian.kernels import as_kernel
from gramian.kernels.gram_checks import warn_of_offset, warn_of_scale
from gramian.kernels.precomputed import check_gram
from gramian.latent.gaussian import resolve_noise
from gramian.latent.model import DualModel, LatentModel, fit_latent_model
from gramian.latent.sample import DualSample, kernel_rank
from gramian.operators.gram import DenseGram, LazyGram
from gramian.policy import DEFAULTS, LOOK
from gramian.preimage import check_preimage_method, has_identity_features
from gramian.rows import as_rows, is_dask
from gramian.single.answers import atomic, forget
from gramian.single.hole_fit import has_holes
from gramian.single.kernel_features import ADVICE, KernelFeatures
from gramian.single.kernel_fit import resolved_kernel
from gramian.single.kernel_held_out import HeldOutRows
from gramian.solvers import as_solver, solvers_for
from gramian.solvers.auto import Budgeted


class KernelPPCA(KernelFeatures):
    """Kernel probabilistic PCA: φ(x) = μ + Wz + ε in the feature space of any kernel [1-4].

    All that scikit-learn's ``KernelPCA`` does (``noise_variance=0`` is exactly that), and a density, posterior uncertainty,
    samples in kernel and input space, sample weights, pre-images, and a matrix-free solver for tables whose Gram matrix does not fit.

    Parameters
    ----------
    n_components : "auto", int, float or None, default="auto"
        Latent dimension q. "auto": the smallest q whose held-out likelihood is within one standard error of the best, from folds of
        one Gram matrix on at most 2,000 rows [10]; beyond 10,000 rows all of these are landmarks (Nystroem), and `explain` says so. A float
        in (0, 1) is a fraction of the variance. None: as many as exceed ``noise_variance`` if that is a positive number, else the
        smallest q that explains 95 %. "auto" with a number as ``noise_variance`` is None.
    kernel : str, Kernel, callable, scikit-learn GP kernel or "precomputed", default="rbf"
        "rbf" is ``RBF("median")``: the median distance between training rows.
    noise_variance : "ml" or float, default="ml"
    noise_dim : None, int or "rank"
        D, the dimension that the noise lives in. None is N (the total weight), or the number of features under an approximation.
    center : bool, default=True
    solver : {"auto", "eigh", "krylov", "em", "stiefel"} or object, default="auto"
    approximation : None, "nystroem", "rff" or a feature map, default=None
    n_landmarks : int or None
        Landmarks, or random features; None is min(N, 500). More landmarks than rows are cut, with a warning.
    preimage : {"auto", "smoother", "fixed_point", "mds", "ridge", "gradient", "transport"} or object, default="auto"
        "auto": rows are rebuilt by the method that clean held-out rows prefer, rows whose residual exceeds the 99 % quantile of
        held-out rows by the one that noisy held-out rows prefer, and samples by the one whose draws are nearest to held-out rows
        (energy distance). Chosen on first need, on at most 500 rows drawn by content: `fit` does not pay for it.
    memory_limit : int, str such as "500MB", or None
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
    preimage_ : the fitted pre-image; with "auto" a dict with the keys "reconstruct", "denoise" and "sample"
    selection_ : Selection
        What held-out rows said of each q, where ``n_components="auto"`` chose it.
    n_components_, noise_variance_, explained_variance_, explained_variance_ratio_, residual_norm_, n_iter_

    Notes
    -----
    NaN cells may be there at `fit` and after: a row with holes is a law over inputs, and its kernel values are expectations [18]. With a
    linear kernel the model is then PPCA's.

    Indefinite kernels: whatever q, negative eigenvalues count as no variance, and a ``NumericalWarning`` says how large they are.

    References
    ----------
    [1-4, 10, 18] docs/theory.md, sections 1 to 4, 10 and 18.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from gramian import KernelPPCA
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> model = KernelPPCA(n_components=4, random_state=0).fit(X)
    >>> model.transform(X).shape, model.sample(3).shape
    ((200, 4), (3, 2))
    """

    _origin: Array
    _column_weights: Array
    dual_coef_: Annotated[Array, "* q"]
    _preimage: Annotated[Any, "maybe Preimage"]
    n_features_in_: Annotated[int, "count"]

    def __init__(
        self,
        n_components: int | float | str | None = "auto",
        *,
        kernel: Any = "rbf",
        noise_variance: float | str = "ml",
        noise_dim: Any = None,
        center: bool = True,
        solver: Any = "auto",
        approximation: Any = None,
        n_landmarks: int | None = None,
        preimage: Any = "auto",
        memory_limit: Any = None,
        tol: float = 5e-5,
        max_iter: int = 1000,
        random_state: RandomState = None,
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
        tags.input_tags.allow_nan = not self._precomputed
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Table, y: object = None, sample_weight: Weights = None, inputs: Table | None = None) -> KernelPPCA:
        """Fit the model to rows, or (``kernel="precomputed"``) to their Gram matrix [1, 2, 10].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            NaN cells are missing. With an approximation also a Dask array or frame (complete rows), whose rows stay where they are.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        inputs : array-like of shape (n_samples, n_inputs), optional
            With a precomputed kernel: the rows behind it, so that pre-images and samples can be had.

        Returns
        -------
        KernelPPCA

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> KernelPPCA(n_components=2).fit(X).explained_variance_ratio_.shape
        (2,)
        """
        self._begin()
        if inputs is not None and not self._precomputed:
            raise ValueError("inputs= goes with kernel='precomputed' only: otherwise X holds the inputs already.")
        if self.approximation is None:
            refuse_dask(self, X, advice=ADVICE)
        elif is_dask(X):
            return self._fit_rows(as_rows(X, sample_weight, missing=False))
        if self._precomputed:
            sample, points, raw_weights = self._precomputed_sample(X, sample_weight, inputs)
        else:
            X = check_table(self, X, reset=True, missing=True, accept_sparse=self._accepts_sparse, min_samples=2)
            kept, raw_weights = positive_rows(X, check_weights(sample_weight, X))
            if has_holes(kept):
                self._fit_holes(kept, raw_weights)
                return self
            if self.approximation is not None or self._beyond_what_pays(kept.shape[0]):
                self._fit_features(as_rows(kept, raw_weights))
                return self
            X = kept.copy() if kept is X else kept  # what is kept must not change with the caller's array
            self.kernel_ = resolved_kernel(self.kernel, X)
            points = X
            kept = None if self.memory_limit is None else memory_budget(self.memory_limit) // 4
            if self.center and has_identity_features(self.kernel_) and not sparse.issparse(X):
                # centring makes it exact, and a large offset costs no digits
                self._origin = X.mean(axis=0, dtype=np.float64)
                check_scale(float(np.abs(self._moved(X)).max(initial=0.0)))
            near = self._moved(X)
            sample = self._dual_sample(
                self.kernel_, near, LazyGram(self.kernel_, near, memory=kept), raw_weights, float_dtype(X)
            )
        self._fit_dual(sample, points, raw_weights)
        return self

    def _beyond_what_pays(self, n_rows: int) -> bool:
        """Whether q is open and the rows are so many that the exact model of as many components would take minutes."""
        return n_rows > LOOK.drawn and is_auto(self.n_components) and is_auto(self.solver)

    def _begin(self) -> None:
        self._check_params()
        forget(self, "_model", "_weights", "_held", "_preimage", "_kept", "_origin", "_law", "_column_weights")
        self._kept = Kept()

    def _check_params(self) -> None:
        check_n_components(self.n_components, rules=("auto",))
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
            check_choice("solver", self.solver, solvers_for("dual", self.solver))
        else:
            as_solver(self.solver)
        if isinstance(self.approximation, str):
            check_choice("approximation", self.approximation, approximations(self.approximation))
        elif self.approximation is not None and not callable(getattr(self.approximation, "transform", None)):
            raise ValueError(
                f"approximation={self.approximation!r} must be None, one of {', '.join(map(repr, approximations()))}, or a feature map."
            )
        if self.approximation is not None and self._precomputed:
            raise ValueError(f"approximation={self.approximation!r} needs the inputs, not a precomputed Gram matrix.")
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks, 1)
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)
        memory_budget(self.memory_limit)
        if not self._auto_preimage:
            check_preimage_method(self.preimage)  # a bad name is an error now, not at the first inverse_transform

    def _dual_sample(self, kernel: Any, points: Any, raw: Any, raw_weights: Array, dtype: DType) -> DualSample:
        diagonal = raw.diagonal()
        if not np.isfinite(diagonal).all():
            raise ValueError(
                f"kernel values not finite: {kernel!r} overflows on these data. Rescale X or choose a tamer kernel."
            )
        total = float(raw_weights.sum())
        dim = float(self.noise_dim) if is_count(self.noise_dim) else total
        sample = DualSample(kernel, points, raw, raw_weights / total, dim, self.center, dtype)
        if self.noise_dim == "rank":
            sample = replace(sample, dim=float(kernel_rank(sample.operator(), sample.rank_floor)))
        return sample

    def _precomputed_sample(
        self, K: Any, sample_weight: Weights, inputs: Table | None
    ) -> tuple[DualSample, Any, Array]:
        K = check_table(self, K, reset=True, min_samples=2)
        check_gram(K)
        weights = check_weights(sample_weight, K)
        points = None if inputs is None else check_table(None, inputs, reset=False, name="inputs")
        if points is not None and len(points) != len(K):
            raise ValueError(f"inputs has {len(points)} rows, but the Gram matrix has {len(K)}.")
        self.kernel_ = as_kernel(self.kernel)
        gram = np.asarray(K, dtype=np.float64)
        raw = DenseGram(0.5 * (gram + gram.T))
        return self._dual_sample(self.kernel_, None, raw, weights, float_dtype(K)), points, weights

    def _solver(self) -> Budgeted:
        named = as_solver(self.solver, tol=self.tol, max_iter=self.max_iter, random_state=self.random_state)
        return Budgeted(named, None if self.memory_limit is None else memory_budget(self.memory_limit))

    def _fit_dual(self, sample: DualSample, points: Any, raw_weights: Array) -> None:
        solver = self._solver()
        self.X_fit_, self._weights = points, raw_weights
        self._held = None
        rows = sample.points if self._with_laws else points
        source = HeldOutRows(rows, raw_weights, sample.raw.matrix if sample.points is None else None)
        q = self._dimension(source, self._raw_gram, whole=True)
        model = fit_latent_model(sample, q, solver, self.noise_variance, default_fraction=DEFAULTS.explained)
        self.solver_, self.solver_reason_ = solver.used, solver.reason
        offset = self.center and warn_of_offset(self.kernel_, sample.mean_diagonal, sample.operator().trace())
        if not offset:
            self._warn_without_structure(model, sample)
        if sample.points is None:
            model = replace(model, subspace=replace(model.subspace, gram=sample.raw.matrix))
        self._store_dual(model)
        self._fit_preimage()

    def _store_dual(self, model: DualModel) -> None:
        assert self._weights is not None
        self._store(model)
        gaussian, weights = model.gaussian, self._weights / self._weights.sum()
        self.eigenvectors_ = model.spectrum.eigenvectors
        self.dual_coef_ = np.sqrt(weights)[:, None] * self.eigenvectors_ * np.sqrt(gaussian.shrinkage)
        self._as_the_rows()

    def _as_the_rows(self) -> None:
        """Arrays that users read are float32 where the rows are; the model inside stays float64."""
        dtype = float_dtype(self.X_fit_)
        for name in ("explained_variance_", "explained_variance_ratio_", "eigenvectors_", "dual_coef_"):
            setattr(self, name, fitted_array(getattr(self, name), dtype))

    def _dimension(self, source: HeldOutRows, gram_of: Any, dim: float | None = None, *, whole: bool) -> Any:
        """``n_components`` as `fit_latent_model` takes it, with "auto" chosen on at most 2,000 rows [10].

        ``whole``: as many components of all rows; else, under an approximation, the share of variance that they explain. ``dim`` is D under an approximation, where it does not depend on the rows.
        """
        q = check_n_components(self.n_components, rules=("auto",))
        if q != "auto" or not isinstance(self.noise_variance, str):
            return None if q == "auto" else q
        drawn = source.smallest(LOOK.rows)
        held_out = HeldOut.of(None, hashes=drawn.hashes(), weights=drawn.weights)
        if not held_out:
            return None  # too few rows to hold any out: the 95 % rule
        if is_count(self.noise_dim):
            dim = float(self.noise_dim)
        family = GramFamily(gram_of(drawn), drawn.weights, self.center, dim)
        selection, parts = choose_by_kernel(family, held_out, semidefinite=bool(self.kernel_.positive_semidefinite))
        self.selection_ = selection
        if whole:
            return int(selection.chosen)
        kept = [part.eigenvalues[: selection.chosen].sum() / part.trace for part in parts if part.trace > 0]
        share = float(np.average(kept, weights=[part.weight for part in parts if part.trace > 0])) if kept else 0.95
        return min(max(share, 1e-12), 1 - 1e-12)

    def _raw_gram(self, drawn: HeldOutRows) -> Array:
        if drawn.gram is not None:
            return drawn.gram
        return np.asarray(self._row_kernel(self._moved(drawn.rows)), dtype=np.float64)

    def _warn_without_structure(self, model: DualModel, sample: DualSample) -> None:
        """Say where all eigenvalues are alike (K = I), or there are none (K = 11ᵀ)."""
        n, values, trace = len(sample.weights), model.gaussian.eigenvalues, model.spectrum.trace
        alike = n > 3 and values.size > 0 and values[0] * (n - int(self.center)) <= 1.001 * trace
        if alike or (model.gaussian.n_components == 0 and model.spectrum.trace <= sample.rank_floor * n):
            warn_of_scale(too_small=bool(alike))

    def _latent_mixture(self) -> Any:
        """A mixture over the latents of training rows, at most 10 clusters of at least 20 rows each."""
        from gramian.estimators.ppca_mixture import PPCAMixture  # for those who draw by it

        means, weights = self._training_latents()
        clusters = max(1, min(10, len(means) // 20))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where it stands when it stops is a prior too
            return PPCAMixture(clusters, random_state=0).fit(means, sample_weight=weights)

    # ------------------------------------------------------------ fewer components

    def truncate(self, n_components: int) -> KernelPPCA:
        """A new fitted model with the first q components, without a new fit: as a fit with ``n_components=q`` would be [2].

        Parameters
        ----------
        n_components : int
            q, at most ``n_components_``. Noise that was estimated is estimated anew; a fixed noise stays.

        Returns
        -------
        KernelPPCA

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import numpy as np
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=3).fit(X)
        >>> np.allclose(model.truncate(2).noise_variance_, KernelPPCA(n_components=2).fit(X).noise_variance_)
        True
        """
        check_is_fitted(self)
        q = check_count("n_components", n_components, 0)
        if q > self.n_components_:
            raise ValueError(
                f"n_components={q} exceeds the {self.n_components_} components of the model. Fit anew for more."
            )
        model = clone(self).set_params(n_components=q)
        left_out = ("_preimage", "selection_", "log_likelihoods_", "converged_", "objectives_")
        parameters = set(self.get_params(deep=False))
        model.__dict__.update({k: v for k, v in vars(self).items() if k not in parameters and k not in left_out})
        model._kept = Kept()
        spectrum = self._model.spectrum.leading(q)
        noise = resolve_noise(self.noise_variance, spectrum, self._gaussian.dim)
        gaussian = replace(self._gaussian, eigenvalues=spectrum.eigenvalues, noise_variance=noise)
        cut = LatentModel(self._model.subspace.take(q), gaussian, spectrum)
        if self._weights is None:
            model._store_features(cut)
        else:
            model._store_dual(cut)
        model._fit_preimage()
        return model
