"""From training views to a fitted model of them: space, solver, number of components, noises [8, 10]."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array
from gramian._checks import check_n_components, is_auto
from gramian._content import row_hashes, smallest_distinct, smallest_positions
from gramian._progress import Progress
from gramian.evidence.dimension import GramFamily, JudgedMoments, MomentFamily, choose_dimension
from gramian.evidence.held_out import HeldOut
from gramian.evidence.selection import Selection
from gramian.exceptions import warn
from gramian.kernels import Precomputed, as_kernel
from gramian.latent.model import fit_latent_model, settled_spectrum
from gramian.policy import DEFAULTS, LOOK
from gramian.single.answers import chosen_solver
from gramian.solvers import as_solver
from gramian.solvers.base import Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import positive_signs
from gramian.solvers.stiefel import Stiefel
from gramian.views.choice import choose_by_rows, choose_view_components
from gramian.views.folds import FoldedViews
from gramian.views.noise import COLLAPSE, NoiseFit, fit_view_noises, pin_threads, scales_of, start_noises
from gramian.views.specs import ALGORITHMS, choose_space, is_linear, training_view, weights_of_views
from gramian.views.subspace import ViewModel
from gramian.views.tables import ViewRows
from gramian.views.view import ExplicitView, View, ViewSample, ViewTable, unrotation

PILOT_ROUNDS = 10
"""Rounds of the first ECM, whose noises only weight the views while q is chosen."""


@dataclass(frozen=True)
class ViewFit:
    """A fitted model of views, and how it was found."""

    model: ViewModel
    noise_variances: Array
    latents: Array  # H
    rotation: Array | None
    total_weight: float
    views: Sequence[View]  # the training rows behind the model
    solver: Any
    solver_reason: str
    algorithm: str
    reason: str
    selection: Selection | None = None
    log_likelihoods: Array | None = None
    n_iter: int = 1
    converged: bool = True


@dataclass(frozen=True)
class ViewOptions:
    """What `MultiViewRKM` was told."""

    n_components: Any
    specs: Sequence[Any]  # a kernel or feature map per view
    names: list[Any]
    space: str
    solver: Any
    rotate: bool
    noise_variance: Any
    view_weights: Any
    n_folds: int | None
    tol: float
    max_iter: int
    random_state: Any
    verbose: int

    @property
    def stiefel(self) -> bool:
        """Whether a Stiefel frame is asked for."""
        return isinstance(as_solver(self.solver), Stiefel)


def fit_views(rows: ViewRows, weights: Array, kept: Array, options: ViewOptions) -> ViewFit:
    """Fit complete rows, or rows that miss entries or views."""
    for v, (spec, name) in enumerate(zip(options.specs, options.names)):
        if not is_linear(spec):
            rows.check_whole(v, name)
    if not rows.complete:
        from gramian.views.fit_missing import fit_missing_rows

        return fit_missing_rows(rows, weights, options)
    views = tuple(training_view(spec, view, weights, kept) for spec, view in zip(options.specs, rows.views))
    table = ViewTable(views, weights / weights.sum(), float(weights.sum()))
    held = None
    per_view = options.noise_variance == "per-view"
    hashes = row_hashes(rows.stacked) if per_view or is_auto(options.n_components) else np.empty(0, dtype=np.uint64)
    if per_view:
        dealt = HeldOut.of(None, hashes=hashes)
        held = dealt.numbers == 0 if dealt else None
    return fit_complete(table, held, options, lambda sample, options: chosen_components(sample, hashes, options))


def fit_complete(
    table: Any, held: Any, options: ViewOptions, choose: Callable[[ViewSample, ViewOptions], tuple[Any, Selection]]
) -> ViewFit:
    """The model of complete rows, in memory or known by their moments.

    ``held`` are the rows held out to see whether a noise has collapsed, as the table names them; ``choose`` settles q if that is open.
    """
    space, reason = choose_space(options.space, table, options.names)
    seed = 0 if options.random_state is None else options.random_state
    solver = as_solver(
        options.solver, tol=options.tol, max_iter=options.max_iter, random_state=seed, rotate=options.rotate
    )
    beta = weights_of_views(options.view_weights, table, options.names)
    sample = table.sample(np.sqrt(beta), space)
    q, selection = options.n_components, None
    if is_auto(q):
        q, selection = choose(sample, options)
    q = check_n_components(q, rules=())
    solver, solver_reason = chosen_solver(solver, sample.operator().size, q)
    stiefel = isinstance(solver, Stiefel)
    how = f"{reason}; " + ("Stiefel as asked" if stiefel else "fixed maps, so an eigendecomposition")
    about = (table.total_weight, table.views, solver, solver_reason, ALGORITHMS[space, stiefel], how)
    if options.noise_variance == "per-view":
        noise_fit = _per_view(sample, q, solver, held, options, quiet=selection is not None)
        while selection is not None and noise_fit.model.gaussian.n_components < (selection.chosen or 0):
            selection = _above_noise(selection, noise_fit.model.gaussian.n_components)
            noise_fit = _per_view(sample, selection.chosen, solver, held, options, quiet=True)
            if selection.chosen == selection.candidates[0]:
                break
        found = of_noise_fit(noise_fit, *about)
    else:
        noise = options.noise_variance
        noise = noise if isinstance(noise, str) else float(noise)
        model = fit_latent_model(sample, q, solver, noise, default_fraction=DEFAULTS.explained)
        latents = sample.latents(model.spectrum)
        safe = np.where(beta > 0, beta, 1.0)
        noises = np.where(beta > 0, model.gaussian.noise_variance / safe, 0.0)
        rotation = unrotation(model.spectrum, latents)
        found = ViewFit(model, noises, latents * positive_signs(latents), rotation, *about)
    return with_selection(found, selection)


def _above_noise(selection: Selection, count: int) -> Selection:
    """The largest candidate of which all components are above the noise of their views."""
    chosen = max((c for c in selection.candidates if c <= count), default=selection.candidates[0])
    reason = f"q = {chosen}: of {selection.chosen} ({selection.reason}) those above the noise of the views"
    return replace(selection, chosen=chosen, reason=reason)


def with_selection(found: ViewFit, selection: Selection | None) -> ViewFit:
    """The fit with the evidence of its q; a rule that had no candidates says what it came to."""
    if selection is not None and selection.chosen is None:
        count = found.model.gaussian.n_components
        selection = replace(selection, candidates=[count], chosen=count, reason=f"q = {count}: {selection.reason}")
    return replace(found, selection=selection)


def of_noise_fit(fitted: NoiseFit, *about: Any) -> ViewFit:
    """As `ViewFit`, from the EM or ECM of the noises."""
    found = ViewFit(fitted.model, fitted.noise_variances, fitted.latents, fitted.rotation, *about)
    return replace(found, log_likelihoods=fitted.log_likelihoods, n_iter=fitted.n_iter, converged=fitted.settled)


def _per_view(sample: ViewSample, q: Any, solver: Solver, held: Any, options: ViewOptions, *, quiet: bool) -> NoiseFit:
    # one plain solve settles q: the fraction of the weighted variance, or the rank (with its warning)
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        plain = settled_spectrum(sample, q, solver, 0.0, default_fraction=DEFAULTS.explained)
    with Progress("ECM", verbose=options.verbose) as bar:
        fitted = fit_view_noises(
            sample.table,
            len(plain.eigenvalues),
            solver,
            sample.space,
            tol=float(np.sqrt(options.tol)),
            max_iter=options.max_iter,
            held=held,
            leaps=True,
            bound=COLLAPSE if quiet else 1.0,  # where q was chosen, held-out rows calibrate the rest
            names=None if quiet else options.names,
            progress=bar,
        )
    if not fitted.settled:
        warn(
            f"The ECM for a noise per view did not converge in max_iter={options.max_iter} rounds. Raise max_iter or tol.",
            ConvergenceWarning,
        )
    return fitted


# ---------------------------------------------------------------- q


def choice_rows(table: ViewTable, hashes: Array) -> Array:
    """The rows that choices are made on: all where features are few, else at most `LOOK.rows`, by content."""
    n = len(hashes)
    if n <= LOOK.rows or (table.explicit and sum(table.widths) <= n):
        return np.arange(n)
    return np.flatnonzero(hashes <= hashes[smallest_positions(hashes, LOOK.rows)].max())


def chosen_components(sample: ViewSample, hashes: Array, options: ViewOptions) -> tuple[Any, Selection]:
    """q by held-out views, or rows of a single view; a fraction of the variance where the choice was made on some of the rows."""
    rows = choice_rows(sample.table, hashes)
    held_out = HeldOut.of(None, options.n_folds or LOOK.folds, hashes=hashes[rows])
    table = sample.table if len(rows) == len(hashes) else sample.table.take(rows)
    part = replace(sample, table=table)
    usable = bool(held_out) and bool((sample.table.traces > 0).any())

    def by_views() -> Selection:
        folded = FoldedViews.of(table, held_out.numbers)
        return select_by_views(folded, folded.table, part, options)

    with pin_threads(len(rows)):
        selection = settle_components(options, usable, lambda: _by_rows(part, held_out.numbers, hashes[rows]), by_views)
    if selection.chosen is None:
        return None, selection
    if len(rows) == len(hashes):
        return min(selection.chosen, sample.max_components), selection
    spectrum = Eigh().solve(part.operator(), selection.chosen)
    return min(float(spectrum.eigenvalues.sum() / spectrum.trace), 1 - 1e-9), selection


def settle_components(
    options: ViewOptions, usable: bool, by_rows: Callable[[], Selection], by_views: Callable[[], Selection]
) -> Selection:
    """Who says how many components there are: a noise that was given, held-out rows of a single view, or held-out views.

    ``usable``: rows can be held out, and something varies.
    """
    noise, several = options.noise_variance, len(options.names) > 1
    if not isinstance(noise, str) and (noise > 0 or not several):
        taken = f"the components above noise_variance={noise:g}" if noise > 0 else "95 % of the variance"
        return rule(f"{taken}, since the noise is given")
    if not usable:
        return rule("95 % of the variance, since there are too few distinct rows to hold any out")
    return by_views() if several else by_rows()


def select_by_views(folded: FoldedViews, table: Any, sample: ViewSample, options: ViewOptions) -> Selection:
    """q by the error of held-out views, weighted as the model weights them; ``table`` has the rows behind the folds."""
    noise, most, solver = options.noise_variance, sample.max_components, Eigh()
    if noise != "per-view":
        fixed = None if isinstance(noise, str) else float(noise)
        return choose_view_components(folded.folds(sample.scales, most, solver), noise_variance=fixed)
    # views weighted by their variance say roughly how many components; the noises of those weight the views for the choice
    pilot = choose_by_rows(folded.folds(scales_of(start_noises(sample.table)), most, solver))
    space = sample.space if folded.moments is None else "primal"
    fitted = fit_view_noises(table, pilot, solver, space, tol=0.1, max_iter=PILOT_ROUNDS, leaps=True)
    return choose_view_components(folded.folds(scales_of(fitted.noise_variances), most, solver))


def rule(reason: str) -> Selection:
    """A choice that no candidates were compared for."""
    return Selection([], np.zeros(1), np.zeros(1), None, reason)


def _by_rows(sample: ViewSample, fold: Array, hashes: Array) -> Selection:
    """Held-out log-likelihood of the rows of a single view, as in PPCA and KernelPPCA [10]."""
    folded = FoldedViews.of(sample.table, fold, exact=True)
    view = sample.table.views[0]
    weights = sample.table.weights * sample.table.total_weight
    if folded.moments is not None:
        parts = [part for part in folded.moments.parts if part is not None]
        drawn = hashes <= smallest_distinct(hashes, LOOK.drawn)[-1]
        assert isinstance(view, ExplicitView)
        judged = JudgedMoments(parts, view.features[drawn], weights[drawn], fold[drawn])
        return choose_dimension(MomentFamily(judged, dim=view.dim(sample.table.total_weight)).paths())
    gram = view.gram(sample.table.weights).to_dense()
    dim = view.dim(float(weights.sum())) if isinstance(view, ExplicitView) else None
    return choose_dimension(folded.held_out.each(GramFamily(gram, weights, dim=dim).path))


def cannot_miss(spec: Any) -> bool:
    """Whether rows of a view behind this kernel cannot be missing at fit."""
    return not is_linear(spec) and isinstance(spec, str | Precomputed) and isinstance(as_kernel(spec), Precomputed)
