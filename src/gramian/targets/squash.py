"""Far values brought nearer: inputs with heavy tails, whose few far rows would set every distance [12]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian._quantiles import weighted_quantile
from gramian.policy import TARGETS


@dataclass(frozen=True)
class Squash:
    """Columns in robust units, the far ends drawn in: x -> ±(3 + log(1 + |x| - 3)) beyond 3."""

    center: Annotated[Array, "d"]  # medians
    unit: Annotated[
        Array, "+ d"
    ]  # interquartile range over that of the normal law, at most the standard deviation, (d,)

    @classmethod
    def of(
        cls, X: Array, weights: Array, std: Array | None = None, ends: tuple[Array, Array] | None = None
    ) -> Squash | None:
        """From training rows; None where no column has a heavy tail.

        Where these are drawn from more, ``std`` and ``ends`` (least and greatest values) are those of all rows.
        """
        X = np.asarray(X, dtype=np.float64)
        weights = weights / weights.sum()
        low, center, high = (weighted_quantile(X, weights, level) for level in (0.25, 0.5, 0.75))
        if std is None:
            std = np.sqrt(weights @ np.square(X - weights @ X))
        least, greatest = (X.min(axis=0), X.max(axis=0)) if ends is None else ends
        unit = np.minimum((high - low) / 1.349, std)
        unit = np.where(unit > 0, unit, np.where(std > 0, std, 1.0))
        farthest = np.maximum(center - least, greatest - center) / unit
        return cls(center, unit) if farthest.max(initial=0.0) > TARGETS.heavy else None

    def __call__(self, X: Array) -> Array:
        """The rows in robust units, far values drawn in."""
        scaled = (np.asarray(X, dtype=np.float64) - self.center) / self.unit
        size = np.abs(scaled)
        return np.where(
            size > TARGETS.far, np.sign(scaled) * (TARGETS.far + np.log1p(np.maximum(size - TARGETS.far, 0.0))), scaled
        )
