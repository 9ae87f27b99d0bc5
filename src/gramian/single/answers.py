"""What estimators share: atomic fits, evaluation in chunks, answers in the container of the rows, and the methods of a single Gaussian."""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import wraps
from typing import Annotated, Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator as SklearnEstimator
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, complete_first, fitted_array, float_dtype, row_chunks
from gramian._checks import check_table, finite_answers
from gramian._threads import threads_for_rows
from gramian._types import Points, Table
from gramian.evidence.folds import as_folds
from gramian.evidence.selection import Evidence
from gramian.latent.gaussian import LatentGaussian, Posterior, Projection, within_prior
from gramian.latent.model import LatentModel
from gramian.policy import SIZES
from gramian.rows import Rows, is_dask, lazily
from gramian.single.shown import facts_as_html, page_of
from gramian.solvers.auto import Auto

Method = TypeVar("Method", bound=Callable[..., Any])


def atomic(method: Method) -> Method:
    """A fit that fails, or is interrupted, leaves the object as it was; and it works with the threads that suit its rows.

    What overflows on the way is refused, or of no consequence: NumPy has nothing to add.
    """
    whole = method.__name__ == "fit"  # batches do not say how many rows there are

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            given = next(iter((*args, *kwargs.values())), None)
            with threads_for_rows(_row_count(given) if whole else np.inf), np.errstate(over="ignore"):
                return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded  # type: ignore[return-value]


def _row_count(X: Any) -> float:
    """How many rows a table, or the first of several views, has; what is not in memory counts as many."""
    if isinstance(X, dict | list | tuple):
        first = next(iter(X.values() if isinstance(X, dict) else X), None)
        X = first if len(getattr(first, "shape", ())) == 2 else X
    if is_dask(X):
        return np.inf
    shape = getattr(X, "shape", None)
    if shape:
        return float(shape[0])
    return float(len(X)) if isinstance(X, Sized) else np.inf


def forget(estimator: Any, *private: str) -> None:
    """Drop everything an earlier fit left (names ending in "_", and the private ones named): `fit` starts anew."""
    for name in list(vars(estimator)):
        if (name.endswith("_") and not name.startswith("_")) or name in (*private, "_coding"):
            delattr(estimator, name)


def settle(fitted: Any) -> Any:
    """A clone of a fitted model in which numbers of components and clusters that it chose are given."""
    model, params = clone(fitted), fitted.get_params(deep=False)
    if isinstance(params.get("n_clusters"), str):
        model.set_params(n_clusters=len(fitted.weights_))
    if isinstance(params.get("n_components"), str) and isinstance(fitted.n_components_, int | list):
        model.set_params(n_components=fitted.n_components_)
    return model


def keep_columns(estimator: Any, rows: Rows) -> None:
    """The number of columns of rows, and their names where they have some, on the estimator."""
    estimator.n_features_in_ = rows.n_columns
    if rows.feature_names is not None:
        estimator.feature_names_in_ = np.asarray(rows.feature_names, dtype=object)


class BaseEstimator(SklearnEstimator):
    """scikit-learn's, with the evidence of what was chosen, and what was learned below the parameters in a notebook."""

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + facts_as_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)
        return {kind: text + facts_as_html(self) if kind == "text/html" else text for kind, text in bundle.items()}

    def _get_doc_link(self) -> str:
        return page_of(self)

    @property
    def evidence_(self) -> Evidence:
        """What was tried on held-out data: ``candidates``, ``losses`` (candidate x fold), ``rows()``, ``choose()``; only where something was chosen [10]."""
        selection = getattr(self, "selection_", None)
        if selection is None or selection.evidence is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'evidence_': nothing was held out.")
        return selection.evidence


class FoldsMixin:
    """``n_folds`` as a number, or as folds that the user hands in: those are known by the content of rows while `fit` runs."""

    n_folds: Any

    def _deal(self, X: Any, y: Any = None) -> None:
        self._dealt = as_folds(self.n_folds, X, y)

    @property
    def _folds(self) -> Any:
        return vars(self).get("_dealt", self.n_folds)


class LatentModelMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The methods of one latent Gaussian. A subclass provides ``_check_rows(X)`` and ``_project(X)``."""

    _model: LatentModel[Any]
    n_components_: Annotated[int, "=q"]
    noise_variance_: Annotated[Any, "noises"]
    explained_variance_: Annotated[Array, "+ q"]
    explained_variance_ratio_: Annotated[Array, "q"]
    residual_norm_: float
    n_iter_: Annotated[int, "maybe count"]
    log_likelihoods_: Array
    converged_: bool
    objectives_: Array

    def _check_rows(self, X: Table) -> Any:
        raise TypeError(f"{type(self).__name__} does not say how to check rows.")

    def _project(self, X: Points, **options: Any) -> Projection:
        return self._model.subspace.project(X)

    def _store(self, model: LatentModel[Any]) -> None:
        """The fitted attributes that every single Gaussian has."""
        spectrum, gaussian = model.spectrum, model.gaussian
        self._model = model
        self.n_components_ = gaussian.n_components
        self.noise_variance_ = gaussian.noise_variance
        self.explained_variance_ = gaussian.eigenvalues
        trace = spectrum.trace
        self.explained_variance_ratio_ = gaussian.eigenvalues / trace if trace > 0 else np.zeros(gaussian.n_components)
        self.residual_norm_ = spectrum.residual_norm
        self.n_iter_ = max(1, spectrum.n_iter)
        if spectrum.log_likelihoods.size:
            self.log_likelihoods_ = spectrum.log_likelihoods
            self.converged_ = spectrum.converged
        if spectrum.objectives.size:
            self.objectives_ = spectrum.objectives

    @property
    def _gaussian(self) -> LatentGaussian:
        return self._model.gaussian

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _evaluate(self, X: Table, function: Callable[[Projection], Array], **options: Any) -> Array:
        """``function`` of the projections of X, a chunk of rows at a time, in the dtype of X."""
        check_is_fitted(self)
        X = self._check_rows(X)
        dtype = float_dtype(X)
        groups = None if options else complete_first(X)
        if groups is not None:  # a matrix for each row with holes, none for the others
            chunks = [rows[part] for rows in groups for part in row_chunks(len(rows), SIZES.block)]
            found = np.concatenate([function(self._project(X[rows])) for rows in chunks])
            return np.asarray(fitted_array(found[np.argsort(np.concatenate(groups))], dtype))
        parts = [
            function(self._project(X[rows], **_slice(options, rows))) for rows in row_chunks(X.shape[0], SIZES.block)
        ]
        return np.asarray(fitted_array(parts[0] if len(parts) == 1 else np.concatenate(parts), dtype))

    # ------------------------------------------------------------ latents

    @lazily
    def transform(self, X: Table) -> Array:
        """The posterior mean E[z | x]: latent coordinates with prior N(0, I) [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components_)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> model.transform(X).mean(axis=0).round(6) + 0.0
        array([0., 0.])
        """
        return self._evaluate(X, lambda seen: self._gaussian.posterior(seen).mean)

    @lazily
    def scores(self, X: Table) -> Array:
        """The plain principal scores t = Uᵀ(φ - μ), scikit-learn's ``PCA.transform`` and ``KernelPCA.transform`` [1].

        Where entries are missing, their expectation given what was seen is used.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import numpy as np
        >>> from sklearn.decomposition import PCA
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> np.allclose(abs(PPCA(2).fit(X).scores(X)), abs(PCA(2).fit_transform(X)))
        True
        """
        return self._evaluate(X, self._gaussian_of(LatentGaussian.complete_scores))

    @finite_answers
    def posterior(self, X: Table) -> Posterior:
        """z | x with ``.mean`` (n, q), ``.covariance`` (q, q), or (n, q, q) where rows miss entries, and ``.sample(n_draws)`` [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        Posterior
            The law of the latents of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2).fit(X)
        >>> z = model.posterior(X[:5])
        >>> z.mean.shape, z.covariance.shape, z.sample(3).shape
        ((5, 2), (2, 2), (3, 5, 2))
        """
        check_is_fitted(self)
        X = self._check_rows(X)
        parts = [self._gaussian.posterior(self._project(X[rows])) for rows in row_chunks(X.shape[0], SIZES.block)]
        mean, covariance = np.concatenate([part.mean for part in parts]), parts[0].covariance
        if len(parts) > 1 and any(part.covariance.ndim == 3 for part in parts):
            covariance = np.concatenate(
                [np.broadcast_to(p.covariance, (len(p.mean), *p.covariance.shape[-2:])) for p in parts]
            )
        dtype = float_dtype(X)
        return Posterior(fitted_array(mean, dtype), fitted_array(within_prior(covariance), dtype))

    # ------------------------------------------------------------ distances and densities

    @lazily
    def score_samples(self, X: Table) -> Array:
        """The log-likelihood of each row [2]. At zero noise there is none: use :meth:`residual`.

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
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> model.score_samples(X).shape
        (150,)
        >>> bool(model.score_samples(X[:1])[0] > model.score_samples(X[:1] + 3.0)[0])
        True
        """
        return self._evaluate(X, self._gaussian_of(LatentGaussian.log_density))

    def score(self, X: Table, y: object = None) -> float:
        """The mean log-likelihood of the rows [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        y : ignored

        Returns
        -------
        float
            Larger is better.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> bool(model.score(X) == model.score_samples(X).mean())
        True
        """
        return float(np.mean(self.score_samples(X), dtype=np.float64))

    @lazily
    def mahalanobis(self, X: Table) -> Array:
        """The squared Mahalanobis distance of each row to the model [2]. At zero noise: use :meth:`residual`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> round(float(model.mahalanobis(X).mean()), 2)
        4.0
        """
        return self._evaluate(X, self._gaussian_of(LatentGaussian.mahalanobis))

    @lazily
    def residual(self, X: Table) -> Array:
        """The squared distance of each row to the principal subspace (SPE; ZH's limiting distance) [2]; always works.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> round(float(model.residual(X).mean() / (model.noise_variance_ * 2)), 6)
        1.0
        """
        return self._evaluate(X, self._gaussian_of(LatentGaussian.residual))

    def _gaussian_of(self, verb: Callable[[LatentGaussian, Projection], Array]) -> Callable[[Projection], Array]:
        return lambda seen: verb(self._gaussian, seen)

    def _check_latents(self, Z: Table) -> Array:
        check_is_fitted(self)
        Z = check_table(None, Z, reset=False, name="Z", min_samples=0, ensure_min_features=0)
        if Z.shape[1] != self.n_components_:
            raise ValueError(f"Z has {Z.shape[1]} columns, but the model has n_components_={self.n_components_}.")
        return Z

    def explain(self) -> str:
        """Which solver was run, and why, with its certificate."""
        check_is_fitted(self)
        return f"{self.solver_!r}: {self.solver_reason_}; residual {self.residual_norm_:.1e} of the largest eigenvalue."


def chosen_solver(solver: Any, size: int, n_components: Any) -> tuple[Any, str]:
    """The solver that will run, and the reason in words."""
    if isinstance(solver, Auto):
        count = n_components if isinstance(n_components, int) else size
        return solver.choose(size, count), solver.explain(size, count).partition(": ")[2]
    return solver, "as asked"


def _slice(options: dict[str, Any], rows: slice) -> dict[str, Any]:
    return {name: None if value is None else value[rows] for name, value in options.items()}


__all__ = ["BaseEstimator", "LatentModelMixin", "atomic", "chosen_solver", "forget", "keep_columns"]
