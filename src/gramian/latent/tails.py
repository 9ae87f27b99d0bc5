"""Columns in units in which their middle is normal and their tails no heavier than that of a normal law [14].

On each side of its median a column is u e^{bu} for a normal u: b = 0 is the normal law itself, and a lognormal column has about half of its
deviation. b and the unit follow from two quantiles of the distances on that side, and u = W(b x) / b with Lambert's W. A count of
thirty among ones is then no wilder than its column says, and a slipped decimal point in a quiet column still is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy.special import lambertw, ndtri

from gramian._arrays import Array
from gramian._quantiles import weighted_quantile
from gramian.latent.wild_cells import medians
from gramian.policy import LOOK, ROBUST

SIDES = (1.0, -1.0)
LEAST_BEND = 1e-6
"""Below, a side is a line to six digits, and W(bx) / b has fewer."""


@dataclass(frozen=True)
class Tails:
    """The ``middle`` (d,) of each column, and of each side, above first, its ``bends`` b and ``units`` (2, d); u is told over ``scale`` (d,)."""

    middle: Annotated[Array, "d"]
    bends: Annotated[Array, "+ * d"]
    units: Annotated[Array, "++ * d"]
    scale: Annotated[Array, "++ d"]

    @classmethod
    def of(cls, X: Array, weights: Array, share: float = 0.0, doubt: float = 0.0) -> Tails:
        """Of a table with NaN in the holes; of each side the farthest ``share`` may be wild. A bend is believed by what it is beyond ``doubt`` standard errors.

        >>> import numpy as np
        >>> z = np.random.default_rng(0).standard_normal((2000, 1))
        >>> tails = Tails.of(np.hstack([z, np.exp(z)]), np.ones(2000))
        >>> tails.bends.round(1).tolist()
        [[0.0, 0.6], [0.0, 0.0]]
        >>> tails.into(np.array([[8.0, np.exp(2.0)]])).round().tolist()
        [[8.0, 2.0]]
        """
        middle, deviation = medians(X, weights)
        units = np.tile(np.where(deviation > 0, deviation, 1.0), (2, 1))
        bends = np.zeros_like(units)
        levels = np.array([0.5, ROBUST.tail])
        near, far = ndtri(0.5 + 0.5 * levels)
        for side, sign in enumerate(SIDES):
            distances = sign * (X - middle)
            for j, column in enumerate(np.where(distances > 0, distances, np.nan).T):
                if np.count_nonzero(~np.isnan(column)) < LOOK.fewest // 2:
                    continue
                inner, outer = (
                    weighted_quantile(column, weights, level * (1.0 - share), halfway=True) for level in levels
                )
                error = 1.0 / np.sqrt(
                    np.count_nonzero(~np.isnan(column))
                )  # of the logarithm that follows, of a normal side
                bends[side, j] = max((np.log(outer * near / (inner * far)) - doubt * error) / (far - near), 0.0)
                units[side, j] = max(inner / near * np.exp(-bends[side, j] * near), np.finfo(float).tiny)
        return cls(middle, bends, units, np.ones(len(middle)))

    def told_over(self, scale: Array) -> Tails:
        """The same, with u over a scale."""
        return replace(self, scale=self.scale * scale)

    def into(self, X: Array) -> Array:
        """The u of every cell, over the scale; NaN stays, and no cell is so far that its square leaves float64."""
        found = np.zeros(X.shape)
        with np.errstate(over="ignore"):
            centred = X - self.middle
            for sign, bends, units in zip(SIDES, self.bends, self.units):
                away = np.maximum(sign * centred, 0.0) / units
                bent = bends > LEAST_BEND
                away[:, bent] = (
                    lambertw(np.minimum(bends[bent] * away[:, bent], np.finfo(float).max)).real / bends[bent]
                )
                found += sign * away
            found /= self.scale
        farthest = np.sqrt(np.finfo(float).max) / 2**20
        return np.clip(found, -farthest, farthest)
