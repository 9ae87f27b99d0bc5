"""Probabilities of categories, held to what they promise on hidden cells, and never far from the plain shares [15]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gramian._arrays import Array

TEMPERATURES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)
WEIGHTS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7)
"""What is tried; below the smallest weight a category that was never expected would cost without limit."""


@dataclass(frozen=True)
class Chances:
    """p = (1 - w) p_model^(1/T) / Σ + w shares."""

    shares: Annotated[Array, "++ k"]
    temperature: Annotated[float, "positive"] = 1.0
    weight: Annotated[float, "nonnegative"] = 1.0

    def __call__(self, raw: Array) -> Array:
        """Calibrated probabilities of categories, from those of the model, (n, K)."""
        if self.weight == 1.0:
            return np.broadcast_to(self.shares, raw.shape).copy()
        sharp = np.power(np.clip(raw, 1e-12, None), 1 / self.temperature)
        sharp /= sharp.sum(axis=1, keepdims=True)
        return np.asarray((1 - self.weight) * sharp + self.weight * self.shares)

    @classmethod
    def of(cls, shares: Array, raw: Array, codes: Array) -> Chances:
        """The temperature and the weight of the least log-loss on hidden cells; the shares alone, unless that is better by one standard error.

        Parameters
        ----------
        shares : array of shape (K,)
            Of the categories among all observed cells.
        raw : array of shape (n, K)
            What models that had not seen these cells said of them.
        codes : array of shape (n,)
            Which category each was.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> codes = rng.integers(2, size=400)
        >>> told = np.where(codes == 1, 0.8, 0.2)
        >>> found = Chances.of(np.array([0.5, 0.5]), np.column_stack([1 - told, told]), codes)
        >>> bool(found.weight < 0.1), Chances.of(np.array([0.5, 0.5]), rng.dirichlet([1, 1], 400), codes).weight
        (True, 1.0)
        """
        plain = cls(shares)
        if len(codes) < 2:
            return plain
        rows = np.arange(len(codes))
        before = -np.log(plain(raw)[rows, codes])
        tried = [cls(shares, float(t), float(w)) for t in TEMPERATURES for w in WEIGHTS]
        losses = [-np.log(each(raw)[rows, codes]) for each in tried]
        best = int(np.argmin([loss.mean() for loss in losses]))
        gain = before - losses[best]
        worth = gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain))
        return tried[best] if worth else plain
