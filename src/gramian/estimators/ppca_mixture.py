"""PPCAMixture: clusters with their own subspaces, by exact maximum likelihood, with holes in the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype, row_chunks
from gramian._checks import (
    check_choice,
    check_count,
    check_finite,
    check_random_state,
    check_seed,
    check_table,
    check_tolerance,
    check_weights,
    is_count,
    is_real,
)
from gramian._progress import Progress
from gramian.estimators._base import EVALUATION_ROWS, BaseEstimator, atomic, forget
from gramian.estimators._containers import like
from gramian.exceptions import NumericalWarning
from gramian.latent.dimension import free_parameters
from gramian.latent.gaussian import Projection
from gramian.latent.kernel_mixture import log_terms, responsibilities_of
from gramian.latent.mixture import MixtureFit, fit_mixture, mixture_rows, nonempty
from gramian.latent.mixture_rows import MixtureTable
from gramian.latent.mixture_start import kmeans_start, means_start, random_start
from gramian.latent.model import LatentModel
from gramian.latent.primal import predictive, rebuilt

COUNT_ROUNDS = 3
"""How often a fraction of variance is turned into numbers of components anew."""
PRIVATE = ("_components",)


class PPCAMixture(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, BaseEstimator):
    """A mixture of probabilistic PCAs: x ~ Σ π_k N(μ_k, W_k W_kᵀ + σ²_k I) [6].

    Each cluster is a Gaussian with its own mean, subspace and noise; with ``n_components = d - 1`` it is the
    full-covariance Gaussian mixture, with 0 the spherical one. Missing entries (NaN, None, pd.NA, masked; missing at
    random) are allowed in ``fit`` and in every method, and exactly what a row shows is used.

    Parameters
    ----------
    n_clusters : int, default=2
    n_components : int, float or list, default=1
        Latent dimension q of every cluster; a list gives one a cluster; a fraction in (0, 1) is the smallest q that
        explains that share of a cluster's variance. ``d`` means ``d - 1``: the noise is the last direction.
    noise : {"separate", "shared"}, default="separate"
        A noise variance for each cluster, or one for all.
    init : {"kmeans", "random"} or array of shape (n_samples, n_clusters), default="kmeans"
        The start: k-means; random rows as centres; or responsibilities.
    weights_init : array of shape (n_clusters,), optional
        Mixing weights to start from.
    means_init : array of shape (n_clusters, n_features), optional
        Means to start from, instead of ``init``.
    n_init : int, default=1
        How many different starts to try; the one of the largest likelihood is kept.
    tol : float, default=1e-6
        EM stops when the mean log-likelihood changes relatively by less.
    max_iter : int, default=200
    random_state : None, int, Generator or RandomState
    verbose : int, default=0

    Attributes
    ----------
    weights_ : ndarray of shape (n_clusters,)
        Mixing weights π.
    means_ : ndarray of shape (n_clusters, n_features)
    loadings_ : list of ndarray of shape (n_features, q_k)
        W_k, orthogonal columns, longest first.
    noise_variances_ : ndarray of shape (n_clusters,)
    n_components_ : list of int
        q_k.
    responsibilities_ : ndarray of shape (n_samples, n_clusters)
        P(cluster | row) of the training rows.
    log_likelihoods_ : ndarray
        Mean log-likelihood a row, one a step; never decreases.
    converged_ : bool
    n_iter_ : int
    noise_floor_ : float
        The least noise a cluster may have (1e-12 of the mean variance); met only by clusters without noise.

    See Also
    --------
    PPCAMixture.select : chooses the number of clusters and of components by BIC.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import PPCAMixture
    >>> rng = np.random.default_rng(0)
    >>> line = rng.standard_normal((100, 1))
    >>> X = np.vstack([line * [1.0, 1.0, 0.0], line * [0.0, 1.0, -1.0] + 5.0]) + 0.1 * rng.standard_normal((200, 3))
    >>> X[::9, 1] = np.nan
    >>> model = PPCAMixture(n_clusters=2, n_components=1, random_state=0).fit(X)
    >>> labels = model.predict(X)
    >>> bool((labels[:100] == labels[0]).all() and (labels[100:] == 1 - labels[0]).all())
    True
    >>> [float(noise) < 0.02 for noise in model.noise_variances_]
    [True, True]
    """

    _components: list[LatentModel]

    def __init__(
        self,
        n_clusters: int = 2,
        n_components: Any = 1,
        *,
        noise: str = "separate",
        init: Any = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        n_init: int = 1,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.noise = noise
        self.init = init
        self.weights_init = weights_init
        self.means_init = means_init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PPCAMixture:
        """Fit by EM on the observed entries.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Missing entries are NaN, None, pd.NA or masked.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.

        Returns
        -------
        PPCAMixture
        """
        K = self._check_params()
        forget(self, *PRIVATE)
        table = check_table(self, X, reset=True, missing=True, min_samples=2)
        weights = check_weights(sample_weight, table)
        kept = weights > 0
        rows = table if kept.all() else table[kept]
        if len(rows) < K:
            raise ValueError(f"n_clusters={K} must be at most the number of rows (of positive weight), {len(rows)}.")
        asked = self._asked_components(len(rows), rows.shape[1])
        self._check_columns(rows)
        prepared = MixtureTable.of(rows, weights[kept])
        rng = check_random_state(self.random_state)
        best: MixtureFit | None = None
        with Progress("mixture", verbose=self.verbose) as bar:
            for start, mixing in self._starts(prepared, asked, kept, rng):
                found = self._fit_from(prepared, asked, start, mixing, rng, bar)
                if best is None or found.log_likelihoods[-1] > best.log_likelihoods[-1]:
                    best = found
        assert best is not None
        self._store(best, table, kept)
        self._warn(best)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and the cluster of each row."""
        return self.fit(X, y, sample_weight).responsibilities_.argmax(axis=1)

    @classmethod
    def select(
        cls,
        X: Any,
        n_clusters: Iterable[int] = range(1, 7),
        n_components: Iterable[Any] = (1, 2, 3),
        *,
        criterion: str = "bic",
        sample_weight: Any = None,
        **params: Any,
    ) -> PPCAMixture:
        """Fit every pair of the numbers given, and return the model of the smallest criterion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_clusters, n_components : iterables of the values to try
            Combinations that the data cannot support are left out.
        criterion : {"bic", "aic"}
        sample_weight : array-like of shape (n_samples,), optional
        **params : further arguments of the constructor

        Returns
        -------
        PPCAMixture
            Fitted, with ``selection_``: a list of dicts with ``n_clusters``, ``n_components`` and the criterion.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PPCAMixture
        >>> rng = np.random.default_rng(0)
        >>> X = np.vstack([rng.standard_normal((80, 3)) * [3, 1, 1] + 10 * k for k in range(2)])
        >>> best = PPCAMixture.select(X, range(1, 4), [0, 1, 2], random_state=0)
        >>> best.n_clusters, best.n_components
        (2, 1)
        """
        check_choice("criterion", criterion, ("bic", "aic"))
        pairs = [(K, q) for K in n_clusters for q in n_components]
        if not pairs:
            raise ValueError("n_clusters and n_components must each name at least one value to try.")
        best, best_value, tried, refused = None, np.inf, [], None
        for K, q in pairs:
            model = cls(K, q, **params)
            try:
                model.fit(X, sample_weight=sample_weight)
            except ValueError as error:
                refused = error
                continue
            value = float(getattr(model, criterion)(X, sample_weight=sample_weight))
            tried.append({"n_clusters": K, "n_components": q, criterion: value})
            if value < best_value:
                best, best_value = model, value
        if best is None:
            assert refused is not None
            raise refused
        best.selection_ = tried
        return best

    def _check_params(self) -> int:
        K = check_count("n_clusters", self.n_clusters, 1)
        check_count("n_init", self.n_init, 1)
        check_choice("noise", self.noise, ("separate", "shared"))
        if isinstance(self.init, str):
            check_choice("init", self.init, ("kmeans", "random"))
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)
        return K

    def _check_columns(self, X: Array) -> None:
        empty = np.flatnonzero(np.isnan(X).all(axis=0))
        if len(empty):
            names = getattr(self, "feature_names_in_", None)
            named = ", ".join(repr(str(names[j])) if names is not None else str(j) for j in empty[:10])
            raise ValueError(f"No value is observed in column(s) {named}. Drop them, or give at least one value.")

    def _asked_components(self, n: int, d: int) -> list[int | float]:
        """One count or fraction a cluster."""
        K = int(self.n_clusters)
        given = self.n_components
        if isinstance(given, list | tuple | np.ndarray):
            if len(given) != K:
                raise ValueError(f"n_components={given!r} has {len(given)} entries, but n_clusters={K}.")
            entries = list(given)
        else:
            entries = [given] * K
        most = min(n - 1, d)
        asked: list[int | float] = []
        for entry in entries:
            if is_count(entry) and 0 <= entry <= most:
                asked.append(min(int(entry), d - 1))
            elif is_real(entry) and not is_count(entry) and 0.0 < entry < 1.0:
                asked.append(float(entry))
            else:
                raise ValueError(
                    f"n_components={given!r} must be an integer between 0 and {most} (the largest possible rank for {n} "
                    f"samples and n_features={d}), a fraction in (0, 1), or a list with one of these for each cluster."
                )
        return asked

    def _starts(
        self, table: MixtureTable, asked: list[int | float], kept: Array, rng: np.random.Generator
    ) -> Iterator[tuple[Array, Array | None]]:
        """Responsibilities to start from, and mixing weights if they were given; one pair a run."""
        K = int(self.n_clusters)
        mixing = self._given_weights(K)
        if self.means_init is not None:
            means = check_table(None, self.means_init, reset=False, name="means_init").astype(np.float64)
            if means.shape != (K, table.X.shape[1]):
                raise ValueError(
                    f"means_init has shape {means.shape}, but n_clusters={K} and the data have {table.X.shape[1]} columns."
                )
            yield means_start(table, means, mixing), mixing
        elif not isinstance(self.init, str):
            yield self._given_responsibilities(K, kept), mixing
        else:
            filled = table.filled(K - 1 + max((q for q in asked if isinstance(q, int)), default=1))
            make = kmeans_start if self.init == "kmeans" else random_start
            for _ in range(self.n_init):
                yield make(filled, table.weights, K, rng), mixing

    def _given_weights(self, K: int) -> Array | None:
        if self.weights_init is None:
            return None
        weights = np.asarray(self.weights_init, dtype=np.float64)
        if weights.shape != (K,) or not (weights >= 0).all() or not np.isclose(weights.sum(), 1.0):
            raise ValueError(f"weights_init={self.weights_init!r} must be {K} numbers >= 0 that sum to 1.")
        return weights / weights.sum()

    def _given_responsibilities(self, K: int, kept: Array) -> Array:
        given = check_table(None, self.init, reset=False, name="init").astype(np.float64)
        if given.shape != (len(kept), K):
            raise ValueError(
                f"init has shape {given.shape}, but responsibilities need ({len(kept)}, {K}): a row of X, a column a cluster."
            )
        if (given < 0).any() or (given[kept].sum(axis=1) <= 0).any():
            raise ValueError("init must hold responsibilities: numbers >= 0 with a positive sum in every row.")
        return given[kept]

    def _fit_from(
        self,
        table: MixtureTable,
        asked: list[int | float],
        start: Array,
        mixing: Array | None,
        rng: np.random.Generator,
        bar: Progress,
    ) -> MixtureFit:
        """One EM; where fractions were asked for, again with the numbers of components that its clusters call for."""
        shared = self.noise == "shared"
        start = nonempty(start)
        counts: list[int] = []
        for _ in range(COUNT_ROUNDS):
            simple = mixture_rows(table, [1] * len(asked), shared=shared, rng=rng)
            new = [q if isinstance(q, int) else simple.fraction_counts(start, q, k) for k, q in enumerate(asked)]
            if new == counts:
                break
            counts = new
            rows = mixture_rows(table, counts, shared=shared, rng=rng)
            found = fit_mixture(rows, start, mixing=mixing, tol=self.tol, max_iter=self.max_iter, progress=bar)
            start, mixing = found.responsibilities, None
        return found

    def _store(self, found: MixtureFit, X: Array, kept: Array) -> None:
        models = found.components
        self._components = models
        self.weights_ = found.mixing
        self.means_ = np.stack([model.subspace.mean for model in models])
        self.loadings_ = [model.subspace.components.T * model.gaussian.gains for model in models]
        self.noise_variances_ = np.array([model.gaussian.noise_variance for model in models])
        self.n_components_ = [model.gaussian.n_components for model in models]
        self.log_likelihoods_ = np.asarray(found.log_likelihoods)
        self.n_iter_ = len(found.log_likelihoods)
        self.converged_ = found.converged
        self.noise_floor_ = found.noise_floor
        self.responsibilities_ = found.responsibilities
        if not kept.all():
            everywhere = np.empty((len(X), len(models)))
            everywhere[kept] = found.responsibilities
            everywhere[~kept] = self._shares(X[~kept])
            self.responsibilities_ = everywhere

    def _warn(self, found: MixtureFit) -> None:
        if found.n_rescued:
            warnings.warn(
                f"Empty clusters, or clusters of too few different rows for their components, were started again "
                f"{found.n_rescued} times from a part of another. Fewer clusters or components may fit better.",
                NumericalWarning,
                stacklevel=4,
            )
        if found.at_floor:
            warnings.warn(
                f"The components of cluster(s) {', '.join(map(str, found.at_floor))} explain all of the variance there: the noise "
                f"variance is held at noise_floor_={found.noise_floor:.3g}. Lower n_components or n_clusters.",
                NumericalWarning,
                stacklevel=4,
            )
        if not found.converged:
            warnings.warn(
                f"EM did not converge in max_iter={self.max_iter} steps. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ------------------------------------------------------------ clusters and densities

    @property
    def _n_features_out(self) -> int:
        return max(self.n_components_)

    def _check_rows(self, X: Any) -> Array:
        check_is_fitted(self)
        return check_table(self, X, reset=False, missing=True)

    def _see(self, X: Array) -> list[Projection]:
        seen = [model.subspace.project(X) for model in self._components]
        for part in seen:
            check_finite(part.squared_norm, "squared norms")
        return seen

    def _terms(self, seen: list[Projection]) -> Array:
        """log π_k + log p(x | k), (n, K)."""
        return log_terms(self._components, self.weights_, seen)

    def _shares(self, X: Array) -> Array:
        parts = [
            responsibilities_of(self._terms(self._see(X[rows])))[0] for rows in row_chunks(len(X), EVALUATION_ROWS)
        ]
        return np.concatenate(parts)

    def predict_proba(self, X: Any) -> Array:
        """P(cluster | what the row shows), (n_samples, n_clusters) in float64; rows sum to one [6]."""
        return self._shares(self._check_rows(X))

    def predict(self, X: Any) -> Array:
        """The most probable cluster of each row."""
        return self.predict_proba(X).argmax(axis=1)

    def score_samples(self, X: Any) -> Array:
        """log Σ π_k p(x | k) of what each row shows [6]."""
        X = self._check_rows(X)
        parts = [
            responsibilities_of(self._terms(self._see(X[rows])))[1] for rows in row_chunks(len(X), EVALUATION_ROWS)
        ]
        return np.concatenate(parts).astype(float_dtype(X), copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-likelihood of the rows."""
        values = self.score_samples(X)
        return float(np.average(values.astype(np.float64), weights=check_weights(sample_weight, values[:, None])))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion on X: smaller is better [2]."""
        return self._criterion(X, sample_weight, lambda total: 2.0)

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """The Bayesian information criterion on X: smaller is better [2]."""
        return self._criterion(X, sample_weight, lambda total: float(np.log(total)))

    def _criterion(self, X: Any, sample_weight: Any, price: Callable[[float], float]) -> float:
        values = self.score_samples(X).astype(np.float64)
        weights = check_weights(sample_weight, values[:, None])
        return -2.0 * float(weights @ values) + self._free_parameters() * price(float(weights.sum()))

    def _free_parameters(self) -> int:
        """Those of each cluster, and K - 1 mixing weights; a shared noise counts once."""
        own = self.noise == "separate"
        each = [free_parameters(self.n_features_in_, q, noise=own) for q in self.n_components_]
        return sum(each) + len(each) - 1 + int(not own)

    # ------------------------------------------------------------ latents and rows

    def _combined(self, X: Array, per_component: Callable[[int, Projection], Array], combine: str, width: int) -> Array:
        """What each cluster says of the rows: that of the most probable one, or the average over all."""
        check_choice("combine", combine, ("best", "average"))
        out = np.zeros((len(X), width))
        for rows in row_chunks(len(X), EVALUATION_ROWS):
            seen = self._see(X[rows])
            shares = responsibilities_of(self._terms(seen))[0]
            if combine == "best":
                shares = np.eye(shares.shape[1])[shares.argmax(axis=1)]
            for k, part in enumerate(seen):
                takes = np.flatnonzero(shares[:, k] > 0)
                if len(takes):
                    said = per_component(k, part[takes])
                    out[rows.start + takes, : said.shape[1]] += shares[takes, k, None] * said
        return out.astype(float_dtype(X), copy=False)

    def transform(self, X: Any, combine: str = "best") -> Array:
        """Latent coordinates E[z | x] [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        combine : {"best", "average"}, default="best"
            "best": those of the most probable cluster (`predict` says which; clusters have different axes). "average":
            E[z | x] = Σ P(k | x) E[z | x, k].

        Returns
        -------
        ndarray of shape (n_samples, max(n_components_))
            Clusters of fewer components leave the last columns 0.
        """
        X = self._check_rows(X)
        return self._combined(
            X, lambda k, seen: self._components[k].gaussian.posterior(seen).mean, combine, self._n_features_out
        )

    def reconstruct(self, X: Any, kind: str = "map", combine: str = "best") -> Array:
        """The rows as the model sees them [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        kind : {"map", "projection"}, default="map"
            "map": μ + W E[z | x], shrunk; "projection": the nearest point of the cluster's subspace.
        combine : {"best", "average"}, default="best"
            Of the most probable cluster, or averaged over all.
        """
        check_choice("kind", kind, ("map", "projection"))
        X = self._check_rows(X)
        return self._combined(X, lambda k, seen: rebuilt(self._components[k], seen, kind), combine, X.shape[1])

    def impute(self, X: Any, return_std: bool = False, n_draws: int | None = None) -> Any:
        """Fill the missing entries with E[x_m | x_o], averaged over the clusters; observed entries are untouched [5, 6].

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviations (within and between clusters), 0 where observed.
        n_draws : int, optional
            Instead of the mean, this many draws from the predictive law, (n_draws, n_samples, n_features).

        Returns
        -------
        The filled table in the container of X, or (table, std), or draws.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PPCAMixture
        >>> rng = np.random.default_rng(0)
        >>> X = np.vstack([rng.standard_normal((50, 2)) * 0.1 + 5 * k for k in range(2)])
        >>> model = PPCAMixture(n_clusters=2, n_components=0, random_state=0).fit(X)
        >>> model.impute([[5.1, np.nan]]).round(0)
        array([[5., 5.]])
        """
        table = self._check_rows(X)
        if n_draws is not None:
            return self._drawn(table, check_count("n_draws", n_draws, 1))
        filled = table.astype(float_dtype(table), copy=True)
        std = np.zeros(table.shape)
        for rows in row_chunks(len(table)):
            holes = np.isnan(table[rows])
            if not holes.any():
                continue
            seen = self._see(table[rows])
            shares = responsibilities_of(self._terms(seen))[0].T[..., None]  # (K, n, 1)
            laws = [predictive(model, part) for model, part in zip(self._components, seen)]
            mean = sum(share * center for share, (center, _) in zip(shares, laws))
            filled[rows][holes] = mean[holes]
            if return_std:  # the law of total variance: within clusters, and between them
                variance = sum(share * (within + (center - mean) ** 2) for share, (center, within) in zip(shares, laws))
                std[rows][holes] = np.sqrt(variance)[holes]
        full = like(X, filled)
        return (full, like(X, std.astype(filled.dtype))) if return_std else full

    def _drawn(self, table: Array, n_draws: int) -> Array:
        rng = check_random_state(self.random_state)
        holes = np.isnan(table)
        out = np.empty((n_draws, *table.shape))
        seen = self._see(table)
        shares = np.cumsum(responsibilities_of(self._terms(seen))[0], axis=1)
        latents = [model.gaussian.posterior(part).sample(n_draws, rng) for model, part in zip(self._components, seen)]
        for m in range(n_draws):
            clusters = (rng.random(len(table))[:, None] > shares).sum(axis=1).clip(max=len(self._components) - 1)
            for k in range(len(self._components)):
                takes = clusters == k
                rows = latents[k][m, takes] @ self.loadings_[k].T + self.means_[k]
                out[m, takes] = rows + np.sqrt(self.noise_variances_[k]) * rng.standard_normal(rows.shape)
        return np.where(holes, out, table).astype(float_dtype(table), copy=False)

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[Array, Array]:
        """Draw rows from the model.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        """
        check_is_fitted(self)
        n = check_count("n_samples", n_samples, 1)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        labels = rng.choice(len(self.weights_), size=n, p=self.weights_)
        noise = rng.standard_normal((n, self.n_features_in_))
        rows = self.means_[labels] + np.sqrt(self.noise_variances_)[labels, None] * noise
        for k, loadings in enumerate(self.loadings_):
            takes = labels == k
            rows[takes] += rng.standard_normal((int(takes.sum()), loadings.shape[1])) @ loadings.T
        return rows, labels
