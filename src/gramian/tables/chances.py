"""Probabilities of categories: where cells of each lie when the rest of their row is asked, held to what they promise on hidden cells [15]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian._precision import SEEN

TEMPERATURES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)
WEIGHTS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7)
"""What is tried; below the smallest weight a category that was never expected would cost without limit."""


@dataclass(frozen=True)
class Chances:
    """p = (1 - w) p_law^(1/T) / Σ + w shares, with p_law ∝ shares N(place; center of the category, spread).

    The place of a cell is what the rest of its row says of the coordinates of its category. Laws of places are what discriminant analysis is
    in the space of the rest: categories between others are told, too, which no place is nearest to the corner of.
    """

    shares: Annotated[Array, "++ k"]
    centers: Annotated[Array, "k c"]
    precision: Annotated[Array, "c c"]
    temperature: Annotated[float, "positive"] = 1.0
    weight: Annotated[float, "nonnegative"] = 1.0

    def __call__(self, places: Array) -> Array:
        """Calibrated probabilities of categories at places (n, c), (n, K)."""
        return self._mixed(self.log_law(places))

    def log_law(self, places: Array) -> Array:
        """ln p_law up to a constant of each row, (n, K)."""
        off = places[:, None, :] - self.centers
        found = np.log(self.shares) - 0.5 * np.einsum("nkc,cb,nkb->nk", off, self.precision, off)
        return np.asarray(found - found.max(axis=1, keepdims=True))

    def _mixed(self, log_law: Array) -> Array:
        sharp = np.exp(log_law / self.temperature)
        return np.asarray((1 - self.weight) * sharp / sharp.sum(axis=1, keepdims=True) + self.weight * self.shares)

    @classmethod
    def of(cls, places: Array, codes: Array, count: int) -> Chances:
        """The laws of ``count`` categories from places (n, c) of cells whose category is known; not calibrated, so the plain shares.

        One more row, at the mean of all and with their spread, belongs to every category: so few cells make no center, and no exact place.
        """
        counts, mean = np.bincount(codes, minlength=count), places.mean(axis=0)
        sums = np.zeros((count, places.shape[1]))
        np.add.at(sums, codes, places)
        centers = (sums + mean) / (counts + 1)[:, None]
        within, around = places - centers[codes], places - mean
        spread = (within.T @ within + around.T @ around / len(places)) / (len(places) + 1)
        shares = (counts + 0.5) / (len(places) + 0.5 * count)
        return cls(shares, centers, np.linalg.pinv(spread, rcond=SEEN, hermitian=True))

    def held_to(self, log_law: Array, codes: Array) -> Chances:
        """With the temperature and the weight of the least log-loss on hidden cells; the shares alone, unless that is better by one standard error.

        Parameters
        ----------
        log_law : array of shape (n, K)
            What laws that had not seen these cells said of them.
        codes : array of shape (n,)
            Which category each was.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> codes = rng.integers(2, size=400)
        >>> told, nothing = codes[:, None] + rng.standard_normal((400, 1)), rng.standard_normal((400, 1))
        >>> found = [Chances.of(each, codes, 2) for each in (told, nothing)]
        >>> [each.held_to(each.log_law(places), codes).weight for each, places in zip(found, (told, nothing))]
        [0.02, 1.0]
        """
        plain = replace(self, weight=1.0)
        if len(codes) < 2:
            return plain
        rows = np.arange(len(codes))
        before = -np.log(self.shares[codes])
        tried = [replace(self, temperature=float(t), weight=float(w)) for t in TEMPERATURES for w in WEIGHTS]
        losses = [-np.log(each._mixed(log_law)[rows, codes]) for each in tried]
        best = int(np.argmin([loss.mean() for loss in losses]))
        gain = before - losses[best]
        worth = gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain))
        return tried[best] if worth else plain
