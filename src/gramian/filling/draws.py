"""Completed tables that carry the uncertainty of the holes: parameters of their own, then a draw of what is missing [16]."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import row_hashes
from gramian.filling.calibration import FilledLaws
from gramian.filling.columns import ShownRows
from gramian.latent.augmentation import LEAST, FilledDraw, draw_filled
from gramian.latent.missing import MissingFit
from gramian.policy import DRAWS
from gramian.single.primal_stream import PrimalStream


class DrawnTables(FilledLaws):
    """Draws of filled tables. A subclass has ``_calibrated`` and ``categories_``."""

    estimator: Annotated[Any, "maybe model"]
    categories_: Any
    _fitted_rows: tuple[int, int] = (0, 0)

    def _is_fitted(self, scaled: Array) -> bool:
        """Whether these are the rows of the fit."""
        return self._fitted_rows == (len(scaled), digest(scaled))

    def _drawn(self, told: ShownRows, m: int, rng: np.random.Generator) -> Iterator[tuple[Array, dict[str, Array]]]:
        """m draws of complete features, in the units of the table, each with its draws of categories."""
        laws, std = self._augmented(told, rng) or self._resampled(told, rng), self._law(told)[1]
        for law in islice(laws, m):
            texts = {}
            if self._coding is not None:
                for name, chances in self._calibrated(self._unscaled(law.mean), std).items():
                    picked = (rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
                    texts[name] = np.array(self.categories_[name], dtype=object)[
                        np.minimum(picked, chances.shape[1] - 1)
                    ]
            yield np.where(np.isnan(told.table), told.below_limits(self._unscaled(law.drawn)), told.table), texts

    def _augmented(self, told: ShownRows, rng: np.random.Generator) -> Iterator[FilledDraw] | None:
        """Where rows are many, by a Gaussian that holds every association: an analysis of the filled tables may ask for any of them, and
        what the fitted model leaves out is missed there. None elsewhere."""
        fitted, (n, d) = self.estimator_, told.scaled.shape
        plain = isinstance(fitted, PrimalStream) and self.estimator is None and told.known is None
        if not plain or not self._is_fitted(told.scaled) or not np.isnan(told.scaled).any():
            return None
        weights = getattr(self, "row_weights_", np.ones(n))
        if weights.sum() < DRAWS.rows_per_column * d or d < 2:
            return None
        covariance = fitted.loadings_ @ fitted.loadings_.T + np.diag(np.broadcast_to(fitted.noise_variance_, d))
        least = LEAST * np.trace(covariance) / d
        return draw_filled(
            told.scaled, weights, fitted.mean_, covariance + least * np.eye(d), rng, DRAWS.first_turns, DRAWS.turns
        )

    def _resampled(self, told: ShownRows, rng: np.random.Generator) -> Iterator[FilledDraw]:
        """The fitted model, a few steps on with weights of a bootstrap; of other rows as it is."""
        same, gaps = self._is_fitted(told.scaled), np.isnan(told.scaled)
        model = self.estimator_
        while True:
            if gaps.any() and same:
                weights = getattr(self, "row_weights_", np.ones(len(gaps)))
                model = self._reweighted(self.estimator_, told, weights * rng.standard_exponential(len(gaps)))
            filled, std = self._features(model, told)
            if isinstance(model, PrimalStream):
                drawn = model._drawn(told.scaled, 1, model._small_sample(), rng, told.known)[0]
            else:
                drawn = filled + std * rng.standard_normal(filled.shape)
            features = np.where(gaps, drawn if same else filled + (drawn - filled) * self.std_scales_, told.scaled)
            if told.known is not None and told.known.interval is not None:
                features = np.fmin(features, told.known.interval.high)
            yield FilledDraw(features, filled)

    def _reweighted(self, fitted: Any, told: ShownRows, weights: Array) -> Any:
        """The model a few steps from the fitted one, with these weights of rows."""
        model = clone(fitted).set_params(max_iter=DRAWS.steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is not to converge
            if not isinstance(model, PrimalStream):
                return model.fit(told.scaled, sample_weight=weights)
            model.set_params(n_components=int(fitted.n_components_))
            start = MissingFit(fitted.mean_, fitted.loadings_, fitted.noise_variance_, [], 0, True)
            begin = start if np.all(fitted.noise_variance_ > 0) else None
            return model._fit(told.scaled, weights, begin, known=told.known)


def digest(rows: Array) -> int:
    """A number that tells these rows, in this order, from others."""
    places = 2 * np.arange(len(rows), dtype=np.uint64) + 1
    with np.errstate(over="ignore"):
        return int(np.bitwise_xor.reduce(row_hashes(rows) * places)) >> 1 if len(rows) else 0
