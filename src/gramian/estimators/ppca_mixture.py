"""PPCAMixture: clusters with their own subspaces, by exact maximum likelihood, with holes in the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array, fitted_array, float_dtype, has_nan
from gramian._checks import (
    check_choice,
    check_count,
    check_seed,
    check_seen,
    check_table,
    check_tolerance,
    check_weights,
    starting_generator,
    warn_of_empty_rows,
    warn_of_one_value,
)
from gramian._content import content_order, row_hashes
from gramian._progress import Progress
from gramian._types import Batches, RandomState, Table, Weights
from gramian.evidence.robustness import check_robust
from gramian.exceptions import NumericalWarning, warn
from gramian.kernels.units import standardizes
from gramian.latent.masked_table import column_sums
from gramian.latent.subspace import PrimalSubspace
from gramian.latent.units import Units
from gramian.mixtures.answers import AUTO, check_clusters
from gramian.mixtures.choice import choose_clusters, choose_latents
from gramian.mixtures.mixture import MixtureFit, nonempty
from gramian.mixtures.ppca_fit import fit_mixture, with_directions_above_noise
from gramian.mixtures.primal_answers import PrimalMixture
from gramian.mixtures.robust_fit import RobustMixture
from gramian.mixtures.rows import MixtureTable, Responsibilities
from gramian.mixtures.start import Draw, Given, about_means, have_neighbours
from gramian.policy import LOOK
from gramian.rows import BatchRows, Rows, as_rows, is_dask
from gramian.rows.converted import rows_in_units
from gramian.rows.draws import smallest_rows
from gramian.single.answers import atomic, forget, keep_columns

PRIVATE = ("_components", "_units")


class PPCAMixture(PrimalMixture):
    """A mixture of probabilistic PCAs: x ~ Σ π_k N(μ_k, W_k W_kᵀ + σ²_k I) [6].

    Each cluster is a Gaussian with its own mean, subspace and noise; with ``n_components = d - 1`` it is the
    full-covariance Gaussian mixture, with 0 the spherical one. Missing entries (NaN, None, pd.NA, masked; missing at
    random) are allowed in ``fit`` and in every method, and exactly what a row shows is used.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": 1 to 10, by the likelihood of rows that were not fitted.
    n_components : "auto", int, float or list, default="auto"
        Latent dimension q of every cluster. "auto": one common q, from 0, by rows that were not fitted (by hidden cells where there are
        holes) [10]; each cluster then keeps the directions above its noise. A list gives one per cluster; a fraction in (0, 1) is
        the smallest q that explains that share of a cluster's variance. ``d`` means ``d - 1``: the noise is the last direction.
    noise : {"separate", "shared"}, default="separate"
        A noise variance for each cluster, or one for all.
    init : {"kmeans", "random"} or array of shape (n_samples, n_clusters), default="kmeans"
        The start: k-means; random rows as centres; or responsibilities.
    weights_init : array of shape (n_clusters,), optional
        Mixing weights to start from.
    means_init : array of shape (n_clusters, n_features), optional
        Means to start from, instead of ``init``.
    solver : {"auto", "em"}, default="auto"
        The M-step of complete rows. "auto": the closed form of the weighted covariances, or a step of PX-EM where the columns are many.
        "em": one EM step of W and σ² about the new mean, as [MM] writes it; it needs more steps, and no d x d matrix. With holes it is
        PX-EM always.
    n_init : int, default=1
        How many different starts to try; the one of the largest likelihood is kept.
    standardize : bool or "auto", default=False
        Columns to unit variance on the way in, undone on the way out ("auto" is True here). The noise is then the same share of
        each column's variance: ``noise_variances_`` is in units of the columns.
    robust : False, "rows", "cells" or "auto", default=False
        "rows": clusters are multivariate t, so that a row far from all of them counts for little. "cells": cells that the others of their row
        contradict are holes. "auto": one of these, or neither, by hidden cells [14]. Rows in memory only.
    tol : float, default=1e-6
        EM stops when the mean log-likelihood changes relatively by less.
    max_iter : int, default=200
    random_state : None, int, Generator or RandomState
        Of the starts. None: the same starts for the same rows, whatever their order and blocks.
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
        P(cluster | row) of the training rows; only where those are an array.
    log_likelihoods_ : ndarray
        Mean log-likelihood per row, one per step; never decreases.
    converged_ : bool
    n_iter_ : int
    noise_floor_ : float
        The least noise a cluster may have (1e-12 of the mean variance); met only by clusters without noise.
    selection_ : Selection
        What was tried and how it scored, where ``n_components`` or ``n_clusters`` was "auto".
    robust_ : False, "cells" or "rows"
        What was taken; this and the following only where ``robust`` is not False.
    flags_ : ndarray of bool of shape (n_samples, n_features)
        Cells taken as holes at fit.
    row_weights_ : ndarray of shape (n_samples,)
        How much each row counted, Σ_k P(k | x) E[u | x, k]; ones unless "rows" was taken.
    degrees_of_freedom_ : float
        Of the t, the same for all clusters; only for "rows".

    See Also
    --------
    PPCAMixture.select : chooses the number of clusters and of components by BIC.

    References
    ----------
    [6] docs/theory.md, section 6: mixtures; [10] section 10: choosing; [14] section 14: wild rows and wild cells.

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

    robust_: str | bool
    noise_floor_: float
    degrees_of_freedom_: float
    noise_variances_: Annotated[Array, "+ k"]
    loadings_: Annotated[list[Array], "k: d *"]

    def __init__(
        self,
        n_clusters: Any = 2,
        n_components: Any = AUTO,
        *,
        noise: str = "separate",
        init: Any = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        solver: str = "auto",
        n_init: int = 1,
        standardize: bool | str = False,
        robust: bool | str = False,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.noise = noise
        self.init = init
        self.weights_init = weights_init
        self.means_init = means_init
        self.solver = solver
        self.n_init = n_init
        self.standardize = standardize
        self.robust = robust
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
    def fit(self, X: Table, y: object = None, sample_weight: Weights = None) -> PPCAMixture:
        """Fit by EM on the observed entries [6, 10].

        Parameters
        ----------
        X : array-like, data frame or Dask collection of shape (n_samples, n_features)
            Missing entries are NaN, None, pd.NA or masked. Rows on Dask stay where they are, and no ``responsibilities_`` are kept.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.

        Returns
        -------
        PPCAMixture

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X).means_.shape
        (3, 4)
        """
        self._check_params()
        forget(self, *PRIVATE)
        if is_dask(X):
            return self._fit_rows(as_rows(X, sample_weight))
        table = check_table(self, X, reset=True, missing=True, min_samples=2)
        weights = check_weights(sample_weight, table)
        kept = np.flatnonzero(weights > 0)
        holes = np.isnan(table)
        if holes.any():  # where EM ends hangs on the last digit of its sums
            kept = kept[content_order(table[kept], weights[kept])[0]]
        rows, weights, holes = table.take(kept, axis=0), weights[kept], holes[kept]  # in C order, whatever the memory's
        check_seen(~holes.all(axis=0), self._feature_names)
        n_empty = int(holes.all(axis=1).sum())
        warn_of_empty_rows(n_empty)
        if holes.any():
            sums = as_rows(rows, weights).fold(column_sums)
            warn_of_one_value(sums.one_value, self._feature_names)
        self._units = Units.of(rows, weights) if self._coding is None and standardizes(self.standardize, None) else None
        rows = self._in_units(rows)
        given = None
        if not isinstance(self.init, str):
            given = nonempty(self._given_responsibilities(self.init, len(table), int(self.n_clusters), kept))
        shown = len(rows) - n_empty
        if self.robust is False:
            best = self._climbed(as_rows(rows, weights, given), shown, float_dtype(table), with_responsibilities=True)
        else:
            best = self._fit_robust(rows.astype(np.float64), weights, given, float_dtype(table), kept, len(table))
        self._store_responsibilities(table, kept, best.responsibilities)
        self._warn(best)
        return self

    @atomic
    def fit_batches(self, source: Batches) -> PPCAMixture:
        """Fit on all rows of batches, out of core; equal to `fit` on the concatenated rows, whatever the batches [6, 13].

        Parameters
        ----------
        source : list, other iterable that can be read again, or function that opens an iterator
            A batch is an array, a frame or an Arrow batch, or (X, sample_weight). No ``responsibilities_`` are kept: `predict_proba` gives
            them.

        Returns
        -------
        PPCAMixture

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import numpy as np
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> model = PPCAMixture(n_clusters=2, n_components=1, random_state=0)
        >>> batched = model.fit_batches([X[:50], X[50:]]).means_
        >>> np.allclose(batched, model.fit(X).means_)
        True
        """
        self._check_params()
        forget(self, *PRIVATE)
        return self._fit_rows(BatchRows.of(source))

    def _fit_rows(self, rows: Rows) -> PPCAMixture:
        """Rows that are only summed over: batches that can be read again, Dask."""
        if self.robust is not False:
            raise ValueError(f"robust={self.robust!r} needs rows in memory. Give an array or a frame, or robust=False.")
        if not isinstance(self.init, str):
            raise ValueError(
                "init holds responsibilities of rows in memory. Use 'kmeans', 'random' or means_init here."
            )
        keep_columns(self, rows)
        sums = rows.fold(column_sums)
        if sums.n_shown < 2:
            raise ValueError(f"PPCAMixture needs at least 2 rows of positive weight, but there are {sums.n_shown}.")
        check_seen(sums.counts > 0, rows.feature_names)
        warn_of_empty_rows(sums.n_rows - sums.n_shown)
        warn_of_one_value(sums.one_value, rows.feature_names)
        self._units = Units.of(rows) if standardizes(self.standardize, None) else None
        if self._units is not None:
            rows = rows_in_units(rows, self._units.mean, self._units.scale)
        self._warn(self._climbed(rows, sums.n_shown, rows.dtype, with_responsibilities=False))
        return self

    def _climbed(
        self, rows: Rows, n_rows: int, dtype: np.dtype[Any], *, with_responsibilities: bool
    ) -> MixtureFit[PrimalSubspace]:
        """The best of all starts, stored: what is "auto" is settled first."""
        rng = starting_generator(self.random_state)
        asked = self._settled(rows, n_rows, rng)
        check_clusters(len(asked), smallest_rows(rows, len(asked)).hashes, rows)
        best = self._best(MixtureTable.of(rows), asked, rng, with_responsibilities=with_responsibilities)
        self._store(best, dtype)
        return best

    def _fit_robust(
        self, X: Array, weights: Array, given: Array | None, dtype: np.dtype[Any], kept: Array, n_rows: int
    ) -> MixtureFit[PrimalSubspace]:
        """Without wild cells, or of multivariate t; what is "auto" is settled by rows that have others near them [14]."""
        rng = starting_generator(self.random_state)
        usual = have_neighbours(X, weights) if not has_nan(X) else np.ones(len(X), dtype=bool)
        asked = self._settled(as_rows(X[usual], weights[usual]), int((~np.isnan(X[usual])).any(axis=1).sum()), rng)
        check_clusters(len(asked), row_hashes(X), X)

        def fit(table: Array, raw: Array, degrees: Any) -> MixtureFit[PrimalSubspace]:
            masked = degrees is not None
            return self._best(MixtureTable.of(table, raw, given, masked), asked, rng, degrees=degrees, wild=True)

        question = RobustMixture(X, weights, fit, self.noise == "shared", rng, self.tol, self.max_iter)
        found, best = question.believed(str(self.robust))
        if best is None:
            shown = int((~np.isnan(X)).any(axis=1).sum())
            best = self._climbed(as_rows(X, weights, given), shown, dtype, with_responsibilities=True)
        else:
            self._store(best, dtype)
        self.robust_ = found.kind
        self._keep_beliefs(n_rows, kept, found.flags, found.row_weights)
        if found.degrees_of_freedom is not None:
            self.degrees_of_freedom_ = found.degrees_of_freedom
        return best

    def _best(
        self,
        prepared: MixtureTable,
        asked: list[int | float],
        rng: np.random.Generator,
        *,
        with_responsibilities: bool = True,
        degrees: Any = None,
        wild: bool = False,
    ) -> MixtureFit[PrimalSubspace]:
        """The best of all starts; where some rows may be ``wild``, from those that have others near them."""
        mixing = self._given_weights(len(asked))
        best: MixtureFit[PrimalSubspace] | None = None
        with Progress("mixture", verbose=self.verbose) as bar:
            for start in self._starts(prepared, asked, mixing, rng, wild):
                found = fit_mixture(
                    prepared,
                    asked,
                    start,
                    shared=self.noise == "shared",
                    rng=rng,
                    mixing=mixing,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    progress=bar,
                    with_responsibilities=with_responsibilities,
                    em=self.solver == "em",
                    degrees=degrees,
                )
                if best is None or found.objective > best.objective:
                    best = found
        assert best is not None
        return best

    def _check_params(self) -> None:
        if not (isinstance(self.n_clusters, str) and self.n_clusters == AUTO):
            self._asked_once(check_count("n_clusters", self.n_clusters, 1))
        elif isinstance(self.n_components, list | tuple | np.ndarray):
            raise ValueError(f"n_components={self.n_components!r} is a list, which n_clusters='auto' does not go with.")
        elif not isinstance(self.init, str) or self.means_init is not None or self.weights_init is not None:
            raise ValueError("n_clusters='auto' does not go with a given start (init, means_init, weights_init).")
        check_count("n_init", self.n_init, 1)
        check_choice("noise", self.noise, ("separate", "shared"))
        check_choice("solver", self.solver, ("auto", "em"))
        if isinstance(self.init, str):
            check_choice("init", self.init, ("kmeans", "random"))
        check_robust(self.robust)
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)

    def _settled(self, rows: Rows, n_rows: int, rng: np.random.Generator) -> list[int | float]:
        """One count or fraction per cluster; what is "auto" is chosen on held-out rows or cells, with its evidence."""
        n, d = n_rows, rows.n_columns
        shared = self.noise == "shared"
        if isinstance(self.n_clusters, str):
            asked = self._asked(1, min(n - 1, d))
            drawn = smallest_rows(rows, LOOK.drawn)
            q = None if asked is None else asked[0]
            self.selection_ = choose_clusters(drawn.rows, drawn.weights, q, shared)
            K = int(self.selection_.chosen["n_clusters"])
            q = choose_latents(drawn.rows, drawn.weights, K, shared, rng).chosen if q is None else q
            entries: list[int | float] = [q] * K
        else:
            K = int(self.n_clusters)
            given = self._asked(K, min(n - 1, d))
            if given is None:
                MixtureTable.of(rows)  # its words for tables that cannot be fitted
                drawn = smallest_rows(rows, LOOK.drawn)
                self.selection_ = choose_latents(drawn.rows, drawn.weights, K, shared, rng)
                given = [self.selection_.chosen] * K
            entries = given
        return [min(q, d - 1) if isinstance(q, int) else q for q in entries]

    def _starts(
        self, table: MixtureTable, asked: list[int | float], mixing: Array | None, rng: np.random.Generator, wild: bool
    ) -> Iterator[Responsibilities]:
        """What to start from, one per run."""
        K = len(asked)
        if self.means_init is not None:
            means = check_table(None, self.means_init, reset=False, name="means_init").astype(np.float64)
            if means.shape != (K, table.dim):
                raise ValueError(
                    f"means_init has shape {means.shape}, but n_clusters={K} and the data have {table.dim} columns."
                )
            yield about_means(table, self._in_units(means), mixing)
        elif not isinstance(self.init, str):
            yield Given()
        else:
            draw = Draw.of(table, K - 1 + max((q for q in asked if isinstance(q, int)), default=1))
            draw = draw.usual() if wild else draw
            make = draw.kmeans if self.init == "kmeans" else draw.random
            for attempt in range(self.n_init):
                start = make(K, attempt, rng)
                yield start.reaching(draw.rows) if wild else start

    def _given_weights(self, K: int) -> Array | None:
        if self.weights_init is None:
            return None
        weights = np.asarray(self.weights_init, dtype=np.float64)
        if weights.shape != (K,) or not (weights >= 0).all() or not np.isclose(weights.sum(), 1.0):
            raise ValueError(f"weights_init={self.weights_init!r} must be {K} numbers >= 0 that sum to 1.")
        return weights / weights.sum()

    def _store(self, found: MixtureFit[PrimalSubspace], dtype: np.dtype[Any]) -> None:
        if hasattr(self, "selection_"):
            found = with_directions_above_noise(found)
        self._store_mixture(found)
        models = found.components
        scale = 1.0 if self._units is None else self._units.scale
        self.means_ = fitted_array(self._as_given(np.stack([model.subspace.mean for model in models])), dtype)
        loadings = [(model.subspace.components * scale).T * model.gaussian.gains for model in models]
        self.loadings_ = [fitted_array(W, dtype) for W in loadings]
        self.noise_variances_ = fitted_array([model.gaussian.noise_variance for model in models], dtype)
        self.noise_floor_ = found.noise_floor

    def _warn(self, found: MixtureFit[PrimalSubspace]) -> None:
        if found.n_rescued:
            warn(
                f"Empty clusters, or clusters of too few different rows for their components, were started again "
                f"{found.n_rescued} times from a part of another. Fewer clusters or components may fit better.",
                NumericalWarning,
            )
        if found.at_floor:
            warn(
                f"The components of cluster(s) {', '.join(map(str, found.at_floor))} explain all of the variance there: the noise "
                f"variance is held at noise_floor_={found.noise_floor:.3g}. Lower n_components or n_clusters.",
                NumericalWarning,
            )
        if not found.converged:
            warn(
                f"EM did not converge in max_iter={self.max_iter} steps. Raise max_iter or tol.",
                ConvergenceWarning,
            )
