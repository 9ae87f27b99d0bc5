"""Rows made into other rows, wherever they live: each block is converted where it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.rows.base import Block, Result, Rows, Sum


@dataclass(frozen=True)
class ConvertedRows:
    """``convert(block)`` of the blocks of other rows; what is prepared is kept where theirs would be."""

    rows: Rows
    convert: Callable[[Block], Any]
    n_columns: int
    feature_names: list[str] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.rows.dtype

    def map(self, task: Callable[..., Result], *common: Any) -> list[Result]:
        return self.rows.map(_on_converted, self.convert, task, common)

    def fold(self, task: Callable[..., Sum], *common: Any) -> Sum:
        return self.rows.fold(_on_converted, self.convert, task, common)

    def prepare(self, task: Callable[..., Any], *common: Any) -> ConvertedRows:
        return replace(self, rows=self.rows.prepare(_on_converted, self.convert, task, common))


def _on_converted(block: Block, convert: Callable[[Block], Any], task: Callable[..., Any], common: Any) -> Any:
    """``task`` of the converted block, with what was prepared of it."""
    return task(convert(block), *common)


class LaterBlock:
    """As `Block`, with values that are made when they are asked for: a pass over what was prepared needs none."""

    def __init__(self, block: Block, make: Callable[[Block], Array]) -> None:
        self._block, self._make = block, make
        self.weights, self.target, self.prepared = block.weights, block.target, block.prepared

    @cached_property
    def X(self) -> Array:  # noqa: N802 - as in `Block`
        return self._make(self._block)

    def __len__(self) -> int:
        return len(self.weights)


@dataclass(frozen=True)
class InUnits:
    """(x - mean) / scale."""

    mean: Array
    scale: Array

    def __call__(self, block: Block) -> LaterBlock:
        return LaterBlock(block, self.values)

    def values(self, block: Block) -> Array:
        """Of all rows of the block."""
        return (np.asarray(block.X, dtype=np.float64) - self.mean) / self.scale


def rows_in_units(rows: Rows, mean: Array, scale: Array) -> ConvertedRows:
    """(x - mean) / scale of other rows."""
    return ConvertedRows(rows, InUnits(mean, scale), rows.n_columns, rows.feature_names)
