"""Kernel PPCA of rows with holes: rows are laws, kernel values are expectations, and cells can be filled [18]."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, fitted_array, float_dtype, has_nan, is_sparse
from gramian._checks import (
    check_flag,
    check_n_components,
    check_seen,
    check_table,
    finite_answers,
    is_count,
    shown_rows,
)
from gramian._types import Points, Table
from gramian.evidence.cell_scales import LEAST_STD
from gramian.features import Identity
from gramian.kernels import Kernel, Linear, as_kernel
from gramian.kernels.expected import Expected, as_laws, law_parts
from gramian.latent.feature_subspace import AnchoredSubspace
from gramian.latent.gaussian import LatentGaussian, Posterior, Projection, resolve_noise, within_prior
from gramian.latent.masked_table import column_sums
from gramian.latent.model import LatentModel, PrimalModel
from gramian.latent.primal import predictive
from gramian.latent.small_sample import SmallSample
from gramian.latent.subspace import PrimalSubspace
from gramian.operators.gram import LazyGram
from gramian.rows import as_rows
from gramian.single.dual_samples import DualSamplesMixin
from gramian.single.hole_fit import HoleFit, has_holes
from gramian.single.input_law import InputLaw
from gramian.single.kernel_filling import KernelFilling, fit_filling
from gramian.single.kernel_fit import resolved_kernel
from gramian.single.kernel_held_out import HeldOutRows
from gramian.tables.frames import like


class KernelHolesMixin(DualSamplesMixin):
    """What `KernelPPCA` does with NaN cells, at `fit` and after.

    A row with holes is a law: the input law of the training rows gives means and variances of what it misses. A model that was fitted to
    complete rows stays as it is; one that was fitted to rows with holes keeps its points as laws, under the `Expected` kernel. With the
    linear kernel the model is PPCA's, and so are its answers.
    """

    _law: Annotated[InputLaw, "maybe its d"]
    noise_variance: Any
    noise_dim: Any
    approximation: Any

    @property
    def _with_laws(self) -> bool:
        """Whether the model was fitted to laws."""
        return "_law" in self.__dict__

    @property
    def _row_kernel(self) -> Kernel:
        """The kernel of rows as the model holds them."""
        return Expected(self.kernel_) if self._with_laws else self.kernel_

    def _inputs_of(self, points: Any) -> Any:
        """The inputs of rows as the model holds them: of laws, their means."""
        return law_parts(points)[0] if self._with_laws else points

    def _input_law(self) -> InputLaw:
        """Of what a row may miss; of a model fitted to complete rows it is made on first need."""
        if self._with_laws:
            return self._law
        source = self._held_source()
        return self._on_need("law", lambda: InputLaw.of(np.asarray(source.rows, dtype=np.float64), source.weights))

    # ------------------------------------------------------------ fitting

    def _fit_holes(self, X: Array, raw_weights: Array, law: InputLaw | None = None) -> None:
        """To rows of positive weight with holes; ``law`` where it is known."""
        X, raw_weights = shown_rows(X, raw_weights)
        check_seen(np.asarray(~np.isnan(X).all(axis=0)), getattr(self, "feature_names_in_", None))
        if len(X) < 2:
            raise ValueError(f"Found array with {len(X)} sample(s) that show a value while a minimum of 2 is required.")
        if isinstance(as_kernel(self.kernel), Linear) and self.approximation is None:
            self._fit_linear_holes(X, raw_weights)
            return
        if self.approximation not in (None, "nystroem"):
            raise ValueError(
                f"X contains NaN, whose kernel values are expectations: approximation={self.approximation!r} has none. "
                "Use approximation=None or 'nystroem', or fill the holes with LatentImputer first."
            )
        self._law = InputLaw.of(X, raw_weights) if law is None else law
        laws = self._law.rows(X)
        if self.approximation is not None:
            self._fit_features(as_rows(laws, raw_weights))
            return
        means = laws[:, : X.shape[1]]
        self.kernel_ = resolved_kernel(self.kernel, means)
        sample = self._dual_sample(
            self._row_kernel, laws, LazyGram(self._row_kernel, laws), raw_weights, float_dtype(X)
        )
        self._fit_dual(sample, means.astype(float_dtype(X), copy=False), raw_weights)

    def _fit_linear_holes(self, X: Array, raw_weights: Array) -> None:
        """The linear kernel is PPCA: the likelihood of the seen cells, by PX-EM [5]."""
        self.kernel_ = as_kernel(self.kernel).resolve(np.zeros((2, X.shape[1])))
        rows = as_rows(X, raw_weights)
        q = check_n_components(self.n_components, rules=("auto",))
        fixed = None if isinstance(self.noise_variance, str) else float(self.noise_variance)
        asked = HoleFit(
            "bic" if q is None else q, fixed, self.center, 1e-6, self.max_iter, self.random_state, self.verbose
        )
        sums = rows.fold(column_sums)
        model, selection = asked.fitted(rows, sums)
        if selection is not None:
            self.selection_ = selection
        self._column_weights = sums.counts
        dim = float(raw_weights.sum())
        if self.noise_dim is not None:
            dim = float(self.noise_dim) if is_count(self.noise_dim) else float(min(len(X) - 1, X.shape[1]))
        gaussian = replace(model.gaussian, dim=dim) if fixed is not None else _in_dimension(model, dim)
        filled = _filled_linear(model, X)[0]
        identity = Identity().fit(filled)
        subspace = AnchoredSubspace(identity, model.subspace, filled, filled)
        scores = model.subspace.project(filled).scores
        shares = np.sqrt(raw_weights / raw_weights.sum())[:, None]
        vectors = shares * scores / np.sqrt(np.maximum(gaussian.eigenvalues, np.finfo(float).tiny))
        spectrum = replace(model.spectrum, eigenvectors=vectors)
        self.solver_, self.solver_reason_ = "px-em", "X has missing entries, and a linear kernel"
        self.X_fit_ = filled.astype(float_dtype(X), copy=False)
        self._weights, self._held = None, (self.X_fit_, raw_weights)
        self._store_features(LatentModel(subspace, gaussian, spectrum))
        self._fit_preimage()

    def _refitted(self, X: Array, raw_weights: Array, law: InputLaw) -> Any:
        """A model of the same kernel and q of some rows with holes."""
        q = max(0, min(self.n_components_, len(X) - 1 - int(self.center)))
        noise = 0.0 if self.noise_variance_ == 0 else "ml"
        part = clone(self).set_params(
            kernel=self.kernel_,
            n_components=q,
            noise_variance=noise,
            approximation=None,
            preimage="smoother",
            verbose=0,
        )
        part._begin()
        part.n_features_in_ = X.shape[1]
        part._fit_holes(X, raw_weights, law)
        return part

    # ------------------------------------------------------------ what the model sees

    def _check_rows(self, X: Table) -> Any:
        if self._precomputed:
            return super()._check_rows(X)
        X = check_table(self, X, reset=False, missing=True, accept_sparse=self._accepts_sparse)
        has_holes(X)  # refuses sparse rows with holes, in words
        return X

    def _primal(self) -> PrimalModel | None:
        """The model in coordinates of the inputs, where the kernel is linear."""
        subspace: Any = self._model.subspace
        features = subspace.feature_map
        if isinstance(features, Identity):
            return LatentModel(subspace.primal, self._gaussian, self._model.spectrum)
        if features is not None or not isinstance(self.kernel_, Linear) or is_sparse(subspace.points):
            return None
        points = np.asarray(subspace.points, dtype=np.float64)
        origin = self.__dict__.get("_origin", 0.0) if self.center else 0.0
        primal = PrimalSubspace(subspace.affine @ points + origin, subspace.axes.T @ points)
        return LatentModel(primal, self._gaussian, self._model.spectrum)

    def _project(self, X: Points, **options: Any) -> Projection:
        if self._with_laws:
            return self._model.subspace.project(self._law.rows(X))
        if self._precomputed or is_sparse(X) or not has_nan(X):
            return super()._project(X, **options)
        primal = self._primal()
        if primal is not None:
            seen = primal.subspace.project(X)
            return replace(seen, dim=seen.dim + (self._gaussian.dim - X.shape[1]))
        holes = np.isnan(X).any(axis=1)
        found = self._expected_projection(X[holes])
        scores, norms = np.empty((len(X), self.n_components_)), np.empty(len(X))
        scores[holes], norms[holes] = found.scores, found.squared_norm
        if not holes.all():
            whole = super()._project(X[~holes])
            scores[~holes], norms[~holes] = whole.scores, whole.squared_norm
        return Projection(scores, norms, found.dim)

    def _expected_projection(self, X: Array) -> Projection:
        """E t and E |φ - μ|² of rows with holes, by a model that was fitted to complete rows."""
        subspace: Any = self._model.subspace
        law = self._input_law()
        if subspace.feature_map is None:
            expected = replace(subspace, kernel=Expected(subspace.kernel), points=as_laws(subspace.points))
            return expected.project(law.rows(X))
        parts = [subspace.project(draw) for draw in law.draws(X)]
        scores, norms = (
            np.mean([getattr(part, name) for part in parts], axis=0) for name in ("scores", "squared_norm")
        )
        return Projection(scores, norms, parts[0].dim)

    @finite_answers
    def posterior(self, X: Table) -> Posterior:
        """z | x with ``.mean`` (n, q), ``.covariance`` (q, q), or (n, q, q) where rows miss entries, and ``.sample(n_draws)`` [2, 18].

        What a row misses adds to its covariance: the spread of E[z | x] over the law of its missing cells.

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
        found = super().posterior(X)
        X = self._check_rows(X)
        if is_sparse(X) or found.covariance.ndim == 3 or not has_nan(X):
            return found
        holes = np.flatnonzero(np.isnan(X).any(axis=1))
        draws = self._input_law().draws(X[holes])
        means = np.stack([self._gaussian.posterior(self._project(draw)).mean for draw in draws])
        means -= means.mean(axis=0)
        covariance = np.repeat(np.asarray(found.covariance, dtype=np.float64)[None], len(X), axis=0)
        covariance[holes] += np.einsum("mni,mnj->nij", means, means) / len(draws)
        return Posterior(found.mean, fitted_array(within_prior(covariance), float_dtype(X)))

    def _wrong_state(self) -> str | None:
        """What a model file may not say: no rows to hold out, or points of another width than the rows."""
        model, rows = self.__dict__.get("_model"), self.__dict__.get("X_fit_")
        points = None if model is None else vars(model.subspace).get("points")
        if (
            model is not None
            and self._held is None
            and (self._weights is None or (rows is None and vars(model.subspace).get("gram") is None))
        ):
            return "_held is missing, and so are rows or their weights"
        if model is not None and "X_fit_" not in vars(self):
            return "X_fit_ is missing"
        if rows is None and self.__dict__.get("_preimage") is not None:
            return "X_fit_ is missing, and there is a pre-image"
        if points is None or rows is None:
            return None
        width = (1 + self._with_laws) * int(rows.shape[1])
        return (
            None if points.shape[1] == width else f"points have the length {points.shape[1]} where {width} is expected"
        )

    # ------------------------------------------------------------ filling

    @finite_answers
    def impute(self, X: Table, return_std: bool = False) -> Any:
        """Fill the missing entries; the same container, observed entries untouched [18].

        A mix of what PPCA says of the cells, a regression of the rows on their latents, and what kernel regressions on the other cells add to PPCA's answer. How much each counts, and
        the standard deviations, are settled on hidden cells, on first need. With a linear kernel it is PPCA's.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Missing entries are NaN, None, pd.NA or masked.
        return_std : bool, default=False
            Also return standard deviations, 0 where observed: 1.645 of them cover 90 %.

        Returns
        -------
        The filled table, or (table, std)

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_moons
        >>> from gramian import KernelPPCA
        >>> X, _ = make_moons(200, noise=0.05, random_state=0)
        >>> X[::5, 1] = np.nan
        >>> model = KernelPPCA(n_components=6, random_state=0).fit(X)
        >>> filled, std = model.impute(X, return_std=True)
        >>> bool(np.isnan(filled).any()), bool((std[np.isnan(X)] > 0).all())
        (False, True)
        """
        check_flag("return_std", return_std)
        check_is_fitted(self)
        if not self._has_inputs or self._precomputed:
            raise ValueError(
                "impute needs dense rows: neither a precomputed kernel nor sparse rows have cells to fill."
            )
        table = self._check_rows(X)
        dtype, holes = float_dtype(table), np.isnan(table)
        filled, std = table.astype(np.float64), np.zeros(table.shape)
        rows = np.flatnonzero(holes.any(axis=1))
        if rows.size:
            found, deviations = self._filled(table[rows])
            filled[rows] = np.where(holes[rows], found, filled[rows])
            std[rows] = np.where(holes[rows], deviations, 0.0)
        full = like(X, filled.astype(dtype, copy=False))
        return (full, like(X, std.astype(dtype, copy=False))) if return_std else full

    def _filled(self, X: Array) -> tuple[Array, Array]:
        """Means and standard deviations of the cells of rows with holes."""
        primal = self._primal()
        if primal is not None:
            gaussian = primal.gaussian
            if isinstance(self.noise_variance, str):  # cells have the noise of PPCA, whatever D is
                gaussian = _in_dimension(primal, float(X.shape[1]))
            counts = self.__dict__.get("_column_weights", np.full(X.shape[1], float(self._held_source().weights.sum())))
            correction = SmallSample(counts, gaussian.n_components)
            return _filled_linear(replace(primal, gaussian=gaussian), X, correction)
        law = self._input_law()
        _, variances = law(X)
        filling = self._filling()
        std = np.maximum(filling.scales * np.sqrt(variances), LEAST_STD * law.units.scale)
        return filling(self._map_scores(self._project(X)), X, law), std

    def _filling(self) -> KernelFilling:
        """From scores to inputs, made on first need."""
        return self._on_need("filling", lambda: fit_filling(self, *self._training_table(), self._input_law()))

    def _training_table(self) -> tuple[Array, Array]:
        """Training rows, or those that were kept, with NaN where cells missed; and their weights."""
        source = self._held_source()
        if not self._with_laws:
            return np.asarray(source.rows, dtype=np.float64), source.weights
        means, variances = law_parts(self._model.subspace.points if self._held is None else self._held[0])
        return np.where(variances > 0, np.nan, means), source.weights

    def _held_source(self) -> HeldOutRows:
        """Training rows for what is asked of held-out ones; rows that missed cells as they were filled."""
        source = super()._held_source()
        return source if self._held is None else replace(source, rows=self._inputs_of(source.rows))


def _filled_linear(model: PrimalModel, X: Array, correction: SmallSample | None = None) -> tuple[Array, Array]:
    mean, variance = predictive(model, model.subspace.project(X), correction)
    return np.where(np.isnan(X), mean, X), np.sqrt(variance)


def _in_dimension(model: Any, dim: float) -> LatentGaussian:
    """The Gaussian whose noise, with the same total variance, lives in so many dimensions [2]."""
    return LatentGaussian(model.gaussian.eigenvalues, resolve_noise("ml", model.spectrum, dim), dim)
