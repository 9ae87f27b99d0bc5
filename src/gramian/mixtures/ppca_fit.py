"""Mixtures of PPCA: maximum likelihood by the EM of `mixture`, on complete rows or rows with holes [6]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gramian._precision import HALF_DIGITS, ROUNDING
from gramian._progress import Progress
from gramian.latent.primal import latent_model
from gramian.latent.subspace import PrimalSubspace
from gramian.mixtures.complete import CompleteRows
from gramian.mixtures.holes import RowsWithHoles
from gramian.mixtures.mixture import Ascent, MixtureFit, climb
from gramian.mixtures.rows import GaussianRows, MixtureTable, Responsibilities, shares_of_block
from gramian.mixtures.start import nonempty_start
from gramian.mixtures.student_rows import StudentRows, StudentView, weights_of_block


def gaussian_rows(
    table: MixtureTable,
    counts: Sequence[int],
    *,
    shared: bool,
    rng: np.random.Generator,
    em: bool = False,
    degrees: Any = None,
) -> GaussianRows:
    """The rows ready for components of these numbers of latents: multivariate t where ``degrees`` is a number or "auto" [14]."""
    if degrees is not None:
        found = None if degrees == "auto" else float(degrees)
        return StudentRows(table, tuple(counts), shared, ROUNDING, rng, em, found)
    kind = CompleteRows if table.complete else RowsWithHoles
    return kind(table, tuple(counts), shared, ROUNDING, rng, em)


def fit_mixture(
    table: MixtureTable,
    asked: Sequence[int | float],
    start: Responsibilities,
    *,
    shared: bool,
    rng: np.random.Generator,
    mixing: Any = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    progress: Progress | None = None,
    with_responsibilities: bool = True,
    em: bool = False,
    degrees: Any = None,
) -> MixtureFit[PrimalSubspace]:
    """One EM; where fractions were asked for, again with the numbers of latents that its clusters call for.

    ``asked`` has a number of latents, or a fraction of the variance, per component. Responsibilities of all rows are only kept if asked for.
    ``em``: the M-step of complete rows is one of EM, and not the closed form. ``degrees``: components are multivariate t of so many, or of as many as
    are found ("auto"); the table is then masked.
    """
    asked = list(asked)
    start = nonempty_start(table, start)
    rows = gaussian_rows(table, [1] * len(asked), shared=shared, rng=rng, em=em, degrees=degrees)
    counts: list[int] = []
    # How often a fraction of variance is turned into numbers of components anew.
    for _ in range(3):
        new = rows.fraction_counts(start, asked)
        if new == counts:
            break
        counts = new
        rows = gaussian_rows(table, counts, shared=shared, rng=rng, em=em, degrees=degrees)
        ascent = climb(rows, start, mixing=mixing, tol=tol, max_iter=max_iter, progress=progress)
        start, mixing = rows.view(ascent.components, ascent.mixing), None
    return mixture_fit(rows, ascent, with_responsibilities)


def mixture_fit(rows: GaussianRows, ascent: Ascent, with_responsibilities: bool = True) -> MixtureFit[PrimalSubspace]:
    """Where an EM ended, in the units of the rows."""
    table, parameters = rows.table, ascent.components.parameters
    # a column that shows one value has that mean and no loadings, to the last digit
    parameters = replace(
        parameters,
        mean=np.where(table.still, 0.0, parameters.mean),
        loadings=np.where(table.still[:, None], 0.0, parameters.loadings),
    )
    shares, view = np.empty((0, rows.n_clusters)), rows.view(ascent.components, ascent.mixing)
    if with_responsibilities:
        shares = np.concatenate(table.rows.map(shares_of_block, view))
    counted: dict[str, Any] = {}
    if isinstance(view, StudentView):
        counted = {"degrees_of_freedom": view.degrees}
        if with_responsibilities:
            counted["row_weights"] = np.concatenate(table.rows.map(weights_of_block, view))
    return MixtureFit(
        rows.models(parameters, table.shift, table.scale),
        ascent.mixing,
        shares,
        (np.asarray(ascent.levels) - table.cells * np.log(table.scale)) / table.total,
        ascent.converged,
        ascent.n_rescued,
        np.flatnonzero(parameters.noise_variance <= rows.floor * (1.0 + HALF_DIGITS)).tolist(),
        rows.floor * table.scale**2,
        **counted,
    )


def with_directions_above_noise(found: MixtureFit[PrimalSubspace]) -> MixtureFit[PrimalSubspace]:
    """The same mixture; each component keeps the directions whose variance is above its noise: the others carry no loadings."""
    components = []
    for model in found.components:
        gaussian = model.gaussian
        kept = int((gaussian.eigenvalues > gaussian.noise_variance * (1.0 + HALF_DIGITS)).sum())
        if kept < gaussian.n_components:
            loadings = model.subspace.components[:kept].T * gaussian.gains[:kept]
            model = latent_model(model.subspace.mean, loadings, gaussian.noise_variance)
        components.append(model)
    return replace(found, components=components)
