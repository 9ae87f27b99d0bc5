"""Fitting a target model: the noises, the number of components, and how far new inputs can be trusted [8]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._precision import LEAST_NOISE, SEEN
from gramian._progress import Progress
from gramian.evidence.held_out import HeldOut, ladder
from gramian.evidence.limits import calibrated_std, less_optimistic
from gramian.latent.dimension import for_fraction
from gramian.latent.gaussian import LatentGaussian
from gramian.latent.model import LatentModel, fit_latent_model, settled_spectrum
from gramian.policy import DEFAULTS, SIZES, TARGETS
from gramian.solvers.base import Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum
from gramian.targets.axes import Decomposition, joint_spectrum, target_inputs
from gramian.targets.model import TargetModel
from gramian.targets.moments import MomentInputs
from gramian.targets.path import HeldOutPredictions, held_out
from gramian.targets.single import (
    Fold,
    checked_at_its_word,
    checked_model,
    component_losses,
    decomposed_folds,
    view_noises,
)
from gramian.targets.spread import fit_spread
from gramian.views.moments import MomentTable
from gramian.views.noise import fit_view_noises, pin_threads, scales_of, start_noises, view_inputs
from gramian.views.view import ExplicitView, ViewSample, ViewSubspace, ViewTable, factor_views

MOST_COMPONENTS = 600
"""A fractional n_components never grows beyond this."""


def fit_target(
    table: ViewTable | MomentTable,
    n_components: int | float | None,
    solver: Solver,
    space: str,
    *,
    noise_variance: float | str,
    view_weights: Array,
    folds: HeldOut | None,
    sums: MomentInputs | None = None,
    robust: bool = False,
    local: bool = False,
    columns: Array | None = None,
    tol: float = 1e-3,
    leaps: bool = True,
    progress: Progress | None = None,
) -> TargetModel:
    """Fit all views together, and cross-validate the prediction of the last one.

    ``n_components`` as a fraction is the smallest q that explains it of the weighted variance, raised while more components
    lower the held-out error by more than 1 %; None is everything above a given noise, else 95 %. Only
    "per-view" noise chooses the trust in the inputs: any other noise is taken at its word. With ``local``, the size of errors may
    depend on the latents, and on the inputs themselves where they are given as ``columns``. ``leaps=False`` keeps to plain rounds of the ECM: a likelihood that is not higher, in more rounds.

    A `MomentTable` is known by its ``sums``, the moments of features and target fold by fold: what is no sum is asked of the drawn rows
    in them, and ``folds`` and ``columns`` are of those.
    """
    sample = table.sample(np.sqrt(view_weights), space)
    looked_at = CheckedRows.of(table, sums, folds, columns)
    shown = table.traces[-1] > 0 and (sums is None or table.traces[0] > 0)  # inputs that do not vary say nothing
    folds = folds if folds is not None and folds.usable and shown else None
    if noise_variance != "per-view":
        shared = _fit_shared(sample, n_components, solver, noise_variance, view_weights)
        if folds is not None and shared.gaussian.n_components > 0:
            shared = replace(shared, held_out=_checked_shared(sample, sums, shared.gaussian, solver, folds))
        return _with_std(looked_at, shared, folds, local)
    n_components = DEFAULTS.explained if n_components is None else n_components
    single = _single_inputs(sample, sums, folds)
    if single is not None:
        return _with_std(
            looked_at, _fit_single(sample, single, n_components, folds, robust, tol, leaps, progress), folds, local
        )
    # a smooth kernel has few components above rounding: cross-validation and ECM then decompose matrices of that size
    working = factor_views(sample.table) if space == "dual" and isinstance(solver, Eigh) else None
    quick = sample if working is None else ViewSample(working, sample.scales, "primal")
    with pin_threads(table.n_rows):
        counting = sample if isinstance(n_components, int) else quick
        q = len(settled_spectrum(counting, n_components, solver, 0.0).eigenvalues)
    floors = _unchecked_floors(table)
    if folds is not None and q > 0:
        counted = replace(quick, scales=quick.scales * np.sqrt(_weights_when_counting(len(table.views))))
        first = held_out(
            counted, _sizes(q, n_components, sample, folds), solver, folds, noise_variance=0.0, robust=robust
        )
        if first.n_components > q:  # all rows carry more components than the part that was kept
            q = min(round(first.n_components / folds.kept_share), sample.max_components, max(q, MOST_COMPONENTS))
        floors[-1] = first.error * table.traces[-1] / table.dims[-1]
    fitted = fit_view_noises(
        sample.table, q, solver, space, tol=tol, floors=floors, leaps=leaps, progress=progress, working=working
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
    return _with_std(looked_at, found, folds, local)


@dataclass(frozen=True)
class SingleInputs:
    """One input view decomposed along its own axes, and the rows whose held-out predictions are looked at."""

    whole: Callable[[], Decomposition]
    folds: Callable[[HeldOut], list[Fold]]
    target: Array
    weights: Array  # normalised


@dataclass(frozen=True)
class CheckedRows:
    """Rows whose held-out residuals say what error to expect: features or kernel values of the inputs, target, weights and folds.

    ``columns`` are the inputs as numbers, where they are known as such.
    """

    inputs: Sequence[Any]
    target: Array
    weights: Array
    folds: HeldOut | None
    columns: Array | None = None

    @classmethod
    def of(
        cls, table: Any, sums: MomentInputs | None, folds: HeldOut | None, columns: Array | None = None
    ) -> CheckedRows:
        """All rows of a table in memory, or the rows drawn with the sums."""
        if sums is not None:
            return cls([sums.features], sums.target, sums.weights, folds, columns)
        target = table.views[-1]
        assert isinstance(target, ExplicitView)
        return cls(LazyInputs(table, np.arange(len(table.weights))), target.features, table.weights, folds, columns)


class LazyInputs(Sequence[Any]):
    """The input views of all rows of a table, made when they are asked for."""

    def __init__(self, table: ViewTable, rows: Array) -> None:
        self.table, self.rows = table, rows

    def __len__(self) -> int:
        return len(self.table.views) - 1

    def __getitem__(self, v: Any) -> Any:
        return view_inputs(self.table.views[:-1][v], self.rows, self.rows)


def _single_inputs(sample: ViewSample, sums: MomentInputs | None, folds: HeldOut | None) -> SingleInputs | None:
    """The one input view, where all can be had from one decomposition of it per fold."""
    table = sample.table
    if sums is not None:
        whole = SingleInputs(sums.decomposed, sums.decomposed_folds, sums.target, sums.weights)
        return whole if table.traces[0] > 0 else None
    if not single_view(sample):
        return None
    working = factor_views(table) if sample.space == "dual" else None
    inputs = target_inputs(sample, None if working is None else working.views[0], folds)
    return SingleInputs(
        lambda: inputs.decomposed(np.arange(len(table.weights))),
        lambda dealt: decomposed_folds(inputs, dealt, table.total_weight),
        inputs.target,
        table.weights,
    )


def single_view(sample: ViewSample) -> bool:
    """Whether all can be had from one decomposition per fold: one input view, small enough to be stored."""
    table = sample.table
    stored = len(table.weights) <= SIZES.stored or (sample.space == "primal" and sum(table.widths) <= SIZES.stored)
    return len(table.views) == 2 and stored and sample.positive_semidefinite and table.traces[0] > 0


def _fit_single(
    sample: ViewSample,
    inputs: SingleInputs,
    n_components: int | float,
    folds: HeldOut | None,
    robust: bool,
    tol: float,
    leaps: bool,
    progress: Progress | None,
) -> TargetModel:
    """One input view: every step reads the same decompositions of the inputs."""
    table = sample.table
    with pin_threads(table.n_rows):
        whole = inputs.whole()
        q = _count(sample, whole, n_components)
        least = np.maximum(SEEN * start_noises(table), _unchecked_floors(table))
        parts: list[Fold] = []
        if folds is not None and q > 0:
            parts = inputs.folds(folds)
            losses = component_losses(
                parts, inputs.target, inputs.weights, _sizes(q, n_components, sample, folds), robust
            )
            k, r = losses.best()
            if losses.sizes[k] > q:  # all rows carry more components than the part that was kept
                q = min(round(losses.sizes[k] / folds.kept_share), sample.max_components, max(q, MOST_COMPONENTS))
            error = float(losses.squares[:, k, r].sum()) / float(table.traces[-1])
            least[-1] = max(SEEN * start_noises(table)[-1], error * table.traces[-1] / table.dims[-1])
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
            checked = checked_model(
                parts, inputs.target, inputs.weights, scaled.scales, q, robust, float(table.traces[-1])
            )
            # the ridge of kernel regression is κσ²N: with all rows in, κ is smaller
            subspace = subspace.trusting(0, 1.0 / (folds.kept_share * checked.ridge))
    model = LatentModel(subspace, LatentGaussian(spectrum.eigenvalues, 1.0, sample.dim), spectrum)
    return TargetModel(model, noises, np.empty(0), checked, n_iter, settled, table.total_weight)


def _count(sample: ViewSample, whole: Decomposition, n_components: int | float) -> int:
    """The number of components asked for, counted on inputs and target as they are weighted."""
    known = KnownSpectrum(sample, whole)
    if isinstance(n_components, int):
        return len(settled_spectrum(sample, n_components, known, 0.0).eigenvalues)
    axes, trace = whole.axes, float(sample.scales**2 @ sample.table.traces)
    alone = float(sample.scales[0]) ** 2 * axes.values
    # the leading axes of the inputs and all of the target explain no more than as many joint ones do
    most = for_fraction(np.append(trace - alone.sum(), alone), trace, n_components) or len(alone)
    most = min(most - 1 + axes.cross.shape[1], sample.max_components)
    least = float(alone[most - 1]) / 2 if most <= len(alone) else 0.0
    pairs = axes.joint(sample.scales, most, vectors=False, above=least)
    return for_fraction(pairs.values, trace, n_components) or len(pairs.values)


@dataclass(frozen=True)
class KnownSpectrum(Solver):
    """A solver that has the answer: the eigenpairs of a sample whose inputs were decomposed."""

    sample: ViewSample
    whole: Decomposition

    def solve(self, operator: Any, n_components: int, *, dim: Any = None, noise_variance: Any = None) -> Spectrum:
        """The leading components of the sample."""
        return joint_spectrum(self.sample, self.whole, self.whole.axes.joint(self.sample.scales, n_components))


def _unchecked_floors(table: ViewTable | MomentTable) -> Array:
    floors = np.zeros(len(table.views))
    floors[-1] = TARGETS.unchecked * table.traces[-1] / table.dims[-1]
    return floors


def _fit_shared(
    sample: ViewSample,
    n_components: int | float | None,
    solver: Solver,
    noise_variance: float | str,
    view_weights: Array,
) -> TargetModel:
    table = sample.table
    model = fit_latent_model(sample, n_components, solver, noise_variance, default_fraction=DEFAULTS.explained)
    noise = model.gaussian.noise_variance
    safe = np.where(view_weights > 0, view_weights, 1.0)
    noises = np.where(view_weights > 0, noise / safe, 0.0)
    return TargetModel(model, noises, np.empty(0), None, model.spectrum.n_iter, True, table.total_weight)


def _checked_shared(
    sample: ViewSample, sums: MomentInputs | None, gaussian: LatentGaussian, solver: Solver, folds: HeldOut
) -> HeldOutPredictions:
    """Cross-validated predictions of the model with one noise, taken at its word."""
    q, noise = gaussian.n_components, gaussian.noise_variance
    if sums is None:
        return held_out(sample, [q], solver, folds, noise_variance=noise, choose=False)
    variance = float(sample.table.traces[-1])
    return checked_at_its_word(sums.decomposed_folds(folds), sums.target, sample.scales, q, noise, variance)


def _with_std(rows: CheckedRows, fitted: TargetModel, folds: HeldOut | None, local: bool) -> TargetModel:
    """Held-out residuals say what to expect; without them the model does."""
    checked, total = fitted.held_out, fitted.total_weight
    if checked is None:
        return replace(fitted, std=np.sqrt(np.maximum(fitted.usual_spread, 0.0) + fitted.noise_variances[-1]))
    residuals = rows.target - checked.predictions
    spread = None
    if local and folds is not None:
        sizes = np.abs(residuals) / np.sqrt(1.0 + checked.leverages)[:, None]
        usual = rows.weights @ sizes
        if (usual > 0).all():
            latents = fitted.posterior(fitted.model.subspace.without_maps().project([*rows.inputs, None])).mean
            spread = fit_spread(latents, sizes / usual, rows.weights, folds, total, rows.columns)
    if spread is not None:
        residuals = residuals / spread[1]
    std = less_optimistic(calibrated_std(residuals, checked.leverages, rows.weights, total), total)
    return replace(fitted, std=std, spread=None if spread is None else spread[0])


def _weights_when_counting(n_views: int) -> Array:
    # The weight of the target where components are counted: its own noise is large, so that the ECM weights it about as little.
    return np.append(np.ones(n_views - 1), LEAST_NOISE)


def _sizes(q: int, n_components: int | float, sample: ViewSample, folds: HeldOut) -> list[int]:
    """Numbers of components to try: the one asked for, or from the fraction's upwards, half as many again each."""
    if isinstance(n_components, int):
        return [q]
    return ladder(q, min(sample.max_components, folds.fewest_kept - 1, max(q, MOST_COMPONENTS)), 0.5)
