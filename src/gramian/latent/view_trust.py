"""How far the views shown can be trusted when another is predicted, by held-out error [8].

Dividing the trust in the views o by κ predicts W_v(Σ W_wᵀW_w + κσ²I)⁻¹ Σ W_wᵀφ_w: ridge regression of view v on the views o
within the kept components. All questions share one decomposition a fold. The residuals of the held-out rows say what error to
expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gramian._arrays import Array
from gramian.latent.gaussian import LatentGaussian
from gramian.latent.view_noise import bare, pinned, view_inputs
from gramian.latent.view_regression import Folds, calibrated_std, kept_spectrum, ridge_grid, ridge_predictions
from gramian.latent.views import ExplicitView, View, ViewSample, ViewSubspace
from gramian.solvers.base import Solver

Question = tuple[tuple[int, ...], int]
"""Positions of the views shown, and of the view they predict."""


@dataclass(frozen=True)
class _Fold:
    """A model of the rows that were kept, and the rows that were not."""

    held: Array
    subspace: ViewSubspace
    gaussian: LatentGaussian
    inputs: list[Array]  # of the rows held out, as `bare` subspaces take them
    means: list[Array | None]  # of the explicit views

    def residuals(self, views: Sequence[View], question: Question, ridges: Array) -> Array:
        """Prediction less truth for every ridge κσ², (r, n_held, m)."""
        given, target = question
        view, mean = views[target], self.means[target]
        loadings = self.subspace.parts[target].loadings(self.gaussian.gains)
        assert isinstance(view, ExplicitView)
        assert mean is not None
        assert loadings is not None
        seen = self.subspace.project([X if v in given else None for v, X in enumerate(self.inputs)])
        offsets, _ = ridge_predictions(self.gaussian, seen, loadings, self.gaussian.n_components, ridges)
        return offsets - (view.features[self.held] - mean)


def held_out_trusts(
    sample: ViewSample,
    n_components: int,
    noise_variance: float,
    solver: Solver,
    folds: Folds,
    questions: Sequence[Question],
) -> list[tuple[float, Array]]:
    """1/κ of the least squared error on held-out rows and the standard deviations of the residuals there, one a question.

    The target views have explicit features.
    """
    views, weights = sample.table.views, sample.table.weights
    found = []
    with pinned(len(weights)):
        models = [_fold(sample, n_components, noise_variance, solver, folds, k) for k in range(len(folds.distinct))]
        ridges = ridge_grid(models[0].gaussian)
        for question in questions:
            errors = np.zeros(len(ridges))
            for model in models:
                squares = np.square(model.residuals(views, question, ridges))
                errors += np.einsum("n,rnm->r", weights[model.held], squares)
            ridge = ridges[np.flatnonzero(errors <= errors.min() * (1 + 1e-9))[-1]]  # of equals the largest
            parts = [model.residuals(views, question, np.array([ridge]))[0] for model in models]
            residuals = np.empty((len(weights), parts[0].shape[1]))
            for model, part in zip(models, parts, strict=True):
                residuals[model.held] = part
            std = calibrated_std(residuals, np.zeros(len(weights)), weights, sample.table.total_weight)
            # the ridge of kernel regression is κσ²N: with all rows in, κ is smaller
            found.append((float(noise_variance / (folds.kept_share * ridge)), std))
    return found


def _fold(
    sample: ViewSample, n_components: int, noise_variance: float, solver: Solver, folds: Folds, number: int
) -> _Fold:
    views = sample.table.views
    held, kept = np.flatnonzero(folds.numbers == number), np.flatnonzero(folds.numbers != number)
    part = replace(sample, table=sample.table.take(kept))
    spectrum = kept_spectrum(part, n_components, solver, noise_variance)
    gaussian = LatentGaussian(spectrum.eigenvalues, noise_variance, part.dim)
    means = [view.take(kept).mean(part.table.weights) if isinstance(view, ExplicitView) else None for view in views]
    inputs = [view_inputs(view, held, kept) for view in views]
    return _Fold(held, bare(part.subspace(spectrum)), gaussian, inputs, means)
