"""The noise variance: maximum likelihood or given, with one rule for zero [2]."""

from __future__ import annotations

from gramian.exceptions import NumericalWarning, warn
from gramian.latent.gaussian import noise_of_each_q
from gramian.solvers.spectrum import Spectrum

ZERO_NOISE = 1e-12
"""A noise below this share of the mean variance is exactly zero."""


class NoiseAboveError(ValueError):
    """A given noise above the smallest kept eigenvalue; ``above``: how many eigenvalues are above it."""

    def __init__(self, noise: float, smallest: float, above: int) -> None:
        super().__init__(
            f"noise_variance={noise:g} exceeds the smallest kept eigenvalue {smallest:g}. "
            f"Keep fewer components ({above} eigenvalues are above {noise:g}) or lower the noise."
        )
        self.above = above


def maximum_likelihood(spectrum: Spectrum, dim: float) -> float:
    """σ² = (tr K - Σ l) / (D - q): needs the trace only, so it serves every solver."""
    return float(noise_of_each_q(spectrum.eigenvalues, spectrum.trace, dim)[-1])


def resolve_noise(noise_variance: float | str, spectrum: Spectrum, dim: float) -> float:
    """The noise of a model with these components: ML, or the number given; tiny ones become exactly 0.0."""
    q = len(spectrum.eigenvalues)
    given = not isinstance(noise_variance, str)
    noise = float(noise_variance) if given else maximum_likelihood(spectrum, dim)
    if given and q and noise > spectrum.eigenvalues[-1]:
        raise NoiseAboveError(noise, float(spectrum.eigenvalues[-1]), int((spectrum.eigenvalues > noise).sum()))
    return zeroed(noise, spectrum.trace / dim if dim else 0.0, told=not given and q < dim)


def zeroed(noise: float, mean_variance: float, *, told: bool) -> float:
    """``noise``, or exactly 0.0 (with a warning) when it is below 1e-12 of the mean variance."""
    if noise > ZERO_NOISE * mean_variance:
        return noise
    if told:
        warn(
            "The kept components explain all of the variance: the noise variance is set to exactly 0.0, so there is no density "
            "(use residual). Lower n_components to keep some noise.",
            NumericalWarning,
        )
    return 0.0
