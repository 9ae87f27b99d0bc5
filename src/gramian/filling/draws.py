"""Completed tables that carry the uncertainty of the holes: parameters of their own, then a draw of what is missing [16]."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import row_hashes
from gramian.filling.calibration import FilledLaws
from gramian.filling.columns import ShownRows
from gramian.latent.missing import MissingFit
from gramian.policy import DRAWS
from gramian.single.primal_stream import PrimalStream


class DrawnTables(FilledLaws):
    """Draws of filled tables. A subclass has ``_calibrated`` and ``categories_``."""

    estimator: Any
    categories_: Any
    _fitted_rows: tuple[int, int] = (0, 0)

    def _is_fitted(self, scaled: Array) -> bool:
        """Whether these are the rows of the fit."""
        return self._fitted_rows == (len(scaled), digest(scaled))

    def _rich_model(self, told: ShownRows) -> Any:
        """The model that draws come from: where rows are many, one that holds every association, as an analysis of the filled tables may ask for
        any of them and what is shrunk here is missed there; else the fitted one."""
        fitted, (n, d) = self.estimator_, told.scaled.shape
        plain = isinstance(fitted, PrimalStream) and self.estimator is None and told.known is None
        if not plain or n < DRAWS.rows_per_column * d or d < 2:
            return fitted
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # exact structure, and steps that are enough
            rich = clone(fitted).set_params(n_components=d - 1, noise_variance="ml", max_iter=DRAWS.rich_steps)
            return rich.fit(told.scaled, sample_weight=getattr(self, "row_weights_", None))

    def _drawn(self, told: ShownRows, m: int, rng: np.random.Generator) -> Iterator[tuple[Array, dict[str, Array]]]:
        """m draws of complete features, in the units of the table, each with its draws of categories."""
        same = self._is_fitted(told.scaled)
        model = self._rich_model(told) if same and np.isnan(told.scaled).any() else self.estimator_
        for _ in range(m):
            yield self._one_draw(told, model, same, rng)

    def _one_draw(
        self, told: ShownRows, model: Any, same: bool, rng: np.random.Generator
    ) -> tuple[Array, dict[str, Array]]:
        table, scaled = told.table, told.scaled
        gaps = np.isnan(scaled)
        if gaps.any() and same:
            weights = getattr(self, "row_weights_", np.ones(len(scaled)))
            model = self._reweighted(model, told, weights * rng.standard_exponential(len(scaled)))
        filled, std = self._features(model, told)
        if isinstance(model, PrimalStream):
            drawn = model._drawn(scaled, 1, model._small_sample(), rng, told.known)[0]
        else:
            drawn = filled + std * rng.standard_normal(filled.shape)
        features = np.where(gaps, drawn if same else filled + (drawn - filled) * self.std_scales_, scaled)
        if told.known is not None and told.known.interval is not None:
            features = np.fmin(features, told.known.interval.high)
        texts = {}
        if self._coding is not None:
            for name, chances in self._calibrated(self._unscaled(filled)).items():
                picked = (rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
                texts[name] = np.array(self.categories_[name], dtype=object)[np.minimum(picked, chances.shape[1] - 1)]
        return np.where(np.isnan(table), self._unscaled(features), table), texts

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
