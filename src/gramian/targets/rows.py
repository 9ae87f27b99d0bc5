"""From inputs and targets, wherever their rows live, to what a target model is fitted from: units, kernel, features, sums [8, 10, 13]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import Folds, smallest_positions
from gramian.evidence.held_out import HeldOut
from gramian.features import FeatureMap, Identity
from gramian.kernels import Linear, as_kernel
from gramian.latent.units import ColumnSpread, Units, column_spread
from gramian.policy import SIZES
from gramian.rows import ArrayRows, Block, Rows
from gramian.solvers.spectrum import positive_signs
from gramian.targets.moments import MomentInputs, TargetFeatures
from gramian.targets.squash import Squash
from gramian.targets.survey import DrawnPairs, InputReading, TargetCoding, TargetSurvey
from gramian.views.moments import MomentTable, MomentView, feature_sums
from gramian.views.specs import is_feature_map

FEATURE_ADVICE = "Use kernel='linear' or approximation='nystroem', whose fits are sums over rows"


@dataclass(frozen=True)
class TargetRows:
    """Rows of inputs and target with their survey; ``held`` are the same rows in memory, None where they are elsewhere."""

    rows: Rows
    coding: TargetCoding
    survey: TargetSurvey
    held: ArrayRows | None

    @property
    def drawn(self) -> DrawnPairs:
        return self.survey.drawn

    def gathered(self, limit: int) -> ArrayRows | None:
        """All rows in memory: they are there, or there are so few that the draw holds them all."""
        if self.held is not None or self.survey.n_rows > limit:
            return self.held
        drawn = self.drawn
        return ArrayRows(drawn.X, drawn.weights, drawn.Y)

    def units(self, squash: Squash | None = None) -> InputReading:
        """Columns of mean 0 and variance 1, constant ones left at 0; with far values drawn in first, one more pass."""
        spread = self.survey.inputs if squash is None else self.rows.fold(squashed_spread, squash)
        units = Units.of_spread(spread)
        return InputReading(squash, units.mean, units.scale)

    def squash(self) -> Squash | None:
        """Far values drawn in, where some column has a heavy tail."""
        survey = self.survey
        return Squash.of(self.drawn.X, self.drawn.weights, survey.inputs.deviation, survey.input_range)

    def distinct_inputs(self, reading: InputReading, limit: int) -> Array:
        """At most ``limit`` distinct rows of inputs, as the model sees them."""
        return reading(self.drawn.X[smallest_positions(self.drawn.hashes, limit)])

    def fitted_map(self, spec: Any, reading: InputReading) -> Any:
        """The map behind explicit features, fitted to drawn rows (or to all, where it must see them); None: the inputs themselves.

        An exact kernel has none: `NoFeaturesError`.
        """
        if isinstance(spec, Identity):
            return None
        if not is_feature_map(spec):
            if isinstance(as_kernel(spec), Linear):
                return None
            raise NoFeaturesError(f"kernel={spec!r} is not explicit")
        if isinstance(spec, FeatureMap) and spec.n_drawn is not None and spec.n_drawn <= self.drawn.limit:
            first = smallest_positions(self.drawn.hashes, spec.n_drawn)
            return clone(spec).fit_drawn(reading(self.drawn.X[first]))
        if self.held is None:
            raise NoFeaturesError(f"{type(spec).__name__} must see all rows when it is fitted")
        options = {"sample_weight": self.held.weights} if isinstance(spec, FeatureMap) else {}
        return clone(spec).fit(reading(self.held.X), **options)

    def sums(self, reading: InputReading, feature_map: Any, folds: Folds) -> tuple[MomentTable, TargetFeatures]:
        """The moments of features and target, fold by fold: one pass."""
        features = TargetFeatures(reading, feature_map, self.coding)
        drawn = self.drawn
        width = features.inputs(drawn.X[:1]).shape[1]
        total = width + drawn.Y.shape[1]
        if total > SIZES.stored:
            raise NoFeaturesError(f"{total} features are more than the {SIZES.stored} whose covariance is stored")
        sums = self.rows.fold(feature_sums, features, folds, total)
        views = (MomentView(slice(0, width), feature_map), MomentView(slice(width, total)))

        def signs(axes: Array, mean: Array) -> Array:
            """The largest score of a drawn row is positive."""
            return positive_signs((np.hstack([features.inputs(drawn.X), drawn.Y]) - mean) @ axes)

        return MomentTable(views, sums, signs), features

    def inputs(self, table: MomentTable, features: TargetFeatures, rank_tol: float) -> MomentInputs:
        """What the fit reads: the moments, and features and target of the drawn rows."""
        drawn = self.drawn
        weights = drawn.weights / drawn.weights.sum()
        return MomentInputs(table.sums.folds, table.widths[0], rank_tol, features.inputs(drawn.X), drawn.Y, weights)

    def folds(self, n_folds: int | Folds | None) -> tuple[Folds, HeldOut | None]:
        """How rows are held out, and the folds of the drawn ones."""
        if n_folds is None:
            return Folds(0), None
        return self.survey.folds(n_folds)


class NoFeaturesError(ValueError):
    """The fit is no sum over rows."""


def squashed_spread(block: Block, squash: Squash) -> ColumnSpread:
    """How the inputs of a block spread once far values are drawn in: a task for `Rows.fold`."""
    return column_spread(Block(squash(block.X), block.weights))
