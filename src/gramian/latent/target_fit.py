"""Fitting a target model: the noises, the number of components, and how far new inputs can be trusted [8]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._progress import Progress
from gramian.latent.dimension import DEFAULT_FRACTION, for_fraction
from gramian.latent.gaussian import LatentGaussian
from gramian.latent.model import LatentModel, fit_latent_model
from gramian.latent.sample import STORED_LIMIT
from gramian.latent.target import TargetModel
from gramian.latent.target_axes import Decomposition, joint_spectrum, target_inputs
from gramian.latent.target_calibration import calibrated_std, raised
from gramian.latent.target_folds import Folds
from gramian.latent.target_path import held_out
from gramian.latent.target_single import Fold, checked_model, component_losses, decomposed_folds, view_noises
from gramian.latent.target_spread import fit_spread
from gramian.latent.view_noise import SMALLEST, fit_view_noises, pinned, scales_of, start_noises, view_inputs
from gramian.latent.views import ExplicitView, ViewSample, ViewSubspace, ViewTable, factored
from gramian.solvers.base import Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum
from gramian.solvers.stiefel import Stiefel

FAINT = 1e-5
"""The weight of the target where components are counted: its own noise is large, so that the ECM weights it about as little."""
MOST_COMPONENTS = 600
"""A fractional n_components never grows beyond this."""
UNCHECKED = 0.05
"""Where nothing can be held out the target keeps at least this share of its variance as noise: it may not be interpolated."""


def fit_target(
    table: ViewTable,
    n_components: int | float | None,
    solver: Solver,
    space: str,
    *,
    noise_variance: float | str,
    view_weights: Array,
    folds: Folds | None,
    robust: bool = False,
    local: bool = False,
    tol: float = 1e-3,
    leaps: bool = True,
    progress: Progress | None = None,
) -> TargetModel:
    """Fit all views together, and cross-validate the prediction of the last one.

    ``n_components`` as a fraction is the smallest q that explains it of the weighted variance, raised while more components
    lower the held-out error by more than 1 %; None is everything above a given noise, else 95 %. Only
    "per-view" noise chooses the trust in the inputs: any other noise is taken at its word. With ``local``, the size of errors may
    depend on the inputs. ``leaps=False`` keeps to plain rounds of the ECM: a likelihood that is not higher, in more rounds.
    """
    sample = ViewSample(table, np.sqrt(view_weights), space)
    folds = folds if folds is not None and folds.usable and table.traces[-1] > 0 else None
    if noise_variance != "per-view":
        return _with_std(
            table, _fit_shared(sample, n_components, solver, noise_variance, view_weights, folds), folds, local
        )
    n_components = DEFAULT_FRACTION if n_components is None else n_components
    if single_view(sample, solver):
        return _with_std(table, _fit_single(sample, n_components, folds, robust, tol, leaps, progress), folds, local)
    # a smooth kernel has few components above rounding: cross-validation and ECM then decompose matrices of that size
    working = factored(table) if space == "dual" and isinstance(solver, Eigh) else None
    quick = sample if working is None else ViewSample(working, sample.scales, "primal")
    with pinned(len(table.weights)):
        counting = sample if isinstance(n_components, int) else quick
        q = fit_latent_model(counting, n_components, solver, 0.0).gaussian.n_components
    floors = _unchecked_floors(table)
    if folds is not None and q > 0:
        counted = replace(quick, scales=quick.scales * np.sqrt(_faint(len(table.views))))
        first = held_out(
            counted, _sizes(q, n_components, sample, folds), solver, folds, noise_variance=0.0, robust=robust
        )
        if first.n_components > q:  # all rows carry more components than the part that was kept
            q = min(round(first.n_components / folds.kept_share), sample.max_components, max(q, MOST_COMPONENTS))
        floors[-1] = first.error * table.traces[-1] / table.dims[-1]
    fitted = fit_view_noises(
        table, q, solver, space, tol=tol, floors=floors, leaps=leaps, progress=progress, working=working
    )
    model, checked = fitted.model, None
    subspace: ViewSubspace = model.subspace
    if folds is not None and q > 0:
        scaled = replace(quick, scales=scales_of(fitted.noise_variances))
        checked = held_out(scaled, [q], solver, folds, noise_variance=1.0, robust=robust)
        for view in range(len(table.views) - 1):
            # the ridge of kernel regression is κσ²N: with all rows in, κ is smaller
            subspace = subspace.trusting(view, 1.0 / (folds.kept_share * checked.ridge))
        model = replace(model, subspace=subspace)
    found = TargetModel(
        model, fitted.noise_variances, np.empty(0), checked, fitted.n_iter, fitted.settled, table.total_weight
    )
    return _with_std(table, found, folds, local)


def single_view(sample: ViewSample, solver: Solver) -> bool:
    """Whether all can be had from one decomposition per fold: one input view, small enough to be stored, and no frame asked for."""
    table = sample.table
    stored = len(table.weights) <= STORED_LIMIT or (sample.space == "primal" and sum(table.widths) <= STORED_LIMIT)
    return (
        len(table.views) == 2
        and stored
        and not isinstance(solver, Stiefel)
        and sample.positive_semidefinite
        and table.traces[0] > 0
    )


def _fit_single(
    sample: ViewSample,
    n_components: int | float,
    folds: Folds | None,
    robust: bool,
    tol: float,
    leaps: bool,
    progress: Progress | None,
) -> TargetModel:
    """One input view: every step reads the same decompositions of the inputs."""
    table = sample.table
    working = factored(table) if sample.space == "dual" else None
    inputs = target_inputs(sample, None if working is None else working.views[0], folds)
    with pinned(len(table.weights)):
        whole = inputs.decomposed(np.arange(len(table.weights)))
        q = _counted(sample, whole, n_components)
        least = np.maximum(SMALLEST * start_noises(table), _unchecked_floors(table))
        parts: list[Fold] = []
        if folds is not None and q > 0:
            target = inputs.target
            parts = decomposed_folds(inputs, folds, table.total_weight)
            losses = component_losses(parts, target, table.weights, _sizes(q, n_components, sample, folds), robust)
            k, r = losses.best()
            if losses.sizes[k] > q:  # all rows carry more components than the part that was kept
                q = min(round(losses.sizes[k] / folds.kept_share), sample.max_components, max(q, MOST_COMPONENTS))
            error = float(losses.squares[:, k, r].sum()) / float(table.traces[-1])
            least[-1] = max(SMALLEST * start_noises(table)[-1], error * table.traces[-1] / table.dims[-1])
        noises, n_iter, settled = view_noises(
            whole.axes, table.traces, table.dims, q, least, tol=tol, leaps=leaps, progress=progress
        )
        scaled = replace(sample, scales=scales_of(noises))
        spectrum = joint_spectrum(
            scaled, whole, whole.axes.joint(scaled.scales, min(q, sample.max_components), above=1.0)
        )
        subspace: ViewSubspace = scaled.subspace(spectrum)
        checked = None
        if folds is not None and parts:
            checked = checked_model(parts, target, table.weights, scaled.scales, q, robust, float(table.traces[-1]))
            # the ridge of kernel regression is κσ²N: with all rows in, κ is smaller
            subspace = subspace.trusting(0, 1.0 / (folds.kept_share * checked.ridge))
    model = LatentModel(subspace, LatentGaussian(spectrum.eigenvalues, 1.0, sample.dim), spectrum)
    return TargetModel(model, noises, np.empty(0), checked, n_iter, settled, table.total_weight)


def _counted(sample: ViewSample, whole: Decomposition, n_components: int | float) -> int:
    """The number of components asked for, counted on inputs and target as they are weighted."""
    known = KnownSpectrum(sample, whole)
    if isinstance(n_components, int):
        return fit_latent_model(sample, n_components, known, 0.0).gaussian.n_components
    pairs = whole.axes.joint(sample.scales, sample.max_components, vectors=False)
    trace = float(sample.scales**2 @ sample.table.traces)
    return for_fraction(pairs.values, trace, n_components) or len(pairs.values)


@dataclass(frozen=True)
class KnownSpectrum(Solver):
    """A solver that has the answer: the eigenpairs of a sample whose inputs were decomposed."""

    sample: ViewSample
    whole: Decomposition

    def solve(self, operator: Any, n_components: int, *, dim: Any = None, noise_variance: Any = None) -> Spectrum:
        """The leading components of the sample."""
        return joint_spectrum(self.sample, self.whole, self.whole.axes.joint(self.sample.scales, n_components))


def _unchecked_floors(table: ViewTable) -> Array:
    floors = np.zeros(len(table.views))
    floors[-1] = UNCHECKED * table.traces[-1] / table.dims[-1]
    return floors


def _fit_shared(
    sample: ViewSample,
    n_components: int | float | None,
    solver: Solver,
    noise_variance: float | str,
    view_weights: Array,
    folds: Folds | None,
) -> TargetModel:
    table = sample.table
    model = fit_latent_model(sample, n_components, solver, noise_variance, default_fraction=DEFAULT_FRACTION)
    noise, q = model.gaussian.noise_variance, model.gaussian.n_components
    checked = None
    if folds is not None and q > 0:
        checked = held_out(sample, [q], solver, folds, noise_variance=noise, choose=False)
    safe = np.where(view_weights > 0, view_weights, 1.0)
    noises = np.where(view_weights > 0, noise / safe, 0.0)
    return TargetModel(model, noises, np.empty(0), checked, model.spectrum.n_iter, True, table.total_weight)


def _with_std(table: ViewTable, fitted: TargetModel, folds: Folds | None, local: bool) -> TargetModel:
    """Held-out residuals say what to expect; without them the model does."""
    target = table.views[-1]
    assert isinstance(target, ExplicitView)
    checked = fitted.held_out
    if checked is None:
        return replace(fitted, std=np.sqrt(np.maximum(fitted.usual_spread, 0.0) + fitted.noise_variances[-1]))
    residuals = target.features - checked.predictions
    spread = None
    if local and folds is not None:
        sizes = np.abs(residuals) / np.sqrt(1.0 + checked.leverages)[:, None]
        usual = table.weights @ sizes
        if (usual > 0).all():
            latents = _training_latents(table, fitted)
            spread = fit_spread(latents, sizes / usual, table.weights, folds, table.total_weight)
    if spread is not None:
        residuals = residuals / spread[1]
    std = raised(calibrated_std(residuals, checked.leverages, table.weights, table.total_weight), table.total_weight)
    return replace(fitted, std=std, spread=None if spread is None else spread[0])


def _training_latents(table: ViewTable, fitted: TargetModel) -> Array:
    """E[z | inputs] of the training rows."""
    rows = np.arange(len(table.weights))
    shown = [view_inputs(view, rows, rows) for view in table.views[:-1]]
    return fitted.posterior(fitted.model.subspace.without_maps().project([*shown, None])).mean


def _faint(n_views: int) -> Array:
    return np.append(np.ones(n_views - 1), FAINT)


def _sizes(q: int, n_components: int | float, sample: ViewSample, folds: Folds) -> list[int]:
    """Numbers of components to try: the one asked for, or from the fraction's upwards, half as many again each."""
    if isinstance(n_components, int):
        return [q]
    most = min(sample.max_components, folds.fewest_kept - 1, max(q, MOST_COMPONENTS))
    sizes = [q]
    while sizes[-1] < most:
        sizes.append(min(most, max(sizes[-1] + 1, int(1.5 * sizes[-1]))))
    return sizes
