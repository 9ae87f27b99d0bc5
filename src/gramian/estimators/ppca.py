"""PPCA: probabilistic PCA by exact maximum likelihood, with holes in the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, fitted_array, float_dtype
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_n_components,
    check_number,
    check_seed,
    check_table,
    check_tolerance,
    check_weights,
    positive_rows,
)
from gramian._content import row_hashes
from gramian._types import Points, RandomState, Table, Weights
from gramian.evidence.dimension import JudgedMoments
from gramian.evidence.few_rows import FEW_ROWS, held_out_distance
from gramian.evidence.robustness import check_robust
from gramian.evidence.selection import Selection, without_evidence
from gramian.evidence.tables import choose_for_moments, choose_for_table, judged_moments
from gramian.latent.anomaly import Tail
from gramian.latent.gaussian import LatentGaussian, noise_of_each_q, noise_or_zero
from gramian.latent.known_errors import Known
from gramian.latent.masked_table import ColumnSums, column_sums
from gramian.latent.missing import MissingFit
from gramian.latent.model import LatentModel, PrimalModel, fit_latent_model
from gramian.latent.rotation import ROTATIONS, rotation_of
from gramian.latent.sample import MomentSample, TableSample, moment_sample, primal_sample
from gramian.operators.covariance import Stored
from gramian.policy import DEFAULTS, LOOK, SIZES
from gramian.rows import Rows, as_rows, is_dask
from gramian.rows.array import ArrayRows
from gramian.rows.draws import FoldMoments, block_moments, dealt_folds, fold_moments, smallest_rows
from gramian.single.answers import atomic, chosen_solver, forget, keep_columns
from gramian.single.hole_fit import HoleFit, check_finite_or_missing, has_holes, model_of_missing, takes_holes
from gramian.single.noisy_fit import NoisyFit, check_errors
from gramian.single.primal_answers import TAIL_SIZE
from gramian.single.primal_stream import LAZY, PRIVATE, PrimalStream
from gramian.single.robust_fit import RobustFit
from gramian.solvers import as_solver, solvers_for

FIRST_ROWS = 64
"""Holes are looked for here before the moments of all rows are."""


class PPCA(PrimalStream):
    """Probabilistic principal component analysis, x = μ + Wz + ε with z ~ N(0, I), ε ~ N(0, σ²I) [1, 2, 5].

    The fit is the exact maximum of the likelihood: in closed form for complete data, tall or wide, dense or sparse; by PX-EM on the
    observed entries when some are missing (NaN, None, pd.NA, masked). Every method uses exactly what a row shows.

    Parameters
    ----------
    n_components : "auto", int, float, "mle", "bic" or None, default="auto"
        Latent dimension q. "auto": chosen on held-out rows, on hidden cells where entries are missing: the smallest q within one standard
        error of the best, at least 1 [10]; with a number as ``noise_variance`` as None. A float in (0, 1) is a fraction of the variance,
        "mle" Minka's evidence, "bic" the smallest BIC (0 when there is no structure above the noise).
        None: as many as exceed ``noise_variance`` if that is a number, else max(1, rank - 1). With holes "auto", an int or "bic"
        (None means "bic" there). Where columns depend on each other exactly, every rule takes the smallest q that explains everything.
    noise_variance : "ml", "per-column" or float, default="ml"
        σ². 0 is plain PCA. "per-column": each column has a noise of its own, factor analysis, by PX-EM with or without holes [5]; then
        ``noise_variance_`` holds one per column, and axes, scores and residuals are in units in which all columns have the mean noise.
    center : bool, default=True
        False fixes the mean at zero.
    solver : {"auto", "eigh", "randomized", "em", "stiefel"} or object, default="auto"
        How the leading eigenpairs are found; `explain()` says what "auto" chose and why. Data with holes always use PX-EM.
    robust : False, "rows", "cells" or "auto", default=False
        "cells": cells that the others of their row contradict are taken as holes. "rows": the multivariate t, in which rows far from all
        others count for little; densities, and deviations of filled cells, are then those of the t, and `get_covariance` is its scale. "auto":
        one of these, or neither, by hidden cells [14]. Rows in memory only.
    rotation : None, "varimax", "promax" or "oblimin", default=None
        Latents are turned so that each column loads on few of them; "promax" and "oblimin" let them correlate. The law of the rows, the
        principal axes and their variances stay: ``loadings_``, `transform`, `posterior` and what takes latents are in turned coordinates [20].
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
        W = Uᵀ(Λ - σ²)^½; with a ``rotation``, W T⁻ᵀ.
    rotation_ : ndarray of shape (n_components_, n_components_)
        T of a ``rotation``: the turned latents are Tᵀz; only there.
    factor_correlations_ : ndarray of shape (n_components_, n_components_)
        TᵀT: how the turned latents correlate; only there.
    noise_variance_ : float, or ndarray of shape (n_features,) with "per-column"
        The maximum-likelihood σ² = (tr C - Σ l) / (d - q), with C = XᵀX/N about the mean. scikit-learn's PCA divides by
        N - 1 and by min(N, d) - q instead.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
    n_components_ : int
    n_iter_ : int
    log_likelihoods_ : ndarray
        Mean log-likelihood per row, one per accepted step; only where EM ran. Never decreases.
    converged_ : bool
        Only where EM ran.
    objectives_ : ndarray
        ½ tr C - ½ tr(AᵀCA) of the frame A at the start and after every step; only with ``solver="stiefel"``.
    robust_ : False, "cells" or "rows"
        What was taken; this and the following only where ``robust`` is not False.
    flags_ : ndarray of bool of shape (n_samples, n_features)
        Cells taken as holes.
    row_weights_ : ndarray of shape (n_samples,)
        E[u] of each row in the t; ones unless that was taken.
    degrees_of_freedom_ : float
        Of the t; only for "rows".
    selection_ : Selection
        What "auto" tried, how it scored and what it took; only there.

    References
    ----------
    [1], [2], [5], [10], [12] docs/theory.md, sections of these numbers. M. E. Tipping and C. M. Bishop, "Probabilistic principal
    component analysis", 1999.

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

    solver_: Any
    solver_reason_: str
    selection_: Selection
    robust_: str | bool
    degrees_of_freedom_: float
    _held_out_spe: Annotated[float | None, "maybe nonnegative"]
    loadings_: Annotated[Array, "d q"]
    n_samples_: Annotated[float, "positive"]
    _tail: Annotated[Tail, "maybe"]

    def __init__(
        self,
        n_components: int | float | str | None = "auto",
        *,
        noise_variance: float | str = "ml",
        center: bool = True,
        solver: Any = "auto",
        robust: bool | str = False,
        rotation: str | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.noise_variance = noise_variance
        self.center = center
        self.solver = solver
        self.robust = robust
        self.rotation = rotation
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_holes(self.n_components)
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Table, y: object = None, sample_weight: Weights = None, X_std: Any = None) -> PPCA:
        """Fit by exact maximum likelihood [2, 5, 10].

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Missing entries are NaN, None, pd.NA or masked.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.
        X_std : array-like of shape (n_samples, n_features), optional
            The standard deviation of the known error of each cell, 0 where none is known: the model is that of the cells without their
            errors, by EM.

        Returns
        -------
        PPCA

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> PPCA().fit(load_iris().data).n_components_
        3
        """
        return self._fit(X, sample_weight, X_std=X_std)

    def _fit(
        self,
        X: Table,
        sample_weight: Weights,
        start: MissingFit | None = None,
        X_std: Any = None,
        known: Known | None = None,
    ) -> PPCA:
        """``start``: where PX-EM begins if X has holes; ``known``: errors and intervals of cells."""
        self._check_params()
        forget(self, *PRIVATE)
        if is_dask(X):
            if X_std is not None:
                raise ValueError("X_std needs rows in memory. Give an array or a frame.")
            return self._fit_rows(as_rows(X, sample_weight))
        # finiteness is read off the moments: a pass over a large table costs a good part of its fit
        X = check_table(self, X, reset=True, missing=True, accept_sparse=True, min_samples=2, ensure_all_finite=False)
        given = check_weights(sample_weight, X)
        if X_std is not None:
            known = Known.of(check_errors(X_std, X, self), None)
        X, weights = positive_rows(X, given)
        self._dtype = float_dtype(X).name
        if known is not None:
            return self._fit_known(np.asarray(X, dtype=np.float64), weights, known[given > 0], start)
        if self.robust is False:
            return self._fit_table(X, weights, start)
        check_finite_or_missing(X)
        if sparse.issparse(X):
            raise ValueError(f"robust={self.robust!r} needs a dense table: use '.toarray()', or robust=False.")
        return self._fit_robust(np.asarray(X, dtype=np.float64), weights, given > 0)

    def _fit_known(self, X: Array, weights: Array, known: Known, start: MissingFit | None) -> PPCA:
        """With errors of cells that are known, or cells that are known to lie in intervals [5, 15]."""
        if self.robust is not False:
            raise ValueError(
                f"robust={self.robust!r} with X_std: a cell may be wild or have a known error. Use robust=False."
            )
        self._fit_table(known.put_ends(X), weights, start)
        begin = self._as_start
        noise = None if isinstance(self.noise_variance, str) else float(self.noise_variance)
        found = NoisyFit(noise, self.center, self.tol, self.max_iter).fitted(X, weights, known, begin)
        if found is not None:
            for name in {"_tail", "_held_out_spe"} & vars(self).keys():  # of the rows with their errors
                delattr(self, name)
            model, sums = found
            self.solver_, self.solver_reason_ = "px-em", "cells have errors of their own"
            self._column_weights = sums.counts
            self._store_primal(model, sums.shown)
        return self

    @property
    def _as_start(self) -> MissingFit:
        """The fitted model, for another EM to begin at."""
        return MissingFit(self._model.subspace.mean, self._loadings, self._column_noise, [], 0, True)

    def _refit(self, X: Array) -> PPCA:
        """The same model of a table that is nearly that of this one, whose EM begins here."""
        begin = self._as_start
        return clone(self)._fit(X, None, begin if np.all(begin.noise_variance > 0) else None)

    def _fit_robust(self, X: Array, weights: Array, kept: Array) -> PPCA:
        """Without wild cells, or as a multivariate t; where no cell is wild, as ever [14]."""
        if self._per_column and self.robust != "cells":
            raise ValueError(
                f"robust={self.robust!r} with noise_variance='per-column': the multivariate t has one noise. Use robust='cells' or False."
            )
        noise = None if isinstance(self.noise_variance, str) else float(self.noise_variance)
        asked = RobustFit(X, weights, check_n_components(self.n_components), noise or None, self.center)
        found, start = asked.believed(str(self.robust))
        if start is not None:
            inner = clone(self).set_params(robust=False)
            q = start.loadings.shape[1]
            if not isinstance(self.n_components, int):
                inner._fit(X, weights * found.row_weights)
                q = max(inner.n_components_, 1)
                if hasattr(inner, "selection_"):
                    self.selection_ = inner.selection_
            again = asked.student(asked.restarted(q, found.row_weights), tol=self.tol, max_iter=self.max_iter)
            sums = as_rows(X, weights).fold(column_sums)
            self.solver_, self.solver_reason_ = "px-em", "robust='rows': a multivariate t"
            self._column_weights = sums.counts
            self.degrees_of_freedom_ = again.degrees_of_freedom
            self._store_primal(model_of_missing(again.model, X.shape[1]), sums.shown)
            found = replace(found, row_weights=again.row_weights)
        else:
            some = found.row_weights > 0
            table = np.where(found.flags, np.nan, X) if found.flags.any() else X
            self._fit_table(*((table, weights) if some.all() else (table[some], weights[some])))
        self.robust_ = found.kind
        self._keep_beliefs(len(kept), kept, found.flags, found.row_weights)
        return self

    def _fit_table(self, X: Points, weights: Array, start: MissingFit | None = None) -> PPCA:
        """The maximum of the likelihood of a table in memory."""
        if self._per_column:
            check_finite_or_missing(X)
            if sparse.issparse(X):
                raise ValueError("noise_variance='per-column' needs a dense table: use '.toarray()', or 'ml'.")
            rows = as_rows(X, weights)
            self._fit_holes(rows, rows.fold(column_sums), start)
            return self
        sample, judged = None, None
        if sparse.issparse(X) or not np.isnan(X[:FIRST_ROWS]).any():  # holes mostly show at once
            with np.errstate(all="ignore"):
                sample, judged = self._sampled(X, weights)
        if sample is None or not sample.finite:
            check_finite_or_missing(X)
            if sample is None or has_holes(X):
                rows = as_rows(X, weights)
                self._fit_holes(rows, rows.fold(column_sums), start)
                return self
        weight = float(weights.sum())
        self._column_weights = np.full(X.shape[1], weight)
        self._fit_sample(sample, weight, lambda: self._selected(sample, judged, weights))
        if len(weights) < FEW_ROWS and self.noise_variance_ > 0 and not sparse.issparse(X):
            dense = np.asarray(X, dtype=np.float64)
            self._held_out_spe = held_out_distance(dense, weights, self.n_components_, self.center)
        return self

    @property
    def _per_column(self) -> bool:
        """Whether each column has a noise of its own: factor analysis."""
        return isinstance(self.noise_variance, str) and self.noise_variance == "per-column"

    @property
    def _chooses(self) -> bool:
        """Whether q is chosen by held-out evidence; with a number as noise "auto" is None's rule."""
        return bool(self.n_components == "auto") and isinstance(self.noise_variance, str)

    def _sampled(self, X: Points, weights: Array) -> tuple[MomentSample | TableSample, JudgedMoments | None]:
        """The sample of a table, with the moments of its folds where they are needed."""
        n, d = X.shape
        if not self._chooses or d > min(n, SIZES.stored):
            return primal_sample(X, weights, self.center), None
        judged = judged_moments(X, weights, LOOK.folds, row_hashes(X), LOOK.drawn)
        if judged is None:
            return primal_sample(X, weights, self.center), None
        return moment_sample(FoldMoments(tuple(judged.parts)).total, X, self.center), judged

    def _selected(
        self, sample: MomentSample | TableSample, judged: JudgedMoments | None, weights: Array
    ) -> Selection | None:
        if isinstance(sample, TableSample):
            return choose_for_table(sample, weights)
        return None if judged is None else choose_for_moments(judged, sample)

    def _fit_rows(self, rows: Rows, start: MissingFit | None = None, known: Known | None = None) -> PPCA:
        """Rows wherever they are: those that are not in memory are only summed over (batches that can be read again, Dask)."""
        if isinstance(rows, ArrayRows):
            return self._fit(rows.X, rows.weights, start, known=known)
        if self.robust is not False:
            raise ValueError(f"robust={self.robust!r} needs rows in memory. Give an array or a frame, or robust=False.")
        keep_columns(self, rows)
        self._dtype = rows.dtype.name
        with np.errstate(all="ignore"):
            sums = rows.fold(column_sums)
        if not np.isfinite(sums.scatter).all():
            raise ValueError("Input X contains infinity or a value too large for dtype('float64').")
        if sums.n_rows < 2:
            raise ValueError(
                f"PPCA needs at least 2 rows, but the batches held {sums.n_rows} (n_samples = {sums.n_rows})."
            )
        if self._per_column or sums.cells < sums.n_rows * rows.n_columns:
            self._fit_holes(rows, sums, start)
            return self
        folds = dealt_folds(rows, LOOK.folds) if self._chooses else None
        parts = rows.fold(fold_moments, folds) if folds else None
        drawn = smallest_rows(rows, LOOK.drawn) if folds else None
        moments = rows.fold(block_moments) if parts is None else parts.total
        sample = MomentSample(moments, sums.n_rows, self.center, single=rows.dtype == np.float32)

        def selected() -> Selection | None:
            if parts is None or folds is None or drawn is None:
                return None
            return choose_for_moments(JudgedMoments.of(parts.parts, folds, drawn), sample)

        self._column_weights = np.full(rows.n_columns, moments.weight)
        self._fit_sample(sample, moments.weight, selected)
        return self

    def _check_params(self) -> None:
        check_n_components(self.n_components)
        if isinstance(self.noise_variance, str):
            check_choice("noise_variance", self.noise_variance, ("ml", "per-column"))
        else:
            check_number("noise_variance", self.noise_variance, 0.0)
        check_flag("center", self.center)
        check_robust(self.robust)
        if self.rotation is not None:
            check_choice("rotation", self.rotation, ROTATIONS)
        if isinstance(self.solver, str):
            check_choice("solver", self.solver, solvers_for("primal", self.solver))
        else:
            as_solver(self.solver)
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)

    def _fit_sample(self, sample: Any, weight: float, selected: Callable[[], Selection | None]) -> None:
        solver = as_solver(self.solver, tol=self.tol, max_iter=self.max_iter, random_state=self.random_state)
        q = check_n_components(self.n_components)
        operator = sample.operator()  # refuses squares that overflow or vanish, before anything is chosen by them
        if self._chooses:
            found = selected()
            self.selection_ = self._by_fraction(sample) if found is None else found
            q = min(int(self.selection_.chosen), sample.max_components)
        elif q == "auto":
            q = None
        self.solver_, self.solver_reason_ = chosen_solver(solver, operator.size, q)
        if q == "mle" and sample.max_components < sample.dim:
            raise ValueError(
                f"n_components='mle' needs more samples than features ({sample.max_components + 1} <= {int(sample.dim)}). Use 'auto'."
            )
        with warnings.catch_warnings():
            if self._chooses:  # constant rows have no component to keep, and nobody asked for one
                warnings.filterwarnings("ignore", message="n_components=1 exceeds the numerical rank 0")
            model = fit_latent_model(sample, q, self.solver_, self.noise_variance, weight=weight)
        if isinstance(operator, Stored) and operator.size <= TAIL_SIZE:
            tail = Tail.of(operator.matrix, model.gaussian.eigenvalues)
            if tail is not None:
                self._tail = tail
        self._store_primal(model, weight)

    def _by_fraction(self, sample: Any) -> Selection:
        """Fewer than three distinct rows: nothing can be held out."""
        model = fit_latent_model(sample, DEFAULTS.explained, as_solver("eigh"), 0.0)
        q = max(1, model.gaussian.n_components)
        return without_evidence(
            q, f"q = {q}: {DEFAULTS.explained:.0%} of the variance, for fewer than 3 distinct rows allow no choice"
        )

    def __getattr__(self, name: str) -> Any:
        # after partial_fit the decomposition waits for its first use: streams of small batches stay cheap
        if name in LAZY and "_moments" in self.__dict__ and "_model" not in self.__dict__:
            self._finalise()
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ------------------------------------------------------------ holes

    def _fit_holes(self, rows: Rows, sums: ColumnSums, start: MissingFit | None = None) -> None:
        holes = HoleFit(
            check_n_components(self.n_components),
            None if isinstance(self.noise_variance, str) else float(self.noise_variance),
            self.center,
            self.tol,
            self.max_iter,
            self.random_state,
            self.verbose,
            self._feature_names,
            self._per_column,
        )
        model, selection = holes.fitted(rows, sums, start)
        if selection is not None:
            self.selection_ = selection
        why = "a noise per column has" if self._per_column else "X has missing entries, whose likelihood has"
        self.solver_, self.solver_reason_ = "px-em", f"{why} no closed form"
        self._column_weights = sums.counts
        self._store_primal(model, sums.shown)

    # ------------------------------------------------------------ the fitted model

    def truncate(self, n_components: int) -> PPCA:
        """The first components as a model of their own, without a new fit [2].

        On complete data this is what a fit with ``n_components`` finds; with holes the axes are kept, and the variance of the others is
        averaged into the noise. A fixed noise stays. What a fit to few rows learns of SPE from held-out rows is not kept: its p-values are then those
        of the model alone.

        Parameters
        ----------
        n_components : int, at most ``n_components_``

        Returns
        -------
        PPCA

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> short = PPCA(n_components=3).fit(X).truncate(1)
        >>> short.n_components_, bool(abs(short.noise_variance_ - PPCA(n_components=1).fit(X).noise_variance_) < 1e-12)
        (1, True)
        """
        check_is_fitted(self)
        q = check_count("n_components", n_components, 0)
        if q > self.n_components_:
            raise ValueError(f"n_components={q} must be at most n_components_={self.n_components_}, what was fitted.")
        model = self._model
        values, dim = model.gaussian.eigenvalues[:q], model.gaussian.dim
        noise = model.gaussian.noise_variance
        if isinstance(self.noise_variance, str) and q < self.n_components_:
            noise = float(noise_of_each_q(values, model.spectrum.trace, dim)[-1])
            noise = noise_or_zero(noise, model.spectrum.trace / dim, told=True)
        subspace = model.subspace.take(q)
        short = clone(self).set_params(n_components=q)
        vars(short).update({name: value for name, value in vars(self).items() if name not in vars(short)})
        for name in {"selection_", "_moments", "_stream", "_n_rows", "_tail", "_held_out_spe"} & vars(short).keys():
            delattr(short, name)
        if "_tail" in vars(self):
            short._tail = self._tail.with_values(model.gaussian.eigenvalues[q:])
        short._store_primal(
            LatentModel(subspace, LatentGaussian(values, noise, dim), model.spectrum.leading(q)), self.n_samples_
        )
        return short

    def explain(self) -> str:
        """Which q was taken and why, which solver was run and why, with its certificate."""
        solver = super().explain()
        return f"{self.selection_.reason}. {solver}" if hasattr(self, "selection_") else solver

    def _store_primal(self, model: PrimalModel, weight: float) -> None:
        self._store(model)
        self.n_samples_ = weight
        dtype = vars(self).get("_dtype", "float64")
        self.mean_ = fitted_array(model.subspace.mean, dtype)
        self.components_ = fitted_array(model.subspace.components, dtype)
        self.loadings_ = fitted_array(self._loadings, dtype)
        if self.rotation is not None:
            turned = rotation_of(self._loadings, self.rotation)
            self.rotation_ = turned.matrix
            self.loadings_ = fitted_array(turned.loadings(self._loadings), dtype)
        if model.subspace.scale is not None:
            self.noise_variance_ = self._column_noise
        self.explained_variance_ = fitted_array(self.explained_variance_, dtype)
        self.explained_variance_ratio_ = fitted_array(self.explained_variance_ratio_, dtype)
