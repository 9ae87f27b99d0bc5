"""A noise level for each view: ECM on complete rows [8].

Views scaled by 1/σ_v have noise 1, so each round is the closed form of section 2 on the scaled views.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_scale
from gramian._precision import ROUNDING, SEEN
from gramian._progress import Progress
from gramian._threads import single_blas_thread
from gramian.exceptions import NumericalWarning, warn
from gramian.latent.gaussian import LatentGaussian, log_likelihoods_of_each_q
from gramian.latent.model import LatentModel
from gramian.latent.squarem import leap
from gramian.policy import JURY, SIZES
from gramian.solvers.base import Solver
from gramian.solvers.spectrum import Spectrum, positive_signs
from gramian.views.subspace import ViewModel
from gramian.views.view import ExplicitView, View, ViewSample, ViewTable, rotate, unrotation

ROUNDS = 50
"""After so many ECM rounds a variance that still falls may be on its way to 0, not to an optimum."""
COLLAPSE = 0.05
"""A noise below this share of the held-out residual variance has collapsed: a component explains that view alone."""


HeldOutRows = Array | Callable[[int, Array], Array]
"""Which rows are held out (a mask); or, of rows known by their moments, what `held_out_residuals` of (q, noises) are."""


@dataclass(frozen=True)
class NoiseFit:
    """A fitted model of scaled views, the noise of each view, and the path there."""

    model: ViewModel
    noise_variances: Annotated[Array, "+ v"]  # in units of each view's features
    log_likelihoods: Annotated[Array, "*"]  # mean per row, one per round
    n_iter: Annotated[int, "count"]
    settled: bool
    latents: Annotated[Array, "n q"]  # H
    rotation: Array | None = None  # from H to the frame of an unrotated Stiefel solution


def scales_of(noise_variances: Array) -> Array:
    """1/σ_v; a view without variance is given no weight."""
    safe = np.where(noise_variances > 0, noise_variances, 1.0)
    return np.where(noise_variances > 0, 1.0 / np.sqrt(safe), 0.0)


def start_noises(table: ViewTable) -> Array:
    """σ²_v = tr K_v / D_v: from above, since small starts stall on a false plateau."""
    return table.traces / table.dims


def fit_view_noises(
    table: ViewTable,
    n_components: int,
    solver: Solver,
    space: str,
    *,
    tol: float = 1e-3,
    max_iter: int = ROUNDS,
    floors: Array | None = None,
    held: HeldOutRows | None = None,
    bound: float = 1.0,
    leaps: bool = False,
    names: Any = None,
    progress: Progress | None = None,
    working: ViewTable | None = None,
) -> NoiseFit:
    """The ECM of section 8: top q eigenpairs of Σ K_v/σ²_v, then σ²_v = [tr K_v - tr(BᵀK_vB)] / D_v with B = V((l-1)/l)^½.

    Stops when no log noise moves by more than ``tol``, or after ``max_iter`` rounds. With the rows to be ``held`` out, a
    noise that is still falling after 50 rounds, or has fallen below a twentieth of the view's residual variance on those rows, is
    bounded by that variance (times ``bound``), with a `NumericalWarning` if the views have ``names``. With ``leaps`` the rounds are
    extrapolated: the same optimum in fewer. The rounds run on the ``working`` table if there
    is one: the same rows, `factor_views`.
    """
    with pin_threads(table.n_rows):
        return _fit_view_noises(
            table, n_components, solver, space, tol, max_iter, floors, held, bound, leaps, names, progress, working
        )


def pin_threads(n_rows: int) -> AbstractContextManager[Any]:
    """One BLAS thread for rounds of decompositions of this size: on a busy machine more cost up to 40 times as much."""
    return single_blas_thread() if n_rows < SIZES.one_thread else nullcontext()


def _fit_view_noises(
    table: ViewTable,
    n_components: int,
    solver: Solver,
    space: str,
    tol: float,
    max_iter: int,
    floors: Array | None,
    held: HeldOutRows | None,
    bound: float,
    leaps: bool,
    names: Any,
    progress: Progress | None,
    working: ViewTable | None,
) -> NoiseFit:
    start = start_noises(table)
    least = np.maximum(SEEN * start, 0.0 if floors is None else floors)
    check_scale(
        float(np.sqrt(least.min(where=least > 0, initial=1.0))), "the noise of a view"
    )  # views are divided by it
    rows, where = (table, space) if working is None else (working, "primal")
    noises = np.maximum(start, least)
    history: list[float] = []
    settled = False

    def climb(table: ViewTable, space: str, noises: Array, rounds: int) -> tuple[Array, bool]:
        noises, more, settled = _ecm(table, n_components, solver, space, noises, least, tol, rounds, leaps, progress)
        history.extend(more)
        return noises, settled

    noises, settled = climb(rows, where, noises, min(max_iter, ROUNDS))
    if held is not None and len(table.views) > 1:
        bounds = bound * _collapse_bounds(table, n_components, solver, space, noises, start, settled, held)
        if (bounds > noises).any():
            if names is not None:
                _warn_collapse(noises, bounds, names)
            least = np.maximum(least, bounds)
            noises, settled = climb(rows, where, np.maximum(noises, least), min(max_iter, ROUNDS))
    if not settled and len(history) < max_iter:
        noises, settled = climb(rows, where, noises, max_iter - len(history))
    sample, spectrum = solve_scaled(table, n_components, solver, space, noises)
    latents = sample.latents(spectrum)
    gaussian = LatentGaussian(spectrum.eigenvalues, 1.0, sample.dim)
    model = LatentModel(sample.subspace(spectrum, latents), gaussian, spectrum)
    signed = latents * positive_signs(latents)
    return NoiseFit(model, noises, np.array(history), len(history), settled, signed, unrotation(spectrum, latents))


def solve_scaled(table: ViewTable, q: int, solver: Solver, space: str, noises: Array) -> tuple[ViewSample, Spectrum]:
    """The top of the scaled spectrum above the noise, which is now 1."""
    sample = table.sample(scales_of(noises), space)
    spectrum = solver.solve(sample.operator(), min(q, sample.max_components), dim=sample.dim, noise_variance=1.0)
    kept = int((spectrum.eigenvalues > 1.0).sum())
    if kept < len(spectrum.eigenvalues) and spectrum.gamma is not None:
        spectrum = replace(spectrum, eigenvectors=rotate(spectrum), gamma=None)  # only eigenvectors can be cut
    return sample, spectrum.leading(kept)


def _ecm(
    table: ViewTable,
    q: int,
    solver: Solver,
    space: str,
    noises: Array,
    least: Array,
    tol: float,
    rounds: int,
    leaps: bool,
    progress: Progress | None,
) -> tuple[Array, list[float], bool]:
    """Rounds of the ECM from decompositions of the scaled views."""

    def step(noises: Array) -> tuple[Array, float]:
        sample, spectrum = solve_scaled(table, q, solver, space, noises)
        level = mean_log_likelihood(table.traces, table.dims, spectrum.eigenvalues, noises)
        return (table.traces - _explained_traces(sample, spectrum)) / table.dims, level

    return ecm_rounds(step, noises, least, tol, rounds, leaps, progress)


def ecm_rounds(
    step: Callable[[Array], tuple[Array, float]],
    noises: Array,
    least: Array,
    tol: float,
    rounds: int,
    leaps: bool,
    progress: Progress | None,
) -> tuple[Array, list[float], bool]:
    """Rounds of an ECM whose ``step`` says the next noises and the likelihood of the present ones.

    With ``leaps`` two steps are followed by one along what they have in common (SQUAREM [13]), wherever the likelihood gains by it.
    Returns the noises, the likelihood of each round, and whether they settled.
    """
    history: list[float] = []
    path = [np.log(np.where(noises > 0, noises, 1.0))]  # log noises since the last leap
    moved, level = step(noises)
    for _ in range(rounds):
        history.append(level)
        moved = np.maximum(moved, least)
        alive = (moved > 0) & (noises > 0)
        steps = np.abs(np.log(moved[alive] / noises[alive]))
        noises = np.where(noises > 0, moved, 0.0)
        if progress is not None:
            progress.step(log_likelihood=level)
        if steps.max(initial=0.0) <= tol:
            return noises, history, True
        moved, level = step(noises)
        path.append(np.log(np.where(noises > 0, noises, 1.0)))
        if leaps and len(path) == 3:
            free = noises > least  # what rests at its bound stays there
            far = np.where(
                free, np.maximum(np.exp(_leap(*(np.where(free, point, 0.0) for point in path))), least), noises
            )
            there = step(far)
            if there[1] >= level - ROUNDING * abs(level):
                noises, (moved, level) = far, there
            path = [np.log(np.where(noises > 0, noises, 1.0))]
    return noises, history, False


def _leap(first: Array, second: Array, third: Array) -> Array:
    """Where three points of log noises are heading, as far as their steps shrink."""
    far, _ = leap([first], [second], [third])
    # A leap ends where the logarithm of a noise is this large: its powers are numbers still.
    return np.minimum(third if far is None else far[0], 300.0)


def _explained_traces(sample: ViewSample, spectrum: Spectrum) -> Array:
    """tr(BᵀK_vB), one per view; from the axes alone where they are explicit: Σ (l - 1)|u_v|² / c_v²."""
    table = sample.table
    if sample.space == "primal":
        columns = np.square(rotate(spectrum)) @ (spectrum.eigenvalues - 1.0)
        ends = np.cumsum([0, *table.widths])
        sums = np.array([columns[start:stop].sum() for start, stop in pairwise(ends)])
        safe = np.where(sample.scales > 0, sample.scales, 1.0)
        return np.where(sample.scales > 0, sums / safe**2, 0.0)
    B = sample.latents(spectrum) * np.sqrt(1.0 - 1.0 / spectrum.eigenvalues)
    return np.array(
        [
            float(np.square(block.T @ B).sum()) if block is not None else float(np.vdot(B, table.grams[v] @ B))
            for v, block in enumerate(table.centred)
        ]
    )


def mean_log_likelihood(traces: Array, dims: Array, values: Array, noises: Array) -> float:
    """Mean log p per row at the closed form with noise 1 and the eigenvalues above it, less Σ D_v log σ_v for the scaling [2, 8]."""
    alive = noises > 0
    trace = float((traces[alive] / noises[alive]).sum())
    level = log_likelihoods_of_each_q(values, trace, float(dims.sum()), values, trace, noise_variance=1.0)[-1]
    return float(level - 0.5 * (dims[alive] * np.log(noises[alive])).sum())


# ---------------------------------------------------------------- collapse


def _collapse_bounds(
    table: ViewTable,
    q: int,
    solver: Solver,
    space: str,
    noises: Array,
    start: Array,
    settled: bool,
    held: HeldOutRows,
) -> Array:
    """The held-out residual variance of the views whose noise collapsed; 0 for the others."""
    bounds = np.zeros(len(noises))
    suspects = [
        v
        for v in range(len(table.views))
        if table.widths[v] > 0
        and table.dims[v] < q
        and start[v] > 0
        and (not settled or noises[v] < COLLAPSE * start[v])
    ]
    if not suspects or table.n_rows < JURY.fewest_rows:
        return bounds
    residuals = held(q, noises) if callable(held) else held_out_residuals(table, q, solver, space, noises, held)
    for v in suspects:
        if noises[v] < (residuals[v] if not settled else COLLAPSE * residuals[v]):
            bounds[v] = min(residuals[v], start[v])  # a view is never noisier than it varies
    return bounds


def held_out_residuals(table: ViewTable, q: int, solver: Solver, space: str, noises: Array, mask: Array) -> Array:
    """Mean squared residual per coordinate of every explicit view, predicted from the others on the rows of the mask."""
    held, kept = np.flatnonzero(mask), np.flatnonzero(~mask)
    sample, spectrum = solve_scaled(table.take(kept), q, solver, space, noises)
    subspace = sample.subspace(spectrum)
    gaussian = LatentGaussian(spectrum.eigenvalues, 1.0, sample.dim)
    inputs = [view_inputs(view, held, kept) for view in table.views]
    weights = table.weights[held] / table.weights[held].sum()
    out = np.zeros(len(table.views))
    for v, view in enumerate(table.views):
        if not isinstance(view, ExplicitView):
            continue
        others = [None if w == v else X for w, X in enumerate(inputs)]
        z = gaussian.posterior(subspace.without_maps().project(others)).mean
        residual = view.features[held] - subspace.parts[v].decoded(gaussian.decode(z))
        out[v] = float(weights @ np.square(residual).mean(axis=1))
    return out


def view_inputs(view: View, held: Array, kept: Array) -> Array:
    """Rows as `ViewSubspace.without_maps` takes them: features, or kernel values over the kept rows."""
    return view.features[held] if isinstance(view, ExplicitView) else view.raw.columns(kept, rows=held)


def _warn_collapse(noises: Array, bounds: Array, names: Any) -> None:
    for v in np.flatnonzero(bounds > noises):
        name = names[v]
        warn(
            f"The noise variance of view {name!r} was falling towards 0 ({noises[v]:.3g}): components were spent on that view "
            f"alone. It is bounded by its residual variance on held-out rows, {bounds[v]:.3g}. Lower n_components.",
            NumericalWarning,
        )
