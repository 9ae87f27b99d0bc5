"""Rows of an array or memory map: blocks are slices, and threads go over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from gramian._arrays import Array, float_dtype, row_chunks
from gramian._threads import single_blas_thread, thread_count, thread_map
from gramian.policy import SIZES
from gramian.rows.base import NO_ROWS, Block, Result, Sum


def prepared_bytes(n_cells: float) -> float:
    """What is prepared of a table takes about so much: each value and its mask, in the order that a pass reads."""
    return 16 * n_cells


@dataclass(frozen=True)
class ArrayRows:
    """An (n, d) array, dense or memory-mapped, with raw weights and perhaps a target, cut into blocks of ``block_rows``."""

    X: Array
    weights: Array
    target: Array | None = None
    feature_names: list[str] | None = None
    block_rows: int = SIZES.block
    preparation: tuple[Any, ...] = ()  # (task, *common)
    kept: tuple[Any, ...] | None = None  # what the preparation made of each block

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return float_dtype(self.X)

    def __len__(self) -> int:
        return len(self.weights)

    def positive(self) -> ArrayRows:
        """The rows of positive weight: zero weight is a removed row."""
        if (self.weights > 0).all():
            return self
        kept = np.flatnonzero(self.weights > 0)
        target = None if self.target is None else self.target[kept]
        return replace(self, X=self.X[kept], weights=self.weights[kept], target=target)

    def part(self, rows: slice) -> ArrayRows:
        """Some of the rows, as a view."""
        target = None if self.target is None else self.target[rows]
        return replace(self, X=self.X[rows], weights=self.weights[rows], target=target)

    def _slices(self) -> list[slice]:
        return list(row_chunks(len(self.weights), self.block_rows))

    def _block(self, index: int, rows: slice) -> Block:
        block = Block(self.X[rows], self.weights[rows], None if self.target is None else self.target[rows])
        if self.kept is not None:
            return replace(block, prepared=self.kept[index])
        if self.preparation:
            task, *common = self.preparation
            return replace(block, prepared=task(block, *common))
        return block

    def map(self, task: Callable[..., Result], *common: Any) -> list[Result]:
        slices = self._slices()
        if len(slices) == 1:
            with single_blas_thread():
                return [task(self._block(0, slices[0]), *common)]
        threads = thread_count()
        with single_blas_thread():
            return thread_map(lambda item: task(self._block(*item), *common), enumerate(slices), threads)

    def fold(self, task: Callable[..., Sum], *common: Any) -> Sum:
        return self.fold_onto(None, task, *common)

    def fold_onto(self, total: Sum | None, task: Callable[..., Sum], *common: Any) -> Sum:
        """The sum over the blocks added to ``total``, one after the other."""
        slices = list(enumerate(self._slices()))
        if not slices:
            raise ValueError(NO_ROWS)
        if len(slices) == 1:
            part = self.map(task, *common)[0]
            return part if total is None else total + part
        threads = thread_count()
        with single_blas_thread():
            for start in range(0, len(slices), threads):  # not all at once: summaries may be matrices
                parts = thread_map(
                    lambda item: task(self._block(*item), *common), slices[start : start + threads], threads
                )
                total = reduce(add, parts if total is None else [total, *parts])
        assert total is not None
        return total

    def prepare(self, task: Callable[..., Any], *common: Any) -> ArrayRows:
        if prepared_bytes(self.X.size) > SIZES.kept:
            return replace(self, preparation=(task, *common), kept=None)
        return self.keeping(task, *common)

    def keeping(self, task: Callable[..., Any], *common: Any) -> ArrayRows:
        """The same rows with what was prepared of every block, whatever it takes."""
        prepared = replace(self, preparation=(task, *common), kept=None)
        return replace(prepared, kept=tuple(prepared.map(_prepare)))


def _prepare(block: Block) -> Any:
    return block.prepared
