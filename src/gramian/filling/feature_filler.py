"""The features of a table filled several times, without the cells that a draw hides: what the first draw settles is taken for the others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian.filling.aside import Filled
from gramian.filling.columns import FilledColumns
from gramian.tables.preprocessing import Preprocessing


@dataclass
class FeatureFiller:
    """Fills draws of the features of ``coding`` with ``imputer``, an unfitted `LatentImputer` that takes features as they are.

    Which cells are wild is asked once, of all features; noise, q and the scales of deviations once for each part of the features.
    """

    imputer: Any
    coding: Preprocessing
    seer: FilledColumns | None = field(default=None, init=False)  # the first fit: it knows which cells are wild

    def __call__(self, draws: list[Array], kept: Array) -> list[Filled | None]:
        """These draws filled by models of the features that are ``kept`` (d,)."""
        coding = self.coding.only([self.coding.names[j] for j in np.unique(self.coding.owner[kept])])
        first: Any = None
        found = []
        for X in draws:
            shown = X if self.seer is None else self.seer._without_wild_cells(X)
            asked = clone(self.imputer).set_params(robust=self.imputer.robust if self.seer is None else False)
            model = asked if first is None else first._settled()
            told = _filled_by(model, shown[:, kept], coding, first)
            if told is None and first is not None:
                model = asked
                told = _filled_by(model, shown[:, kept], coding, None)
            if told is not None:
                first = first or model
                if self.seer is None and kept.all():
                    self.seer = model
            found.append(told)
        return found


def _filled_by(model: Any, X: Array, coding: Preprocessing, like: Any) -> Filled | None:
    """The features filled by a model that is fitted to them, and deviations that are multiplied as those of a model ``like`` it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all cells says what there is to say
            model.fit(X)
            if like is not None:
                model.std_scales_ = like.std_scales_
            full, std = model.impute(X, return_std=True)
    except ValueError:
        return None
    return Filled(full, std, lambda: model._chances_in(coding, X, full, std))
