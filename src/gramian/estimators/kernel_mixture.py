"""KernelPPCAMixture: clusters with their own nonlinear subspaces, as a mixture of kernel PPCA models."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype, row_chunks, single_blas_thread
from gramian._checks import (
    check_choice,
    check_count,
    check_finite,
    check_flag,
    check_number,
    check_random_state,
    check_table,
    check_tolerance,
    check_weights,
    is_count,
)
from gramian._progress import Progress
from gramian.estimators._base import atomic, forget
from gramian.estimators._kernel_fit import (
    distinct_rows,
    is_precomputed,
    resolved_kernel,
    stored_gram,
    warn_without_structure,
)
from gramian.exceptions import NumericalWarning
from gramian.features import Nystroem
from gramian.latent.dimension import check_n_components
from gramian.latent.gaussian import Projection
from gramian.latent.kernel_kmeans import graph_starts, kmeans
from gramian.latent.kernel_mixture import (
    DualRows,
    FeatureRows,
    KernelMixtureFit,
    fit_from_starts,
    least_diagonal,
    log_terms,
    project_rows,
    responsibilities_of,
)
from gramian.latent.noise_field import UnitNoise, noise_field
from gramian.operators.gram import DenseGram
from gramian.preimage import as_preimage
from gramian.solvers import as_solver

INITS = ("kernel_kmeans", "kmeans", "random")
DEFAULT_LANDMARKS = 500
SPARSE_SHARE = 1e-6
"""A component with a smaller share of the weight is reported as empty."""
ADVICE = "Use approximation='nystroem', which stores no Gram matrix."
CHUNK_VALUES = 1 << 22


class KernelPPCAMixture(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, BaseEstimator):
    """A mixture of kernel PPCA models in one feature space ([ZH] section 3) [6].

    Every component is the latent Gaussian φ(x) = μ_i + W_i z + ε with the responsibilities as sample weights, ε of fixed
    variance ρ, and the directions whose variance exceeds ρ. EM climbs Σ log Σ_i m_i exp(-L^_i/2), which never falls.

    Parameters
    ----------
    n_clusters : int, default=2
    n_components : int, float or list of them, default=2
        q of every component (a list: one for each); a fraction is settled on the start. A component keeps the directions above
        ``noise_variance`` only, so its q may be smaller: see ``n_components_``.
    kernel : str, Kernel, callable, scikit-learn GP kernel or "precomputed", default="rbf"
    noise_variance : float, default=0.01
        ρ > 0, one for all components.
    init : {"kernel_kmeans", "kmeans", "random"} or array of shape (n_samples, n_clusters), default="kernel_kmeans"
        Where the responsibilities start. "kernel_kmeans": kernel k-means on graphs of nearest neighbours in feature space
        (normalised cuts), which finds curved and interlocked clusters that a wide kernel does not; where graphs of different
        sizes disagree, EM runs from each. Restarts alternate with kernel k-means in feature space itself. "kmeans": k-means of
        the inputs. An array: responsibilities.
    n_init : int, default=1
        Starts, each a different one; the best objective is kept.
    approximation : None or "nystroem", default=None
        "nystroem": components live in the features of ``n_landmarks`` landmarks, at a cost linear in N.
    n_landmarks : int or None
        None is min(N, 500).
    preimage : {"smoother", "fixed_point", "mds", "ridge", "gradient"} or object, default="smoother"
        How `sample` and `reconstruct` come back to inputs.
    tol : float, default=1e-4
        Relative change of the mean objective at which EM stops.
    max_iter : int, default=200
    random_state : None, int, Generator or RandomState
    verbose : int, default=0
    solver : {"eigh", "em", "krylov", "arpack"} or object, default="eigh"
        How a component's eigenpairs are found; "em" is [ZH]'s EM for the empirical loadings Q_i.

    Attributes
    ----------
    weights_ : ndarray of shape (n_clusters,)
        Mixing weights m_i.
    responsibilities_ : ndarray of shape (n_samples, n_clusters)
        Of the training rows.
    n_components_ : list of int
        The q of every component.
    explained_variance_ : list of ndarray
        The eigenvalues l of every component.
    noise_variance_ : float
    kernel_ : Kernel
    log_likelihoods_ : ndarray
        The objective, mean a row, one a step; never decreases.
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> from gramian import KernelPPCAMixture
    >>> from gramian.datasets import make_c_shapes
    >>> X, shape = make_c_shapes(interlocked=True, random_state=0)
    >>> labels = KernelPPCAMixture(n_clusters=2, random_state=0).fit_predict(X)
    >>> agreement = float((labels == shape).mean())
    >>> max(agreement, 1 - agreement) > 0.98
    True
    """

    def __init__(
        self,
        n_clusters: int = 2,
        n_components: Any = 2,
        *,
        kernel: Any = "rbf",
        noise_variance: float = 0.01,
        init: Any = "kernel_kmeans",
        n_init: int = 1,
        approximation: Any = None,
        n_landmarks: int | None = None,
        preimage: Any = "smoother",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
        verbose: int = 0,
        solver: Any = "eigh",
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.init = init
        self.n_init = n_init
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.preimage = preimage
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.solver = solver

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, inputs: Any = None) -> KernelPPCAMixture:
        """Fit by EM from the best of ``n_init`` starts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or the Gram matrix with ``kernel="precomputed"``
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.
        inputs : array-like of shape (n_samples, n_inputs), optional
            With a precomputed kernel: the rows behind it, so that `sample` and `reconstruct` work.
        """
        counts = self._check_params()
        forget(self, "_components", "_columns", "_gram")
        rng = check_random_state(self.random_state)
        X = check_table(self, X, reset=True, min_samples=2)
        weights = check_weights(sample_weight, X)
        kept = np.flatnonzero(weights > 0)
        if len(kept) < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} needs at least as many rows of positive weight, got {len(kept)}."
            )
        table, given, inverse, weights = self._arranged(X, kept, weights[kept], inputs)
        rows = self._rows(table, weights, rng)
        best = self._best(rows, given, weights, inverse, kept, X.shape[0], counts, rng)
        self._store(best, counts)
        self._fit_preimage(rows, given)
        self.responsibilities_ = np.empty((X.shape[0], self.n_clusters))
        self.responsibilities_[kept] = best.responsibilities[inverse]
        if len(kept) < X.shape[0]:
            dropped = np.setdiff1d(np.arange(X.shape[0]), kept)
            self.responsibilities_[dropped] = self._responsibilities(X[dropped])
        self._warn(counts)
        return self

    def _check_params(self) -> list[int | float]:
        n_clusters = check_count("n_clusters", self.n_clusters, 1)
        listed = isinstance(self.n_components, list | tuple | np.ndarray)
        asked = list(self.n_components) if listed else [self.n_components] * n_clusters
        if len(asked) != n_clusters:
            raise ValueError(
                f"n_components={self.n_components!r} must have one entry for each of the {n_clusters} clusters."
            )
        counts = [check_n_components(q, rules=()) for q in asked]
        if None in counts:
            raise ValueError(
                "n_components=None: an integer >= 0 or a fraction in (0, 1) must be given for each cluster."
            )
        check_number("noise_variance", self.noise_variance, 0.0, open_low=True)
        if isinstance(self.init, str):
            check_choice("init", self.init, INITS)
            if self.init == "kmeans" and is_precomputed(self.kernel):
                raise ValueError("init='kmeans' must have inputs, not a precomputed kernel. Use 'kernel_kmeans'.")
        check_count("n_init", self.n_init, 1)
        if self.approximation is not None:
            check_choice("approximation", self.approximation, ("nystroem",))
            if is_precomputed(self.kernel):
                raise ValueError("approximation='nystroem' needs the inputs, not a precomputed Gram matrix.")
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks, 1)
        check_tolerance(self.tol, self.max_iter)
        as_solver(self.solver)
        as_preimage(self.preimage)
        return counts

    def _arranged(self, X: Array, kept: Array, weights: Array, inputs: Any) -> tuple[Array, Any, Array, Array]:
        """(rows to fit, the inputs behind them, where each kept row went, weights); distinct rows in an order of their own."""
        self._columns = None
        if is_precomputed(self.kernel):
            resolved_kernel(self.kernel, X)  # a Gram matrix, or an error that says why not
            behind = None if inputs is None else check_table(None, inputs, reset=False, name="inputs")
            if behind is not None and len(behind) != len(X):
                raise ValueError(f"inputs has {len(behind)} rows, but the Gram matrix has {len(X)}.")
            self._columns = kept
            return X[np.ix_(kept, kept)], None if behind is None else behind[kept], np.arange(len(kept)), weights
        if inputs is not None:
            raise ValueError("inputs= goes with kernel='precomputed' only: otherwise X holds the inputs already.")
        first, inverse, total = distinct_rows(X[kept], weights)
        return X[kept][first], X[kept][first], inverse, total

    def _rows(self, table: Array, weights: Array, rng: np.random.Generator) -> DualRows | FeatureRows:
        self.kernel_ = resolved_kernel(self.kernel, table)
        if self.approximation is None:
            gram = stored_gram(self.kernel_, table, ADVICE)
            warn_without_structure(gram)
            return DualRows(self.kernel_, None if self._columns is not None else table, gram)
        n_landmarks = min(len(table), DEFAULT_LANDMARKS) if self.n_landmarks is None else int(self.n_landmarks)
        if n_landmarks > len(table):
            raise ValueError(f"n_landmarks={n_landmarks} exceeds the {len(table)} distinct training rows.")
        seed = int(rng.integers(2**31 - 1))
        feature_map = Nystroem(self.kernel_, n_landmarks, random_state=seed).fit(table, sample_weight=weights)
        features = np.asarray(feature_map.transform(table), dtype=np.float64)
        landmarks = feature_map.landmarks_
        return FeatureRows(
            feature_map, features, landmarks, np.asarray(feature_map.transform(landmarks), dtype=np.float64)
        )

    def _best(
        self,
        rows: DualRows | FeatureRows,
        inputs: Any,
        weights: Array,
        inverse: Array,
        kept: Array,
        n_rows: int,
        counts: list[int | float],
        rng: np.random.Generator,
    ) -> KernelMixtureFit:
        solver = as_solver(self.solver, tol=1e-8, random_state=int(rng.integers(2**31 - 1)))
        best: KernelMixtureFit | None = None
        n_init = self.n_init if isinstance(self.init, str) else 1
        with Progress("EM", total=n_init * self.max_iter, verbose=self.verbose) as bar:
            for attempt in range(n_init):
                if isinstance(self.init, str):
                    starts = self._starts(rows, inputs, weights, attempt, rng)
                else:
                    starts = [self._given_start(inverse, kept, n_rows, rows.size)]
                with single_blas_thread():
                    found = fit_from_starts(
                        rows,
                        starts,
                        weights,
                        counts,
                        float(self.noise_variance),
                        solver=solver,
                        tol=float(self.tol),
                        max_iter=int(self.max_iter),
                        progress=bar,
                    )
                if best is None or found.objective > best.objective:
                    best = found
        assert best is not None
        return best

    def _starts(
        self, rows: DualRows | FeatureRows, inputs: Any, weights: Array, attempt: int, rng: np.random.Generator
    ) -> list[Array]:
        if self.n_clusters == 1:
            return [np.ones((rows.size, 1))]
        if self.init == "random":
            return [rng.dirichlet(np.ones(self.n_clusters), rows.size)]
        if self.init == "kernel_kmeans":
            return graph_starts(rows, weights, self.n_clusters, rng, attempt)
        labels = kmeans(inputs, weights, self.n_clusters, rng, 1 if self.n_init > 1 else 10)
        return [np.eye(self.n_clusters)[labels]]

    def _given_start(self, inverse: Array, kept: Array, n_rows: int, size: int) -> Array:
        start = check_table(None, self.init, reset=False, name="init")
        if start.shape != (n_rows, self.n_clusters):
            raise ValueError(
                f"init has shape {start.shape}, but responsibilities must have shape ({n_rows}, {self.n_clusters})."
            )
        if (start < 0).any() or not (start.sum(axis=1) > 0).all():
            raise ValueError("init must hold responsibilities >= 0, with a positive sum in every row.")
        start = np.asarray(start[kept] / start[kept].sum(axis=1, keepdims=True), dtype=np.float64)
        merged = np.zeros((size, self.n_clusters))
        np.add.at(merged, inverse, start)
        return merged / np.bincount(inverse, minlength=size)[:, None]

    def _store(self, best: KernelMixtureFit, counts: list[int | float]) -> None:
        self._components = best.components
        self.weights_ = best.mixing
        self.n_components_ = [model.gaussian.n_components for model in best.components]
        self.explained_variance_ = [model.gaussian.eigenvalues for model in best.components]
        self.noise_variance_ = float(self.noise_variance)
        self.log_likelihoods_ = best.log_likelihoods
        self.converged_ = bool(best.converged)
        self.n_iter_ = len(best.log_likelihoods)
        self._width = max(q if isinstance(q, int) else kept for q, kept in zip(counts, self.n_components_))

    def _fit_preimage(self, rows: DualRows | FeatureRows, inputs: Any) -> None:
        points = rows.points if isinstance(rows, FeatureRows) else inputs
        self.X_fit_ = points
        self._gram = rows.gram if isinstance(rows, DualRows) and self._columns is not None else None
        self.preimage_: Any = None
        if points is not None:
            preimage = clone(as_preimage(self.preimage))
            gram = rows.gram if isinstance(rows, DualRows) else rows.point_features @ rows.point_features.T
            self.preimage_ = preimage.fit(points, gram, kernel=self.kernel_, scores=None)

    def _warn(self, counts: list[int | float]) -> None:
        if not self.converged_:
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} steps before its objective settled to tol={self.tol:g}. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=4,
            )
        empty = np.flatnonzero(self.weights_ < SPARSE_SHARE)
        if len(empty):
            warnings.warn(
                f"Component(s) {', '.join(map(str, empty))} hold no rows. Use fewer than n_clusters={self.n_clusters}, or another start.",
                ConvergenceWarning,
                stacklevel=4,
            )
        fewer = [i for i, q in enumerate(counts) if is_count(q) and self.n_components_[i] < q]
        if fewer:
            named = ", ".join(f"component {i} keeps {self.n_components_[i]} of {counts[i]}" for i in fewer[:5])
            warnings.warn(
                f"Directions with a variance of at most noise_variance={self.noise_variance:g} are dropped: {named}. Lower "
                "noise_variance or n_components.",
                NumericalWarning,
                stacklevel=4,
            )

    # ------------------------------------------------------------ evaluation

    def _check_rows(self, X: Any) -> Array:
        check_is_fitted(self)
        return check_table(self, X, reset=False)

    def _project(self, X: Array, diagonal: Array | None) -> list[Projection]:
        if self._columns is not None:
            X = X[:, self._columns]
            if diagonal is None:
                diagonal = least_diagonal(self._components, X)
        return project_rows(self._components, X, diagonal)

    def _terms(self, X: Array, diagonal: Array | None = None) -> tuple[Array, list[Projection]]:
        seen = self._project(X, diagonal)
        densities = log_terms(self._components, np.ones(self.n_clusters), seen)
        check_finite(densities, "log-densities")
        with np.errstate(divide="ignore"):
            return densities + np.log(self.weights_), seen

    def _responsibilities(self, X: Array) -> Array:
        return responsibilities_of(self._terms(X)[0])[0]

    def predict_proba(self, X: Any) -> Array:
        """The responsibility of every component for each row, (n_samples, n_clusters)."""
        X = self._check_rows(X)
        return self._responsibilities(X).astype(float_dtype(X), copy=False)

    def predict(self, X: Any) -> Array:
        """The most responsible component of each row."""
        return self._terms(self._check_rows(X))[0].argmax(axis=1)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """`fit`, and the most responsible component of each training row."""
        return self.fit(X, y, sample_weight).responsibilities_.argmax(axis=1)

    def score_samples(self, X: Any, diagonal: Any = None) -> Array:
        """log Σ_i m_i exp(-L^_i(x)/2): the log-density but for the constant of the noise's space [6].

        ``diagonal`` is k(y, y) of the rows, with a precomputed kernel.
        """
        X = self._check_rows(X)
        if self._columns is not None:
            if diagonal is None:
                raise ValueError(
                    "score_samples with kernel='precomputed' needs diagonal=, the values k(y, y) of the rows."
                )
            diagonal = check_table(None, np.reshape(diagonal, (-1, 1)), reset=False, name="diagonal")[:, 0]
            if len(diagonal) != len(X):
                raise ValueError(f"diagonal has {len(diagonal)} values, but X has {len(X)} rows.")
        elif diagonal is not None:
            raise ValueError("diagonal= goes with kernel='precomputed' only.")
        return responsibilities_of(self._terms(X, diagonal)[0])[1].astype(float_dtype(X), copy=False)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of `score_samples`."""
        return float(np.mean(self.score_samples(X), dtype=np.float64))

    @property
    def _n_features_out(self) -> int:
        return self._width

    def transform(self, X: Any, combine: str = "best") -> Array:
        """Latent coordinates E[z | x] [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        combine : {"best", "average"}, default="best"
            "best": those of the most responsible component (`predict` says which). "average": Σ r_i E[z | x, i].

        Returns
        -------
        ndarray of shape (n_samples, q)
            q is the largest ``n_components`` asked for; components with fewer leave the last columns 0.
        """
        check_choice("combine", combine, ("best", "average"))
        X = self._check_rows(X)
        terms, seen = self._terms(X)
        shares = _shares(terms, combine)
        latents = np.zeros((len(X), self._width))
        for model, part, share in zip(self._components, seen, shares.T):
            mean = model.gaussian.posterior(part).mean
            latents[:, : mean.shape[1]] += share[:, None] * mean
        return latents.astype(float_dtype(X), copy=False)

    # ------------------------------------------------------------ back to inputs

    def reconstruct(self, X: Any, kind: str = "map", combine: str = "best") -> Array:
        """The rows as the mixture sees them, by the pre-image of a point of feature space [2, 4].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        kind : {"map", "projection"}, default="map"
            "map": μ_i + W_i E[z | x, i], shrunk; "projection": the nearest point of the component's subspace.
        combine : {"best", "average"}, default="best"
            Of the most responsible component, or averaged over all in feature space.
        """
        check_choice("kind", kind, ("map", "projection"))
        check_choice("combine", combine, ("best", "average"))
        X = self._check_rows(X)
        self._require_preimage()
        size = self._components[0].subspace.size
        parts = []
        for rows in row_chunks(len(X), max(1, CHUNK_VALUES // size)):
            terms, seen = self._terms(X[rows])
            shares = _shares(terms, combine)
            weights = np.zeros((len(terms), size))
            values = np.zeros((len(terms), size))
            for model, part, share in zip(self._components, seen, shares.T):
                gaussian = model.gaussian
                scores = part.scores if kind == "projection" else gaussian.decode(gaussian.posterior(part).mean)
                weights += share[:, None] * model.subspace.embed(scores)
                values += share[:, None] * model.subspace.kernel_values(scores)
            parts.append(self._preimages(weights, values))
        return np.concatenate(parts).astype(float_dtype(X), copy=False)

    def sample(self, n_samples: int = 1, *, noise: bool = False, random_state: Any = None) -> tuple[Array, Array]:
        """Draw inputs and the components they come from: latents of each component, then the pre-image [3, 4].

        Parameters
        ----------
        n_samples : int, default=1
        noise : bool, default=False
            Whether to add the noise ε in feature space. The fixed ρ is a regulariser, not an estimate: with it draws scatter
            more than the data.
        random_state : None, int, Generator or RandomState
            None uses the estimator's own.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        n_samples = check_count("n_samples", n_samples, 1)
        check_flag("noise", noise)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        self._require_preimage()
        labels = np.sort(rng.choice(self.n_clusters, n_samples, p=self.weights_))
        parts = []
        for label in np.unique(labels):
            model = self._components[label]
            count = int((labels == label).sum())
            scores = model.gaussian.decode(rng.standard_normal((count, model.gaussian.n_components)))
            weights, values = model.subspace.embed(scores), model.subspace.kernel_values(scores)
            if noise:
                unit = self._unit_noise(model.subspace, count, rng)
                level = np.sqrt(self.noise_variance_)
                weights, values = weights + level * unit.weights, values + level * unit.values
            parts.append(self._preimages(weights, values))
        order = rng.permutation(n_samples)
        return np.concatenate(parts)[order], labels[order]

    def _unit_noise(self, subspace: Any, count: int, rng: np.random.Generator) -> UnitNoise:
        if hasattr(subspace, "unit_noise"):
            drawn: UnitNoise = subspace.unit_noise(count, rng)
            return drawn
        gram = self._gram if self._gram is not None else stored_gram(self.kernel_, self.X_fit_, ADVICE)
        return noise_field(DenseGram(gram)).draw(count, rng, subspace.affine)

    def _require_preimage(self) -> None:
        if self.preimage_ is None:
            raise ValueError(
                "There are no pre-images with a precomputed kernel unless fit(K, inputs=X) was given the inputs."
            )

    def _preimages(self, weights: Array, values: Array) -> Array:
        if hasattr(self.preimage_, "transform_with_info"):
            rows, info = self.preimage_.transform_with_info(weights, values)
        else:
            rows, info = self.preimage_.transform(weights, values), None
        converged = getattr(info, "converged", None)
        if converged is not None and not np.all(converged):
            warnings.warn(
                f"{int(np.size(converged) - np.sum(converged))} of {np.size(converged)} pre-images did not converge.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return np.asarray(rows)


def _shares(terms: Array, combine: str) -> Array:
    """Responsibilities, or one for the best component and zero for the others."""
    if combine == "best":
        return np.eye(terms.shape[1])[terms.argmax(axis=1)]
    return responsibilities_of(terms)[0]
