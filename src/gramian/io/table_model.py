"""TableModel: an estimator together with the preprocessing of its table, as the command line saves it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._catalogue import ESTIMATORS
from gramian.exceptions import NumericalWarning
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table


@dataclass
class TableModel:
    """What ``gramian fit`` writes and every other sub-command reads; ``gramian.load`` gives it back in Python.

    ``estimator`` works on the features that ``preprocessing.matrix(table)`` gives; ``kind`` is the word of ``--model``;
    ``limits`` are quantiles of the training rows' scores, for flags where a model has no control limits of its own;
    ``clock`` holds the last cells of the column that tells the time of a series, by its name;
    ``odd_limits`` are quantiles of the oddness of rows under models that have not seen them, for those that have;
    ``filler`` fills the holes of rows for an estimator that takes none, and has never seen a target.
    """

    kind: str
    estimator: Any
    preprocessing: Preprocessing
    limits: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    odd_limits: dict[str, float] = field(default_factory=dict)
    clock: dict[str, list[str] | list[float]] = field(default_factory=dict)
    filler: Any = None

    def matrix(self, table: Table, *, may_lack: Sequence[str] = ()) -> Array:
        """The features of rows as the estimator takes them."""
        return without_holes(self.filler, self.preprocessing.matrix(table, may_lack=may_lack))


def filler_of(estimator: Any, X: Array) -> Any:
    """What fills the holes of rows for an estimator that takes none, from the inputs alone: the target stays unseen."""
    from gramian.estimators.imputer import LatentImputer
    from gramian.estimators.ppca import PPCA

    if ESTIMATORS[type(estimator).__name__].holes:
        return None
    if not np.isnan(X).any():
        return PPCA().fit(X)  # no hole to choose a filling by: the model of all rows, for rows to come
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)  # a row that shows nothing is filled with the means
        return LatentImputer(standardize=False).fit(X)


def without_holes(filler: Any, X: Array) -> Array:
    """The rows with their holes filled, where there is something to fill them."""
    return X if filler is None or not np.isnan(X).any() else np.asarray(filler.impute(X))
