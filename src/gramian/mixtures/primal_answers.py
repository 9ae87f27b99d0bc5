"""What a fitted mixture of PPCAs says of rows: its components in columns, criteria and the choice by them, filled tables [5, 6]."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype, row_chunks
from gramian._checks import check_choice, check_count, check_random_state, check_table, check_weights
from gramian._types import Table, Weights
from gramian.evidence import Selection
from gramian.latent.dimension import free_parameters
from gramian.latent.gaussian import Projection, drawn_rows
from gramian.latent.model import PrimalModel
from gramian.latent.primal import predictive, rebuild_rows
from gramian.latent.student import row_scales, student_log_density
from gramian.mixtures.answers import MixtureMixin
from gramian.mixtures.mixture import responsibilities_of
from gramian.rows import lazily
from gramian.single.answers import BaseEstimator
from gramian.tables.front_door import TakesFrames


class PrimalMixture(TakesFrames, MixtureMixin, BaseEstimator):
    """The methods of `PPCAMixture` once it is fitted."""

    _components: Annotated[list[PrimalModel], "k: its d"]
    noise: str
    n_components_: Annotated[list[int], "*: width"]
    n_features_in_: Annotated[int, "=d"]
    means_: Annotated[Array, "k d"]
    selection_: Selection

    @property
    def _fitted_dtype(self) -> np.dtype[Any]:
        return float_dtype(self.means_)

    def _check_rows(self, X: Table) -> Array:
        check_is_fitted(self)
        return check_table(self, X, reset=False, missing=True)

    def _project(self, X: Array, **options: Any) -> list[Projection]:
        X = self._in_units(X)
        return [model.subspace.project(X) for model in self._components]

    def _log_volume(self, X: Array) -> Any:
        return 0.0 if self._units is None else ~np.isnan(X) @ np.log(self._units.scale)

    def _log_densities(self, X: Array, seen: list[Projection]) -> Array:
        """Those of the t where that was fitted [14]."""
        found, degrees = super()._log_densities(X, seen), getattr(self, "degrees_of_freedom_", None)
        if degrees is None:
            return found
        distance = np.column_stack([model.gaussian.mahalanobis(part) for model, part in zip(self._components, seen)])
        return student_log_density(found, distance, _counts(X)[:, None], degrees)

    def _widenings(self, X: Array, seen: list[Projection]) -> list[Any]:
        """By how much the variances of what is not seen grow in each cluster: (ν + δ) / (ν + |o|) of each row in a t, else 1."""
        degrees = getattr(self, "degrees_of_freedom_", None)
        if degrees is None:
            return [1.0] * len(seen)
        distances = [model.gaussian.mahalanobis(part) for model, part in zip(self._components, seen)]
        return [1.0 / row_scales(distance, _counts(X), degrees)[:, None] for distance in distances]

    # ------------------------------------------------------------ criteria

    def aic(self, X: Table, sample_weight: Weights = None) -> float:
        """Akaike's information criterion on X: smaller is better [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.

        Returns
        -------
        float
            Smaller is better.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> model = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X)
        >>> bool(model.aic(X) < model.bic(X))
        True
        """
        return self._criterion(X, sample_weight, lambda total: 2.0)

    def bic(self, X: Table, sample_weight: Weights = None) -> float:
        """The Bayesian information criterion on X: smaller is better [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.

        Returns
        -------
        float
            Smaller is better.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCAMixture
        >>> X = load_iris().data
        >>> model = PPCAMixture(n_clusters=3, n_components=1, random_state=0).fit(X)
        >>> bool(model.bic(X) < PPCAMixture(n_clusters=1, n_components=1).fit(X).bic(X))
        True
        """
        return self._criterion(X, sample_weight, lambda total: float(np.log(total)))

    @classmethod
    def select(
        cls,
        X: Table,
        n_clusters: Iterable[int] = range(1, 7),
        n_components: Iterable[Any] = (1, 2, 3),
        *,
        criterion: str = "bic",
        sample_weight: Weights = None,
        **params: Any,
    ) -> Self:
        """Fit every pair of the numbers given, and return the model of the smallest criterion [6, 10].

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
            Fitted, with ``selection_``: its ``candidates`` are dicts of ``n_clusters`` and ``n_components``, its ``scores`` the
            criterion with the sign changed.

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
        best, best_value, tried, scores, refused = None, np.inf, [], [], None
        for K, q in pairs:
            model = cls(K, q, **params)
            try:
                model.fit(X, sample_weight=sample_weight)
            except ValueError as error:
                refused = error
                continue
            value = float(getattr(model, criterion)(X, sample_weight=sample_weight))
            tried.append({"n_clusters": K, "n_components": q})
            scores.append(-value)
            if value < best_value:
                best, best_value = model, value
        if best is None:
            assert refused is not None
            raise refused
        chosen = {"n_clusters": best.n_clusters, "n_components": best.n_components}
        reason = f"the smallest {criterion.upper()} of {len(tried)} candidates"
        best.selection_ = Selection(tried, np.array(scores), np.zeros(len(tried)), chosen, reason)
        return best

    def _criterion(self, X: Table, sample_weight: Weights, price: Callable[[float], float]) -> float:
        values = self._log_likelihoods(self._check_rows(X))
        weights = check_weights(sample_weight, values[:, None])
        return -2.0 * float(weights @ values) + self._free_parameters() * price(float(weights.sum()))

    def _free_parameters(self) -> int:
        """Those of each cluster, and K - 1 mixing weights; a shared noise counts once."""
        own = self.noise == "separate"
        each = [free_parameters(self.means_.shape[1], q, noise=own) for q in self.n_components_]
        return sum(each) + len(each) - 1 + int(not own) + int(hasattr(self, "degrees_of_freedom_"))

    # ------------------------------------------------------------ latents and rows

    def _rebuilt(self, seen: list[Projection], shares: Array, kind: str) -> Array:
        out = np.zeros((len(shares), self.means_.shape[1]))
        for k, part in enumerate(seen):
            taken = np.flatnonzero(shares[:, k] > 0)
            if len(taken):
                out[taken] += shares[taken, k, None] * rebuild_rows(self._components[k], part[taken], kind)
        return out

    def _drawn(self, which: int, count: int, noise: bool, rng: np.random.Generator) -> Array:
        model = self._components[which]
        latents = rng.standard_normal((count, model.gaussian.n_components))
        loadings = model.subspace.components.T * model.gaussian.gains
        level = model.gaussian.noise_variance if noise else 0.0
        rows = drawn_rows(model.subspace.mean, loadings, latents, level, rng)
        degrees = getattr(self, "degrees_of_freedom_", np.inf)
        return spread_out(rows, model.subspace.mean, np.full(count, degrees), 1.0, rng)

    @lazily
    def impute(self, X: Table, return_std: bool = False, n_draws: int | None = None) -> Any:
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
            return self._draws(table, check_count("n_draws", n_draws, 1))
        filled = table.astype(float_dtype(table), copy=True)
        std = np.zeros(table.shape)
        scale = np.ones(table.shape[1]) if self._units is None else self._units.scale
        for rows in row_chunks(len(table)):
            holes = np.isnan(table[rows])
            if not holes.any():
                continue
            terms, seen = next((terms, seen) for _, terms, seen in self._chunks(table[rows], {}))
            shares = responsibilities_of(terms)[0].T[..., None]  # (K, n, 1)
            wider = self._widenings(table[rows], seen)
            laws = [
                (center, within * factor)
                for (center, within), factor in zip(map(predictive, self._components, seen), wider)
            ]
            first = laws[0][0]  # about it, so that what all clusters say is said to the last digit
            mean = first + sum(share * (center - first) for share, (center, _) in zip(shares[1:], laws[1:]))
            filled[rows][holes] = self._as_given(mean)[holes]
            if return_std:  # the law of total variance: within clusters, and between them
                variance = sum(share * (within + (center - mean) ** 2) for share, (center, within) in zip(shares, laws))
                std[rows][holes] = (scale * np.sqrt(variance))[holes]
        full = self._with_filled(X, filled)
        return (full, self._with_spread(X, std.astype(filled.dtype))) if return_std else full

    def _draws(self, table: Array, n_draws: int) -> Array:
        rng = check_random_state(self.random_state)
        out = np.empty((n_draws, *table.shape))
        for rows, terms, seen in self._chunks(table, {}):
            shares = np.cumsum(responsibilities_of(terms)[0], axis=1)
            posteriors = [model.gaussian.posterior(part) for model, part in zip(self._components, seen)]
            latents = [posterior.sample(n_draws, rng) for posterior in posteriors]
            wider = self._widenings(table[rows], seen)
            degrees = getattr(self, "degrees_of_freedom_", np.inf) + _counts(table[rows])
            for m in range(n_draws):
                clusters = (rng.random(len(shares))[:, None] > shares).sum(axis=1).clip(max=len(seen) - 1)
                for k, model in enumerate(self._components):
                    taken = np.flatnonzero(clusters == k)
                    loadings = model.subspace.components.T * model.gaussian.gains
                    level = model.gaussian.noise_variance
                    drawn = drawn_rows(model.subspace.mean, loadings, latents[k][m, taken], level, rng)
                    if np.isfinite(degrees).all():
                        center = model.subspace.mean + posteriors[k].mean[taken] @ loadings.T
                        drawn = spread_out(drawn, center, degrees[taken], wider[k][taken], rng)
                    out[m, rows.start + taken] = self._as_given(drawn)
        return np.where(np.isnan(table), out, table).astype(float_dtype(table), copy=False)


def _counts(X: Array) -> Array:
    """How many cells each row shows."""
    return (~np.isnan(X)).sum(axis=1).astype(np.float64)


def spread_out(rows: Array, center: Array, degrees: Array, factor: Any, rng: np.random.Generator) -> Array:
    """Draws of a Gaussian about a centre as those of a t of the same scale matrix times ``factor``; unchanged for ν = ∞."""
    if not np.isfinite(degrees).all():
        return rows
    scales = factor * (degrees / rng.chisquare(degrees))[:, None]
    return np.asarray(center + np.sqrt(scales) * (rows - center))
