"""What estimating the parameters from few rows adds to a predictive variance [12].

Column j was seen by n_j rows. Its loading and mean are a regression on q + 1 quantities, so the plug-in variance is multiplied by
n_j / ν_j (degrees of freedom, ν_j = n_j - q - 1) and by 1 + (1 + |E z|²) / n_j (leverage), and the law is Student's with ν_j.
Standard deviations are given such that 1.645 of them cover 90 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from gramian._arrays import Array
from gramian.policy import DEFAULTS


def _student_share(degrees: Array) -> Array:
    """How much wider Student's 90 % interval is than the normal one."""
    level = 0.5 + DEFAULTS.cover / 2
    return np.asarray(stdtrit(degrees, level) / ndtri(level))


def degrees_of_freedom(counts: Array, n_components: int) -> Array:
    """ν_j = max(n_j - q - 1, 1)."""
    return np.maximum(np.asarray(counts, dtype=np.float64) - n_components - 1, 1.0)


def inflation(counts: Array, n_components: int, latents: Array) -> tuple[Array, Array]:
    """The factor (n, d) of the plug-in variances of rows with latents E z (n, q), and the degrees of freedom (d,).

    >>> import numpy as np
    >>> factor, degrees = inflation(np.array([1e9, 20.0]), 3, np.zeros((1, 3)))
    >>> factor.round(2), degrees
    (array([[1.  , 1.48]]), array([9.99999996e+08, 1.60000000e+01]))
    """
    degrees = degrees_of_freedom(counts, n_components)
    leverage = 1.0 + (1.0 + np.square(latents).sum(axis=1)[:, None]) / counts
    widening = np.square(_student_share(degrees))
    return counts / degrees * leverage * widening, degrees


def draw_factors(degrees: Array | None, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """What turns normal deviations of the widened standard deviation into Student's (…, d); ones where the law is normal."""
    if degrees is None:
        return np.ones(shape[-1])
    spread = np.sqrt(degrees / rng.chisquare(np.broadcast_to(degrees, shape)))
    return np.asarray(spread / _student_share(degrees))


@dataclass(frozen=True)
class SmallSample:
    """The correction of a model of q components whose column j was seen by rows of weight n_j."""

    counts: Array  # n_j, (d,)
    n_components: int

    def cell_variance(self, signal: Array, noise: Array | float, latents: Array) -> Array:
        """Of a cell, from the plug-in variances of its signal and its noise."""
        return (signal + noise) * inflation(self.counts, self.n_components, latents)[0]

    def signal_variance(
        self, signal: Array, noise: Array | float, latents: Array, unseen: Array | None = None
    ) -> Array:
        """Of μ + Wz, without the noise; ``unseen`` (n, d) says which cells the rows do not show, None that they show all.

        What the mean and the loadings of a column are wrong by moves a cell by (1 + |E z|²) / n_j of the variance that its row leaves open.
        Where the cell is unseen that is its signal's and its noise's. Where it is seen, the signal was found with it: of the noise a share
        h = signal / noise is taken for signal already, and 1 - h of it is left for the error of the loadings to add.
        """
        factor, degrees = inflation(self.counts, self.n_components, latents)
        own = self.counts / degrees * np.square(_student_share(degrees))
        open_to = noise - signal if unseen is None else np.where(unseen, noise + signal, noise - signal)
        return np.asarray(own * signal + (factor - own) * np.maximum(open_to, 0.0))

    def stretched(self, deviations: Array, latents: Array, rng: np.random.Generator) -> Array:
        """Plug-in deviations (..., n, d) made draws of the corrected law."""
        factor, degrees = inflation(self.counts, self.n_components, latents)
        return np.asarray(deviations * np.sqrt(factor) * draw_factors(degrees, deviations.shape, rng))
