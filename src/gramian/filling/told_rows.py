"""Rows as a model is told of them, wherever they are: each block is converted where it is read [13]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian.latent.cell_seer import CellSeer
from gramian.latent.units import Units
from gramian.latent.wild_cells import split_rows
from gramian.rows import Rows, as_rows
from gramian.rows.array import ArrayRows
from gramian.rows.base import Block
from gramian.rows.converted import ConvertedRows, LaterBlock
from gramian.tables.codes import Code, without_codes
from gramian.tables.margins import Margins


@dataclass(frozen=True)
class ToldRows:
    """Rows without codes, only some columns, without wild cells, in the laws and in the units of their columns."""

    codes: tuple[Code, ...] = ()
    columns: Array | None = None
    seer: CellSeer | None = None
    margins: Margins | None = None
    units: Units | None = None

    def __call__(self, block: Block) -> LaterBlock:
        return LaterBlock(block, self.values)

    def values(self, block: Block) -> Array:
        """Of all rows of the block."""
        X = without_codes(block.X, self.codes)
        X = X if self.columns is None else X[:, self.columns]
        if self.seer is not None:
            flags, whole = split_rows(X, self.seer.flags(X))
            X = np.where(flags | whole[:, None], np.nan, X)
        X = X if self.margins is None else self.margins.into(X)
        return X if self.units is None else self.units.into(X)

    def of(self, rows: Rows) -> Rows:
        """The same of rows wherever they are; of an array at once, else whenever a block is read."""
        if isinstance(rows, ArrayRows):
            return as_rows(self.values(Block(rows.X, rows.weights)), rows.weights)
        width = rows.n_columns if self.columns is None else len(self.columns)
        return ConvertedRows(rows, self, width)
