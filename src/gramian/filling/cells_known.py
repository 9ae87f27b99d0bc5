"""Cells of which something is known beside their value: values below a limit of detection, and errors of measurement [15]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import is_real


def check_censored(censored: Any) -> Any:
    """``censored`` if it is None or a dict of limits."""
    if censored is None:
        return None
    if not isinstance(censored, Mapping):
        raise ValueError(f"censored={censored!r} must be None or a dict of column -> limit.")
    for column, limit in censored.items():
        if not is_real(limit) and not (isinstance(limit, float) and np.isinf(limit)):
            raise ValueError(
                f"censored[{column!r}]={limit!r} must be a number: the limit below which values are not told."
            )
    return censored


@dataclass(frozen=True)
class Limits:
    """The limits of columns, by position among the columns of numbers; ``blank`` where the cells below are left blank.

    A cell at or below its limit is known to lie there, whatever number stands in it. Where a column shows none, its missing cells
    are those. An infinite limit says nothing.
    """

    columns: Annotated[tuple[int, ...], "filled"]
    values: Annotated[tuple[float, ...], "filled"]
    blank: tuple[int, ...]

    @classmethod
    def of(cls, columns: Sequence[Array], names: Sequence[Any], censored: Any) -> Limits | None:
        """What was given, for columns with NaN where a cell is missing.

        Examples
        --------
        >>> import numpy as np
        >>> found = Limits.of([np.array([0.5, 0.5, 2.0]), np.array([np.nan, 3.0, 4.0])], ["a", "b"], {"a": 0.5, "b": 1.0})
        >>> [found.cells(j, column).tolist() for j, column in enumerate([np.array([0.1, np.nan]), np.array([1.2, np.nan])])]
        [[True, False], [False, True]]
        """
        if not censored:
            return None
        known: dict[Any, int] = {str(name): j for j, name in enumerate(names)}
        known |= {j: j for j in range(len(columns))}
        absent = [column for column in censored if column not in known]
        if absent:
            raise ValueError(
                f"censored names the column {absent[0]!r}, which is not one of the numbers of the table ({', '.join(map(str, names)) or 'none'})."
            )
        limits = {known[column]: float(limit) for column, limit in censored.items() if np.isfinite(limit)}
        blank = tuple(j for j, limit in limits.items() if not (columns[j] <= limit).any())
        return cls(tuple(limits), tuple(limits.values()), blank) if limits else None

    def cells(self, j: int, column: Array) -> Array:
        """Which cells of a column lie below its limit."""
        if j not in self.columns:
            return np.zeros(len(column), dtype=bool)
        return np.isnan(column) if j in self.blank else np.asarray(column <= self._limit(j))

    def _limit(self, j: int) -> float:
        return self.values[self.columns.index(j)] if j in self.columns else float("nan")

    def of_rows(self, columns: Sequence[Array]) -> Array:
        """The limit of each cell that lies below one, NaN for the others, (n, number of columns)."""
        return np.column_stack(
            [np.where(self.cells(j, column), self._limit(j), np.nan) for j, column in enumerate(columns)]
        )
