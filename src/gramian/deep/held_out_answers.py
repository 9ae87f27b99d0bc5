"""Answers of the model on trained maps: views with deviations in input units, from rows that the maps have not seen [8, 11]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian.deep.intervals import HeldOutError, error_of, held_out_errors
from gramian.views.answers import Prediction, ViewAnswers
from gramian.views.tables import ViewRows


@dataclass(frozen=True)
class HeldOutPrediction(Prediction):
    """A predicted view whose draws carry, beside the spread of the latents, the noise that held-out rows show."""

    noise: Array


@dataclass(frozen=True)
class CalibratedViewAnswers(ViewAnswers):
    """The answers of `MultiViewRKM`; deviations and draws of views are by held-out errors where these were measured."""

    errors: Sequence[HeldOutError] = ()

    def predicted(self, rows: ViewRows, v: int, *, small_sample: bool) -> Prediction:
        """View v given the others; ``small_sample=False``, or nothing held out: as `MultiViewRKM`."""
        if not small_sample or not self.errors:
            return super().predicted(rows, v, small_sample=small_sample)
        posterior = self.posterior(rows, v)
        mean = self.inputs(v, posterior.mean)
        std, noise = np.zeros(mean.shape), np.zeros(mean.shape)
        for pattern in np.unique(rows.seen, axis=0):
            found = error_of(self.errors, tuple(np.flatnonzero(pattern).tolist()), v)
            if found is not None:
                here = (rows.seen == pattern).all(axis=1)
                std[here], noise[here] = found.std, found.noise
        return HeldOutPrediction(mean, std, posterior, None, noise)

    def draws(self, found: Prediction, v: int, n_draws: int, rng: np.random.Generator) -> Array:
        """(n_draws, n, d) draws of view v: posterior draws of the latents, decoded, and noise."""
        if not isinstance(found, HeldOutPrediction):
            return super().draws(found, v, n_draws, rng)
        rows = self.inputs(v, found.posterior.sample(n_draws, rng))
        return np.asarray(rows + found.noise * rng.standard_normal(rows.shape))

    def measured(self, views: list[Array], seen: Array) -> list[HeldOutError]:
        """What every view misses of rows that the maps have not seen, whatever other views are shown."""

        def predict(given: list[Array], v: int) -> Array:
            return self.inputs(v, self.posterior(ViewRows.of(given), v).mean)

        def spread(given: list[Array], v: int, n_rows: int = 512, n_draws: int = 8) -> Array:
            few = ViewRows.of([view[:n_rows] for view in given])
            draws = self.inputs(v, self.posterior(few, v).sample(n_draws, np.random.default_rng(0)))
            return np.asarray(draws.var(axis=0, ddof=1).mean(axis=0))

        return held_out_errors([np.asarray(view, dtype=np.float64) for view in views], seen, predict, spread)
