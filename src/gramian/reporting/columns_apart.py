"""Which categories of many values stand aside, and how well all columns are filled, both by the same hidden cells [10]."""

from __future__ import annotations

from dataclasses import dataclass, field

from gramian._arrays import Array
from gramian.estimators.imputer import feature_filler
from gramian.filling.aside import columns_aside
from gramian.reporting.fill_quality import ColumnQuality, Judged
from gramian.tables.preprocessing import Preprocessing


@dataclass(frozen=True)
class Apart:
    """Which columns take no part in the model of the others, and what hidden cells say of the filling of all."""

    columns: list[str] = field(default_factory=list)
    quality: dict[str, ColumnQuality] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """What was done, in words."""
        if not self.columns:
            return []
        return [
            f"hidden cells are filled as well without {', '.join(map(repr, self.columns))}, of many values: left out of the model of the others"
        ]


def columns_apart(prepare: Preprocessing, X: Array) -> Apart:
    """What `LatentImputer` finds of a frame, with the quality of all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.tables.table import Table
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal(120)
    >>> words = np.array([f"w{k}" for k in rng.integers(0, 20, 120)], dtype=object)
    >>> table = Table(["a", "b", "word"], [z, z + 0.3 * rng.standard_normal(120), words])
    >>> prepare = Preprocessing.fit([table])
    >>> columns_apart(prepare, prepare.matrix(table)).columns
    ['word']
    """
    found = columns_aside(prepare, X, feature_filler(prepare))
    judged = Judged(prepare)
    for table, part in zip(found.tables, found.filled):
        if part is not None:
            judged.add(table.X, table.masked, table.hidden, part.full, part.std, part.chances())
    return Apart(found.columns, judged.found())
