"""Quantiles of a mixture of Student laws, some of them of logarithms [12]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import stdtr, stdtrit

from gramian._arrays import Array

GRID = np.sinh(np.linspace(-9.0, 9.0, 721))
"""Where the distribution function of a law is tabulated, in units of its scale: a look-up costs a tenth of the function."""


@dataclass(frozen=True)
class Laws:
    """Student laws (..., G) of one number of degrees of freedom, or of several (..., G); ``log``: of logarithms."""

    mean: Array
    scale: Array
    degrees: float | Array
    log: bool

    def distribution(self, values: Array) -> Array:
        """(..., G) at values (...)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.log(np.maximum(values, 0.0)) if self.log else values
            z = (x[..., None] - self.mean) / self.scale
        z = np.where(np.isnan(z), 0.0, z)
        if isinstance(self.degrees, float):
            return np.interp(z, GRID, _table(self.degrees), left=0.0, right=1.0)
        return np.asarray(stdtr(self.degrees, z))

    def quantile(self, level: float) -> Array:
        """(..., G)."""
        found = self.mean + self.scale * stdtrit(self.degrees, level)
        return np.exp(np.minimum(found, np.log(np.finfo(float).max))) if self.log else found


@lru_cache(maxsize=64)
def _table(degrees: float) -> Array:
    return np.asarray(stdtr(degrees, GRID))


def mixture_quantiles(laws: Sequence[Laws], shares: Sequence[Array], levels: Array) -> Array:
    """Quantiles (n_levels, ...) of the mixture with shares (..., G) of each table of laws.

    The quantile lies between the least and the greatest of its parts; regula falsi with halved ends (Illinois) closes in on it.
    """
    found = []
    for level in levels:
        ends = np.concatenate([part.quantile(float(level)) for part in laws], axis=-1)
        low, high = ends.min(axis=-1), ends.max(axis=-1)
        found.append(_root(laws, shares, float(level), low, high))
    return np.array(found)


def _root(
    laws: Sequence[Laws], shares: Sequence[Array], level: float, low: Array, high: Array, steps: int = 48
) -> Array:
    def excess(values: Array) -> Array:
        return np.asarray(
            sum((part.distribution(values) * share).sum(axis=-1) for part, share in zip(laws, shares)) - level
        )

    below, above = excess(low), excess(high)
    size = np.maximum(np.abs(low), np.abs(high)) * 1e-9 + np.finfo(float).tiny
    middle = 0.5 * (low + high)
    for _ in range(steps):
        if ((high - low <= size) | (np.abs(excess_now := excess(middle)) < 1e-6)).all():
            break
        falls = excess_now < 0
        below, above = np.where(falls, excess_now, 0.5 * below), np.where(falls, 0.5 * above, excess_now)
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
        with np.errstate(divide="ignore", invalid="ignore"):
            guess = (low * above - high * below) / (above - below)
        inside = (guess > low) & (guess < high)
        middle = np.where(inside, guess, 0.5 * (low + high))
    return middle
