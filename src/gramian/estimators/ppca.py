"""PPCA: probabilistic PCA by exact maximum likelihood, with holes in the data."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import assert_all_finite

from gramian._arrays import Array, has_nan
from gramian._checks import (
    check_choice,
    check_flag,
    check_number,
    check_seed,
    check_table,
    check_tolerance,
    check_weights,
    positive_rows,
)
from gramian._progress import Progress
from gramian.estimators._base import BaseEstimator, atomic, chosen_solver, forget
from gramian.estimators._primal import TAIL_SIZE, PrimalMixin
from gramian.exceptions import NumericalWarning
from gramian.latent.anomaly import Tail
from gramian.latent.dimension import check_n_components, free_parameters, lowest_of_valley
from gramian.latent.missing import MissingFit, fit_missing
from gramian.latent.model import LatentModel, fit_latent_model
from gramian.latent.noise import zeroed
from gramian.latent.primal import latent_model
from gramian.latent.sample import MomentSample, primal_sample
from gramian.operators.covariance import Stored
from gramian.operators.moments import Moments
from gramian.solvers import as_solver

PPCA_SOLVERS = ("auto", "eigh", "randomized", "em", "stiefel")
NO_NOISE = 1e-8
"""With holes, a q whose noise falls below this share of the mean variance is no candidate for the BIC."""
FIRST_ROWS = 64
"""Holes are looked for here before the moments of all rows are."""
SPARSE = 0.8
"""Share of missing entries from which on the number of components is held to what the table can support."""
PRIVATE = ("_model", "_moments", "_n_rows", "_tail")
LAZY = frozenset(
    [
        "_model",
        "mean_",
        "components_",
        "loadings_",
        "n_components_",
        "noise_variance_",
        "explained_variance_",
        "explained_variance_ratio_",
        "residual_norm_",
        "n_iter_",
        "solver_",
        "solver_reason_",
        "log_likelihoods_",
        "converged_",
        "n_samples_",
        "_tail",
    ]
)


class PPCA(PrimalMixin, BaseEstimator):
    """Probabilistic principal component analysis, x = μ + Wz + ε with z ~ N(0, I), ε ~ N(0, σ²I) [1, 2, 5].

    The fit is the exact maximum of the likelihood: in closed form for complete data, tall or wide, dense or sparse; by PX-EM on the
    observed entries when some are missing (NaN, None, pd.NA, masked). Every method uses exactly what a row shows.

    Parameters
    ----------
    n_components : int, float, "mle", "bic" or None, default=None
        Latent dimension q; a float in (0, 1) is a fraction of the variance, "mle" Minka's evidence, "bic" the smallest BIC
        (0 when there is no structure above the noise).
        None: as many as exceed ``noise_variance`` if that is a number, else max(1, rank - 1). With holes an int or "bic"
        (None means "bic" there).
    noise_variance : "ml" or float, default="ml"
        σ². 0 is plain PCA.
    center : bool, default=True
        False fixes the mean at zero.
    solver : {"auto", "eigh", "randomized", "em", "stiefel"} or object, default="auto"
        How the leading eigenpairs are found; `explain()` says what "auto" chose and why. Data with holes always use PX-EM.
    tol : float, default=1e-6
        EM: relative change of the mean log-likelihood; iterative eigensolvers: relative residual.
    max_iter : int, default=1000
    random_state : None, int, Generator or RandomState
    verbose : int, default=0
        1 shows a progress bar on long work.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal principal axes; the largest entry of each is positive.
    loadings_ : ndarray of shape (n_features, n_components_)
        W = Uᵀ(Λ - σ²)^½.
    noise_variance_ : float
        The maximum-likelihood σ² = (tr C - Σ l) / (d - q), with C = XᵀX/N about the mean. scikit-learn's PCA divides by
        N - 1 and by min(N, d) - q instead.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
    n_components_ : int
    n_iter_ : int
    log_likelihoods_ : ndarray
        Mean log-likelihood a row, one a step; only where EM ran. Never decreases.
    converged_ : bool
        Only where EM ran.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gramian import PPCA
    >>> X = load_iris().data.copy()
    >>> X[::7, 2] = np.nan
    >>> model = PPCA(n_components=2).fit(X)
    >>> full, std = model.impute(X, return_std=True)
    >>> bool(np.isnan(full).any()), round(float(std[0, 2]), 1)
    (False, 0.5)
    """

    _moments: Moments
    _n_rows: int

    def __init__(
        self,
        n_components: Any = None,
        *,
        noise_variance: Any = "ml",
        center: bool = True,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.noise_variance = noise_variance
        self.center = center
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PPCA:
        """Fit by exact maximum likelihood.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Missing entries are NaN, None, pd.NA or masked.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.

        Returns
        -------
        PPCA
        """
        self._check_params()
        forget(self, *PRIVATE)
        # finiteness is read off the moments: a pass over a large table costs a good part of its fit
        X = check_table(self, X, reset=True, missing=True, accept_sparse=True, min_samples=2, ensure_all_finite=False)
        X, weights = positive_rows(X, check_weights(sample_weight, X))
        sample = None
        if sparse.issparse(X) or not np.isnan(X[:FIRST_ROWS]).any():  # holes mostly show at once
            with np.errstate(all="ignore"):
                sample = primal_sample(X, weights, self.center)
        if sample is None or not sample.finite:
            check_finite_or_missing(X)
            if sample is None or has_holes(X):
                self._fit_missing(X, weights)
                return self
        self._fit_sample(sample, float(weights.sum()))
        return self

    @atomic
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PPCA:
        """Add a batch of complete rows; the result equals `fit` on all rows so far, whatever the batches.

        Only moments are kept; the decomposition is made when the model is first used.
        """
        self._check_params()
        fresh = "_moments" not in vars(self)
        if fresh:
            forget(self, *PRIVATE)
        else:
            for name in LAZY & vars(self).keys():
                delattr(self, name)
        X = check_table(self, X, reset=fresh, missing=True, accept_sparse=True, min_samples=0, ensure_all_finite=False)
        if X.shape[0] == 0:
            if fresh:
                raise ValueError("The first batch has 0 rows. Give at least one row.")
            return self
        X, weights = positive_rows(X, check_weights(sample_weight, X))
        with np.errstate(all="ignore"):  # what is not finite shows in the moments
            batch = Moments.of(X, None if sample_weight is None else weights)
        if not np.isfinite(np.trace(batch.scatter)):
            check_finite_or_missing(X)
            if has_holes(X):
                raise ValueError(
                    "partial_fit streams complete rows, but X contains NaN. Use fit, which handles missing values exactly."
                )
        self._moments = batch if fresh else self._moments.merge(batch)
        self._n_rows = X.shape[0] if fresh else self._n_rows + X.shape[0]
        return self

    @atomic
    def fit_batches(self, batches: Iterable[Any]) -> PPCA:
        """Fit on all rows of an iterable of batches (arrays, frames, memory maps, Arrow batches), out of core.

        Equal to `fit` on the concatenated rows, whatever the batches.
        """
        self.__dict__.pop("_moments", None)
        with Progress("batches", verbose=self.verbose) as bar:
            for batch in batches:
                self.partial_fit(batch)
                bar.step()
        if "_moments" not in vars(self):
            raise ValueError("batches held no rows. Give an iterable of at least one non-empty batch.")
        self._finalise()
        return self

    def _check_params(self) -> None:
        check_n_components(self.n_components)
        if isinstance(self.noise_variance, str):
            check_choice("noise_variance", self.noise_variance, ("ml",))
        else:
            check_number("noise_variance", self.noise_variance, 0.0)
        check_flag("center", self.center)
        if isinstance(self.solver, str):
            check_choice("solver", self.solver, PPCA_SOLVERS)
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)

    def _fit_sample(self, sample: Any, weight: float) -> None:
        solver = as_solver(self.solver, tol=self.tol, max_iter=self.max_iter, random_state=self.random_state)
        q = check_n_components(self.n_components)
        self.solver_, self.solver_reason_ = chosen_solver(solver, sample.operator().size, q)
        if q == "mle" and sample.max_components < sample.dim:
            raise ValueError(
                f"n_components='mle' needs more samples than features ({sample.max_components + 1} <= {int(sample.dim)}). Use 'bic'."
            )
        model = fit_latent_model(sample, q, self.solver_, self.noise_variance, weight=weight)
        operator = sample.operator()
        if isinstance(operator, Stored) and operator.size <= TAIL_SIZE:
            self._tail = Tail.of(operator.matrix, model.gaussian.eigenvalues)
        self._store_primal(model, weight)

    def _finalise(self) -> None:
        """Decompose the moments that `partial_fit` has gathered."""
        if self._n_rows < 2:
            raise ValueError(
                f"PPCA needs at least 2 rows, but partial_fit has seen {self._n_rows} (n_samples = {self._n_rows})."
            )
        self._fit_sample(MomentSample(self._moments, self._n_rows, self.center), self._moments.weight)

    def __getattr__(self, name: str) -> Any:
        # after partial_fit the decomposition waits for its first use: streams of small batches stay cheap
        if name in LAZY and "_moments" in self.__dict__ and "_model" not in self.__dict__:
            self._finalise()
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _fit_missing(self, X: Array, weights: Array) -> None:
        q = check_n_components(self.n_components)
        if q == "mle" or isinstance(q, float):
            raise ValueError(f"n_components={q!r} needs complete data, but X contains NaN. Use an integer or 'bic'.")
        names = getattr(self, "feature_names_in_", None)
        seen = ~np.isnan(X)
        empty = np.flatnonzero(~seen.any(axis=0))
        if len(empty):
            named = ", ".join(repr(str(names[j])) if names is not None else str(j) for j in empty[:10])
            raise ValueError(f"No value is observed in column(s) {named}. Drop them, or give at least one value.")
        limit = min(X.shape[0] - int(self.center), X.shape[1])
        if isinstance(q, int) and q > limit:
            raise ValueError(
                f"n_components={q} must be at most {limit}, the largest possible rank for {X.shape[0]} samples and {X.shape[1]} features."
            )
        limit = min(limit, supported(seen))
        if isinstance(q, int) and q > limit:
            warnings.warn(
                f"With {1 - seen.mean():.0%} of the entries missing, too few are observed together to support n_components={q}: "
                f"imputing by it would be worse than by column means. {limit} components are kept.",
                NumericalWarning,
                stacklevel=4,
            )
            q = limit
        with Progress("PX-EM", total=self.max_iter, verbose=self.verbose) as bar:
            fitted = (
                self._missing_fit(X, weights, q, bar)
                if isinstance(q, int)
                else self._missing_by_bic(X, weights, limit, bar)
            )
        if not fitted.converged:
            warnings.warn(
                f"PX-EM did not converge in max_iter={self.max_iter} steps. Raise max_iter, or tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.solver_, self.solver_reason_ = "px-em", "X has missing entries, whose likelihood has no closed form"
        total = float(weights.sum())
        self._store_primal(model_of_missing(fitted, X.shape[1]), total)

    def _missing_fit(self, X: Array, weights: Array, q: int, bar: Progress) -> MissingFit:
        return fit_missing(
            X,
            q,
            weights=weights,
            noise_variance=None if isinstance(self.noise_variance, str) else float(self.noise_variance),
            center=self.center,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            progress=bar,
        )

    def _missing_by_bic(self, X: Array, weights: Array, limit: int, bar: Progress) -> MissingFit:
        """The q of the smallest BIC, found by doubling and then halving the bracket: a fit costs too much to try every q.

        0 says that there is no structure above the noise.
        """
        total = float(weights.sum())
        fits: dict[int, MissingFit] = {}

        def bic(q: int) -> float:
            if q not in fits:
                fits[q] = self._missing_fit(X, weights, q, bar)
            spread = fits[q].noise_variance + float((fits[q].loadings ** 2).sum()) / X.shape[1]
            if fits[q].noise_variance <= NO_NOISE * spread:
                return np.inf  # columns that determine each other: the likelihood has no bound, and says nothing
            count = free_parameters(X.shape[1], q, noise=isinstance(self.noise_variance, str), mean=self.center)
            return -2 * total * fits[q].log_likelihoods[-1] + count * float(np.log(total))

        best = lowest_of_valley(bic, min(limit, X.shape[1] - 1))
        return fits[best]

    def _store_primal(self, model: LatentModel, weight: float) -> None:
        self._store(model)
        self.n_samples_ = weight
        self.mean_ = model.subspace.mean
        self.components_ = model.subspace.components
        self.loadings_ = model.subspace.components.T * model.gaussian.gains


def supported(seen: Array) -> int:
    """How many components a very sparse table can support; ``seen`` says which entries are observed.

    A row that shows m entries says m - 1 things about the loadings. Where more than `SPARSE` is missing and there are fewer
    than five such things a loading, the maximum of the likelihood imputes worse than the column mean (measured).
    """
    if seen.mean() > 1 - SPARSE:
        return int(seen.shape[1])
    return int(np.maximum(seen.sum(axis=1) - 1, 0).sum() // (5 * seen.shape[1]))


def check_finite_or_missing(X: Any) -> None:
    """Raise ValueError if an entry is infinite."""
    assert_all_finite(X.data if sparse.issparse(X) else X, allow_nan=True, estimator_name="PPCA", input_name="X")


def has_holes(X: Any) -> bool:
    """Whether any entry is NaN."""
    values = X.data if sparse.issparse(X) else X
    holes = has_nan(values)
    if holes and sparse.issparse(X):
        raise ValueError("Sparse X contains NaN. Missing values need a dense table: use '.toarray()'.")
    return holes


def model_of_missing(fitted: MissingFit, n_features: int) -> LatentModel:
    """The canonical model of what PX-EM found, tiny noise set to exactly zero."""
    spread = float((fitted.loadings**2).sum()) / n_features + fitted.noise_variance
    noise = zeroed(fitted.noise_variance, spread, warn=fitted.loadings.shape[1] < n_features)
    model = latent_model(fitted.mean, fitted.loadings, noise)
    history = np.asarray(fitted.log_likelihoods)
    spectrum = replace(model.spectrum, n_iter=fitted.n_iter, converged=fitted.converged, log_likelihoods=history)
    return replace(model, spectrum=spectrum)
