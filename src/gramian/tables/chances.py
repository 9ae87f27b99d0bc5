"""Probabilities of categories: where cells of each lie when the rest of their row is asked, held to what they promise on hidden cells [15]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian._precision import SEEN, TINY
from gramian.policy import JURY

TEMPERATURES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)
WEIGHTS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7)
"""What is tried; below the smallest weight a category that was never expected would cost without limit."""


@dataclass(frozen=True)
class Chances:
    """p ∝ (1 - w) shares e^{evidence / T} / Σ + w shares, with evidence = ln N(place; center of the category, spread).

    The place of a cell is what the rest of its row says of the coordinates of its category, and its variance what that leaves open. Laws of places
    are what discriminant analysis is in the space of the rest: categories between others are told, too, which no place is nearest to the corner of. They are those of
    rows that leave open as much as the cells of the laws did; a row that says nothing gives the shares.
    """

    shares: Annotated[Array, "++ k"]
    middle: Annotated[Array, "c"]  # the place of a row that says nothing
    centers: Annotated[Array, "k c"]  # of the places of each category, about the middle
    precision: Annotated[Array, "c c"]
    variance: Annotated[float, "positive"]  # that the rest left open, on the average
    told: Annotated[float, "positive"]  # what a row that says nothing leaves open beyond that
    temperature: Annotated[float, "positive"] = 1.0
    weight: Annotated[float, "nonnegative"] = 1.0

    def __call__(self, places: Array, variances: Array) -> Array:
        """Calibrated probabilities of categories at places (n, c) with their variances (n,), (n, K)."""
        return self._mixed(self.evidence(places, variances))

    def evidence(self, places: Array, variances: Array) -> Array:
        """What places say for each category, up to a constant of each row, (n, K): with R left open of Σ, a place y speaks for a center c by c R⁻¹ y - c (R⁻¹ - Σ⁻¹) c / 2."""
        told = np.maximum(1.0 + (self.variance - variances) / self.told, 0.0)  # Σ - R, over that of the laws
        left = np.maximum(variances / self.variance, SEEN)
        pulls = self.centers @ self.precision
        own = told[:, None] * (0.5 * (pulls * self.centers).sum(axis=1))
        return np.asarray(((places - self.middle) @ pulls.T - own) / left[:, None])

    def _mixed(self, evidence: Array) -> Array:
        told = np.log(self.shares) + evidence / self.temperature
        sharp = np.exp(told - told.max(axis=1, keepdims=True))
        return np.asarray((1 - self.weight) * sharp / sharp.sum(axis=1, keepdims=True) + self.weight * self.shares)

    @classmethod
    def of(cls, places: Array, variances: Array, codes: Array, count: int) -> Chances:
        """The laws of ``count`` categories from places (n + 1, c) of n cells whose category is known, and of a row that says nothing; not calibrated.

        One more row, where nothing is said and with the spread of all, belongs to every category: so few cells make no center, and no exact place.
        """
        n, counts, middle = len(codes), np.bincount(codes, minlength=count), places[-1]
        around = places[:-1] - middle
        sums = np.zeros((count, places.shape[1]))
        np.add.at(sums, codes, around)
        centers = sums / (counts + 1)[:, None]
        within = around - centers[codes]
        spread = (within.T @ within + around.T @ around / n) / (n + 1)
        shares = (counts + 0.5) / (n + 0.5 * count)
        variance = max(float(variances[:-1].mean()), SEEN * float(variances[-1]), TINY)
        told = max(float(variances[-1]) - variance, SEEN * variance)
        return cls(shares, middle, centers, np.linalg.pinv(spread, rcond=SEEN, hermitian=True), variance, told)

    def held_to(self, evidence: Array, codes: Array) -> Chances:
        """With the temperature and the weight of the least log-loss on hidden cells; the shares alone, unless that is better by two standard errors.

        Parameters
        ----------
        evidence : array of shape (n, K)
            What laws that had not seen these cells said of them.
        codes : array of shape (n,)
            Which category each was.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> codes = rng.integers(2, size=400)
        >>> told, nothing = codes[:, None] - 0.5 + rng.standard_normal((400, 1)), rng.standard_normal((400, 1))
        >>> left = np.r_[np.full(400, 0.2), 0.4]
        >>> found = [Chances.of(np.r_[each, [[0.0]]], left, codes, 2) for each in (told, nothing)]
        >>> [each.held_to(each.evidence(places, left[:-1]), codes).weight < 1 for each, places in zip(found, (told, nothing))]
        [True, False]
        """
        plain = replace(self, weight=1.0)
        if len(codes) < 2:
            return plain
        rows = np.arange(len(codes))
        before = -np.log(self.shares[codes])
        tried = [replace(self, temperature=float(t), weight=float(w)) for t in TEMPERATURES for w in WEIGHTS]
        losses = [-np.log(each._mixed(evidence)[rows, codes]) for each in tried]
        best = int(np.argmin([loss.mean() for loss in losses]))
        gain = before - losses[best]
        worth = gain.mean() > JURY.clear * gain.std(ddof=1) / np.sqrt(len(gain))
        return tried[best] if worth else plain
