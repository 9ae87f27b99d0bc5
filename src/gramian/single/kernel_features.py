"""KernelPPCA by features, Nystroem or random: sums over rows that need not be in memory, and no Gram matrix [3, 13]."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import is_count
from gramian._types import Batches
from gramian.exceptions import NumericalWarning, warn
from gramian.features import approximation_of
from gramian.kernels.gram_checks import warn_of_offset
from gramian.latent.feature_moments import draw_rows, feature_moments
from gramian.latent.feature_subspace import AnchoredSubspace, FeatureSubspace, NystroemSubspace
from gramian.latent.model import LatentModel, fit_latent_model
from gramian.latent.sample import MomentSample, kernel_rank
from gramian.policy import DEFAULTS, KERNELS, LOOK
from gramian.rows import BatchRows, Rows
from gramian.single.answers import BaseEstimator, atomic, keep_columns
from gramian.single.kernel_fit import resolved_kernel
from gramian.single.kernel_held_out import HeldOutRows
from gramian.single.kernel_holes import KernelHolesMixin

ADVICE = "Use approximation='nystroem', which is fitted in sums over rows"


class KernelFeatures(KernelHolesMixin, BaseEstimator):
    """The fit of `KernelPPCA` with an approximation.

    A subclass provides ``_begin``, ``_solver``, ``_dimension``, ``_raw_gram`` and ``_as_the_rows``.
    """

    approximation: Any
    n_landmarks: int | None
    noise_dim: Any
    noise_variance: Any
    tol: float

    @atomic
    def fit_batches(self, source: Batches) -> Self:
        """Fit on all rows of batches, out of core, with an approximation; equal to `fit` on the concatenated rows [3, 13].

        Parameters
        ----------
        source : list, other iterable that can be read again, or function that opens an iterator
            A batch is an array, a frame or an Arrow batch, or (X, sample_weight).

        Returns
        -------
        KernelPPCA

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import numpy as np
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data
        >>> model = KernelPPCA(n_components=2, approximation="nystroem", n_landmarks=20)
        >>> batched = model.fit_batches([X[:50], X[50:]]).explained_variance_
        >>> np.allclose(batched, model.fit(X).explained_variance_)
        True
        """
        self._begin()
        if self.approximation is None:
            raise ValueError(f"fit_batches needs an approximation, but approximation=None. {ADVICE}.")
        return self._fit_rows(BatchRows.of(source, missing=False))

    def _fit_rows(self, rows: Rows) -> Self:
        """Rows that are only summed over: batches that can be read again, Dask."""
        keep_columns(self, rows)
        self._fit_features(rows)
        return self

    def _fit_features(self, rows: Rows) -> None:
        """Nyström or random features: primal moments of φ̂(x), summed over blocks of rows; no rows but the drawn ones are kept."""
        approximation = "nystroem" if self.approximation is None else self.approximation
        named = isinstance(approximation, str)
        usual = LOOK.rows if self.approximation is None else KERNELS.landmarks  # not asked for: all that q is chosen on
        count = self.n_landmarks if self.n_landmarks is not None else usual
        drawn = rows.fold(draw_rows, max(count, LOOK.rows))
        if len(drawn.rows.weights) == 0 or drawn.n_rows < 2:
            raise ValueError(
                f"Found array with {drawn.n_rows} sample(s) of positive weight while a minimum of 2 is required."
            )
        self.kernel_ = resolved_kernel(self.kernel, self._inputs_of(drawn.rows.rows))
        source = HeldOutRows(drawn.rows.rows, drawn.rows.weights)
        feature_map = self._feature_map(approximation, count, drawn.n_rows) if named else clone(approximation)
        feature_map = feature_map.fit(source.rows, sample_weight=source.weights)
        moments = feature_moments(feature_map, rows, drawn.n_rows, float(self.tol))
        sample = MomentSample(moments, drawn.n_rows, self.center)
        if is_count(self.noise_dim):
            sample = replace(sample, noise_dim=float(self.noise_dim))
        elif self.noise_dim == "rank":
            sample = replace(sample, noise_dim=float(kernel_rank(sample.operator())))

        def gram_of(part: HeldOutRows) -> Array:
            features = np.asarray(feature_map.transform(part.rows), dtype=np.float64)
            return features @ features.T

        solver = self._solver()
        # an approximation by name stands for the kernel, and q is the kernel's; few features leave no noise to tell q by
        q = self._dimension(source, *((self._raw_gram, None) if named else (gram_of, sample.dim)), whole=False)
        model = fit_latent_model(sample, q, solver, self.noise_variance, default_fraction=DEFAULTS.explained)
        self.solver_, self.solver_reason_ = solver.used, solver.reason
        if self.approximation is None:
            self.solver_reason_ += (
                f"; {drawn.n_rows:,} rows are seen from {count:,} landmarks (Nystroem), since q was left open: give n_components for the "
                "exact model"
            )
        if self.center:
            variance = model.spectrum.trace
            size = variance + float(moments.mean @ moments.mean)
            warn_of_offset(self.kernel_, size, variance)
        kept = source.smallest(LOOK.rows)
        self._weights, self._held = None, (kept.rows, kept.weights)
        kind: type[FeatureSubspace] = AnchoredSubspace
        if hasattr(feature_map, "landmark_weights"):
            kind, points = NystroemSubspace, feature_map.landmarks_
        else:
            points = kept.rows
        features = np.asarray(feature_map.transform(points), dtype=np.float64)
        self.X_fit_ = self._inputs_of(points)
        subspace = kind(feature_map, model.subspace, points, features)
        self._store_features(LatentModel(subspace, model.gaussian, model.spectrum))
        self._fit_preimage()

    def _store_features(self, model: LatentModel[FeatureSubspace]) -> None:
        self._store(model)
        self.eigenvectors_ = model.spectrum.eigenvectors
        axes = model.subspace.primal.components.T * model.gaussian.gains
        self.dual_coef_ = np.asarray(model.subspace.noise_weights(axes.T)).T
        self._as_the_rows()

    def _feature_map(self, approximation: str, count: int, n_rows: int) -> Any:
        if self.n_landmarks is not None and approximation == "nystroem" and count > n_rows:
            warn(
                f"n_landmarks={count} exceeds the {n_rows} training rows; {n_rows} landmarks are used.",
                NumericalWarning,
            )
        count = min(count, n_rows) if approximation == "nystroem" else count
        return approximation_of(approximation, self._row_kernel, count, self.random_state)
