"""What both mixtures offer: clusters, densities, latents, rows as the model sees them, and draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, fitted_array, float_dtype, row_chunks
from gramian._checks import (
    check_choice,
    check_count,
    check_finite,
    check_flag,
    check_random_state,
    check_table,
    check_weights,
    finite_answers,
    is_count,
    is_real,
)
from gramian._types import RandomState, Table, Weights
from gramian.kernels._rows import dense
from gramian.latent.gaussian import Projection
from gramian.latent.model import LatentModel
from gramian.latent.units import Units
from gramian.mixtures.mixture import MixtureFit, log_terms, responsibilities_of
from gramian.policy import SIZES
from gramian.rows import as_rows, is_dask, lazily
from gramian.rows.draws import exact_rows

AUTO = "auto"


def check_clusters(n_clusters: int, hashes: Array, rows: Any) -> None:
    """Refuse more clusters than there are distinct rows: by their hashes, and where these are too few (beyond an offset) by the rows themselves."""
    if n_clusters <= len(np.unique(hashes)):
        return
    distinct = len(exact_rows(rows if hasattr(rows, "fold") else as_rows(dense(rows)), n_clusters))
    if n_clusters > distinct:
        raise ValueError(
            f"n_clusters={n_clusters} must be at most the number of distinct rows (of positive weight), {distinct}. Use fewer clusters."
        )


class MixtureMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin):
    """The methods of a mixture of latent Gaussians.

    A subclass provides ``_check_rows(X)``, ``_project(X, **options)`` (what each component sees of checked rows), ``_rebuilt`` and
    ``_drawn``.
    """

    _components: list[LatentModel[Any]]
    _units: Annotated[Units | None, "its d"] = None
    weights_: Annotated[Array, "+ k"]
    responsibilities_: Array
    n_components: Any
    random_state: Any

    # ------------------------------------------------------------ what a subclass says

    log_likelihoods_: Array
    n_iter_: int
    converged_: bool

    def _check_rows(self, X: Table) -> Array:
        raise TypeError(f"{type(self).__name__} does not say how to check rows.")

    def _project(self, X: Array, **options: Any) -> list[Projection]:
        raise TypeError(f"{type(self).__name__} does not say how its components see rows.")

    def _rebuilt(self, seen: list[Projection], shares: Array, kind: str) -> Array:
        raise TypeError(f"{type(self).__name__} does not say how to come back to rows.")

    def _drawn(self, which: int, count: int, noise: bool, rng: np.random.Generator) -> Array:
        raise TypeError(f"{type(self).__name__} does not say how to draw rows.")

    def _log_volume(self, X: Array) -> Any:
        """What standardising takes from the log-density of each row."""
        return 0.0

    def _log_densities(self, X: Array, seen: list[Projection]) -> Array:
        """log p(x | k) of rows, (n, K)."""
        return log_terms(self._components, np.ones(len(seen)), seen)

    # ------------------------------------------------------------ fitting

    def _asked(self, n_clusters: int, most: int | None = None) -> list[int | float] | None:
        """One count or fraction per cluster; None where q is to be chosen. ``most``: what a count may be at most, if anything."""
        asked = self._asked_once(n_clusters, most)
        return asked * n_clusters if asked is not None and len(asked) == 1 else asked

    def _asked_once(self, n_clusters: int, most: int | None = None) -> list[int | float] | None:
        """The same, but one number for all clusters where one was given: nothing as long as a count that was not looked at."""
        given = self.n_components
        if isinstance(given, str) and given == AUTO:
            return None
        one = not isinstance(given, list | tuple | np.ndarray)
        entries = [given] if one else list(given)
        if not one and len(entries) != n_clusters:
            raise ValueError(
                f"n_components={given!r} must have one entry for each of the clusters: {len(entries)} given, n_clusters={n_clusters}."
            )
        asked: list[int | float] = []
        for entry in entries:
            if is_count(entry) and entry >= 0 and (most is None or entry <= most):
                asked.append(int(entry))
            elif is_real(entry) and not is_count(entry) and 0.0 < entry < 1.0:
                asked.append(float(entry))
            else:
                bound = (
                    "of at least 0"
                    if most is None
                    else f"between 0 and {most}, the largest possible rank of these rows"
                )
                raise ValueError(
                    f"n_components={given!r} must be an integer {bound}, a fraction in (0, 1), 'auto', or a list with one count "
                    "or fraction for each cluster."
                )
        return asked

    def _given_responsibilities(self, given: Any, n_rows: int, n_clusters: int, kept: Array) -> Array:
        """Starting responsibilities of the kept rows, checked."""
        start = check_table(None, given, reset=False, name="init").astype(np.float64)
        if start.shape != (n_rows, n_clusters):
            raise ValueError(
                f"init has shape {start.shape}, but responsibilities need ({n_rows}, {n_clusters}): one row per row of X, "
                "one column per cluster."
            )
        start = start[kept]
        if (start < 0).any() or (start.sum(axis=1) <= 0).any():
            raise ValueError("init must hold responsibilities: numbers >= 0 with a positive sum in every row.")
        return np.asarray(start / start.sum(axis=1, keepdims=True))

    def _wrong_state(self) -> str | None:
        """What a model file may not say: other numbers of latents than the components have."""
        state = vars(self)
        if "_components" not in state or "n_components_" not in state:
            return None
        counts = [model.gaussian.n_components for model in self._components]
        return None if counts == list(self.n_components_) else "n_components_ are not those of the components"

    def _store_mixture(self, found: MixtureFit[Any]) -> None:
        """The fitted attributes that both mixtures have."""
        self._components = found.components
        self.weights_ = found.mixing
        self.n_components_ = [model.gaussian.n_components for model in found.components]
        self.log_likelihoods_ = np.asarray(found.log_likelihoods)
        self.n_iter_ = len(self.log_likelihoods_)
        self.converged_ = bool(found.converged)

    def _store_responsibilities(self, X: Array, kept: Array, shares: Array) -> None:
        """Those of the training rows; rows of zero weight get what the fitted model says of them."""
        everywhere = np.empty((len(X), shares.shape[1]))
        everywhere[kept] = shares
        left = np.setdiff1d(np.arange(len(X)), kept)
        if left.size:
            everywhere[left] = self._evaluate(X[left], lambda terms, seen: responsibilities_of(terms)[0])
        self.responsibilities_ = everywhere.astype(float_dtype(X), copy=False)

    def fit_predict(self, X: Table, y: object = None, sample_weight: Weights = None) -> Array:
        """`fit`, and the most responsible component of each training row [6].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.

        Returns
        -------
        ndarray of shape (n_samples,)
            0 to n_clusters - 1.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> labels = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit_predict(X)
        >>> sorted(set(labels.tolist()))
        [0, 1, 2]
        """
        fitted = self.fit(X, y, sample_weight)
        return fitted.predict(X) if is_dask(X) else fitted.responsibilities_.argmax(axis=1)

    # ------------------------------------------------------------ clusters and densities

    def _chunks(self, X: Array, options: dict[str, Any]) -> Iterator[tuple[slice, Array, list[Projection]]]:
        """Rows, log π_k + log p(x | k) and what the components see of them, some at a time."""
        for rows in row_chunks(len(X), SIZES.block):
            given = {name: value[rows] for name, value in options.items() if value is not None}
            seen = self._project(X[rows], **given)
            for part in seen:
                check_finite(part.squared_norm, "squared norms")
            densities = self._log_densities(X[rows], seen)
            check_finite(densities, "log-densities")
            with np.errstate(divide="ignore"):
                yield rows, densities + np.log(self.weights_), seen

    def _evaluate(self, X: Array, function: Callable[[Array, list[Projection]], Array], **options: Any) -> Array:
        return np.concatenate([function(terms, seen) for _, terms, seen in self._chunks(X, options)])

    @lazily
    def predict_proba(self, X: Table) -> Array:
        """P(component | what the row shows), (n_samples, n_clusters): rows sum to one [6].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> model = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X)
        >>> bool(abs(model.predict_proba(X).sum(axis=1) - 1).max() < 1e-12)
        True
        """
        X = self._check_rows(X)
        shares = self._evaluate(X, lambda terms, seen: responsibilities_of(terms)[0])
        return shares.astype(float_dtype(X), copy=False)

    @lazily
    def predict(self, X: Table) -> Array:
        """The most probable component of each row [6].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            0 to n_clusters - 1.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> model = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X)
        >>> bool((model.predict(X) == model.predict_proba(X).argmax(axis=1)).all())
        True
        """
        return self._evaluate(self._check_rows(X), lambda terms, seen: terms.argmax(axis=1))

    def _log_likelihoods(self, X: Array, **options: Any) -> Array:
        """Of each checked row, in float64."""
        return self._evaluate(X, lambda terms, seen: responsibilities_of(terms)[1], **options) - self._log_volume(X)

    @lazily
    def score_samples(self, X: Table) -> Array:
        """log Σ π_k p(x | k) of what each row shows [6].

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
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> model = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X)
        >>> model.score_samples(X).shape
        (150,)
        """
        X = self._check_rows(X)
        return self._log_likelihoods(X).astype(float_dtype(X), copy=False)

    def score(self, X: Table, y: object = None, sample_weight: Weights = None) -> float:
        """The (weighted) mean of `score_samples` [6].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.

        Returns
        -------
        float
            Larger is better.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> model = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X)
        >>> bool(model.score(X) > PPCAMixture(n_clusters=1, n_components=1).fit(X).score(X))
        True
        """
        values = np.asarray(self.score_samples(X), dtype=np.float64)
        return float(np.average(values, weights=check_weights(sample_weight, values[:, None])))

    # ------------------------------------------------------------ latents and rows

    @property
    def _n_features_out(self) -> int:
        return max(self.n_components_)

    @lazily
    def transform(self, X: Table, combine: str = "best") -> Array:
        """Latent coordinates E[z | x] [2] [6].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        combine : {"best", "average"}, default="best"
            "best": those of the most probable component (`predict` says which; components have different axes). "average":
            E[z | x] = Σ P(k | x) E[z | x, k].

        Returns
        -------
        ndarray of shape (n_samples, q)
            q is the largest number of latents; components of fewer leave the last columns 0.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> model = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X)
        >>> model.transform(X).shape
        (150, 1)
        """
        check_choice("combine", combine, ("best", "average"))
        X = self._check_rows(X)
        latents = np.zeros((len(X), self._n_features_out))
        for rows, terms, seen in self._chunks(X, {}):
            shares = combined_shares(terms, combine)
            for k, part in enumerate(seen):
                taken = np.flatnonzero(shares[:, k] > 0)
                if len(taken):
                    mean = self._components[k].gaussian.posterior(part[taken]).mean
                    latents[rows.start + taken, : mean.shape[1]] += shares[taken, k, None] * mean
        return latents.astype(float_dtype(X), copy=False)

    @lazily
    def reconstruct(self, X: Table, kind: str = "map", combine: str = "best") -> Array:
        """The rows as the mixture sees them [2] [6].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        kind : {"map", "projection"}, default="map"
            "map": μ + W E[z | x], shrunk; "projection": the nearest point of the component's subspace.
        combine : {"best", "average"}, default="best"
            Of the most probable component, or averaged over all (of a kernel mixture, in feature space).

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> model = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X)
        >>> bool(((model.reconstruct(X) - X) ** 2).mean() < 0.1)
        True
        """
        check_choice("kind", kind, ("map", "projection"))
        check_choice("combine", combine, ("best", "average"))
        X = self._check_rows(X)
        parts = [self._rebuilt(seen, combined_shares(terms, combine), kind) for _, terms, seen in self._chunks(X, {})]
        return self._as_given(np.concatenate(parts)).astype(float_dtype(X), copy=False)

    @finite_answers
    def sample(
        self, n_samples: int = 1, *, noise: bool = True, random_state: RandomState = None
    ) -> tuple[Array, Array]:
        """Draw rows, and the components they come from [2, 3] [6].

        Parameters
        ----------
        n_samples : int, default=1
        noise : bool, default=True
            Whether to add the noise ε to μ + W z.
        random_state : None, int, Generator or RandomState
            None uses the estimator's own.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
            The component of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> model = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X)
        >>> rows, labels = model.sample(5, random_state=0)
        >>> rows.shape, labels.shape
        ((5, 4), (5,))
        """
        check_is_fitted(self)
        n_samples = check_count("n_samples", n_samples, 1)
        check_flag("noise", noise)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        labels = rng.choice(len(self.weights_), size=n_samples, p=self.weights_)
        parts = [(np.flatnonzero(labels == k), k) for k in np.unique(labels)]
        drawn = [(taken, self._drawn(int(k), len(taken), noise, rng)) for taken, k in parts]
        rows = np.empty((n_samples, drawn[0][1].shape[1]))
        for taken, values in drawn:
            rows[taken] = values
        return np.asarray(fitted_array(self._as_given(rows), self._fitted_dtype)), labels

    @property
    def _fitted_dtype(self) -> np.dtype[Any]:
        """Of the arrays that users read, and of draws: float32 where the rows of `fit` were."""
        raise TypeError(f"{type(self).__name__} does not say what dtype its rows had.")

    # ------------------------------------------------------------ units

    def _as_given(self, rows: Array) -> Array:
        """Rows of the model's units in those of the table."""
        return rows if self._units is None else self._units.back(rows)

    def _in_units(self, X: Array) -> Array:
        return X if self._units is None else self._units.into(X)


def combined_shares(terms: Array, combine: str) -> Array:
    """Responsibilities, or one for the best component and zero for the others."""
    if combine == "best":
        return np.eye(terms.shape[1])[terms.argmax(axis=1)]
    return responsibilities_of(terms)[0]
