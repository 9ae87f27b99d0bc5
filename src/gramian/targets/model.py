"""TargetModel: views of which the last is a target that the others predict; regressors, classifiers and forecasters hold one [8].

The likelihood spreads the noise of a kernel view over N directions and so trusts it too much: the φ of a new row has more
noise along the principal axes than training rows show. Cross-validation says how much. Dividing the trust in the input
views by κ predicts W_y(W_xᵀW_x + κσ²_xI)⁻¹W_xᵀφ, kernel ridge on the kept components and still the same Gaussian, and the
held-out residuals calibrate the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy.special import ndtri

from gramian._arrays import Array
from gramian.latent.gaussian import LatentGaussian, Posterior, Projection, signal_variance
from gramian.targets.path import HeldOutPredictions
from gramian.targets.reach import TargetReach
from gramian.targets.spread import TargetSpread
from gramian.views.subspace import ViewModel, ViewSubspace


@dataclass(frozen=True)
class TargetModel:
    """A fitted model whose last view is the target, with what held-out rows said about it.

    Made by `gramian.targets.fit.fit_target`.
    """

    model: Annotated[ViewModel, "its q v"]  # its subspace trusts the inputs as far as held-out rows allow
    noise_variances: Annotated[Array, "+ v"]
    std: Annotated[Array, "+ m"]  # of a prediction at z = 0
    held_out: HeldOutPredictions | None
    n_iter: int
    settled: bool
    total_weight: float
    spread: Annotated[TargetSpread | None, "its m"] = None  # where errors are larger or smaller than usual
    reach: Annotated[TargetReach | None, "its m"] = None  # what lies off the data

    @property
    def gaussian(self) -> LatentGaussian:
        return self.model.gaussian

    def predict(
        self, inputs: Sequence[Any], seen: Array | None = None, solved: dict[bytes, Any] | None = None
    ) -> tuple[Array, Posterior]:
        """E[y | inputs], (n, m), and the posterior of z behind it.

        ``inputs`` has one table per input view. ``seen`` (n, V) says which views each row shows, the target's column False;
        None: all inputs. ``solved`` is kept between calls that show the same views.
        """
        views = [*inputs, None]
        if seen is None:
            posterior = self.posterior(self.model.subspace.project(views))
        else:
            posterior = self.model.subspace.posterior(self.gaussian, views, seen, solved)
        return self.decode(posterior.mean), posterior

    def without_rows(self, reach: TargetReach | None) -> TargetModel:
        """The same without what is there for each training row: features, which only pre-images need, and what held-out rows were predicted."""
        parts = (replace(part, subspace=part.subspace.without_rows()) for part in self.model.subspace.parts)
        slim = replace(self.model, subspace=ViewSubspace(tuple(parts)))
        told = None if self.held_out is None else self.held_out.without_rows()
        return replace(self, model=slim, held_out=told, reach=reach)

    def law(self, inputs: Sequence[Any]) -> tuple[Array, Array]:
        """Predictive means and standard deviations, (n, m) each, also off the data [12]."""
        mean, posterior = self.predict(inputs)
        std = self.deviations(posterior, inputs=inputs[0])
        if self.reach is None:
            return mean, std
        off, distance = self.reach(inputs[0])
        returned = self.reach.returned(mean, off, distance)
        return returned, self.reach.widened(std, off, distance, returned - mean)

    def interval(self, mean: Array, std: Array, level: float) -> tuple[Array, Array]:
        """The ends of the central predictive intervals."""
        half = float(ndtri(0.5 + level / 2)) * std
        return mean - half, mean + half

    def draws(self, mean: Array, std: Array, rng: np.random.Generator, root: Array | None = None) -> Array:
        """One draw of the target per row; ``root`` is a root of the correlation of its columns."""
        noise = rng.standard_normal(mean.shape)
        return mean + std * (noise if root is None else noise @ root.T)

    def posterior(self, seen: Projection) -> Posterior:
        """z given the inputs."""
        return self.gaussian.posterior(seen)

    def decode(self, latents: Array) -> Array:
        """E[y | z] = μ_y + W_y z."""
        return self.model.subspace.parts[-1].decoded(self.gaussian.decode(latents))

    def deviations(self, posterior: Posterior, usual: Array | None = None, inputs: Any = None) -> Array:
        """Predictive standard deviations (n, m): wider where the latents are far out, since loadings are estimates too.

        ``usual`` is `usual_spread`, for calls that repeat it; ``inputs`` are asked where the size of errors depends on them.
        """
        leverages = np.square(posterior.mean).sum(axis=1) / self.total_weight
        base = np.square(self.std)
        if self.spread is not None:
            base = base * np.square(self.spread(posterior.mean, inputs))
        covariance = posterior.covariance
        usual = self.usual_spread if usual is None else usual
        extra = self._spread(covariance) - usual  # rows that miss an input know less
        return np.sqrt(np.maximum(base + np.maximum(extra, 0.0), 0.0) * (1.0 + leverages)[:, None])

    @property
    def usual_covariance(self) -> Array:
        """Cov[z | all inputs], shared by all rows that show them."""
        parts = self.model.subspace.parts[:-1]
        overlap = sum(part.trust * part.overlap for part in parts)
        q = self.gaussian.n_components
        nothing = Projection(np.zeros((1, q)), np.zeros(1), 0.0, np.asarray(overlap))
        return self.gaussian.posterior(nothing).covariance

    @property
    def usual_spread(self) -> Array:
        """diag(W_y Cov[z | all inputs] W_yᵀ), (m,)."""
        return self._spread(self.usual_covariance)

    def _spread(self, covariance: Array) -> Array:
        return signal_variance(self.model.subspace.loadings_of(-1, self.gaussian.gains), covariance)
