"""What values a column may take: whole numbers, none below zero, shares between 0 and 1; or as the user says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import is_real

if TYPE_CHECKING:
    from gramian.tables.preprocessing import Preprocessing
    from gramian.tables.table import Table


def check_bounds(bounds: Any) -> Any:
    """``bounds`` if it is None, "auto" or a dict of pairs."""
    if bounds is None or (isinstance(bounds, str) and bounds == "auto"):
        return bounds
    if not isinstance(bounds, Mapping):
        raise ValueError(f"bounds={bounds!r} must be None, 'auto' or a dict of column -> (low, high).")
    for column, pair in bounds.items():
        good = isinstance(pair, tuple | list) and len(pair) == 2 and all(end is None or _is_end(end) for end in pair)
        if not good or (None not in pair and not pair[0] < pair[1]):
            raise ValueError(
                f"bounds[{column!r}]={pair!r} must be (low, high) with low < high; None where there is no end."
            )
    return bounds


def _is_end(value: Any) -> bool:
    return is_real(value) or (isinstance(value, float) and np.isinf(value))


@dataclass(frozen=True)
class Bounds:
    """The values that each column may take: from ``low`` to ``high``, whole numbers only where ``whole``."""

    low: Array
    high: Array
    whole: Annotated[Array, "~ c"]

    def _wrong_state(self) -> str | None:
        """What a model file may not say: bounds of some columns only, or none between which a value lies."""
        alike = np.shape(self.low) == np.shape(self.high) == np.shape(self.whole)
        return (
            None if alike and bool((self.low <= self.high).all()) else "low and high are not the bounds of the columns"
        )

    @classmethod
    def of(cls, columns: Sequence[Array], names: Sequence[Any], bounds: Any) -> Bounds:
        """What numbers show of themselves ("auto"), or what was given; a column that shows nothing has no bounds, one that shows one value takes no other.

        Examples
        --------
        >>> import numpy as np
        >>> found = Bounds.of([np.array([0.0, 3.0, 7.0]), np.array([0.2, 0.9]), np.array([-1.5, 2.0])], "abc", "auto")
        >>> found.low, found.high, found.whole
        (array([  0.,   0., -inf]), array([inf,  1., inf]), array([ True, False, False]))
        """
        d = len(columns)
        low, high, whole = np.full(d, -np.inf), np.full(d, np.inf), np.zeros(d, dtype=bool)
        if bounds is None:
            return cls(low, high, whole)
        given = {} if isinstance(bounds, str) else dict(bounds)
        known: dict[Any, int] = {**{str(name): j for j, name in enumerate(names)}, **dict(zip(range(d), range(d)))}
        absent = [column for column in given if column not in known]
        if absent:
            raise ValueError(
                f"bounds names the column {absent[0]!r}, which is not one of the numbers of the table ({', '.join(map(str, names)) or 'none'})."
            )
        for column, (first, last) in given.items():
            low[known[column]] = -np.inf if first is None else first
            high[known[column]] = np.inf if last is None else last
        for j, column in enumerate(columns):
            seen = column[~np.isnan(column)]
            if not seen.size:
                continue
            whole[j] = bool((seen == np.round(seen)).all())
            if isinstance(bounds, str) and seen.min() == seen.max():
                low[j] = high[j] = seen[0]
            elif isinstance(bounds, str) and seen.min() >= 0:
                low[j] = 0.0
                high[j] = 1.0 if seen.max() <= 1 else np.inf
            outside = (seen < low[j]) | (seen > high[j])
            if outside.any():
                raise ValueError(
                    f"bounds[{names[j]!r}]=({low[j]:g}, {high[j]:g}), but the column holds {seen[outside][0]:g}. Widen the bounds, or make such cells missing."
                )
        return cls(low, high, whole)

    @classmethod
    def of_table(cls, table: Table, prepare: Preprocessing, bounds: Any = "auto") -> Bounds:
        """The same of the modelled numbers of a table."""
        numbers = prepare.numbers
        return cls.of([table[name] for name in numbers], numbers, bounds)

    def held(self, j: int | slice, values: Array, rounded: Any = np.round) -> Array:
        """Values of column j (of columns j, the last axis) brought to the nearest that they may take; ``rounded`` says which whole number."""
        near = np.where(self.whole[j], rounded(values), values) if np.any(self.whole[j]) else values
        return np.asarray(np.clip(near, self.low[j], self.high[j]))

    def columns(self, prepare: Preprocessing, features: Array) -> dict[str, Array]:
        """The columns of the table that features stand for, in its units, with possible values."""
        found = dict(zip(prepare.names, prepare.columns(features)))
        return found | {name: self.held(j, found[name]) for j, name in enumerate(prepare.numbers)}
