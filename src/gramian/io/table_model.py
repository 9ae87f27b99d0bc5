"""TableModel: an estimator together with the preprocessing of its table, as the command line saves it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

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
    ``detector`` says which rows are odd;
    ``clock`` holds the last cells of the column that tells the time of a series, by its name;
    ``filler`` fills the holes of rows for an estimator that was tuned, or fitted to batches, without any, and has never seen a target.
    """

    kind: str
    estimator: Annotated[Any, "object"]
    preprocessing: Preprocessing
    facts: dict[str, Any] = field(default_factory=dict)
    detector: Annotated[Any, "maybe LatentOutlierDetector"] = None
    clock: dict[str, list[str] | list[float]] = field(default_factory=dict)
    filler: Annotated[Any, "maybe object"] = None

    def matrix(self, table: Table, *, may_lack: Sequence[str] = ()) -> Array:
        """The features of rows as the estimator takes them.

        Parameters
        ----------
        table : Table
            Rows, with the columns of the fit.
        may_lack : sequence of str, optional
            Columns that may be absent.

        Returns
        -------
        ndarray of shape (n_rows, n_features)

        References
        ----------
        docs/command_line.md.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PPCA
        >>> from gramian.io import Preprocessing, Table, TableModel
        >>> table = Table(["a", "b"], [np.array([1.0, 3.0, 5.0]), np.array([2.0, 1.0, 6.0])])
        >>> prepare = Preprocessing.fit([table])
        >>> TableModel("ppca", PPCA(1).fit(prepare.matrix(table)), prepare).matrix(table).shape
        (3, 2)
        """
        return without_holes(self.filler, self.preprocessing.matrix(table, may_lack=may_lack))


def filler_of(estimator: Any, X: Array) -> Any:
    """What fills the holes of rows for a search, whose objectives compare whole rows, from the inputs alone: the target stays unseen."""
    from gramian.estimators.imputer import LatentImputer
    from gramian.estimators.ppca import PPCA

    if ESTIMATORS[type(estimator).__name__].batches_with_holes:
        return None
    if not np.isnan(X).any():
        return PPCA().fit(X)  # no hole to choose a filling by: the model of all rows, for rows to come
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)  # a row that shows nothing is filled with the means
        return LatentImputer(standardize=False).fit(X)


def without_holes(filler: Any, X: Array) -> Array:
    """The rows with their holes filled, where there is something to fill them."""
    return X if filler is None or not np.isnan(X).any() else np.asarray(filler.impute(X))


def as_table_model(estimator: Any) -> TableModel:
    """A fitted estimator as the command line saves it: its columns as they are, by name or by position."""
    if isinstance(estimator, TableModel):
        return estimator
    width = getattr(estimator, "n_features_in_", None)
    if width is None:
        raise ValueError(f"it holds a {type(estimator).__name__}, which is not a fitted model of tables.")
    coding = getattr(estimator, "_coding", None)
    if coding is not None:
        return TableModel(_kind_of(estimator), estimator, coding)
    names = getattr(estimator, "feature_names_in_", None)
    labels = [str(name) for name in names] if names is not None else [f"x{i}" for i in range(1, width + 1)]
    plain = Preprocessing(labels, [[] for _ in labels], np.zeros(width), np.ones(width))
    return TableModel(_kind_of(estimator), estimator, plain, facts={"columns by position": names is None})


def _kind_of(estimator: Any) -> str:
    name = type(estimator).__name__
    entry = ESTIMATORS.get("KernelPPCAClassifier" if name == "RKMClassifier" else name)
    return entry.word if entry is not None and entry.word else name
