"""What a primal Gaussian offers beyond the shared methods: reconstruction, imputation, samples, criteria, anomalies."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, complete_first, fitted_array, float_dtype, row_chunks
from gramian._checks import (
    check_choice,
    check_count,
    check_finite,
    check_flag,
    check_number,
    check_random_state,
    check_table,
    finite_answers,
)
from gramian._types import Points, RandomState, Table
from gramian.latent.anomaly import Anomaly, anomaly_of, contributions_of, join_anomalies
from gramian.latent.dimension import free_parameters
from gramian.latent.gaussian import Projection, drawn_rows
from gramian.latent.known_errors import Known, NoisyModel
from gramian.latent.model import PrimalModel
from gramian.latent.primal import predictive, rebuild_rows, signal_std
from gramian.latent.small_sample import SmallSample
from gramian.latent.student import row_scales, student_log_density
from gramian.latent.wild_cells import THRESHOLD, CellModel
from gramian.policy import SIZES
from gramian.rows import lazily
from gramian.single.drift import DriftMixin
from gramian.single.noisy_fit import check_errors
from gramian.single.turned import TurnedMixin
from gramian.tables.front_door import TakesFrames

TAIL_SIZE = 2000
"""Up to this many columns the fit keeps the power sums of the discarded spectrum, for control limits."""


class PrimalMixin(DriftMixin, TakesFrames, TurnedMixin):
    """The methods of `PPCA` once it is fitted."""

    _model: Annotated[PrimalModel, "its q d"]
    _column_weights: Annotated[Array, "+ d"]  # n_j: the weight of the rows that showed each column
    mean_: Annotated[Array, "d"]
    components_: Annotated[Array, "q d"]

    def _check_rows(self, X: Table) -> Any:
        check_is_fitted(self)
        return check_table(self, X, reset=False, missing=True, accept_sparse=True)

    def _project(self, X: Points, **options: Any) -> Projection:
        seen = self._model.subspace.project(X)
        check_finite(seen.squared_norm, "squared norms")
        return seen

    @lazily
    def score_samples(self, X: Table) -> Array:
        """The log-likelihood of each row [2]; that of the t where ``robust="rows"`` was fitted [14].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logarithms. At zero noise there are none: use :meth:`residual`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> bool(model.score_samples(X[:1])[0] > model.score_samples(X[:1] + 3.0)[0])
        True
        """
        degrees = getattr(self, "degrees_of_freedom_", None)
        if degrees is None:
            return super().score_samples(X)
        table = np.asarray(self._check_rows(X), dtype=np.float64)
        seen, counts = self._project(table), (~np.isnan(table)).sum(axis=1).astype(np.float64)
        distance = self._gaussian.mahalanobis(seen)
        return student_log_density(self._gaussian.log_density(seen), distance, counts, degrees)

    def _widening(self, seen: Projection, table: Array) -> Any:
        """By how much the variances of what is not seen grow in the t: (ν + δ) / (ν + |o|), one per row."""
        degrees = getattr(self, "degrees_of_freedom_", None)
        if degrees is None:
            return 1.0
        counts = (~np.isnan(table)).sum(axis=1).astype(np.float64)
        return 1.0 / row_scales(self._gaussian.mahalanobis(seen), counts, degrees)[:, None]

    @finite_answers
    def inverse_transform(self, Z: Table) -> Array:
        """E[x | z] = μ + Wz [2].

        Parameters
        ----------
        Z : array-like of shape (n, n_components_)
            Latent coordinates, one point per row.

        Returns
        -------
        ndarray of shape (n, n_features)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> import numpy as np
        >>> np.allclose(model.inverse_transform([[0.0, 0.0]]), X.mean(axis=0))
        True
        """
        check_is_fitted(self)
        Z = self._check_latents(Z)
        return self._embed(self._gaussian.decode(Z)).astype(float_dtype(Z), copy=False)

    def _embed(self, scores: Array) -> Array:
        return self._model.subspace.embed(scores)

    def _small_sample(self) -> SmallSample:
        return SmallSample(np.asarray(self._column_weights, dtype=np.float64), self.n_components_)

    @lazily
    def reconstruct(self, X: Table, kind: str = "map", return_std: bool = False, *, small_sample: bool = True) -> Any:
        """The rows as the model sees them [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        kind : {"map", "projection"}
            "map": μ + W E[z|x], shrunk; "projection": the nearest point of the subspace, as PCA does.
        return_std : bool, default=False
            Also return the standard deviations of the noise-free signal μ + Wz given the row.
        small_sample : bool, default=True
            Standard deviations with what estimating the parameters adds [12]; False: the plug-in law.

        Returns
        -------
        ndarray, or (ndarray, std)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> rows, std = model.reconstruct(X, return_std=True)
        >>> rows.shape, std.shape
        ((150, 4), (150, 4))
        >>> bool(((rows - X) ** 2).mean() < X.var(axis=0).mean() / 10)
        True
        """
        check_choice("kind", kind, ("map", "projection"))
        check_flag("return_std", return_std)
        check_flag("small_sample", small_sample)
        check_is_fitted(self)
        rows = self._evaluate(X, lambda seen: rebuild_rows(self._model, seen, kind))
        if not return_std:
            return rows
        return rows, self._signal_std(self._check_rows(X), self._small_sample() if small_sample else None)

    def _signal_std(self, table: Array, correction: SmallSample | None) -> Array:
        parts = []
        for rows in row_chunks(table.shape[0], SIZES.block):
            unseen = None if sparse.issparse(table) else np.isnan(table[rows])
            parts.append(signal_std(self._model, self._project(table[rows]), correction, unseen))
        return np.asarray(fitted_array(np.concatenate(parts), float_dtype(table)))

    @lazily
    def impute(
        self,
        X: Table,
        return_std: bool = False,
        n_draws: int | None = None,
        *,
        small_sample: bool = True,
        X_std: Any = None,
    ) -> Any:
        """Fill the missing entries with E[x_m | x_o] = μ_m + W_m E[z | x_o]; observed entries are untouched [5].

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviations, 0 where observed.
        n_draws : int, optional
            Instead of the mean, this many draws from the predictive law, an array of shape (n_draws, n_samples, n_features).
        small_sample : bool, default=True
            Standard deviations and draws with what estimating the parameters adds, such that 1.645 standard deviations cover 90 % at
            any number of rows [12]; False: the plug-in law.
        X_std : array-like of shape (n_samples, n_features), optional
            The standard deviation of the known error of each cell, 0 where none is known: such cells count for less.

        Returns
        -------
        The filled table in the container of X, or (table, std), or draws.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PPCA
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((200, 1)) @ np.ones((1, 4)) + 0.1 * rng.standard_normal((200, 4))
        >>> model = PPCA(n_components=1).fit(X)
        >>> model.impute([[2.0, np.nan, 2.0, 2.0]]).round(1)
        array([[2., 2., 2., 2.]])
        """
        check_is_fitted(self)
        check_flag("small_sample", small_sample)
        table = self._check_rows(X)
        if sparse.issparse(table):
            return table.copy() if not return_std else (table.copy(), np.zeros(table.shape))
        correction = self._small_sample() if small_sample else None
        known = None if X_std is None else Known.of(check_errors(X_std, table, self), None)
        if n_draws is not None:
            return self._drawn(table, check_count("n_draws", n_draws, 1), correction, known=known)
        filled, std = self._filled(table, correction, known)
        full = self._with_filled(X, filled)
        return (full, self._with_spread(X, std.astype(filled.dtype))) if return_std else full

    def _filled(self, table: Array, correction: SmallSample | None, known: Known | None = None) -> tuple[Array, Array]:
        """The table with its holes filled, and the deviations of that; cells of intervals are holes that something is known of."""
        filled = table.astype(float_dtype(table), copy=True)
        std = np.zeros(table.shape)
        for rows in row_chunks(len(table), SIZES.block):
            holes = np.isnan(table[rows])
            some = np.flatnonzero(holes.any(axis=1))
            if not some.size:
                continue
            if known is None:
                seen = self._project(table[rows][some])
                mean, variance = predictive(self._model, seen, correction)
                variance = variance * self._widening(seen, table[rows][some])
            else:
                mean, variance = self._noisy.predictive(
                    np.asarray(table[rows][some], dtype=np.float64), known[rows][some], correction
                )
            part, at = filled[rows], holes[some]
            part[some] = np.where(at, mean, part[some])
            std[rows][some] = np.where(at, np.sqrt(variance), 0.0)
        return filled, std

    @property
    def _noisy(self) -> NoisyModel:
        """The model as it sees rows of cells with errors."""
        return NoisyModel.of(self._model.subspace.mean, self._loadings, self._column_noise)

    def _drawn(
        self,
        table: Array,
        n_draws: int,
        correction: SmallSample | None,
        random_state: RandomState = None,
        known: Known | None = None,
    ) -> Array:
        rng = check_random_state(self.random_state if random_state is None else random_state)
        holes = np.isnan(table)
        if known is not None:
            drawn = self._noisy.drawn(np.asarray(table, dtype=np.float64), known, n_draws, correction, rng)
            return np.where(holes, drawn, table).astype(float_dtype(table), copy=False)
        posterior = self._gaussian.posterior(self._project(table))
        latents = posterior.sample(n_draws, rng)
        mean, loadings = self._model.subspace.mean, self._loadings
        draws = drawn_rows(mean, loadings, latents, self._column_noise, rng)
        if correction is not None:
            centre = posterior.mean @ loadings.T + mean
            draws = centre + correction.stretched(draws - centre, posterior.mean, rng)
        return np.where(holes, draws, table).astype(float_dtype(table), copy=False)

    def _wild_cells(self, table: Array, threshold: Any) -> Array:
        """Which cells of rows the others contradict."""
        return self._cell_model.flags(np.asarray(table, dtype=np.float64), threshold)

    @property
    def _cell_model(self) -> CellModel:
        return CellModel.of(self._model.subspace.mean, self._loadings, self._column_noise)

    @property
    def _loadings(self) -> Array:
        return np.asarray(self._model.subspace.loadings(self._gaussian.gains))

    @property
    def _column_noise(self) -> Any:
        """σ² in the units of the data: one number, or one per column."""
        return self._model.subspace.column_noise(self._gaussian.noise_variance)

    def sample(self, n_samples: int = 1, *, latent: Table | None = None, random_state: RandomState = None) -> Array:
        """Draw rows from the model, or (``latent=Z``) rows given their latents [2].

        Parameters
        ----------
        n_samples : int, default=1
            How many rows to draw.
        latent : array-like of shape (n, n_components_), optional
            Latents to start from; then one row is drawn for each of them.
        random_state : None, int, Generator or RandomState
            None uses the estimator's own.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or one row per row of Z

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> model.sample(5, random_state=0).shape
        (5, 4)
        >>> model.sample(latent=[[0.0, 0.0], [1.0, 0.0]]).shape
        (2, 4)
        """
        check_is_fitted(self)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        if latent is None:
            Z = rng.standard_normal((check_count("n_samples", n_samples, 1), self.n_components_))
        else:
            Z = self._check_latents(latent)
        rows = drawn_rows(self._model.subspace.mean, self._loadings, Z, self._column_noise, rng)
        return np.asarray(fitted_array(rows, self._fitted_dtype))

    @property
    def _fitted_dtype(self) -> Any:
        return np.asarray(self.mean_).dtype if self.mean_.dtype == self.components_.dtype else np.dtype(np.float64)

    def get_covariance(self) -> Array:
        """C = WWᵀ + σ²I."""
        check_is_fitted(self)
        covariance = self._loadings @ self._loadings.T
        covariance.flat[:: len(covariance) + 1] += self._column_noise
        return covariance

    def get_precision(self) -> Array:
        """C⁻¹ = (I - U(1 - σ²Λ⁻¹)Uᵀ) / σ² (Woodbury)."""
        check_is_fitted(self)
        scale = self._model.subspace.scale
        precision = self._gaussian.precision(self._model.subspace.components)
        return precision if scale is None else precision / np.outer(scale, scale)

    def aic(self, X: Table) -> float:
        """Akaike's information criterion on X: smaller is better [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        float

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> bool(model.aic(X) < PPCA(n_components=1).fit(X).aic(X))
        True
        """
        return -2 * self._total_log_likelihood(X)[0] + 2 * self._free_parameters()

    def bic(self, X: Table) -> float:
        """The Bayesian information criterion on X: smaller is better [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        float

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> bool(model.bic(X) < PPCA(n_components=1).fit(X).bic(X))
        True
        """
        total, n_rows = self._total_log_likelihood(X)
        return -2 * total + self._free_parameters() * float(np.log(n_rows))

    def _total_log_likelihood(self, X: Table) -> tuple[float, int]:
        values = self.score_samples(X)
        return float(values.sum(dtype=np.float64)), len(values)

    def _free_parameters(self) -> int:
        noises = (len(self.mean_) if self._model.subspace.scale is not None else 1) * isinstance(
            self.noise_variance, str
        )
        return free_parameters(len(self.mean_), self.n_components_, noise=noises, mean=self.center)

    @finite_answers
    def anomaly(self, X: Table, level: float = 0.99, limits: str = "flat") -> Anomaly:
        """How anomalous each row is, and which columns make it so [2].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        level : float in (0, 1), default=0.99
            The limits are exceeded by a share ``1 - level`` of new rows of the model.
        limits : {"flat", "box", "jackson-mudholkar"}
            How the limit of SPE treats the discarded spectrum: flat as the model says, or as it was (complete training data only).

        Returns
        -------
        Anomaly with ``.t2``, ``.spe``, ``.p_t2``, ``.p_spe``, ``.limit_t2``, ``.limit_spe``, ``.contributions``, ``.flags``, ``.wild_cells``

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit(X)
        >>> found = model.anomaly([[5.1, 3.5, 1.4, 0.2], [5.1, 3.5, 1.4, 9.0]])
        >>> found.flags.tolist()
        [False, True]
        >>> int(found.contributions[1].argmax())
        3
        """
        check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
        check_choice("limits", limits, ("flat", "box", "jackson-mudholkar"))
        check_is_fitted(self)
        tail = self.__dict__.get("_tail")
        if limits != "flat" and tail is None:
            raise ValueError(
                f"limits={limits!r} needs the discarded spectrum, kept only by fits on complete data of at most {TAIL_SIZE} columns. Use 'flat'."
            )
        table = self._check_rows(X)
        dense = table.toarray() if sparse.issparse(table) else np.asarray(table, dtype=np.float64)
        law = {
            "weight": self.n_samples_,
            "level": level,
            "tail": tail,
            "limits": limits,
            "held_out": self.__dict__.get("_held_out_spe"),
        }
        groups = complete_first(dense)
        if groups is None:
            found = self._anomaly(dense, law)
        else:
            parts = [rows[part] for rows in groups for part in row_chunks(len(rows))]
            found = join_anomalies(parts, [self._anomaly(dense[rows], law) for rows in parts])
        wild = [self._wild_cells(dense[rows], THRESHOLD) for rows in row_chunks(len(dense))]
        cells = np.concatenate(wild) if wild else np.zeros(dense.shape, dtype=bool)
        names = self._feature_names
        return replace(found, wild_cells=cells, columns=() if names is None else tuple(map(str, names)))

    def _anomaly(self, dense: Array, law: dict[str, Any]) -> Anomaly:
        seen = self._project(dense)
        holes = np.isnan(dense)
        centred = np.where(holes, 0.0, dense - self._model.subspace.mean)
        if self._model.subspace.scale is not None:
            centred /= self._model.subspace.scale
        components = self._model.subspace.components
        contributions = np.where(holes, 0.0, contributions_of(self._gaussian, seen, centred, components))
        return anomaly_of(self._gaussian, seen, contributions, **law)
