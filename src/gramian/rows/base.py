"""The contract of rows: blocks, sums over them, and what may be asked [13]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from gramian._arrays import Array

NO_ROWS = "There are no rows: nothing to fit. Give at least one row."

Result = TypeVar("Result")


class Summary(Protocol):
    """A small frozen value that adds up: the sums of two sets of rows make those of their union."""

    def __add__(self, other: Self, /) -> Self: ...


Sum = TypeVar("Sum", bound=Summary)


@dataclass(frozen=True)
class Block:
    """Some rows in memory: values (n, d), NaN where nothing was observed, and raw weights (n,).

    ``target`` (n, ...) goes with models that have one. ``prepared`` is what `Rows.prepare` made of the block, or None.
    """

    X: Array
    weights: Array
    target: Array | None = None
    prepared: Any = None

    def __len__(self) -> int:
        return len(self.weights)


class Rows(Protocol):
    """Rows that are only summed over. Tasks are top-level functions, so that they can travel to where the rows are."""

    @property
    def n_columns(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 if all rows are, else float64."""
        ...

    @property
    def feature_names(self) -> list[str] | None: ...

    def fold(self, task: Callable[..., Sum], *common: Any) -> Sum:
        """Σ task(block, *common) over all blocks. Empty blocks are not asked."""
        ...

    def map(self, task: Callable[..., Result], *common: Any) -> list[Result]:
        """task(block, *common) of every block, in order."""
        ...

    def prepare(self, task: Callable[..., Any], *common: Any) -> Rows:
        """The same rows whose blocks carry ``prepared = task(block, *common)``, kept where that fits, else made anew in each pass."""
        ...
