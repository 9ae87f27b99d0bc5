"""Rows in units of their columns, wherever they live: each block is converted where it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.rows.base import Block, Result, Rows, Sum


@dataclass(frozen=True)
class RowsInUnits:
    """(x - mean) / scale of other rows; what is prepared is kept where theirs would be."""

    rows: Rows
    mean: Array
    scale: Array

    @property
    def n_columns(self) -> int:
        return self.rows.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.rows.dtype

    @property
    def feature_names(self) -> list[str] | None:
        return self.rows.feature_names

    def map(self, task: Callable[..., Result], *common: Any) -> list[Result]:
        return self.rows.map(_converted, self.mean, self.scale, task, common)

    def fold(self, task: Callable[..., Sum], *common: Any) -> Sum:
        return self.rows.fold(_converted, self.mean, self.scale, task, common)

    def prepare(self, task: Callable[..., Any], *common: Any) -> RowsInUnits:
        return replace(self, rows=self.rows.prepare(_converted, self.mean, self.scale, task, common))


def _converted(block: Block, mean: Array, scale: Array, task: Callable[..., Any], common: Any) -> Any:
    """``task`` of the block in units, with what was prepared of it."""
    return task(replace(block, X=(np.asarray(block.X, dtype=np.float64) - mean) / scale), *common)
