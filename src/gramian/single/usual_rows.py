"""Usual rows of a table and kernel models of them: they see what lies between clusters or off a curve, where one Gaussian does not look [2, 10]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from gramian._arrays import Array, Kept, row_chunks
from gramian._quantiles import weighted_quantile
from gramian.exceptions import NumericalWarning
from gramian.kernels import RBF, Kernel
from gramian.latent.model import LatentModel, fit_latent_model
from gramian.latent.sample import DualSample
from gramian.latent.subspace import DualSubspace
from gramian.operators.gram import DenseGram
from gramian.policy import DEFAULTS, DETECTOR, LOOK
from gramian.solvers.eigh import Eigh


@dataclass(frozen=True)
class UsualRows:
    """Distinct complete rows with their folds. Models are made on first need: the rows say all, and files hold nothing else.

    ``rate`` and ``middle`` bring scores to the units of another model.
    """

    rows: Annotated[Array, "n d"]
    weights: Annotated[Array, "++ n"]
    folds: Annotated[Array, "n"]  # -1 for a row of no fold
    kernel: Annotated[Kernel, "Kernel"]
    rate: Annotated[float, "nonnegative"] = 1.0
    middle: Annotated[float, "number"] = 0.0
    kept: Kept = field(default_factory=Kept, compare=False, repr=False)

    @classmethod
    def of(cls, rows: Array, weights: Array, folds: Array, n_folds: int) -> UsualRows | None:
        """None where a model would have too few rows, or no noise."""
        left = [int((folds != held).sum()) for held in range(n_folds)]
        if min([len(rows), *left]) < LOOK.fewest:
            return None
        kernel = RBF(DETECTOR.width * float(RBF("median").resolve(rows).length_scale))
        found = cls(rows, weights, folds, kernel)
        models = (found.without(held) for held in range(max(n_folds, 1)))
        return found if all(model.gaussian.noise_variance > 0 for model in models) else None

    def without(self, held: int) -> LatentModel[DualSubspace]:
        """The model of the rows outside a fold. The noise of each has the same dimensions, or scores would not compare."""
        return self.kept.get(f"without {held}", lambda: self._fit(self.folds != held))

    def _fit(self, shown: Array) -> LatentModel[DualSubspace]:
        rows, weights = self.rows[shown], self.weights[shown]
        raw = DenseGram(np.asarray(self.kernel(rows), dtype=np.float64))
        sample = DualSample(self.kernel, rows, raw, weights / weights.sum(), float(len(self.rows)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalWarning)
            return fit_latent_model(sample, DEFAULTS.explained, Eigh())

    def scores(self, held: int, X: Array) -> Array:
        """How likely complete rows are under the model without a fold, in the units that were asked for.

        Rows of no fold (-1) are told by the model without the first: one of more rows would find new rows likelier than those behind the threshold.
        """
        model, found = self.without(max(held, 0)), np.empty(len(X))
        for chunk in row_chunks(len(X)):
            found[chunk] = model.gaussian.log_density(model.subspace.project(X[chunk]))
        return self.rate * (found - self.middle)

    def in_units_of(self, others: Array, scores: Array, weights: Array) -> UsualRows:
        """With quartiles of ``scores`` as far apart as those of the scores of others, and median 0."""
        low, middle, high = (weighted_quantile(scores, weights, level) for level in (0.25, 0.5, 0.75))
        apart = weighted_quantile(others, weights, 0.75) - weighted_quantile(others, weights, 0.25)
        return replace(self, rate=apart / (high - low) if high > low else 0.0, middle=middle)
