"""Held-out predictions of a target over a path of ridges κσ² and numbers of components, for any views [8]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from gramian._arrays import Array, symmetric_part
from gramian.evidence.held_out import HeldOut, Part
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.policy import TARGETS
from gramian.solvers.base import Solver
from gramian.solvers.spectrum import Spectrum
from gramian.views.noise import pin_threads, view_inputs
from gramian.views.subspace import ridges_up_to
from gramian.views.view import ExplicitView, ViewSample


@dataclass(frozen=True)
class HeldOutPredictions:
    """Predictions of every row by a model that has not seen it."""

    predictions: Annotated[Array, "~ n m"]
    leverages: Annotated[Array, "~ n"]  # |E[z | x]|² / N
    n_components: int
    ridge: float  # κσ², in units of the scaled views
    error: float  # weighted mean squared error over the variance of the target

    def without_rows(self) -> HeldOutPredictions:
        """What they told, without the rows."""
        return replace(self, predictions=self.predictions[:0], leverages=self.leverages[:0])


@dataclass(frozen=True)
class _Path:
    """A model of the rows kept, and the rows held out as its inputs show them."""

    held: Array
    gaussian: LatentGaussian
    seen: Projection
    loadings: Array  # of the target
    mean: Array
    total_weight: float


def held_out(
    sample: ViewSample,
    sizes: list[int],
    solver: Solver,
    folds: HeldOut,
    *,
    noise_variance: float,
    choose: bool = True,
    robust: bool = False,
) -> HeldOutPredictions:
    """Cross-validated predictions of the target view at the best of the ``sizes`` and, if they may be chosen, ridges κσ².

    The best has the least squared error, or (``robust``) the least absolute error, which rare jumps do not decide.
    """
    target = sample.table.views[-1]
    assert isinstance(target, ExplicitView)
    n, m = target.features.shape

    def path(part: Part) -> _Path:
        fitted = replace(sample, table=sample.table.take(part.kept))
        spectrum = kept_spectrum(fitted, max(sizes), solver, noise_variance)
        subspace = fitted.subspace(spectrum).without_maps()
        gaussian = LatentGaussian(spectrum.eigenvalues, noise_variance, fitted.dim)
        shown = [view_inputs(view, part.held, part.kept) for view in sample.table.views[:-1]]
        mean = target.take(part.kept).mean(fitted.table.weights)
        loadings = subspace.loadings_of(-1, gaussian.gains)
        return _Path(part.held, gaussian, subspace.project([*shown, None]), loadings, mean, fitted.table.total_weight)

    with pin_threads(n):
        paths = folds.each(path)
    ridges = ridges_of_gains(paths[0].gaussian) if choose else np.array([noise_variance])
    predictions = np.empty((len(sizes), len(ridges), n, m))
    leverages = np.empty((len(sizes), len(ridges), n))
    for each in paths:
        for k, size in enumerate(sizes):
            offsets, squares = ridge_predictions(each.gaussian, each.seen, each.loadings, size, ridges)
            predictions[k][:, each.held] = each.mean + offsets
            leverages[k][:, each.held] = squares / each.total_weight
    residuals = predictions - target.features
    squares = np.einsum("n,krnm->kr", sample.table.weights, np.square(residuals))
    errors = np.einsum("n,krnm->kr", sample.table.weights, np.abs(residuals)) if robust else squares
    best_of_size = errors.min(axis=1)
    k = int(
        np.flatnonzero(best_of_size <= TARGETS.improvement * best_of_size.min())[0]
    )  # the fewest components that do
    r = int(np.flatnonzero(errors[k] <= best_of_size[k] * (1 + 1e-9))[-1])  # of equals the largest ridge
    variance = float(sample.table.traces[-1]) or 1.0
    return HeldOutPredictions(
        predictions[k, r], leverages[k, r], sizes[k], float(ridges[r]), float(squares[k, r]) / variance
    )


def kept_spectrum(sample: ViewSample, size: int, solver: Solver, noise_variance: float) -> Spectrum:
    """The leading components of the rows that were kept, above the noise and the rounding."""
    count = min(size, sample.max_components)
    spectrum = solver.solve(sample.operator(), count, dim=sample.dim, noise_variance=noise_variance)
    least = max(noise_variance, sample.rank_tol * float(spectrum.eigenvalues.max(initial=0.0)))
    return spectrum.leading(int((spectrum.eigenvalues > least).sum()))


def ridges_of_gains(gaussian: LatentGaussian) -> Array:
    """The ridges that a Gaussian with these gains is asked about."""
    return ridges_up_to(float(np.square(gaussian.gains).max(initial=0.0)))


def ridge_predictions(
    gaussian: LatentGaussian, seen: Projection, W: Array, size: int, ridges: Array
) -> tuple[Array, Array]:
    """W_y(ΔGΔ + κσ²I)⁻¹Δt for every ridge, (r, n, m), and |z|², (r, n), with the leading ``size`` components."""
    gains = gaussian.gains[:size]
    q = len(gains)
    overlap = np.eye(q) if seen.overlap is None else seen.overlap[:size, :size]
    values, axes = np.linalg.eigh(symmetric_part(overlap * np.outer(gains, gains)))
    values = np.maximum(values, 0.0)
    turned = (seen.scores[:, :size] * gains) @ axes
    known = np.maximum(values + ridges[:, None], np.finfo(float).tiny)
    z = turned[None] / known[:, None, :]
    if (ridges == 0).any():  # without noise, directions that no input shows stay at their prior
        z[ridges == 0] *= values > 1e-10 * float(gaussian.eigenvalues.max(initial=0.0))
    return z @ (W[:, :size] @ axes).T, np.square(z).sum(axis=2)
