"""What a fitted mixture of kernel PPCAs says of rows: distances to its components, and rows and draws by pre-images [4, 6]."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype, has_nan, row_chunks
from gramian._checks import check_table
from gramian._types import Table
from gramian.kernels.precomputed import check_diagonal
from gramian.latent.gaussian import Projection
from gramian.latent.model import LatentModel
from gramian.mixtures.answers import MixtureMixin
from gramian.mixtures.kernel_component import least_diagonal, project_rows
from gramian.policy import SIZES
from gramian.preimage import inputs_of, warn_unsettled
from gramian.rows import lazily
from gramian.single.answers import BaseEstimator
from gramian.single.input_holes import InputHoles


class DualMixture(InputHoles, MixtureMixin, BaseEstimator):
    """The methods of `KernelPPCAMixture` once it is fitted."""

    _components: Annotated[list[LatentModel[Any]], "k"]
    _columns: Annotated[Array | None, "#d *"]
    _gram: Annotated[Array | None, "* *"]
    _width: Annotated[int, "width"]
    X_fit_: Annotated[Any | None, "* *"]
    preimage_: Annotated[Any | None, "Preimage"]
    noise_variance_: Annotated[float, "nonnegative"]

    @property
    def _fitted_dtype(self) -> np.dtype[Any]:
        return float_dtype(self.X_fit_)

    @property
    def _n_features_out(self) -> int:
        return int(self._width)

    def _check_rows(self, X: Table) -> Array:
        check_is_fitted(self)
        return np.asarray(check_table(self, X, reset=False, missing=self._columns is None))

    def _project(self, X: Array, diagonal: Array | None = None, **options: Any) -> list[Projection]:
        if self._columns is not None:
            X = X[:, self._columns]
            if diagonal is None:
                diagonal = least_diagonal(self._components, X)
            return project_rows(self._components, X, diagonal)
        if not has_nan(X):
            return project_rows(self._components, self._in_units(X), diagonal)

        def flat(rows: Array) -> tuple[Array]:
            seen = project_rows(self._components, self._in_units(rows))
            return (np.hstack([column for part in seen for column in (part.scores, part.squared_norm[:, None])]),)

        # scores and squared norms are linear in what a row may be in feature space: their expectations are those of its law
        (values,) = self._expected_answers(X, flat)
        ends = np.cumsum([model.gaussian.n_components + 1 for model in self._components])[:-1]
        return [
            Projection(part[:, :-1], part[:, -1], model.gaussian.dim)
            for part, model in zip(np.split(values, ends, axis=1), self._components)
        ]

    @lazily
    def score_samples(self, X: Table, diagonal: Table | None = None) -> Array:
        """log Σ_i m_i exp(-L^_i(x)/2): the log-density but for the constant of the noise's space [6].

        ``diagonal`` is k(y, y) of the rows, with a precomputed kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        diagonal : array-like of shape (n_samples,), optional
            k(y, y) of the rows, with a precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logarithms, up to one constant for all rows.

        Examples
        --------
        >>> from gramian import KernelPPCAMixture
        >>> from gramian.datasets import make_c_shapes
        >>> from gramian.kernels import RBF
        >>> X, shape = make_c_shapes(60, random_state=0)
        >>> model = KernelPPCAMixture(n_components=2, kernel=RBF(8.0), random_state=0)
        >>> model.fit(X).score_samples(X).shape
        (60,)
        """
        X = self._check_rows(X)
        checked = check_diagonal(diagonal, len(X), "score_samples", precomputed=self._columns is not None)
        return self._log_likelihoods(X, diagonal=checked).astype(float_dtype(X), copy=False)

    # ------------------------------------------------------------ back to inputs

    def _chunk_rows(self) -> int:
        """Rows at a time whose kernel values fit into the memory meant for a chunk."""
        return max(1, SIZES.chunk // 8 // self._components[0].subspace.size)

    def _rebuilt(self, seen: list[Projection], shares: Array, kind: str) -> Array:
        self._require_preimage()
        size = self._components[0].subspace.size
        parts = []
        for rows in row_chunks(len(shares), self._chunk_rows()):
            weights = np.zeros((rows.stop - rows.start, size))
            values = np.zeros_like(weights)
            for model, part, share in zip(self._components, seen, shares[rows].T):
                gaussian = model.gaussian
                scores = part.scores[rows]
                if kind == "map":
                    scores = gaussian.decode(gaussian.posterior(part[rows]).mean)
                weights += share[:, None] * model.subspace.embed(scores)
                values += share[:, None] * model.subspace.kernel_values(scores)
            parts.append(self._preimages(weights, values))
        return np.concatenate(parts)

    def _drawn(self, which: int, count: int, noise: bool, rng: np.random.Generator) -> Array:
        self._require_preimage()
        model = self._components[which]
        scores = model.gaussian.decode(rng.standard_normal((count, model.gaussian.n_components)))
        weights, values = model.subspace.embed(scores), model.subspace.kernel_values(scores)
        if noise:
            # a precomputed Gram matrix is kept once, not with every component
            subspace = model.subspace if self._gram is None else replace(model.subspace, gram=self._gram)
            unit = subspace.unit_noise(count, rng)
            level = np.sqrt(self.noise_variance_)
            weights, values = weights + level * unit.weights, values + level * unit.values
        return self._preimages(weights, values)

    def _require_preimage(self) -> None:
        if self.preimage_ is None:
            raise ValueError(
                "There are no pre-images with a precomputed kernel unless fit(K, inputs=X) was given the inputs."
            )

    def _preimages(self, weights: Array, values: Array) -> Array:
        rows, info = inputs_of(self.preimage_, weights, values)
        warn_unsettled(info)
        return rows
