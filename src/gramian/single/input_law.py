"""What the missing cells of a row may be, given the seen ones: the law that kernel models with holes work under [18]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy.special import ndtri

from gramian._arrays import Array, row_chunks
from gramian._checks import check_scale
from gramian._content import SmallestRows, cell_uniforms, merged_copies, row_hashes
from gramian.evidence.cell_choice import CellChoice, choose_noise_by_cells
from gramian.evidence.cell_scales import column_scales
from gramian.evidence.cells import LOOSE
from gramian.kernels.expected import as_laws
from gramian.latent.missing import MissingFit, fit_missing
from gramian.latent.model import PrimalModel
from gramian.latent.primal import predictive
from gramian.latent.units import Units
from gramian.policy import LOOK, SIZES
from gramian.single.hole_fit import model_of_missing


@dataclass(frozen=True)
class InputLaw:
    """Missing cells given seen ones, by PPCA on the training inputs: means, and variances held to what hidden cells say.

    Targets and labels take no part in it. The noise of PPCA (on wide tables its q) is the one that fills hidden cells best.
    """

    units: Annotated[Units, "its d"]
    model: Annotated[PrimalModel, "its d"]
    scales: Annotated[Array, "+ d"]  # of the standard deviations, per column; 0 where one value was seen

    @classmethod
    def of(cls, X: Array, weights: Array) -> InputLaw:
        """From training rows, with holes or without."""
        units = Units.of(X, weights)
        check_scale(float(units.scale.max(initial=0.0)))  # variances of cells are squares of it
        scaled = units.into(X)
        drawn = SmallestRows.of(scaled, weights, LOOK.rows)
        d = scaled.shape[1]
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # exact structure, few steps: the law is a means, and nobody asked for its model
            most = max(min(len(drawn.rows), d) - 1, 0)
            choice = choose_noise_by_cells(drawn.rows, drawn.weights, most, n_draws=LOOK.draws)
            q, noise, start = 0, None, None
            if choice is not None:
                chosen = choice.selection.chosen
                start = choice.start(chosen)
                q = int(chosen["n_components"] if isinstance(chosen, dict) else chosen)
                noise = chosen["noise_variance"] if isinstance(chosen, dict) else None
            found = fit_missing(scaled, q, weights=weights, noise_variance=noise, start=start)
            model = model_of_missing(found, d)
        # a column that shows one value has no unit: what it misses is that value, as `Units` would else say 1 of any unit
        still = ~np.nan_to_num(scaled).any(axis=0)
        return cls(units, model, np.where(still, 0.0, _scales(choice, d)))

    def refitted(self, X: Array, weights: Array) -> InputLaw:
        """The same noise and q fitted to other cells: what the law says of a hidden cell must not come from that cell."""
        gaussian, subspace = self.model.gaussian, self.model.subspace
        loadings = subspace.components.T * gaussian.gains
        start = MissingFit(subspace.mean, loadings, gaussian.noise_variance, [], 0, True)
        noise = gaussian.noise_variance or None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fit_missing(
                self.units.into(X),
                gaussian.n_components,
                weights=weights,
                noise_variance=noise,
                start=start if noise else None,
                tol=LOOSE,
                # Cycles of a fit without some cells, from the model of all of them.
                max_iter=20,
            )
            return replace(self, model=model_of_missing(found, X.shape[1]))

    def __call__(self, X: Array) -> tuple[Array, Array]:
        """Means and variances of every cell: what was seen, and 0, where it was. Equal rows are asked once, and so have equal laws."""
        means = np.array(X, dtype=np.float64)
        variances = np.zeros(means.shape)
        rows = np.flatnonzero(np.isnan(means).any(axis=1))
        if not rows.size:
            return means, variances
        first, _, back = merged_copies(means[rows], np.ones(len(rows)))
        asked = means[rows[first]]
        found, spread = np.empty(asked.shape), np.empty(asked.shape)
        for part in row_chunks(len(asked), SIZES.block):
            mean, spread[part] = predictive(self.model, self.model.subspace.project(self.units.into(asked[part])))
            found[part] = self.units.back(mean)
        holes = np.isnan(means[rows])
        means[rows] = np.where(holes, found[back], means[rows])
        variances[rows] = np.where(holes, spread[back] * np.square(self.scales * self.units.scale), 0.0)
        return means, variances

    def rows(self, X: Array) -> Array:
        """Rows as laws, (n, 2d): what `Expected` kernels take."""
        return as_laws(*self(X))

    def in_units(self, X: Array) -> Array:
        """Rows as laws in units of the columns."""
        means, variances = self(X)
        return as_laws(self.units.into(means), variances / np.square(self.units.scale))

    def draws(self, X: Array) -> Array:
        """Draws of the rows, (m, n, d): missing cells from their law, in pairs about their means. They follow from what a row holds."""
        means, variances = self(X)
        hashes = row_hashes(X)
        # Draws of the missing cells of a row, where an answer has no closed expectation; in pairs about the mean.
        uniforms = (cell_uniforms(hashes, means.shape[1], draw) for draw in range(16 // 2))
        steps = [np.sqrt(variances) * ndtri(np.clip(uniform, 1e-12, 1 - 1e-12)) for uniform in uniforms]
        return np.stack([means + sign * step for step in steps for sign in (1.0, -1.0)])


def _scales(choice: CellChoice | None, n_columns: int) -> Array:
    """What hidden cells say of the standard deviations."""
    said = None if choice is None else choice.said(choice.selection.chosen)
    if said is None:
        return np.ones(n_columns)
    deviations = (said.values - said.means) / np.sqrt(np.maximum(said.variances, np.finfo(float).tiny))
    return column_scales(deviations, said.columns, n_columns)
