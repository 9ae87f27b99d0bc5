"""Fitting a target model: the noises, the number of components, and how far new inputs can be trusted [8]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gramian._arrays import Array
from gramian._progress import Progress
from gramian.latent.dimension import DEFAULT_FRACTION
from gramian.latent.model import fit_latent_model
from gramian.latent.target import TargetModel
from gramian.latent.target_calibration import calibrated_std
from gramian.latent.target_folds import Folds
from gramian.latent.target_path import held_out
from gramian.latent.view_noise import fit_view_noises, pinned, scales_of
from gramian.latent.views import ExplicitView, ViewSample, ViewSubspace, ViewTable, factored
from gramian.solvers.base import Solver
from gramian.solvers.eigh import Eigh

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
    tol: float = 1e-3,
    progress: Progress | None = None,
) -> TargetModel:
    """Fit all views together, and cross-validate the prediction of the last one.

    ``n_components`` as a fraction is the smallest q that explains it of the weighted variance, raised while more components
    lower the held-out error by more than 1 %; None is everything above a given noise, else 95 %. Only
    "per-view" noise chooses the trust in the inputs: any other noise is taken at its word.
    """
    sample = ViewSample(table, np.sqrt(view_weights), space)
    folds = folds if folds is not None and folds.usable and table.traces[-1] > 0 else None
    if noise_variance != "per-view":
        return _fit_shared(sample, n_components, solver, noise_variance, view_weights, folds)
    n_components = DEFAULT_FRACTION if n_components is None else n_components
    # a smooth kernel has few components above rounding: cross-validation and ECM then decompose matrices of that size
    working = factored(table) if space == "dual" and isinstance(solver, Eigh) else None
    quick = sample if working is None else ViewSample(working, sample.scales, "primal")
    with pinned(len(table.weights)):
        counting = sample if isinstance(n_components, int) else quick
        q = fit_latent_model(counting, n_components, solver, 0.0).gaussian.n_components
    floors = np.zeros(len(table.views))
    floors[-1] = UNCHECKED * table.traces[-1] / table.dims[-1]
    if folds is not None and q > 0:
        counted = replace(quick, scales=quick.scales * np.sqrt(_faint(len(table.views))))
        first = held_out(
            counted, _sizes(q, n_components, sample, folds), solver, folds, noise_variance=0.0, robust=robust
        )
        if first.n_components > q:  # all rows carry more components than the part that was kept
            q = min(round(first.n_components / folds.kept_share), sample.max_components, max(q, MOST_COMPONENTS))
        floors[-1] = first.error * table.traces[-1] / table.dims[-1]
    fitted = fit_view_noises(
        table, q, solver, space, tol=tol, floors=floors, guard=False, progress=progress, working=working
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
    return _with_std(
        table,
        TargetModel(
            model, fitted.noise_variances, np.empty(0), checked, fitted.n_iter, fitted.settled, table.total_weight
        ),
    )


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
    return _with_std(
        table, TargetModel(model, noises, np.empty(0), checked, model.spectrum.n_iter, True, table.total_weight)
    )


def _with_std(table: ViewTable, fitted: TargetModel) -> TargetModel:
    """Held-out residuals say what to expect; without them the model does."""
    target = table.views[-1]
    assert isinstance(target, ExplicitView)
    if fitted.held_out is not None:
        checked = fitted.held_out
        residuals = target.features - checked.predictions
        std = calibrated_std(residuals, checked.leverages, table.weights, table.total_weight)
    else:
        std = np.sqrt(np.maximum(fitted.usual_spread, 0.0) + fitted.noise_variances[-1])
    return replace(fitted, std=std)


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
