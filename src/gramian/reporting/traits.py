"""Features as readers know them: a column of numbers as it is, a column of categories as one trait per value.

Contrasts of a column of categories are coordinates in which no value plays a special part [gramian.tables.coding]; nobody reads
them. Whether a row has a value is a linear function of them, so loadings and differences are said of values instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.reporting.blocks import shorten
from gramian.tables.coding import code_of
from gramian.tables.preprocessing import Preprocessing


@dataclass(frozen=True)
class Traits:
    """Names, and the map from features to traits, one column per trait; each trait has variance 1 in the table of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.tables.table import Table
    >>> colours = np.array(["red", "blue", "green", "red"] * 2, dtype=object)
    >>> table = Table(["size", "colour"], [np.arange(8.0), colours])
    >>> prepare = Preprocessing.fit([table])
    >>> traits = Traits.of(prepare)
    >>> traits.names
    ['size', 'colour=blue', 'colour=green', 'colour=red']
    >>> (prepare.matrix(table) @ traits.matrix)[:4, 3].round(3).tolist()  # whether a row is red
    [1.0, -1.0, -1.0, 1.0]
    """

    names: list[str]
    labels: list[str]  # short: of the value alone where a column has several
    matrix: Array

    @classmethod
    def of(cls, prepare: Preprocessing) -> Traits:
        """The traits of the columns of a table."""
        names: list[str] = []
        labels: list[str] = []
        blocks: list[tuple[int, Array]] = []
        start = 0
        for j, width in enumerate(prepare.widths):
            block = slice(start, start + width)
            values = prepare.categories[j]
            if len(values) > 2 and prepare.codings[j] == "contrasts":
                code = code_of(len(values), "contrasts")
                share = np.clip(code @ prepare.mean[block] + 1 / len(values), 0.0, 1.0)
                spread = np.sqrt(np.maximum(share * (1 - share), np.finfo(float).tiny))
                names += [f"{prepare.names[j]}={value}" for value in values]
                labels += values
                blocks.append((start, prepare.scale[block][:, None] * code.T / spread))
            else:
                names += prepare.features[block]
                labels += prepare.features[block]
                blocks.append((start, np.eye(width)))
            start += width
        matrix = np.zeros((start, len(names)))
        place = 0
        for row, part in blocks:
            matrix[row : row + part.shape[0], place : place + part.shape[1]] = part
            place += part.shape[1]
        return cls(names, labels, matrix)

    def loadings(self, model: Any) -> Array:
        """What a step of one unit along each component adds to each trait, one row per trait."""
        return np.asarray(self.matrix.T @ model.loadings_)

    def correlations(self, model: Any) -> Array:
        """Correlations of traits with components under the model: its squares are shares of the trait's variance."""
        W = self.loadings(model)
        spread = np.sqrt((W**2).sum(axis=1) + model.noise_variance_ * (self.matrix**2).sum(axis=0))
        return W / np.where(spread > 0, spread, 1.0)[:, None]

    def leading(self, model: Any, component: int, most: int = 4) -> list[tuple[str, float]]:
        """The traits that move most with a component, with how far they move."""
        moved = self.loadings(model)[:, component]
        order = np.argsort(-np.abs(moved), kind="stable")[:most]
        return [(self.names[j], float(moved[j])) for j in order]

    def in_words(self, model: Any, component: int) -> str:
        """The traits that move most with a component, with their signs."""
        signed = ((shorten(name, 30), value) for name, value in self.leading(model, component))
        return "; ".join(f"{'+' if value > 0 else '−'}\u00a0{name}" for name, value in signed)
